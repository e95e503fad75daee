// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process with many members: the time of each JOIN does not grow with their number, that of the
 * process's end grows in proportion, and another user's JOIN beside it does not wait.
 */
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/as_user.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/local_only.h"
#include "lib/open_device.h"

#define MEMBERS		300
#define SAMPLE		40

/*
 * Most of what doubles if the number of members does: below 4, which it is if each walks over all.
 */
#define LINEAR		3
#define NOISE_MS	100
#define JOIN_NOISE_US	300

/* Most us a member of the end of a process: less than a grace period. */
#define END_US		10000

/* Most ms of a JOIN of another user while a process ends. */
#define BESIDE_MS	300

/* The least times of some rounds count: what else the machine does makes them longer only. */
#define ROUNDS		3

/**
 * struct crowd_times - what a process with many members has measured; us
 * @first: the shortest of the first JOINs
 * @last: the shortest of the last ones
 */
struct crowd_times {
	unsigned long long first, last;
};

/**
 * struct crowd_least - the least times of all rounds; us
 * @join: last JOINs of the process with more members, less LINEAR of its first ones
 * @end: the end of a process, of the one with fewer members first
 * @beside: the longest JOIN of another user during such an end
 */
struct crowd_least {
	long long join;
	unsigned long long end[2];
	unsigned long long beside;
};

static int join_alone(void)
{
	struct collective_join join;
	char name[33];
	__u64 id;
	int fd = member_open();

	CHECK(fd >= 0);
	group_unique(name, sizeof(name), &id);
	join_valid(&join, name, id);
	join.nranks = 1;
	join.lanes = COLLECTIVE_LANES_MAX;
	join.transport = COLLECTIVE_TRANSPORT_LOCAL;
	CHECK_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
	return fd;
}

/* Return: the shortest time of @n JOINs. */
static unsigned long long join_times(unsigned int n)
{
	unsigned long long least = ~0ULL, from, took;

	while (n--) {
		from = now_us();
		if (join_alone() < 0)
			_exit(1);
		took = now_us() - from;
		least = took < least ? took : least;
	}
	return least;
}

/* All lanes are on one CPU, as in the default of a process that is bound to it. */
static void crowd_run(unsigned int n, int pipe)
{
	const struct rlimit files = { 4 * MEMBERS, 4 * MEMBERS };
	struct crowd_times times;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || setrlimit(RLIMIT_NOFILE, &files))
		_exit(1);
	times.first = join_times(SAMPLE);
	join_times(n - 2 * SAMPLE);
	times.last = join_times(SAMPLE);
	if (write(pipe, &times, sizeof(times)) != sizeof(times))
		_exit(1);
	pause();
}

static int join_as_user(const void *arg)
{
	unsigned long long from = now_us(), *most = *(unsigned long long * const *)arg;
	int fd = join_alone();

	CHECK(fd >= 0);
	from = now_us() - from;
	if (from > *most)
		*most = from;
	close(fd);
	return 0;
}

/* Return: us from the signal to the end of the process; or 0. */
static unsigned long long crowd_end(pid_t pid, unsigned long long *beside)
{
	unsigned long long from = now_us();
	int status;

	kill(pid, SIGKILL);
	while (!waitpid(pid, &status, WNOHANG))
		if (as_other_user(join_as_user, &beside))
			return 0;
	return now_us() - from;
}

/* Return: us of the end of a process with @n members; or 0. */
static unsigned long long crowd_measure(unsigned int n, struct crowd_times *times,
					unsigned long long *beside)
{
	unsigned long long end;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return 0;
	pid = fork();
	if (!pid)
		crowd_run(n, fds[1]);
	close(fds[1]);
	if (read(fds[0], times, sizeof(*times)) != sizeof(*times))
		return 0;
	close(fds[0]);
	end = crowd_end(pid, beside);
	printf("# %u members: JOIN in %llu us at first, %llu us at last; end in %llu ms\n", n,
	       times->first, times->last, end / 1000);
	return end;
}

FIXTURE(crowd) {
	unsigned long long *beside;
};

FIXTURE_SETUP(crowd)
{
	self->beside = mmap(NULL, sizeof(*self->beside), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->beside);
}

FIXTURE_TEARDOWN(crowd)
{
	munmap(self->beside, sizeof(*self->beside));
}

static unsigned long long lesser(unsigned long long a, unsigned long long b)
{
	return a < b ? a : b;
}

/* One process after the other.  Return: 0 or 1. */
static int round_measure(struct crowd_least *least, unsigned long long *beside)
{
	struct crowd_times times;
	unsigned long long end;
	long long join;
	int i;

	for (i = 0; i < 2; i++) {
		*beside = 0;
		end = crowd_measure((i + 1) * MEMBERS, &times, beside);
		CHECK(end);
		least->end[i] = lesser(least->end[i], end);
		least->beside = lesser(least->beside, *beside);
	}
	join = times.last - LINEAR * times.first;
	if (join < least->join)
		least->join = join;
	return 0;
}

static bool in_proportion(const struct crowd_least *least)
{
	return least->join <= JOIN_NOISE_US && least->beside <= BESIDE_MS * 1000 &&
		least->end[1] <= END_US * 2 * MEMBERS &&
		least->end[1] <= LINEAR * least->end[0] + NOISE_MS * 1000;
}

TEST_F_TIMEOUT(crowd, many_members, 100)
{
	struct crowd_least least = { LLONG_MAX, { ULLONG_MAX, ULLONG_MAX }, ULLONG_MAX };
	int round;

	for (round = 0; round < ROUNDS && !in_proportion(&least); round++)
		ASSERT_EQ(0, round_measure(&least, self->beside));
	printf("# another user's JOIN while a process ends: at most %llu us\n", least.beside);
	EXPECT_TRUE(in_proportion(&least));
}

TEST_HARNESS_MAIN
