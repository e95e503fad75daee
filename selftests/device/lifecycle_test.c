// SPDX-License-Identifier: GPL-2.0-only
/* The life of a member after CONNECT, and its end by LEAVE or close(). */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"

struct pair_call {
	int fd;
	struct collective_op op;
	int err;
};

static void *pair_thread(void *arg)
{
	struct pair_call *call = arg;

	call->err = member_submit(call->fd, &call->op);
	return NULL;
}

/* Submit on both ranks, in two threads. */
static int pair_submit(const int *fd, const struct collective_op *a, const struct collective_op *b)
{
	struct pair_call call = { .fd = fd[0], .op = *a };
	pthread_t thread;
	int err;

	pthread_create(&thread, NULL, pair_thread, &call);
	err = member_submit(fd[1], b);
	pthread_join(thread, NULL);
	return err ? err : call.err;
}

TEST_F(two_ranks, life)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	struct collective_op op[2];
	struct collective_status status;
	int data[2][1000], i, round;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, pair_submit(self->fd, &barrier, &barrier));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 1000; i++) {
			data[0][i] = i;
			data[1][i] = 1000 * round;
		}
		for (i = 0; i < 2; i++)
			op[i] = (struct collective_op) {
				.opcode = COLLECTIVE_ALLREDUCE,
				.type = COLLECTIVE_INT32,
				.count = 1000,
				.send = (uintptr_t)data[i],
				.recv = (uintptr_t)data[i],
			};
		ASSERT_EQ(0, pair_submit(self->fd, &op[0], &op[1]));
		for (i = 0; i < 1000; i++) {
			ASSERT_EQ(i + 1000 * round, data[0][i]);
			ASSERT_EQ(i + 1000 * round, data[1][i]);
		}
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, member_status(self->fd[i], &status));
		EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
		EXPECT_EQ(21, status.submitted);
		EXPECT_EQ(21, status.completed);
		EXPECT_EQ(0, status.inflight);
	}
	EXPECT_EQ(0, member_leave(self->fd[0]));
	EXPECT_EQ(0, member_leave(self->fd[1]));
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_STATE_LEFT, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	EXPECT_EQ(21, status.completed);
}

