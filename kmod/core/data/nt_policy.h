/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Policy for nontemporal stores: does the result of a large operation bypass the caches?
 *
 * How much fits the caches is not known, because other programs and virtual machines share them.
 * So the policy measures, and keeps the outcome for a while (Documentation/design/engine.rst).
 *
 * The time of a copy depends on where its memory is cached, and so on how the last operations
 * were copied.  A trial therefore copies the bytes of a whole operation one way, then several
 * times as many the other way, and compares the first samples with the last.  The caller measures
 * the time.
 */
#ifndef COLL_NT_POLICY_H
#define COLL_NT_POLICY_H

#include "core/env.h"

/* Smallest operation for which nontemporal stores are considered, in bytes. */
#define COLL_NT_MIN	(1024 * 1024U)

/* Number of size classes, each twice as large as the one before. */
#define COLL_NT_SIZES	8

enum coll_nt_policy_source {
	COLL_NT_RECEIVED,	/* received from another rank */
	COLL_NT_FORWARDED,	/* likewise, and forwarded from the result */
	COLL_NT_LOCAL,	/* from this rank's own memory */
	COLL_NT_SOURCES
};

/* Number of samples that together have the size of the smallest operation. */
#define COLL_NT_SAMPLES	15

enum coll_nt_policy_round {
	COLL_NT_SETTLED,	/* no trial in progress */
	COLL_NT_CURRENT,
	COLL_NT_WARMUP,	/* the other way, until the caches have settled */
	COLL_NT_TRIAL,
};

/**
 * struct coll_nt_policy - policy for operations of one size class and one source
 * @unit: bytes of the smallest operation of the class
 * @nontemporal: true if nontemporal stores are used
 * @streak: how often in a row a trial confirmed that, up to a limit, or how much the last
 *	trial counts for; 0: never tried
 * @round: enum coll_nt_policy_round
 * @samples: number of samples of this round
 * @bytes: bytes copied since the last trial or sample
 * @ns: time taken by the bytes of the current sample; ns
 * @best: lowest cost of a sample of WARMUP
 * @cost: costs of the samples of CURRENT and TRIAL: time for a byte in ns / 2^14, sorted
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
 * struct coll_nt_policies - policies for all operations
 * @policy: by size class and by source
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
