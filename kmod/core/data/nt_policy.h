/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether what large operations copy is stored past the caches.
 *
 * What fits the caches is best stored there; what does not is stored up to twice as fast past
 * them, and does not take the place of what others have there.  How much fits cannot be asked
 * for: caches are shared with other programs, and with other machines on the same host.  So it
 * is tried, and what was found out holds for a while.
 *
 * How long a copy takes depends on where its memory is, and that on how the last operations
 * were copied.  So a trial copies as many bytes as a whole operation has one way, then several
 * times as many the other way, and compares the first with the last.
 *
 * The time is the surroundings'.
 */
#ifndef COLL_CACHING_H
#define COLL_CACHING_H

#include "core/env.h"

/* Operations of less than this, bytes, are never copied past the caches. */
#define COLL_CACHING_MIN	(1024 * 1024U)

/* What is told apart: sizes of operations, twice as large each; and sources of bytes. */
#define COLL_CACHING_SIZES	8

enum coll_nt_policy_source {
	COLL_CACHING_ARRIVING,	/* from another rank */
	COLL_CACHING_RELAYED,	/* likewise, and sent on from where they are stored */
	COLL_CACHING_LOCAL,	/* from this rank's own memory */
	COLL_CACHING_SOURCES
};

/* As many samples are as much as the smallest of operations. */
#define COLL_CACHING_SAMPLES	15

enum coll_nt_policy_round {
	COLL_CACHING_SETTLED,	/* no trial is under way */
	COLL_CACHING_AS_EVER,
	COLL_CACHING_FILL,	/* the other way, until memory is where that leaves it */
	COLL_CACHING_OTHER,
};

/**
 * struct coll_nt_policy - what is known of operations of one size, and one source
 * @unit: bytes of the smallest of them
 * @past: their bytes are stored past the caches
 * @again: how often that was found to be right in a row, up to a limit, or how much that counts
 *	for; 0: never tried
 * @round: enum coll_nt_policy_round
 * @samples: of this round
 * @bytes: copied since the last trial, or sample
 * @ns: that they took; of a sample
 * @best: cost of the best sample of FILL
 * @cost: of AS_EVER and OTHER: time for a byte of each sample, in ns / 2^14, sorted
 */
struct coll_nt_policy {
	u64 unit;
	bool past;
	u8 again;
	u8 round;
	u8 samples;
	u64 bytes;
	u64 ns;
	u32 best;
	u32 cost[2][COLL_CACHING_SAMPLES];
};

/**
 * struct coll_nt_policies - what is known of all
 * @of: by size, and by source
 */
struct coll_nt_policies {
	struct coll_nt_policy of[COLL_CACHING_SIZES][COLL_CACHING_SOURCES];
};

struct coll_nt_policy *coll_nt_policy_find(struct coll_nt_policies *cachings, u64 volume,
					   enum coll_nt_policy_source source);
bool coll_nt_policy_use(const struct coll_nt_policy *caching);
bool coll_nt_policy_timing(const struct coll_nt_policy *caching);
void coll_nt_policy_update(struct coll_nt_policy *caching, size_t len, u64 ns);

#endif /* COLL_CACHING_H */
