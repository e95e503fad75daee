// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles of operations: they end, stale handles are detected, and several threads may use them.
 * Also handles after fork() and after the cancellation of a thread.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/record.h"

#define NRANKS	2
#define TURNS	500

/* Every function returns an error for a handle that has ended. */
static int ended(struct coll_request *request)
{
	struct coll_request *any[2] = { NULL, request };
	int done = 0, index;

	CHECK_EQ(-ENOENT, coll_cancel(request));
	CHECK_EQ(-ENOENT, coll_wait(request));
	CHECK_EQ(-ENOENT, coll_test(request, &done));
	CHECK_EQ(1, done);
	CHECK_EQ(-ENOENT, coll_wait_any(any, 2, &index, 0));
	CHECK_EQ(-1, index);
	CHECK_EQ(-ENOENT, coll_start(request));
	CHECK_EQ(-ENOENT, coll_request_free(request));
	CHECK_EQ(-ENOENT, coll_req_fd(request));
	CHECK_EQ(-EINVAL, coll_req_fd(NULL));
	return 0;
}

static int rank_end(struct lib_rank *me)
{
	struct coll_request *request, *second;
	__u32 x = 1;
	int err;

	CHECK_EQ(0, coll_iallreduce(me->comm, COLL_IN_PLACE, &x, 1, COLL_UINT32, COLL_SUM,
				    &request));
	CHECK_EQ(0, coll_wait(request));
	err = ended(request);
	/* A new handle in the same slot is not the old one. */
	CHECK_EQ(0, coll_iallreduce(me->comm, COLL_IN_PLACE, &x, 1, COLL_UINT32, COLL_SUM,
				    &second));
	err = err ?: ended(request);
	CHECK_EQ(0, coll_wait(second));
	CHECK_EQ(0, coll_barrier_init(me->comm, &request));
	CHECK_EQ(0, coll_request_free(request));
	err = err ?: ended(request);
	CHECK_EQ(0, coll_ibarrier(me->comm, &request));
	CHECK_EQ(0, coll_wait(request));
	CHECK_EQ(0, coll_ibarrier(me->comm, &request));
	/* An operation in flight at the end fails the group of the other rank, too. */
	CHECK(flag_barrier(me->shared, 0, NRANKS));
	CHECK_EQ(0, coll_finalize(me->comm));
	me->comm = NULL;
	return err ?: ended(request) ?: ended((void *)0x1234) ?: ended((void *)-1L);
}

TEST(end)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_end, NULL));
}

static void *waits(void *request)
{
	return (void *)(long)coll_wait(request);
}

/* The operation ends, or is cancelled, while another thread waits. */
static int rank_beside(struct lib_rank *me)
{
	struct coll_request *request;
	pthread_t thread;
	void *result;
	int i, err;

	for (i = 0; i < TURNS; i++) {
		err = coll_ibarrier(me->comm, &request);
		CHECK_EQ(0, err);
		if (me->rank) {
			err = coll_wait(request);
			CHECK(!err || err == -ECANCELED);
			continue;
		}
		CHECK_EQ(0, pthread_create(&thread, NULL, waits, request));
		err = coll_cancel(request);
		CHECK(!err || err == -ENOENT || err == -EALREADY);
		pthread_join(thread, &result);
		err = (long)result;
		CHECK(!err || err == -ECANCELED);
		CHECK_EQ(-ENOENT, coll_cancel(request));
	}
	CHECK_EQ(0, coll_comm_failed(me->comm));
	return coll_barrier(me->comm);
}

TEST(cancel_beside_wait)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_beside, NULL));
}

#define MEGABYTE	(1 << 20)

/*
 * The memory that a persistent operation found registered is unregistered, and other memory
 * registered.
 */
static int rank_persists(struct lib_rank *me)
{
	static __u32 mine[MEGABYTE / 4] __attribute__((aligned(4096)));
	static __u32 other[MEGABYTE / 4] __attribute__((aligned(4096)));
	struct coll_request *request;
	int i;

	CHECK_EQ(0, coll_register(me->comm, mine, MEGABYTE, 0));
	CHECK_EQ(0, coll_allreduce_init(me->comm, COLL_IN_PLACE, mine, MEGABYTE / 4, COLL_UINT32,
					COLL_SUM, &request));
	for (i = 0; i < 4; i++) {
		mine[0] = 1;
		mine[MEGABYTE / 4 - 1] = 2;
		CHECK_EQ(0, coll_start(request));
		CHECK_EQ(-EBUSY, coll_start(request));
		CHECK_EQ(0, coll_wait(request));
		CHECK_EQ(NRANKS, mine[0]);
		CHECK_EQ(2 * NRANKS, mine[MEGABYTE / 4 - 1]);
		if (i == 0)
			CHECK_EQ(0, coll_unregister(me->comm, mine));
		if (i == 1)
			CHECK_EQ(0, coll_register(me->comm, other, MEGABYTE, 0));
	}
	CHECK_EQ(0, coll_request_free(request));
	return coll_barrier(me->comm);
}

