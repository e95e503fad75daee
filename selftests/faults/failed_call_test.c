// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call that fails leaves the file unchanged: later calls have the same results as on a file
 * without the failure. What the other rank is told in the end is compared, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/fail_nth.h"
#include "lib/open_device.h"
#include "lib/lib_group.h"

/* More elements than the eager limit. */
#define COUNT	(COLLECTIVE_EAGER_LIMIT / 4 + 1000)
#define SIZE	(COUNT * sizeof(int))

/* The calls of one test run, in their order. */
enum stage { STAGE_JOIN, STAGE_CONNECT, STAGE_REGISTER, STAGE_SUBMIT, STAGE_END, STAGES };

static const char * const stage_names[] = { "JOIN", "CONNECT", "REGISTER", "SUBMIT", "the end" };

/**
 * struct trace - results that are compared
 * @joined: STATUS after JOIN
 * @up: STATUS after CONNECT
 * @used: STATUS after an operation
 * @left: STATUS after LEAVE
 * @peer: STATUS of the other rank at the end
 * @end: result of an operation of the other rank at the end
 */
struct trace {
	struct collective_status joined;
	struct collective_status up;
	struct collective_status used;
	struct collective_status left;
	struct collective_status peer;
	int end;
};

/**
 * struct run - all calls of one file, beside the file of the other rank
 * @rank: rank of the file
 * @leaves: true if it ends with LEAVE, false if with close()
 * @fail_before: function that makes failing calls before a stage; NULL: none
 * @stage: stage at which @nth counts
 * @nth: allocation of that stage that fails; 0: none
 * @more: true if that allocation happened
 * @failed: true if the call failed
 * @fd: files, by rank
 * @addr: addresses, by rank
 * @name: name of the group
 * @id: identifier of the group
 * @buffer: registration
 * @request: request in flight
 * @data: input and result, by rank
 * @trace: results, filled in
 */
struct run {
	int rank;
	bool leaves;
	int (*fail_before)(struct run *run, enum stage stage);
	enum stage stage;
	unsigned int nth;
	bool more;
	bool failed;
	int fd[2];
	struct sockaddr_storage addr[2];
	char name[33];
	__u64 id;
	__u32 buffer;
	__u64 request;
	int *data[2];
	struct trace trace;
};

static int subject(const struct run *run)
{
	return run->fd[run->rank];
}

static int run_join(struct run *run)
{
	return member_join(subject(run), run->name, run->id, run->rank, 2,
			   &run->addr[run->rank]);
}

static int run_connect(struct run *run)
{
	int err;

	fcntl(subject(run), F_SETFL, O_NONBLOCK);
	err = member_connect(subject(run), run->addr, 2, 20000);
	fcntl(subject(run), F_SETFL, 0);
	return err == -EINPROGRESS ? 0 : err;
}

static int run_register(struct run *run)
{
	return member_register(subject(run), run->data[run->rank], 2 * SIZE, 0,
			       &run->buffer);
}

static struct collective_op run_op(const struct run *run, int rank)
{
	return (struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_INT32,
		.count = COUNT,
		.send = (uintptr_t)run->data[rank],
		.recv = (uintptr_t)(run->data[rank] + COUNT),
	};
}

static int run_submit(struct run *run)
{
	struct collective_op op = run_op(run, run->rank);

	op.send_buffer = run->buffer;
	return member_start(subject(run), &op, &run->request);
}

static int run_complete(struct run *run)
{
	struct collective_op op = run_op(run, !run->rank);
	int i;

	CHECK_EQ(0, member_submit(run->fd[!run->rank], &op));
	CHECK_EQ(0, member_wait(subject(run), run->request, 0));
	for (i = 0; i < COUNT; i++)
		CHECK_EQ(3 * i, run->data[run->rank][COUNT + i]);
	return 0;
}

/*
 * Make the failing calls before a stage; then the call, of which an allocation may fail; then, if
 * it failed, the call again.
 */
static int run_step(struct run *run, enum stage stage,
		    int (*call)(struct run *run))
{
	int err;

	if (run->fail_before)
		CHECK_EQ(0, run->fail_before(run, stage));
	if (run->nth && run->stage == stage) {
		fail_nth_arm(run->nth);
		err = call(run);
		run->more = fail_nth_disarm();
		run->failed = err;
		if (!err)
			return 0;
		if (!no_memory(err))
			return err;
	}
	return call(run);
}