/* Another process that has the file cannot use the member. */
TEST_F(two_ranks, other_process)
{
	struct collective_status status;
	char page[64];
	__u32 buffer;
	int code;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(member_connect(self->fd[0], self->addr, 2, 100) == -EPERM &&
		      member_register(self->fd[0], page, 64, 0, &buffer) == -EPERM ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	pid = fork();
	if (!pid)
		_exit(member_barrier(self->fd[0]) == -EPERM &&
		      member_register(self->fd[0], page, 64, 0, &buffer) == -EPERM ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	/* The end of that process does not matter to the member. */
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
	EXPECT_EQ(0, status.submitted);
}

TEST_F(two_ranks, leave_in_operation)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	struct pair_call call = { .fd = self->fd[0], .op = barrier };
	struct collective_status status;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	pthread_create(&thread, NULL, pair_thread, &call);
	for (i = 0; i < 500; i++) {
		ASSERT_EQ(0, member_status(self->fd[0], &status));
		if (status.inflight)
			break;
		sleep_ms(10);
	}
	EXPECT_EQ(0, member_leave(self->fd[0]));
	pthread_join(thread, NULL);
	EXPECT_EQ(-ECANCELED, call.err);
	EXPECT_EQ(-ECONNRESET, member_barrier(self->fd[1]));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
	EXPECT_NE(0, member_barrier(self->fd[0]));
}

/* Return: the time that LEAVE takes the first rank to leave; ms. */
static int lone_leave(void)
{
	struct sockaddr_storage addr[2];
	int fd[2], ms = -1;
	char name[33];
	__u64 id, begin;

	if (two_ranks_join(fd, addr, name, &id))
		return -1;
	if (!two_ranks_connect(fd, addr)) {
		begin = now_ms();
		if (!member_leave(fd[0]))
			ms = now_ms() - begin;
	}
	close(fd[1]);
	close(fd[0]);
	return ms;
}

/* Return: the same for a group of one rank. */
static int alone_leave(void)
{
	struct sockaddr_storage addr;
	__u64 id, begin;
	char name[33];
	int fd, ms = -1;

	group_unique(name, sizeof(name), &id);
	fd = member_open();
	if (fd < 0)
		return -1;
	if (!member_join(fd, name, id, 0, 1, &addr) && !member_connect(fd, &addr, 1, 1000)) {
		begin = now_ms();
		if (!member_leave(fd))
			ms = now_ms() - begin;
	}
	close(fd);
	return ms;
}

static int quickest(int (*leave)(void))
{
	int round, ms, least = INT_MAX;

	for (round = 0; round < 10; round++) {
		ms = leave();
		if (ms < 0)
			return ms;
		least = least < ms ? least : ms;
	}
	return least;
}

/*
 * LEAVE waits until the peer's TCP has acknowledged the end of the connections, which it does at
 * once.  A delayed ACK would take at least 40 ms.  What a rank without connections takes is that of
 * the kernel: with User-Mode Linux some grace periods.
 */
TEST(lone_leave_is_acknowledged)
{
	int alone = quickest(alone_leave), least = quickest(lone_leave);

	ASSERT_LE(0, alone);
	ASSERT_LE(0, least);
	TH_LOG("the quickest of 10 took %d ms, %d ms without a peer", least, alone);
	EXPECT_GT(alone + 40, least);
}

TEST_F(two_ranks, leave_then_anything)
{
	struct collective_status status;
	struct pollfd poll_fd = { .fd = self->fd[0], .events = POLLOUT };
	char page[64];
	__u32 buffer;
	int err;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, member_leave(self->fd[0]));
	EXPECT_EQ(-ENOTCONN, member_leave(self->fd[0]));
	EXPECT_EQ(-ENOTCONN, member_barrier(self->fd[0]));
	EXPECT_EQ(-ENOTCONN, member_connect(self->fd[0], self->addr, 2, 100));
	EXPECT_EQ(-ENOTCONN, member_register(self->fd[0], page, 64, 0, &buffer));
	EXPECT_EQ(-ENOENT, member_unregister(self->fd[0], 1));
	EXPECT_EQ(-EISCONN, member_join(self->fd[0], "x", 1, 0, 2, &self->addr[0]));
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_TRUE(poll_fd.revents & POLLHUP);
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_STATE_LEFT, status.state);
	/* The other rank notices when it needs the first. */
	err = member_barrier(self->fd[1]);
	EXPECT_EQ(-ECONNRESET, err);
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

/* LEAVE in one thread while other threads submit and register. */
struct racer {
	int fd;
	bool stop;
	char *memory;
	bool alone;
};

static void *race_submit(void *arg)
{
	struct racer *racer = arg;
	__u32 buffer;
	int err;

	do {
		if (member_register(racer->fd, racer->memory, 65536, 0, &buffer))
			buffer = 1;
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.count = 65536,
			.send = (uintptr_t)racer->memory,
			.recv = (uintptr_t)racer->memory,
			.recv_buffer = buffer,
		};
		err = member_submit(racer->fd, &op);
	} while (!err);
	return NULL;
}

TEST(leave_races_with_submit)
{
	struct sockaddr_storage addr;
	struct racer racer;
	pthread_t thread[3];
	char name[33];
	int round, i;
	__u64 id;

	racer.memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (round = 0; round < 50; round++) {
		racer.fd = member_open();
		group_unique(name, sizeof(name), &id);
		ASSERT_EQ(0, member_join(racer.fd, name, id, 0, 1, &addr));
		ASSERT_EQ(0, member_connect(racer.fd, &addr, 1, 1000));
		for (i = 0; i < 3; i++)
			pthread_create(&thread[i], NULL, race_submit, &racer);
		usleep(round * 50);
		EXPECT_EQ(0, member_leave(racer.fd));
		for (i = 0; i < 3; i++)
			pthread_join(thread[i], NULL);
		close(racer.fd);
	}
}

/* Other threads make calls while the member leaves; none of them succeeds afterwards. */
static bool racing;

