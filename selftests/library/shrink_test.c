// SPDX-License-Identifier: GPL-2.0-only
/*
 * coll_shrink(): the surviving ranks get a working group, and all the same one, whichever ranks
 * die and when. A stopped rank is left out, and its call fails.
 *
 * The library is linked statically and calls this program's ioctl(), sendto() and close(), in
 * which a test can kill the rank or make a call fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "lib/any_kernel.h"
#include "lib/any_transport.h"
#include "lib/before_ioctl.h"
#include "lib/lib_group.h"
#include "lib/machine.h"
#include "lib/values.h"

/* A quarter of the default time limit; only silent ranks make others wait for it; ms. */
#define LIMIT_MS	14000

/* Groups that run at once: they wait for silent ranks most of the time. */
#define AT_ONCE		4

/* Number of steps before the process dies; negative: it does not. */
static int die_after = -1;

/* Number of ioctls that succeed before one fails; negative: all succeed. */
static int fail_after = -1;

static void step(void)
{
	if (die_after >= 0 && !die_after--)
		kill(getpid(), SIGKILL);
}

static int die_or_fail(unsigned long request, const void *arg)
{
	/* STATUS is called for error texts only: it never fails. */
	if (request == COLLECTIVE_IOC_STATUS)
		return 0;
	step();
	return fail_after >= 0 && !fail_after-- ? ENOMEM : 0;
}

static void __attribute__((constructor)) look_at_ioctls(void)
{
	before_ioctl = die_or_fail;
}

/* Ports to which datagrams are dropped, in network byte order; 0: unused entry. */
static in_port_t cut_off[GROUP_RANKS_MAX];

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *addr,
	       socklen_t length)
{
	const struct sockaddr_in *to = (const void *)addr;
	size_t i;

	step();
	for (i = 0; i < GROUP_RANKS_MAX && cut_off[i]; i++)
		if (to->sin_port == cut_off[i])
			return size;
	return syscall(SYS_sendto, fd, data, size, flags, addr, length);
}

int close(int fd)
{
	step();
	return syscall(SYS_close, fd);
}

/* Checks that no group is left. */
FIXTURE(shrink) {
	int groups;
};

FIXTURE_SETUP(shrink)
{
	self->groups = group_count();
}

FIXTURE_TEARDOWN(shrink)
{
	EXPECT_EQ(self->groups, group_count());
}

/**
 * struct plan - the failures of a test
 * @first: rank that dies before coll_shrink()
 * @victim: rank that dies, or fails, in coll_shrink(); -1: none
 * @after: number of steps of @victim before it fails
 * @other: a second such rank; -1: none
 * @other_after: number of steps of @other before it fails
 * @begun: number of ranks that have a group; in memory that all ranks share
 * @through: mask of ranks that completed coll_shrink(); likewise
 */
struct plan {
	int first;
	int victim;
	int after;
	int other;
	int other_after;
	unsigned int begun;
	unsigned int through;
};

