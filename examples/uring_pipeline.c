// SPDX-License-Identifier: GPL-2.0-only
/*
 * One event loop for files and collectives: a pipeline in a single io_uring.
 *
 *	collective-run -n 4 uring_pipeline [BLOCKS] [FOLDER]
 *
 * Every rank reads blocks of numbers from a file of its own; the blocks are summed over all
 * ranks, and the sums are written to another file.  Each block takes three linked SQEs: read,
 * allreduce, write.  DEPTH blocks are in progress at a time.  The thread only waits for the
 * next completion of any of them, while the kernel executes the collectives.
 *
 * Chains proceed at different speeds on different ranks, so the allreduces have keys: those
 * with the same key match, whenever they start.  The memory of all blocks is registered with
 * the ring once, for files and collectives alike.
 *
 * At the end the file is read again and compared with the expected sums.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <liburing.h>

#include <collective.h>
#include <collective_uring.h>

#define COUNT	65536		/* number of elements of a block */
#define BYTES	(COUNT * sizeof(uint32_t))
#define DEPTH	4		/* number of blocks in progress */
#define SQES	64		/* size of the ring, a power of two */

#define NO_BLOCK	(~0U)

enum stage { STAGE_READ, STAGE_SUM, STAGE_WRITE, STAGES };

/**
 * struct pipeline - state of one rank
 * @ring: the io_uring
 * @comm: communicator
 * @in: file that is read
 * @out: file to which the sums are written
 * @memory: DEPTH slots of one block each
 * @blocks: number of blocks
 * @block: block in each slot; NO_BLOCK: the slot is free
 * @next: first block that was not started
 * @done: number of blocks that have been written
 */
struct pipeline {
	struct io_uring ring;
	struct coll_comm *comm;
	int in;
	int out;
	uint32_t *memory;
	unsigned int blocks;
	unsigned int block[DEPTH];
	unsigned int next;
	unsigned int done;
};

static const char * const stage_names[STAGES] = { "read", "allreduce", "write" };

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "uring_pipeline: %s: %s\n", what, why);
	return 1;
}

/* Element @i of block @block on rank @rank. */
static uint32_t element(int rank, unsigned int block, unsigned int i)
{
	return (block * 31 + i) * (rank + 1);
}

/*
 * Fill in an SQE that sums a block over all ranks; the key is the block, so other ranks may be
 * at other blocks.
 */
static int sum(struct io_uring_sqe *sqe, struct coll_comm *comm, uint32_t *at,
	       unsigned int block)
{
	int err = coll_prep_allreduce(sqe, comm, COLL_IN_PLACE, at, COUNT, COLL_UINT32,
				      COLL_SUM);

	if (err)
		return err;
	coll_prep_key(sqe, block);
	coll_prep_fixed(sqe, 0);
	return 0;
}

/*
 * Linux 6.12 reads the SQE of a linked command when its turn comes, so its slot in the ring
 * must not be reused before.  A block may start only if that cannot happen to the chain of any
 * other block.
 */
static int may_begin(const struct pipeline *pipe)
{
	unsigned int slot, oldest = pipe->next;

	for (slot = 0; slot < DEPTH; slot++)
		if (pipe->block[slot] < oldest)
			oldest = pipe->block[slot];
	return pipe->next < pipe->blocks && (pipe->next - oldest + 1) * STAGES <= SQES;
}

/* Start a block in a free slot: fill in its three SQEs. */
static int begin(struct pipeline *pipe, unsigned int slot)
{
	unsigned int block = pipe->next++;
	uint32_t *at = pipe->memory + (size_t)slot * COUNT;
	struct io_uring_sqe *sqe;
	int stage, err = 0;

	pipe->block[slot] = block;
	for (stage = 0; !err && stage < STAGES; stage++) {
		sqe = io_uring_get_sqe(&pipe->ring);
		if (!sqe)
			return -EBUSY;
		if (stage == STAGE_READ)
			io_uring_prep_read_fixed(sqe, pipe->in, at, BYTES,
						 (uint64_t)block * BYTES, 0);
		else if (stage == STAGE_WRITE)
			io_uring_prep_write_fixed(sqe, pipe->out, at, BYTES,
						  (uint64_t)block * BYTES, 0);
		else
			err = sum(sqe, pipe->comm, at, block);
		if (stage != STAGE_WRITE)
			io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
		io_uring_sqe_set_data64(sqe, slot * STAGES + stage);
	}
	return err;
}

