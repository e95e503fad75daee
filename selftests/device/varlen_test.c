// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lengths that only the sender knows: the data that arrives, the reported length, and receivers
 * with too small a buffer.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/timed.h"

#define MOST	(300 * 1024)
#define EMPTY	0x5a5a5a5a

TIMED_TESTS(varlen)

static int submit(int fd, const struct collective_op *op, __u64 *received)
{
	struct collective_submit submit = { .size = sizeof(submit), .op = *op };
	int err;

	do {
		err = member_ioctl(fd, COLLECTIVE_IOC_SUBMIT, &submit);
	} while (err == -EINTR && submit.request);
	*received = submit.received;
	return err;
}

static int collect(int fd, __u64 request, __u64 *received)
{
	struct collective_wait wait = { .size = sizeof(wait), .request = request };
	int err = member_ioctl(fd, COLLECTIVE_IOC_WAIT, &wait);

	*received = wait.received;
	return err;
}

static __s32 value(unsigned int from, unsigned int to, __u64 i, unsigned int round)
{
	return from * 1000003 + to * 7919 + i * 31 + round;
}

static void empty(__s32 *data)
{
	__u64 i;

	for (i = 0; i < MOST; i++)
		data[i] = EMPTY;
}

/*
 * True if a buffer holds @count elements of the sender, at most @capacity, and is unchanged behind
 * them.
 */
static bool holds(const __s32 *data, __u64 count, __u64 capacity, unsigned int from,
		  unsigned int to, unsigned int round)
{
	__u64 stored = count < capacity ? count : capacity, i;

	for (i = 0; i < stored; i++)
		if (data[i] != value(from, to, i, round))
			return false;
	for (; i < MOST; i++)
		if (data[i] != EMPTY)
			return false;
	return true;
}

static const struct {
	__u64 sent;
	__u64 capacity;
} cases[] = {
	{ 10, 20 }, { 20, 20 }, { 20, 10 }, { 0, 20 }, { 20, 0 }, { 0, 0 }, { 2048, 2049 },
	{ 2049, 2048 }, { 10, 70000 }, { 70000, 10 }, { 70000, 0 }, { 0, 70000 },
	{ 70000, 80001 }, { 80001, 70000 }, { 70000, 70000 }, { MOST, 1 }, { MOST, MOST },
	{ 2048, 2048 }, { MOST, MOST - 1 }, { 1, 1 },
};

