/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests of COLLECTIVE_F_NOSYNC: ranks of one thread, which call in an order in which none of them
 * would return without the flag.  Include after kselftest_harness.h.
 */
#ifndef COLL_NOSYNC_H
#define COLL_NOSYNC_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/group.h"
#include "lib/machine.h"

#define RANKS	3
#define COUNT	512		/* elements of the largest payload */
#define BLOCKING_MS	20000
#define GO_ON	40		/* operations of go_on() */

/**
 * struct ranks - a group in one process
 * @fd: by rank: its file
 * @send: by rank: memory of its inputs
 * @recv: by rank: memory of its results
 */
struct ranks {
	int fd[RANKS];
	__s64 *send[RANKS], *recv[RANKS];
};

static inline int ranks_setup(struct ranks *ranks)
{
	struct sockaddr_storage addr[RANKS];
	char name[33];
	int rank, err;
	__u64 id;

	group_unique(name, sizeof(name), &id);
	err = members_make(ranks->fd, addr, RANKS, name, id);
	for (rank = 0; !err && rank < RANKS; rank++) {
		fcntl(ranks->fd[rank], F_SETFL, 0);
		ranks->send[rank] = calloc(RANKS * COUNT, sizeof(__s64));
		ranks->recv[rank] = calloc(RANKS * COUNT, sizeof(__s64));
		if (!ranks->send[rank] || !ranks->recv[rank])
			err = -ENOMEM;
	}
	return err;
}

static inline void ranks_teardown(struct ranks *ranks)
{
	int rank;

	for (rank = 0; rank < RANKS; rank++) {
		close(ranks->fd[rank]);
		free(ranks->send[rank]);
		free(ranks->recv[rank]);
	}
}

FIXTURE(nosync) {
	struct ranks ranks;
};

FIXTURE_SETUP(nosync)
{
	ASSERT_EQ(0, ranks_setup(&self->ranks));
}

FIXTURE_TEARDOWN(nosync)
{
	ranks_teardown(&self->ranks);
}

static inline bool reduces(__u8 opcode)
{
	return opcode == COLLECTIVE_REDUCE || opcode == COLLECTIVE_SCAN ||
	       opcode == COLLECTIVE_EXSCAN || opcode == COLLECTIVE_ALLREDUCE;
}

static inline struct collective_op call_of(const struct ranks *ranks, int rank, __u8 opcode,
					   int root, size_t count)
{
	return (struct collective_op){
		.opcode = opcode,
		.type = COLLECTIVE_INT64,
		.reduction = reduces(opcode) ? COLLECTIVE_SUM : 0,
		.flags = COLLECTIVE_F_NOSYNC,
		.root = opcode == COLLECTIVE_SCAN || opcode == COLLECTIVE_EXSCAN ? 0 : root,
		.timeout_ms = BLOCKING_MS,
		.count = count,
		.send = (uintptr_t)ranks->send[rank],
		.recv = (uintptr_t)ranks->recv[rank],
	};
}

/* Element @i of the input of a rank in a round. */
static inline __s64 input(int rank, size_t i, int round)
{
	return 1000000LL * rank + 1000 * i + round;
}

/* The sum of element @i of the first @ranks ranks. */
static inline __s64 sum(int ranks, size_t i, int round)
{
	__s64 all = 0;
	int rank;

	for (rank = 0; rank < ranks; rank++)
		all += input(rank, i, round);
	return all;
}

/* Element @i of the result of a rank; @has: whether it has one. */
static inline __s64 expected(__u8 opcode, int root, int rank, size_t count, size_t i,
			     int round, bool *has)
{
	*has = true;
	switch (opcode) {
	case COLLECTIVE_BROADCAST:
		return input(root, i, round);
	case COLLECTIVE_SCATTER:
		return input(root, rank * count + i, round);
	case COLLECTIVE_SCAN:
		return sum(rank + 1, i, round);
	case COLLECTIVE_EXSCAN:
		*has = rank;
		return sum(rank, i, round);
	case COLLECTIVE_REDUCE:
		*has = rank == root;
		return sum(RANKS, i, round);
	default:
		*has = rank == root;
		return input(i / count, i % count, round);
	}
}

/* Call as @rank, and wait.  Return: 0, a negative errno, or the number of wrong elements. */
static inline int call(const struct ranks *ranks, int rank, __u8 opcode, int root, size_t count,
		       int round)
{
	const struct collective_op op = call_of(ranks, rank, opcode, root, count);
	const size_t results = opcode == COLLECTIVE_GATHER ? RANKS * count : count;
	int err, wrong = 0;
	bool has;
	size_t i;

	for (i = 0; i < RANKS * COUNT; i++)
		ranks->send[rank][i] = input(rank, i, round);
	memset(ranks->recv[rank], 0xff, RANKS * COUNT * sizeof(__s64));
	err = member_submit(ranks->fd[rank], &op);
	for (i = 0; !err && i < results; i++) {
		const __s64 value = expected(opcode, root, rank, count, i, round, &has);

		wrong += ranks->recv[rank][i] != (has ? value : -1);
	}
	return err ?: wrong;
}

static const __u8 collectives[] = {
	COLLECTIVE_BROADCAST, COLLECTIVE_SCATTER, COLLECTIVE_REDUCE, COLLECTIVE_GATHER,
	COLLECTIVE_SCAN, COLLECTIVE_EXSCAN,
};

/* The ranks in an order in which each finds what it needs. */
static inline void order_of(__u8 opcode, int root, int *order)
{
	const bool first = opcode == COLLECTIVE_BROADCAST || opcode == COLLECTIVE_SCATTER;
	int rank, n = 0;

	if (opcode == COLLECTIVE_SCAN || opcode == COLLECTIVE_EXSCAN)
		root = -1;
	if (root >= 0 && first)
		order[n++] = root;
	for (rank = 0; rank < RANKS; rank++)
		if (rank != root)
			order[n++] = rank;
	if (root >= 0 && !first)
		order[n++] = root;
}

