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
 * struct mismatch_case - calls that differ
 * @call: call of all ranks but one
 * @other: call of that one rank
 * @each_is_root: true if each rank calls itself the root
 */
struct mismatch_case {
	struct collective_op call;
	struct collective_op other;
	bool each_is_root;
};

/* What a rank needs for its calls. */
struct workspace {
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

static struct collective_op op_of(const struct mismatch_case *q, unsigned int rank,
				  unsigned int other_rank)
{
	struct collective_op op = rank == other_rank ? q->other : q->call;

	if (q->each_is_root)
		op.root = rank;
	return op;
}

static int workspace_new(struct workspace *workspace, struct rank *r)
{
	workspace->r = r;
	workspace->send = calloc(1, AREA);
	workspace->recv = calloc(1, AREA);
	CHECK(workspace->send && workspace->recv);
	return 0;
}

static int workspace_submit(const struct workspace *workspace, struct collective_op op)
{
	if (op.opcode != COLLECTIVE_BARRIER) {
		op.send = (uintptr_t)workspace->send;
		op.recv = (uintptr_t)workspace->recv;
	}
	return member_submit(workspace->r->fd, &op);
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

static int status_check(const struct rank *r, const struct mismatch_case *q,
			unsigned int other_rank)
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
	if (!q->each_is_root)
		CHECK(status.last.rank_a == other_rank || status.last.rank_b == other_rank);
	for (i = 0; i < 2; i++) {
		struct collective_op op = op_of(q, status.calls[i].rank, other_rank);

		if (call_check(&status.calls[i], &op))
			return 1;
	}
	return 0;
}

/* Return: 0 if the operation fails as it must. */
static int mismatch_run(const struct workspace *workspace, const struct mismatch_case *q,
			unsigned int other_rank,
			unsigned int late)
{
	struct rank *r = workspace->r;
	__u64 begin;

	if (r->rank == late)
		sleep_ms(LATE_MS);
	begin = now_ms();
	CHECK_EQ(-EBADMSG, workspace_submit(workspace, op_of(q, r->rank, other_rank)));
	CHECK(now_ms() - begin < SOON_MS);
	return status_check(r, q, other_rank);
}

static int good_run(const struct workspace *workspace, unsigned int count)
{
	struct rank *r = workspace->r;
	int *send = (int *)workspace->send, *recv = (int *)workspace->recv;
	unsigned int i;

	for (i = 0; i < count; i++)
		send[i] = i + r->rank;
	CHECK_EQ(0, member_allreduce(r->fd, send, recv, count, COLLECTIVE_INT32, COLLECTIVE_SUM));
	for (i = 0; i < count; i++)
		CHECK_EQ(i * r->nranks + r->nranks * (r->nranks - 1) / 2, recv[i]);
	return 0;
}

/* Fill in all calls that differ from one call. */
static unsigned int mismatches_fill(struct mismatch_case *q, int opcode, __u64 count)
{
	const struct collective_op call = op_new(opcode, count);
	unsigned int n = 0;
	const int other = opcode == COLLECTIVE_SCAN ? COLLECTIVE_BARRIER : opcode + 1;

#define DIFFER(_what) do {						\
	q[n] = (struct mismatch_case){ .call = call, .other = call };		\
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
		DIFFER(q[n].each_is_root = true);
	}
	if (opcode == COLLECTIVE_BROADCAST)
		DIFFER(q[n].call.algorithm = COLLECTIVE_ALGORITHM_RING;
		       q[n].other.algorithm = COLLECTIVE_ALGORITHM_TREE);
	if (opcode == COLLECTIVE_ALLREDUCE || opcode == COLLECTIVE_SCAN)
		DIFFER(q[n].other.flags = COLLECTIVE_F_REPRODUCIBLE);
	return n;
#undef DIFFER
}

static int case_complain(const struct rank *r, const struct mismatch_case *q,
			 unsigned int other_rank,
			 unsigned int late)
{
	const struct collective_op *op[] = { &q->call, &q->other };
	unsigned int i;

	for (i = 0; i < 2; i++)
		dprintf(STDOUT_FILENO, "# %s: opcode %u count %llu type %u reduction %u root %u\n",
			i ? "other" : "call", op[i]->opcode, (unsigned long long)op[i]->count,
			op[i]->type, op[i]->reduction, op[i]->root);
	dprintf(STDOUT_FILENO, "# rank %u of %u: %u calls otherwise%s, %d is late\n",
		r->rank, r->nranks, other_rank, q->each_is_root ? ", each is the root" : "",
		(int)late);
	return 1;
}

