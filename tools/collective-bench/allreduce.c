// SPDX-License-Identifier: GPL-2.0-only
#include "bench.h"
#include "pattern.h"

/* Of what a ring must carry over each rank's link, the part it cannot avoid. */
static double bus_factor(int nranks)
{
	return 2.0 * (nranks - 1) / nranks;
}

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	const void *send = bench->in_place ? COLL_IN_PLACE : bench->send;

	if (request)
		return coll_iallreduce(bench->comm, send, bench->recv,
				       trial->count, trial->type, trial->op,
				       request);
	return coll_allreduce(bench->comm, send, bench->recv, trial->count,
			      trial->type, trial->op);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	return pattern_check_result(&p, bench->recv, trial->count) +
	       bench_check_send(bench, trial);
}

const struct collective bench_allreduce = {
	.name = "allreduce",
	.typed = true,
	.reduces = true,
	.bus_factor = bus_factor,
	.prepare = bench_prepare_vector,
	.run = run,
	.check = check,
};
