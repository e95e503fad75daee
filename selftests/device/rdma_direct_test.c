// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large payloads by RDMA: which bytes this kernel copies, and that no memory is stored in after the
 * completion of an operation, however it ends.
 *
 * The machine has soft-RoCE: selftests/vm/run --rdma.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/group.h"
#include "lib/memory.h"
#include "kselftest_harness.h"

#define RDMA	COLLECTIVE_TRANSPORT_RDMA
#define NRANKS	3
#define BLOCK	(1024 * 1024UL)

/* Enough for an emulated machine. */
#define WAIT_MS	20000
/* A device that goes on after the end of an operation has stored bytes by then. */
#define LATER_MS 150

enum { FLAG_BUSY, VALUE_CUT = 0 };

static const struct group_config three = {
	.nranks = NRANKS,
	.heartbeat_ms = 1000,
	.transport = (const unsigned int []){ RDMA, RDMA, RDMA },
};

FIXTURE(rdma) {
};

FIXTURE_SETUP(rdma)
{
	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
}

FIXTURE_TEARDOWN(rdma)
{
}

static __u8 value(unsigned int rank, size_t at, unsigned int round)
{
	return rank * 37 + at * 5 + at / 4096 + round;
}

static void fill(__u8 *to, size_t len, unsigned int rank, size_t from, unsigned int round)
{
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = value(rank, from + i, round);
}

static bool filled(const __u8 *p, size_t len, unsigned int rank, size_t from, unsigned int round)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != value(rank, from + i, round))
			return false;
	return true;
}

static bool unchanged(const __u8 *p, size_t len, __u8 byte)
{
	return *p == byte && !memcmp(p, p + 1, len - 1);
}

struct traffic {
	long long sent;
	long long zero_copy;
	long long received;
	long long placed;
	long long reduced;
};

static struct traffic traffic(const struct rank *r)
{
	return (struct traffic){
		.sent = rank_value(r, "bytes_sent"),
		.zero_copy = rank_value(r, "zero_copy_bytes"),
		.received = rank_value(r, "bytes_received"),
		.placed = rank_value(r, "bytes_placed"),
		.reduced = rank_value(r, "bytes_reduced"),
	};
}

static struct traffic traffic_since(const struct rank *r, const struct traffic *before)
{
	struct traffic now = traffic(r);

	return (struct traffic){
		.sent = now.sent - before->sent,
		.zero_copy = now.zero_copy - before->zero_copy,
		.received = now.received - before->received,
		.placed = now.placed - before->placed,
		.reduced = now.reduced - before->reduced,
	};
}

static struct collective_op bytes_op(__u8 opcode, const void *send, void *recv, __u64 count)
{
	return (struct collective_op){
		.opcode = opcode,
		.type = COLLECTIVE_UINT8,
		.count = count,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};
}

/* Do an operation that reduces nothing; no byte of its payload is copied. */
static int submit_uncopied(struct rank *r, const struct collective_op *op, bool sends,
			   bool receives)
{
	struct traffic before = traffic(r), moved;

	CHECK_EQ(0, member_submit(r->fd, op));
	moved = traffic_since(r, &before);
	CHECK_EQ(moved.sent, moved.zero_copy);
	CHECK_EQ(moved.received, moved.placed);
	CHECK_EQ(sends, moved.sent > 0);
	CHECK_EQ(receives, moved.received > 0);
	return 0;
}

static int rank_gathers(struct rank *r)
{
	__u8 *send = memory(NRANKS * BLOCK), *recv = memory(NRANKS * BLOCK);
	struct collective_op op;
	unsigned int i;

	CHECK(send && recv);
	fill(recv + r->rank * BLOCK, BLOCK, r->rank, 0, 1);
	op = bytes_op(COLLECTIVE_ALLGATHER, recv, recv, BLOCK);
	CHECK_EQ(0, submit_uncopied(r, &op, true, true));
	for (i = 0; i < NRANKS; i++)
		CHECK(filled(recv + i * BLOCK, BLOCK, i, 0, 1));

	if (!r->rank)
		fill(recv, NRANKS * BLOCK, 7, 0, 2);
	op = bytes_op(COLLECTIVE_BROADCAST, recv, recv, NRANKS * BLOCK);
	CHECK_EQ(0, submit_uncopied(r, &op, r->rank != NRANKS - 1, r->rank));
	CHECK(filled(recv, NRANKS * BLOCK, 7, 0, 2));

	fill(send, NRANKS * BLOCK, r->rank, 0, 3);
	op = bytes_op(COLLECTIVE_ALLTOALL, send, recv, BLOCK);
	CHECK_EQ(0, submit_uncopied(r, &op, true, true));
	for (i = 0; i < NRANKS; i++)
		CHECK(filled(recv + i * BLOCK, BLOCK, i, r->rank * BLOCK, 3));
	return 0;
}

