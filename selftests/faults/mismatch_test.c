// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks call different operations. The operation fails on all of them, at once, and STATUS says
 * which ranks called what. The group lives on.
 *
 * One rank differs: the first, the last, or one in between; in every argument that a collective
 * has.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/machine.h"

#define SOON_MS		5000
#define LATE_MS		200

/* With one more element of four bytes from each of five ranks. */
#define LARGE		20000
#define AREA		(5 * (LARGE + 1) * 4)

/**
 * struct quarrel - calls that differ
 * @call: call of all ranks but one
 * @other: call of that one rank
 * @selfish: true if each rank calls itself the root
 */
struct quarrel {
	struct collective_op call;
	struct collective_op other;
	bool selfish;
};

/* What a rank needs for its calls. */
struct desk {
	struct rank *r;
	__u8 *send;
	__u8 *recv;
};

static bool reduces(int opcode)
{
	return opcode == COLLECTIVE_ALLREDUCE || opcode == COLLECTIVE_REDUCE ||
	       opcode == COLLECTIVE_REDUCE_SCATTER || opcode == COLLECTIVE_SCAN;
}

static bool rooted(int opcode)
{
	return opcode == COLLECTIVE_REDUCE || opcode == COLLECTIVE_BROADCAST ||
	       opcode == COLLECTIVE_GATHER || opcode == COLLECTIVE_SCATTER;
}

static struct collective_op op_new(int opcode, __u64 count)
{
	struct collective_op op = { .opcode = opcode };

	if (opcode == COLLECTIVE_BARRIER)
		return op;
	op.type = COLLECTIVE_INT32;
	op.count = count;
	return op;
}

static struct collective_op op_of(const struct quarrel *q, unsigned int rank, unsigned int odd)
{
	struct collective_op op = rank == odd ? q->other : q->call;

	if (q->selfish)
		op.root = rank;
	return op;
}

static int desk_new(struct desk *desk, struct rank *r)
{
	desk->r = r;
	desk->send = calloc(1, AREA);
	desk->recv = calloc(1, AREA);
	CHECK(desk->send && desk->recv);
	return 0;
}

static int desk_submit(const struct desk *desk, struct collective_op op)
{
	if (op.opcode != COLLECTIVE_BARRIER) {
		op.send = (uintptr_t)desk->send;
		op.recv = (uintptr_t)desk->recv;
	}
	return member_submit(desk->r->fd, &op);
}

/* True if STATUS describes @op of @rank. */
static int call_check(const struct collective_call *call, const struct collective_op *op)
{
	CHECK_EQ(op->opcode, call->opcode);
	CHECK_EQ(op->type, call->type);
	CHECK_EQ(op->reduction, call->reduction);
	CHECK_EQ(op->flags, call->flags);
	CHECK_EQ(op->root, call->root);
	CHECK_EQ(op->count, call->count);
	CHECK_EQ(0, call->layout);
	CHECK(call->algorithm > COLLECTIVE_ALGORITHM_AUTO);
	CHECK(call->algorithm < COLLECTIVE_ALGORITHM_COUNT);
	if (op->algorithm)
		CHECK_EQ(op->algorithm, call->algorithm);
	return 0;
}

static int status_check(const struct rank *r, const struct quarrel *q, unsigned int odd)
{
	struct collective_status status;
	unsigned int i;

	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	CHECK_EQ(COLLECTIVE_REASON_MISMATCH, status.last.kind);
	CHECK_EQ(EBADMSG, status.last.error);
	CHECK_EQ(status.submitted - 1, status.last.instance);
	CHECK_EQ(status.last.rank_a, status.calls[0].rank);
	CHECK_EQ(status.last.rank_b, status.calls[1].rank);
	CHECK(status.last.rank_a < r->nranks && status.last.rank_b < r->nranks);
	CHECK(status.last.rank_a != status.last.rank_b);
	if (!q->selfish)
		CHECK(status.last.rank_a == odd || status.last.rank_b == odd);
	for (i = 0; i < 2; i++) {
		struct collective_op op = op_of(q, status.calls[i].rank, odd);

		if (call_check(&status.calls[i], &op))
			return 1;
	}
	return 0;
}

/* Return: 0 if the operation fails as it must. */
static int quarrel_run(const struct desk *desk, const struct quarrel *q, unsigned int odd,
		       unsigned int late)
{
	struct rank *r = desk->r;
	__u64 begin;

	if (r->rank == late)
		sleep_ms(LATE_MS);
	begin = now_ms();
	CHECK_EQ(-EBADMSG, desk_submit(desk, op_of(q, r->rank, odd)));
	CHECK(now_ms() - begin < SOON_MS);
	return status_check(r, q, odd);
}

