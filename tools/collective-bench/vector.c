// SPDX-License-Identifier: GPL-2.0-only
/* What the collectives have in common. */
#include <string.h>

#include "bench.h"
#include "pattern.h"

size_t bench_stride(const struct bench *bench)
{
	return (bench->max + 63) & ~(size_t)63;
}

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

struct pattern bench_pattern_block(const struct bench *bench,
				   const struct trial *trial, int rank)
{
	struct pattern p = bench_pattern(bench, trial);

	p.round += (uint64_t)(rank + 1) << 40;
	return p;
}

void *bench_block(void *buffer, const struct trial *trial, int rank)
{
	return (char *)buffer +
	       rank * trial->count * coll_type_size(trial->type);
}

double bench_bus_once(int nranks)
{
	(void)nranks;
	return 1;
}

double bench_bus_blocks(int nranks)
{
	return (nranks - 1.0) / nranks;
}

void bench_prepare_vector(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (!bench->in_place)
		memset(bench->recv, 0xa5, trial->size);
	pattern_fill(&p, bench->rank, bench->send, trial->count);
}

uint64_t bench_check_gathered(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);
	uint64_t wrong = 0;
	int rank;

	for (rank = 0; rank < bench->nranks; rank++)
		wrong += pattern_check_input(&p, rank,
					     bench_block(bench->recv, trial, rank),
					     trial->count);
	return wrong;
}

uint64_t bench_check_send(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (bench->in_place)
		return 0;
	return pattern_check_input(&p, bench->rank, bench->send, trial->count);
}
