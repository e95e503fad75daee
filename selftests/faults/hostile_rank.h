/* SPDX-License-Identifier: GPL-2.0-only */
/* The hostile rank, made of sockets. */
#ifndef COLL_HOSTILE_RANK_H
#define COLL_HOSTILE_RANK_H

#include "lib/raw_peer.h"
#include "faults/hostile_fixture.h"
#include "core/wire/wire.h"

enum attack {
	ATTACK_RANDOM_CONTROL,	/* random bytes */
	ATTACK_RANDOM_DATA,
	ATTACK_MALFORMED_CONTROL,	/* frames with one field that is not right */
	ATTACK_MALFORMED_DATA,
	ATTACK_TRUNCATED,		/* half a frame, then the end */
	ATTACK_OVERLONG,		/* far more payload than there is room for */
	ATTACK_REPEAT,		/* one frame again and again */
	ATTACK_UNSOLICITED,		/* grants, credit and receipts for what never was */
	ATTACK_SLOW,		/* byte by byte */
	ATTACK_FLOOD,		/* hundreds of control frames that could be true */
	ATTACK_NO_READ,		/* all that is asked for is never read */
	ATTACK_CLOSE,
	ATTACKS
};

/**
 * struct hostile_rank - the hostile rank
 * @fix: of which group
 * @peer: by rank
 * @header: header of the first data frame that came, by rank
 * @have_header: there is one
 */
struct hostile_rank {
	struct hostile_fixture *fix;
	struct raw_peer peer[RANKS_MOST];
	u8 header[RANKS_MOST][COLL_DATA_SIZE];
	bool have_header[RANKS_MOST];
};

/* How the hostile rank calls another one. */
struct raw_peer_config fixture_raw_config(const struct hostile_fixture *fix, unsigned int to);

/* It meets the others, who connect; they may register memory. */
int hostile_connect(struct hostile_fixture *fix, struct hostile_rank *hostile);
/* Read what there is. */
void hostile_drain(struct hostile_rank *hostile, unsigned int to);
void hostile_attack(struct hostile_rank *hostile, unsigned int to, enum attack attack);
void hostile_end(struct hostile_rank *hostile);

#endif /* COLL_HOSTILE_RANK_H */