static int status_of(int fd, struct collective_status *status)
{
	CHECK_EQ(0, member_status(fd, status));
	status->last_ms = 0;
	return 0;
}

static int run_run(struct run *run)
{
	struct trace *trace = &run->trace;
	const int peer = !run->rank;
	int err;

	CHECK_EQ(0, run_step(run, STAGE_JOIN, run_join));
	CHECK_EQ(0, status_of(subject(run), &trace->joined));
	CHECK_EQ(0, member_join(run->fd[peer], run->name, run->id, peer, 2,
				&run->addr[peer]));
	CHECK_EQ(0, run_step(run, STAGE_CONNECT, run_connect));
	CHECK_EQ(0, member_connect(run->fd[peer], run->addr, 2, 20000));
	err = member_connect(subject(run), run->addr, 2, 20000);
	CHECK(!err || err == -EISCONN);
	CHECK_EQ(0, status_of(subject(run), &trace->up));

	CHECK_EQ(0, run_step(run, STAGE_REGISTER, run_register));
	CHECK_EQ(0, run_step(run, STAGE_SUBMIT, run_submit));
	CHECK_EQ(0, run_complete(run));
	CHECK_EQ(0, member_unregister(subject(run), run->buffer));
	CHECK_EQ(0, status_of(subject(run), &trace->used));
	if (run->fail_before)
		CHECK_EQ(0, run->fail_before(run, STAGE_END));
	CHECK_EQ(0, process_value(0, "VmPin:"));

	if (run->leaves) {
		CHECK_EQ(0, member_leave(subject(run)));
		CHECK_EQ(0, status_of(subject(run), &trace->left));
	}
	close(subject(run));
	run->fd[run->rank] = -1;
	trace->end = member_barrier(run->fd[peer]);
	CHECK_EQ(0, status_of(run->fd[peer], &trace->peer));
	return 0;
}

static int run_lead(struct run *run)
{
	int rank, i, err;

	memset(&run->trace, 0, sizeof(run->trace));
	group_unique(run->name, sizeof(run->name), &run->id);
	for (rank = 0; rank < 2; rank++) {
		run->fd[rank] = member_open();
		CHECK(run->fd[rank] >= 0);
		run->data[rank] = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		CHECK(run->data[rank] != MAP_FAILED);
		for (i = 0; i < COUNT; i++)
			run->data[rank][i] = i * (1 + rank);
	}
	err = run_run(run);
	for (rank = 0; rank < 2; rank++) {
		close(run->fd[rank]);
		munmap(run->data[rank], 2 * SIZE);
	}
	CHECK_EQ(0, group_count());
	return err;
}

static bool same(const char *what, const void *a, const void *b, size_t size)
{
	const __u32 *x = a, *y = b;
	size_t i;

	for (i = 0; i < size / sizeof(*x); i++)
		if (x[i] != y[i])
			dprintf(STDOUT_FILENO, "# %s: word %zu: %#x, not %#x\n", what, i, y[i],
				x[i]);
	return !memcmp(a, b, size);
}

/* Record the trace of a file without failures. All other traces are compared with it. */
static int run_plain(struct run *plain, int rank, bool leaves)
{
	*plain = (struct run){ .rank = rank, .leaves = leaves };
	CHECK_EQ(0, run_lead(plain));
	CHECK_EQ(COLLECTIVE_REASON_LEFT, plain->trace.peer.group.kind);
	CHECK_EQ(rank, plain->trace.peer.group.rank_a);
	CHECK_EQ(-ECONNRESET, plain->trace.end);
	return 0;
}

static int run_compare(const struct run *plain, const struct run *run)
{
	const struct trace *a = &plain->trace, *b = &run->trace;

	CHECK(same("joined", &a->joined, &b->joined, sizeof(a->joined)));
	CHECK(same("up", &a->up, &b->up, sizeof(a->up)));
	CHECK(same("used", &a->used, &b->used, sizeof(a->used)));
	CHECK(same("left", &a->left, &b->left, sizeof(a->left)));
	CHECK(same("peer", &a->peer, &b->peer, sizeof(a->peer)));
	CHECK_EQ(a->end, b->end);
	return 0;
}

