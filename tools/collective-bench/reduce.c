// SPDX-License-Identifier: GPL-2.0-only
#include "bench.h"
#include "pattern.h"

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	bool in_place = bench->in_place && bench->rank == bench->root;
	const void *send = in_place ? COLL_IN_PLACE : bench->send;

	if (request)
		return coll_ireduce(bench->comm, send, bench->recv,
				    trial->count, trial->type, trial->op,
				    bench->root, request);
	return coll_reduce(bench->comm, send, bench->recv, trial->count,
			   trial->type, trial->op, bench->root);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (bench->rank != bench->root)
		return pattern_check_input(&p, bench->rank, bench->send,
					   trial->count);
	return pattern_check_result(&p, bench->recv, trial->count) +
	       bench_check_send(bench, trial);
}

const struct collective bench_reduce = {
	.name = "reduce",
	.typed = true,
	.reduces = true,
	.bus_factor = bench_bus_once,
	.prepare = bench_prepare_vector,
	.run = run,
	.check = check,
};
