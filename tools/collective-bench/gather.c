// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static bool in_place(const struct bench *bench)
{
	return bench->in_place && bench->rank == bench->root;
}

static void *input(struct bench *bench, const struct trial *trial)
{
	return in_place(bench) ? bench_block(bench->recv, trial, bench->rank) :
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
	const void *send = in_place(bench) ? COLL_IN_PLACE : bench->send;

	if (request)
		return coll_igather(bench->comm, send, bench->recv,
				    trial->count, trial->type, bench->root,
				    request);
	return coll_gather(bench->comm, send, bench->recv, trial->count,
			   trial->type, bench->root);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);
	uint64_t wrong = pattern_check_input(&p, bench->rank,
					     input(bench, trial), trial->count);

	if (bench->rank == bench->root)
		wrong += bench_check_gathered(bench, trial);
	return wrong;
}

const struct collective bench_gather = {
	.name = "gather",
	.typed = true,
	.blocks = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run,
	.check = check,
};
