// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes whose memory cgroup is at its limit wait in allocations.  They JOIN, list their groups
 * and close, and meanwhile another user JOINs, lists another group and all groups, and closes: that
 * does not wait.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective_admin.h>

#include "kselftest_harness.h"
#include "lib/any_transport.h"
#include "lib/as_user.h"
#include "lib/cgroup.h"
#include "lib/open_device.h"

/* What one process of the cgroup has, what they may have together, and the others, which JOIN. */
#define MEMORY		(64 << 20)
#define HIGH		"8M"
#define PROCESSES	48
/* Ranks of their groups: a JOIN takes more pages than a process may have beyond the limit. */
#define RANKS		64
#define RUN_MS		10000
/*
 * A JOIN of these processes takes so long at least: the kernel lets them wait for two seconds.
 * No JOIN of another user does, and nothing else in the best of some rounds: in a single one it may
 * wait for a lock of the kernel that such a process holds, as that of a folder in which names are
 * looked up.
 */
#define SLOW_MS		1500
#define ROUNDS		3

/**
 * struct turn - how long a process slept at most in what it did, ms
 * @since: time at which the JOIN in progress began; 0: there is none
 * @join: of JOIN
 * @dump: of a dump of its group
 * @all: of a dump of all groups
 * @close: of the end of its membership
 * @n: number of turns
 */
struct turn {
	__u64 since;
	unsigned int join;
	unsigned int dump;
	unsigned int all;
	unsigned int close;
	unsigned int n;
};

/* Those of the other user come last. */
#define TURNS_BYTES	((PROCESSES + 1) * sizeof(struct turn))

FIXTURE(limit) {
	struct turn *turns;
	struct cgroup cgroup;
};

FIXTURE_SETUP(limit)
{
	self->turns = mmap(NULL, TURNS_BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->turns);
}

FIXTURE_TEARDOWN(limit)
{
	cgroup_drop(&self->cgroup);
	munmap(self->turns, TURNS_BYTES);
}

/*
 * Return: how long this process has slept, from any moment on, ms.  It has not slept while it ran
 * or was ready to run: the machine may be busy.
 */
static __u64 slept_ms(void)
{
	FILE *file = fopen("/proc/self/schedstat", "r");
	unsigned long long ran = 0, ready = 0;

	if (file) {
		if (fscanf(file, "%llu %llu", &ran, &ready) != 2)
			ready = 0;
		fclose(file);
	}
	return now_ms() - (ran + ready) / 1000000;
}

/* Note how long this process has slept.  Return: slept_ms(). */
static __u64 time_note(unsigned int *most, __u64 since)
{
	const __u64 now = slept_ms();

	/* The two clocks may differ by a tick. */
	if (now > since && now - since > *most)
		*most = now - since;
	return now;
}

static int count_group(const struct coll_admin_group *group, void *arg)
{
	++*(unsigned int *)arg;
	return 0;
}

/* @name: of a group; NULL: all.  Return: 0 if a dump has found one. */
static int dump_groups(const char *name)
{
	struct coll_admin *admin;
	unsigned int n = 0;

	CHECK_EQ(0, coll_admin_open(&admin));
	CHECK(coll_admin_groups(admin, name, count_group, &n) >= 0);
	CHECK(name ? n == 1 : n);
	coll_admin_close(admin);
	return 0;
}

/* Return: 0 or 1. */
static int turn_run(struct turn *turn, unsigned int nranks)
{
	struct collective_join join;
	__u64 id, begin;
	int fd = member_open();
	char name[33];

	CHECK(fd >= 0);
	group_unique(name, sizeof(name), &id);
	join_valid(&join, name, id);
	join.nranks = nranks;
	join.lanes = COLLECTIVE_LANES_MAX;
	turn->since = now_ms();
	begin = slept_ms();
	CHECK_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
	begin = time_note(&turn->join, begin);
	turn->since = 0;
	CHECK_EQ(0, dump_groups(name));
	begin = time_note(&turn->dump, begin);
	CHECK_EQ(0, dump_groups(NULL));
	begin = time_note(&turn->all, begin);
	close(fd);
	time_note(&turn->close, begin);
	turn->n++;
	return 0;
}

static int turns_beside(const void *arg)
{
	struct turn *turn = *(struct turn * const *)arg;
	const __u64 end = now_ms() + RUN_MS;
	int err = 0;

	while (!err && now_ms() < end)
		err = turn_run(turn, 2);
	return err;
}

