// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations fail while another rank has not submitted them. However many fail, they do not delay
 * others, and the late rank learns of each.
 */
#include <errno.h>
#include <stdint.h>

#include "lib/any_transport.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/timed.h"
#include "lib/machine.h"

/* More than an earlier table of failed operations had entries. */
#define KEYS	1500

#define LATE_FLAG	8

/* Operations in flight at a time. */
#define BATCH		200

TIMED_TESTS(late_rank)

static int barrier(struct rank *r, __u32 timeout_ms)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_BARRIER,
		.timeout_ms = timeout_ms,
	};

	return member_submit(r->fd, &op);
}

static int sum(struct rank *r, __u64 key, __u64 count, __u32 timeout_ms)
{
	static float data[65536];
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_FLOAT32,
		.reduction = COLLECTIVE_SUM,
		.flags = key ? COLLECTIVE_F_KEYED : 0,
		.key = key,
		.timeout_ms = timeout_ms,
		.count = count,
		.send = (uintptr_t)data,
		.recv = (uintptr_t)data,
	};
	__u64 i;
	int err;

	for (i = 0; i < count; i++)
		data[i] = r->rank + 1;
	err = member_submit(r->fd, &op);
	for (i = 0; !err && i < count; i++)
		if (data[i] != r->nranks * (r->nranks + 1) / 2)
			return -ERANGE;
	return err;
}

/* Submit barriers that the other rank does not call. Return: how many, or a negative errno. */
static int barriers_fail(struct rank *r, unsigned int n)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_BARRIER,
		.timeout_ms = 2,
	};
	__u64 request[BATCH];
	unsigned int begun, i;
	int err = 0;

	for (begun = 0; begun < n && !err; begun += !err)
		err = member_start(r->fd, &op, &request[begun]);
	if (err && err != -EAGAIN)
		return err;
	for (i = 0; i < begun; i++) {
		err = member_wait(r->fd, request[i], 0);
		if (err != -ETIMEDOUT)
			return err ? err : -ERANGE;
	}
	return begun;
}

/*
 * A barrier, called again while this rank is too far ahead.  The late rank is, too, until the other
 * ranks have heard how far it is.
 */
static int barrier_called(struct rank *r)
{
	__u64 end = now_ms() + 60000;
	int err;

	while ((err = barrier(r, 60000)) == -EAGAIN && now_ms() < end)
		sleep_ms(1);
	return err;
}

/*
 * Barriers with a short timeout, while a rank has not called them. When the others are too far
 * ahead, more are refused at once. Then the late rank calls: it fails the same operations, at
 * once, and all ranks meet in the first operation that has not failed.
 */
static int rank_poll(struct rank *r)
{
	unsigned int late = 0;
	__u64 begin = now_ms();
	int n = 1, total = 0, err;

	if (r->rank == r->nranks - 1) {
		CHECK(flag_wait(r->shared, LATE_FLAG, r->nranks - 1, 60000));
		while ((err = barrier_called(r)) == -ETIMEDOUT)
			late++;
		CHECK_EQ(0, err);
		CHECK(late >= 1000);
	} else {
		for (; n; total += n) {
			n = barriers_fail(r, BATCH);
			CHECK(n >= 0);
			CHECK(now_ms() < begin + 60000);
		}
		CHECK(total >= 1000);
		CHECK_EQ(-EAGAIN, barrier(r, 2));
		__atomic_add_fetch(&r->shared->flag[LATE_FLAG], 1, __ATOMIC_SEQ_CST);
		CHECK_EQ(0, barrier_called(r));
	}
	CHECK_EQ(0, sum(r, 0, 100, 0));
	CHECK_EQ(0, sum(r, 77, 100, 0));
	CHECK_EQ(0, sum(r, 0, 65536, 0));
	return 0;
}

TEST_F_TIMEOUT(late_rank, poll, 200)
{
	struct group_config config = {
		.nranks = 2, .heartbeat_ms = short_heartbeat_ms(),
	};

	EXPECT_EQ(0, group_run(&config, rank_poll, NULL));
}

TEST_F_TIMEOUT(late_rank, poll_many, 200)
{
	struct group_config config = {
		.nranks = 5, .lanes = 2, .heartbeat_ms = short_heartbeat_ms(),
	};

	EXPECT_EQ(0, group_run(&config, rank_poll, NULL));
}

/*
 * Small and large sums with keys fail on rank 0, which alone calls them. One that both ranks call
 * succeeds. The late rank learns that all others failed.
 */
static int rank_keys(struct rank *r)
{
	__u64 key;

	for (key = 1; key <= KEYS && !r->rank; key++)
		CHECK_EQ(-ETIMEDOUT, sum(r, key, key & 1 ? 2 : 20000, 1));
	CHECK_EQ(0, barrier(r, 0));
	CHECK_EQ(0, sum(r, KEYS + 1, 2, 0));
	CHECK_EQ(0, sum(r, KEYS + 2, 20000, 0));
	for (key = 1; key <= KEYS; key++)
		CHECK_EQ(-ETIMEDOUT, sum(r, key, 2, 20000));
	CHECK_EQ(0, sum(r, KEYS + 3, 2, 0));
	return 0;
}

TEST_F_TIMEOUT(late_rank, keys, 200)
{
	struct group_config config = { .nranks = 2 };

	EXPECT_EQ(0, group_run(&config, rank_keys, NULL));
}

TEST_HARNESS_MAIN
