// SPDX-License-Identifier: GPL-2.0-only
/* Operations that no thread waits for, or only later: SUBMIT with NOWAIT, and WAIT. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/record.h"
#include "lib/two_ranks.h"
#include "lib/values.h"

#define INFLIGHT	512
#define WORDS		1000

/* Within this time a deadline has ended an operation; other timeouts are of a minute or more. */
#define SOON_MS		15000

static const struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };

static struct collective_op sum_of(void *at, __u64 count)
{
	return (struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.count = count,
		.send = (uintptr_t)at,
		.recv = (uintptr_t)at,
	};
}

static __u64 inflight(int fd)
{
	struct collective_status status;

	return member_status(fd, &status) ? ~0ULL : status.inflight;
}

/* Wait for completion with poll(), without WAIT. */
static bool all_complete(int fd, unsigned int timeout_ms)
{
	const __u64 end = now_ms() + timeout_ms;

	while (inflight(fd)) {
		if (now_ms() > end)
			return false;
		sleep_ms(2);
	}
	return true;
}

/* Both ranks start the same operation; rank r has r + 1 in each word. */
static int pair_start(const int *fd, __u32 *const *data, __u64 count, __u64 *request)
{
	__u64 i;
	int r, err;

	for (r = 0; r < 2; r++) {
		struct collective_op op = sum_of(data[r], count);

		for (i = 0; i < count; i++)
			data[r][i] = (r + 1) * i;
		err = member_start(fd[r], &op, &request[r]);
		if (err)
			return err;
	}
	return 0;
}

static bool summed(const __u32 *data, __u64 count)
{
	__u64 i;

	for (i = 0; i < count; i++)
		if (data[i] != 3 * i)
			return false;
	return true;
}

/*
 * Order
 */

TEST_F(two_ranks, one_after_the_other)
{
	enum { N = 20 };
	static __u32 memory[N][2][WORDS];
	__u64 request[N][2];
	int i, r;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < N; i++) {
		__u32 *data[2] = { memory[i][0], memory[i][1] };

		ASSERT_EQ(0, pair_start(self->fd, data, WORDS, request[i]));
		EXPECT_EQ(i + 1U, request[i][0]);
		EXPECT_EQ(i + 1U, request[i][1]);
	}
	for (i = 0; i < N; i++)
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, member_wait(self->fd[r], request[i][r], 0));
			EXPECT_TRUE(summed(memory[i][r], WORDS));
			EXPECT_EQ(-ENOENT, member_wait(self->fd[r], request[i][r], 0));
		}
	EXPECT_EQ(-ENOENT, member_wait(self->fd[0], 0, 0));
	EXPECT_EQ(-ENOENT, member_wait(self->fd[0], N + 1, 0));
	EXPECT_EQ(-ENOENT, member_wait(self->fd[0], INFLIGHT + 1, 0));
}

TEST_F(two_ranks, last_first)
{
	enum { N = 20 };
	static __u32 memory[N][2][WORDS];
	__u64 request[N][2];
	int i, r;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < N; i++) {
		__u32 *data[2] = { memory[i][0], memory[i][1] };

		ASSERT_EQ(0, pair_start(self->fd, data, i % 3 ? WORDS : 1, request[i]));
	}
	for (r = 0; r < 2; r++)
		for (i = N - 1; i >= 0; i--) {
			ASSERT_EQ(0, member_wait(self->fd[r], request[i][r], 0));
			EXPECT_TRUE(summed(memory[i][r], i % 3 ? WORDS : 1));
		}
}

