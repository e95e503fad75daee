// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that wait, and what ends their wait: LEAVE, a stop without a handler, the end of the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/two_ranks.h"
#include "lib/uring.h"

struct connector {
	int fd;
	const struct sockaddr_storage *addr;
	int err;
};

static void *connector_run(void *arg)
{
	struct connector *c = arg;

	c->err = member_connect(c->fd, c->addr, 2, 20000);
	return NULL;
}

static bool state_await(int fd, unsigned int state)
{
	const __u64 end = now_ms() + 20000;
	struct collective_status status;

	do {
		usleep(1000);
	} while (!member_status(fd, &status) && status.state != state && now_ms() < end);
	return status.state == state;
}

/* A socket that accepts connections and says nothing stands for rank 1. */
static int silent_listener(struct sockaddr_storage *addr)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(addr, 0, sizeof(*addr));
	if (bind(fd, (struct sockaddr *)&in, len) || listen(fd, 8) ||
	    getsockname(fd, (struct sockaddr *)addr, &len)) {
		close(fd);
		return -1;
	}
	return fd;
}

TEST(leave_ends_connect)
{
	struct collective_join join = { .transport = COLLECTIVE_TRANSPORT_TCP, .nranks = 2 };
	struct sockaddr_storage addr[2];
	int listener = silent_listener(&addr[1]);
	struct connector c = { .fd = member_open(), .addr = addr };
	pthread_t thread;
	char name[33];
	__u64 begin;

	ASSERT_LE(0, listener);
	group_unique(name, sizeof(name), &join.id);
	ASSERT_EQ(0, member_join_as(c.fd, &join, name, &addr[0]));
	pthread_create(&thread, NULL, connector_run, &c);
	ASSERT_TRUE(state_await(c.fd, COLLECTIVE_STATE_CONNECTING));
	begin = now_ms();
	EXPECT_EQ(0, member_leave(c.fd));
	pthread_join(thread, NULL);
	EXPECT_GT(5000, now_ms() - begin);
	EXPECT_EQ(-ECANCELED, c.err);
	close(c.fd);
	close(listener);
}

/*
 * LEAVE
 */

/* A request that is complete leaves LEAVE in order, even if its ring has yet to collect it. */
TEST_F(two_ranks, leave_before_collection)
{
	const struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	struct collective_status status;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	__u64 data, end;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	if (ring_open(&ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN))
		SKIP(return, "no io_uring with deferred task work");
	sqe = next_sqe(&ring);
	memset(sqe, 0, 128);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = self->fd[0];
	sqe->cmd_op = COLLECTIVE_IOC_SUBMIT;
	memcpy(sqe->cmd, &barrier, sizeof(barrier));
	ASSERT_EQ(1, io_uring_submit(&ring));
	ASSERT_EQ(0, member_barrier(self->fd[1]));
	end = now_ms() + 5000;
	do {
		ASSERT_EQ(0, member_status(self->fd[0], &status));
	} while (status.inflight && now_ms() < end);
	ASSERT_EQ(0, status.inflight);

	EXPECT_EQ(0, member_leave(self->fd[0]));
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_STATE_LEFT, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	sleep_ms(200);
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
	EXPECT_EQ(0, ring_wait(&ring, &data));
	io_uring_queue_exit(&ring);
}

struct caller {
	pthread_t thread;
	int fd;
	void *area;
	int err;
};

enum { AREA = 64 * 1024 };

static void *caller_submit(void *arg)
{
	struct caller *caller = arg;
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_UINT8, .count = AREA,
		.send = (uintptr_t)caller->area, .recv = (uintptr_t)caller->area,
	};
	__u64 request;

	caller->err = member_start(caller->fd, &op, &request);
	return NULL;
}

static void *caller_leave(void *arg)
{
	struct caller *caller = arg;

	caller->err = member_leave(caller->fd);
	return NULL;
}

/* Return: true if the thread ended in time. */
static bool caller_ends(struct caller *caller)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 10;
	return !pthread_timedjoin_np(caller->thread, NULL, &end);
}