static int rank_every_way(struct rank *r)
{
	const int opcode = *(const int *)r->arg;
	static const __u64 counts[] = { 1, 3, LARGE };
	const unsigned int odds[] = { 0, r->nranks / 2, r->nranks - 1 };
	struct mismatch_case table[16];
	unsigned int c, i, k, n;
	struct workspace workspace;

	if (workspace_new(&workspace, r))
		return 1;
	for (c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		n = mismatches_fill(table, opcode, counts[c]);
		for (i = 0; i < n; i++)
			for (k = 0; k < 3; k++)
				if (mismatch_run(&workspace, &table[i], odds[k], -1))
					return case_complain(r, &table[i], odds[k], -1);
		if (good_run(&workspace, counts[c]))
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
	struct mismatch_case table[16];
	unsigned int k, late;
	struct workspace workspace;
	int opcode;

	if (workspace_new(&workspace, r))
		return 1;
	for (opcode = COLLECTIVE_BARRIER; opcode <= COLLECTIVE_SCAN; opcode++) {
		const unsigned int n = mismatches_fill(table, opcode, opcode % 2 ? 3 : LARGE);

		for (k = 0; k < 3; k++) {
			const struct mismatch_case *q = &table[(opcode + 3 * k) % n];

			late = (opcode + k) % r->nranks;
			/* All ranks start the next operation together. */
			CHECK_EQ(0, member_barrier(r->fd));
			if (mismatch_run(&workspace, q, odds[k], late))
				return case_complain(r, q, odds[k], late);
		}
	}
	return good_run(&workspace, LARGE);
}

TEST_F_TIMEOUT(mismatch, late, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_late, NULL));
}

static int rank_in_a_row(struct rank *r)
{
	struct mismatch_case table[16];
	unsigned int i;
	struct workspace workspace;
	int opcode;

	if (workspace_new(&workspace, r))
		return 1;
	for (i = 0; i < 50; i++) {
		opcode = i % (COLLECTIVE_SCAN + 1);
		if (mismatch_run(&workspace,
				 &table[i % mismatches_fill(table, opcode, 1 + 400 * i)],
				 i % r->nranks, -1))
			return 1;
	}
	CHECK_EQ(50, rank_value(r, "errors/mismatch"));
	for (i = 1; i <= LARGE; i *= 10)
		if (good_run(&workspace, i))
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
	struct mismatch_case table[16];
	struct workspace workspace;

	if (workspace_new(&workspace, r))
		return 1;
	mismatches_fill(table, COLLECTIVE_ALLREDUCE, LARGE);
	if (r->rank == r->nranks / 2)
		usleep(delay);
	CHECK_EQ(-EBADMSG, workspace_submit(&workspace, op_of(&table[0], r->rank, r->nranks - 1)));
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
static int rank_valid_in_flight(struct rank *r)
{
	struct mismatch_case table[16];
	struct workspace workspace, good;
	pthread_t thread;
	void *failed;
	__u64 before;
	unsigned int i;

	if (workspace_new(&workspace, r) || workspace_new(&good, r))
		return 1;
	for (i = 0; i < 40; i++) {
		const unsigned int n = mismatches_fill(table, i % (COLLECTIVE_SCAN + 1),
						       i % 3 ? 5 : LARGE);

		before = submitted(r);
		CHECK_EQ(0, pthread_create(&thread, NULL, good_thread, &good));
		/* It must have its instance number first, on all ranks. */
		while (submitted(r) == before)
			sched_yield();
		CHECK_EQ(-EBADMSG, workspace_submit(&workspace, op_of(&table[i % n], r->rank,
								      i % r->nranks)));
		pthread_join(thread, &failed);
		CHECK(!failed);
	}
	return 0;
}

TEST_F_TIMEOUT(mismatch, beside_good_ones, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_valid_in_flight, NULL));
}

