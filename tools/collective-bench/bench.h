/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <collective.h>

enum bench_check { CHECK_ALL, CHECK_LAST, CHECK_NONE };

/**
 * struct bench - one rank's run
 * @min: smallest size, bytes
 * @max: largest size, bytes
 * @factor: from one size to the next
 * @types: bit (1 << enum coll_type)
 * @ops: bit (1 << enum coll_op)
 * @iters: timed repetitions; 0: by size
 * @warmup: repetitions before them; -1: by size
 * @in_place: result over input
 * @unregistered: plain memory
 * @csv: for programs
 * @check: which results to compare
 * @comm: the group
 * @rank: mine
 * @nranks: how many
 * @send: @max bytes; equal to @recv when @in_place
 * @recv: @max bytes
 * @round: repetitions so far, so that no two have the same values
 * @wrong: elements found wrong so far, in the whole group
 */
struct bench {
	size_t min;
	size_t max;
	size_t factor;
	unsigned int types;
	unsigned int ops;
	int iters;
	int warmup;
	bool in_place;
	bool unregistered;
	bool csv;
	enum bench_check check;

	struct coll_comm *comm;
	int rank;
	int nranks;
	void *send;
	void *recv;
	uint64_t round;
	uint64_t wrong;
};

/**
 * struct trial - one line of the table
 * @size: bytes
 * @count: elements
 * @type: theirs
 * @op: to reduce with
 * @iters: timed repetitions
 * @warmup: untimed ones
 */
struct trial {
	size_t size;
	size_t count;
	enum coll_type type;
	enum coll_op op;
	int iters;
	int warmup;
};

/**
 * struct collective - what can be measured
 * @name: on the command line
 * @typed: a line each type, operation and size; else one line
 * @bus_factor: bus bandwidth over algorithm bandwidth
 * @prepare: write this round's input
 * @run: the call that is timed
 * @check: elements of the result that are wrong
 */
struct collective {
	const char *name;
	bool typed;
	double (*bus_factor)(int nranks);
	void (*prepare)(struct bench *bench, const struct trial *trial);
	int (*run)(struct bench *bench, const struct trial *trial);
	uint64_t (*check)(struct bench *bench, const struct trial *trial);
};

extern const struct collective bench_allreduce;
extern const struct collective bench_barrier;

/* All of @collective's lines.  0 or an exit status. */
int bench_measure(struct bench *bench, const struct collective *collective);

/* Print what failed and return the exit status. */
int bench_fail(struct bench *bench, const char *what, int err);

/* Names as "f32" and "sum"; -1 when there is no such. */
const char *bench_type_name(enum coll_type type);
const char *bench_op_name(enum coll_op op);
int bench_type_find(const char *name);
int bench_op_find(const char *name);
bool bench_type_takes(enum coll_type type, enum coll_op op);

#define BENCH_TYPES	(COLL_FLOAT64 + 1)
#define BENCH_OPS	(COLL_LXOR + 1)

#endif /* BENCH_H */
