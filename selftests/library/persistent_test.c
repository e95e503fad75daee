// SPDX-License-Identifier: GPL-2.0-only
/* Persistent operations, and operations that are cancelled or polled, through the library. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/uring.h"

#define NRANKS	3

static int cancelled_by(struct lib_rank *me, int rank)
{
	char want[64];

	snprintf(want, sizeof(want), "rank %d cancelled", rank);
	CHECK(strstr(coll_error_detail(me->comm), want));
	return 0;
}

static int rank_persistent(struct lib_rank *me)
{
	__u32 *mine = calloc(2 * LARGE, 4), *sum = mine + LARGE;
	struct coll_request *request, *other;
	int round, done, index;

	CHECK(mine);
	CHECK_EQ(0, coll_allreduce_init(me->comm, mine, sum, LARGE, COLL_UINT32, COLL_SUM,
					&request));
	CHECK_EQ(0, coll_barrier_init(me->comm, &other));
	CHECK_EQ(0, coll_wait(request));
	for (round = 0; round < 20; round++) {
		struct coll_request *both[] = { request, other };

		values_make(mine, LARGE, me->rank, round);
		CHECK_EQ(0, coll_start(request));
		CHECK_EQ(-EBUSY, coll_start(request));
		CHECK_EQ(-EBUSY, coll_request_free(request));
		CHECK_EQ(0, coll_start(other));
		if (round % 3 == 0) {
			CHECK_EQ(0, coll_wait_all(both, 2));
		} else if (round % 3 == 1) {
			CHECK_EQ(0, coll_wait_any(both, 2, &index, -1));
			CHECK(index >= 0);
			CHECK_EQ(0, coll_wait_any(both, 2, &index, -1));
			CHECK(index >= 0);
			CHECK_EQ(0, coll_wait_any(both, 2, &index, -1));
			CHECK_EQ(-1, index);
		} else {
			do {
				CHECK_EQ(0, coll_test(request, &done));
			} while (!done);
			CHECK_EQ(0, coll_wait(other));
		}
		CHECK(!values_summed(sum, LARGE, me->nranks, round));
	}
	CHECK_EQ(0, coll_request_free(request));
	CHECK_EQ(0, coll_request_free(other));
	free(mine);
	return 0;
}

TEST(persistent)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_persistent, NULL));
}

static int rank_polled(struct lib_rank *me)
{
	struct pollfd poller = { .events = POLLIN };
	struct coll_request *request;
	int done;

	if (me->rank) {
		CHECK(flag_wait(me->shared, 0, 1, 10000));
		return coll_barrier(me->comm);
	}
	CHECK_EQ(0, coll_ibarrier(me->comm, &request));
	poller.fd = coll_req_fd(request);
	CHECK_EQ(0, poll(&poller, 1, 50));
	flag_set(me->shared, 0, 1);
	CHECK_EQ(1, poll(&poller, 1, 10000));
	CHECK(poller.revents & POLLIN);
	CHECK_EQ(0, coll_test(request, &done));
	CHECK_EQ(1, done);
	CHECK_EQ(0, poll(&poller, 1, 0));
	return 0;
}

TEST(polled)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_polled, NULL));
}

static int rank_cancel_request(struct lib_rank *me)
{
	struct coll_request *request;
	__u32 a = 1, b;

	if (me->rank == 0) {
		CHECK_EQ(0, coll_iallreduce(me->comm, &a, &b, 1, COLL_UINT32, COLL_SUM,
					    &request));
		CHECK_EQ(0, coll_cancel(request));
		CHECK_EQ(-ECANCELED, coll_wait(request));
		flag_set(me->shared, 0, 1);
	} else {
		/* Otherwise the cancel could come too late. */
		CHECK(flag_wait(me->shared, 0, 1, 10000));
		CHECK_EQ(-ECANCELED, coll_allreduce(me->comm, &a, &b, 1, COLL_UINT32,
						    COLL_SUM));
		CHECK(!cancelled_by(me, 0));
	}
	return coll_barrier(me->comm);
}

TEST(cancel_request)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_cancel_request, NULL));
}

TEST_HARNESS_MAIN
