// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random calls with random arguments (random_calls.h), by ioctl and io_uring, from several
 * processes with several threads each. Many of the processes are killed. Every call returns in
 * time, with a documented errno. Afterwards nothing leaks, and groups work.
 *
 * Environment: RANDOM_SEED is the seed, RANDOM_SECONDS the duration.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "faults/random_calls.h"
#include "lib/machine.h"
#include "lib/leak_check.h"

/* Upper bound of the life of a process and its exit; ms. */
static unsigned int bound_ms(void)
{
	return slow_machine() ? 120000 : 20000;
}

/**
 * struct slot - one running process
 * @pid: its process ID; 0: none
 * @seed: its seed
 * @since: time at which it began; ms
 * @kill_at: time at which it is killed; ms; 0: it is not killed
 */
struct slot {
	pid_t pid;
	__u64 seed;
	__u64 since;
	__u64 kill_at;
};

static void slot_start(struct slot *slot, struct random_shared *shared, unsigned int worker,
		       struct rng *rng)
{
	const unsigned int ms = (20 + rng_below(rng, 400)) * (slow_machine() ? 5 : 1);

	memset(shared->watch[worker], 0, sizeof(shared->watch[worker]));
	slot->seed = rng_next(rng);
	slot->since = now_ms();
	slot->kill_at = rng_once_in(rng, 3) ? slot->since + rng_below(rng, ms + 50) : 0;
	slot->pid = fork();
	if (!slot->pid) {
		/* A process group of its own, so that a kill reaches its children. */
		setpgid(0, 0);
		random_process_run(shared, worker, slot->seed, ms);
		_exit(0);
	}
	if (slot->pid > 0)
		setpgid(slot->pid, slot->pid);
}

static void slot_report(const struct slot *slot, const struct random_shared *shared,
			unsigned int worker, const char *what, int value)
{
	unsigned int i;

	dprintf(STDOUT_FILENO, "# process of seed %llu: %s %d, after %llu ms\n", slot->seed, what,
		value,
		now_ms() - slot->since);
	for (i = 0; i < RANDOM_THREADS; i++) {
		const struct random_watch *watch = &shared->watch[worker][i];

		if (watch->since)
			dprintf(STDOUT_FILENO, "#   thread %u: %s since %llu ms\n", i,
				random_call_names[watch->call], now_ms() - watch->since);
	}
}

/* Check a process, and kill it when it is time. Return: 0, or 1 if a check failed. */
static int slot_check(struct slot *slot, const struct random_shared *shared, unsigned int worker)
{
	const __u64 now = now_ms();
	int status, bad = 0;

	if (waitpid(slot->pid, &status, WNOHANG) != slot->pid) {
		/* A killed process must exit in time, too. */
		if (slot->kill_at && now >= slot->kill_at)
			kill(-slot->pid, SIGKILL);
		if (now < slot->since + bound_ms())
			return 0;
		slot_report(slot, shared, worker, "still there", slot->pid);
		kill(-slot->pid, SIGKILL);
		/* Forget a process that does not end, so that the test ends. */
		slot->pid = 0;
		return 1;
	}
	if (WIFEXITED(status) ? WEXITSTATUS(status) :
				!(slot->kill_at && WTERMSIG(status) == SIGKILL)) {
		slot_report(slot, shared, worker, "wait status", status);
		bad = 1;
	}
	/* Its child may still be in its process group. */
	kill(-slot->pid, SIGKILL);
	slot->pid = 0;
	return bad;
}

/* Return: the number of processes that failed a check. */
static int run_processes(struct random_shared *shared, __u64 seed, unsigned int seconds,
			 unsigned int *count)
{
	const __u64 end = now_ms() + seconds * 1000ULL;
	const unsigned int workers = slow_machine() ? 2 : RANDOM_WORKERS;
	struct slot slot[RANDOM_WORKERS] = {};
	struct rng rng = { seed };
	unsigned int i, busy;
	int bad = 0;

	do {
		busy = 0;
		for (i = 0; i < workers; i++) {
			if (slot[i].pid)
				bad += slot_check(&slot[i], shared, i);
			if (!slot[i].pid && now_ms() < end && bad < 3) {
				slot_start(&slot[i], shared, i, &rng);
				++*count;
			}
			busy += !!slot[i].pid;
		}
		sleep_ms(2);
	} while (busy);
	return bad;
}

/*
 * Leaks
 */

