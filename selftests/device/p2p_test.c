// SPDX-License-Identifier: GPL-2.0-only
/* Messages from one rank to another: in order, or by their tags; and ends that differ. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/timed.h"

#define MOST	(300 * 1024)

TIMED_TESTS(p2p)

static struct collective_op message(int opcode, unsigned int peer, __s32 *data, __u64 count)
{
	return (struct collective_op){
		.opcode = opcode,
		.type = COLLECTIVE_INT32,
		.root = peer,
		.count = count,
		.send = opcode == COLLECTIVE_SEND ? (uintptr_t)data : 0,
		.recv = opcode == COLLECTIVE_RECV ? (uintptr_t)data : 0,
	};
}

static int submit(struct rank *r, struct collective_op op, long long tag)
{
	if (tag >= 0) {
		op.flags = COLLECTIVE_F_KEYED;
		op.key = tag;
	}
	return member_submit(r->fd, &op);
}

static int send_it(struct rank *r, unsigned int to, __s32 *data, __u64 count, long long tag)
{
	return submit(r, message(COLLECTIVE_SEND, to, data, count), tag);
}

static int recv_it(struct rank *r, unsigned int from, __s32 *data, __u64 count, long long tag)
{
	return submit(r, message(COLLECTIVE_RECV, from, data, count), tag);
}

static __s32 value(unsigned int from, unsigned int to, __u64 i, unsigned int round)
{
	return from * 1000003 + to * 7919 + i * 31 + round;
}

static const __u64 counts[] = { 1, 0, 17, 2048, 2049, 70000, 5, MOST };

/* Messages of every size around the ring and back, without keys and with. */
static int rank_ring(struct rank *r)
{
	unsigned int next = (r->rank + 1) % r->nranks, last = (r->rank + r->nranks - 1) % r->nranks;
	__s32 *data = malloc(MOST * sizeof(*data));
	unsigned int round;
	__u64 i;

	for (round = 0; round < 4 * ARRAY_SIZE(counts); round++) {
		__u64 count = counts[round % ARRAY_SIZE(counts)];
		long long tag = round & 1 ? 99 : -1;

		if (r->rank) {
			CHECK_EQ(0, recv_it(r, last, data, count, tag));
			for (i = 0; i < count; i++)
				CHECK_EQ(value(last, r->rank, i, round), data[i]);
		}
		for (i = 0; i < count; i++)
			data[i] = value(r->rank, next, i, round);
		CHECK_EQ(0, send_it(r, next, data, count, tag));
		if (!r->rank) {
			CHECK_EQ(0, recv_it(r, last, data, count, tag));
			for (i = 0; i < count; i++)
				CHECK_EQ(value(last, r->rank, i, round), data[i]);
		}
	}
	free(data);
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(p2p, ring, 100)
{
	struct group_config config = { .nranks = 2, .timeout_ms = 60000 };

	EXPECT_EQ(0, group_run(&config, rank_ring, NULL));
	config.nranks = 5;
	config.lanes = 3;
	EXPECT_EQ(0, group_run(&config, rank_ring, NULL));
}

/* Small messages do not wait for the receiver, which receives them by tag. */
static int rank_tags(struct rank *r)
{
	__s32 data[64];
	int i;

	if (r->rank == 0) {
		for (i = 0; i < 300; i++) {
			data[0] = i;
			CHECK_EQ(0, send_it(r, 3, data, 1, i));
		}
		for (i = 0; i < 10; i++) {
			data[0] = 1000 + i;
			CHECK_EQ(0, send_it(r, 3, data, 1, 5000));
		}
		flag_set(r->shared, 0, 1);
	} else if (r->rank == 3) {
		/* The lower rank makes the link: after this message it exists. */
		CHECK_EQ(0, recv_it(r, 0, data, 1, 299));
		CHECK_EQ(299, data[0]);
		CHECK(flag_wait(r->shared, 0, 1, 20000));
		for (i = 298; i >= 0; i--) {
			CHECK_EQ(0, recv_it(r, 0, data, 1, i));
			CHECK_EQ(i, data[0]);
		}
		for (i = 0; i < 10; i++) {
			CHECK_EQ(0, recv_it(r, 0, data, 1, 5000));
			CHECK_EQ(1000 + i, data[0]);
		}
	}
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(p2p, tags, 100)
{
	struct group_config config = { .nranks = 6, .timeout_ms = 60000 };

	EXPECT_EQ(0, group_run(&config, rank_tags, NULL));
}

/* Any number of messages of one tag, small and large, keep their order. */
#define QUEUE	60

static int rank_queue(struct rank *r)
{
	const __u64 counts[] = { 1, 50000, 0, 2000, 2100 };
	__u64 request[QUEUE];
	int i, opcode = r->rank ? COLLECTIVE_RECV : COLLECTIVE_SEND;
	__s32 *data = calloc(QUEUE, 50000 * sizeof(*data));
	__u64 k;

	CHECK(data);
	for (i = 0; i < QUEUE; i++) {
		struct collective_op op = message(opcode, !r->rank, data + 50000 * i,
						  counts[i % 5]);

		for (k = 0; !r->rank && k < counts[i % 5]; k++)
			data[50000 * i + k] = value(0, 1, k, i);
		op.flags = COLLECTIVE_F_KEYED;
		op.key = 7;
		CHECK_EQ(0, member_start(r->fd, &op, &request[i]));
	}
	for (i = 0; i < QUEUE; i++)
		CHECK_EQ(0, member_wait(r->fd, request[i * 7 % QUEUE], 0));
	for (i = 0; i < QUEUE; i++)
		for (k = 0; k < counts[i % 5]; k++)
			CHECK_EQ(value(0, 1, k, i), data[50000 * i + k]);
	free(data);
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(p2p, queue, 100)
{
	struct group_config config = { .nranks = 2, .lanes = 2 };

	EXPECT_EQ(0, group_run(&config, rank_queue, NULL));
}

/* The eager messages need more credit than there is. */
static int rank_out_of_credit(struct rank *r)
{
	__s32 data[2048];
	int i;

	if (r->rank == 0) {
		/* The first messages use up the credit: these calls wait. */
		for (i = 0; i < 5; i++) {
			data[7] = i;
			CHECK_EQ(0, send_it(r, 1, data, 2048, i));
		}
	} else {
		for (i = 4; i >= 0; i--) {
			CHECK_EQ(0, recv_it(r, 0, data, 2048, i));
			CHECK_EQ(i, data[7]);
		}
	}
	return member_barrier(r->fd);
}

TEST_F(p2p, out_of_credit)
{
	struct group_config config = { .nranks = 2 };

	EXPECT_EQ(0, group_run(&config, rank_out_of_credit, NULL));
}

/* Ends that differ: in size either way, eager or not, and in type. */
static int rank_differ(struct rank *r)
{
	static const struct {
		__u64 sent;
		__u64 wanted;
	} cases[] = { { 10, 20 }, { 20, 10 }, { 10, 70000 }, { 70000, 10 }, { 70000, 80000 },
		      { 80000, 70000 }, { 0, 5 }, { 5, 0 }, { 0, 70000 }, { 70000, 0 } };
	__s32 *data = calloc(MOST, sizeof(*data));
	struct collective_op op;
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		long long tag = -1;

		if (i & 1)
			tag = i;
		if (r->rank == 0) {
			err = send_it(r, 1, data, cases[i].sent, tag);
			/* A small message may have been sent before the mismatch was known. */
			CHECK(err == -EBADMSG || (!err && cases[i].sent <= 2048));
		} else if (r->rank == 1) {
			CHECK_EQ(-EBADMSG, recv_it(r, 0, data, cases[i].wanted, tag));
		}
		CHECK_EQ(0, member_barrier(r->fd));
	}
	if (r->rank == 0)
		CHECK_EQ(0, send_it(r, 1, data, 4, -1));
	op = message(COLLECTIVE_RECV, 0, data, 4);
	op.type = COLLECTIVE_FLOAT32;
	if (r->rank == 1)
		CHECK_EQ(-EBADMSG, member_submit(r->fd, &op));
	CHECK_EQ(0, member_barrier(r->fd));

	/* Later messages succeed. */
	if (r->rank == 0)
		CHECK_EQ(0, send_it(r, 1, data, 70000, -1));
	if (r->rank == 1)
		CHECK_EQ(0, recv_it(r, 0, data, 70000, -1));
	free(data);
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(p2p, differ, 100)
{
	struct group_config config = { .nranks = 3, .timeout_ms = 60000 };

	EXPECT_EQ(0, group_run(&config, rank_differ, NULL));
}

/* No rank sends: only the receiver fails, and a message that comes later is dropped. */
static int rank_no_sender(struct rank *r)
{
	struct collective_op op;
	struct collective_status status;
	__s32 data[4];

	if (r->rank == 1) {
		op = message(COLLECTIVE_RECV, 0, data, 4);
		op.timeout_ms = 200;
		CHECK_EQ(-ETIMEDOUT, member_submit(r->fd, &op));
		CHECK_EQ(0, member_status(r->fd, &status));
		CHECK_EQ(COLLECTIVE_REASON_DEADLINE, status.last.kind);
		CHECK_EQ(1, status.last.rank_a);
		CHECK_EQ(0, status.last.rank_b);
		flag_set(r->shared, 0, 1);
	}
	CHECK_EQ(0, member_barrier(r->fd));
	if (r->rank == 0) {
		int err = send_it(r, 1, data, 4, -1);

		CHECK(!err || err == -ETIMEDOUT);
		data[0] = 5;
		CHECK_EQ(0, send_it(r, 1, data, 4, -1));
	}
	if (r->rank == 1) {
		CHECK_EQ(0, recv_it(r, 0, data, 4, -1));
		CHECK_EQ(5, data[0]);
	}
	return member_barrier(r->fd);
}

TEST_F(p2p, no_sender)
{
	struct group_config config = { .nranks = 2 };

	EXPECT_EQ(0, group_run(&config, rank_no_sender, NULL));
}

static int rank_refused(struct rank *r)
{
	__s32 data[4];
	struct collective_op op = message(COLLECTIVE_SEND, r->nranks, data, 4);

	CHECK_EQ(-EINVAL, member_submit(r->fd, &op));
	op.root = !r->rank;
	op.reduction = COLLECTIVE_MAX;
	CHECK_EQ(-EINVAL, member_submit(r->fd, &op));
	return member_barrier(r->fd);
}

TEST_F(p2p, refused)
{
	struct group_config config = { .nranks = 2 };

	EXPECT_EQ(0, group_run(&config, rank_refused, NULL));
}

/* Frames before the end of a connection must not hide the end. */
static int frames_before_close(struct rank *r)
{
	__s32 word = 7;

	if (!r->rank) {
		CHECK_EQ(0, send_it(r, 1, &word, 1, -1));
		CHECK_EQ(0, member_leave(r->fd));
		flag_set(r->shared, 0, 1);
		return 0;
	}
	CHECK(flag_wait(r->shared, 0, 1, 10000));
	sleep_ms(100);
	word = 0;
	CHECK_EQ(0, recv_it(r, 0, &word, 1, -1));
	CHECK_EQ(7, word);
	CHECK_EQ(-ECONNRESET, recv_it(r, 0, &word, 1, -1));
	return 0;
}

TEST_F(p2p, frames_before_close)
{
	struct group_config config = { .nranks = 2, .timeout_ms = 3000 };

	EXPECT_EQ(0, group_run(&config, frames_before_close, NULL));
}

TEST_HARNESS_MAIN