static int compare(int (*fail_before)(struct run *run, enum stage stage))
{
	struct run plain, run;
	int rank, leaves;

	for (rank = 0; rank < 2; rank++)
		for (leaves = 0; leaves < 2; leaves++) {
			CHECK_EQ(0, run_plain(&plain, rank, leaves));
			run = (struct run){
				.rank = rank,
				.leaves = leaves,
				.fail_before = fail_before,
			};
			CHECK_EQ(0, run_lead(&run));
			CHECK_EQ(0, run_compare(&plain, &run));
		}
	return 0;
}

/*
 * Calls that are refused
 */

/* The rank of another group listens at the address, so that JOIN fails as late as possible. */
static int join_in_use(struct run *run, enum stage stage)
{
	struct sockaddr_storage taken;
	struct collective_join join;
	int other, i;

	if (stage != STAGE_JOIN)
		return 0;
	other = member_open();
	CHECK_EQ(0, member_join(other, "busy", 1, 0, 2, &taken));
	for (i = 0; i < 3; i++) {
		/*
		 * Arguments that differ from those of the later JOIN in as many ways as possible.
		 */
		join_valid(&join, run->name, run->id + 1);
		join.nranks = 300;
		join.rank = 17;
		join.transport = transport_choice(NULL) == COLLECTIVE_TRANSPORT_TCP ?
				 COLLECTIVE_TRANSPORT_LOCAL : COLLECTIVE_TRANSPORT_TCP;
		join.lanes = COLLECTIVE_LANES_MAX;
		join.timeout_ms = 1;
		join.heartbeat_ms = COLLECTIVE_HEARTBEAT_MIN_MS;
		join.secret[3] = 1;
		memset(join.algorithm, COLLECTIVE_ALGORITHM_RING, COLLECTIVE_RECV);
		memcpy(join.addr, &taken, sizeof(taken));
		CHECK_EQ(-EADDRINUSE, member_ioctl(subject(run), COLLECTIVE_IOC_JOIN, &join));
	}
	close(other);
	return 0;
}

static int join_refused(struct run *run, enum stage stage)
{
	struct collective_status before, after;
	struct sockaddr_storage addr;
	struct collective_join join;
	int other;

	if (stage != STAGE_JOIN)
		return 0;
	other = member_open();
	CHECK_EQ(0, member_status(subject(run), &before));
	CHECK_EQ(0, member_join(other, "busy", 1, 0, 2, &addr));
	CHECK_EQ(-EBUSY, member_join(subject(run), "busy", 1, 0, 2, &addr));
	CHECK_EQ(-EEXIST, member_join(subject(run), "busy", 2, 1, 2, &addr));
	CHECK_EQ(-EEXIST, member_join(subject(run), "busy", 1, 1, 3, &addr));
	join_valid(&join, run->name, run->id);
	join.addr[0] = AF_UNIX;
	CHECK_EQ(-EAFNOSUPPORT, member_ioctl(subject(run), COLLECTIVE_IOC_JOIN, &join));
	join_valid(&join, run->name, run->id);
	memcpy(join.addr + 4, "\xc0\x00\x02\x01", 4);
	CHECK_EQ(-EADDRNOTAVAIL, member_ioctl(subject(run), COLLECTIVE_IOC_JOIN, &join));
	CHECK_EQ(-EFAULT, member_ioctl(subject(run), COLLECTIVE_IOC_JOIN, NULL));
	CHECK_EQ(-EINVAL, member_join(subject(run), "", 1, 0, 2, &addr));
	CHECK_EQ(-ENOTCONN, member_leave(subject(run)));
	CHECK_EQ(0, member_status(subject(run), &after));
	CHECK(same("new", &before, &after, sizeof(before)));
	close(other);
	return 0;
}

