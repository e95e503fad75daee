// SPDX-License-Identifier: GPL-2.0-only
/*
 * Marks the intervals in which the machine's plugin counts instructions.
 *
 *	collective-run -n RANKS instructions allreduce|barrier BYTES OPERATIONS
 *
 * Rank 0 makes three marks: before OPERATIONS calls, after them, and after twice as many
 * more.  The difference of the two intervals has the cost of OPERATIONS calls only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <collective.h>

#include "../vm/plugin/mark.h"

struct work {
	struct coll_comm *comm;
	float *in, *out;
	size_t count;
	int operations;
};

static int repeat(const struct work *work, int times)
{
	int i, err = 0;

	for (i = 0; !err && i < times; i++)
		err = work->in ? coll_allreduce(work->comm, work->in, work->out, work->count,
						COLL_FLOAT32, COLL_SUM) :
				 coll_barrier(work->comm);
	return err;
}

static int run(const struct work *work)
{
	int rank = coll_rank(work->comm), times, err;

	err = repeat(work, 200);
	for (times = 0; !err && times <= 2; times++) {
		err = repeat(work, times * work->operations);
		if (!rank)
			count_mark();
	}
	return err;
}

int main(int argc, char **argv)
{
	struct work work = { 0 };
	size_t bytes;
	int err;

	if (argc != 4)
		return 2;
	bytes = strtoul(argv[2], NULL, 10);
	work.operations = atoi(argv[3]);
	err = coll_init(&work.comm, NULL);
	if (!err && !strcmp(argv[1], "allreduce")) {
		work.count = bytes / sizeof(float);
		work.in = coll_mem_alloc(work.comm, bytes);
		work.out = coll_mem_alloc(work.comm, bytes);
		if (!work.in || !work.out)
			return 1;
		memset(work.in, 0, bytes);
	}
	if (!err)
		err = run(&work);
	if (err)
		fprintf(stderr, "instructions: %s\n", coll_strerror(err));
	coll_finalize(work.comm);
	return err ? 1 : 0;
}
