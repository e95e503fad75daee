// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times of collectives: what they add up to, and that the rank which is late is named, whatever the
 * schedule is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <collective_admin.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/machine.h"
#include "lib/two_ranks.h"

#define MS		1000000ULL
#define RANKS		4
#define LATE		2
#define SOON		0
#define ROUNDS		5
#define BYTES_MAX	(1024 * 1024)

/* Flags of the group: the ranks are ready, and the test has read. */
enum {
	READY,
	READ,
};

/**
 * struct times - times of a collective, by rank
 * @known: true if the rank has called it
 * @latency: see struct coll_admin_time
 * @waiting: likewise
 * @moving: likewise
 * @waited: likewise, of all ranks together
 * @waited_for: by rank
 */
struct times {
	unsigned int opcode;
	struct {
		bool known;
		struct coll_admin_histogram latency;
		struct coll_admin_histogram waiting;
		struct coll_admin_histogram moving;
		uint64_t waited;
		uint64_t waited_for[RANKS];
	} rank[RANKS];
};

static int take(const struct coll_admin_time *time, void *arg)
{
	struct times *times = arg;
	unsigned int i;

	if (time->opcode != times->opcode)
		return 0;
	times->rank[time->rank].known = true;
	times->rank[time->rank].latency = *time->latency;
	times->rank[time->rank].waiting = *time->waiting;
	times->rank[time->rank].moving = *time->moving;
	times->rank[time->rank].waited = time->waited_ns;
	for (i = 0; i < time->nwaited; i++)
		times->rank[time->rank].waited_for[time->waited[i].peer] = time->waited[i].ns;
	return 0;
}

static int get_times(const char *group, unsigned int opcode, struct times *times)
{
	struct coll_admin *admin;
	int err = coll_admin_open(&admin);

	memset(times, 0, sizeof(*times));
	times->opcode = opcode;
	if (!err)
		err = coll_admin_times(admin, group, COLL_ADMIN_ALL, take, times);
	coll_admin_close(admin);
	return err;
}

/* How long others have waited for a rank, less what it has waited itself; ns. */
static int64_t lateness(const struct times *times, unsigned int rank)
{
	int64_t ns = -(int64_t)times->rank[rank].waited;
	unsigned int i;

	for (i = 0; i < RANKS; i++)
		ns += times->rank[i].waited_for[rank];
	return ns;
}

static unsigned int straggler(const struct times *times)
{
	unsigned int rank, worst = 0;

	for (rank = 1; rank < RANKS; rank++)
		if (lateness(times, rank) > lateness(times, worst))
			worst = rank;
	return worst;
}

static unsigned long long us(uint64_t ns)
{
	return ns / 1000;
}

static void print_times(const struct times *times)
{
	unsigned int i, j;

	for (i = 0; i < RANKS; i++) {
		printf("# rank %u: %llu operations, us: latency %llu waiting %llu waited %llu:", i,
		       (unsigned long long)times->rank[i].latency.count,
		       us(times->rank[i].latency.sum_ns), us(times->rank[i].waiting.sum_ns),
		       us(times->rank[i].waited));
		for (j = 0; j < RANKS; j++)
			printf(" %llu", us(times->rank[i].waited_for[j]));
		putchar('\n');
	}
}

/**
 * struct workload - operations that are called with one rank late
 * @opcode: the collective
 * @count: elements of 4 bytes, in all blocks together BYTES_MAX at most; 0: it is a barrier
 * @algorithm: of the schedule
 * @root: root rank
 * @flags: COLLECTIVE_F_*
 * @lanes: of the group; 0: the default
 * @waiters: ranks (bits) that wait for the late one
 */
struct workload {
	unsigned int opcode;
	__u64 count;
	unsigned int algorithm;
	unsigned int root;
	unsigned int flags;
	unsigned int lanes;
	unsigned int waiters;
};

#define ALL_OTHERS	(0xf & ~(1U << LATE))

