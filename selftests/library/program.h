/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random programs of the library.  The ranks of a communicator draw the same operations, and each
 * rank draws for itself in which form it calls them, where its buffers lie, and when it waits.
 */
#ifndef COLL_PROGRAM_H
#define COLL_PROGRAM_H

#include <collective.h>
#include <liburing.h>
#include <stdbool.h>

#include "sim/rng.h"

#define PROGRAM_RANKS	6
#define PROGRAM_THREADS	3
#define PROGRAM_SLOTS	6
#define PROGRAM_HALF	(256 * 1024)	/* bytes for the input of an operation, or its result */

enum program_kind {
	PROGRAM_BARRIER,
	PROGRAM_ALLREDUCE,
	PROGRAM_REDUCE,
	PROGRAM_BROADCAST,
	PROGRAM_ALLGATHER,
	PROGRAM_REDUCE_SCATTER,
	PROGRAM_GATHER,
	PROGRAM_SCATTER,
	PROGRAM_ALLTOALL,
	PROGRAM_SCAN,
	PROGRAM_EXSCAN,
	PROGRAM_SHIFT,			/* each rank sends to the next one */
	PROGRAM_BASIC,			/* the kinds before this have all forms */
	PROGRAM_ALLGATHERV = PROGRAM_BASIC,
	PROGRAM_GATHERV,
	PROGRAM_SCATTERV,
	PROGRAM_ALLTOALLV,
	PROGRAM_REDUCE_SCATTERV,
	PROGRAM_ALLGATHER_VIEW,
	PROGRAM_REDUCE_SCATTER_VIEW,
	PROGRAM_ALLTOALL_VIEW,
	PROGRAM_BROADCAST_VARLEN,
	PROGRAM_SCATTER_VARLEN,
	PROGRAM_KINDS
};

enum program_form {
	PROGRAM_BLOCKING,
	PROGRAM_NONBLOCKING,
	PROGRAM_PERSISTENT,
	PROGRAM_SQE,
};

enum program_fault {
	PROGRAM_NO_FAULT,
	PROGRAM_MISMATCH,		/* the culprit passes one element more */
	PROGRAM_CANCEL,			/* the culprit cancels */
};

/**
 * struct program_op - an operation, the same on all ranks
 * @number: of the operation; inputs depend on it
 * @kind: enum program_kind
 * @type: of the elements
 * @reduction: if it reduces
 * @n: number of ranks
 * @root: if it has one
 * @count: elements of the block that a rank (first index) has for another one; of a rank that has
 *	one block only, all are alike
 * @tag: of a message
 * @fault: enum program_fault
 * @culprit: rank that causes it
 */
struct program_op {
	u32 number;
	int kind;
	int type;
	int reduction;
	int n;
	int root;
	size_t count[PROGRAM_RANKS][PROGRAM_RANKS];
	long long tag;
	int fault;
	int culprit;
};

/**
 * struct program_area - blocks of a buffer
 * @at: address that the library is told
 * @n: number of blocks
 * @size: bytes of an element
 * @count: elements of each block
 * @displ: offset of each block, in elements
 * @view: rows of the blocks; @displ is valid with it, too
 */
struct program_area {
	u8 *at;
	int n;
	size_t size;
	size_t count[PROGRAM_RANKS];
	size_t displ[PROGRAM_RANKS];
	struct coll_view view;
};

/**
 * struct program_slot - an operation under way, with its memory
 * @busy: true if it is under way
 * @op: the operation
 * @form: enum program_form
 * @in_place: true if the input lies in the result
 * @send: where the input is
 * @recv: where the result will be; @n is 0 if this rank gets none
 * @arena: PROGRAM_HALF bytes for the input and as many for the result
 * @expected: what @arena must hold afterwards
 * @readable: true if a child of the process has the memory, too
 * @varlen: length that is passed and returned
 * @request: handles; NULL: none, or an SQE
 * @pending: completions of SQEs that have not come
 * @result: result of the operation
 */
struct program_slot {
	bool busy;
	struct program_op op;
	int form;
	bool in_place;
	struct program_area send;
	struct program_area recv;
	u8 *arena;
	u8 *expected;
	bool readable;
	size_t varlen;
	struct coll_request *request[2];
	int pending;
	int result;
};

/**
 * struct program - what all ranks know of a program
 * @seed: seed of all choices
 * @nranks: number of ranks
 * @threads: number of threads of each rank, each with a communicator of its own
 * @steps: number of operations of each thread
 * @flags: COLL_CONFIG_*
 * @victim: rank that is killed; -1: none
 * @victim_step: step in which it is
 */
struct program {
	u64 seed;
	int nranks;
	int threads;
	int steps;
	unsigned int flags;
	int victim;
	int victim_step;
};

/**
 * struct program_thread - a thread of a rank
 * @program: the program
 * @comm: its communicator
 * @rank: this rank in it
 * @n: number of ranks in it
 * @common: choices that are the same on all ranks of @comm
 * @local: choices of this rank
 * @slot: operations under way
 * @ring: for SQEs
 * @number: number of operations so far
 * @err: first unexpected error
 */
struct program_thread {
	const struct program *program;
	struct coll_comm *comm;
	int rank;
	int n;
	struct rng common;
	struct rng local;
	struct program_slot slot[PROGRAM_SLOTS];
	struct io_uring ring;
	u32 number;
	int err;
};

extern const char * const program_kinds[PROGRAM_KINDS];

/* program_op.c: which operation, where its blocks are, and what they hold. */
void program_op_choose(struct program_thread *t, struct program_op *op);
void program_slot_fill(struct program_thread *t, struct program_slot *slot);
/* Compare the memory after the operation.  Return: 0, or 1 after a message. */
int program_slot_check(struct program_thread *t, struct program_slot *slot);

/*
 * program_call.c: call the library.  Return: 0: the operation is under way, or complete with
 * PROGRAM_BLOCKING; or a negative errno.
 */
int program_call(struct program_thread *t, struct program_slot *slot);

#endif /* COLL_PROGRAM_H */
