// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static void prepare(struct bench *bench, const struct trial *trial)
{
	if (!bench->in_place)
		memset(bench->recv, 0xa5, trial->size);
	bench_prepare_blocks(bench, trial);
}

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	const void *send = bench->in_place ? COLL_IN_PLACE : bench->send;

	if (request)
		return coll_ireduce_scatter(bench->comm, send, bench->recv,
					    trial->count, trial->type,
					    trial->op, request);
	return coll_reduce_scatter(bench->comm, send, bench->recv, trial->count,
				   trial->type, trial->op);
}

static int run_uneven(struct bench *bench, const struct trial *trial,
		      struct coll_request **request)
{
	const void *send = bench->in_place ? COLL_IN_PLACE : bench->send;

	if (request)
		return coll_ireduce_scatterv(bench->comm, send, trial->displs,
					     bench->recv, trial->counts,
					     trial->type, trial->op, request);
	return coll_reduce_scatterv(bench->comm, send, trial->displs,
				    bench->recv, trial->counts, trial->type,
				    trial->op);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern_block(bench, trial, bench->rank);
	uint64_t wrong = pattern_check_result(&p, bench->recv,
					      trial->counts[bench->rank]);

	return bench->in_place ? wrong : wrong + bench_check_blocks(bench, trial);
}

const struct collective bench_reduce_scatter = {
	.name = "reduce_scatter",
	.typed = true,
	.reduces = true,
	.blocks = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run,
	.check = check,
};

const struct collective bench_reduce_scatterv = {
	.name = "reduce_scatterv",
	.typed = true,
	.reduces = true,
	.blocks = true,
	.uneven = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run_uneven,
	.check = check,
};
