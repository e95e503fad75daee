// SPDX-License-Identifier: GPL-2.0-only
#include "bench.h"
#include "pattern.h"

static bool in_place(const struct bench *bench)
{
	return bench->in_place && bench->rank == bench->root;
}

static void prepare(struct bench *bench, const struct trial *trial)
{
	bench_prepare_gather(bench, trial, in_place(bench));
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

static int run_uneven(struct bench *bench, const struct trial *trial,
		      struct coll_request **request)
{
	const void *send = in_place(bench) ? COLL_IN_PLACE : bench->send;
	size_t count = trial->counts[bench->rank];

	if (request)
		return coll_igatherv(bench->comm, send, count, bench->recv,
				     trial->counts, trial->displs, trial->type,
				     bench->root, request);
	return coll_gatherv(bench->comm, send, count, bench->recv,
			    trial->counts, trial->displs, trial->type,
			    bench->root);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);
	uint64_t wrong = 0;

	if (!in_place(bench))
		wrong = pattern_check_input(&p, bench->rank, bench->send,
					    trial->counts[bench->rank]);
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

const struct collective bench_gatherv = {
	.name = "gatherv",
	.typed = true,
	.blocks = true,
	.uneven = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run_uneven,
	.check = check,
};