/* Calls that are never valid. */
static int calls_refused(struct run *run, enum stage stage)
{
	struct collective_cancel cancel = { .size = sizeof(cancel), .request = 1000 };
	struct collective_abort abort = { .size = sizeof(abort), .flags = 1 };
	const int absent = stage <= STAGE_CONNECT ? -ENOTCONN : 0;
	const int fd = subject(run);
	struct collective_op op = run_op(run, run->rank);
	struct sockaddr_storage addr;
	__u64 request;
	__u32 buffer;

	CHECK_EQ(stage == STAGE_JOIN ? -ENOTCONN : -EFAULT,
		 member_register(fd, (void *)8, 4096, 0, &buffer));
	CHECK_EQ(-EINVAL, member_register(fd, run->data[0], 0, 0, &buffer));
	CHECK_EQ(-ENOENT, member_unregister(fd, 77));
	CHECK_EQ(absent ?: -ENOENT, member_wait(fd, 1000, 0));
	CHECK_EQ(absent ?: -ENOENT, member_ioctl(fd, COLLECTIVE_IOC_CANCEL, &cancel));
	CHECK_EQ(-EINVAL, member_ioctl(fd, COLLECTIVE_IOC_ABORT, &abort));
	op.flags = 1U << 31;
	CHECK_EQ(absent ?: -EINVAL, member_start(fd, &op, &request));
	op = run_op(run, run->rank);
	op.recv = 4096;
	CHECK_EQ(absent ?: -EFAULT, member_start(fd, &op, &request));
	op = run_op(run, run->rank);
	op.send_buffer = 99;
	CHECK_EQ(absent ?: -ENOENT, member_start(fd, &op, &request));
	op = run_op(run, run->rank);
	op.recv += 4;
	op.recv_buffer = 99;
	CHECK_EQ(absent ?: -ENOENT, member_start(fd, &op, &request));
	switch (stage) {
	case STAGE_JOIN:
		CHECK_EQ(-ENOTCONN, member_connect(fd, run->addr, 2, 100));
		break;
	case STAGE_CONNECT:
		CHECK_EQ(-EINVAL, member_connect(fd, run->addr, 1, 100));
		CHECK_EQ(-EFAULT, member_connect(fd, NULL, 2, 100));
		CHECK_EQ(-EISCONN, member_join(fd, "again", 1, 0, 2, &addr));
		break;
	default:
		CHECK_EQ(-EISCONN, member_connect(fd, run->addr, 2, 100));
		CHECK_EQ(-EISCONN, member_join(fd, "again", 1, 0, 2, &addr));
	}
	return 0;
}

static void on_signal(int signal)
{
}

/* Send a signal after this time, again and again: the first may come before the call waits. */
static void alarm_ms(unsigned int ms)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval timer = {
		.it_value.tv_usec = ms * 1000,
		.it_interval.tv_usec = ms * 1000,
	};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Calls that a signal interrupts; all of them are repeated. */
static int calls_interrupted(struct run *run, enum stage stage)
{
	struct collective_submit submit = { .size = sizeof(submit) };
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	const int fd = subject(run), peer = run->fd[!run->rank];

	/* Rank 0 does not wait for a rank 1 that has joined. */
	if (stage == STAGE_CONNECT && run->rank == 1) {
		alarm_ms(20);
		CHECK_EQ(-EINTR, member_connect(fd, run->addr, 2, 20000));
		CHECK_EQ(-EINTR, member_connect(fd, run->addr, 2, 20000));
		alarm_ms(0);
	}
	if (stage == STAGE_END) {
		submit.op = op;
		alarm_ms(20);
		CHECK_EQ(-EINTR, member_ioctl(fd, COLLECTIVE_IOC_SUBMIT, &submit));
		CHECK(submit.request);
		CHECK_EQ(-EINTR, member_wait(fd, submit.request, 0));
		CHECK_EQ(-EINTR, member_ioctl(fd, COLLECTIVE_IOC_SUBMIT, &submit));
		alarm_ms(0);
		CHECK_EQ(0, member_submit(peer, &op));
		CHECK_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_SUBMIT, &submit));
	}
	return 0;
}

/* The same operation on a file that no signal interrupts. */
static int barrier_between(struct run *run, enum stage stage)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	__u64 request;

	if (stage != STAGE_END)
		return 0;
	CHECK_EQ(0, member_start(subject(run), &op, &request));
	CHECK_EQ(0, member_submit(run->fd[!run->rank], &op));
	CHECK_EQ(0, member_wait(subject(run), request, 0));
	return 0;
}

