/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <collective.h>

struct pattern;

/* Operations of a group that the kernel allows in flight. */
#define NONBLOCKING_MAX	512

/* A size_t has 64 powers of two. */
#define SIZES_MAX	64

enum bench_check { CHECK_ALL, CHECK_LAST, CHECK_NONE };

enum bench_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };

/* Where the result is: apart from the input, or over it. */
enum bench_place { PLACE_OUT, PLACE_IN, PLACES };

/**
 * struct bench - one rank's run
 * @min: smallest size; bytes
 * @max: largest size; bytes
 * @factor: ratio of neighbouring sizes
 * @sizes: sizes in rising order; bytes; from --sizes, or from @min, @max and @factor
 * @nsizes: number of sizes
 * @types: bits (1 << enum coll_type)
 * @ops: bits (1 << enum coll_op)
 * @iters: timed repetitions; 0: depends on the size
 * @warmup: untimed repetitions; -1: depends on the size
 * @min_time: time that @iters and @warmup are stretched to; ms; 0: no stretching
 * @seconds: each line is measured for so long, instead of @iters; 0: it is not
 * @places: bits (1 << enum bench_place) that are measured; 0: by @format and the collective
 * @in_place: true if the result of the current operation replaces the input
 * @unregistered: true if the buffers are plain memory
 * @format: of the output
 * @plot: file of a plot; NULL: none
 * @algorithm: as coll_config takes it; NULL: the environment's
 * @transport: auto, local, rdma or tcp; NULL: the environment's
 * @reproducible: true if reductions take the elements in the order of ranks
 * @root: rank of the root, of collectives that have one
 * @nonblocking: number of operations in flight, each with its own buffers; 0: blocking calls
 * @batch: calls, or groups of operations in flight, between two readings of the clock; 0: by
 *	batch_next()
 * @overlap: true if the overlap with computation is measured
 * @device: true if a device computes and the CPU sleeps
 * @cpu: true if the CPU time of an operation is measured as well
 * @check: which results are compared
 * @comm: communicator
 * @rank: rank of this process
 * @nranks: number of ranks
 * @out_base: input of all operations of a batch, batch_stride() bytes each, if it is apart from
 *	the result
 * @send_base: input of the current operations: @out_base, or @recv_base if @in_place
 * @recv_base: results of all operations of a batch
 * @send: input of the current operation, within @send_base
 * @recv: result of the current operation, within @recv_base
 * @round: number of the current operation; gives each operation other values
 * @links: number of links by transport, from bench_links()
 * @lines: lines that were measured, the same on all ranks
 * @wrong: wrong elements of all ranks so far
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
	int seconds;
	unsigned int places;
	bool in_place;
	bool unregistered;
	enum bench_format format;
	const char *plot;
	const char *algorithm;
	const char *transport;
	bool reproducible;
	int root;
	int nonblocking;
	int batch;
	bool overlap;
	bool device;
	bool cpu;
	enum bench_check check;

	struct coll_comm *comm;
	int rank;
	int nranks;
	void *out_base;
	void *send_base;
	void *recv_base;
	void *send;
	void *recv;
	uint64_t round;
	uint64_t links[3];
	unsigned int lines;
	uint64_t wrong;
};

/**
 * struct trial - one line of the output
 * @size: bytes of the vector, or of the blocks of all ranks
 * @count: elements of the vector, or of one rank's block on average
 * @counts: elements of each rank's block in this rank's buffers; NULL: there are no blocks
 * @displs: elements before each rank's block
 * @type: element type
 * @op: reduction operation; COLL_MAX if nothing is reduced
 * @iters: timed repetitions, of a batch each
 * @warmup: untimed repetitions
 * @batch: as in struct bench, for this size; 0: not determined yet
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
	int batch;
};

/**
 * struct collective - a collective that can be measured
 * @name: name on the command line
 * @typed: true if it has elements: a line for each type and size; otherwise one line
 * @reduces: true if it reduces: a line for each operation as well
 * @no_average: true if COLL_AVG is not supported
 * @blocks: true if one of its buffers has a block of each rank
 * @uneven: true if the blocks grow with the rank that sends or receives them
 * @paired: true if the blocks grow with the sum of both ranks, as there is one for each pair
 * @one_buffer: true if input and result are always the same buffer
 * @two_buffers: true if input and result are never the same buffer
 * @can_reproduce: true if --reproducible applies
 * @bus_factor: bus bandwidth over algorithm bandwidth; NULL: no bandwidth
 * @prepare: writes this round's input; NULL: there is none
 * @call: the blocking call
 * @icall: the nonblocking call
 * @check: counts the wrong elements of the result; NULL: there is no result
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

/* Returns NULL if there is no collective of that name. */
const struct collective *bench_find_collective(const char *name);

/* This round's values. */
struct pattern bench_pattern(const struct bench *bench,
			     const struct trial *trial);

/* This round's values of the block for @rank, if each rank has a block for each other rank. */
struct pattern bench_pattern_block(const struct bench *bench,
				   const struct trial *trial, int rank);

/* Address of the block of @rank in a buffer of blocks. */
void *bench_block(void *buffer, const struct trial *trial, int rank);

/* Divides the elements of all blocks: sets the counts and displacements of @trial. */
void bench_deal(const struct bench *bench, const struct collective *collective,
		struct trial *trial);

/* Writes the input that has a block for each rank. */
void bench_prepare_blocks(struct bench *bench, const struct trial *trial);

/* Counts the elements of that input that have changed: it must not be written. */
uint64_t bench_check_blocks(struct bench *bench, const struct trial *trial);

/* Counts the wrong elements of a result that has a block of each rank, with values of @p. */
uint64_t bench_check_gathered(struct bench *bench, const struct trial *trial,
			      const struct pattern *p);

/* Counts the elements of a vector or one block of input that have changed. */
uint64_t bench_check_send(struct bench *bench, const struct trial *trial);

/* Measures and prints all lines of @collective.  Return: 0 or an exit status. */
int bench_measure(struct bench *bench, const struct collective *collective);

/* Measures the overlap with computation and prints a line.  Return: 0 or an exit status. */
int bench_overlap(struct bench *bench, const struct collective *collective,
		  const struct trial *trial);

/* Prints the head of the lines of bench_overlap(). */
void bench_overlap_header(const struct bench *bench);

/*
 * Measures the CPU time of the whole host for an operation that takes @median_us.  Rank 0
 * gets it in @cpu_us.  Return: 0 or an exit status.
 */
int bench_cpu(struct bench *bench, const struct collective *collective,
	      const struct trial *trial, double median_us, double *cpu_us);

/*
 * Counts the links of the group by transport, and checks that all use the one of --transport.
 * Return: 0 or an exit status.
 */
int bench_links(struct bench *bench);

/* Prints which call failed.  Return: the exit status. */
int bench_fail(struct bench *bench, const char *what, int err);

/* Names such as "f32" and "sum"; the find functions return -1 for an unknown name. */
const char *bench_type_name(enum coll_type type);
const char *bench_op_name(enum coll_op op);
int bench_type_find(const char *name);
int bench_op_find(const char *name);

/* True if the type supports the operation. */
bool bench_type_takes(enum coll_type type, enum coll_op op);

#define BENCH_TYPES	(COLL_FLOAT64 + 1)
#define BENCH_OPS	(COLL_LXOR + 1)

#endif /* BENCH_H */
