// SPDX-License-Identifier: GPL-2.0-only
/* The library's function that submits an operation of the kernel's interface. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/collective.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"

#define NRANKS	3
#define KEYS	40

static struct collective_op sum(const __u32 *send, __u32 *recv, size_t count)
{
	return (struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.count = count,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};
}

/* Each rank starts with another key. */
static int rank_keys(struct lib_rank *me)
{
	struct coll_request *request[KEYS];
	__u32 send[KEYS], recv[KEYS];
	unsigned int i, at;

	for (i = 0; i < KEYS; i++) {
		struct collective_op op;

		at = (i * 7 + me->rank * 11) % KEYS;
		send[at] = at * 100 + me->rank;
		op = sum(&send[at], &recv[at], 1);
		op.flags = COLLECTIVE_F_KEYED;
		op.key = at;
		CHECK_EQ(0, coll_isubmit(me->comm, &op, &request[at]));
	}
	CHECK_EQ(0, coll_wait_all(request, KEYS));
	for (at = 0; at < KEYS; at++)
		CHECK_EQ(NRANKS * at * 100 + NRANKS * (NRANKS - 1) / 2, recv[at]);
	return 0;
}

TEST(keys)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_keys, NULL));
}

/* Elements that the board does not take, and that are small otherwise */
#define BEYOND	5000

static int rank_algorithms(struct lib_rank *me)
{
	static __u32 many[2][BEYOND];
	static const __u8 all[] = { COLLECTIVE_ALGORITHM_RING, COLLECTIVE_ALGORITHM_TREE };
	__u32 send = me->rank + 1, recv;
	unsigned int i;

	for (i = 0; i < sizeof(all); i++) {
		struct collective_op op = sum(&send, &recv, 1);

		recv = 0;
		op.algorithm = all[i];
		CHECK_EQ(0, coll_submit(me->comm, &op));
		CHECK_EQ(NRANKS * (NRANKS + 1) / 2, recv);
		op = sum(many[0], many[1], BEYOND);
		op.algorithm = COLLECTIVE_ALGORITHM_DIRECT;
		CHECK_EQ(-EOPNOTSUPP, coll_submit(me->comm, &op));
	}
	return 0;
}

TEST(algorithms)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_algorithms, NULL));
}

/* The last rank comes late: the others turn to something else meanwhile. */
static int rank_waits_for_a_time(struct lib_rank *me)
{
	const bool late = me->rank == NRANKS - 1;
	__u32 send = me->rank + 1, recv = 0;
	struct collective_op op = sum(&send, &recv, 1);
	struct coll_request *request = (void *)1;
	int timeouts[] = { 20, 0, 1 }, i, err;

	for (i = 0; i < 3; i++) {
		recv = 0;
		if (late) {
			CHECK(flag_wait(me->shared, i, NRANKS - 1, 20000));
			CHECK_EQ(0, coll_submit_wait(me->comm, &op, -1, &request));
		} else {
			err = coll_submit_wait(me->comm, &op, timeouts[i], &request);
			CHECK_EQ(-EINPROGRESS, err);
			CHECK_EQ(true, !!request);
			flag_add(me->shared, i);
			CHECK_EQ(0, coll_wait(request));
		}
		CHECK_EQ(NRANKS * (NRANKS + 1) / 2, recv);
		CHECK_EQ(0, coll_barrier(me->comm));
	}
	/* Within the time, and refused. */
	CHECK_EQ(0, coll_submit_wait(me->comm, &op, 30000, &request));
	CHECK_EQ(true, !request);
	op.root = 1;
	CHECK_EQ(-EINVAL, coll_submit_wait(me->comm, &op, 10, &request));
	CHECK_EQ(true, !request);
	return 0;
}

TEST(waits_for_a_time)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_waits_for_a_time, NULL));
}

/* A signal ends the wait of a rank, and not its operation. */
static void on_alarm(int number)
{
	(void)number;
}

static int rank_interrupted(struct lib_rank *me)
{
	const struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	struct sigaction action = { .sa_handler = on_alarm };
	__u32 send = me->rank + 1, recv = 0;
	struct collective_op op = sum(&send, &recv, 1);
	struct coll_request *request = NULL;
	int err;

	if (me->rank) {
		CHECK(flag_wait(me->shared, 0, 1, 20000));
		CHECK_EQ(0, coll_submit(me->comm, &op));
		return 0;
	}
	CHECK_EQ(0, sigaction(SIGALRM, &action, NULL));
	CHECK_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	err = coll_submit_wait(me->comm, &op, 10000, &request);
	CHECK_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	CHECK_EQ(-EINPROGRESS, err);
	flag_set(me->shared, 0, 1);
	CHECK_EQ(0, coll_wait(request));
	CHECK_EQ(NRANKS * (NRANKS + 1) / 2, recv);
	return 0;
}

