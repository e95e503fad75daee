// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static void prepare(struct bench *bench, const struct trial *trial)
{
	int rank;

	memset(bench->recv, 0xa5, trial->size);
	if (bench->rank != bench->root)
		return;
	for (rank = 0; rank < bench->nranks; rank++) {
		struct pattern p = bench_pattern_block(bench, trial, rank);

		pattern_fill(&p, bench->root, bench_block(bench->send, trial, rank),
			     trial->count);
	}
}

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	bool in_place = bench->in_place && bench->rank == bench->root;
	void *recv = in_place ? COLL_IN_PLACE : bench->recv;

	if (request)
		return coll_iscatter(bench->comm, bench->send, recv,
				     trial->count, trial->type, bench->root,
				     request);
	return coll_scatter(bench->comm, bench->send, recv, trial->count,
			    trial->type, bench->root);
}

/* In place, that is where the result is. */
static uint64_t check_root(struct bench *bench, const struct trial *trial)
{
	uint64_t wrong = 0;
	int rank;

	for (rank = 0; rank < bench->nranks; rank++) {
		struct pattern p = bench_pattern_block(bench, trial, rank);

		wrong += pattern_check_input(&p, bench->root,
					     bench_block(bench->send, trial, rank),
					     trial->count);
	}
	return wrong;
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern_block(bench, trial, bench->rank);
	uint64_t wrong = 0;

	if (bench->rank == bench->root)
		wrong = check_root(bench, trial);
	if (bench->rank != bench->root || !bench->in_place)
		wrong += pattern_check_input(&p, bench->root, bench->recv,
					     trial->count);
	return wrong;
}

const struct collective bench_scatter = {
	.name = "scatter",
	.typed = true,
	.blocks = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run,
	.check = check,
};