static struct plan *plans_new(unsigned int n)
{
	return mmap(NULL, n * sizeof(struct plan), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* All ranks call an operation; then one dies, and the others get an error. */
static int kill_one(struct coll_comm *comm, struct group_shared *shared, int flag, int n, bool mine)
{
	CHECK(flag_barrier(shared, flag, n));
	if (mine)
		kill(getpid(), SIGKILL);
	CHECK(coll_barrier(comm));
	return 0;
}

/* Get the world ranks of a communicator. Return: how many, or a negative errno. */
static int members(struct coll_comm *comm, int me, int *ranks)
{
	int err = coll_allgather(comm, &me, ranks, 1, COLL_INT32);

	return err ?: coll_size(comm);
}

/* Check sums of all sizes. */
static int check_sums(struct coll_comm *comm)
{
	const int n = coll_size(comm);
	static __u32 x[20000];
	size_t count, i;

	for (count = 1; count <= 20000; count *= 20) {
		for (i = 0; i < count; i++)
			x[i] = i + coll_rank(comm);
		CHECK_EQ(0, coll_allreduce(comm, COLL_IN_PLACE, x, count, COLL_UINT32, COLL_SUM));
		for (i = 0; i < count; i++)
			CHECK_EQ((__u32)(i * n + n * (n - 1) / 2), x[i]);
	}
	return 0;
}

/*
 * Shrink until a group works. A rank that dies late may be a member of the first new group, which
 * then fails at its first operation.
 */
static int shrink_until_works(struct lib_rank *me, int *ranks, int *n)
{
	const int files = open_file_count();
	struct coll_comm *new;
	__u64 begun = now_ms();
	int round, err;

	for (round = 0; round < 4; round++) {
		err = coll_shrink(me->comm, &new);
		die_after = -1;
		if (err)
			dprintf(STDOUT_FILENO, "# rank %d: %s\n", me->rank,
				coll_error_detail(me->comm));
		CHECK_EQ(0, err);
		CHECK(new);
		CHECK(strcmp(coll_name(me->comm), coll_name(new)));
		CHECK_EQ(0, coll_finalize(me->comm));
		me->comm = new;
		*n = members(new, me->rank, ranks);
		if (*n > 0)
			break;
	}
	CHECK(now_ms() - begun < LIMIT_MS);
	CHECK(*n > 0);
	/* Nothing proves that a rank which died in the call is dead: it is named. */
	CHECK(!*coll_error_detail(me->comm) ||
	      strstr(coll_error_detail(me->comm), "was left out"));
	CHECK_EQ(files, open_file_count());
	return 0;
}

/* The group consists of all ranks but the dead ones, in order. */
static int rank_survive(struct lib_rank *me)
{
	struct plan *plan = me->arg;
	int ranks[GROUP_RANKS_MAX], n, i, want = 0;

	__atomic_add_fetch(&plan->begun, 1, __ATOMIC_SEQ_CST);
	if (kill_one(me->comm, me->shared, 0, me->nranks, me->rank == plan->first))
		return 1;
	if (me->rank == plan->victim)
		die_after = plan->after;
	if (me->rank == plan->other)
		die_after = plan->other_after;
	if (shrink_until_works(me, ranks, &n) || check_sums(me->comm))
		return 1;
	__atomic_or_fetch(&plan->through, 1U << me->rank, __ATOMIC_SEQ_CST);
	for (i = 0; i < n; i++) {
		for (; want < ranks[i]; want++)
			CHECK(want == plan->first || want == plan->victim ||
			      want == plan->other);
		CHECK_EQ(want, ranks[i]);
		want++;
		CHECK_EQ(i == coll_rank(me->comm), ranks[i] == me->rank);
	}
	for (; want < me->nranks; want++)
		CHECK(want == plan->first || want == plan->victim || want == plan->other);
	return 0;
}

/* One rank dies; each rank, of each group size. */
TEST_F_TIMEOUT(shrink, one, 100)
{
	struct plan *plan = plans_new(1);
	int n;

	for (n = 2; n <= 6; n++)
		for (plan->first = 0; plan->first < n; plan->first++) {
			plan->victim = -1;
			plan->other = -1;
			EXPECT_EQ(1, lib_group_run(n, NULL, rank_survive, plan))
				TH_LOG("rank %d of %d", plan->first, n);
		}
}

/*
 * Run a group for each plan, all at once. @dead gets how many ranks of each did not return 0.
 *
 * A group has its port before the next one looks for one.
 */
static void run_plans(int nranks, struct plan *plans, int *dead, unsigned int n)
{
	pid_t pid[AT_ONCE];
	unsigned int i;

	for (i = 0; i < n; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			_exit(lib_group_run(nranks, NULL, rank_survive, &plans[i]));
		}
		word_wait(&plans[i].begun, nranks, 20000);
	}
	for (i = 0; i < n; i++) {
		int status;

		dead[i] = -1;
		if (pid[i] > 0 && waitpid(pid[i], &status, 0) == pid[i] && WIFEXITED(status))
			dead[i] = WEXITSTATUS(status);
	}
}

/* Another rank dies in coll_shrink(), after each of its steps. */
static int run_steps(int nranks, int first, int victim)
{
	struct plan *plans = plans_new(AT_ONCE);
	int failed = 0, after = 0, dead[AT_ONCE], i;
	bool fewer = false;

	while (!fewer && after < 200) {
		for (i = 0; i < AT_ONCE; i++)
			plans[i] = (struct plan) {
				.first = first, .victim = victim, .after = after + i, .other = -1,
			};
		run_plans(nranks, plans, dead, AT_ONCE);
		for (i = 0; i < AT_ONCE; i++, after++) {
			const bool through = plans[i].through & 1U << victim;

			fewer = through && dead[i] == 1;
			if (fewer)
				break;	/* it had fewer steps */
			if (dead[i] == 2 && !through)
				continue;
			printf("# rank %d, step %d: %d dead, through: %x\n", victim, after, dead[i],
			       plans[i].through);
			failed++;
		}
	}
	printf("# rank %d: %d steps\n", victim, after);
	return failed + (after < 8) + (after >= 200);
}

TEST_F_TIMEOUT(shrink, leader_dies, 200)
{
	EXPECT_EQ(0, run_steps(4, 1, 0));
}

TEST_F_TIMEOUT(shrink, next_leader_dies, 200)
{
	EXPECT_EQ(0, run_steps(4, 0, 1));
}

TEST_F_TIMEOUT(shrink, follower_dies, 200)
{
	EXPECT_EQ(0, run_steps(4, 1, 2));
}

TEST_F_TIMEOUT(shrink, last_dies, 200)
{
	EXPECT_EQ(0, run_steps(4, 0, 3));
}

/* The leader, and the rank that would lead after it. */
TEST_F_TIMEOUT(shrink, two_leaders_die, 200)
{
	struct plan *plans = plans_new(AT_ONCE), *plan;
	int round, dead[AT_ONCE];

	for (round = 0; round < 32; round++) {
		const int i = round % AT_ONCE;

		plans[i] = (struct plan) {
			.first = 4,
			.victim = 0,
			.after = hash(round, 0, 0) % 30,
			.other = 1,
			.other_after = hash(round, 1, 0) % 50,
		};
		if (i < AT_ONCE - 1)
			continue;
		run_plans(6, plans, dead, AT_ONCE);
		for (plan = plans; plan < plans + AT_ONCE; plan++) {
			EXPECT_EQ(6, dead[plan - plans] + __builtin_popcount(plan->through));
			EXPECT_EQ(0x2c, plan->through & 0x2c)
				TH_LOG("steps %d and %d", plan->after, plan->other_after);
		}
	}
}

/* Ranks die one after the other, until one is left. */
static int rank_chain(struct lib_rank *me)
{
	int ranks[GROUP_RANKS_MAX], n, i;

	for (n = me->nranks; n > 1; n--) {
		/* The first, the last, and one in between. */
		const int victim = n % 3 == 0 ? 0 : n % 3 == 1 ? n - 1 : n / 2;

		if (kill_one(me->comm, me->shared, n, n, coll_rank(me->comm) == victim) ||
		    shrink_until_works(me, ranks, &i) || check_sums(me->comm))
			return 1;
		CHECK_EQ(n - 1, i);
	}
	CHECK(strlen(coll_name(me->comm)) <= COLLECTIVE_NAME_MAX);
	return 0;
}

TEST_F_TIMEOUT(shrink, chain, 60)
{
	static const unsigned char secret[32] = "of seven, then six, then fewer";
	const struct coll_config secured = { .secret = secret };
	const struct coll_config v6 = { .local_addr = "::1" };

	EXPECT_EQ(6, lib_group_run(7, NULL, rank_chain, NULL));
	EXPECT_EQ(6, lib_group_run(7, &v6, rank_chain, NULL));
	/* Each other rank proves that it was a rank of the group. */
	EXPECT_EQ(6, lib_group_run(7, &secured, rank_chain, NULL));
}

/* No rank has died. A group can be shrunk once; its splits and duplicates can be shrunk, too. */
static int rank_healthy(struct lib_rank *me)
{
	struct coll_comm *new, *again = me->comm, *dup;
	const int files = open_file_count();
	pid_t child;
	int status;

	child = fork();
	if (!child)
		_exit(coll_shrink(me->comm, &new) != -EPERM);
	CHECK_EQ(child, waitpid(child, &status, 0));
	CHECK_EQ(0, status);
	CHECK(flag_barrier(me->shared, 0, me->nranks));

	CHECK_EQ(0, coll_shrink(me->comm, &new));
	CHECK_EQ(me->nranks, coll_size(new));
	CHECK_EQ(me->rank, coll_rank(new));
	if (check_sums(new) || check_sums(me->comm))
		return 1;
	if (me->nranks > 1) {
		CHECK_EQ(-EINVAL, coll_shrink(me->comm, &again));
		CHECK(!again);
		CHECK(strstr(coll_error_detail(me->comm), "shrunk before"));
	}
	CHECK_EQ(0, coll_dup(new, &dup));
	CHECK_EQ(0, coll_finalize(new));
	CHECK_EQ(0, coll_shrink(dup, &new));
	CHECK_EQ(0, coll_finalize(dup));
	if (check_sums(new))
		return 1;
	CHECK_EQ(0, coll_finalize(new));
	CHECK_EQ(files - (me->nranks > 1), open_file_count());
	return 0;
}

TEST_F_TIMEOUT(shrink, healthy, 60)
{
	EXPECT_EQ(0, lib_group_run(1, NULL, rank_healthy, NULL));
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_healthy, NULL));
	EXPECT_EQ(0, lib_group_run(5, NULL, rank_healthy, NULL));
}

