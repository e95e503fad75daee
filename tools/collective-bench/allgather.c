// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static void *input(struct bench *bench, const struct trial *trial)
{
	return bench->in_place ? bench_block(bench->recv, trial, bench->rank) :
				 bench->send;
}

static void prepare(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	memset(bench->recv, 0xa5, trial->size);
	pattern_fill(&p, bench->rank, input(bench, trial), trial->count);
}

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	const void *send = bench->in_place ? COLL_IN_PLACE : bench->send;

	if (request)
		return coll_iallgather(bench->comm, send, bench->recv,
				       trial->count, trial->type, request);
	return coll_allgather(bench->comm, send, bench->recv, trial->count,
			      trial->type);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	return bench_check_gathered(bench, trial) +
	       bench_check_send(bench, trial);
}

const struct collective bench_allgather = {
	.name = "allgather",
	.typed = true,
	.blocks = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run,
	.check = check,
};
