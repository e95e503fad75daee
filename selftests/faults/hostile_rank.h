/* SPDX-License-Identifier: GPL-2.0-only */
/* The hostile rank, made of sockets (raw_peer.h). */
#ifndef COLL_HOSTILE_RANK_H
#define COLL_HOSTILE_RANK_H

#include "lib/raw_peer.h"
#include "faults/hostile_fixture.h"
#include "core/wire/wire.h"

enum attack {
	ATTACK_RANDOM_CONTROL,	/* random bytes */
	ATTACK_RANDOM_DATA,
	ATTACK_MALFORMED_CONTROL,	/* frames with one malformed field */
	ATTACK_MALFORMED_DATA,
	ATTACK_TRUNCATED,		/* part of a frame, then the end */
	ATTACK_OVERLONG,		/* far more payload than the operation has */
	ATTACK_REPEAT,		/* one frame again and again */
	ATTACK_UNSOLICITED,		/* grants, credit and CONSUMED for no operation */
	ATTACK_SLOW,		/* byte by byte */
	ATTACK_FLOOD,		/* hundreds of valid control frames */
	ATTACK_NO_READ,		/* never read what is sent in answer */
	ATTACK_CLOSE,
	ATTACKS
};

/**
 * struct hostile_rank - the hostile rank
 * @fix: the group
 * @peer: connections, by rank
 * @header: header of the first data frame received, by rank
 * @have_header: true if @header is set, by rank
 */
struct hostile_rank {
	struct hostile_fixture *fix;
	struct raw_peer peer[RANKS_MOST];
	u8 header[RANKS_MOST][COLL_DATA_SIZE];
	bool have_header[RANKS_MOST];
};

/* Return: the configuration with which the hostile rank calls rank @to. */
struct raw_peer_config fixture_raw_config(const struct hostile_fixture *fix, unsigned int to);

/* Connect the hostile rank and the others. They may register memory. */
int hostile_connect(struct hostile_fixture *fix, struct hostile_rank *hostile);
/* Read and drop all that the rank @to has sent. */
void hostile_drain(struct hostile_rank *hostile, unsigned int to);
void hostile_attack(struct hostile_rank *hostile, unsigned int to, enum attack attack);
void hostile_end(struct hostile_rank *hostile);

#endif /* COLL_HOSTILE_RANK_H */