/* An ioctl fails: all ranks get the error, and may call again. */
static int rank_fail(struct lib_rank *me)
{
	struct plan *plan = me->arg;
	struct coll_comm *new;

	if (kill_one(me->comm, me->shared, 0, me->nranks, me->rank == plan->first))
		return 1;
	if (me->rank == plan->victim)
		fail_after = plan->after;
	CHECK_EQ(-ENOMEM, coll_shrink(me->comm, &new));
	CHECK(!new);
	CHECK(strstr(coll_error_detail(me->comm), plan->after ? "rank" : "/dev/collective"));
	CHECK_EQ(0, coll_shrink(me->comm, &new));
	CHECK_EQ(me->nranks - 1, coll_size(new));
	if (check_sums(new))
		return 1;
	return -coll_finalize(new);
}

TEST_F_TIMEOUT(shrink, fails, 100)
{
	struct plan *plan = plans_new(1);

	plan->first = 2;
	for (plan->victim = 0; plan->victim < 4; plan->victim++)
		for (plan->after = 0; plan->after < 3 && plan->victim != 2; plan->after++)
			EXPECT_EQ(1, lib_group_run(4, NULL, rank_fail, plan))
				TH_LOG("rank %d, ioctl %d", plan->victim, plan->after);
}

/* Find the shrink sockets of this process. */
static int find_sockets(struct sockaddr_in *addr, int max)
{
	socklen_t size;
	int i, type, n = 0;

	for (i = 3; i < 64 && n < max; i++) {
		size = sizeof(type);
		if (getsockopt(i, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_DGRAM)
			continue;
		size = sizeof(*addr);
		n += !getsockname(i, (struct sockaddr *)&addr[n], &size);
	}
	return n;
}

/* Datagrams of clients that are no rank: random, nearly valid, and far too many. */
static int unauth_clients(void)
{
	struct sockaddr_in addr;
	char bytes[1400];
	int i, fd;

	CHECK_EQ(1, find_sockets(&addr, 1));
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(fd >= 0);
	for (i = 0; i < 3000; i++) {
		const __u32 nranks = 5, from = i % 5;

		memset(bytes, hash(i, 0, 0), sizeof(bytes));
		if (i % 2) {
			memset(bytes, 0, 80);
			memcpy(bytes, "COLS\1", 5);
			bytes[5] = i % 20;
			memcpy(bytes + 16, &nranks, 4);
			memcpy(bytes + 20, &from, 4);
		}
		syscall(SYS_sendto, fd, bytes, hash(i, 1, 0) % sizeof(bytes), MSG_DONTWAIT, &addr,
			sizeof(addr));
	}
	syscall(SYS_close, fd);
	return 0;
}

static int rank_strangers(struct lib_rank *me)
{
	int ranks[GROUP_RANKS_MAX], n;

	if (unauth_clients() ||
	    kill_one(me->comm, me->shared, 0, me->nranks, me->rank == 1) ||
	    shrink_until_works(me, ranks, &n) || check_sums(me->comm))
		return 1;
	CHECK_EQ(me->nranks - 1, n);
	return 0;
}

TEST_F_TIMEOUT(shrink, unauthenticated_clients, 60)
{
	EXPECT_EQ(1, lib_group_run(5, NULL, rank_strangers, NULL));
}

/*
 * A client takes the port of a rank that has died, and relays datagrams between it and the
 * others. Connections to the port are no longer refused, but the module knows of the death.
 */
static void relay(struct group_shared *shared, int nranks)
{
	struct sockaddr_in own = { .sin_family = AF_INET }, to = own;
	char bytes[1400];
	int fd, i, rank;
	ssize_t size;

	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	own.sin_port = shared->value[GROUP_RANKS_MAX];
	to.sin_addr = own.sin_addr;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	for (i = 0; i < 2000 && bind(fd, (struct sockaddr *)&own, sizeof(own)); i++)
		sleep_ms(1);
	flag_set(shared, 2, 1);
	while (!flag_wait(shared, 3, 1, 1)) {
		size = recv(fd, bytes, sizeof(bytes), 0);
		for (rank = 0; size > 0 && rank < nranks; rank++) {
			to.sin_port = shared->value[rank];
			syscall(SYS_sendto, fd, bytes, size, 0, &to, sizeof(to));
		}
	}
	_exit(0);
}

static int rank_relayed(struct lib_rank *me)
{
	struct group_shared *shared = me->shared;
	int ranks[GROUP_RANKS_MAX], n;
	struct sockaddr_in addr;

	CHECK_EQ(1, find_sockets(&addr, 1));
	shared->value[me->rank] = addr.sin_port;
	if (!me->rank)
		shared->value[GROUP_RANKS_MAX] = addr.sin_port;
	CHECK(flag_barrier(shared, 0, me->nranks));
	if (me->rank == 1 && !fork()) {
		int i;

		for (i = 3; i < 64; i++)
			syscall(SYS_close, i);
		relay(shared, me->nranks);
	}
	if (kill_one(me->comm, shared, 1, me->nranks, !me->rank))
		return 1;
	CHECK(flag_wait(shared, 2, 1, 10000));
	if (shrink_until_works(me, ranks, &n) || check_sums(me->comm))
		return 1;
	CHECK_EQ(me->nranks - 1, n);
	CHECK(flag_barrier(shared, 4, me->nranks - 1));
	flag_set(shared, 3, 1);
	return 0;
}

TEST_F_TIMEOUT(shrink, relay, 60)
{
	static const unsigned char secret[32] = "which a stranger does not know";
	const struct coll_config secured = { .secret = secret };

	EXPECT_EQ(1, lib_group_run(4, &secured, rank_relayed, NULL));
	EXPECT_EQ(1, lib_group_run(2, &secured, rank_relayed, NULL));
	EXPECT_EQ(1, lib_group_run(3, NULL, rank_relayed, NULL));
}

/* A child has the sockets of the rank that dies: the group still learns of the death. */
static int rank_orphan(struct lib_rank *me)
{
	int ranks[GROUP_RANKS_MAX], n;

	if (me->rank == 0 && !fork()) {
		flag_wait(me->shared, 1, 1, 60000);
		_exit(0);
	}
	if (kill_one(me->comm, me->shared, 0, me->nranks, me->rank == 0) ||
	    shrink_until_works(me, ranks, &n) || check_sums(me->comm))
		return 1;
	flag_set(me->shared, 1, 1);
	CHECK_EQ(me->nranks - 1, n);
	return 0;
}

TEST_F_TIMEOUT(shrink, orphan, 60)
{
	int tries;

	EXPECT_EQ(1, lib_group_run(4, NULL, rank_orphan, NULL));
	/* The child, which still has the file, is not waited for. */
	for (tries = 0; tries < 100 && group_count() != self->groups; tries++)
		sleep_ms(100);
}

/* One rank is stopped, and continues too late. */
static int rank_frozen(struct lib_rank *me)
{
	const int frozen = *(int *)me->arg;
	struct group_shared *shared = me->shared;
	char name[16];
	struct coll_comm *new;
	__u64 begun;

	if (me->rank == frozen)
		shared->value[0] = getpid();
	CHECK(flag_barrier(shared, 0, me->nranks));
	if (me->rank == frozen) {
		raise(SIGSTOP);
		CHECK_EQ(-ETIMEDOUT, coll_shrink(me->comm, &new));
		CHECK(!new);
		CHECK(strstr(coll_error_detail(me->comm), "too late"));
		flag_set(shared, 2, 1);
		return 0;
	}
	begun = now_ms();
	CHECK_EQ(0, coll_shrink(me->comm, &new));
	CHECK(now_ms() - begun < 10000);
	CHECK_EQ(me->nranks - 1, coll_size(new));
	snprintf(name, sizeof(name), "rank %d of", frozen);
	CHECK(strstr(coll_error_detail(new), name));
	CHECK(strstr(coll_error_detail(new), "left out"));
	CHECK_EQ(0, coll_finalize(me->comm));
	me->comm = new;
	if (check_sums(new))
		return 1;
	CHECK(flag_barrier(shared, 1, me->nranks - 1));
	if (!coll_rank(new))
		kill(shared->value[0], SIGCONT);
	CHECK(flag_wait(shared, 2, 1, 30000));
	return check_sums(new);
}

TEST_F_TIMEOUT(shrink, frozen, 200)
{
	const struct coll_config config = { .init_timeout_ms = 8000 };
	int frozen;

	for (frozen = 0; frozen < 4; frozen += 3)
		EXPECT_EQ(0, lib_group_run(4, &config, rank_frozen, &frozen))
			TH_LOG("rank %d", frozen);
}

/*
 * A rank is stopped while it leads, and continues when the others have a group or are about to.
 * No rank has died, or one had before. All ranks with success have the same group.
 */
struct outcome {
	int err[GROUP_RANKS_MAX];
	char name[GROUP_RANKS_MAX][COLLECTIVE_NAME_MAX + 1];
	int dead;
	int stop_ms;
	int go_on_ms;
};

static int rank_leads_stopped(struct lib_rank *me)
{
	struct outcome *outcome = me->arg;
	struct group_shared *shared = me->shared;
	struct coll_comm *new;
	int err;

	if (!me->rank)
		shared->value[0] = getpid();
	CHECK(flag_barrier(shared, 0, me->nranks));
	if (outcome->dead && kill_one(me->comm, shared, 2, me->nranks,
				      me->rank == outcome->dead))
		return 1;
	if (!me->rank && !fork()) {
		sleep_ms(outcome->stop_ms);
		kill(shared->value[0], SIGSTOP);
		sleep_ms(outcome->go_on_ms - outcome->stop_ms);
		kill(shared->value[0], SIGCONT);
		_exit(0);
	}
	if (me->rank % 2)
		sleep_ms(outcome->stop_ms + 200);
	err = coll_shrink(me->comm, &new);
	outcome->err[me->rank] = err;
	if (!err)
		strcpy(outcome->name[me->rank], coll_name(new));
	else
		CHECK_EQ(-ETIMEDOUT, err);
	/* Neither the end of a group nor a closed socket counts as a death. */
	CHECK(flag_barrier(shared, 1, me->nranks - !!outcome->dead));
	return err ? 0 : -coll_finalize(new);
}

static void one_group(struct __test_metadata *_metadata, const struct outcome *outcome, int n)
{
	int rank, first = -1;

	for (rank = 0; rank < n; rank++) {
		if (outcome->err[rank] || (outcome->dead && rank == outcome->dead))
			continue;
		if (first < 0)
			first = rank;
		EXPECT_STREQ(outcome->name[first], outcome->name[rank]);
	}
	EXPECT_LE(0, first);
}

TEST_F_TIMEOUT(shrink, stopped_leader, 100)
{
	static const int go_on[] = { 600, 1200, 1900, 2100, 3000 };
	const struct coll_config config = { .init_timeout_ms = 4000 };
	struct outcome *outcome;
	size_t i;

	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 2 * ARRAY_SIZE(go_on); i++) {
		memset(outcome, 0, sizeof(*outcome));
		outcome->dead = i % 2 ? 2 : 0;
		outcome->stop_ms = 300;
		outcome->go_on_ms = go_on[i / 2];
		EXPECT_EQ(i % 2, lib_group_run(4, &config, rank_leads_stopped, outcome));
		one_group(_metadata, outcome, 4);
	}
}