/* All operations complete without a WAIT. */
TEST_F(two_ranks, no_waiter)
{
	const size_t bytes = 4 << 20;
	__u32 *data[2] = { memory(bytes), memory(bytes) };
	struct collective_status status;
	__u64 request[2], begin;
	int i, r;

	ASSERT_NE(NULL, data[0]);
	ASSERT_NE(NULL, data[1]);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, pair_start(self->fd, data, bytes / 4, request));
	for (r = 0; r < 2; r++) {
		ASSERT_TRUE(all_complete(self->fd[r], 10000));
		ASSERT_EQ(0, member_status(self->fd[r], &status));
		EXPECT_EQ(1, status.completed);
	}
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(0, member_wait(self->fd[r], request[r], COLLECTIVE_WAIT_NOWAIT));
		EXPECT_TRUE(summed(data[r], bytes / 4));
	}
	EXPECT_EQ(0, process_value(0, "VmPin:"));

	/* They do not depend on the heartbeat of one second. */
	begin = now_ms();
	for (i = 0; i < 30; i++) {
		ASSERT_EQ(0, pair_start(self->fd, data, WORDS, request));
		for (r = 0; r < 2; r++) {
			ASSERT_TRUE(all_complete(self->fd[r], 10000));
			ASSERT_EQ(0, member_wait(self->fd[r], request[r], 0));
		}
	}
	EXPECT_GT(15000, now_ms() - begin);
}

TEST_F(two_ranks, only_look)
{
	struct collective_submit submit = {
		.size = sizeof(submit), .flags = COLLECTIVE_SUBMIT_NOWAIT, .op = barrier,
	};
	struct collective_wait wait = { .size = sizeof(wait) };
	__u64 request[2];

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &request[0]));
	EXPECT_EQ(-EINPROGRESS, member_wait(self->fd[0], request[0], COLLECTIVE_WAIT_NOWAIT));
	EXPECT_EQ(-EINPROGRESS, member_wait(self->fd[0], request[0], COLLECTIVE_WAIT_NOWAIT));
	wait.request = request[0];
	wait.timeout_ms = 50;
	EXPECT_EQ(-EINPROGRESS, member_ioctl(self->fd[0], COLLECTIVE_IOC_WAIT, &wait));
	EXPECT_EQ(request[0], wait.request);
	ASSERT_EQ(0, member_start(self->fd[1], &barrier, &request[1]));
	EXPECT_EQ(0, member_wait(self->fd[1], request[1], 0));
	EXPECT_EQ(0, member_wait(self->fd[0], request[0], 0));

	/* A request that is waited for cannot be submitted. */
	submit.request = 1;
	EXPECT_EQ(-EINVAL, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
	/* Fields of WAIT_ANY. */
	wait.count = 1;
	EXPECT_EQ(-EINVAL, member_ioctl(self->fd[0], COLLECTIVE_IOC_WAIT, &wait));
	wait.count = 0;
	wait.requests = (uintptr_t)request;
	EXPECT_EQ(-EINVAL, member_ioctl(self->fd[0], COLLECTIVE_IOC_WAIT, &wait));
}

