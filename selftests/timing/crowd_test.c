// SPDX-License-Identifier: GPL-2.0-only
/*
 * Idle groups are cheap: their kernel memory, their ports, their CPU time, and the time of an
 * munmap() of their process.
 *
 * One process has all ranks of all groups.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/machine.h"

#define RANKS		16

/* Groups: CROWD in the environment, or so many. */
#define GROUPS		40
#define GROUPS_MAX	300

/* Peers of a rank in the rounds of matching, 1, 2, 4 and 8 away on both sides. */
#define LINKS		7

/* Most KiB of a member without its connections, and of an end of a connection. */
#define MEMBER_KIB	64
#define END_KIB		16
#define TCP_END_KIB	64

#define IDLE_MS		5000
#define UNMAPS		101

struct crowd {
	unsigned int ngroups, n;
	int fd[GROUPS_MAX * RANKS];
};

/* The number behind @key in the line of @path that begins with it. */
static long number(const char *path, const char *key)
{
	FILE *file = fopen(path, "r");
	char text[512];
	long value = 0;

	while (file && !value && fgets(text, sizeof(text), file))
		if (!strncmp(text, key, strlen(key)))
			value = strtol(text + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return value;
}

static long available_kib(void)
{
	return number("/proc/meminfo", "MemAvailable:");
}

/* TCP sockets that listen. */
static unsigned int listeners(void)
{
	FILE *file = fopen("/proc/net/tcp", "r");
	unsigned int n = 0, state;
	char text[512];

	while (file && fgets(text, sizeof(text), file))
		n += sscanf(text, " %*u: %*s %*s %x", &state) == 1 && state == 10;
	if (file)
		fclose(file);
	return n;
}

/* CPU time of the whole machine: user, system, interrupts; ms. */
static long busy_ms(void)
{
	FILE *file = fopen("/proc/stat", "r");
	long t[7] = { 0 };

	if (!file)
		return 0;
	if (fscanf(file, "cpu %ld %ld %ld %ld %ld %ld %ld", &t[0], &t[1], &t[2], &t[3], &t[4],
		   &t[5], &t[6]) != 7)
		memset(t, 0, sizeof(t));
	fclose(file);
	return (t[0] + t[1] + t[2] + t[5] + t[6]) * 1000 / sysconf(_SC_CLK_TCK);
}

static int by_value(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : *(const long *)a > *(const long *)b;
}

/* Median time of an munmap() of a page that was written; ns. */
static long munmap_ns(void)
{
	struct timespec begin, end;
	long times[UNMAPS];
	char *page;
	int i;

	for (i = 0; i < UNMAPS; i++) {
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			return 0;
		*page = 1;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		munmap(page, 4096);
		clock_gettime(CLOCK_MONOTONIC, &end);
		times[i] = (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
	}
	qsort(times, UNMAPS, sizeof(times[0]), by_value);
	return times[UNMAPS / 2];
}

/* Add a group whose ranks are all up. */
static int crowd_add(struct crowd *crowd)
{
	struct sockaddr_storage addr[RANKS];
	int *fd = crowd->fd + crowd->n, err;
	char name[33];
	unsigned int i;
	__u64 id;

	group_unique(name, sizeof(name), &id);
	for (i = 0; i < RANKS; i++) {
		fd[i] = member_open();
		CHECK(fd[i] >= 0);
		crowd->n++;
		fcntl(fd[i], F_SETFL, O_NONBLOCK);
		CHECK_EQ(0, member_join(fd[i], name, id, i, RANKS, &addr[i]));
	}
	for (i = 0; i < RANKS; i++) {
		err = member_connect(fd[i], addr, RANKS, 60000);
		if (err)
			CHECK_EQ(-EINPROGRESS, err);
	}
	for (i = 0; i < RANKS; i++) {
		struct pollfd poll_fd = { .fd = fd[i], .events = POLLOUT };

		CHECK_EQ(1, poll(&poll_fd, 1, 60000));
		CHECK_EQ(POLLOUT, poll_fd.revents);
	}
	return 0;
}

static int crowd_barrier(const int *fd)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	__u64 request[RANKS];
	unsigned int i;

	for (i = 0; i < RANKS; i++)
		CHECK_EQ(0, member_start(fd[i], &op, &request[i]));
	for (i = 0; i < RANKS; i++)
		CHECK_EQ(0, member_wait(fd[i], request[i], 0));
	return 0;
}

FIXTURE(crowd) {
	struct crowd crowd;
};

FIXTURE_VARIANT(crowd) {
	const char *transport;
	unsigned int end_kib;
};

FIXTURE_VARIANT_ADD(crowd, local) {
	.transport = "local", .end_kib = END_KIB
};

FIXTURE_VARIANT_ADD(crowd, tcp) {
	.transport = "tcp", .end_kib = TCP_END_KIB
};

FIXTURE_SETUP(crowd)
{
	unsigned int n = env_number("CROWD", slow_machine() ? 4 : GROUPS);
	struct rlimit limit = { GROUPS_MAX * RANKS + 64, GROUPS_MAX * RANKS + 64 };

	setenv("COLL_TRANSPORT", variant->transport, 1);
	self->crowd.ngroups = n < GROUPS_MAX ? n : GROUPS_MAX;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	/* What is allocated once is no part of the measurement. */
	ASSERT_EQ(0, crowd_add(&self->crowd));
}

FIXTURE_TEARDOWN(crowd)
{
	unsigned int i;

	for (i = 0; i < self->crowd.n; i++)
		close(self->crowd.fd[i]);
}

TEST_F_TIMEOUT(crowd, idle, 300)
{
	long before = available_kib(), unmap = munmap_ns(), kib, busy, then;
	unsigned int listening = listeners(), i;
	const unsigned int most = MEMBER_KIB + 2 * LINKS * variant->end_kib;
	struct crowd *crowd = &self->crowd;
	bool local = !strcmp(variant->transport, "local");

	for (i = 1; i < crowd->ngroups; i++)
		ASSERT_EQ(0, crowd_add(crowd));
	/* Members tick twice more, and those of local groups close their listeners. */
	sleep_ms(3000);
	kib = (before - available_kib()) / (long)(crowd->n - RANKS);
	then = munmap_ns();
	busy = busy_ms();
	sleep_ms(IDLE_MS);
	busy = busy_ms() - busy;
	printf("# %u groups of %u ranks: %ld KiB a member, %u listeners\n", crowd->ngroups, RANKS,
	       kib, listeners());
	printf("# munmap %ld ns (%ld before), CPU %ld ms in %u ms\n", then, unmap, busy, IDLE_MS);
	fflush(stdout);
	if (!slow_machine()) {
		EXPECT_LE(kib, (long)most);
		EXPECT_LE(then, 2 * unmap + 5000);
	}
	if (local) {
		EXPECT_LE(listeners(), listening);
		if (!slow_machine())
			EXPECT_LE(busy, IDLE_MS / 20);
	}
	EXPECT_EQ(0, crowd_barrier(crowd->fd));
	EXPECT_EQ(0, crowd_barrier(crowd->fd + crowd->n - RANKS));
}

TEST_HARNESS_MAIN