TEST(persistent)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_persists, NULL));
}

static void *registers(void *arg)
{
	struct coll_comm *comm = arg;
	char x[8];

	for (;;)
		coll_mem_registered(comm, x, sizeof(x));
	return NULL;
}

/* In the child; a call that would hang. */
static int child_uses(struct coll_comm *comm, struct coll_request *request)
{
	struct coll_comm *newcomm;
	struct coll_request *new;
	char text[COLL_DETAIL_SIZE];
	int done, x = 0;

	alarm(5);
	CHECK_EQ(-EPERM, coll_allreduce(comm, COLL_IN_PLACE, &x, 1, COLL_INT32, COLL_SUM));
	CHECK_EQ(-EPERM, coll_ibarrier(comm, &new));
	CHECK_EQ(-EPERM, coll_barrier_init(comm, &new));
	CHECK_EQ(-EPERM, coll_register(comm, &x, sizeof(x), 0));
	CHECK_EQ(-EPERM, coll_unregister(comm, &x));
	CHECK_EQ(0, coll_mem_registered(comm, &x, sizeof(x)));
	CHECK(!coll_mem_alloc(comm, 1) && errno == EPERM);
	coll_mem_free(comm, &x);
	CHECK_EQ(-EPERM, coll_dup(comm, &newcomm));
	CHECK_EQ(-EPERM, coll_shrink(comm, &newcomm));
	CHECK_EQ(-EPERM, coll_comm_failed(comm));
	CHECK_EQ(-EPERM, coll_test(request, &done));
	CHECK_EQ(0, done);
	CHECK_EQ(-EPERM, coll_cancel(request));
	CHECK_EQ(-EPERM, coll_wait(request));
	CHECK_EQ(-EPERM, coll_req_fd(request));
	CHECK(strstr(coll_error_detail(comm), "not the one that joined"));
	CHECK_EQ(0, coll_error_detail_r(comm, text, sizeof(text)));
	CHECK(strstr(text, "not the one that joined"));
	CHECK_EQ(-EPERM, coll_finalize(comm));
	return 0;
}

static int rank_forks(struct lib_rank *me)
{
	struct coll_request *request;
	pthread_t thread;
	int i, status;

	CHECK_EQ(0, coll_ibarrier(me->comm, &request));
	for (i = 0; i < 3; i++)
		CHECK_EQ(0, pthread_create(&thread, NULL, registers, me->comm));
	for (i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(child_uses(me->comm, request));
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
		CHECK_EQ(0, status);
	}
	CHECK_EQ(0, coll_wait(request));
	/* These threads do not end. */
	CHECK_EQ(0, coll_barrier(me->comm));
	CHECK(flag_barrier(me->shared, 0, NRANKS));
	_exit(0);
}

TEST(forked)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_forks, NULL));
}

/* In a new PID namespace: the only process. */
static int first_forks(void)
{
	struct coll_config config = { .size = sizeof(config), .nranks = 1 };
	struct coll_request *request;
	struct coll_comm *comm;
	int status;
	pid_t pid;

	CHECK_EQ(1, syscall(SYS_getpid));
	CHECK_EQ(0, coll_init(&comm, &config));
	CHECK_EQ(0, coll_ibarrier(comm, &request));
	CHECK_EQ(0, unshare(CLONE_NEWPID));
	pid = fork();
	if (!pid)
		_exit(syscall(SYS_getpid) != 1 || child_uses(comm, request));
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ(0, status);
	CHECK_EQ(0, coll_wait(request));
	return coll_finalize(comm);
}

/* A child that has the id of its parent, in a PID namespace of its own, is another process. */
TEST(forked_with_the_same_id)
{
	int status;
	pid_t pid;

	/* Other children of this process are in its own namespace. */
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWPID))
			_exit(KSFT_SKIP);
		pid = fork();
		if (!pid)
			_exit(first_forks());
		_exit(waitpid(pid, &status, 0) != pid || status);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		SKIP(return, "no PID namespace can be made");
	EXPECT_EQ(0, status);
}

static int asked;

/* Takes the place of the C library's function, in the library, too. */
pid_t getpid(void)
{
	__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	return syscall(SYS_getpid);
}

/* An operation asks the kernel for nothing but itself. */
static int rank_asks(struct lib_rank *me)
{
	struct coll_request *request;
	__u32 x = 1;
	int i, before = asked;

	for (i = 0; i < TURNS; i++) {
		CHECK_EQ(0, coll_allreduce(me->comm, COLL_IN_PLACE, &x, 1, COLL_UINT32, COLL_MAX));
		CHECK_EQ(0, coll_ibarrier(me->comm, &request));
		CHECK_EQ(0, coll_wait(request));
	}
	CHECK_EQ(before, asked);
	return 0;
}

