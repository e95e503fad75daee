// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bench.h"
#include "pattern.h"

/* A rank has its own block. */
static double bus_factor(int nranks)
{
	return (nranks - 1.0) / nranks;
}

static void *block(struct bench *bench, const struct trial *trial, int rank)
{
	return (char *)bench->recv +
	       rank * trial->count * coll_type_size(trial->type);
}

static void *input(struct bench *bench, const struct trial *trial)
{
	return bench->in_place ? block(bench, trial, bench->rank) : bench->send;
}

static void prepare(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	memset(bench->recv, 0xa5, trial->size);
	pattern_fill(&p, bench->rank, input(bench, trial), trial->count);
}

static int run(struct bench *bench, const struct trial *trial)
{
	return coll_allgather(bench->comm,
			      bench->in_place ? COLL_IN_PLACE : bench->send,
			      bench->recv, trial->count, trial->type);
}

static uint64_t check(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);
	uint64_t wrong = 0;
	int rank;

	for (rank = 0; rank < bench->nranks; rank++)
		wrong += pattern_check_input(&p, rank,
					     block(bench, trial, rank),
					     trial->count);
	return wrong + bench_check_send(bench, trial);
}

const struct collective bench_allgather = {
	.name = "allgather",
	.typed = true,
	.gathers = true,
	.bus_factor = bus_factor,
	.prepare = prepare,
	.run = run,
	.check = check,
};