static int interrupted(void)
{
	struct run plain, run;
	int rank;

	for (rank = 0; rank < 2; rank++) {
		plain = (struct run){ .rank = rank, .leaves = true,
					  .fail_before = barrier_between };
		CHECK_EQ(0, run_lead(&plain));
		run = (struct run){ .rank = rank, .leaves = true,
					     .fail_before = calls_interrupted };
		CHECK_EQ(0, run_lead(&run));
		CHECK_EQ(0, run_compare(&plain, &run));
	}
	return 0;
}

/* Another process makes all calls. */
static int calls_foreign(struct run *run, enum stage stage)
{
	struct collective_op op = run_op(run, run->rank);
	const int fd = subject(run);
	__u64 request;
	__u32 buffer;
	pid_t pid;
	int code;

	pid = fork();
	if (!pid)
		_exit(!(stage == STAGE_JOIN ||
			(member_connect(fd, run->addr, 2, 100) == -EPERM &&
			 member_register(fd, run->data[0], 4096, 0, &buffer) == -EPERM &&
			 member_start(fd, &op, &request) ==
			 (stage == STAGE_CONNECT ? -ENOTCONN : -EPERM) &&
			 member_leave(fd) == -EPERM)));
	CHECK_EQ(pid, waitpid(pid, &code, 0));
	CHECK_EQ(0, code);
	return 0;
}

/* A JOIN of another process fails; the file can still be joined by any process. */
static int join_foreign(struct run *run, enum stage stage)
{
	pid_t pid;
	int code;

	if (stage != STAGE_JOIN)
		return 0;
	pid = fork();
	if (!pid)
		_exit(join_in_use(run, stage));
	CHECK_EQ(pid, waitpid(pid, &code, 0));
	CHECK_EQ(0, code);
	CHECK_EQ(-ENOENT, member_unregister(subject(run), 1));
	return 0;
}

TEST(after_join_in_use)
{
	EXPECT_EQ(0, compare(join_in_use));
}

TEST(after_join_refused)
{
	EXPECT_EQ(0, compare(join_refused));
}

TEST(after_join_foreign)
{
	EXPECT_EQ(0, compare(join_foreign));
}

TEST(after_calls_refused)
{
	EXPECT_EQ(0, compare(calls_refused));
}

TEST(after_calls_foreign)
{
	EXPECT_EQ(0, compare(calls_foreign));
}

TEST(after_calls_interrupted)
{
	EXPECT_EQ(0, interrupted());
}

/*
 * Every allocation of every call
 */

FIXTURE(memory) {};
FIXTURE_SETUP(memory) {}
FIXTURE_TEARDOWN(memory) {}

static int each_allocation(enum stage stage, int rank, unsigned int least)
{
	struct run plain, run = { .more = true };
	unsigned int nth, failed = 0;

	CHECK_EQ(0, run_plain(&plain, rank, false));
	for (nth = 1; run.more && nth < MOST; nth++) {
		run = (struct run){ .rank = rank, .stage = stage, .nth = nth };
		if (run_lead(&run) || run_compare(&plain, &run)) {
			dprintf(STDOUT_FILENO, "# rank %d, allocation %u of %s\n", rank, nth,
				stage_names[stage]);
			return 1;
		}
		failed += run.failed;
	}
	CHECK(!run.more);
	CHECK(failed >= least);
	dprintf(STDOUT_FILENO, "# rank %d, %s: %u allocations, %u of them needed\n", rank,
		stage_names[stage], nth - 2, failed);
	return 0;
}

TEST_F_TIMEOUT(memory, join, 300)
{
	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	EXPECT_EQ(0, each_allocation(STAGE_JOIN, 0, 10));
	EXPECT_EQ(0, each_allocation(STAGE_JOIN, 1, 10));
}

TEST_F_TIMEOUT(memory, connect, 300)
{
	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	EXPECT_EQ(0, each_allocation(STAGE_CONNECT, 0, 2));
	EXPECT_EQ(0, each_allocation(STAGE_CONNECT, 1, 1));
}

TEST_F_TIMEOUT(memory, register, 300)
{
	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	EXPECT_EQ(0, each_allocation(STAGE_REGISTER, 0, 1));
}

TEST_F_TIMEOUT(memory, submit, 300)
{
	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	EXPECT_EQ(0, each_allocation(STAGE_SUBMIT, 0, 1));
	EXPECT_EQ(0, each_allocation(STAGE_SUBMIT, 1, 1));
}

TEST_HARNESS_MAIN