static const struct workload workloads[] = {
	{ COLLECTIVE_BARRIER, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLREDUCE, 2, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLREDUCE, 2, COLLECTIVE_ALGORITHM_RING, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLREDUCE, 2, COLLECTIVE_ALGORITHM_TREE, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLREDUCE, 2, COLLECTIVE_ALGORITHM_DIRECT, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLREDUCE, BYTES_MAX / 4, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLREDUCE, BYTES_MAX / 4, .lanes = 4, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLREDUCE, BYTES_MAX / 4, COLLECTIVE_ALGORITHM_RING, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLREDUCE, 1000, .flags = COLLECTIVE_F_REPRODUCIBLE, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLGATHER, 1000, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLGATHER, BYTES_MAX / 16, .waiters = ALL_OTHERS },
	{ COLLECTIVE_REDUCE_SCATTER, 1000, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLTOALL, 1000, .waiters = ALL_OTHERS },
	{ COLLECTIVE_ALLTOALL, BYTES_MAX / 16, .waiters = ALL_OTHERS },
	{ COLLECTIVE_BROADCAST, 2, .root = LATE, .waiters = ALL_OTHERS },
	{ COLLECTIVE_BROADCAST, BYTES_MAX / 4, .root = LATE, .waiters = ALL_OTHERS },
	{ COLLECTIVE_REDUCE, 2, .root = 0, .waiters = 1 },
	{ COLLECTIVE_GATHER, 1000, .root = 0, .waiters = 1 },
	{ COLLECTIVE_SCATTER, 1000, .root = LATE, .waiters = ALL_OTHERS },
	{ COLLECTIVE_SCAN, 2, .waiters = 1U << 3 },
};

/* A busy host makes the ranks of a slow machine wait for tens of milliseconds themselves. */
static unsigned int late_ms(void)
{
	return slow_machine() ? 100 : 20;
}

static int call_late(struct rank *r)
{
	static float send[BYTES_MAX / 4], recv[BYTES_MAX / 4];
	const struct workload *workload = r->arg;
	struct collective_op op = {
		.opcode = workload->opcode,
		.type = COLLECTIVE_FLOAT32,
		.root = workload->root,
		.flags = workload->flags,
		.count = workload->count,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};
	unsigned int i;

	if (!op.count)
		op = (struct collective_op){ .opcode = workload->opcode };
	for (i = 0; i < ROUNDS; i++) {
		/*
		 * All begin at the same time, but for the late one, and for one that others miss
		 * first, which is not late enough to matter.
		 */
		CHECK(flag_barrier(r->shared, 2 + i, r->nranks));
		if (r->rank == LATE)
			sleep_ms(late_ms());
		if (r->rank == SOON)
			sleep_ms(late_ms() / 10);
		CHECK_EQ(0, member_submit(r->fd, &op));
	}
	CHECK(flag_barrier(r->shared, 20, r->nranks));
	if (!r->rank)
		flag_set(r->shared, READY, 1);
	CHECK(flag_wait(r->shared, READ, 1, 20000));
	return 0;
}

/* What is true of the times of every rank, whatever it has waited for. */
static bool consistent(const struct times *times, unsigned int rank, unsigned int lanes)
{
	uint64_t took = times->rank[rank].latency.sum_ns;
	uint64_t waited = times->rank[rank].waiting.sum_ns;
	/*
	 * One operation after the other, so each moment belongs to one of them.  Of several lanes
	 * the least wait is that of the operation, and their mean is counted for the ranks.
	 */
	uint64_t most = lanes > 1 ? took : waited + waited / 4 + MS;

	return times->rank[rank].known && times->rank[rank].latency.count == ROUNDS &&
	       times->rank[rank].waiting.count == ROUNDS &&
	       times->rank[rank].moving.count == ROUNDS &&
	       took == waited + times->rank[rank].moving.sum_ns &&
	       times->rank[rank].waited <= most;
}

/* Three quarters of the delay; less for a rank that has called late itself, on a busy machine. */
static uint64_t least_wait(const struct times *times, unsigned int rank)
{
	uint64_t took = times->rank[rank].latency.sum_ns;
	uint64_t late = (uint64_t)ROUNDS * late_ms() * MS;

	return (took < late ? took : late) * 3 / 4;
}