static int good_run(const struct desk *desk, unsigned int count)
{
	struct rank *r = desk->r;
	int *send = (int *)desk->send, *recv = (int *)desk->recv;
	unsigned int i;

	for (i = 0; i < count; i++)
		send[i] = i + r->rank;
	CHECK_EQ(0, member_allreduce(r->fd, send, recv, count, COLLECTIVE_INT32, COLLECTIVE_SUM));
	for (i = 0; i < count; i++)
		CHECK_EQ(i * r->nranks + r->nranks * (r->nranks - 1) / 2, recv[i]);
	return 0;
}

/* Fill in all calls that differ from one call. */
static unsigned int quarrels_fill(struct quarrel *q, int opcode, __u64 count)
{
	const struct collective_op call = op_new(opcode, count);
	unsigned int n = 0;
	const int other = opcode == COLLECTIVE_SCAN ? COLLECTIVE_BARRIER : opcode + 1;

#define DIFFER(_what) do {						\
	q[n] = (struct quarrel){ .call = call, .other = call };		\
	_what;								\
	n++;								\
} while (0)
	DIFFER(q[n].other = op_new(other, count));
	if (opcode == COLLECTIVE_BARRIER) {
		DIFFER(q[n].call.algorithm = COLLECTIVE_ALGORITHM_RING;
		       q[n].other.algorithm = COLLECTIVE_ALGORITHM_TREE);
		return n;
	}
	DIFFER(q[n].other.count++);
	DIFFER(q[n].other.count = 0);
	DIFFER(q[n].call.count = 0);
	DIFFER(q[n].other.type = COLLECTIVE_FLOAT32);
	DIFFER(q[n].other.type = COLLECTIVE_INT8; q[n].other.count *= 4);
	if (reduces(opcode))
		DIFFER(q[n].other.reduction = COLLECTIVE_MAX);
	if (rooted(opcode)) {
		DIFFER(q[n].other.root = 1);
		DIFFER(q[n].call.root = 1);
		DIFFER(q[n].selfish = true);
	}
	if (opcode == COLLECTIVE_BROADCAST)
		DIFFER(q[n].call.algorithm = COLLECTIVE_ALGORITHM_RING;
		       q[n].other.algorithm = COLLECTIVE_ALGORITHM_TREE);
	if (opcode == COLLECTIVE_ALLREDUCE || opcode == COLLECTIVE_SCAN)
		DIFFER(q[n].other.flags = COLLECTIVE_F_REPRODUCIBLE);
	return n;
#undef DIFFER
}

static int quarrel_complain(const struct rank *r, const struct quarrel *q, unsigned int odd,
			    unsigned int late)
{
	const struct collective_op *op[] = { &q->call, &q->other };
	unsigned int i;

	for (i = 0; i < 2; i++)
		dprintf(STDOUT_FILENO, "# %s: opcode %u count %llu type %u reduction %u root %u\n",
			i ? "other" : "call", op[i]->opcode, (unsigned long long)op[i]->count,
			op[i]->type, op[i]->reduction, op[i]->root);
	dprintf(STDOUT_FILENO, "# rank %u of %u: %u calls otherwise%s, %d is late\n",
		r->rank, r->nranks, odd, q->selfish ? ", each is the root" : "", (int)late);
	return 1;
}

static int rank_every_way(struct rank *r)
{
	const int opcode = *(const int *)r->arg;
	static const __u64 counts[] = { 1, 3, LARGE };
	const unsigned int odds[] = { 0, r->nranks / 2, r->nranks - 1 };
	struct quarrel quarrels[16];
	unsigned int c, i, k, n;
	struct desk desk;

	if (desk_new(&desk, r))
		return 1;
	for (c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		n = quarrels_fill(quarrels, opcode, counts[c]);
		for (i = 0; i < n; i++)
			for (k = 0; k < 3; k++)
				if (quarrel_run(&desk, &quarrels[i], odds[k], -1))
					return quarrel_complain(r, &quarrels[i], odds[k], -1);
		if (good_run(&desk, counts[c]))
			return 1;
	}
	return 0;
}

FIXTURE(mismatch) {
};

FIXTURE_VARIANT(mismatch) {
	struct group_config config;
};

FIXTURE_VARIANT_ADD(mismatch, two) { .config = { .nranks = 2 } };
FIXTURE_VARIANT_ADD(mismatch, three) { .config = { .nranks = 3 } };
FIXTURE_VARIANT_ADD(mismatch, four) { .config = { .nranks = 4, .lanes = 2 } };
FIXTURE_VARIANT_ADD(mismatch, five) { .config = { .nranks = 5 } };

FIXTURE_SETUP(mismatch)
{
	if (variant->config.nranks > max_ranks())
		SKIP((void)0, "left to User-Mode Linux");
}