/* A rank that comes too late does not get a group of its own, however often it calls. */
static int rank_late(struct lib_rank *me)
{
	struct coll_comm *new;
	int i;

	CHECK(flag_barrier(me->shared, 0, me->nranks));
	if (!me->rank) {
		CHECK_EQ(0, coll_shrink(me->comm, &new));
		CHECK_EQ(1, coll_size(new));
		flag_set(me->shared, 1, 1);
		CHECK_EQ(0, coll_finalize(me->comm));
		/* Nor when the other ranks have ended. */
		CHECK_EQ(0, coll_finalize(new));
		me->comm = NULL;
		flag_set(me->shared, 2, 1);
		return 0;
	}
	CHECK(flag_wait(me->shared, 1, 1, 20000));
	for (i = 0; i < 4; i++) {
		CHECK_EQ(-ETIMEDOUT, coll_shrink(me->comm, &new));
		CHECK(!new);
		CHECK(strstr(coll_error_detail(me->comm), "too late"));
		if (!i)
			CHECK(flag_wait(me->shared, 2, 1, 20000));
	}
	return 0;
}

TEST_F_TIMEOUT(shrink, late, 60)
{
	const struct coll_config config = { .init_timeout_ms = 1500 };

	EXPECT_EQ(0, lib_group_run(2, &config, rank_late, NULL));
}

