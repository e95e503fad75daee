// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random use: ranks submit the same keys in different orders, cancel random operations, and exit
 * rings with operations in flight.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <collective_uring.h>
#include <liburing.h>

#include "kselftest_harness.h"
#include "lib/machine.h"
#include "lib/lib_group.h"
#include "lib/uring.h"

#define NRANKS	3

#define DEFER	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

#define BATCH	32

struct chaos {
	struct io_uring ring;
	__u32 mine[BATCH][LARGE / 10];
	__u32 sum[BATCH][LARGE / 10];
	__u32 inflight;
	__u32 succeeded;
	unsigned int seed;
};

static size_t chaos_count(__u32 key)
{
	return key % 3 ? key % 100 : LARGE / 10 - key % 50;
}

static int chaos_open(struct chaos *chaos)
{
	static const unsigned int flags[] = { 0, 0, DEFER, IORING_SETUP_COOP_TASKRUN };

	chaos->inflight = 0;
	return ring_open(&chaos->ring, flags[rand_r(&chaos->seed) % 4]);
}

static int chaos_submit(struct lib_rank *me, struct chaos *chaos, __u32 key)
{
	__u32 slot = key % BATCH;
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.flags = COLLECTIVE_F_KEYED,
		.key = key,
		.count = chaos_count(key),
		.send = (uintptr_t)chaos->mine[slot],
		.recv = (uintptr_t)chaos->sum[slot],
	};
	struct io_uring_sqe *sqe = next_sqe(&chaos->ring);

	values_make(chaos->mine[slot], chaos_count(key), me->rank, key);
	CHECK_EQ(0, coll_prep_submit(sqe, me->comm, &op));
	io_uring_sqe_set_data64(sqe, key);
	chaos->inflight++;
	if (rand_r(&chaos->seed) % 2)
		CHECK(io_uring_submit(&chaos->ring) >= 0);
	return 0;
}

static int chaos_cancel(struct lib_rank *me, struct chaos *chaos, __u32 key)
{
	struct io_uring_sqe *sqe = next_sqe(&chaos->ring);

	coll_prep_cancel(sqe, me->comm, key);
	io_uring_sqe_set_data64(sqe, 1ULL << 32);
	chaos->inflight++;
	CHECK(io_uring_submit(&chaos->ring) >= 0);
	return 0;
}

static int chaos_reap(struct lib_rank *me, struct chaos *chaos)
{
	__u64 data = 0;
	int err = ring_wait(&chaos->ring, &data);

	chaos->inflight--;
	if (data >> 32) {
		CHECK(err == 0 || err == -ENOENT || err == -EALREADY);
		return 0;
	}
	CHECK(err == 0 || err == -ECANCELED || err == -ECONNRESET);
	if (!err)
		CHECK(!values_summed(chaos->sum[data % BATCH], chaos_count(data), me->nranks,
				     data));
	chaos->succeeded += !err;
	return 0;
}

static int rank_chaos(struct lib_rank *me)
{
	struct chaos *chaos = calloc(1, sizeof(*chaos));
	__u32 batches = emulated() ? 6 : 105, batch, i;

	CHECK(chaos);
	chaos->seed = 17 + me->rank;
	CHECK_EQ(0, chaos_open(chaos));
	for (batch = 0; batch < batches; batch++) {
		__u32 first = batch * BATCH, step = 2 * (rand_r(&chaos->seed) % 16) + 1;

		for (i = 0; i < BATCH; i++) {
			CHECK(!chaos_submit(me, chaos, first + i * step % BATCH));
			if (rand_r(&chaos->seed) % 20 == 0)
				CHECK(!chaos_cancel(me, chaos,
						    first + rand_r(&chaos->seed) % BATCH));
			if (rand_r(&chaos->seed) % 60 == 0) {
				CHECK(io_uring_submit(&chaos->ring) >= 0);
				io_uring_queue_exit(&chaos->ring);
				CHECK_EQ(0, chaos_open(chaos));
			}
		}
		CHECK(io_uring_submit(&chaos->ring) >= 0);
		while (chaos->inflight)
			CHECK(!chaos_reap(me, chaos));
		CHECK_EQ(0, coll_barrier(me->comm));
	}
	io_uring_queue_exit(&chaos->ring);
	CHECK(chaos->succeeded > batches * BATCH / 4);
	free(chaos);
	return coll_barrier(me->comm);
}

FIXTURE(slow) {};
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

TEST_F_TIMEOUT(slow, chaos, 200)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_chaos, NULL));
}

TEST_HARNESS_MAIN
