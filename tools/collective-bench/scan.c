// SPDX-License-Identifier: GPL-2.0-only
#include "bench.h"
#include "pattern.h"

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	const void *send = bench->in_place ? COLL_IN_PLACE : bench->send;

	if (request)
		return coll_iscan(bench->comm, send, bench->recv, trial->count,
				  trial->type, trial->op, request);
	return coll_scan(bench->comm, send, bench->recv, trial->count,
			 trial->type, trial->op);
}

static int run_exclusive(struct bench *bench, const struct trial *trial,
			 struct coll_request **request)
{
	const void *send = bench->in_place ? COLL_IN_PLACE : bench->send;

	if (request)
		return coll_iexscan(bench->comm, send, bench->recv,
				    trial->count, trial->type, trial->op,
				    request);
	return coll_exscan(bench->comm, send, bench->recv, trial->count,
			   trial->type, trial->op);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	return pattern_check_scan(&p, bench->rank, bench->recv, trial->count) +
	       bench_check_send(bench, trial);
}

/* Rank 0 gets nothing. */
static uint64_t check_exclusive(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);
	uint64_t wrong = 0;

	if (bench->rank)
		wrong = pattern_check_scan(&p, bench->rank - 1, bench->recv,
					   trial->count);
	return wrong + bench_check_send(bench, trial);
}

const struct collective bench_scan = {
	.name = "scan",
	.typed = true,
	.reduces = true,
	.no_average = true,
	.bus_factor = bench_bus_once,
	.prepare = bench_prepare_vector,
	.run = run,
	.check = check,
};

const struct collective bench_exscan = {
	.name = "exscan",
	.typed = true,
	.reduces = true,
	.no_average = true,
	.bus_factor = bench_bus_once,
	.prepare = bench_prepare_vector,
	.run = run_exclusive,
	.check = check_exclusive,
};