/* All ranks call, one after the other.  Return: 0, or as call() of the one that fails. */
static inline int call_in_order(const struct ranks *ranks, __u8 opcode, int root, size_t count,
				int round)
{
	int order[RANKS], err = 0, i;

	order_of(opcode, root, order);
	for (i = 0; !err && i < RANKS; i++)
		err = call(ranks, order[i], opcode, root, count, round);
	if (err)
		dprintf(STDOUT_FILENO, "# rank %d: opcode %d, root %d, count %zu: %d\n",
			order[i - 1], opcode, root, count, err);
	return err;
}

/* One thread calls for all ranks, so that each call returns before the next is made. */
static inline int one_thread_is_all_ranks(const struct ranks *ranks)
{
	static const size_t counts[] = { 1, 6, 7, 100, COUNT / RANKS };
	int round = 0, root;
	size_t c, n;

	for (c = 0; c < sizeof(collectives); c++)
		for (root = 0; root < RANKS; root++)
			for (n = 0; n < sizeof(counts) / sizeof(*counts); n++, round++)
				CHECK_EQ(0, call_in_order(ranks, collectives[c], root, counts[n],
							  round));
	return 0;
}

static inline __u64 start(const struct ranks *ranks, int rank, __u8 opcode, int root, size_t count)
{
	const struct collective_op op = call_of(ranks, rank, opcode, root, count);
	__u64 request = 0;

	return member_start(ranks->fd[rank], &op, &request) ? 0 : request;
}

/* Operations in which all ranks are right, after failures.  Return: 0 or how many have failed. */
static inline int go_on(const struct ranks *ranks)
{
	int round, rank, wrong = 0;

	for (round = 0; round < GO_ON; round++)
		for (rank = 0; rank < RANKS; rank++)
			wrong += !!call(ranks, rank, COLLECTIVE_SCAN, 0, 1 + round % 9, round);
	return wrong;
}

/*
 * Does STATUS name the call of the rank that differs, and that of another one?  Which of these is
 * named depends on which of them looks first.
 */
static inline bool names(int fd, __u64 instance, __u64 count, unsigned int other, __u64 other_count)
{
	struct collective_status status;
	const struct collective_call *a, *b;

	if (member_status(fd, &status) || status.last.kind != COLLECTIVE_REASON_MISMATCH)
		return false;
	a = &status.calls[status.calls[0].rank == other];
	b = &status.calls[status.calls[0].rank != other];
	return status.last.instance == instance && a->rank < RANKS && a->rank != other &&
	       a->count == count && b->rank == other && b->count == other_count;
}

/* Wait until a failure has come to a rank.  Return: the result of its next call. */
static inline int next_call(const struct ranks *ranks, int rank)
{
	usleep(1000 * enough_ms(500));
	return call(ranks, rank, COLLECTIVE_SCAN, 0, 1, 0);
}

/*
 * Rank 0 is @ahead operations ahead when rank 1 calls the fourth one differently.  @pause_ms: until
 * rank 2, which has called none, knows of it.  Return: 0 or 1.
 */
static inline int differs_many_behind(const struct ranks *ranks, int ahead, int pause_ms)
{
	int round, rank;

	for (round = 0; round < ahead; round++)
		CHECK_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 2, round));
	for (round = 0; round < 3; round++)
		CHECK_EQ(0, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 2, round));
	CHECK_EQ(-EBADMSG, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 1, 3));
	CHECK(names(ranks->fd[1], 3, 2, 1, 1));
	usleep(1000 * pause_ms);
	for (round = 0; round < 3; round++)
		CHECK_EQ(0, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 2, round));
	CHECK_EQ(-EBADMSG, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 2, 3));
	/* Others have ended meanwhile, too. */
	for (round = 4; round < ahead; round++)
		for (rank = 1; rank < RANKS; rank++)
			CHECK_EQ(0, call(ranks, rank, COLLECTIVE_BROADCAST, 0, 2, round));
	CHECK_EQ(-EBADMSG, next_call(ranks, 0));
	CHECK(names(ranks->fd[0], 3, 2, 1, 1));
	CHECK_EQ(0, call(ranks, 1, COLLECTIVE_SCAN, 0, 1, 0));
	CHECK_EQ(0, call(ranks, 2, COLLECTIVE_SCAN, 0, 1, 0));
	CHECK_EQ(0, go_on(ranks));
	return 0;
}

/*
 * Two ranks have gone on when the last calls something that no rank completes by itself, with
 * @count elements, on another path.  Return: 0 or 1.
 */
static inline int differs_on_another_path(const struct ranks *ranks, size_t count)
{
	__s64 *memory = calloc(2 * count, sizeof(*memory));
	struct collective_op op = call_of(ranks, 2, COLLECTIVE_ALLREDUCE, 0, count);

	CHECK(memory);
	op.send = (uintptr_t)memory;
	op.recv = (uintptr_t)(memory + count);
	CHECK_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 2, 0));
	CHECK_EQ(0, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 2, 0));
	CHECK_EQ(-EBADMSG, member_submit(ranks->fd[2], &op));
	CHECK_EQ(-EBADMSG, next_call(ranks, 0));
	CHECK_EQ(-EBADMSG, next_call(ranks, 1));
	CHECK(names(ranks->fd[0], 0, 2, 2, count));
	CHECK_EQ(0, call(ranks, 2, COLLECTIVE_SCAN, 0, 1, 0));
	CHECK_EQ(0, go_on(ranks));
	free(memory);
	return 0;
}

#endif /* COLL_NOSYNC_H */