/*
 * The network between the ranks is cut and restored at last. The part with more ranks gets a
 * group; of two halves the one with the lowest rank; the other part gets none.
 */
static int rank_cut(struct lib_rank *me)
{
	const unsigned int side = *(unsigned int *)me->arg, mine = side >> me->rank & 1;
	struct group_shared *shared = me->shared;
	struct coll_comm *new, *none;
	struct sockaddr_in addr;
	int rank, n = 0, err;

	CHECK_EQ(1, find_sockets(&addr, 1));
	shared->value[me->rank] = addr.sin_port;
	CHECK(flag_barrier(shared, 0, me->nranks));
	for (rank = 0; rank < me->nranks; rank++)
		if ((side >> rank & 1) != mine)
			cut_off[n++] = shared->value[rank];
	err = coll_shrink(me->comm, &new);
	CHECK_EQ(mine ? 0 : -ETIMEDOUT, err);
	CHECK(flag_barrier(shared, 1, me->nranks));
	memset(cut_off, 0, sizeof(cut_off));
	if (mine) {
		CHECK_EQ(me->nranks - n, coll_size(new));
		err = check_sums(new);
	} else {
		CHECK_EQ(-ETIMEDOUT, coll_shrink(me->comm, &none));
	}
	CHECK(flag_barrier(shared, 2, me->nranks));
	return err && mine ? err : mine ? -coll_finalize(new) : 0;
}