/* AUTO and the algorithm that it stands for do not differ. */
static int rank_same(struct rank *r)
{
	const bool local = transport_is_local(transport_choice(NULL));
	const __u8 small = local ? COLLECTIVE_ALGORITHM_DIRECT : COLLECTIVE_ALGORITHM_TREE;
	const __u8 large = local ? COLLECTIVE_ALGORITHM_DIRECT : COLLECTIVE_ALGORITHM_RING;
	struct collective_op op = op_new(COLLECTIVE_BROADCAST, 3);
	struct workspace workspace;

	if (workspace_new(&workspace, r))
		return 1;
	op.algorithm = r->rank % 2 ? COLLECTIVE_ALGORITHM_AUTO : small;
	CHECK_EQ(0, workspace_submit(&workspace, op));
	op = op_new(COLLECTIVE_ALLREDUCE, LARGE);
	op.algorithm = r->rank % 2 ? large : COLLECTIVE_ALGORITHM_AUTO;
	CHECK_EQ(0, workspace_submit(&workspace, op));
	op = op_new(COLLECTIVE_GATHER, 3);
	op.algorithm = r->rank % 2 ? COLLECTIVE_ALGORITHM_DIRECT : COLLECTIVE_ALGORITHM_AUTO;
	CHECK_EQ(0, workspace_submit(&workspace, op));
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
	struct workspace workspace;
	unsigned int i;

	if (workspace_new(&workspace, r))
		return 1;
	for (i = 0; i < r->nranks; i++) {
		CHECK_EQ(0, member_barrier(r->fd));
		if (r->rank == i) {
			sleep_ms(LATE_MS);
			flag_set(r->shared, i, 1);
		}
		CHECK_EQ(0, workspace_submit(&workspace, op));
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
static int rank_unannounced(struct rank *r)
{
	const struct collective_op others[] = {
		op_new(COLLECTIVE_REDUCE_SCATTER, LARGE), op_new(COLLECTIVE_ALLGATHER, LARGE),
		op_new(COLLECTIVE_ALLTOALL, LARGE), op_new(COLLECTIVE_ALLREDUCE, LARGE + 1),
	};
	struct workspace workspace;
	unsigned int i, other_rank;

	if (workspace_new(&workspace, r))
		return 1;
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		for (other_rank = 0; other_rank < r->nranks; other_rank++) {
			struct collective_op op = op_new(COLLECTIVE_ALLREDUCE, LARGE);

			if (r->rank == other_rank)
				op = others[i];
			op.timeout_ms = SOON_MS;
			CHECK_EQ(-EBADMSG, workspace_submit(&workspace, op));
		}
	}
	return 0;
}

TEST(mismatch_of_quiet_ones)
{
	struct group_config config = { .nranks = 4, .heartbeat_ms = 4 * SOON_MS };

	EXPECT_EQ(0, group_run(&config, rank_unannounced, NULL));
}

/* All blocks are equal, but one rank uses the form with counts. */
static int workspace_vector(const struct workspace *workspace, struct collective_op op)
{
	const __u64 counts[] = { op.count, op.count, op.count, op.count, op.count };
	struct collective_layout layout = {
		.size = sizeof(layout), .recv_counts = (uintptr_t)counts,
	};
	const struct rank *r = workspace->r;
	struct collective_op vector = op;
	unsigned int other_rank;

	vector.flags = COLLECTIVE_F_VECTOR;
	vector.layout = (uintptr_t)&layout;
	for (other_rank = 0; other_rank < r->nranks; other_rank++) {
		CHECK_EQ(-EBADMSG,
			 workspace_submit(workspace, r->rank == other_rank ? vector : op));
		CHECK_EQ(-EBADMSG,
			 workspace_submit(workspace, r->rank == other_rank ? op : vector));
	}
	CHECK_EQ(0, workspace_submit(workspace, op));
	CHECK_EQ(0, workspace_submit(workspace, vector));
	return 0;
}

static int rank_vector(struct rank *r)
{
	struct workspace workspace;

	if (workspace_new(&workspace, r))
		return 1;
	return workspace_vector(&workspace, op_new(COLLECTIVE_ALLGATHER, 3)) ||
	       workspace_vector(&workspace, op_new(COLLECTIVE_REDUCE_SCATTER, 3)) ||
	       workspace_vector(&workspace, op_new(COLLECTIVE_REDUCE_SCATTER, LARGE));
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