/* Send signals until the thread ends: the first ones may come before its call. */
static bool caller_ends_by_signal(struct caller *caller)
{
	const __u64 end = now_ms() + 10000;

	while (pthread_tryjoin_np(caller->thread, NULL)) {
		if (now_ms() > end)
			return false;
		pthread_kill(caller->thread, SIGUSR1);
		sleep_ms(50);
	}
	return true;
}

/* Wait until a thread needs memory that this process provides. */
static bool fault_await(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 20000) == 1 && poll_fd.revents == POLLIN;
}

static void on_signal(int signal)
{
}

/* LEAVE waits for a call whose memory no program provides: a signal ends that. */
TEST_F(two_ranks, leave_during_a_fault)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct caller submits = { .fd = self->fd[0] }, leaves = { .fd = self->fd[0] };
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = {};
	struct collective_status status;
	long fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	submits.area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	ASSERT_NE(MAP_FAILED, submits.area);
	range.range = (struct uffdio_range){ (uintptr_t)submits.area, AREA };
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		SKIP(return, "no userfaultfd in this kernel");
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	sigaction(SIGUSR1, &action, NULL);

	pthread_create(&submits.thread, NULL, caller_submit, &submits);
	ASSERT_TRUE(fault_await(fd));
	pthread_create(&leaves.thread, NULL, caller_leave, &leaves);
	sleep_ms(200);
	EXPECT_TRUE(caller_ends_by_signal(&leaves));
	EXPECT_EQ(-EINTR, leaves.err);
	/* The other rank knows. */
	EXPECT_EQ(-ECONNRESET, member_barrier(self->fd[1]));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(-ENOTCONN, member_barrier(self->fd[0]));

	zero.range = range.range;
	EXPECT_EQ(0, ioctl(fd, UFFDIO_ZEROPAGE, &zero));
	EXPECT_TRUE(caller_ends(&submits));
	EXPECT_EQ(-ENOTCONN, submits.err);
	EXPECT_EQ(0, member_leave(self->fd[0]));
	EXPECT_EQ(-ENOTCONN, member_leave(self->fd[0]));
	close(fd);
}

/*
 * What interrupts a thread without a handler
 */

enum disturbance { BY_STOP, BY_FREEZER, BY_TASK_WORK };

/*
 * Time limit of a call, and how often the call is disturbed, at most this number of times; ms.  The
 * last disturbance is long after the end of the limit, unless the call has returned.
 */
enum { LIMIT = 600, EVERY = 60, TIMES = 100 };

/* Between a call that has not been cut short, and one that began its limit again; ms. */
enum { LIMIT_LATE = LIMIT + TIMES / 2 * EVERY };

FIXTURE(disturbed) {
	int fd[2];
	struct sockaddr_storage addr[2];
	struct cgroup cgroup;
	struct io_uring ring;
};

FIXTURE_VARIANT(disturbed) {
	enum disturbance by;
};

FIXTURE_VARIANT_ADD(disturbed, stop) { BY_STOP };
FIXTURE_VARIANT_ADD(disturbed, freezer) { BY_FREEZER };
FIXTURE_VARIANT_ADD(disturbed, task_work) { BY_TASK_WORK };

FIXTURE_SETUP(disturbed)
{
	char name[33];
	__u64 id;

	if (variant->by == BY_FREEZER && cgroup_make(&self->cgroup)) {
		cgroup_drop(&self->cgroup);
		SKIP(return, "no cgroup2");
	}
	if (variant->by == BY_TASK_WORK && ring_open(&self->ring, 0))
		SKIP(return, "no io_uring");
	ASSERT_EQ(0, two_ranks_join(self->fd, self->addr, name, &id));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
}

FIXTURE_TEARDOWN(disturbed)
{
	close(self->fd[0]);
	close(self->fd[1]);
	cgroup_drop(&self->cgroup);
}

/* Stop and continue a process, again and again. */
static int stop_often(pid_t pid, const unsigned int *enough)
{
	int i;

	for (i = 0; i < TIMES && !word_wait(enough, 1, 0); i++) {
		sleep_ms(EVERY - 20);
		CHECK_EQ(0, kill(pid, SIGSTOP));
		sleep_ms(20);
		CHECK_EQ(0, kill(pid, SIGCONT));
	}
	return 0;
}