TEST_F_TIMEOUT(shrink, cut, 100)
{
	const struct coll_config config = { .init_timeout_ms = enough_ms(2000) };
	unsigned int side;

	side = 0x1c;	/* 2, 3 and 4 of 5 */
	EXPECT_EQ(0, lib_group_run(5, &config, rank_cut, &side));
	side = 0x09;	/* 0 and 3 of 4 */
	EXPECT_EQ(0, lib_group_run(4, &config, rank_cut, &side));
	side = 0x01;	/* 0 of 2 */
	EXPECT_EQ(0, lib_group_run(2, &config, rank_cut, &side));
}

/*
 * A rank is stopped until the others have ended, while a client fills its socket. It still finds
 * that the others had a group.
 */
static int rank_flooded(struct lib_rank *me)
{
	struct group_shared *shared = me->shared;
	const int last = me->nranks - 1;
	static const char noise[1000];
	struct sockaddr_in addr;
	struct coll_comm *new;
	int i, fd;

	if (me->rank == last) {
		CHECK_EQ(1, find_sockets(&addr, 1));
		shared->value[0] = getpid();
		shared->value[1] = addr.sin_port;
	}
	CHECK(flag_barrier(shared, 0, me->nranks));
	if (me->rank == last) {
		raise(SIGSTOP);
		CHECK_EQ(-ETIMEDOUT, coll_shrink(me->comm, &new));
		CHECK(strstr(coll_error_detail(me->comm), "too late"));
		return 0;
	}
	addr = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = shared->value[1],
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(fd >= 0);
	for (i = 0; i < 3000; i++)
		syscall(SYS_sendto, fd, noise, sizeof(noise), MSG_DONTWAIT, &addr, sizeof(addr));
	syscall(SYS_close, fd);
	CHECK_EQ(0, coll_shrink(me->comm, &new));
	CHECK_EQ(last, coll_size(new));
	CHECK_EQ(0, coll_finalize(me->comm));
	me->comm = NULL;
	CHECK_EQ(0, coll_finalize(new));
	CHECK(flag_barrier(shared, 1, last));
	if (!me->rank)
		kill(shared->value[0], SIGCONT);
	return 0;
}

