// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queries: a rank asks all ranks of its group.  Ranks that are stopped, late, dead or not
 * connected; a rank that closes while it asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective_admin.h>

#include "lib/as_user.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/queries.h"
#include "lib/two_ranks.h"

#define FOREIGN		"the group belongs to another user: CAP_NET_ADMIN is needed"
#define UNCONNECTED	"no rank of this host has called CONNECT"

enum { FLAG_READY, FLAG_TOLD, FLAG_GO, FLAG_END };

TEST_F(two_ranks, answers)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	struct utsname host;
	struct seen seen;
	unsigned int i;
	__u64 id, begin;

	uname(&host);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	begin = now_ms();
	ASSERT_EQ(0, ask(self->name, 2, &seen));
	ASSERT_EQ(2, seen.n);
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(seen.answer[i].answered);
		EXPECT_EQ((__u32)getpid(), seen.answer[i].own_pid);
		EXPECT_STREQ(host.nodename, seen.node[i]);
		EXPECT_EQ(COLL_ADMIN_STATE_UP, seen.answer[i].state);
		EXPECT_FALSE(seen.answer[i].stopped);
		EXPECT_EQ(0, seen.answer[i].counted);
		EXPECT_EQ(COLL_ADMIN_NO_INSTANCE, seen.answer[i].submitted.instance);
		EXPECT_EQ(COLL_ADMIN_NO_INSTANCE, seen.answer[i].oldest.instance);
		EXPECT_EQ(0, seen.answer[i].reason.kind);
	}

	/* Within a second nothing is sent. */
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	ASSERT_EQ(0, ask(self->name, 2, &seen));
	if (now_ms() - begin < COLL_ADMIN_QUERY_MS)
		EXPECT_EQ(0, seen.answer[0].counted);
	ASSERT_EQ(0, ask_again(self->name, 2, &seen));
	EXPECT_EQ(1, seen.answer[0].counted);
	EXPECT_EQ(1, seen.answer[0].inflight);
	EXPECT_EQ(0, seen.answer[0].submitted.instance);
	EXPECT_EQ(COLLECTIVE_BARRIER, seen.answer[0].submitted.opcode);
	EXPECT_EQ(0, seen.answer[0].oldest.instance);
	EXPECT_LE(1000, seen.answer[0].oldest.age_ms);
	EXPECT_GT(COLL_ADMIN_REQUEST_FAILING, seen.answer[0].oldest.state);
	ASSERT_EQ(1, seen.answer[0].oldest.nwaits);
	EXPECT_EQ(1, seen.answer[0].oldest.waits[0]);
	EXPECT_EQ(0, seen.answer[1].counted);

	EXPECT_EQ(0, member_barrier(self->fd[1]));
	EXPECT_EQ(0, member_wait(self->fd[0], id, 0));
	ASSERT_EQ(0, ask_again(self->name, 2, &seen));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, seen.answer[i].completed.instance);
		EXPECT_EQ(0, seen.answer[i].completed.kind);
		EXPECT_EQ(0, seen.answer[i].inflight);
	}
}

static int ask_as_stranger(const void *name)
{
	struct seen seen;

	return ask_once(name, &seen) == -EPERM ? 0 : 1;
}

TEST_F(two_ranks, refusals)
{
	struct coll_admin *admin;
	struct seen seen;

	ASSERT_EQ(0, coll_admin_open(&admin));
	EXPECT_EQ(-ENOTCONN, coll_admin_query(admin, self->name, 0, see, &seen));
	EXPECT_STREQ(UNCONNECTED, coll_admin_error(admin));
	EXPECT_EQ(-ENOENT, coll_admin_query(admin, "none", 0, see, &seen));
	EXPECT_EQ(-EINVAL, coll_admin_query(admin, NULL, 0, see, &seen));
	EXPECT_EQ(0, as_other_user(ask_as_stranger, self->name));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, as_other_user(ask_as_stranger, self->name));
	EXPECT_EQ(0, ask(self->name, 2, &seen));
	coll_admin_close(admin);
}

TEST_F(two_ranks, mismatch)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	char data = 0;
	struct collective_op broadcast = {
		.opcode = COLLECTIVE_BROADCAST, .count = 1,
		.send = (uintptr_t)&data, .recv = (uintptr_t)&data,
	};
	struct seen seen;
	unsigned int i;
	__u64 id;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	EXPECT_EQ(-EBADMSG, member_submit(self->fd[1], &broadcast));
	EXPECT_EQ(-EBADMSG, member_wait(self->fd[0], id, 0));
	ASSERT_EQ(0, ask(self->name, 2, &seen));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(COLL_ADMIN_REASON_MISMATCH, seen.answer[i].completed.kind);
		EXPECT_EQ(COLL_ADMIN_REASON_MISMATCH, seen.answer[i].last.kind);
		EXPECT_EQ(EBADMSG, seen.answer[i].last.error);
	}
}

