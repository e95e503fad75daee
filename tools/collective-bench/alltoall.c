// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static void prepare(struct bench *bench, const struct trial *trial)
{
	memset(bench->recv, 0xa5, trial->size);
	bench_prepare_blocks(bench, trial);
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

/* What goes to a rank is as much as what comes from it. */
static int run_uneven(struct bench *bench, const struct trial *trial,
		      struct coll_request **request)
{
	if (request)
		return coll_ialltoallv(bench->comm, bench->send, trial->counts,
				       trial->displs, bench->recv,
				       trial->counts, trial->displs,
				       trial->type, request);
	return coll_alltoallv(bench->comm, bench->send, trial->counts,
			      trial->displs, bench->recv, trial->counts,
			      trial->displs, trial->type);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern_block(bench, trial, bench->rank);
	uint64_t wrong = bench_check_blocks(bench, trial);
	int rank;

	for (rank = 0; rank < bench->nranks; rank++)
		wrong += pattern_check_input(&p, rank,
					     bench_block(bench->recv, trial, rank),
					     trial->counts[rank]);
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

const struct collective bench_alltoallv = {
	.name = "alltoallv",
	.typed = true,
	.blocks = true,
	.uneven = true,
	.paired = true,
	.two_buffers = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run_uneven,
	.check = check,
};