/* Return: the number of pinned pages of the machine. Both counters are read at one time. */
static long long vmstat_pinned(void)
{
	long long value, acquired = 0, released = 0;
	FILE *file = fopen("/proc/vmstat", "r");
	char name[64];

	while (file && fscanf(file, "%63s %lld", name, &value) == 2) {
		if (!strcmp(name, "nr_foll_pin_acquired"))
			acquired = value;
		if (!strcmp(name, "nr_foll_pin_released"))
			released = value;
	}
	if (file)
		fclose(file);
	return acquired - released;
}

static long long pinned(void)
{
	/* Each CPU has counters of its own; fold those of idle CPUs in. */
	int err = file_set("/proc/sys/vm/stat_refresh", "1");

	if (err)
		dprintf(STDOUT_FILENO, "# stat_refresh: %d\n", err);
	return vmstat_pinned();
}

/* Rings of killed processes are released asynchronously, and hold pinned pages, too. */
static bool pinned_no_more(long long before)
{
	const __u64 end = now_ms() + 10000;
	long long more;

	do {
		more = pinned() - before;
		if (more <= 0)
			return true;
		sleep_ms(20);
	} while (now_ms() < end);
	dprintf(STDOUT_FILENO, "# %lld pages are pinned\n", more);
	return false;
}

/* Check that the user with the small limit can use all of it again. */
static int limit_is_free(void)
{
	const size_t size = 1 << 20;
	struct rlimit limit = { size, size };
	struct sockaddr_storage addr;
	int fd = member_open();
	char name[33];
	__u32 buffer;
	void *area;
	__u64 id;

	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	CHECK_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK_EQ(0, setresuid(65534, 65534, 65534));
	group_unique(name, sizeof(name), &id);
	CHECK_EQ(0, member_join(fd, name, id, 0, 1, &addr));
	CHECK_EQ(0, member_register(fd, area, size, 0, &buffer));
	return 0;
}

static int limit_check(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(limit_is_free());
	waitpid(pid, &status, 0);
	return status;
}

static int rank_sum(struct rank *r)
{
	__u32 mine = r->rank + 20, sum = 0;

	CHECK_EQ(0, member_allreduce(r->fd, &mine, &sum, 1, COLLECTIVE_UINT32, COLLECTIVE_SUM));
	CHECK_EQ(41, sum);
	return 0;
}

static void print_calls(const struct random_shared *shared, unsigned int count)
{
	unsigned int i;

	dprintf(STDOUT_FILENO, "# %u lives;", count);
	for (i = 0; i < RANDOM_CALLS; i++)
		dprintf(STDOUT_FILENO, " %s %llu/%llu", random_call_names[i], shared->good[i],
			shared->done[i]);
	dprintf(STDOUT_FILENO, "\n");
	for (i = 0; i < shared->nunexpected && i < RANDOM_UNEXPECTED; i++)
		dprintf(STDOUT_FILENO, "# %s: errno %d is not in its list\n",
			random_call_names[shared->unexpected[i].call], shared->unexpected[i].error);
}

FIXTURE(slow) {};
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

TEST_F_TIMEOUT(slow, random, 4000)
{
	const struct group_config config = { .nranks = 2 };
	const int before = tcp_sockets();
	const long long pins = pinned();
	struct random_shared *shared;
	unsigned int seed, seconds, count = 0;

	seed = env_number("RANDOM_SEED", 1);
	seconds = env_number("RANDOM_SECONDS", slow_machine() ? 10 : 5);
	TH_LOG("RANDOM_SEED=%u RANDOM_SECONDS=%u", seed, seconds);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ASSERT_NE(MAP_FAILED, shared);

	EXPECT_EQ(0, run_processes(shared, seed, seconds, &count));
	print_calls(shared, count);
	EXPECT_EQ(0, shared->nunexpected);
	/* The test is meaningful only if some calls succeeded. */
	EXPECT_LT(0, shared->good[5]);
	EXPECT_LT(0, shared->good[6]);
	EXPECT_LT(0, shared->good[RANDOM_SQE_SUBMIT]);

	EXPECT_TRUE(nothing_leaked(before));
	EXPECT_TRUE(pinned_no_more(pins));
	EXPECT_EQ(0, limit_check());
	EXPECT_EQ(0, group_run(&config, rank_sum, NULL));
	EXPECT_TRUE(nothing_leaked(before));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
}

TEST_HARNESS_MAIN
