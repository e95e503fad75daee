/* SPDX-License-Identifier: GPL-2.0-only */
/* The hostile rank, made of sockets. */
#ifndef COLL_FOE_H
#define COLL_FOE_H

#include "lib/peer.h"
#include "faults/scene.h"
#include "core/wire/wire.h"

enum trick {
	TRICK_NOISE_CONTROL,	/* random bytes */
	TRICK_NOISE_DATA,
	TRICK_ODD_CONTROL,	/* frames with one field that is not right */
	TRICK_ODD_DATA,
	TRICK_CUT,		/* half a frame, then the end */
	TRICK_ENDLESS,		/* far more payload than there is room for */
	TRICK_TWICE,		/* one frame again and again */
	TRICK_UNASKED,		/* grants, credit and receipts for what never was */
	TRICK_SLOW,		/* byte by byte */
	TRICK_STORM,		/* hundreds of control frames that could be true */
	TRICK_DEAF,		/* all that is asked for is never read */
	TRICK_GONE,
	TRICKS
};

/**
 * struct foe - the hostile rank
 * @scene: of which group
 * @peer: by rank
 * @seen: header of the first data frame that came, by rank
 * @known: there is one
 */
struct foe {
	struct scene *scene;
	struct peer peer[RANKS_MOST];
	u8 seen[RANKS_MOST][COLL_DATA_SIZE];
	bool known[RANKS_MOST];
};

/* How the hostile rank calls another one. */
struct peer_call scene_call(const struct scene *scene, unsigned int to);

/* It meets the others, who connect; they may register memory. */
int foe_meet(struct scene *scene, struct foe *foe);
/* Read what there is. */
void foe_listen(struct foe *foe, unsigned int to);
void foe_play(struct foe *foe, unsigned int to, enum trick trick);
void foe_end(struct foe *foe);

#endif /* COLL_FOE_H */
