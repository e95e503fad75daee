// SPDX-License-Identifier: GPL-2.0-only
/*
 * coll_shrink(): those who are left have a group that works, and the same one,
 * whoever dies and whenever; who is frozen is left out and told so.
 *
 * The library is linked statically and finds this program's ioctl(), connect(),
 * send() and close(), in which a test lets a rank die or fail.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "team.h"
#include "values.h"

/* A quarter of the default time, which is spent where somebody is silent only. */
#define LIMIT_MS	14000

/* So many more steps, then the process dies; below 0: it does not. */
static int die_after = -1;

/* So many more ioctls succeed, then one fails; below 0: all succeed. */
static int fail_after = -1;

static void step(void)
{
	if (die_after >= 0 && !die_after--)
		kill(getpid(), SIGKILL);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	/* STATUS only looks for words. */
	if (request != COLLECTIVE_IOC_STATUS) {
		step();
		if (fail_after >= 0 && !fail_after--) {
			errno = ENOMEM;
			return -1;
		}
	}
	return syscall(SYS_ioctl, fd, request, arg);
}

int connect(int fd, const struct sockaddr *addr, socklen_t length)
{
	step();
	return syscall(SYS_connect, fd, addr, length);
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	step();
	return syscall(SYS_sendto, fd, data, size, flags, NULL, 0);
}

int close(int fd)
{
	step();
	return syscall(SYS_close, fd);
}

/* Nothing is left of any group. */
FIXTURE(shrink) {
	int groups;
};

FIXTURE_SETUP(shrink)
{
	self->groups = team_groups();
}

FIXTURE_TEARDOWN(shrink)
{
	EXPECT_EQ(self->groups, team_groups());
}

/**
 * struct plan - what is to happen
 * @first: rank that dies before
 * @victim: rank that dies, or fails, in coll_shrink(); -1: none
 * @after: so many steps later
 * @other: another one; -1: none
 * @other_after: likewise
 * @through: ranks that have come through, bit by bit; in memory that all share
 */
struct plan {
	int first;
	int victim;
	int after;
	int other;
	int other_after;
	unsigned int through;
};

