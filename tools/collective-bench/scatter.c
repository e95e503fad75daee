// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static void prepare(struct bench *bench, const struct trial *trial)
{
	memset(bench->recv, 0xa5, trial->size);
	if (bench->rank == bench->root)
		bench_prepare_blocks(bench, trial);
}

static void *output(const struct bench *bench)
{
	bool in_place = bench->in_place && bench->rank == bench->root;

	return in_place ? COLL_IN_PLACE : bench->recv;
}

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	if (request)
		return coll_iscatter(bench->comm, bench->send, output(bench),
				     trial->count, trial->type, bench->root,
				     request);
	return coll_scatter(bench->comm, bench->send, output(bench),
			    trial->count, trial->type, bench->root);
}

static int run_uneven(struct bench *bench, const struct trial *trial,
		      struct coll_request **request)
{
	size_t count = trial->counts[bench->rank];

	if (request)
		return coll_iscatterv(bench->comm, bench->send, trial->counts,
				      trial->displs, output(bench), count,
				      trial->type, bench->root, request);
	return coll_scatterv(bench->comm, bench->send, trial->counts,
			     trial->displs, output(bench), count, trial->type,
			     bench->root);
}

/* In place, the root's result is where its input is. */
static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern_block(bench, trial, bench->rank);
	uint64_t wrong = 0;

	if (bench->rank == bench->root)
		wrong = bench_check_blocks(bench, trial);
	if (bench->rank != bench->root || !bench->in_place)
		wrong += pattern_check_input(&p, bench->root, bench->recv,
					     trial->counts[bench->rank]);
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

const struct collective bench_scatterv = {
	.name = "scatterv",
	.typed = true,
	.blocks = true,
	.uneven = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run_uneven,
	.check = check,
};