TEST_F_TIMEOUT(shrink, flooded, 60)
{
	const struct coll_config config = { .init_timeout_ms = 2000 };

	EXPECT_EQ(0, lib_group_run(3, &config, rank_flooded, NULL));
}

/* Too few ranks: an error without the flag, success with it. */
static int rank_few(struct lib_rank *me)
{
	struct coll_comm *new;

	if (!me->rank)
		me->shared->value[0] = getpid();
	CHECK(flag_barrier(me->shared, 0, me->nranks));
	if (!me->rank) {
		raise(SIGSTOP);
		return 0;
	}
	CHECK_EQ(-EINVAL, coll_shrink_flags(me->comm, ~0U, &new));
	CHECK_EQ(-ETIMEDOUT, coll_shrink(me->comm, &new));
	CHECK(strstr(coll_error_detail(me->comm), "rank 0"));
	CHECK_EQ(0, coll_shrink_flags(me->comm, COLL_SHRINK_MINORITY, &new));
	CHECK_EQ(1, coll_size(new));
	kill(me->shared->value[0], SIGCONT);
	return -coll_finalize(new);
}

TEST_F_TIMEOUT(shrink, few, 60)
{
	const struct coll_config config = { .init_timeout_ms = 1500 };

	EXPECT_EQ(0, lib_group_run(2, &config, rank_few, NULL));
}

