/* SPDX-License-Identifier: GPL-2.0-only */
/* One call of each collective, and of messages in pairs, with a check of every element. */
#ifndef COLL_EVERY_H
#define COLL_EVERY_H

#include <linux/collective.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct every - a rank that calls all collectives
 * @rank: its number
 * @nranks: number of ranks
 * @submit: calls an operation and waits for it; returns 0 or a negative errno
 * @ctx: argument of @submit
 * @count: elements of a vector or block
 * @send: room for a block of each rank
 * @recv: likewise
 */
struct every {
	unsigned int rank;
	unsigned int nranks;
	int (*submit)(void *ctx, const struct collective_op *op);
	void *ctx;
	size_t count;
	__u32 *send;
	__u32 *recv;
};

static inline __u32 every_input(unsigned int rank, size_t i)
{
	return (i + 1) * 2654435761U + rank * 1000003;
}

/* The sum of element @i over the first @ranks ranks. */
static inline __u32 every_sum(unsigned int ranks, size_t i)
{
	return ranks * every_input(0, i) + ranks * (ranks - 1) / 2 * 1000003;
}

/* Element @i of the result. */
static inline __u32 every_result(const struct every *e, const struct collective_op *op, size_t i)
{
	const size_t block = i / e->count, at = i % e->count, own = e->rank * e->count;

	switch (op->opcode) {
	case COLLECTIVE_BROADCAST:
		return every_input(op->root, i);
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_GATHER:
		return every_input(block, at);
	case COLLECTIVE_SCATTER:
		return every_input(op->root, own + i);
	case COLLECTIVE_ALLTOALL:
		return every_input(block, own + at);
	case COLLECTIVE_REDUCE_SCATTER:
		return every_sum(e->nranks, own + i);
	case COLLECTIVE_SCAN:
		return every_sum(e->rank + 1, i);
	case COLLECTIVE_EXSCAN:
		return every_sum(e->rank, i);
	case COLLECTIVE_RECV:
		return every_input(op->root, i);
	default:
		return every_sum(e->nranks, i);
	}
}

/* Elements of the result of this rank. */
static inline size_t every_length(const struct every *e, const struct collective_op *op)
{
	switch (op->opcode) {
	case COLLECTIVE_BARRIER:
	case COLLECTIVE_SEND:
		return 0;
	case COLLECTIVE_REDUCE:
		return e->rank == op->root ? e->count : 0;
	case COLLECTIVE_EXSCAN:
		return e->rank ? e->count : 0;
	case COLLECTIVE_GATHER:
		return e->rank == op->root ? e->nranks * e->count : 0;
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLTOALL:
		return e->nranks * e->count;
	default:
		return e->count;
	}
}

static inline int every_call(const struct every *e, int opcode, unsigned int root)
{
	struct collective_op op = { .opcode = opcode };
	size_t i, length;
	int err;

	for (i = 0; i < e->nranks * e->count; i++) {
		e->send[i] = every_input(e->rank, i);
		e->recv[i] = 0;
	}
	if (opcode != COLLECTIVE_BARRIER) {
		op.type = COLLECTIVE_UINT32;
		op.root = root;
		op.count = e->count;
		op.send = opcode == COLLECTIVE_RECV ? 0 : (uintptr_t)e->send;
		op.recv = opcode == COLLECTIVE_SEND ? 0 : (uintptr_t)e->recv;
	}
	if (opcode == COLLECTIVE_BROADCAST && e->rank == root)
		memcpy(e->recv, e->send, e->count * sizeof(*e->recv));
	if (opcode == COLLECTIVE_BROADCAST)
		op.send = op.recv;
	err = e->submit(e->ctx, &op);
	if (err) {
		printf("# rank %u: opcode %d, root %u, count %zu: %d\n", e->rank, opcode, root,
		       e->count, err);
		return err;
	}
	length = every_length(e, &op);
	for (i = 0; i < length; i++)
		if (e->recv[i] != every_result(e, &op, i)) {
			printf("# rank %u: opcode %d, root %u, count %zu: wrong element %zu\n",
			       e->rank, opcode, root, e->count, i);
			return 1;
		}
	return 0;
}

/* A message in each direction between the ranks that differ in @bit. */
static inline int every_message(const struct every *e, unsigned int bit)
{
	const unsigned int peer = e->rank ^ bit;
	int err;

	if (peer >= e->nranks)
		return 0;
	err = every_call(e, e->rank < peer ? COLLECTIVE_SEND : COLLECTIVE_RECV, peer);
	return err ? err : every_call(e, e->rank < peer ? COLLECTIVE_RECV : COLLECTIVE_SEND, peer);
}

static inline bool every_rooted(int opcode)
{
	return opcode == COLLECTIVE_REDUCE || opcode == COLLECTIVE_BROADCAST ||
	       opcode == COLLECTIVE_GATHER || opcode == COLLECTIVE_SCATTER;
}

/**
 * every_run() - call each collective once, those with a root once for each of @roots roots
 * @e: the rank; all ranks call this with the same count
 * @roots: most roots
 *
 * Return: 0, or what failed, which has been printed.
 */
static inline int every_run(const struct every *e, unsigned int roots)
{
	static const int opcodes[] = {
		COLLECTIVE_BARRIER, COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE, COLLECTIVE_BROADCAST,
		COLLECTIVE_ALLGATHER, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_GATHER,
		COLLECTIVE_SCATTER, COLLECTIVE_ALLTOALL, COLLECTIVE_SCAN, COLLECTIVE_EXSCAN,
	};
	unsigned int i, root, bit;
	int err = 0;

	for (i = 0; !err && i < sizeof(opcodes) / sizeof(*opcodes); i++)
		for (root = 0; !err && root < (every_rooted(opcodes[i]) ? roots : 1); root++)
			err = every_call(e, opcodes[i], root % e->nranks);
	for (bit = 1; !err && bit < e->nranks; bit <<= 1)
		err = every_message(e, bit);
	return err;
}

#endif /* COLL_EVERY_H */
