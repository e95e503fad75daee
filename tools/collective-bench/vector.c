// SPDX-License-Identifier: GPL-2.0-only
/* What the collectives have in common. */
#include <string.h>

#include "bench.h"
#include "pattern.h"

struct pattern bench_pattern(const struct bench *bench,
			     const struct trial *trial)
{
	return (struct pattern){
		.type = trial->type,
		.op = trial->op,
		.nranks = bench->nranks,
		.round = bench->round,
	};
}

double bench_bus_once(int nranks)
{
	(void)nranks;
	return 1;
}

void bench_prepare_vector(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (!bench->in_place)
		memset(bench->recv, 0xa5, trial->size);
	pattern_fill(&p, bench->rank, bench->send, trial->count);
}

uint64_t bench_check_send(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (bench->in_place)
		return 0;
	return pattern_check_input(&p, bench->rank, bench->send, trial->count);
}
