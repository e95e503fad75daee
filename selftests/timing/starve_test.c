// SPDX-License-Identifier: GPL-2.0-only
/*
 * Busy lanes keep other work items of their CPU back for a few runs of lanes at most, however many
 * there are: a write to vm.stat_refresh waits for a work item on each CPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define GROUPS	16
#define LANES	8
#define DEPTH	16
#define SIZE	(1 << 20)
#define TIMES	25

/* Mean time of a write, ms; the work items of so many lanes took 16 times as long as without. */
#define MOST_MS(idle)	(4 * (idle) + 5)

static int bind_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static int group_make(char *memory, int *fd, __u32 *buffer)
{
	struct collective_join join = { .nranks = 1, .lanes = LANES };
	struct sockaddr_storage addr;
	char name[33];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	join.id = id;
	*fd = member_open();
	CHECK(*fd >= 0);
	CHECK_EQ(0, member_join_as(*fd, &join, name, &addr));
	CHECK_EQ(0, member_connect(*fd, &addr, 1, 5000));
	CHECK_EQ(0, member_register(*fd, memory, 2 * SIZE, 0, buffer));
	return 0;
}

/* Keep all lanes busy, until killed; a byte on @ready when they are. */
static int keep_busy(int ready, const int *fd, const __u32 *buffer, char *memory)
{
	__u64 request[GROUPS][DEPTH] = { 0 };
	int i, k;

	for (;;) {
		for (i = 0; i < GROUPS; i++)
			for (k = 0; k < DEPTH; k++) {
				struct collective_op op = {
					.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT32,
					.reduction = COLLECTIVE_SUM, .count = SIZE / 4,
					.send = (uintptr_t)memory,
					.recv = (uintptr_t)memory + SIZE,
					.send_buffer = buffer[i], .recv_buffer = buffer[i],
				};

				if (request[i][k] && member_wait(fd[i], request[i][k],
								 COLLECTIVE_WAIT_NOWAIT) ==
						     -EINPROGRESS)
					continue;
				CHECK_EQ(0, member_start(fd[i], &op, &request[i][k]));
			}
		if (ready >= 0)
			CHECK_EQ(1, write(ready, "", 1));
		ready = -1;
		usleep(2000);
	}
}

struct hog {
	int ready;
	char *memory;
	int fd[GROUPS];
	__u32 buffer[GROUPS];
};

static void *hog_thread(void *arg)
{
	struct hog *hog = arg;

	if (!bind_to(0))
		keep_busy(hog->ready, hog->fd, hog->buffer, hog->memory);
	_exit(1);
}

/* The lanes run on CPU 1, as the thread that joins does, and another thread submits on CPU 0. */
static int hog(int ready)
{
	static struct hog hog;
	pthread_t thread;
	int i;

	hog.ready = ready;
	hog.memory = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	CHECK(hog.memory != MAP_FAILED);
	CHECK_EQ(0, bind_to(1));
	for (i = 0; i < GROUPS; i++)
		CHECK_EQ(0, group_make(hog.memory, &hog.fd[i], &hog.buffer[i]));
	CHECK_EQ(0, pthread_create(&thread, NULL, hog_thread, &hog));
	pthread_join(thread, NULL);
	return 1;
}

static double refresh_ms(void)
{
	struct timespec begin, end;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);
	if (fd < 0 || (write(fd, "1", 1) < 0 && errno != EINVAL))
		return 1e9;
	close(fd);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6;
}

static double mean_ms(void)
{
	double sum = 0;
	int i;

	for (i = 0; i < TIMES; i++) {
		sum += refresh_ms();
		sleep_ms(20);
	}
	return sum / TIMES;
}

TEST(others_wait_for_few_lanes)
{
	double idle = mean_ms(), busy;
	int ready[2];
	char byte;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(hog(ready[1]) ? 1 : 0);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	busy = mean_ms();
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("# vm.stat_refresh takes %.2f ms, and %.2f ms beside %d busy lanes\n", idle, busy,
	       GROUPS * LANES);
	EXPECT_LT(busy, MOST_MS(idle));
}

TEST_HARNESS_MAIN