/* The wait of SUBMIT ends, the operation goes on, and SUBMIT or WAIT collects it. */
TEST_F(two_ranks, wait_for_a_time)
{
	struct collective_submit submit = {
		.size = sizeof(submit), .op = barrier, .wait_ms = 20,
	};
	__u64 number, other;
	int i;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < 2; i++) {
		submit.request = 0;
		submit.wait_ms = 20;
		ASSERT_EQ(-EINPROGRESS, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
		number = submit.request;
		ASSERT_NE(0, number);
		EXPECT_EQ(-EINPROGRESS, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
		EXPECT_EQ(number, submit.request);
		ASSERT_EQ(0, member_start(self->fd[1], &barrier, &other));
		submit.wait_ms = i ? 0 : 30000;
		ASSERT_EQ(0, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
		EXPECT_EQ(0, submit.request);
		EXPECT_EQ(-ENOENT, member_wait(self->fd[0], number, COLLECTIVE_WAIT_NOWAIT));
		EXPECT_EQ(0, member_wait(self->fd[1], other, 0));
	}
	/* Within the time. */
	ASSERT_EQ(0, member_start(self->fd[1], &barrier, &other));
	submit.wait_ms = 30000;
	ASSERT_EQ(0, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
	EXPECT_EQ(0, submit.request);
	EXPECT_EQ(0, member_wait(self->fd[1], other, 0));

	submit.flags = COLLECTIVE_SUBMIT_NOWAIT;
	EXPECT_EQ(-EINVAL, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
}

/*
 * Many requests
 */

#define MANY	200

static int rank_many(struct rank *r)
{
	static const __u32 counts[] = { 1, 17, 1000, 5000, 40000, 200000 };
	struct { __u32 *at; __u32 count; __u64 request; } op[MANY];
	unsigned int i, round;
	__u32 j, all = r->nranks * (r->nranks + 1) / 2;

	for (i = 0; i < MANY; i++) {
		op[i].count = counts[hash(i, 7, 7) % 6];
		op[i].at = memory(op[i].count * 4);
		CHECK(op[i].at);
	}
	for (round = 0; round < 2; round++) {
		for (i = 0; i < MANY; i++) {
			struct collective_op what = sum_of(op[i].at, op[i].count);

			for (j = 0; j < op[i].count; j++)
				op[i].at[j] = (r->rank + 1) * (i + j);
			CHECK_EQ(0, member_start(r->fd, &what, &op[i].request));
		}
		/* 77 and 200 have no common divisor. */
		for (i = 0; i < MANY; i++) {
			unsigned int k = (i * 77 + r->rank) % MANY;

			CHECK_EQ(0, member_wait(r->fd, op[k].request, 0));
			for (j = 0; j < op[k].count; j++)
				if (op[k].at[j] != all * (k + j))
					CHECK_EQ(all * (k + j), op[k].at[j]);
		}
	}
	CHECK_EQ(0, inflight(r->fd));
	CHECK_EQ(0, process_value(0, "VmPin:"));
	return 0;
}

TEST(many_in_flight)
{
	const struct group_config config = { .nranks = 4, .lanes = 2 };

	EXPECT_EQ(0, group_run(&config, rank_many, NULL));
}

/* Requests in flight count against the limit, and then those that are not collected. */
TEST_F(two_ranks, limit)
{
	static __u64 request[2][INFLIGHT];
	__u64 more[2];
	int i, r;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < INFLIGHT; i++)
		ASSERT_EQ(0, member_start(self->fd[0], &barrier, &request[0][i]));
	EXPECT_EQ(-EAGAIN, member_start(self->fd[0], &barrier, &more[0]));
	EXPECT_EQ(0, more[0]);
	EXPECT_EQ(-EAGAIN, member_submit(self->fd[0], &barrier));
	EXPECT_EQ(INFLIGHT, inflight(self->fd[0]));
	for (i = 0; i < INFLIGHT; i++)
		ASSERT_EQ(0, member_start(self->fd[1], &barrier, &request[1][i]));
	for (r = 0; r < 2; r++) {
		ASSERT_TRUE(all_complete(self->fd[r], 10000));
		EXPECT_EQ(-EAGAIN, member_start(self->fd[r], &barrier, &more[r]));
		/* The oldest request stays valid; only its number's slot is reused. */
		ASSERT_EQ(0, member_wait(self->fd[r], request[r][100], 0));
	}
	for (i = 0; i < 5; i++) {
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, member_start(self->fd[r], &barrier, &more[r]));
			EXPECT_EQ(INFLIGHT + 101ULL + INFLIGHT * i, more[r]);
		}
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, member_wait(self->fd[r], more[r], 0));
	}
	for (r = 0; r < 2; r++)
		for (i = 0; i < INFLIGHT; i++)
			ASSERT_EQ(i == 100 ? -ENOENT : 0,
				  member_wait(self->fd[r], request[r][i], 0));
}

/*
 * Deadlines
 */

