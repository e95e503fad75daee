/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <collective.h>

struct pattern;

/* As many as the kernel lets be in flight. */
#define NONBLOCKING_MAX	512

/* Of 64 bits there are no more that are powers of two. */
#define SIZES_MAX	64

enum bench_check { CHECK_ALL, CHECK_LAST, CHECK_NONE };

/**
 * struct bench - one rank's run
 * @min: smallest size, bytes
 * @max: largest size, bytes
 * @factor: from one size to the next
 * @sizes: what follows from these, or was said instead, in rising order; bytes
 * @nsizes: how many
 * @types: bit (1 << enum coll_type)
 * @ops: bit (1 << enum coll_op)
 * @iters: timed repetitions; 0: by size
 * @warmup: repetitions before them; -1: by size
 * @min_time: do both more often, until they have taken so long; ms
 * @in_place: result over input
 * @unregistered: plain memory
 * @csv: for programs
 * @reproducible: reduce in the order of ranks
 * @root: of those that have one
 * @nonblocking: operations in flight at a time, each with buffers of its own; 0: the
 *	blocking call
 * @overlap: measure what is hidden behind computation
 * @device: that a device does
 * @cpu: measure the CPU time of an operation, too
 * @check: which results to compare
 * @comm: the group
 * @rank: mine
 * @nranks: how many
 * @send_base: @max bytes for each in flight; equal to @recv_base when @in_place
 * @recv_base: likewise
 * @send: of these, the present operation's
 * @recv: likewise
 * @round: the present operation's number, so that no two have the same values
 * @wrong: elements found wrong so far, in the whole group
 */
struct bench {
	size_t min;
	size_t max;
	size_t factor;
	size_t sizes[SIZES_MAX];
	int nsizes;
	unsigned int types;
	unsigned int ops;
	int iters;
	int warmup;
	int min_time;
	bool in_place;
	bool unregistered;
	bool csv;
	bool reproducible;
	int root;
	int nonblocking;
	bool overlap;
	bool device;
	bool cpu;
	enum bench_check check;

	struct coll_comm *comm;
	int rank;
	int nranks;
	void *send_base;
	void *recv_base;
	void *send;
	void *recv;
	uint64_t round;
	uint64_t wrong;
};

/**
 * struct trial - one line of the table
 * @size: bytes of the vector, or of all ranks' blocks
 * @count: elements, of one rank's block where there are blocks; the average
 * @counts: where there are blocks, elements of each in the buffers of this rank
 * @displs: elements before each; @counts and @displs have one for each rank
 * @type: theirs
 * @op: to reduce with, or what suits any type
 * @iters: timed repetitions
 * @warmup: untimed ones
 */
struct trial {
	size_t size;
	size_t count;
	size_t *counts;
	size_t *displs;
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
 * @blocks: one of its buffers has a block of each rank
 * @uneven: ... which grow with the rank that they are from or for
 * @paired: ... or with the sum of both, as there is one for each pair
 * @one_buffer: there is no other place for the result than the input's
 * @two_buffers: there must be
 * @bus_factor: bus bandwidth over algorithm bandwidth
 * @prepare: write this round's input
 * @run: the call that is timed: the blocking one, or with @request the other
 * @check: elements of the result that are wrong
 */
struct collective {
	const char *name;
	bool typed;
	bool reduces;
	bool no_average;
	bool blocks;
	bool uneven;
	bool paired;
	bool one_buffer;
	bool two_buffers;
	bool can_reproduce;
	double (*bus_factor)(int nranks);
	void (*prepare)(struct bench *bench, const struct trial *trial);
	int (*call)(struct bench *bench, const struct trial *trial);
	int (*icall)(struct bench *bench, const struct trial *trial,
		     struct coll_request **request);
	uint64_t (*check)(struct bench *bench, const struct trial *trial);
};

/* Ends with an entry without a name. */
extern const struct collective bench_collectives[];

/* NULL: there is no collective of that name. */
const struct collective *bench_find_collective(const char *name);

/* Bytes from one operation's buffer to the next one's. */
size_t bench_stride(const struct bench *bench);

/* This round's values. */
struct pattern bench_pattern(const struct bench *bench,
			     const struct trial *trial);

/* ... of the block for a rank, where a rank has one for each. */
struct pattern bench_pattern_block(const struct bench *bench,
				   const struct trial *trial, int rank);

/* Where a rank's block is in a buffer of blocks. */
void *bench_block(void *buffer, const struct trial *trial, int rank);

/* Cut the elements of all blocks together into @trial's counts. */
void bench_deal(const struct bench *bench, const struct collective *collective,
		struct trial *trial);

/* Write the input of a block for each rank. */
void bench_prepare_blocks(struct bench *bench, const struct trial *trial);

/* Elements of it that are not as they were. */
uint64_t bench_check_blocks(struct bench *bench, const struct trial *trial);

/* Elements of the blocks that were gathered that are wrong. */
uint64_t bench_check_gathered(struct bench *bench, const struct trial *trial);

/* Elements of the input that are not as they were: it is never written. */
uint64_t bench_check_send(struct bench *bench, const struct trial *trial);

/* All of @collective's lines.  0 or an exit status. */
int bench_measure(struct bench *bench, const struct collective *collective);

/* What of an operation is hidden behind computation: a line, and what is above. */
int bench_overlap(struct bench *bench, const struct collective *collective,
		  const struct trial *trial);
void bench_overlap_header(const struct bench *bench);

/*
 * CPU microseconds of the whole host for an operation that takes @median_us, by rank 0
 * in @cpu_us.  0 or an exit status.
 */
int bench_cpu(struct bench *bench, const struct collective *collective,
	      const struct trial *trial, double median_us, double *cpu_us);

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
