/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <collective.h>

struct pattern;

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
 * @reproducible: reduce in the order of ranks
 * @root: of a broadcast
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
	bool reproducible;
	int root;
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
 * @size: bytes of the result
 * @count: elements, of one rank's block where the result gathers them
 * @type: theirs
 * @op: to reduce with, or what suits any type
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
 * @typed: a line each type and size; else one line
 * @reduces: ... and each operation
 * @no_average: which is not the average
 * @gathers: the result has a block of each rank
 * @one_buffer: there is no other place for the result than the input's
 * @bus_factor: bus bandwidth over algorithm bandwidth
 * @prepare: write this round's input
 * @run: the call that is timed
 * @check: elements of the result that are wrong
 */
struct collective {
	const char *name;
	bool typed;
	bool reduces;
	bool no_average;
	bool gathers;
	bool one_buffer;
	double (*bus_factor)(int nranks);
	void (*prepare)(struct bench *bench, const struct trial *trial);
	int (*run)(struct bench *bench, const struct trial *trial);
	uint64_t (*check)(struct bench *bench, const struct trial *trial);
};

extern const struct collective bench_allgather;
extern const struct collective bench_allreduce;
extern const struct collective bench_barrier;
extern const struct collective bench_broadcast;
extern const struct collective bench_scan;

/* This round's values. */
struct pattern bench_pattern(const struct bench *bench,
			     const struct trial *trial);

/* The bus factor where each link carries the vector once. */
double bench_bus_once(int nranks);

/* Write the input of one vector a rank. */
void bench_prepare_vector(struct bench *bench, const struct trial *trial);

/* Elements of the input that are not as they were: it is never written. */
uint64_t bench_check_send(struct bench *bench, const struct trial *trial);

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
