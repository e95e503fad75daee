// SPDX-License-Identifier: GPL-2.0-only
/* Every other rank sends to the next one, which receives; the last may have none. */
#include <string.h>

#include "bench.h"
#include "pattern.h"

static bool receives(const struct bench *bench)
{
	return bench->rank & 1;
}

static void prepare(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (receives(bench))
		memset(bench->recv, 0xa5, trial->size);
	else
		pattern_fill(&p, bench->rank, bench->recv, trial->count);
}

static int run(struct bench *bench, const struct trial *trial,
	       struct coll_request **request)
{
	if (receives(bench))
		return request ?
		       coll_irecv(bench->comm, bench->recv, trial->count,
				  trial->type, bench->rank - 1, bench->round,
				  request) :
		       coll_recv(bench->comm, bench->recv, trial->count,
				 trial->type, bench->rank - 1, bench->round);
	if (request)
		*request = NULL;
	if (bench->rank + 1 == bench->nranks)
		return 0;
	return request ?
	       coll_isend(bench->comm, bench->recv, trial->count, trial->type,
			  bench->rank + 1, bench->round, request) :
	       coll_send(bench->comm, bench->recv, trial->count, trial->type,
			 bench->rank + 1, bench->round);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);
	int from = receives(bench) ? bench->rank - 1 : bench->rank;

	return pattern_check_input(&p, from, bench->recv, trial->count);
}

const struct collective bench_send = {
	.name = "send",
	.typed = true,
	.one_buffer = true,
	.bus_factor = bench_bus_once,
	.prepare = prepare,
	.run = run,
	.check = check,
};