TEST_F(two_ranks, deadline_without_a_waiter)
{
	static __u32 data[2][WORDS];
	struct collective_op late = sum_of(data[0], WORDS), patient = sum_of(data[1], WORDS);
	struct collective_status status;
	__u64 request[3], begin;

	late.timeout_ms = 300;
	patient.timeout_ms = 60000;
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	begin = now_ms();
	/* The deadline of the later operation expires first, not at the time of the other one. */
	ASSERT_EQ(0, member_start(self->fd[0], &patient, &request[0]));
	ASSERT_EQ(0, member_start(self->fd[0], &late, &request[1]));
	while (inflight(self->fd[0]) == 2 && now_ms() < begin + SOON_MS)
		sleep_ms(5);
	EXPECT_LE(300, now_ms() - begin);
	EXPECT_GT(SOON_MS, now_ms() - begin);
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_REASON_DEADLINE, status.last.kind);
	EXPECT_EQ(0, status.last.rank_a);
	EXPECT_EQ(1, status.last.rank_b);
	EXPECT_EQ(1, status.last.instance);
	EXPECT_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	EXPECT_EQ(-ETIMEDOUT, member_wait(self->fd[0], request[1], 0));
	EXPECT_EQ(-ENOENT, member_wait(self->fd[0], request[1], 0));

	/* The other rank submits late, and the group lives on. */
	patient.send = (uintptr_t)data[0];
	patient.recv = (uintptr_t)data[0];
	ASSERT_EQ(0, member_submit(self->fd[1], &patient));
	EXPECT_EQ(0, member_wait(self->fd[0], request[0], 0));
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[1], &late));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &request[2]));
	EXPECT_EQ(0, member_submit(self->fd[1], &barrier));
	EXPECT_EQ(0, member_wait(self->fd[0], request[2], 0));
}

TEST_F(two_ranks, deadline_with_a_waiter)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 200 };
	__u64 request, begin;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	begin = now_ms();
	ASSERT_EQ(0, member_start(self->fd[0], &op, &request));
	EXPECT_EQ(-ETIMEDOUT, member_wait(self->fd[0], request, 0));
	EXPECT_LE(200, now_ms() - begin);
	EXPECT_GT(SOON_MS, now_ms() - begin);
	/*
	 * It is told of the failure; the payload that it received before would suffice for
	 * success.
	 */
	EXPECT_TRUE(record_await_failure(self->name, 1, "0"));
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[1], &barrier));
	/* A failed operation leaves no deadline behind. */
	op.timeout_ms = 20000;
	ASSERT_EQ(0, member_start(self->fd[0], &op, &request));
	sleep_ms(300);
	ASSERT_EQ(0, member_submit(self->fd[1], &op));
	EXPECT_EQ(0, member_wait(self->fd[0], request, 0));
}

/*
 * Waiters
 */

static void on_signal(int signal)
{
}

static void ring(int flags, bool on)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	struct itimerval timer = { .it_value.tv_usec = on ? 50000 : 0 };

	timer.it_interval = timer.it_value;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

