// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

static void prepare(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (bench->rank == bench->root)
		pattern_fill(&p, bench->rank, bench->recv, trial->count);
	else
		memset(bench->recv, 0xa5, trial->size);
}

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	if (request)
		return coll_ibroadcast(bench->comm, bench->recv, trial->count,
				       trial->type, bench->root, request);
	return coll_broadcast(bench->comm, bench->recv, trial->count,
			      trial->type, bench->root);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	return pattern_check_input(&p, bench->root, bench->recv, trial->count);
}

const struct collective bench_broadcast = {
	.name = "broadcast",
	.typed = true,
	.one_buffer = true,
	.bus_factor = bench_bus_once,
	.prepare = prepare,
	.run = run,
	.check = check,
};
