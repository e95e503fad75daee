// SPDX-License-Identifier: GPL-2.0-only
/* The buffers of one operation: where its blocks are, their values and their comparison. */
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
	       trial->displs[rank] * coll_type_size(trial->type);
}

void bench_deal(const struct bench *bench, const struct collective *collective,
		struct trial *trial)
{
	size_t n = bench->nranks, total = trial->count * n, first = 0, k, rank;

	for (k = 0; k < n; k++) {
		size_t end = collective->uneven ?
			     total * (k + 1) * (k + 2) / (n * (n + 1)) :
			     (k + 1) * trial->count;

		/* Paired: block k is for the rank r with r + this rank = k (modulo n). */
		rank = collective->paired ? (k + n - bench->rank) % n : k;
		trial->counts[rank] = end - first;
		first = end;
	}
	for (first = 0, rank = 0; rank < n; rank++) {
		trial->displs[rank] = first;
		first += trial->counts[rank];
	}
}

void bench_prepare_blocks(struct bench *bench, const struct trial *trial)
{
	int rank;

	for (rank = 0; rank < bench->nranks; rank++) {
		struct pattern p = bench_pattern_block(bench, trial, rank);

		pattern_fill(&p, bench->rank, bench_block(bench->send, trial, rank),
			     trial->counts[rank]);
	}
}

uint64_t bench_check_blocks(struct bench *bench, const struct trial *trial)
{
	uint64_t wrong = 0;
	int rank;

	for (rank = 0; rank < bench->nranks; rank++) {
		struct pattern p = bench_pattern_block(bench, trial, rank);

		wrong += pattern_check_input(&p, bench->rank,
					     bench_block(bench->send, trial, rank),
					     trial->counts[rank]);
	}
	return wrong;
}

uint64_t bench_check_gathered(struct bench *bench, const struct trial *trial,
			      const struct pattern *p)
{
	uint64_t wrong = 0;
	int rank;

	for (rank = 0; rank < bench->nranks; rank++)
		wrong += pattern_check_input(p, rank,
					     bench_block(bench->recv, trial, rank),
					     trial->counts[rank]);
	return wrong;
}

uint64_t bench_check_send(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);
	size_t count = trial->counts ? trial->counts[bench->rank] : trial->count;

	if (bench->in_place)
		return 0;
	return pattern_check_input(&p, bench->rank, bench->send, count);
}