static void *race_thread(void *arg)
{
	struct rank *r = arg;
	__u64 ids[4] = { 1, 2, 3, 4 };
	__s32 data[4] = { 0 };
	struct collective_op op = {
		.opcode = COLLECTIVE_SEND,
		.type = COLLECTIVE_INT32,
		.count = 4,
		.send = (uintptr_t)data,
		.timeout_ms = 50,
	};
	unsigned int seed = (uintptr_t)&seed;

	while (__atomic_load_n(&racing, __ATOMIC_RELAXED)) {
		struct collective_cancel cancel = { .size = sizeof(cancel), .request = ids[0] };
		struct collective_wait wait = {
			.size = sizeof(wait),
			.flags = COLLECTIVE_WAIT_ANY | COLLECTIVE_WAIT_NOWAIT,
		};
		__u64 id;

		op.root = (r->rank + 1 + rand_r(&seed) % (r->nranks - 1)) % r->nranks;
		if (!member_start(r->fd, &op, &id))
			ids[rand_r(&seed) % 4] = id;
		member_ioctl(r->fd, COLLECTIVE_IOC_CANCEL, &cancel);
		member_wait_any(r->fd, &wait, ids, 4);
	}
	return NULL;
}

static int rank_race(struct rank *r)
{
	pthread_t thread[3];
	int i;

	/* Wait for all: a rank that left would fail the CONNECT of others. */
	CHECK(flag_barrier(r->shared, 0, r->nranks));
	racing = true;
	for (i = 0; i < 3; i++)
		CHECK_EQ(0, pthread_create(&thread[i], NULL, race_thread, r));
	sleep_ms(r->rank % 3);
	/* The rank leaves in order at the first LEAVE that does not return EBUSY. */
	for (i = 0; i < 50; i++)
		member_leave(r->fd);
	racing = false;
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

FIXTURE(slow) {};
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

TEST_F_TIMEOUT(slow, race, 120)
{
	struct group_config config = { .nranks = 5 };
	int i;

	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, group_run(&config, rank_race, NULL));
}

/* An administrator changes the CPUs of the lanes; operations go on. */
static int cpus_write(const struct rank *r, const char *text)
{
	return member_set(r->group->name, r->rank, "cpus", text);
}

static int rank_cpus(struct rank *r)
{
	char text[64], path[128];
	float a[20000] = { 0 };
	int i;

	for (i = 0; i < 20; i++) {
		CHECK_EQ(0, cpus_write(r, i & 1 ? "0" : "0-0\n"));
		CHECK_EQ(0, member_allreduce(r->fd, a, a, 20000, COLLECTIVE_FLOAT32,
					     COLLECTIVE_SUM));
	}
	CHECK_EQ(-EINVAL, cpus_write(r, "100000"));
	CHECK_EQ(-EINVAL, cpus_write(r, "x"));
	CHECK_EQ(0, member_get(r->group->name, r->rank, "cpus", text, sizeof(text)));
	CHECK_EQ(0, strcmp(text, "0,0\n"));
	/* The mode of the file is not enough: the writer needs the capability. */
	snprintf(path, sizeof(path), "/sys/class/collective/collective/groups/%s/%u/cpus",
		 r->group->name, r->rank);
	CHECK_EQ(0, seteuid(65534));
	CHECK_EQ(-EACCES, file_set(path, "0"));
	CHECK_EQ(0, seteuid(0));
	return member_barrier(r->fd);
}

TEST(cpus)
{
	struct group_config config = { .nranks = 2, .lanes = 2 };

	EXPECT_EQ(0, group_run(&config, rank_cpus, NULL));
}

static int use_cpus(unsigned long mask)
{
	return syscall(SYS_sched_setaffinity, 0, sizeof(mask), &mask) < 0 ? -errno : 0;
}

static int expect_cpus(const struct rank *r, const char *expected)
{
	char text[64];

	CHECK_EQ(0, member_get(r->group->name, r->rank, "cpus", text, sizeof(text)));
	CHECK_EQ(0, strcmp(expected, text));
	return 0;
}

/* Return: time that a CPU was busy, ticks of /proc/stat. */
static long busy_ticks(const char *cpu)
{
	FILE *file = fopen("/proc/stat", "r");
	long t[7] = { 0 };
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, cpu, strlen(cpu)) && line[strlen(cpu)] == ' ')
			sscanf(strchr(line, ' '), "%ld %ld %ld %ld %ld %ld %ld", &t[0], &t[1],
			       &t[2], &t[3], &t[4], &t[5], &t[6]);
	if (file)
		fclose(file);
	return t[0] + t[1] + t[2] + t[5] + t[6];
}

