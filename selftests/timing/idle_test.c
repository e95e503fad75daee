// SPDX-License-Identifier: GPL-2.0-only
/*
 * A waiting operation uses no CPU: neither the waiting process nor the workers of the kernel.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/machine.h"

#define WAIT_MS		1000
#define SETTLE_MS	100
#define ROUNDS		5
#define LATE		1

/* CPU time of the process in a second of waiting; us. Slow machines need more. */
#define PROCESS_US	(slow_machine() ? 20000 : 1000)
/* CPU time of the workers; us. They do other work, too; a polling one would use a million. */
#define WORKERS_US	100000

/* Return: the CPU time of a process or a kernel thread; us. */
static __u64 ran_us(pid_t pid)
{
	struct timespec ran;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ran))
		return 0;
	return ran.tv_sec * 1000000ULL + ran.tv_nsec / 1000;
}

static bool is_worker(const char *pid)
{
	char path[300], name[32];
	FILE *file;
	bool worker;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	worker = fgets(name, sizeof(name), file) && !strncmp(name, "kworker", 7);
	fclose(file);
	return worker;
}

/* Return: the CPU time of all workers of the kernel's workqueues; us. */
static __u64 workers_us(void)
{
	struct dirent *entry;
	__u64 sum = 0;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc)))
		if (atoi(entry->d_name) && is_worker(entry->d_name))
			sum += ran_us(atoi(entry->d_name));
	if (proc)
		closedir(proc);
	return sum;
}

struct cpu_time {
	__u64 process;
	__u64 workers;
};

/* Measure the CPU time of a small operation for which the other rank is @late_ms late. */
static int measure_operation(struct rank *r, unsigned int late_ms, struct cpu_time *cpu_time)
{
	__u32 send[16] = { 1 }, recv[16];
	__u64 process, workers;

	CHECK_EQ(0, member_barrier(r->fd));
	sleep_ms(r->rank == LATE ? SETTLE_MS + late_ms : SETTLE_MS);
	workers = workers_us();
	process = ran_us(0);
	CHECK_EQ(0, member_allreduce(r->fd, send, recv, 16, COLLECTIVE_UINT32, COLLECTIVE_SUM));
	cpu_time->process = ran_us(0) - process;
	cpu_time->workers = workers_us() - workers;
	return 0;
}

/*
 * Take the best of several: time that the host takes from the CPUs counts as CPU time, and
 * workers do other work. The first time includes work that is done once.
 */
static int rank_wait(struct rank *r)
{
	struct cpu_time at_once, waiting, best = { ~0ULL, ~0ULL };
	int round;

	CHECK_EQ(0, measure_operation(r, 0, &at_once));
	CHECK_EQ(0, measure_operation(r, 0, &at_once));
	for (round = 0; round < ROUNDS; round++) {
		CHECK_EQ(0, measure_operation(r, WAIT_MS, &waiting));
		if (waiting.process < best.process)
			best.process = waiting.process;
		if (waiting.workers < best.workers)
			best.workers = waiting.workers;
	}
	if (r->rank == LATE)
		return 0;
	printf("# waiting %u ms: process %llu us, kernel's workers %llu us; not: %llu and %llu\n",
	       WAIT_MS, best.process, best.workers, at_once.process, at_once.workers);
	fflush(stdout);
	CHECK(best.process < at_once.process + PROCESS_US);
	CHECK(best.workers < at_once.workers + WORKERS_US);
	return 0;
}

/* True if the clock of this kernel has a resolution below a millisecond. */
static bool clock_is_fine(void)
{
	__u64 begin = now_ms(), cpu_time = ran_us(0);

	while (now_ms() < begin + 3)
		;
	cpu_time = ran_us(0) - cpu_time;
	return cpu_time > 0 && cpu_time % 1000;
}

FIXTURE(idle) {
};

/* A waiting thread with a CPU to itself is woken in place of a worker. */
FIXTURE_VARIANT(idle) {
	bool bound;
};

FIXTURE_VARIANT_ADD(idle, anywhere) { .bound = false };
FIXTURE_VARIANT_ADD(idle, bound) { .bound = true };

FIXTURE_SETUP(idle)
{
}

FIXTURE_TEARDOWN(idle)
{
}

TEST_F(idle, waits)
{
	const struct group_config config = { .nranks = 2, .bound = variant->bound };

	if (!clock_is_fine())
		SKIP(return, "this kernel counts CPU time in ticks");
	EXPECT_EQ(0, group_run(&config, rank_wait, NULL));
}

TEST_HARNESS_MAIN