static int run(struct pipeline *pipe)
{
	unsigned int slot, stage;
	struct io_uring_cqe *cqe;
	int err, want;

	for (slot = 0; slot < DEPTH; slot++)
		pipe->block[slot] = NO_BLOCK;
	while (pipe->done < pipe->blocks) {
		for (slot = 0; slot < DEPTH; slot++) {
			if (pipe->block[slot] != NO_BLOCK || !may_begin(pipe))
				continue;
			err = begin(pipe, slot);
			if (err)
				return fail("a block", coll_strerror(err));
		}
		err = io_uring_submit_and_wait(&pipe->ring, 1);
		if (err < 0)
			return fail("io_uring", strerror(-err));
		err = io_uring_wait_cqe(&pipe->ring, &cqe);
		if (err)
			return fail("io_uring", strerror(-err));
		slot = cqe->user_data / STAGES;
		stage = cqe->user_data % STAGES;
		want = stage == STAGE_SUM ? 0 : (int)BYTES;
		if (cqe->res != want)
			return fail(stage_names[stage],
				    stage == STAGE_SUM ? coll_strerror(cqe->res) :
				    strerror(cqe->res < 0 ? -cqe->res : EIO));
		io_uring_cqe_seen(&pipe->ring, cqe);
		if (stage != STAGE_WRITE)
			continue;
		pipe->block[slot] = NO_BLOCK;
		pipe->done++;
	}
	return 0;
}

static int file_open(const char *folder, const char *name, int rank)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/uring_pipeline.%s.%d", folder, name, rank);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	/* The file is unlinked at once, so it disappears with the process. */
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int input_write(struct pipeline *pipe, int rank)
{
	unsigned int block, i;

	for (block = 0; block < pipe->blocks; block++) {
		for (i = 0; i < COUNT; i++)
			pipe->memory[i] = element(rank, block, i);
		if (pwrite(pipe->in, pipe->memory, BYTES, (off_t)block * BYTES) != (ssize_t)BYTES)
			return fail("the input", strerror(errno));
	}
	return 0;
}

static int output_check(struct pipeline *pipe, int nranks)
{
	unsigned int block, i;

	for (block = 0; block < pipe->blocks; block++) {
		if (pread(pipe->out, pipe->memory, BYTES, (off_t)block * BYTES) != (ssize_t)BYTES)
			return fail("the output", strerror(EIO));
		for (i = 0; i < COUNT; i++)
			if (pipe->memory[i] != element(0, block, i) * (nranks * (nranks + 1) / 2)) {
				fprintf(stderr, "uring_pipeline: block %u, element %u is wrong\n",
					block, i);
				return 1;
			}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct pipeline pipe = { .blocks = argc > 1 ? atoi(argv[1]) : 64 };
	const char *folder = argc > 2 ? argv[2] : "/tmp";
	struct iovec iovec;
	int err, rank, nranks, status;

	if (!pipe.blocks || argc > 3) {
		fprintf(stderr, "usage: uring_pipeline [BLOCKS] [FOLDER]\n");
		return 2;
	}
	err = coll_init(&pipe.comm, NULL);
	if (err)
		return fail("coll_init", coll_strerror(err));
	rank = coll_rank(pipe.comm);
	nranks = coll_size(pipe.comm);
	pipe.in = file_open(folder, "in", rank);
	pipe.out = file_open(folder, "out", rank);
	if (pipe.in < 0 || pipe.out < 0 ||
	    posix_memalign((void **)&pipe.memory, 4096, DEPTH * BYTES))
		return fail(folder, strerror(errno));
	err = io_uring_queue_init(SQES, &pipe.ring, IORING_SETUP_SQE128);
	if (err)
		return fail("io_uring", strerror(-err));
	iovec = (struct iovec){ pipe.memory, DEPTH * BYTES };
	err = io_uring_register_buffers(&pipe.ring, &iovec, 1);
	if (err)
		return fail("io_uring_register_buffers", strerror(-err));

	status = input_write(&pipe, rank) || run(&pipe) || output_check(&pipe, nranks);
	if (!status && !rank)
		printf("%d ranks: %u blocks of %zu KiB read, summed and written, %u at a time\n",
		       nranks, pipe.blocks, BYTES / 1024, DEPTH);
	io_uring_queue_exit(&pipe.ring);
	err = coll_finalize(pipe.comm);
	return status || err;
}