TEST(asks_for_its_id_once)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_asks, NULL));
}

/* The end of a thread whose cancellation may come late. */
static void await_cancellation(void)
{
	for (;;)
		pause();
}

static void *inits(void *arg)
{
	const struct coll_config *config = arg;
	struct coll_comm *comm;

	coll_init(&comm, config);
	await_cancellation();
	return NULL;
}

/* Rank 1 does not come, and the thread that waits for it is cancelled. */
TEST(cancelled_init)
{
	struct coll_config config = {
		.size = sizeof(config), .nranks = 2, .init_timeout_ms = 500,
	};
	const int files = open_file_count(), groups = group_count();
	char rendezvous[32];
	pthread_t thread;
	void *result;
	int rank;

	snprintf(rendezvous, sizeof(rendezvous), "127.0.0.1:%d", free_port());
	config.rendezvous = rendezvous;
	for (rank = 0; rank < 2; rank++) {
		config.rank = rank;
		ASSERT_EQ(0, pthread_create(&thread, NULL, inits, &config));
		sleep_ms(100);
		ASSERT_EQ(0, pthread_cancel(thread));
		ASSERT_EQ(0, pthread_join(thread, &result));
		EXPECT_EQ(PTHREAD_CANCELED, result);
		EXPECT_EQ(files, open_file_count());
		EXPECT_EQ(groups, group_count());
	}
}

static void *splits(void *arg)
{
	struct coll_comm *newcomm;

	coll_dup(arg, &newcomm);
	coll_finalize(newcomm);
	await_cancellation();
	return NULL;
}

/* A thread that is cancelled in a split does not keep its locks. */
static int rank_cancels(struct lib_rank *me)
{
	const int files = open_file_count();
	struct coll_comm *newcomm;
	pthread_t thread;
	void *result;

	if (me->rank) {
		CHECK(flag_wait(me->shared, 0, 1, 20000));
		CHECK_EQ(0, coll_dup(me->comm, &newcomm));
		CHECK_EQ(0, coll_finalize(newcomm));
	} else {
		CHECK_EQ(0, pthread_create(&thread, NULL, splits, me->comm));
		sleep_ms(50);
		CHECK_EQ(0, pthread_cancel(thread));
		flag_set(me->shared, 0, 1);
		pthread_join(thread, &result);
		CHECK(result == PTHREAD_CANCELED);
		CHECK_EQ(files, open_file_count());
	}
	CHECK_EQ(0, coll_dup(me->comm, &newcomm));
	CHECK_EQ(0, coll_finalize(newcomm));
	return coll_barrier(me->comm);
}

TEST(cancelled_split)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_cancels, NULL));
}

/* One operation is cancelled, which all ranks see in the same way; then the group fails. */
static int rank_fails(struct lib_rank *me)
{
	struct coll_request *request;
	struct pollfd poll_fd;

	CHECK_EQ(0, coll_comm_failed(me->comm));
	if (!me->rank) {
		CHECK_EQ(0, coll_ibarrier(me->comm, &request));
		CHECK_EQ(0, coll_cancel(request));
		CHECK_EQ(-ECANCELED, coll_wait(request));
		flag_set(me->shared, 0, 1);
	} else {
		CHECK(flag_wait(me->shared, 0, 1, 10000));
		CHECK(record_await_failure(coll_name(me->comm), me->rank, NULL));
		CHECK_EQ(-ECANCELED, coll_barrier(me->comm));
		CHECK(strstr(coll_error_detail(me->comm), "rank 0 cancelled"));
	}
	CHECK_EQ(0, coll_comm_failed(me->comm));
	CHECK_EQ(0, coll_barrier(me->comm));
	if (!me->rank)
		CHECK_EQ(0, coll_ibarrier(me->comm, &request));
	CHECK(flag_barrier(me->shared, 1, NRANKS));
	if (me->rank)
		_exit(0);
	poll_fd = (struct pollfd){ .fd = coll_req_fd(request), .events = POLLIN };
	CHECK_EQ(1, poll(&poll_fd, 1, 10000));
	CHECK(poll_fd.revents & (POLLIN | POLLERR));
	CHECK_EQ(-ECONNRESET, coll_wait(request));
	CHECK_EQ(-ECONNRESET, coll_comm_failed(me->comm));
	CHECK_EQ(1, poll(&poll_fd, 1, 0));
	CHECK_EQ(POLLERR, poll_fd.revents);
	return 0;
}

TEST(failed)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_fails, NULL));
}

TEST_HARNESS_MAIN
