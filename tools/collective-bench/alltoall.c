// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static void prepare(struct bench *bench, const struct trial *trial)
{
	int rank;

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
	if (request)
		return coll_ialltoall(bench->comm, bench->send, bench->recv,
				      trial->count, trial->type, request);
	return coll_alltoall(bench->comm, bench->send, bench->recv,
			     trial->count, trial->type);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern mine = bench_pattern_block(bench, trial, bench->rank);
	uint64_t wrong = 0;
	int rank;

	for (rank = 0; rank < bench->nranks; rank++) {
		struct pattern p = bench_pattern_block(bench, trial, rank);

		wrong += pattern_check_input(&mine, rank,
					     bench_block(bench->recv, trial, rank),
					     trial->count) +
			 pattern_check_input(&p, bench->rank,
					     bench_block(bench->send, trial, rank),
					     trial->count);
	}
	return wrong;
}

const struct collective bench_alltoall = {
	.name = "alltoall",
	.typed = true,
	.blocks = true,
	.two_buffers = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run,
	.check = check,
};