TEST_F(two_ranks, signal)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 400 };
	struct collective_wait wait = { .size = sizeof(wait), .timeout_ms = 5000 };
	struct collective_submit submit = { .size = sizeof(submit) };
	__u64 request[2];
	int i;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &request[0]));
	ring(0, true);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EINTR, member_wait(self->fd[0], request[0], 0));
	/* SUBMIT can continue a request, too. */
	submit.request = request[0];
	EXPECT_EQ(-EINTR, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
	EXPECT_EQ(request[0], submit.request);
	submit.wait_ms = 10000;
	EXPECT_EQ(-EINTR, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
	EXPECT_EQ(request[0], submit.request);
	/* A wait with a timeout is not restarted after a signal; one without is. */
	ring(SA_RESTART, true);
	wait.request = request[0];
	EXPECT_EQ(-EINTR, member_ioctl(self->fd[0], COLLECTIVE_IOC_WAIT, &wait));
	EXPECT_EQ(request[0], wait.request);
	ring(0, false);
	EXPECT_EQ(0, member_submit(self->fd[1], &barrier));
	EXPECT_EQ(0, member_wait(self->fd[0], request[0], 0));

	/* Without a timeout the wait is restarted. */
	ASSERT_EQ(0, member_start(self->fd[0], &op, &request[0]));
	ring(SA_RESTART, true);
	EXPECT_EQ(-ETIMEDOUT, member_wait(self->fd[0], request[0], 0));
	ring(0, false);
}

struct waiter {
	pthread_t thread;
	int fd;
	__u64 request;
	int err;
	__u32 *data;
};

static void *waiter_thread(void *arg)
{
	struct waiter *waiter = arg;

	waiter->err = member_wait(waiter->fd, waiter->request, 0);
	if (!waiter->err && waiter->data && !summed(waiter->data, WORDS))
		waiter->err = -EILSEQ;
	return NULL;
}

TEST_F(two_ranks, two_waiters)
{
	struct collective_submit submit = { .size = sizeof(submit) };
	struct collective_wait wait = {};
	struct waiter waiter = { .fd = self->fd[0] };
	__u64 request[3] = {};
	int i;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &waiter.request));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &request[0]));
	ASSERT_EQ(0, pthread_create(&waiter.thread, NULL, waiter_thread, &waiter));
	for (i = 0; i < 1000; i++) {
		if (member_wait(self->fd[0], waiter.request, COLLECTIVE_WAIT_NOWAIT) == -EBUSY)
			break;
		sleep_ms(5);
	}
	EXPECT_EQ(-EBUSY, member_wait(self->fd[0], waiter.request, COLLECTIVE_WAIT_NOWAIT));
	EXPECT_EQ(-EBUSY, member_wait(self->fd[0], waiter.request, 0));
	submit.request = waiter.request;
	EXPECT_EQ(-EBUSY, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
	/*
	 * A request cannot be waited for twice at a time, also as one of several. The others are
	 * free afterwards.
	 */
	request[1] = waiter.request;
	EXPECT_EQ(-EBUSY, member_wait_any(self->fd[0], &wait, request, 2));
	EXPECT_EQ(0, wait.request);
	request[1] = request[0];
	EXPECT_EQ(-EBUSY, member_wait_any(self->fd[0], &wait, request, 2));
	request[1] = 12345;
	EXPECT_EQ(-ENOENT, member_wait_any(self->fd[0], &wait, request, 2));
	EXPECT_EQ(-EINPROGRESS, member_wait(self->fd[0], request[0], COLLECTIVE_WAIT_NOWAIT));

	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, member_submit(self->fd[1], &barrier));
	pthread_join(waiter.thread, NULL);
	EXPECT_EQ(0, waiter.err);
	EXPECT_EQ(-ENOENT, member_wait(self->fd[0], waiter.request, 0));
	EXPECT_EQ(0, member_wait(self->fd[0], request[0], 0));
}

/* A thread for each request, all at the same time. */
TEST_F(two_ranks, many_waiters)
{
	enum { N = 64 };
	static __u32 memory[N][2][WORDS];
	static struct waiter waiter[N][2];
	int i, r, round;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (round = 0; round < 5; round++) {
		for (i = 0; i < N; i++) {
			__u32 *data[2] = { memory[i][0], memory[i][1] };
			__u64 request[2];

			ASSERT_EQ(0, pair_start(self->fd, data, WORDS, request));
			for (r = 0; r < 2; r++) {
				waiter[i][r].fd = self->fd[r];
				waiter[i][r].request = request[r];
				waiter[i][r].data = data[r];
				ASSERT_EQ(0, pthread_create(&waiter[i][r].thread, NULL,
							    waiter_thread, &waiter[i][r]));
			}
		}
		for (i = 0; i < N; i++)
			for (r = 0; r < 2; r++) {
				pthread_join(waiter[i][r].thread, NULL);
				EXPECT_EQ(0, waiter[i][r].err);
			}
	}
}