TEST_F_TIMEOUT(rdma, gathers_without_copies, 200)
{
	EXPECT_EQ(0, group_run(&three, rank_gathers, NULL));
}

/* What is reduced is read, too; all the rest is not copied. */
static int rank_reduces(struct rank *r)
{
	const size_t count = NRANKS * BLOCK / 4;
	__u32 *send = (void *)memory(4 * count), *recv = (void *)memory(4 * count);
	struct traffic before, moved;
	size_t i;

	CHECK(send && recv);
	for (i = 0; i < count; i++)
		send[i] = i + r->rank;
	before = traffic(r);
	CHECK_EQ(0, member_allreduce(r->fd, send, recv, count, COLLECTIVE_UINT32, COLLECTIVE_SUM));
	moved = traffic_since(r, &before);
	for (i = 0; i < count; i++)
		CHECK_EQ((__u32)(NRANKS * i + NRANKS * (NRANKS - 1) / 2), recv[i]);
	CHECK_EQ(moved.sent, moved.zero_copy);
	CHECK_EQ(moved.received, moved.placed + moved.reduced);
	CHECK(moved.placed > 0 && moved.reduced > 0);
	return 0;
}

TEST_F_TIMEOUT(rdma, reduces, 200)
{
	EXPECT_EQ(0, group_run(&three, rank_reduces, NULL));
}

/* Memory that begins and ends within pages. */
static int rank_unaligned(struct rank *r)
{
	static const size_t shifts[] = { 1, 7, 64, 2049, 4095 };
	size_t len = BLOCK + 12345, i, k;
	__u8 *send = memory(2 * BLOCK), *recv = memory(4 * BLOCK);
	struct collective_op op;

	CHECK(send && recv);
	for (k = 0; k < sizeof(shifts) / sizeof(*shifts); k++) {
		__u8 *in = send + shifts[k], *out = recv + shifts[(k + 1) % 5];

		memset(recv, 0x5a, 4 * BLOCK);
		fill(in, len, r->rank, 0, k);
		op = bytes_op(COLLECTIVE_ALLGATHER, in, out, len);
		CHECK_EQ(0, member_submit(r->fd, &op));
		for (i = 0; i < NRANKS; i++)
			CHECK(filled(out + i * len, len, i, 0, k));
		CHECK(unchanged(recv, out - recv, 0x5a));
		CHECK(unchanged(out + NRANKS * len, recv + 4 * BLOCK - out - NRANKS * len, 0x5a));
	}
	return 0;
}

TEST_F_TIMEOUT(rdma, unaligned, 200)
{
	EXPECT_EQ(0, group_run(&three, rank_unaligned, NULL));
}

/* All memory of an operation that has ended belongs to the process: nothing changes it. */
static int check_mine(__u8 *send, size_t nsend, __u8 *recv, size_t nrecv, __u8 byte)
{
	memset(send, byte, nsend);
	memset(recv, byte, nrecv);
	sleep_ms(LATER_MS);
	CHECK(unchanged(send, nsend, byte));
	CHECK(unchanged(recv, nrecv, byte));
	return 0;
}

/* Each rank changes its input at once; the others have got what was there before. */
static int rank_succeeds(struct rank *r)
{
	__u8 *send = memory(BLOCK), *recv = memory(NRANKS * BLOCK);
	struct collective_op op = bytes_op(COLLECTIVE_ALLGATHER, send, recv, BLOCK);
	unsigned int i, round;

	CHECK(send && recv);
	for (round = 0; round < 8; round++) {
		fill(send, BLOCK, r->rank, 0, round);
		CHECK_EQ(0, member_submit(r->fd, &op));
		memset(send, 0xee, BLOCK);
		for (i = 0; i < NRANKS; i++)
			CHECK(filled(recv + i * BLOCK, BLOCK, i, 0, round));
		CHECK_EQ(0, check_mine(send, BLOCK, recv, NRANKS * BLOCK, round));
	}
	return 0;
}

TEST_F_TIMEOUT(rdma, changed_after_success, 200)
{
	EXPECT_EQ(0, group_run(&three, rank_succeeds, NULL));
}

#define CUT_BLOCK	(4 * BLOCK)
#define CUT_ROUNDS	12

