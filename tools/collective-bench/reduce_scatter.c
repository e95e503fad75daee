// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static void prepare(struct bench *bench, const struct trial *trial)
{
	int rank;

	if (!bench->in_place)
		memset(bench->recv, 0xa5, trial->size);
	for (rank = 0; rank < bench->nranks; rank++) {
		struct pattern p = bench_pattern_block(bench, trial, rank);

		pattern_fill(&p, bench->rank, bench_block(bench->send, trial, rank),
			     trial->count);
	}
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

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern_block(bench, trial, bench->rank);
	uint64_t wrong = pattern_check_result(&p, bench->recv, trial->count);
	int rank;

	for (rank = 0; !bench->in_place && rank < bench->nranks; rank++) {
		p = bench_pattern_block(bench, trial, rank);
		wrong += pattern_check_input(&p, bench->rank,
					     bench_block(bench->send, trial, rank),
					     trial->count);
	}
	return wrong;
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