TEST_F(two_ranks, any)
{
	struct collective_op late = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 100 };
	struct collective_wait wait = {};
	static __u64 request[INFLIGHT + 1];
	unsigned int i, seen = 0;
	__u64 begin;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(-ENOENT, member_wait_any(self->fd[0], &wait, request, 3));
	EXPECT_EQ(-EINVAL, member_wait_any(self->fd[0], &wait, request, INFLIGHT + 1));
	EXPECT_EQ(-EINVAL, member_wait_any(self->fd[0], &wait, request, 0));
	EXPECT_EQ(-EFAULT, member_wait_any(self->fd[0], &wait, (void *)8, 1));

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, member_start(self->fd[0], &barrier, &request[2 * i + 1]));
	begin = now_ms();
	wait.timeout_ms = 100;
	wait.request = 5;
	EXPECT_EQ(-EINPROGRESS, member_wait_any(self->fd[0], &wait, request, INFLIGHT));
	EXPECT_EQ(0, wait.request);
	EXPECT_LE(100, now_ms() - begin);
	wait = (struct collective_wait){ .flags = COLLECTIVE_WAIT_NOWAIT };
	EXPECT_EQ(-EINPROGRESS, member_wait_any(self->fd[0], &wait, request, INFLIGHT));

	wait = (struct collective_wait){};
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, member_submit(self->fd[1], &barrier));
		ASSERT_EQ(0, member_wait_any(self->fd[0], &wait, request, INFLIGHT));
		ASSERT_GT(8, wait.index);
		EXPECT_EQ(request[wait.index], wait.request);
		seen |= 1U << wait.index;
		request[wait.index] = 0;
	}
	EXPECT_EQ(0xaa, seen);

	/* STATUS and WAIT_ANY: the result, and of which request. */
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &request[0]));
	ASSERT_EQ(0, member_start(self->fd[0], &late, &request[6]));
	EXPECT_EQ(-ETIMEDOUT, member_wait_any(self->fd[0], &wait, request, 7));
	EXPECT_EQ(6, wait.index);
	EXPECT_EQ(request[6], wait.request);
	EXPECT_EQ(-ENOENT, member_wait_any(self->fd[0], &wait, request, 7));
	EXPECT_EQ(0, wait.request);
}

/*
 * The end
 */

TEST_F(two_ranks, leave_uncollected)
{
	static __u32 memory[2][WORDS];
	__u32 *data[2] = { memory[0], memory[1] };
	struct collective_status status;
	struct collective_wait wait = {};
	__u64 request[2];
	int i, r;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, pair_start(self->fd, data, WORDS, request));
	for (r = 0; r < 2; r++)
		ASSERT_TRUE(all_complete(self->fd[r], 10000));
	EXPECT_LT(0, process_value(0, "VmPin:"));
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(0, member_leave(self->fd[r]));
		EXPECT_EQ(-ENOTCONN, member_wait(self->fd[r], request[r], 0));
		wait.request = request[r];
		EXPECT_EQ(-ENOTCONN, member_wait_any(self->fd[r], &wait, &request[r], 1));
		EXPECT_EQ(0, wait.request);
		EXPECT_EQ(-ENOTCONN, member_start(self->fd[r], &barrier, &request[r]));
		ASSERT_EQ(0, member_status(self->fd[r], &status));
		EXPECT_EQ(COLLECTIVE_STATE_LEFT, status.state);
		EXPECT_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	}
	EXPECT_EQ(0, process_value(0, "VmPin:"));
}

TEST_F(two_ranks, leave_in_flight)
{
	const size_t bytes = 1 << 20;
	__u32 *data = memory(bytes);
	struct collective_op op = sum_of(data, bytes / 4);
	struct collective_status status;
	__u64 request[4];
	int i;

	ASSERT_NE(NULL, data);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, member_start(self->fd[0], &op, &request[i]));
	EXPECT_EQ(0, member_leave(self->fd[0]));
	EXPECT_EQ(-ECANCELED, member_start(self->fd[0], &op, &request[3]));
	for (i = 2; i >= 0; i--)
		EXPECT_EQ(-ECANCELED, member_wait(self->fd[0], request[i], 0));
	EXPECT_EQ(-ECONNRESET, member_submit(self->fd[1], &barrier));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
	close(self->fd[0]);
	close(self->fd[1]);
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	self->fd[0] = -1;
	self->fd[1] = -1;
}