static int cgroup_enter(const struct cgroup *cgroup)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	return cgroup_set(cgroup, "cgroup.procs", pid);
}

/* The process that has the memory, until it is killed. */
static int memory_hold(const struct cgroup *cgroup, unsigned int *held)
{
	char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	CHECK_EQ(0, cgroup_enter(cgroup));
	memset(memory, 1, MEMORY);
	__atomic_store_n(held, 1, __ATOMIC_SEQ_CST);
	pause();
	return 0;
}

/*
 * A process that waits for memory, until it is killed.  It has all memory of its own before, so it
 * waits in the kernel.
 */
static int turns_limited(const struct cgroup *cgroup, struct turn *turn)
{
	CHECK_EQ(0, turn_run(turn, RANKS));
	CHECK_EQ(0, cgroup_enter(cgroup));
	while (!turn_run(turn, RANKS))
		;
	return 1;
}

/* Return: a process that runs one of these. */
static pid_t limited_fork(const struct cgroup *cgroup, struct turn *turn, unsigned int *held)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(turn ? turns_limited(cgroup, turn) : memory_hold(cgroup, held));
}

/* Return: 0 or a positive errno: there is no such cgroup. */
static int limit_make(struct cgroup *cgroup)
{
	char path[128];
	int err = cgroup_make(cgroup);

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", cgroup->folder);
	return -file_set(path, "+memory");
}

static void times_print(const char *who, const struct turn *turn)
{
	printf("# %s: %u turns, JOIN %u ms, dump %u ms, of all %u ms, close %u ms\n", who, turn->n,
	       turn->join, turn->dump, turn->all, turn->close);
}

static unsigned int greater(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

/* End the processes that wait, and take the longest times of all. */
static void limited_end(const pid_t *pid, struct turn *turns, struct turn *all)
{
	unsigned int i;

	for (i = 0; i < PROCESSES; i++) {
		if (turns[i].since)
			turns[i].join = greater(turns[i].join, now_ms() - turns[i].since);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		all->n += turns[i].n;
		all->join = greater(all->join, turns[i].join);
		all->dump = greater(all->dump, turns[i].dump);
		all->all = greater(all->all, turns[i].all);
		all->close = greater(all->close, turns[i].close);
	}
}

/*
 * Return: the longest wait of another user; *@limited is the longest JOIN at the limit, ms, and
 * *@joined the longest JOIN of another user in all rounds.
 */
static unsigned int round_run(const struct cgroup *cgroup, struct turn *turns,
			      unsigned int *limited, unsigned int *joined)
{
	struct turn *beside = &turns[PROCESSES], all = { 0 };
	pid_t pid[PROCESSES];
	unsigned int i;

	memset(turns, 0, TURNS_BYTES);
	for (i = 0; i < PROCESSES; i++)
		pid[i] = limited_fork(cgroup, &turns[i], NULL);
	if (as_other_user(turns_beside, &beside))
		beside->join = ~0U;
	limited_end(pid, turns, &all);
	times_print("another user", beside);
	times_print("at the limit", &all);
	*limited = all.join;
	*joined = greater(*joined, beside->join);
	return greater(greater(beside->join, beside->close), greater(beside->dump, beside->all));
}

TEST_F_TIMEOUT(limit, others_do_not_wait, 200)
{
	unsigned int *held = &self->turns[PROCESSES].n;
	unsigned int limited, joined = 0, waited = SLOW_MS;
	int round, err = limit_make(&self->cgroup);
	pid_t holder;

	if (err)
		SKIP(return, "no memory cgroup: %s", strerror(err));
	holder = limited_fork(&self->cgroup, NULL, held);
	ASSERT_TRUE(word_wait(held, 1, 20000));
	ASSERT_EQ(0, cgroup_set(&self->cgroup, "memory.high", HIGH));
	for (round = 0; round < ROUNDS && waited >= SLOW_MS; round++)
		waited = round_run(&self->cgroup, self->turns, &limited, &joined);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	if (limited < SLOW_MS)
		SKIP(return, "the limit lets no JOIN wait");
	EXPECT_GT(SLOW_MS, waited);
	EXPECT_GT(SLOW_MS, joined);
}

TEST_HARNESS_MAIN