FIXTURE_TEARDOWN(mismatch) {}

TEST_F_TIMEOUT(mismatch, every_way, 200)
{
	int opcode;

	for (opcode = COLLECTIVE_BARRIER; opcode <= COLLECTIVE_SCAN; opcode++)
		EXPECT_EQ(0, group_run(&variant->config, rank_every_way, &opcode))
			TH_LOG("opcode %d", opcode);
}

/* Other ranks know of the mismatch before one has called: the rank that differs, or another. */
static int rank_late(struct rank *r)
{
	const unsigned int odds[] = { 0, r->nranks / 2, r->nranks - 1 };
	struct quarrel quarrels[16];
	unsigned int k, late;
	struct desk desk;
	int opcode;

	if (desk_new(&desk, r))
		return 1;
	for (opcode = COLLECTIVE_BARRIER; opcode <= COLLECTIVE_SCAN; opcode++) {
		const unsigned int n = quarrels_fill(quarrels, opcode, opcode % 2 ? 3 : LARGE);

		for (k = 0; k < 3; k++) {
			const struct quarrel *q = &quarrels[(opcode + 3 * k) % n];

			late = (opcode + k) % r->nranks;
			/* All ranks start the next operation together. */
			CHECK_EQ(0, member_barrier(r->fd));
			if (quarrel_run(&desk, q, odds[k], late))
				return quarrel_complain(r, q, odds[k], late);
		}
	}
	return good_run(&desk, LARGE);
}

TEST_F_TIMEOUT(mismatch, late, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_late, NULL));
}

static int rank_in_a_row(struct rank *r)
{
	struct quarrel quarrels[16];
	unsigned int i;
	struct desk desk;
	int opcode;

	if (desk_new(&desk, r))
		return 1;
	for (i = 0; i < 50; i++) {
		opcode = i % (COLLECTIVE_SCAN + 1);
		if (quarrel_run(&desk, &quarrels[i % quarrels_fill(quarrels, opcode, 1 + 400 * i)],
				i % r->nranks, -1))
			return 1;
	}
	CHECK_EQ(50, rank_value(r, "errors/mismatch"));
	for (i = 1; i <= LARGE; i *= 10)
		if (good_run(&desk, i))
			return 1;
	CHECK_EQ(0, process_value(0, "VmPin:"));
	return 0;
}

TEST_F_TIMEOUT(mismatch, fifty_in_a_row, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_in_a_row, NULL));
}

/* One rank calls while the others, which know of the mismatch, leave. It needs none of them. */
static int rank_left_behind(struct rank *r)
{
	const unsigned int delay = *(unsigned int *)r->arg;
	struct collective_status status;
	struct quarrel quarrels[16];
	struct desk desk;

	if (desk_new(&desk, r))
		return 1;
	quarrels_fill(quarrels, COLLECTIVE_ALLREDUCE, LARGE);
	if (r->rank == r->nranks / 2)
		usleep(delay);
	CHECK_EQ(-EBADMSG, desk_submit(&desk, op_of(&quarrels[0], r->rank, r->nranks - 1)));
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	return 0;
}

TEST_F_TIMEOUT(mismatch, left_behind, 100)
{
	unsigned int delay, step = slow_machine() ? 400 : 50;

	for (delay = 0; delay < 4000; delay += step) {
		ASSERT_EQ(0, group_run(&variant->config, rank_left_behind, &delay))
			TH_LOG("after %u us", delay);
	}
}

static void *good_thread(void *arg)
{
	return (void *)(intptr_t)good_run(arg, LARGE);
}

static __u64 submitted(const struct rank *r)
{
	struct collective_status status;

	return member_status(r->fd, &status) ? 0 : status.submitted;
}

/* A valid operation waits for the last rank while others fail. */
static int rank_beside(struct rank *r)
{
	struct quarrel quarrels[16];
	struct desk desk, good;
	pthread_t thread;
	void *failed;
	__u64 before;
	unsigned int i;

	if (desk_new(&desk, r) || desk_new(&good, r))
		return 1;
	for (i = 0; i < 40; i++) {
		const unsigned int n = quarrels_fill(quarrels, i % (COLLECTIVE_SCAN + 1),
						     i % 3 ? 5 : LARGE);

		before = submitted(r);
		CHECK_EQ(0, pthread_create(&thread, NULL, good_thread, &good));
		/* It must have its instance number first, on all ranks. */
		while (submitted(r) == before)
			sched_yield();
		CHECK_EQ(-EBADMSG, desk_submit(&desk, op_of(&quarrels[i % n], r->rank,
							    i % r->nranks)));
		pthread_join(thread, &failed);
		CHECK(!failed);
	}
	return 0;
}

TEST_F_TIMEOUT(mismatch, beside_good_ones, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_beside, NULL));
}