/* One rank dies and one is stopped: the other two get a group, and the stopped one an error. */
static int rank_dead_and_stopped(struct lib_rank *me)
{
	const int stopped = *(int *)me->arg;
	struct group_shared *shared = me->shared;
	struct coll_comm *new;
	int rank = me->rank, ranks[GROUP_RANKS_MAX];

	if (rank == stopped)
		shared->value[0] = getpid();
	if (kill_one(me->comm, shared, 0, me->nranks, rank == 1))
		return 1;
	CHECK(flag_barrier(shared, 1, me->nranks - 1));
	if (rank == stopped) {
		raise(SIGSTOP);
		CHECK_EQ(-ETIMEDOUT, coll_shrink(me->comm, &new));
		flag_set(shared, 2, 1);
		return 0;
	}
	CHECK_EQ(0, coll_shrink(me->comm, &new));
	CHECK_EQ(2, members(new, rank, ranks));
	CHECK(ranks[0] != stopped && ranks[1] != stopped);
	if (!coll_rank(new))
		kill(shared->value[0], SIGCONT);
	CHECK(flag_wait(shared, 2, 1, 30000));
	return check_sums(new) ?: -coll_finalize(new);
}

TEST_F_TIMEOUT(shrink, dead_and_stopped, 150)
{
	const struct coll_config config = { .init_timeout_ms = enough_ms(4000) };
	int stopped;

	for (stopped = 0; stopped < 4; stopped++)
		if (stopped != 1)
			EXPECT_EQ(1, lib_group_run(4, &config, rank_dead_and_stopped, &stopped))
				TH_LOG("rank %d", stopped);
}

/* Limit the number of files that this process can still open. */
static int leave_files(int room)
{
	struct rlimit limit;
	int fd;

	for (fd = 0; room; fd++)
		room -= fcntl(fd, F_GETFD) < 0;
	while (fcntl(fd, F_GETFD) >= 0)
		fd++;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	limit.rlim_cur = fd;
	return setrlimit(RLIMIT_NOFILE, &limit);
}

/* Lift that limit. */
static int allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit);
}

/* With few files, all ranks get the same group, or all the same error, at once. */
static int rank_files(struct lib_rank *me)
{
	const int room = *(int *)me->arg;
	struct coll_comm *new;
	__u64 begun;
	int i, err;

	/* The limit applies to rank 1 only, or to all. */
	if (room >= 0 || me->rank == 1)
		CHECK_EQ(0, leave_files(room < 0 ? -room - 1 : room));
	for (i = 0; i < 3; i++) {
		CHECK(flag_barrier(me->shared, 2 * i, me->nranks));
		begun = now_ms();
		err = coll_shrink(me->comm, &new);
		CHECK(now_ms() - begun < enough_ms(5000));
		me->shared->value[me->rank] = err;
		CHECK(flag_barrier(me->shared, 2 * i + 1, me->nranks));
		CHECK_EQ(me->shared->value[0], me->shared->value[me->rank]);
		if (room >= 2 || room <= -3) {
			CHECK_EQ(0, err);
			CHECK_EQ(me->nranks, coll_size(new));
			CHECK_EQ(0, coll_finalize(me->comm));
			me->comm = new;
			continue;
		}
		CHECK_EQ(-EMFILE, err);
		CHECK(strstr(coll_error_detail(me->comm), "2 files"));
	}
	/* The fixture opens files. */
	return allow_files();
}

TEST_F_TIMEOUT(shrink, files, 100)
{
	int room;

	for (room = -3; room <= 4; room++)
		EXPECT_EQ(0, lib_group_run(3, NULL, rank_files, &room))
			TH_LOG("room for %d files", room);
}

TEST_HARNESS_MAIN