static int rank_messages(struct rank *r)
{
	unsigned int next = (r->rank + 1) % r->nranks, last = (r->rank + r->nranks - 1) % r->nranks;
	__s32 *in = malloc(MOST * sizeof(*in)), *out = malloc(MOST * sizeof(*out));
	unsigned int round;
	__u64 received, i;

	for (round = 0; round < 2 * ARRAY_SIZE(cases); round++) {
		__u64 sent = cases[round / 2].sent, capacity = cases[round / 2].capacity, request;
		struct collective_op send = {
			.opcode = COLLECTIVE_SEND,
			.type = COLLECTIVE_INT32,
			.root = next,
			.count = sent,
			.send = (uintptr_t)out,
		};
		struct collective_op recv = {
			.opcode = COLLECTIVE_RECV,
			.flags = COLLECTIVE_F_VARLEN,
			.type = COLLECTIVE_INT32,
			.root = last,
			.count = capacity,
			.recv = (uintptr_t)in,
		};

		if (round & 1) {
			send.flags |= COLLECTIVE_F_KEYED;
			recv.flags |= COLLECTIVE_F_KEYED;
			send.key = 7;
			recv.key = 7;
		}
		empty(in);
		for (i = 0; i < sent; i++)
			out[i] = value(r->rank, next, i, round);
		CHECK_EQ(0, member_start(r->fd, &send, &request));
		CHECK_EQ(sent > capacity ? -EMSGSIZE : 0, submit(r->fd, &recv, &received));
		CHECK_EQ(sent, received);
		CHECK(holds(in, sent, capacity, last, r->rank, round));
		CHECK_EQ(0, collect(r->fd, request, &received));
		CHECK_EQ(0, received);
	}
	free(in);
	free(out);
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(varlen, messages, 100)
{
	struct group_config config = { .nranks = 2, .timeout_ms = 60000 };

	EXPECT_EQ(0, group_run(&config, rank_messages, NULL));
	config.nranks = 3;
	config.lanes = 3;
	EXPECT_EQ(0, group_run(&config, rank_messages, NULL));
}

/**
 * struct rooted - a broadcast or scatter of variable length
 * @opcode: enum collective_opcode
 * @root: root rank
 * @round: seed of the contents
 * @sent: elements of the broadcast, or of a rank's block
 * @capacity: elements of the buffers of the other ranks, except one that has enough
 * @keyed: true if @round is its key
 * @vector: true if the blocks of a scatter differ in length
 */
struct rooted {
	int opcode;
	unsigned int root;
	unsigned int round;
	__u64 sent;
	__u64 capacity;
	bool keyed;
	bool vector;
};

static __u64 rooted_count(const struct rooted *rooted, unsigned int rank)
{
	return rooted->vector ? rooted->sent / (1 + rank % 3) : rooted->sent;
}

/* Return: the size of the buffer of a rank; one rank always has enough. */
static __u64 rooted_capacity(const struct rooted *rooted, const struct rank *r)
{
	if (r->rank == rooted->root)
		return rooted_count(rooted, r->rank);
	return r->rank == (rooted->root + 1) % r->nranks ? rooted->sent + 1 : rooted->capacity;
}

/**
 * struct buffers - memory of a rank
 * @in: received elements, MOST of them
 * @out: elements that a root sends: a block for each rank
 * @counts: lengths of these blocks
 * @layout: layout with @counts
 */
struct buffers {
	__s32 *in;
	__s32 *out;
	__u64 counts[GROUP_RANKS_MAX];
	struct collective_layout layout;
};

static void buffers_new(struct buffers *b)
{
	b->in = malloc(MOST * sizeof(*b->in));
	b->out = malloc(5 * MOST * sizeof(*b->out));
}

static void buffers_free(struct buffers *b)
{
	free(b->in);
	free(b->out);
}

static struct collective_op rooted_op(const struct rank *r, const struct rooted *rooted,
				      struct buffers *b)
{
	bool scatter = rooted->opcode == COLLECTIVE_SCATTER, root = r->rank == rooted->root;
	struct collective_op op = {
		.opcode = rooted->opcode,
		.flags = COLLECTIVE_F_VARLEN,
		.type = COLLECTIVE_INT32,
		.root = rooted->root,
		.count = rooted_capacity(rooted, r),
		.send = root ? (uintptr_t)b->out : 0,
		.recv = (uintptr_t)b->in,
	};
	__s32 *out = b->out;
	unsigned int to;
	__u64 i;

	empty(b->in);
	for (to = 0; root && to < (scatter ? r->nranks : 1); to++) {
		b->counts[to] = rooted_count(rooted, to);
		for (i = 0; i < b->counts[to]; i++)
			*out++ = value(rooted->root, to, i, rooted->round);
	}
	if (rooted->keyed) {
		op.flags |= COLLECTIVE_F_KEYED;
		op.key = rooted->round;
	}
	if (rooted->vector) {
		op.flags |= COLLECTIVE_F_VECTOR;
		b->layout = (struct collective_layout){
			.size = sizeof(b->layout),
			.send_counts = (uintptr_t)b->counts,
		};
		op.layout = root ? (uintptr_t)&b->layout : 0;
	}
	return op;
}

static int rooted_check(const struct rank *r, const struct rooted *rooted,
			const struct buffers *b, int err, __u64 received)
{
	__u64 capacity = rooted_capacity(rooted, r), sent = rooted_count(rooted, r->rank);
	unsigned int to = rooted->opcode == COLLECTIVE_SCATTER ? r->rank : 0;

	CHECK_EQ(sent > capacity ? -EMSGSIZE : 0, err);
	CHECK_EQ(sent, received);
	CHECK(holds(b->in, sent, capacity, rooted->root, to, rooted->round));
	return 0;
}

static int rank_rooted(struct rank *r)
{
	struct buffers b;
	unsigned int round;
	__u64 received;

	buffers_new(&b);
	for (round = 0; round < 3 * ARRAY_SIZE(cases); round++) {
		struct rooted rooted = {
			.opcode = round % 3 ? COLLECTIVE_SCATTER : COLLECTIVE_BROADCAST,
			.root = round % r->nranks,
			.round = round,
			.sent = cases[round / 3].sent,
			.capacity = cases[round / 3].capacity,
			.keyed = round & 4,
			.vector = round % 3 == 2,
		};
		struct collective_op op;
		int err;

		if (rooted.sent == MOST)
			rooted.sent = MOST - 1;
		op = rooted_op(r, &rooted, &b);
		err = submit(r->fd, &op, &received);
		CHECK_EQ(0, rooted_check(r, &rooted, &b, err, received));
	}
	buffers_free(&b);
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(varlen, rooted, 200)
{
	static const unsigned int nranks[] = { 1, 2, 3, 5 };
	struct group_config config = { .timeout_ms = 60000 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nranks); i++) {
		config.nranks = nranks[i];
		config.lanes = 1 + i;
		EXPECT_EQ(0, group_run(&config, rank_rooted, NULL));
	}
}

/* Several at a time, with keys in another order on each rank, and other operations between. */
static int rank_inflight(struct rank *r)
{
	enum { N = 12 };
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	struct rooted rooted[N];
	__u64 request[N], other[N], received;
	struct buffers b[N];
	unsigned int i, n;

	for (n = 0; n < N; n++) {
		i = (n * 5 + r->rank * 7) % N;
		rooted[i] = (struct rooted){
			.opcode = i & 1 ? COLLECTIVE_SCATTER : COLLECTIVE_BROADCAST,
			.root = i % r->nranks,
			.round = i,
			.sent = cases[i].sent,
			.capacity = cases[i].capacity,
			.keyed = true,
		};
		buffers_new(&b[i]);
		struct collective_op op = rooted_op(r, &rooted[i], &b[i]);

		CHECK_EQ(0, member_start(r->fd, &op, &request[i]));
		CHECK_EQ(0, member_start(r->fd, &barrier, &other[i]));
	}
	for (i = 0; i < N; i++) {
		int err = collect(r->fd, request[i], &received);

		CHECK_EQ(0, rooted_check(r, &rooted[i], &b[i], err, received));
		CHECK_EQ(0, collect(r->fd, other[i], &received));
		CHECK_EQ(0, received);
		buffers_free(&b[i]);
	}
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(varlen, inflight, 100)
{
	struct group_config config = { .nranks = 3, .timeout_ms = 60000 };

	EXPECT_EQ(0, group_run(&config, rank_inflight, NULL));
}

/* All ranks must set the flag, and only for collectives that allow it. */
static int rank_refused(struct rank *r)
{
	__s32 data[64] = { 0 };
	struct collective_op op = {
		.opcode = COLLECTIVE_BROADCAST,
		.flags = COLLECTIVE_F_VARLEN,
		.type = COLLECTIVE_INT32,
		.count = 16,
		.send = (uintptr_t)data,
		.recv = (uintptr_t)data,
	};
	__u64 received;

	op.algorithm = COLLECTIVE_ALGORITHM_RING;
	CHECK_EQ(-EOPNOTSUPP, submit(r->fd, &op, &received));
	op.algorithm = COLLECTIVE_ALGORITHM_DIRECT;
	CHECK_EQ(0, submit(r->fd, &op, &received));
	CHECK_EQ(16, received);
	op.algorithm = COLLECTIVE_ALGORITHM_AUTO;
	op.opcode = COLLECTIVE_ALLREDUCE;
	CHECK_EQ(-EINVAL, submit(r->fd, &op, &received));
	op.opcode = COLLECTIVE_SEND;
	op.root = !r->rank;
	CHECK_EQ(-EINVAL, submit(r->fd, &op, &received));

	op.root = 0;
	op.opcode = COLLECTIVE_SCATTER;
	op.recv = (uintptr_t)(data + 48);
	op.flags = r->rank ? COLLECTIVE_F_VARLEN : 0;
	CHECK_EQ(-EBADMSG, submit(r->fd, &op, &received));
	op.opcode = COLLECTIVE_BROADCAST;
	CHECK_EQ(-EBADMSG, submit(r->fd, &op, &received));
	return member_barrier(r->fd);
}

TEST_F(varlen, refused)
{
	struct group_config config = { .nranks = 2 };

	EXPECT_EQ(0, group_run(&config, rank_refused, NULL));
}

TEST_HARNESS_MAIN
