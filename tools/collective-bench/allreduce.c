// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static struct pattern pattern(const struct bench *bench,
			      const struct trial *trial)
{
	return (struct pattern){
		.type = trial->type,
		.op = trial->op,
		.nranks = bench->nranks,
		.round = bench->round,
	};
}

/* Of what a ring must carry over each rank's link, the part it cannot avoid. */
static double bus_factor(int nranks)
{
	return 2.0 * (nranks - 1) / nranks;
}

static void prepare(struct bench *bench, const struct trial *trial)
{
	struct pattern p = pattern(bench, trial);

	if (!bench->in_place)
		memset(bench->recv, 0xa5, trial->size);
	pattern_fill(&p, bench->rank, bench->send, trial->count);
}

static int run(struct bench *bench, const struct trial *trial)
{
	return coll_allreduce(bench->comm,
			      bench->in_place ? COLL_IN_PLACE : bench->send,
			      bench->recv, trial->count, trial->type,
			      trial->op);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = pattern(bench, trial);
	uint64_t wrong = pattern_check_result(&p, bench->recv, trial->count);

	/* The input is never written. */
	if (!bench->in_place)
		wrong += pattern_check_input(&p, bench->rank, bench->send,
					     trial->count);
	return wrong;
}

const struct collective bench_allreduce = {
	.name = "allreduce",
	.typed = true,
	.bus_factor = bus_factor,
	.prepare = prepare,
	.run = run,
	.check = check,
};