/* An operation is cancelled while bytes move; the group goes on. */
static int rank_cancels(struct rank *r)
{
	__u8 *send = memory(CUT_BLOCK), *recv = memory(NRANKS * CUT_BLOCK);
	struct collective_op op = bytes_op(COLLECTIVE_ALLGATHER, send, recv, CUT_BLOCK);
	unsigned int i, round;

	CHECK(send && recv);
	for (round = 0; round < CUT_ROUNDS; round++) {
		struct traffic before = traffic(r), moved;
		struct collective_cancel cancel = { .size = sizeof(cancel) };
		__u64 request;
		int err;

		CHECK_EQ(0, member_barrier(r->fd));
		CHECK_EQ(0, member_start(r->fd, &op, &request));
		if (r->rank == round % NRANKS) {
			sleep_ms(8 * round);
			cancel.request = request;
			err = member_ioctl(r->fd, COLLECTIVE_IOC_CANCEL, &cancel);
			CHECK(!err || err == -ENOENT);
		}
		err = member_wait(r->fd, request, 0);
		CHECK(!err || err == -ECANCELED);
		moved = traffic_since(r, &before);
		if (err && moved.placed && moved.placed < (NRANKS - 1) * (long long)CUT_BLOCK)
			__atomic_add_fetch(&r->shared->value[VALUE_CUT], 1, __ATOMIC_SEQ_CST);
		CHECK_EQ(0, check_mine(send, CUT_BLOCK, recv, NRANKS * CUT_BLOCK, round));
		CHECK_EQ(0, rank_value(r, "inflight"));
		CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	}
	fill(send, CUT_BLOCK, r->rank, 0, 9);
	CHECK_EQ(0, member_submit(r->fd, &op));
	for (i = 0; i < NRANKS; i++)
		CHECK(filled(recv + i * CUT_BLOCK, CUT_BLOCK, i, 0, 9));
	return 0;
}

TEST_F_TIMEOUT(rdma, changed_after_cancel, 400)
{
	struct group group;
	unsigned int i;

	ASSERT_EQ(0, group_start(&group, &three, rank_cancels, NULL));
	for (i = 0; i < NRANKS; i++) {
		waitpid(group.pid[i], &group.status[i], 0);
		EXPECT_EQ(0, group.status[i]);
	}
	/* Some were cut while bytes moved, or the test shows nothing. */
	EXPECT_LT(0, group.shared->value[VALUE_CUT]);
	TH_LOG("%llu of %u operations were cut", group.shared->value[VALUE_CUT],
	       NRANKS * CUT_ROUNDS);
	munmap(group.shared, sizeof(*group.shared));
}

/* Ranks call something else in the midst of large operations. */
static int rank_mismatches(struct rank *r)
{
	__u8 *send = memory(CUT_BLOCK), *recv = memory(NRANKS * CUT_BLOCK);
	unsigned int round;

	CHECK(send && recv);
	for (round = 0; round < 4; round++) {
		struct collective_op op = bytes_op(COLLECTIVE_ALLGATHER, send, recv, CUT_BLOCK);

		CHECK_EQ(0, member_barrier(r->fd));
		if (r->rank == round % NRANKS)
			op.count /= 2;
		CHECK(member_submit(r->fd, &op));
		CHECK_EQ(0, check_mine(send, CUT_BLOCK, recv, NRANKS * CUT_BLOCK, round));
	}
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST_F_TIMEOUT(rdma, changed_after_mismatch, 200)
{
	EXPECT_EQ(0, group_run(&three, rank_mismatches, NULL));
}

/* Gather until a rank dies. */
static int rank_until_reset(struct rank *r)
{
	__u8 *send = memory(CUT_BLOCK), *recv = memory(NRANKS * CUT_BLOCK);
	struct collective_op op = bytes_op(COLLECTIVE_ALLGATHER, send, recv, CUT_BLOCK);
	int err;

	CHECK(send && recv);
	CHECK_EQ(0, member_barrier(r->fd));
	__atomic_add_fetch(&r->shared->flag[FLAG_BUSY], 1, __ATOMIC_SEQ_CST);
	do {
		err = member_submit(r->fd, &op);
	} while (!err);
	CHECK_EQ(0, check_mine(send, CUT_BLOCK, recv, NRANKS * CUT_BLOCK, 0x77));
	CHECK_EQ(-ECONNRESET, err);
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	return 0;
}

TEST_F_TIMEOUT(rdma, changed_after_death, 400)
{
	struct group group;
	unsigned int i, n;

	for (n = 0; n < 5; n++) {
		ASSERT_EQ(0, group_start(&group, &three, rank_until_reset, NULL));
		ASSERT_TRUE(flag_wait(group.shared, FLAG_BUSY, NRANKS, WAIT_MS));
		sleep_ms(20 + 30 * n);
		kill(group.pid[n % NRANKS], SIGKILL);
		for (i = 0; i < NRANKS; i++) {
			waitpid(group.pid[i], &group.status[i], 0);
			if (i != n % NRANKS)
				EXPECT_EQ(0, group.status[i]);
		}
		munmap(group.shared, sizeof(*group.shared));
	}
}

TEST_HARNESS_MAIN
