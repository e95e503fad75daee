/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What survivors say to one another; heads, entries and FAIL are those of the
 * rendezvous (message.h).  All numbers are little-endian.
 *
 *	SURVIVOR 0 the old group's id u64  8 rank u32  12 nranks u32
 *		16 time left, ms u32  20 enum coll_shrink_phase u32  24 round u64
 *		32 follows u32: 1: it would follow the receiver, 0: it only looks  36 0 u32
 *		40 nonce, 32 bytes  72 proof, 32 bytes; both zero without a secret
 *	HERE	 0 rank that leads u32, ~0: not known yet  4 it forms a group u32
 *	BEGIN	 0 round u64  8 time for CONNECT, ms u32  12 ranks of the old group u32
 *		16 of each of these, enum coll_shrink_fate u8
 *	PLACE	 0 round u64  8 entry
 *	PLACES	 0 round u64  8 entries, in the order of new ranks
 *	READY	 0 round u64
 *	UNABLE	 0 round u64  8 errno u32  12 text, up to 480 bytes, no NUL
 *	DECIDED, NOTED, COMMIT	0 round u64
 *
 * In a group with a secret the rank that is called begins, with CHALLENGE (its nonce,
 * no proof yet); the proof of SURVIVOR is of all before it and of that nonce, and the
 * other rank's, of the same, comes back as PROOF before anything else (secret.h).
 *
 * A round is named by the id of the group that it is to form.
 */
#ifndef COLL_SHRINK_MESSAGE_H
#define COLL_SHRINK_MESSAGE_H

#include "message.h"

#define COLL_ROUND_SIZE		8
#define COLL_SURVIVOR_SAID	(40 + COLL_NONCE_SIZE)
#define COLL_SURVIVOR_SIZE	(COLL_SURVIVOR_SAID + COLL_PROOF_SIZE)
#define COLL_HERE_SIZE		8
#define COLL_BEGIN_SIZE		16	/* and a byte for each rank */
#define COLL_UNABLE_MAX		COLL_FAIL_MAX
#define COLL_LEADER_NONE	0xffffffffU

/** enum coll_shrink_phase - how far a rank has come in a round */
enum coll_shrink_phase {
	PHASE_NONE,
	PHASE_READY,		/* has said READY: is connected */
	PHASE_DECIDED,		/* knows that all are */
	PHASE_COUNT
};

/** enum coll_shrink_fate - of a rank of the old group, in a round */
enum coll_shrink_fate {
	FATE_DEAD,
	FATE_MEMBER,		/* of the new group */
	FATE_LATE,		/* lives, or may live, but did not come */
	FATE_COUNT
};

struct coll_survivor_hello {
	uint64_t id;
	uint32_t rank;
	uint32_t nranks;
	uint32_t left_ms;
	uint32_t phase;
	uint64_t round;
	bool follows;
	uint8_t nonce[COLL_NONCE_SIZE];
};

/* Writers return the bytes of the whole message. */
size_t coll_message_survivor(uint8_t *to, const struct coll_survivor_hello *hello);
size_t coll_message_here(uint8_t *to, uint32_t leader, bool forming);
size_t coll_message_fates(uint8_t *to, uint64_t round, uint32_t connect_ms,
			  const uint8_t *fates, uint32_t nranks);
size_t coll_message_round(uint8_t *to, enum coll_message_kind kind, uint64_t round);
size_t coll_message_place(uint8_t *to, uint64_t round, const struct sockaddr_storage *addr);
/* The @n entries are in their places already. */
size_t coll_message_places(uint8_t *to, uint64_t round, unsigned int n);
size_t coll_message_unable(uint8_t *to, uint64_t round, int err, const char *text);

/* Readers take a body of @length bytes and return 0 or -EPROTO. */
int coll_message_read_survivor(const uint8_t *from, size_t length,
			       struct coll_survivor_hello *hello);
int coll_message_read_here(const uint8_t *from, size_t length, uint32_t *leader,
			   bool *forming);
int coll_message_read_fates(const uint8_t *from, size_t length, uint32_t *connect_ms,
			    uint8_t *fates, uint32_t nranks);

/* The round that a message of at least its size begins with. */
uint64_t coll_message_read_round(const uint8_t *from);

#endif /* COLL_SHRINK_MESSAGE_H */