static void check_late(struct __test_metadata *_metadata, const struct workload *workload)
{
	struct group_config config = { .nranks = RANKS, .lanes = workload->lanes };
	unsigned int rank;
	struct group group;
	uint64_t least = UINT64_MAX;
	struct times times;

	config.algorithm[workload->opcode] = workload->algorithm;
	ASSERT_EQ(0, group_start(&group, &config, call_late, (void *)workload));
	EXPECT_TRUE(flag_wait(group.shared, READY, 1, 20000));
	EXPECT_LE(0, get_times(group.name, workload->opcode, &times));
	flag_set(group.shared, READ, 1);
	EXPECT_EQ(0, group_wait(&group));
	for (rank = 0; rank < RANKS; rank++) {
		bool waits = workload->waiters & 1U << rank;

		EXPECT_TRUE(consistent(&times, rank, workload->lanes));
		if (!waits)
			continue;
		EXPECT_LE(least_wait(&times, rank), times.rank[rank].waited);
		if (least > times.rank[rank].waited)
			least = times.rank[rank].waited;
	}
	EXPECT_EQ(LATE, straggler(&times));
	/* The straggler itself waits less than all that wait for it. */
	EXPECT_GT(least, times.rank[LATE].waiting.sum_ns);
	if (!__test_passed(_metadata)) {
		printf("# opcode %u count %llu algorithm %u lanes %u\n", workload->opcode,
		       workload->count, workload->algorithm, workload->lanes);
		print_times(&times);
	}
}

TEST(late_rank)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(workloads); i++)
		check_late(_metadata, &workloads[i]);
}

/* Call a collective on both ranks. */
static int both_call(const int fd[2], const struct collective_op *op)
{
	__u64 id;
	int err = member_start(fd[0], op, &id);

	return err ?: member_submit(fd[1], op) ?: member_wait(fd[0], id, 0);
}

/* A collective has a table from its first call on; an idle member has none. */
TEST_F(two_ranks, tables)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	char data = 0;
	struct collective_op broadcast = {
		.opcode = COLLECTIVE_BROADCAST, .count = 1,
		.send = (uintptr_t)&data, .recv = (uintptr_t)&data,
	};
	long long before, after;
	struct times times;
	unsigned int i;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	/* The first call of all makes the tables of the data path. */
	ASSERT_EQ(0, both_call(self->fd, &barrier));
	ASSERT_EQ(0, get_times(self->name, COLLECTIVE_BROADCAST, &times));
	EXPECT_FALSE(times.rank[0].known);
	before = member_memory(self->name, 0);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, both_call(self->fd, &broadcast));
		after = member_value(self->name, 0, "memory_bytes");
		EXPECT_LT(before, after);
		EXPECT_GE(before + 2048, after);
	}
	ASSERT_EQ(0, get_times(self->name, COLLECTIVE_BROADCAST, &times));
	EXPECT_TRUE(times.rank[0].known);
	EXPECT_EQ(3, times.rank[0].latency.count);
	ASSERT_EQ(0, get_times(self->name, COLLECTIVE_ALLREDUCE, &times));
	EXPECT_FALSE(times.rank[0].known);
}

/* An operation that fails is in no histogram, but the rank that it has waited for is known. */
TEST_F(two_ranks, failed)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 300 };
	struct times times;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[0], &barrier));
	ASSERT_EQ(0, get_times(self->name, COLLECTIVE_BARRIER, &times));
	EXPECT_TRUE(times.rank[0].known);
	EXPECT_EQ(0, times.rank[0].latency.count);
	EXPECT_LE(200 * MS, times.rank[0].waited_for[1]);
	EXPECT_GE(2000 * MS, times.rank[0].waited_for[1]);
}

/* Messages: the receiver waits for the sender.  Behind one of the same key is no waiting. */
TEST_F(two_ranks, messages)
{
	int in = 1, out = 0;
	struct collective_op send = {
		.opcode = COLLECTIVE_SEND,
		.type = COLLECTIVE_INT32,
		.count = 1,
		.root = 0,
		.send = (uintptr_t)&in,
	};
	struct collective_op recv = {
		.opcode = COLLECTIVE_RECV,
		.type = COLLECTIVE_INT32,
		.count = 1,
		.root = 1,
		.recv = (uintptr_t)&out,
	};
	struct times times;
	__u64 id, waited;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &recv, &id));
	sleep_ms(300);
	ASSERT_EQ(0, member_submit(self->fd[1], &send));
	ASSERT_EQ(0, member_wait(self->fd[0], id, 0));
	EXPECT_EQ(1, out);
	ASSERT_EQ(0, get_times(self->name, COLLECTIVE_RECV, &times));
	EXPECT_EQ(1, times.rank[0].latency.count);
	EXPECT_LE(290 * MS, times.rank[0].waiting.sum_ns);
	EXPECT_LE(290 * MS, times.rank[0].waited_for[1]);
	waited = times.rank[0].waiting.sum_ns;
	ASSERT_EQ(0, get_times(self->name, COLLECTIVE_SEND, &times));
	EXPECT_EQ(1, times.rank[1].latency.count);
	EXPECT_GT(waited / 2, times.rank[1].waiting.sum_ns);
}

