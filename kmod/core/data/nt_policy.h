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
#ifndef COLL_NT_POLICY_H
#define COLL_NT_POLICY_H

#include "core/env.h"

/* Operations of less than this, bytes, are never copied past the caches. */
#define COLL_NT_MIN	(1024 * 1024U)

/* What is told apart: sizes of operations, twice as large each; and sources of bytes. */
#define COLL_NT_SIZES	8

enum coll_nt_policy_source {
	COLL_NT_RECEIVED,	/* from another rank */
	COLL_NT_FORWARDED,	/* likewise, and sent on from where they are stored */
	COLL_NT_LOCAL,	/* from this rank's own memory */
	COLL_NT_SOURCES
};

/* As many samples are as much as the smallest of operations. */
#define COLL_NT_SAMPLES	15

enum coll_nt_policy_round {
	COLL_NT_SETTLED,	/* no trial is under way */
	COLL_NT_CURRENT,
	COLL_NT_WARMUP,	/* the other way, until memory is where that leaves it */
	COLL_NT_TRIAL,
};

/**
 * struct coll_nt_policy - what is known of operations of one size, and one source
 * @unit: bytes of the smallest of them
 * @nontemporal: their bytes are stored past the caches
 * @streak: how often that was found to be right in a row, up to a limit, or how much that counts
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
	bool nontemporal;
	u8 streak;
	u8 round;
	u8 samples;
	u64 bytes;
	u64 ns;
	u32 best;
	u32 cost[2][COLL_NT_SAMPLES];
};

/**
 * struct coll_nt_policies - what is known of all
 * @policy: by size, and by source
 */
struct coll_nt_policies {
	struct coll_nt_policy policy[COLL_NT_SIZES][COLL_NT_SOURCES];
};

struct coll_nt_policy *coll_nt_policy_find(struct coll_nt_policies *policies, u64 volume,
					   enum coll_nt_policy_source source);
bool coll_nt_policy_use(const struct coll_nt_policy *policy);
bool coll_nt_policy_timing(const struct coll_nt_policy *policy);
void coll_nt_policy_update(struct coll_nt_policy *policy, size_t len, u64 ns);

#endif /* COLL_NT_POLICY_H */