/* A kernel charges the answers to the rank that asks. */
TEST_F(two_ranks, charged)
{
	long long before, after;
	struct seen seen;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	before = member_memory(self->name, 0);
	ASSERT_EQ(0, ask(self->name, 2, &seen));
	after = member_value(self->name, 0, "memory_bytes");
	EXPECT_LT(before, after);
	ASSERT_EQ(0, ask_again(self->name, 2, &seen));
	EXPECT_EQ(after, member_value(self->name, 0, "memory_bytes"));
}

/*
 * Ranks in processes
 */

static int rank_waits(struct rank *r)
{
	CHECK_EQ(0, member_barrier(r->fd));
	CHECK(flag_barrier(r->shared, FLAG_READY, r->nranks));
	if (r->rank != 2)
		CHECK_EQ(0, member_barrier(r->fd));
	CHECK(flag_wait(r->shared, FLAG_GO, 1, 25000));
	if (r->rank == 2)
		CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST(stopped)
{
	const struct group_config config = { .nranks = 5, .timeout_ms = 60000 };
	struct group group;
	struct seen seen;
	unsigned int i;
	int status;

	ASSERT_EQ(0, group_start(&group, &config, rank_waits, NULL));
	ASSERT_TRUE(flag_wait(group.shared, FLAG_READY, config.nranks, 20000));
	for (i = 0; i < 5; i++)
		ASSERT_TRUE(member_await(group.name, i, "inflight", i != 2));
	ASSERT_EQ(0, kill(group.pid[2], SIGSTOP));
	ASSERT_EQ(group.pid[2], waitpid(group.pid[2], &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(0, ask(group.name, 5, &seen));
	ASSERT_EQ(5, seen.n);
	for (i = 0; i < 5; i++) {
		EXPECT_EQ((__u32)group.pid[i], seen.answer[i].pid);
		EXPECT_EQ(i == 2, seen.answer[i].stopped);
		EXPECT_EQ(i == 2 ? 1 : 2, seen.answer[i].counted);
		EXPECT_EQ(0, seen.answer[i].completed.instance);
		EXPECT_EQ(i == 2 ? COLL_ADMIN_NO_INSTANCE : 1, seen.answer[i].oldest.instance);
	}
	EXPECT_EQ(0, kill(group.pid[2], SIGCONT));
	flag_set(group.shared, FLAG_GO, 1);
	EXPECT_EQ(0, group_wait(&group));
}

static int rank_survives(struct rank *r)
{
	CHECK_EQ(0, member_barrier(r->fd));
	CHECK(flag_barrier(r->shared, FLAG_READY, r->nranks));
	/* Rank 1 is killed instead. */
	if (r->rank != 1) {
		CHECK_EQ(-ECONNRESET, member_barrier(r->fd));
		flag_add(r->shared, FLAG_TOLD);
	}
	CHECK(flag_wait(r->shared, FLAG_END, 1, 25000));
	return 0;
}

TEST(dead)
{
	const struct group_config config = { .nranks = 4, .timeout_ms = 60000 };
	struct group group;
	struct seen seen;
	unsigned int i;

	ASSERT_EQ(0, group_start(&group, &config, rank_survives, NULL));
	ASSERT_TRUE(flag_wait(group.shared, FLAG_READY, config.nranks, 20000));
	ASSERT_EQ(0, kill(group.pid[1], SIGKILL));
	ASSERT_TRUE(flag_wait(group.shared, FLAG_TOLD, 3, 20000));
	/* They are told before its file is closed, and it answers until then. */
	ASSERT_TRUE(member_await(group.name, 1, "inflight", -ENOENT));
	EXPECT_EQ(1, ask(group.name, 3, &seen));
	ASSERT_EQ(4, seen.n);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(i != 1, seen.answer[i].answered);
		if (i == 1)
			continue;
		EXPECT_EQ(COLL_ADMIN_STATE_ABORTED, seen.answer[i].state);
		EXPECT_EQ(COLL_ADMIN_REASON_DEATH, seen.answer[i].reason.kind);
		EXPECT_EQ(1, seen.answer[i].reason.rank_a);
		EXPECT_GT(20000, seen.answer[i].reason_age_ms);
	}
	flag_set(group.shared, FLAG_END, 1);
	/* The killed rank. */
	EXPECT_EQ(1, group_wait(&group));
}

/*
 * Many ranks in this process
 */

FIXTURE(many) {
	int fd[RANKS];
	struct sockaddr_storage addr[RANKS];
	char name[33];
	__u64 id;
};

FIXTURE_SETUP(many)
{
	unsigned int i;

	group_unique(self->name, sizeof(self->name), &self->id);
	for (i = 0; i < RANKS; i++)
		self->fd[i] = -1;
}

FIXTURE_TEARDOWN(many)
{
	unsigned int i;

	for (i = 0; i < RANKS; i++)
		if (self->fd[i] >= 0)
			close(self->fd[i]);
}

/* All call a barrier, which completes.  Return: 0 or a negative errno. */
static int all_barrier(const int *fd)
{
	const struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	unsigned int i;
	__u64 id[RANKS];
	int err = 0;

	for (i = 0; i < RANKS && !err; i++)
		err = member_start(fd[i], &barrier, &id[i]);
	for (i = 0; i < RANKS && !err; i++)
		err = member_wait(fd[i], id[i], 0);
	return err;
}

/* All but rank 37 call a barrier, and wait for it.  Return: 0 or a negative errno. */
static int all_wait_for_one(const int *fd)
{
	const struct collective_op barrier = {
		.opcode = COLLECTIVE_BARRIER, .timeout_ms = 60000,
	};
	unsigned int i;
	int err = 0;
	__u64 id;

	for (i = 0; i < RANKS && !err; i++)
		if (i != 37)
			err = member_start(fd[i], &barrier, &id);
	return err;
}

TEST_F_TIMEOUT(many, ranks, 100)
{
	int err = members_make(self->fd, self->addr, RANKS, self->name, self->id);
	unsigned int i;
	struct seen seen;

	if (err == -ENOMEM)
		SKIP(return, "no memory for 64 ranks");
	ASSERT_EQ(0, err);
	EXPECT_EQ(0, ask(self->name, RANKS, &seen));
	EXPECT_EQ(RANKS, seen.n);
	EXPECT_EQ(RANKS, seen.answered);
	/* All wait for one; the second query goes on while they do. */
	ASSERT_EQ(0, all_wait_for_one(self->fd));
	EXPECT_EQ(0, ask_again(self->name, RANKS, &seen));
	EXPECT_EQ(RANKS, seen.answered);
	for (i = 0; i < RANKS; i++)
		EXPECT_EQ(i != 37, seen.answer[i].counted);
}

/* Ranks that have completed operations say of their times, too, in one query. */
TEST_F_TIMEOUT(many, ranks_with_times, 100)
{
	int err = members_make(self->fd, self->addr, RANKS, self->name, self->id);
	struct seen seen;
	unsigned int i;

	if (err == -ENOMEM)
		SKIP(return, "no memory for 64 ranks");
	ASSERT_EQ(0, err);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, all_barrier(self->fd));
	ASSERT_EQ(0, all_wait_for_one(self->fd));
	EXPECT_EQ(0, ask(self->name, RANKS, &seen));
	EXPECT_EQ(RANKS, seen.answered);
}

/*
 * The rank that asks ends
 */

static int ask_forever(const void *arg)
{
	const char *name = arg;
	struct seen seen;
	__u64 end = now_ms() + 6000;
	int err;

	while (now_ms() < end) {
		err = ask_once(name, &seen);
		if (err != 0 && err != 1 && err != -ENOENT && err != -ENOTCONN)
			return 1;
	}
	return 0;
}

TEST(asker_ends)
{
	unsigned int seed = 7, rounds = 0, i;
	struct sockaddr_storage addr[2];
	__u64 id, end = now_ms() + 6000;
	pid_t pid;
	int fd[2], status;
	char name[33];

	group_unique(name, sizeof(name), &id);
	pid = fork();
	if (!pid) {
		/* What it says of groups that have ended is no news. */
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		_exit(ask_forever(name));
	}
	while (now_ms() < end) {
		ASSERT_EQ(0, members_make(fd, addr, 2, name, id));
		usleep(rand_r(&seed) % 30000);
		i = rand_r(&seed) % 2;
		close(fd[i]);
		usleep(rand_r(&seed) % 3000);
		close(fd[1 - i]);
		rounds++;
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	printf("# %u groups\n", rounds);
}

TEST_HARNESS_MAIN