static struct plan *plan_new(void)
{
	return mmap(NULL, sizeof(struct plan), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* All have called; then one dies, and the others notice. */
static int lose(struct coll_comm *comm, struct group_shared *shared, int flag, int n, bool mine)
{
	CHECK(flag_meet(shared, flag, n));
	if (mine)
		kill(getpid(), SIGKILL);
	CHECK(coll_barrier(comm));
	return 0;
}

/* Who is in it; how many, or a negative errno. */
static int members(struct coll_comm *comm, int me, int *ranks)
{
	int err = coll_allgather(comm, &me, ranks, 1, COLL_INT32);

	return err ?: coll_size(comm);
}

/* It works: sums of all sizes are right. */
static int works(struct coll_comm *comm)
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
 * Shrink until there is a group that works.  Somebody who died late may be a rank of
 * the first one, which nobody can use then, as all of its ranks must call.
 */
static int survive(struct mate *mate, int *ranks, int *n)
{
	const int files = team_files();
	struct coll_comm *new;
	__u64 begun = now_ms();
	int round, err;

	for (round = 0; round < 4; round++) {
		err = coll_shrink(mate->comm, &new);
		die_after = -1;
		if (err)
			dprintf(STDOUT_FILENO, "# rank %d: %s\n", mate->rank,
				coll_error_detail(mate->comm));
		CHECK_EQ(0, err);
		CHECK(new);
		CHECK(strcmp(coll_name(mate->comm), coll_name(new)));
		CHECK_EQ(0, coll_finalize(mate->comm));
		mate->comm = new;
		*n = members(new, mate->rank, ranks);
		if (*n > 0)
			break;
	}
	CHECK(now_ms() - begun < LIMIT_MS);
	CHECK(*n > 0);
	CHECK(!*coll_error_detail(mate->comm));
	CHECK_EQ(files - (*n > 1 ? 0 : 1), team_files());
	return 0;
}

/* All ranks but the dead ones are there, in their order. */
static int rank_survive(struct mate *mate)
{
	struct plan *plan = mate->arg;
	int ranks[GROUP_RANKS_MAX], n, i, want = 0;

	if (lose(mate->comm, mate->shared, 0, mate->nranks, mate->rank == plan->first))
		return 1;
	if (mate->rank == plan->victim)
		die_after = plan->after;
	if (mate->rank == plan->other)
		die_after = plan->other_after;
	if (survive(mate, ranks, &n) || works(mate->comm))
		return 1;
	__atomic_or_fetch(&plan->through, 1U << mate->rank, __ATOMIC_SEQ_CST);
	for (i = 0; i < n; i++) {
		for (; want < ranks[i]; want++)
			CHECK(want == plan->first || want == plan->victim ||
			      want == plan->other);
		CHECK_EQ(want, ranks[i]);
		want++;
		CHECK_EQ(i == coll_rank(mate->comm), ranks[i] == mate->rank);
	}
	for (; want < mate->nranks; want++)
		CHECK(want == plan->first || want == plan->victim || want == plan->other);
	return 0;
}

/* One dies; each, of each number. */
TEST_F_TIMEOUT(shrink, one, 100)
{
	struct plan *plan = plan_new();
	int n;

	for (n = 2; n <= 6; n++)
		for (plan->first = 0; plan->first < n; plan->first++) {
			plan->victim = -1;
			plan->other = -1;
			EXPECT_EQ(1, team_run(n, NULL, rank_survive, plan))
				TH_LOG("rank %d of %d", plan->first, n);
		}
}

/* Another one dies in coll_shrink(), after each of its steps. */
static int run_steps(int nranks, int first, int victim)
{
	struct plan *plan = plan_new();
	int failed = 0, dead;

	plan->first = first;
	plan->victim = victim;
	plan->other = -1;
	for (plan->after = 0; plan->after < 200; plan->after++) {
		plan->through = 0;
		dead = team_run(nranks, NULL, rank_survive, plan);
		if (plan->through & 1U << victim && dead == 1)
			break;	/* it had fewer */
		if (dead != 2 || plan->through & 1U << victim) {
			printf("# rank %d, step %d: %d dead, through: %x\n", victim, plan->after,
			       dead, plan->through);
			failed++;
		}
	}
	printf("# rank %d: %d steps\n", victim, plan->after);
	return failed + (plan->after < 8) + (plan->after >= 200);
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

/* The leader and the one who is to lead after it. */
TEST_F_TIMEOUT(shrink, two_leaders_die, 200)
{
	struct plan *plan = plan_new();
	int round, dead;

	for (round = 0; round < 30; round++) {
		plan->first = 4;
		plan->victim = 0;
		plan->after = hash(round, 0, 0) % 30;
		plan->other = 1;
		plan->other_after = hash(round, 1, 0) % 50;
		plan->through = 0;
		dead = team_run(6, NULL, rank_survive, plan);
		EXPECT_EQ(6, dead + __builtin_popcount(plan->through));
		EXPECT_EQ(0x2c, plan->through & 0x2c)
			TH_LOG("steps %d and %d", plan->after, plan->other_after);
	}
}

/* One after the other, until one is left. */
static int rank_chain(struct mate *mate)
{
	int ranks[GROUP_RANKS_MAX], n, i;

	for (n = mate->nranks; n > 1; n--) {
		/* The first, the last, one in the middle. */
		const int victim = n % 3 == 0 ? 0 : n % 3 == 1 ? n - 1 : n / 2;

		if (lose(mate->comm, mate->shared, n, n, coll_rank(mate->comm) == victim) ||
		    survive(mate, ranks, &i) || works(mate->comm))
			return 1;
		CHECK_EQ(n - 1, i);
	}
	CHECK(strlen(coll_name(mate->comm)) <= COLLECTIVE_NAME_MAX);
	return 0;
}

TEST_F_TIMEOUT(shrink, chain, 60)
{
	static const unsigned char secret[32] = "of seven, then six, then fewer";
	const struct coll_config secured = { .secret = secret };

	EXPECT_EQ(6, team_run(7, NULL, rank_chain, NULL));
	/* Each of the others proves that it was of the group. */
	EXPECT_EQ(6, team_run(7, &secured, rank_chain, NULL));
}

/* Nobody has died; a group can be shrunk once; what is split and dupped can be, too. */
static int rank_healthy(struct mate *mate)
{
	struct coll_comm *new, *again = mate->comm, *dup;
	const int files = team_files();
	pid_t child;
	int status;

	child = fork();
	if (!child)
		_exit(coll_shrink(mate->comm, &new) != -EPERM);
	CHECK_EQ(child, waitpid(child, &status, 0));
	CHECK_EQ(0, status);
	CHECK(flag_meet(mate->shared, 0, mate->nranks));

	CHECK_EQ(0, coll_shrink(mate->comm, &new));
	CHECK_EQ(mate->nranks, coll_size(new));
	CHECK_EQ(mate->rank, coll_rank(new));
	if (works(new) || works(mate->comm))
		return 1;
	if (mate->nranks > 1) {
		CHECK_EQ(-EINVAL, coll_shrink(mate->comm, &again));
		CHECK(!again);
		CHECK(strstr(coll_error_detail(mate->comm), "shrunk before"));
	}
	CHECK_EQ(0, coll_dup(new, &dup));
	CHECK_EQ(0, coll_finalize(new));
	CHECK_EQ(0, coll_shrink(dup, &new));
	CHECK_EQ(0, coll_finalize(dup));
	if (works(new))
		return 1;
	CHECK_EQ(0, coll_finalize(new));
	CHECK_EQ(files - (mate->nranks > 1), team_files());
	return 0;
}

TEST_F_TIMEOUT(shrink, healthy, 60)
{
	EXPECT_EQ(0, team_run(1, NULL, rank_healthy, NULL));
	EXPECT_EQ(0, team_run(2, NULL, rank_healthy, NULL));
	EXPECT_EQ(0, team_run(5, NULL, rank_healthy, NULL));
}

/* An ioctl fails: all learn it, and may call again. */
static int rank_fail(struct mate *mate)
{
	struct plan *plan = mate->arg;
	struct coll_comm *new;

	if (lose(mate->comm, mate->shared, 0, mate->nranks, mate->rank == plan->first))
		return 1;
	if (mate->rank == plan->victim)
		fail_after = plan->after;
	CHECK_EQ(-ENOMEM, coll_shrink(mate->comm, &new));
	CHECK(!new);
	CHECK(strstr(coll_error_detail(mate->comm), plan->after ? "rank" : "/dev/collective"));
	CHECK_EQ(0, coll_shrink(mate->comm, &new));
	CHECK_EQ(mate->nranks - 1, coll_size(new));
	if (works(new))
		return 1;
	return -coll_finalize(new);
}

TEST_F_TIMEOUT(shrink, fails, 100)
{
	struct plan *plan = plan_new();

	plan->first = 2;
	for (plan->victim = 0; plan->victim < 4; plan->victim++)
		for (plan->after = 0; plan->after < 3 && plan->victim != 2; plan->after++)
			EXPECT_EQ(1, team_run(4, NULL, rank_fail, plan))
				TH_LOG("rank %d, ioctl %d", plan->victim, plan->after);
}

/* Who comes through the door and is none of us: noise, silence, and nearly right. */
static int strangers(int *fd, int max)
{
	struct sockaddr_storage addr;
	int i, listens, n = 0, round;
	socklen_t size;

	for (i = 3; i < 64 && n + 4 <= max; i++) {
		size = sizeof(listens);
		if (getsockopt(i, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens)
			continue;
		size = sizeof(addr);
		CHECK_EQ(0, getsockname(i, (struct sockaddr *)&addr, &size));
		for (round = 0; round < 4; round++) {
			/* A head of a SURVIVOR, whose body is zero or never comes. */
			char text[56] = { 'C', 'O', 'L', 'R', 1, 16, 0, 0, 40 };

			fd[n] = socket(addr.ss_family, SOCK_STREAM, 0);
			CHECK_EQ(0, connect(fd[n], (struct sockaddr *)&addr, size));
			if (round == 1)
				memset(text, 'x', sizeof(text));
			if (round)
				CHECK(send(fd[n], text, round == 3 ? 20 : sizeof(text), 0) > 0);
			n++;
		}
	}
	CHECK_EQ(8, n);
	return 0;
}

static int rank_strangers(struct mate *mate)
{
	int ranks[GROUP_RANKS_MAX], fd[8], n, i;

	if (strangers(fd, 8) ||
	    lose(mate->comm, mate->shared, 0, mate->nranks, mate->rank == 1) ||
	    survive(mate, ranks, &n) || works(mate->comm))
		return 1;
	CHECK_EQ(mate->nranks - 1, n);
	for (i = 0; i < 8; i++)
		close(fd[i]);
	return 0;
}

TEST_F_TIMEOUT(shrink, strangers, 60)
{
	EXPECT_EQ(1, team_run(5, NULL, rank_strangers, NULL));
}

/* A child has the sockets of the one that dies: the group knows that it is dead. */
static int rank_orphan(struct mate *mate)
{
	int ranks[GROUP_RANKS_MAX], n;

	if (mate->rank == 0 && !fork()) {
		flag_wait(mate->shared, 1, 1, 60000);
		_exit(0);
	}
	if (lose(mate->comm, mate->shared, 0, mate->nranks, mate->rank == 0) ||
	    survive(mate, ranks, &n) || works(mate->comm))
		return 1;
	flag_set(mate->shared, 1, 1);
	CHECK_EQ(mate->nranks - 1, n);
	return 0;
}

TEST_F_TIMEOUT(shrink, orphan, 60)
{
	int tries;

	EXPECT_EQ(1, team_run(4, NULL, rank_orphan, NULL));
	/* Nobody waits for the child, which still has the file. */
	for (tries = 0; tries < 100 && team_groups() != self->groups; tries++)
		sleep_ms(100);
}

/* One is frozen, and too late when it goes on. */
static int rank_frozen(struct mate *mate)
{
	const int frozen = *(int *)mate->arg;
	struct group_shared *shared = mate->shared;
	char name[16];
	struct coll_comm *new;
	__u64 begun;

	if (mate->rank == frozen)
		shared->value[0] = getpid();
	CHECK(flag_meet(shared, 0, mate->nranks));
	if (mate->rank == frozen) {
		raise(SIGSTOP);
		CHECK_EQ(-ETIMEDOUT, coll_shrink(mate->comm, &new));
		CHECK(!new);
		CHECK(strstr(coll_error_detail(mate->comm), "too late"));
		flag_set(shared, 2, 1);
		return 0;
	}
	begun = now_ms();
	CHECK_EQ(0, coll_shrink(mate->comm, &new));
	CHECK(now_ms() - begun < 10000);
	CHECK_EQ(mate->nranks - 1, coll_size(new));
	snprintf(name, sizeof(name), "rank %d of", frozen);
	CHECK(strstr(coll_error_detail(new), name));
	CHECK(strstr(coll_error_detail(new), "left out"));
	CHECK_EQ(0, coll_finalize(mate->comm));
	mate->comm = new;
	if (works(new))
		return 1;
	CHECK(flag_meet(shared, 1, mate->nranks - 1));
	if (!coll_rank(new))
		kill(shared->value[0], SIGCONT);
	CHECK(flag_wait(shared, 2, 1, 30000));
	return works(new);
}

TEST_F_TIMEOUT(shrink, frozen, 200)
{
	const struct coll_config config = { .init_timeout_ms = 8000 };
	int frozen;

	for (frozen = 0; frozen < 4; frozen += 3)
		EXPECT_EQ(0, team_run(4, &config, rank_frozen, &frozen))
			TH_LOG("rank %d", frozen);
}

TEST_HARNESS_MAIN