TEST(interrupted)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_interrupted, NULL));
}

/* The configuration of the group applies where the call does not say otherwise. */
static int rank_configured(struct lib_rank *me)
{
	__u32 send = me->rank + 1, recv = 0;
	struct collective_op op = sum(&send, &recv, 1);

	op.algorithm = me->rank ? COLLECTIVE_ALGORITHM_RING : COLLECTIVE_ALGORITHM_AUTO;
	CHECK_EQ(0, coll_submit(me->comm, &op));
	CHECK_EQ(NRANKS * (NRANKS + 1) / 2, recv);

	/* The configuration has no algorithm for a scan. */
	op.opcode = COLLECTIVE_SCAN;
	CHECK_EQ(-EBADMSG, coll_submit(me->comm, &op));
	CHECK_EQ(0, coll_barrier(me->comm));
	return 0;
}

TEST(configured)
{
	struct coll_config config = {
		.size = sizeof(config),
		.algorithm = "allreduce:ring,reduce:direct",
	};

	EXPECT_EQ(0, lib_group_run(NRANKS, &config, rank_configured, NULL));
}

TEST(misconfigured)
{
	static const char * const bad[] = {
		"rings", "auto", "allreduce", "allreduce:", ":ring", "ring,", "sum:ring", ",",
	};
	char detail[COLL_DETAIL_SIZE];
	struct coll_comm *comm;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct coll_config config = {
			.size = sizeof(config),
			.algorithm = bad[i],
			.detail = detail,
			.detail_size = sizeof(detail),
		};

		EXPECT_EQ(-EINVAL, coll_init(&comm, &config)) TH_LOG("%s", bad[i]);
		EXPECT_EQ(0, strncmp(detail, "algorithm ", 10));
	}
}

static int rank_deadline(struct lib_rank *me)
{
	__u32 send = 1, recv;
	struct collective_op op = sum(&send, &recv, 1);

	op.flags = COLLECTIVE_F_KEYED;
	op.key = 5;
	op.timeout_ms = 200;
	/* The other ranks do not call. */
	if (!me->rank)
		CHECK_EQ(-ETIMEDOUT, coll_submit(me->comm, &op));
	CHECK_EQ(0, coll_barrier(me->comm));
	return 0;
}

TEST(deadline)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_deadline, NULL));
}

/* The error names absent ranks and the last operation of each. */
static int rank_absent(struct lib_rank *me)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 200 };
	const char *detail = "";
	int i;

	CHECK_EQ(0, coll_barrier(me->comm));
	CHECK(flag_barrier(me->shared, 0, me->nranks));
	if (me->rank) {
		CHECK_EQ(-ETIMEDOUT, coll_submit(me->comm, &op));
		for (i = 0; i < 400; i++) {
			detail = coll_error_detail(me->comm);
			if (strstr(detail, "not submitted by rank 0 (last: operation "))
				break;
			sleep_ms(50);
		}
		CHECK(strstr(detail, "the deadline of rank "));
		CHECK(strstr(detail, "; not submitted by rank 0 (last: operation "));
		CHECK(strstr(detail, " s ago)"));
	}
	CHECK(flag_barrier(me->shared, 1, me->nranks));
	if (!me->rank)
		CHECK_EQ(-ETIMEDOUT, coll_submit(me->comm, &op));
	return coll_barrier(me->comm);
}

TEST(absent)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_absent, NULL));
}

/* Errors name operations with keys and messages in the terms of the library. */
static int rank_words(struct lib_rank *me)
{
	__u32 data[4] = { 0 };
	struct collective_op op = sum(data, data, 1 + (me->rank == 2));

	op.flags = COLLECTIVE_F_KEYED;
	op.key = 7;
	CHECK_EQ(-EBADMSG, coll_submit(me->comm, &op));
	CHECK(strstr(coll_error_detail(me->comm),
		     " made different calls (operation with key 7): "));
	CHECK_EQ(0, coll_barrier(me->comm));
	CHECK(flag_barrier(me->shared, 0, me->nranks));
	if (me->rank == 0)
		coll_send(me->comm, data, 3, COLL_UINT32, 2, 9);
	if (me->rank == 2) {
		CHECK_EQ(-EBADMSG, coll_recv(me->comm, data, 2, COLL_UINT32, 0, 9));
		CHECK(strstr(coll_error_detail(me->comm),
			     " (message with key 9 from rank 0 to rank 2)"));
	}
	return coll_barrier(me->comm);
}

TEST(words)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_words, NULL));
}

TEST_HARNESS_MAIN
