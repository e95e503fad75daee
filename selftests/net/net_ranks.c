// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group over a network: allreduces of many sizes, with a check of every element.
 * The environment of the launcher gives the rank; rank 0 prints a summary.
 *
 *	net_ranks ROUNDS MAX_BYTES
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "init.h"

/* Small numbers, so that sums are exact in float, too. */
static unsigned int element(unsigned int rank, unsigned int round, size_t i)
{
	return (unsigned int)(i * 2654435761U + rank * 40503U + round * 97U) >> 16 & 0xff;
}

static unsigned int expected(unsigned int nranks, unsigned int round, size_t i)
{
	unsigned int rank, sum = 0;

	for (rank = 0; rank < nranks; rank++)
		sum += element(rank, round, i);
	return sum;
}

static int round_int(struct coll_comm *comm, unsigned int round, size_t count, uint32_t *send,
		     uint32_t *recv)
{
	size_t i, wrong = 0;
	int err;

	for (i = 0; i < count; i++)
		send[i] = element(coll_rank(comm), round, i);
	err = coll_allreduce(comm, send, recv, count, COLL_UINT32, COLL_SUM);
	/* Overwrite the input: a late read of it would change a result. */
	memset(send, 0xa5, count * sizeof(*send));
	if (err)
		return err;
	for (i = 0; i < count; i++)
		wrong += recv[i] != expected(coll_size(comm), round, i);
	return wrong ? 1 : 0;
}

static int round_float(struct coll_comm *comm, unsigned int round, size_t count, float *data)
{
	size_t i, wrong = 0;
	int err;

	for (i = 0; i < count; i++)
		data[i] = element(coll_rank(comm), round, i);
	err = coll_allreduce(comm, COLL_IN_PLACE, data, count, COLL_FLOAT32, COLL_SUM);
	if (err)
		return err;
	for (i = 0; i < count; i++)
		wrong += data[i] != (float)expected(coll_size(comm), round, i);
	return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const size_t counts[] = { 0, 1, 3, 251, 2048, 2049, 16384, 65537, 262144, 1048576 };
	const unsigned int rounds = argc > 1 ? atoi(argv[1]) : 1;
	const size_t max = argc > 2 ? strtoull(argv[2], NULL, 0) : 1 << 22;
	struct coll_comm *comm = init_comm();
	unsigned int round, done = 0;
	void *a, *b;
	size_t i;
	int err = 0;

	if (!comm)
		return 1;
	a = coll_mem_alloc(comm, max);
	b = malloc(max);
	if (!a || !b)
		return 1;

	for (round = 0; !err && round < rounds; round++) {
		for (i = 0; !err && i < sizeof(counts) / sizeof(*counts); i++) {
			if (counts[i] * sizeof(float) > max)
				break;
			err = round_int(comm, round, counts[i], a, b);
			if (!err)
				err = round_float(comm, round, counts[i], b);
			done += 2;
			if (err)
				fprintf(stderr, "rank %d: round %u, %zu elements: %s: %s\n",
					coll_rank(comm), round, counts[i],
					err > 0 ? "wrong result" : coll_strerror(err),
					coll_error_detail(comm));
		}
	}
	if (!err)
		err = coll_barrier(comm);
	if (!err && !coll_rank(comm))
		printf("# %u operations of %d ranks\n", done, coll_size(comm));
	coll_mem_free(comm, a);
	free(b);
	coll_finalize(comm);
	return err ? 1 : 0;
}
