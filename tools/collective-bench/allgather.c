// SPDX-License-Identifier: GPL-2.0-only
#include "bench.h"
#include "pattern.h"

static void prepare(struct bench *bench, const struct trial *trial)
{
	bench_prepare_gather(bench, trial, bench->in_place);
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

static int run_uneven(struct bench *bench, const struct trial *trial,
		      struct coll_request **request)
{
	const void *send = bench->in_place ? COLL_IN_PLACE : bench->send;
	size_t count = trial->counts[bench->rank];

	if (request)
		return coll_iallgatherv(bench->comm, send, count, bench->recv,
					trial->counts, trial->displs,
					trial->type, request);
	return coll_allgatherv(bench->comm, send, count, bench->recv,
			       trial->counts, trial->displs, trial->type);
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

const struct collective bench_allgatherv = {
	.name = "allgatherv",
	.typed = true,
	.blocks = true,
	.uneven = true,
	.bus_factor = bench_bus_blocks,
	.prepare = prepare,
	.run = run_uneven,
	.check = check,
};