/* More ranks than a message of times names, of which rank 0 waits for each of the others. */
#define MANY	24
/* For so long in all, so that no other wait is taken for it. */
#define LATE_NS	(8 * MS)

/**
 * struct waits - how long rank 0 has waited for other ranks to send
 * @n: ranks that it has waited for
 * @waited: by rank
 */
struct waits {
	unsigned int n;
	uint64_t waited[MANY];
};

static int take_wait(const struct coll_admin_pair *pair, void *arg)
{
	struct waits *waits = arg;

	if (pair->rank || pair->opcode != COLLECTIVE_RECV)
		return 0;
	/* In order, and each one once. */
	if (pair->waited.peer >= MANY || waits->waited[pair->waited.peer])
		return -EINVAL;
	waits->n++;
	waits->waited[pair->waited.peer] = pair->waited.ns;
	return 0;
}

static int count_named(const struct coll_admin_time *time, void *arg)
{
	unsigned int *named = arg;

	if (!time->rank && time->opcode == COLLECTIVE_RECV)
		*named = time->nwaited;
	return 0;
}

/* Rank 0 receives from a rank that sends late. */
static int receive_late(const int *fd, unsigned int rank)
{
	int in = 1, out;
	struct collective_op op = {
		.opcode	= COLLECTIVE_RECV,
		.type	= COLLECTIVE_INT32,
		.count	= 1,
		.root	= rank,
		.recv	= (uintptr_t)&out,
	};
	__u64 id;

	CHECK_EQ(0, member_start(fd[0], &op, &id));
	sleep_ms(20);
	op.opcode = COLLECTIVE_SEND;
	op.root = 0;
	op.send = (uintptr_t)&in;
	op.recv = 0;
	CHECK_EQ(0, member_submit(fd[rank], &op));
	CHECK_EQ(0, member_wait(fd[0], id, 0));
	return 0;
}

/*
 * The lane of rank 0 may begin long after the call, on a busy machine, and waits for less then.
 * What it has waited for a rank in several calls counts.
 */
static int receive_all_late(const int *fd, struct coll_admin *admin, const char *group,
			    struct waits *waits)
{
	unsigned int rank, tries;

	for (rank = 1; rank < MANY; rank++)
		for (tries = 0; tries < 20; tries++) {
			CHECK_EQ(0, receive_late(fd, rank));
			*waits = (struct waits){ 0 };
			CHECK(coll_admin_waits(admin, group, COLL_ADMIN_ALL, take_wait,
					       waits) >= 0);
			if (waits->waited[rank] >= LATE_NS)
				break;
		}
	return 0;
}

TEST(many_peers)
{
	struct sockaddr_storage addr[MANY];
	struct waits waits = { 0 };
	struct coll_admin *admin;
	unsigned int i, named = 0;
	char name[33];
	int fd[MANY];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	ASSERT_EQ(0, members_make(fd, addr, MANY, name, id));
	ASSERT_EQ(0, coll_admin_open(&admin));
	ASSERT_EQ(0, receive_all_late(fd, admin, name, &waits));
	EXPECT_LE(0, coll_admin_times(admin, name, 0, count_named, &named));
	EXPECT_EQ(COLL_ADMIN_WAITED, named);
	EXPECT_EQ(MANY - 1, waits.n);
	for (i = 1; i < MANY; i++)
		EXPECT_LE(LATE_NS, waits.waited[i]);
	coll_admin_close(admin);
	for (i = 0; i < MANY; i++)
		close(fd[i]);
}

TEST_HARNESS_MAIN
