// SPDX-License-Identifier: GPL-2.0-only
/*
 * The maximum number of requests in flight: the group still delivers its control frames, and ends
 * in order.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/timed.h"

#define INFLIGHT	512
#define LANES		8

/* Large enough that every lane has a part. */
#define BYTES		(LANES * 256 * 1024UL)

enum { FLAG_FULL, FLAG_FAILED };

TIMED_TESTS(slow)

/* A network namespace in which sockets have minimal buffers. */
static int network_narrow(void)
{
	CHECK_EQ(0, unshare(CLONE_NEWNET));
	CHECK_EQ(0, loopback_set(true));
	CHECK_EQ(0, file_set("/proc/sys/net/ipv4/tcp_wmem", "4096 4096 4096"));
	return 0;
}

struct request {
	pthread_t thread;
	int fd;
	struct collective_op op;
	int err;
};

static void *request_thread(void *arg)
{
	struct request *request = arg;

	request->err = member_submit(request->fd, &request->op);
	return NULL;
}

/* Submit the same operation many times, each in a thread of its own. */
static int requests_begin(struct request *request, int fd, const struct collective_op *op)
{
	pthread_attr_t attr;
	unsigned int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (i = 0; i < INFLIGHT; i++) {
		request[i].fd = fd;
		request[i].op = *op;
		CHECK_EQ(0, pthread_create(&request[i].thread, &attr, request_thread,
					   &request[i]));
	}
	pthread_attr_destroy(&attr);
	return 0;
}

/* Check that all requests end with @want. */
static int requests_end(struct request *request, int want)
{
	unsigned int i, others = 0;
	int err = want;

	for (i = 0; i < INFLIGHT; i++) {
		pthread_join(request[i].thread, NULL);
		if (request[i].err != want) {
			err = request[i].err;
			others++;
		}
	}
	CHECK_EQ(want, err);
	CHECK_EQ(0, others);
	return 0;
}

static bool inflight_wait(int fd, unsigned int inflight)
{
	struct collective_status status;
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		if (!member_status(fd, &status) && status.inflight == inflight)
			return true;
		sleep_ms(10);
	}
	return false;
}

static int op_large(int fd, struct collective_op *op)
{
	void *area = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	__u32 buffer;

	CHECK(area != MAP_FAILED);
	CHECK_EQ(0, member_register(fd, area, 2 * BYTES, 0, &buffer));
	*op = (struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.count = BYTES,
		.send = (uintptr_t)area,
		.recv = (uintptr_t)area,
		.recv_buffer = buffer,
	};
	return 0;
}

static int rank_is_up(const struct rank *r)
{
	struct collective_status status;

	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	CHECK_EQ(0, status.inflight);
	return 0;
}

/*
 * Every request of every lane is announced, granted and aborted, while no control frame gets
 * through for a while: all frames are queued.
 */
static int rank_all_fail(struct rank *r)
{
	static struct request request[INFLIGHT];
	struct collective_op op;

	CHECK_EQ(0, op_large(r->fd, &op));
	/* All counts differ. */
	op.count += r->rank;
	CHECK_EQ(0, member_barrier(r->fd));
	if (!r->rank) {
		CHECK_EQ(0, loopback_set(false));
		CHECK_EQ(0, requests_begin(request, r->fd, &op));
		CHECK(inflight_wait(r->fd, INFLIGHT));
		CHECK_EQ(-EAGAIN, member_submit(r->fd, &op));
		sleep_ms(500);
		CHECK_EQ(0, loopback_set(true));
		flag_set(r->shared, FLAG_FULL, 1);
	} else {
		CHECK(flag_wait(r->shared, FLAG_FULL, 1, 40000));
		CHECK_EQ(0, requests_begin(request, r->fd, &op));
	}
	CHECK_EQ(0, requests_end(request, -EBADMSG));
	CHECK_EQ(0, rank_is_up(r));
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(slow, all_mismatch, 100)
{
	/* The heartbeats allow more time than the test takes. */
	const struct group_config config = {
		.nranks = 2, .lanes = LANES, .heartbeat_ms = 5000,
	};

	ASSERT_EQ(0, network_narrow());
	EXPECT_EQ(0, group_run(&config, rank_all_fail, NULL));
}

/* Rank 1 is so late that every request of rank 0 has failed. */
static int rank_all_late(struct rank *r)
{
	static struct request request[INFLIGHT];
	struct collective_op op;

	CHECK_EQ(0, op_large(r->fd, &op));
	if (!r->rank) {
		op.timeout_ms = 3000;
		CHECK_EQ(0, requests_begin(request, r->fd, &op));
		CHECK_EQ(0, requests_end(request, -ETIMEDOUT));
		flag_set(r->shared, FLAG_FAILED, 1);
	} else {
		CHECK(flag_wait(r->shared, FLAG_FAILED, 1, 40000));
		CHECK_EQ(0, requests_begin(request, r->fd, &op));
		CHECK_EQ(0, requests_end(request, -ETIMEDOUT));
	}
	CHECK_EQ(0, rank_is_up(r));
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(slow, all_late, 100)
{
	const struct group_config config = { .nranks = 2, .lanes = LANES };

	EXPECT_EQ(0, group_run(&config, rank_all_late, NULL));
}

TEST_HARNESS_MAIN
