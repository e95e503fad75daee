// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals at a high rate, as from a profiler: every call ends, and what it has done stays done.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"
#include "lib/lib_group.h"

#define PERIOD_US	500

/* Elements of a large operation. */
#define COUNT		(1 << 20)

/* Mappings of a process; the more it has, the longer JOIN takes. */
#define MAPPINGS	4000

static unsigned int signals;

static void on_signal(int signal)
{
	__atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED);
}

/* Start or stop signals; @flags are those of sigaction(). */
static void signals_begin(int flags)
{
	const struct itimerval timer = {
		.it_interval.tv_usec = PERIOD_US,
		.it_value.tv_usec = PERIOD_US,
	};
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void signals_end(void)
{
	const struct itimerval timer = { };

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Repeat a call until it is not interrupted. A call that returned a request continues. */
static int retry(int fd, unsigned long cmd, void *arg)
{
	int err;

	do {
		err = member_ioctl(fd, cmd, arg);
	} while (err == -EINTR);
	return err;
}

static int persist_connect(int fd, const struct sockaddr_storage *addr)
{
	struct collective_connect connect = {
		.size = sizeof(connect),
		.peers = (uintptr_t)addr,
		.npeers = 2,
		.timeout_ms = 20000,
	};

	return retry(fd, COLLECTIVE_IOC_CONNECT, &connect);
}

static int persist_submit(int fd, const struct collective_op *op, unsigned int flags,
			  __u64 *request)
{
	struct collective_submit submit = { .size = sizeof(submit), .flags = flags, .op = *op };
	int err = retry(fd, COLLECTIVE_IOC_SUBMIT, &submit);

	*request = submit.request;
	return err;
}

static int persist_wait(int fd, __u64 request)
{
	struct collective_wait wait = { .size = sizeof(wait), .request = request };

	return retry(fd, COLLECTIVE_IOC_WAIT, &wait);
}

/* A signal ends a wait with a timeout; the caller computes the remaining time. */
static int retry_wait_for(int fd, __u64 request, unsigned int ms)
{
	struct collective_wait wait = { .size = sizeof(wait), .request = request };
	const __u64 end = now_ms() + ms;
	int err;

	do {
		const __u64 now = now_ms();

		wait.timeout_ms = now < end ? end - now : 0;
		wait.flags = now < end ? 0 : COLLECTIVE_WAIT_NOWAIT;
		err = member_ioctl(fd, COLLECTIVE_IOC_WAIT, &wait);
	} while (err == -EINTR);
	return err;
}

/* Mappings of one page each; no two adjacent ones can be merged. */
static int mappings_make(void)
{
	const size_t page = getpagesize();
	char *p = mmap(NULL, MAPPINGS * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	CHECK(p != MAP_FAILED);
	for (i = 0; i < MAPPINGS; i += 2)
		CHECK_EQ(0, mprotect(p + i * page, page, PROT_READ));
	return 0;
}

/* Join a group of the maximum size. */
static int join_large(int fd, const char *name, __u64 id)
{
	struct collective_join join;

	join_valid(&join, name, id);
	join.nranks = COLLECTIVE_RANKS_MAX;
	join.rank = COLLECTIVE_RANKS_MAX - 1;
	join.lanes = COLLECTIVE_LANES_MAX;
	CHECK_EQ(0, retry(fd, COLLECTIVE_IOC_JOIN, &join));
	return 0;
}

static int join_two(int *fd, struct sockaddr_storage *addr)
{
	struct collective_join join;
	char name[33];
	__u64 id;
	int i;

	group_unique(name, sizeof(name), &id);
	for (i = 0; i < 2; i++) {
		fd[i] = member_open();
		CHECK(fd[i] >= 0);
		join_valid(&join, name, id);
		join.rank = i;
		CHECK_EQ(0, retry(fd[i], COLLECTIVE_IOC_JOIN, &join));
		memcpy(&addr[i], join.addr, sizeof(addr[i]));
	}
	return 0;
}

static int connect_two(const int *fd, const struct sockaddr_storage *addr)
{
	int err;

	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	err = persist_connect(fd[0], addr);
	CHECK(!err || err == -EINPROGRESS);
	fcntl(fd[0], F_SETFL, 0);
	CHECK_EQ(0, persist_connect(fd[1], addr));
	err = persist_connect(fd[0], addr);
	CHECK(!err || err == -EISCONN);
	return 0;
}

static struct collective_op sum(float *send, float *recv, __u32 buffer)
{
	return (struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_FLOAT32,
		.count = COUNT,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
		.send_buffer = buffer,
	};
}

/* One rank submits, waits with a timeout, then without; the other rank's SUBMIT waits. */
static int run_operation(const int *fd, float *const *send, float *const *recv, __u32 buffer)
{
	struct collective_op op = sum(send[0], recv[0], buffer);
	__u64 request, other;

	CHECK_EQ(0, persist_submit(fd[0], &op, COLLECTIVE_SUBMIT_NOWAIT, &request));
	CHECK_EQ(-EINPROGRESS, retry_wait_for(fd[0], request, 3));
	op = sum(send[1], recv[1], 0);
	CHECK_EQ(0, persist_submit(fd[1], &op, 0, &other));
	CHECK_EQ(0, persist_wait(fd[0], request));
	CHECK_EQ(3, (int)recv[0][COUNT - 1]);
	CHECK_EQ(3, (int)recv[1][COUNT - 1]);
	return 0;
}

static int cancel(const int *fd, float *const *send, float *const *recv)
{
	struct collective_cancel cancel = { .size = sizeof(cancel) };
	struct collective_op op = sum(send[0], recv[0], 0);
	__u64 request;

	op.flags = COLLECTIVE_F_KEYED;
	op.key = 7;
	CHECK_EQ(0, persist_submit(fd[0], &op, COLLECTIVE_SUBMIT_NOWAIT, &request));
	cancel.request = request;
	CHECK_EQ(0, retry(fd[0], COLLECTIVE_IOC_CANCEL, &cancel));
	CHECK_EQ(-ECANCELED, persist_wait(fd[0], request));
	return 0;
}

static int member_life(int *fd)
{
	const size_t size = COUNT * sizeof(float);
	struct collective_leave leave = { .size = sizeof(leave) };
	struct collective_unregister unreg = { .size = sizeof(unreg) };
	struct collective_status status = { .size = sizeof(status) };
	struct sockaddr_storage addr[2];
	struct collective_register reg = { .size = sizeof(reg), .length = size };
	float *send[2], *recv[2], *map;
	int i;

	CHECK_EQ(0, join_two(fd, addr));
	CHECK_EQ(0, connect_two(fd, addr));
	for (i = 0; i < 2; i++) {
		send[i] = calloc(COUNT, sizeof(float));
		recv[i] = calloc(COUNT, sizeof(float));
		send[i][COUNT - 1] = 1 + i;
	}
	reg.addr = (uintptr_t)send[0];
	CHECK_EQ(0, retry(fd[0], COLLECTIVE_IOC_REGISTER, &reg));
	for (i = 0; i < 5; i++)
		CHECK_EQ(0, run_operation(fd, send, recv, reg.buffer));
	unreg.buffer = reg.buffer;
	CHECK_EQ(0, retry(fd[0], COLLECTIVE_IOC_UNREGISTER, &unreg));
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd[0], 0);
	CHECK(map != MAP_FAILED);
	munmap(map, size);
	CHECK_EQ(0, cancel(fd, send, recv));
	CHECK_EQ(0, retry(fd[0], COLLECTIVE_IOC_STATUS, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(6, status.submitted);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(0, retry(fd[i], COLLECTIVE_IOC_LEAVE, &leave));
		free(send[i]);
		free(recv[i]);
	}
	return 0;
}

static int every_call(int flags)
{
	char name[33];
	int fd[2], i, err;
	__u64 id, begun;

	CHECK_EQ(0, mappings_make());
	signals_begin(flags);
	for (i = 0; i < 3; i++) {
		begun = now_ms();
		group_unique(name, sizeof(name), &id);
		fd[0] = member_open();
		CHECK_EQ(0, join_large(fd[0], name, id));
		close(fd[0]);
		dprintf(STDOUT_FILENO, "# JOIN took %llu ms\n",
			(unsigned long long)(now_ms() - begun));
	}
	for (i = 0; i < 3; i++) {
		begun = now_ms();
		err = member_life(fd);
		close(fd[0]);
		close(fd[1]);
		CHECK_EQ(0, err);
		dprintf(STDOUT_FILENO, "# all took %llu ms\n",
			(unsigned long long)(now_ms() - begun));
	}
	signals_end();
	CHECK(signals > 10);
	return 0;
}

FIXTURE(signals) {};
FIXTURE_SETUP(signals) {}
FIXTURE_TEARDOWN(signals) {}

TEST_F_TIMEOUT(signals, restart, 60)
{
	EXPECT_EQ(0, every_call(SA_RESTART));
}

TEST_F_TIMEOUT(signals, interrupt, 60)
{
	EXPECT_EQ(0, every_call(0));
}

/*
 * Through the library
 */

struct plan {
	int flags;
	int port;
};

static int use(struct coll_comm *comm)
{
	static float in[COUNT], out[COUNT];
	const int n = coll_size(comm);

	in[COUNT - 1] = 1;
	CHECK_EQ(0, coll_barrier(comm));
	CHECK_EQ(0, coll_allreduce(comm, in, out, COUNT, COLL_FLOAT32, COLL_SUM));
	CHECK_EQ(n, (int)out[COUNT - 1]);
	return 0;
}

static int lib_rank_signals(struct lib_rank *me)
{
	const struct plan *plan = me->arg;
	struct coll_config config = { .size = sizeof(config) };
	char rendezvous[32];
	struct coll_comm *new;
	int i;

	CHECK_EQ(0, mappings_make());
	signals_begin(plan->flags);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(0, coll_dup(me->comm, &new));
		CHECK_EQ(0, use(new));
		CHECK_EQ(0, coll_finalize(new));
		CHECK_EQ(0, coll_split(me->comm, me->rank % 2, 0, &new));
		CHECK_EQ(0, use(new));
		CHECK_EQ(0, coll_finalize(new));
	}
	snprintf(rendezvous, sizeof(rendezvous), "127.0.0.1:%d", plan->port);
	config.rank = me->rank;
	config.nranks = me->nranks;
	config.rendezvous = rendezvous;
	CHECK_EQ(0, coll_init(&new, &config));
	CHECK_EQ(0, use(new));
	CHECK_EQ(0, coll_finalize(new));
	signals_end();
	CHECK(signals > 10);
	return 0;
}

static int library(int flags)
{
	struct plan plan = { .flags = flags, .port = free_port() };

	return lib_group_run(3, NULL, lib_rank_signals, &plan);
}

TEST_F_TIMEOUT(signals, library_restart, 60)
{
	EXPECT_EQ(0, library(SA_RESTART));
}

TEST_F_TIMEOUT(signals, library_interrupt, 60)
{
	EXPECT_EQ(0, library(0));
}

TEST_HARNESS_MAIN
