// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lengths that only the sender knows: what comes, what is told of it, and what becomes
 * of those who have too little room.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"
#include "kselftest_harness.h"

#define MOST	(300 * 1024)
#define EMPTY	0x5a5a5a5a

FIXTURE(varlen) {
};

FIXTURE_SETUP(varlen)
{
}

FIXTURE_TEARDOWN(varlen)
{
}

static int submit(int fd, const struct collective_op *op, __u64 *received)
{
	struct collective_submit submit = { .size = sizeof(submit), .op = *op };
	int err;

	do {
		err = member_ioctl(fd, COLLECTIVE_IOC_SUBMIT, &submit);
	} while (err == -EINTR && submit.request);
	*received = submit.received;
	return err;
}

static int collect(int fd, __u64 request, __u64 *received)
{
	struct collective_wait wait = { .size = sizeof(wait), .request = request };
	int err = member_ioctl(fd, COLLECTIVE_IOC_WAIT, &wait);

	*received = wait.received;
	return err;
}

static __s32 value(unsigned int from, unsigned int to, __u64 i, unsigned int round)
{
	return from * 1000003 + to * 7919 + i * 31 + round;
}

static void empty(__s32 *data)
{
	__u64 i;

	for (i = 0; i < MOST; i++)
		data[i] = EMPTY;
}

/* What @count elements from a rank to a rank leave in a room, and nothing beyond it. */
static bool holds(const __s32 *data, __u64 count, __u64 room, unsigned int from,
		  unsigned int to, unsigned int round)
{
	__u64 stored = count < room ? count : room, i;

	for (i = 0; i < stored; i++)
		if (data[i] != value(from, to, i, round))
			return false;
	for (; i < MOST; i++)
		if (data[i] != EMPTY)
			return false;
	return true;
}

static const struct {
	__u64 sent;
	__u64 room;
} cases[] = {
	{ 10, 20 }, { 20, 20 }, { 20, 10 }, { 0, 20 }, { 20, 0 }, { 0, 0 }, { 2048, 2049 },
	{ 2049, 2048 }, { 10, 70000 }, { 70000, 10 }, { 70000, 0 }, { 0, 70000 },
	{ 70000, 80001 }, { 80001, 70000 }, { 70000, 70000 }, { MOST, 1 }, { MOST, MOST },
	{ 2048, 2048 }, { MOST, MOST - 1 }, { 1, 1 },
};

static int rank_messages(struct rank *r)
{
	unsigned int next = (r->rank + 1) % r->nranks, last = (r->rank + r->nranks - 1) % r->nranks;
	__s32 *in = malloc(MOST * sizeof(*in)), *out = malloc(MOST * sizeof(*out));
	unsigned int round;
	__u64 received, i;

	for (round = 0; round < 2 * ARRAY_SIZE(cases); round++) {
		__u64 sent = cases[round / 2].sent, room = cases[round / 2].room, request;
		struct collective_op send = {
			.opcode = COLLECTIVE_SEND,
			.type = COLLECTIVE_INT32,
			.root = next,
			.count = sent,
			.send = (uintptr_t)out,
		};
		struct collective_op recv = {
			.opcode = COLLECTIVE_RECV,
			.flags = COLLECTIVE_F_VARLEN,
			.type = COLLECTIVE_INT32,
			.root = last,
			.count = room,
			.recv = (uintptr_t)in,
		};

		if (round & 1) {
			send.flags |= COLLECTIVE_F_KEYED;
			recv.flags |= COLLECTIVE_F_KEYED;
			send.key = 7;
			recv.key = 7;
		}
		empty(in);
		for (i = 0; i < sent; i++)
			out[i] = value(r->rank, next, i, round);
		CHECK_EQ(0, member_start(r->fd, &send, &request));
		CHECK_EQ(sent > room ? -EMSGSIZE : 0, submit(r->fd, &recv, &received));
		CHECK_EQ(sent, received);
		CHECK(holds(in, sent, room, last, r->rank, round));
		CHECK_EQ(0, collect(r->fd, request, &received));
		CHECK_EQ(0, received);
	}
	free(in);
	free(out);
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(varlen, messages, 100)
{
	struct group_config config = { .nranks = 2, .timeout_ms = 60000 };

	EXPECT_EQ(0, group_run(&config, rank_messages, NULL));
	config.nranks = 3;
	config.lanes = 3;
	EXPECT_EQ(0, group_run(&config, rank_messages, NULL));
}

TEST_HARNESS_MAIN