static int freeze_often(const struct cgroup *cgroup, pid_t pid, const unsigned int *enough)
{
	char path[80], number[16];
	int i;

	snprintf(number, sizeof(number), "%d", pid);
	CHECK_EQ(0, cgroup_set(cgroup, "cgroup.procs", number));
	for (i = 0; i < TIMES && !word_wait(enough, 1, 0); i++) {
		sleep_ms(EVERY - 20);
		CHECK_EQ(0, cgroup_set(cgroup, "cgroup.freeze", "1"));
		CHECK_EQ(0, cgroup_await_frozen(cgroup, 5000));
		sleep_ms(15);
		CHECK_EQ(0, cgroup_set(cgroup, "cgroup.freeze", "0"));
	}
	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup->folder);
	return file_set(path, number);
}

/* Timeouts of a ring end while the thread does something else. */
static void add_task_work(struct io_uring *ring)
{
	static struct __kernel_timespec at[TIMES];
	struct io_uring_sqe *sqe;
	int i;

	for (i = 0; i < TIMES; i++) {
		at[i].tv_sec = (i + 1) * EVERY / 1000;
		at[i].tv_nsec = (i + 1) * EVERY % 1000 * 1000000;
		sqe = next_sqe(ring);
		io_uring_prep_timeout(sqe, &at[i], 0, 0);
	}
	io_uring_submit(ring);
}

/* Return: a process that disturbs this one; 0: none is needed. */
static pid_t disturb(const struct cgroup *cgroup, struct io_uring *ring, enum disturbance by,
		     unsigned int *enough)
{
	const pid_t own = getpid();
	pid_t pid = 0;

	*enough = 0;
	if (by == BY_TASK_WORK) {
		add_task_work(ring);
		return 0;
	}
	pid = fork();
	if (!pid)
		_exit(by == BY_STOP ? stop_often(own, enough) : freeze_often(cgroup, own, enough));
	return pid;
}

/* The time limit is neither cut short nor begun again. */
static bool took_limit(__u64 ms)
{
	return ms >= LIMIT - 10 && ms < LIMIT_LATE;
}

static bool disturbance_ends(pid_t pid, unsigned int *enough)
{
	int status;

	__atomic_store_n(enough, 1, __ATOMIC_SEQ_CST);
	return !pid || (waitpid(pid, &status, 0) == pid && !status);
}

TEST_F(disturbed, time_limit)
{
	struct collective_submit submit = {
		.size = sizeof(submit), .op.opcode = COLLECTIVE_BARRIER, .wait_ms = LIMIT,
	};
	struct collective_wait wait = { .size = sizeof(wait), .timeout_ms = LIMIT };
	unsigned int *enough = mmap(NULL, sizeof(*enough), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct collective_status status;
	__u64 begin, took;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, enough);
	pid = disturb(&self->cgroup, &self->ring, variant->by, enough);
	begin = now_ms();
	EXPECT_EQ(-EINPROGRESS, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
	took = now_ms() - begin;
	EXPECT_TRUE(took_limit(took)) TH_LOG("SUBMIT: %llu ms", took);
	EXPECT_EQ(0, submit.until);
	EXPECT_TRUE(disturbance_ends(pid, enough));

	wait.request = submit.request;
	pid = disturb(&self->cgroup, &self->ring, variant->by, enough);
	begin = now_ms();
	EXPECT_EQ(-EINPROGRESS, member_ioctl(self->fd[0], COLLECTIVE_IOC_WAIT, &wait));
	took = now_ms() - begin;
	EXPECT_TRUE(took_limit(took)) TH_LOG("WAIT: %llu ms", took);
	EXPECT_EQ(0, wait.until);
	EXPECT_TRUE(disturbance_ends(pid, enough));
	munmap(enough, sizeof(*enough));

	/* It was submitted once. */
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(1, status.submitted);
	EXPECT_EQ(0, member_barrier(self->fd[1]));
	EXPECT_EQ(0, member_wait(self->fd[0], submit.request, 0));
}

TEST_HARNESS_MAIN