/* AUTO and the algorithm that it stands for do not differ. */
static int rank_same(struct rank *r)
{
	struct collective_op op = op_new(COLLECTIVE_BROADCAST, 3);
	struct desk desk;

	if (desk_new(&desk, r))
		return 1;
	op.algorithm = r->rank % 2 ? COLLECTIVE_ALGORITHM_AUTO : COLLECTIVE_ALGORITHM_TREE;
	CHECK_EQ(0, desk_submit(&desk, op));
	op = op_new(COLLECTIVE_ALLREDUCE, LARGE);
	op.algorithm = r->rank % 2 ? COLLECTIVE_ALGORITHM_RING : COLLECTIVE_ALGORITHM_AUTO;
	CHECK_EQ(0, desk_submit(&desk, op));
	op = op_new(COLLECTIVE_GATHER, 3);
	op.algorithm = r->rank % 2 ? COLLECTIVE_ALGORITHM_DIRECT : COLLECTIVE_ALGORITHM_AUTO;
	CHECK_EQ(0, desk_submit(&desk, op));
	return 0;
}

TEST_F(mismatch, auto_is_what_it_means)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_same, NULL));
}

/* No rank completes a broadcast before all have called it. */
static int rank_waits(struct rank *r)
{
	const struct collective_op op = op_new(COLLECTIVE_BROADCAST, 3);
	struct desk desk;
	unsigned int i;

	if (desk_new(&desk, r))
		return 1;
	for (i = 0; i < r->nranks; i++) {
		CHECK_EQ(0, member_barrier(r->fd));
		if (r->rank == i) {
			sleep_ms(LATE_MS);
			flag_set(r->shared, i, 1);
		}
		CHECK_EQ(0, desk_submit(&desk, op));
		CHECK(flag_wait(r->shared, i, 1, 0));
	}
	return 0;
}

TEST_F(mismatch, none_before_all)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_waits, NULL));
}

/*
 * Large operations that are not announced, with payload that flows between the wrong ranks. The
 * grants show the mismatch, long before a heartbeat or the deadline.
 */
static int rank_quiet(struct rank *r)
{
	const struct collective_op others[] = {
		op_new(COLLECTIVE_REDUCE_SCATTER, LARGE), op_new(COLLECTIVE_ALLGATHER, LARGE),
		op_new(COLLECTIVE_ALLTOALL, LARGE), op_new(COLLECTIVE_ALLREDUCE, LARGE + 1),
	};
	struct desk desk;
	unsigned int i, odd;

	if (desk_new(&desk, r))
		return 1;
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		for (odd = 0; odd < r->nranks; odd++) {
			struct collective_op op = op_new(COLLECTIVE_ALLREDUCE, LARGE);

			if (r->rank == odd)
				op = others[i];
			op.timeout_ms = SOON_MS;
			CHECK_EQ(-EBADMSG, desk_submit(&desk, op));
		}
	}
	return 0;
}

TEST(mismatch_of_quiet_ones)
{
	struct group_config config = { .nranks = 4, .heartbeat_ms = 4 * SOON_MS };

	EXPECT_EQ(0, group_run(&config, rank_quiet, NULL));
}

/* All blocks are equal, but one rank uses the form with counts. */
static int rank_vector(struct rank *r)
{
	const __u64 counts[] = { 3, 3, 3, 3, 3 };
	struct collective_layout layout = {
		.size = sizeof(layout), .recv_counts = (uintptr_t)counts,
	};
	struct collective_op op = op_new(COLLECTIVE_ALLGATHER, 3), vector = op;
	struct desk desk;
	unsigned int odd;

	if (desk_new(&desk, r))
		return 1;
	vector.flags = COLLECTIVE_F_VECTOR;
	vector.layout = (uintptr_t)&layout;
	for (odd = 0; odd < r->nranks; odd++) {
		CHECK_EQ(-EBADMSG, desk_submit(&desk, r->rank == odd ? vector : op));
		CHECK_EQ(-EBADMSG, desk_submit(&desk, r->rank == odd ? op : vector));
	}
	CHECK_EQ(0, desk_submit(&desk, op));
	CHECK_EQ(0, desk_submit(&desk, vector));
	return 0;
}

TEST_F(mismatch, of_kinds_of_blocks)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_vector, NULL));
}

/* STATUS reports no calls if there was no mismatch. */
TEST_F(mismatch, no_calls_before)
{
	struct collective_status status;
	int fd = member_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, member_status(fd, &status));
	EXPECT_EQ(COLLECTIVE_RANK_NONE, status.calls[0].rank);
	EXPECT_EQ(COLLECTIVE_RANK_NONE, status.calls[1].rank);
	close(fd);
}

TEST_HARNESS_MAIN
