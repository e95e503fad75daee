// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hundreds of operations fail at once that most ranks have not submitted.  Every rank passes all of
 * these failures on, although no memory can be had without sleeping.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/timed.h"

/* @PUBLISHED: operations that rank 0 publishes before the others come: COLL_BOARD_SLOTS */
enum { RANKS = 6, OPERATIONS = 300, PUBLISHED = 16, FAIL_MS = 2000 };

enum { FLAG_FAILED, FLAG_DONE };

#define FAILSLAB "/sys/kernel/debug/failslab/"

/* Let allocations of some KiB that may not sleep fail, or not.  Return: false if none can. */
static bool atomic_memory_fails(bool fails)
{
	static const char * const caches[] = { "kmalloc-cg-8k", "kmalloc-8k" };
	unsigned int i, chosen = 0;
	char path[64];

	for (i = 0; fails && i < ARRAY_SIZE(caches); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/failslab", caches[i]);
		chosen += !file_set(path, "1");
	}
	if (!fails)
		return !file_set(FAILSLAB "probability", "0") &&
		       !file_set(FAILSLAB "cache-filter", "N") &&
		       !file_set(FAILSLAB "times", "1");
	return chosen &&
	       !file_set(FAILSLAB "ignore-gfp-wait", "Y") &&
	       !file_set(FAILSLAB "cache-filter", "Y") &&
	       !file_set(FAILSLAB "verbose", "0") &&
	       !file_set(FAILSLAB "times", "-1") &&
	       !file_set(FAILSLAB "probability", "100");
}

/* All of them pass their deadline at about the same time. */
static int operations_start(struct rank *r, __u64 *requests)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	const __u64 end = now_ms() + FAIL_MS;
	unsigned int i;

	for (i = 0; i < OPERATIONS; i++) {
		op.timeout_ms = end > now_ms() ? end - now_ms() : 1;
		CHECK_EQ(0, member_start(r->fd, &op, &requests[i]));
	}
	return 0;
}

/*
 * Call an operation whose deadline has passed on rank 0.  One that rank 0 has published may still
 * succeed here, if all the others call it before they are told.
 */
static int call_failed(struct rank *r, unsigned int i)
{
	const int err = member_barrier(r->fd);

	if (err || i >= PUBLISHED)
		CHECK_EQ(-ETIMEDOUT, err);
	return 0;
}

static int rank_passes_on(struct rank *r)
{
	static __u64 requests[OPERATIONS];
	struct collective_status status;
	unsigned int i;

	if (!r->rank)
		CHECK_EQ(0, operations_start(r, requests));
	for (i = 0; !r->rank && i < OPERATIONS; i++)
		CHECK_EQ(-ETIMEDOUT, member_wait(r->fd, requests[i], 0));
	/* The others have submitted none of them, and are told all. */
	CHECK(flag_barrier(r->shared, FLAG_FAILED, r->nranks));
	for (i = 0; r->rank && i < OPERATIONS; i++)
		CHECK(!call_failed(r, i));
	CHECK_EQ(0, member_barrier(r->fd));
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(COLLECTIVE_REASON_DEADLINE, status.last.kind);
	CHECK(flag_barrier(r->shared, FLAG_DONE, r->nranks));
	return 0;
}

TIMED_TESTS(passed_on)

TEST_F_TIMEOUT(passed_on, hundreds_of_failures, 120)
{
	const struct group_config config = { .nranks = RANKS };

	EXPECT_EQ(0, group_run(&config, rank_passes_on, NULL));
}

TEST_F_TIMEOUT(passed_on, without_atomic_memory, 120)
{
	const struct group_config config = { .nranks = RANKS };

	if (!atomic_memory_fails(true)) {
		atomic_memory_fails(false);
		SKIP(return, "no fault injection in this kernel");
	}
	EXPECT_EQ(0, group_run(&config, rank_passes_on, NULL));
	atomic_memory_fails(false);
}

TEST_HARNESS_MAIN