TEST_F(two_ranks, close_in_flight)
{
	const size_t bytes = 1 << 20;
	__u32 *data = memory(bytes);
	struct collective_op op = sum_of(data, bytes / 4);
	struct collective_status status;
	__u64 request, begin;
	int i;

	ASSERT_NE(NULL, data);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, member_start(self->fd[0], &op, &request));
	/* In the middle of an operation. */
	ASSERT_EQ(0, member_start(self->fd[1], &op, &request));
	begin = now_ms();
	close(self->fd[0]);
	EXPECT_GT(4000, now_ms() - begin);
	self->fd[0] = -1;
	member_wait(self->fd[1], request, 0);
	EXPECT_EQ(-ECONNRESET, member_submit(self->fd[1], &barrier));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, process_value(0, "VmPin:"));
}

/* A child process has the file, but cannot use it. */
TEST_F(two_ranks, other_process)
{
	static __u32 memory[2][WORDS];
	__u32 *data[2] = { memory[0], memory[1] };
	__u64 request[2], other;
	int code, r;
	pid_t pid;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, pair_start(self->fd, data, WORDS, request));
	pid = fork();
	if (!pid)
		_exit(member_wait(self->fd[0], request[0], 0) == -EPERM &&
		      member_wait(self->fd[0], request[0], COLLECTIVE_WAIT_NOWAIT) == -EPERM &&
		      member_start(self->fd[0], &barrier, &other) == -EPERM ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	for (r = 0; r < 2; r++)
		EXPECT_EQ(0, member_wait(self->fd[r], request[r], 0));
}

enum { FLAG_STARTED };

enum ending { END_KILL, END_EXEC, END_EXIT };

/* Rank 1 exits with requests in flight, and with no thread in the kernel. */
static int rank_end(struct rank *r)
{
	const enum ending *ending = r->arg;
	const size_t bytes = 1 << 20;
	__u32 *data = memory(bytes);
	struct collective_op op = sum_of(data, bytes / 4);
	struct collective_status status;
	__u64 request[20];
	int i, err;

	CHECK(data);
	/* Wait until all are connected, because a rank exits. */
	err = member_barrier(r->fd);
	for (i = 0; !err && i < 20; i++)
		err = member_start(r->fd, &op, &request[i]);
	if (r->rank == 1) {
		CHECK_EQ(0, err);
		flag_set(r->shared, FLAG_STARTED, 1);
		if (*ending == END_KILL)
			sleep_ms(100000);
		if (*ending == END_EXEC)
			execl("/bin/true", "true", NULL);
		_exit(0);
	}
	for (i = 0; !err && i < 20; i++)
		err = member_wait(r->fd, request[i], 0);
	if (!err)
		err = member_barrier(r->fd);
	CHECK_EQ(-ECONNRESET, err);
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_REASON_DEATH, status.group.kind);
	CHECK_EQ(1, status.group.rank_a);
	/* Requests that are not collected end with the file. */
	close(r->fd);
	CHECK_EQ(0, process_value(0, "VmPin:"));
	return 0;
}

static void end_run(struct __test_metadata *_metadata, enum ending ending)
{
	const struct group_config config = { .nranks = 3 };
	struct group group;
	int i;

	ASSERT_EQ(0, group_start(&group, &config, rank_end, &ending));
	ASSERT_TRUE(flag_wait(group.shared, FLAG_STARTED, 1, 20000));
	if (ending == END_KILL)
		kill(group.pid[1], SIGKILL);
	group_wait(&group);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(ending == END_KILL && i == 1 ? SIGKILL : 0, group.status[i]);
}

TEST(kill_in_flight)
{
	end_run(_metadata, END_KILL);
}

TEST(exec_in_flight)
{
	end_run(_metadata, END_EXEC);
}

TEST(exit_in_flight)
{
	end_run(_metadata, END_EXIT);
}

TEST_HARNESS_MAIN