/* Have the work items of the lanes do operations for a second. */
static int operate(const struct rank *r)
{
	static float a[256 * 1024], b[256 * 1024];
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT32,
		.reduction = COLLECTIVE_SUM, .count = 256 * 1024,
		.send = (uintptr_t)a, .recv = (uintptr_t)b,
	};
	__u64 end = now_ms() + 1000, request;
	int err;

	while (now_ms() < end) {
		CHECK_EQ(0, member_start(r->fd, &op, &request));
		do {
			sleep_ms(1);
			err = member_wait(r->fd, request, COLLECTIVE_WAIT_NOWAIT);
		} while (err == -EINPROGRESS);
		CHECK_EQ(0, err);
	}
	return 0;
}

/* Operations after @cpu was left for the other one run there. */
static int runs_beside(const struct rank *r, const char *cpu, const char *other)
{
	long left, used;

	CHECK_EQ(0, operate(r));
	left = busy_ticks(cpu);
	used = busy_ticks(other);
	CHECK_EQ(0, operate(r));
	left = busy_ticks(cpu) - left;
	used = busy_ticks(other) - used;
	printf("# %s was busy for %ld ticks, %s for %ld\n", cpu, left, other, used);
	CHECK(used > 2 * left);
	return 0;
}

static int rank_follow(struct rank *r)
{
	CHECK_EQ(0, use_cpus(3));
	CHECK_EQ(0, expect_cpus(r, "0,1\n"));
	CHECK_EQ(0, use_cpus(2));
	CHECK_EQ(0, expect_cpus(r, "1,1\n"));
	CHECK_EQ(0, runs_beside(r, "cpu0", "cpu1"));
	CHECK_EQ(0, use_cpus(1));
	CHECK_EQ(0, expect_cpus(r, "0,0\n"));
	CHECK_EQ(0, runs_beside(r, "cpu1", "cpu0"));
	CHECK_EQ(0, use_cpus(3));
	CHECK_EQ(0, expect_cpus(r, "0,1\n"));
	/* What was chosen among the CPUs of the process is left with them. */
	CHECK_EQ(0, cpus_write(r, "0"));
	CHECK_EQ(0, expect_cpus(r, "0,0\n"));
	CHECK_EQ(0, use_cpus(2));
	CHECK_EQ(0, expect_cpus(r, "1,1\n"));
	/* An administrator may choose others, which stay. */
	CHECK_EQ(0, cpus_write(r, "0"));
	CHECK_EQ(0, expect_cpus(r, "0,0\n"));
	CHECK_EQ(0, use_cpus(3));
	CHECK_EQ(0, use_cpus(2));
	CHECK_EQ(0, expect_cpus(r, "0,0\n"));
	return 0;
}

TEST(lanes_follow_their_process)
{
	struct group_config config = { .nranks = 1, .lanes = 2 };

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	EXPECT_EQ(0, group_run(&config, rank_follow, NULL));
}

#define CGROUPS	"/tmp/lifecycle_cgroups"

static int rank_cpuset(struct rank *r)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	CHECK_EQ(0, expect_cpus(r, "0,1\n"));
	CHECK_EQ(0, file_set(CGROUPS "/rank/cpuset.cpus", "1"));
	CHECK_EQ(0, file_set(CGROUPS "/rank/cgroup.procs", pid));
	CHECK_EQ(0, expect_cpus(r, "1,1\n"));
	CHECK_EQ(0, runs_beside(r, "cpu0", "cpu1"));
	CHECK_EQ(0, file_set(CGROUPS "/rank/cpuset.cpus", "0"));
	CHECK_EQ(0, expect_cpus(r, "0,0\n"));
	CHECK_EQ(0, file_set(CGROUPS "/cgroup.procs", pid));
	CHECK_EQ(0, expect_cpus(r, "0,1\n"));
	return 0;
}

TEST(lanes_follow_the_cpuset)
{
	struct group_config config = { .nranks = 1, .lanes = 2 };

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	mkdir(CGROUPS, 0755);
	if (mount("none", CGROUPS, "cgroup2", 0, NULL) ||
	    file_set(CGROUPS "/cgroup.subtree_control", "+cpuset"))
		SKIP(return, "no cpusets");
	EXPECT_EQ(0, mkdir(CGROUPS "/rank", 0755));
	EXPECT_EQ(0, group_run(&config, rank_cpuset, NULL));
	EXPECT_EQ(0, rmdir(CGROUPS "/rank"));
	EXPECT_EQ(0, umount(CGROUPS));
	rmdir(CGROUPS);
}

TEST_HARNESS_MAIN
