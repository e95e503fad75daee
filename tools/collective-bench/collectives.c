// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the collectives that can be measured.
 *
 * An entry has the input of a repetition, the blocking and the nonblocking call, and the
 * comparison of the result.  A form with a `v` has calls of its own, with a count for each
 * rank, and shares the rest with the form without it.
 */
#include <string.h>

#include "bench.h"
#include "pattern.h"

/* Each byte of the place of a result before the call. */
#define SPOILED	0xa5

static bool is_root(const struct bench *bench)
{
	return bench->rank == bench->root;
}

/* The send argument where all ranks may work in place. */
static const void *input(const struct bench *bench)
{
	return bench->in_place ? COLL_IN_PLACE : bench->send;
}

/* The send argument where only the root may work in place. */
static const void *root_input(const struct bench *bench)
{
	return is_root(bench) ? input(bench) : bench->send;
}

static size_t own_count(const struct bench *bench, const struct trial *trial)
{
	return trial->counts[bench->rank];
}

/* The link of each rank must carry at least that many times the vector. */
static double bus_allreduce(int nranks)
{
	return 2.0 * (nranks - 1) / nranks;
}

/* Each link carries the vector once. */
static double bus_once(int nranks)
{
	(void)nranks;
	return 1;
}

/* Each link carries all blocks but one. */
static double bus_blocks(int nranks)
{
	return (nranks - 1.0) / nranks;
}

/* ---- allreduce, reduce, scan, exscan: one vector a rank ---- */

static void prepare_vector(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (!bench->in_place)
		memset(bench->recv, SPOILED, trial->size);
	pattern_fill(&p, bench->rank, bench->send, trial->count);
}

static int allreduce(struct bench *bench, const struct trial *trial)
{
	return coll_allreduce(bench->comm, input(bench), bench->recv,
			      trial->count, trial->type, trial->op);
}

static int iallreduce(struct bench *bench, const struct trial *trial,
		      struct coll_request **request)
{
	return coll_iallreduce(bench->comm, input(bench), bench->recv,
			       trial->count, trial->type, trial->op, request);
}

static uint64_t check_allreduce(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	return pattern_check_result(&p, bench->recv, trial->count) +
	       bench_check_send(bench, trial);
}

static int reduce(struct bench *bench, const struct trial *trial)
{
	return coll_reduce(bench->comm, root_input(bench), bench->recv,
			   trial->count, trial->type, trial->op, bench->root);
}

static int ireduce(struct bench *bench, const struct trial *trial,
		   struct coll_request **request)
{
	return coll_ireduce(bench->comm, root_input(bench), bench->recv,
			    trial->count, trial->type, trial->op, bench->root,
			    request);
}

static uint64_t check_reduce(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (is_root(bench))
		return check_allreduce(bench, trial);
	return pattern_check_input(&p, bench->rank, bench->send, trial->count);
}

static int scan(struct bench *bench, const struct trial *trial)
{
	return coll_scan(bench->comm, input(bench), bench->recv, trial->count,
			 trial->type, trial->op);
}

static int iscan(struct bench *bench, const struct trial *trial,
		 struct coll_request **request)
{
	return coll_iscan(bench->comm, input(bench), bench->recv, trial->count,
			  trial->type, trial->op, request);
}

static uint64_t check_scan(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	return pattern_check_scan(&p, bench->rank, bench->recv, trial->count) +
	       bench_check_send(bench, trial);
}

static int exscan(struct bench *bench, const struct trial *trial)
{
	return coll_exscan(bench->comm, input(bench), bench->recv,
			   trial->count, trial->type, trial->op);
}

static int iexscan(struct bench *bench, const struct trial *trial,
		   struct coll_request **request)
{
	return coll_iexscan(bench->comm, input(bench), bench->recv,
			    trial->count, trial->type, trial->op, request);
}

/* The result of rank 0 is undefined. */
static uint64_t check_exscan(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);
	uint64_t wrong = 0;

	if (bench->rank)
		wrong = pattern_check_scan(&p, bench->rank - 1, bench->recv,
					   trial->count);
	return wrong + bench_check_send(bench, trial);
}

/* ---- broadcast, send: one buffer ---- */

static void prepare_broadcast(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (is_root(bench))
		pattern_fill(&p, bench->rank, bench->recv, trial->count);
	else
		memset(bench->recv, SPOILED, trial->size);
}

static int broadcast(struct bench *bench, const struct trial *trial)
{
	return coll_broadcast(bench->comm, bench->recv, trial->count,
			      trial->type, bench->root);
}

static int ibroadcast(struct bench *bench, const struct trial *trial,
		      struct coll_request **request)
{
	return coll_ibroadcast(bench->comm, bench->recv, trial->count,
			       trial->type, bench->root, request);
}

static uint64_t check_broadcast(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	return pattern_check_input(&p, bench->root, bench->recv, trial->count);
}

/* Each even rank sends to the next rank.  The last rank has no peer if it is even. */
static bool receives(const struct bench *bench)
{
	return bench->rank & 1;
}

static bool has_receiver(const struct bench *bench)
{
	return bench->rank + 1 < bench->nranks;
}

static void prepare_send(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (receives(bench))
		memset(bench->recv, SPOILED, trial->size);
	else
		pattern_fill(&p, bench->rank, bench->recv, trial->count);
}

static int send_or_recv(struct bench *bench, const struct trial *trial)
{
	if (receives(bench))
		return coll_recv(bench->comm, bench->recv, trial->count,
				 trial->type, bench->rank - 1, bench->round);
	if (!has_receiver(bench))
		return 0;
	return coll_send(bench->comm, bench->recv, trial->count, trial->type,
			 bench->rank + 1, bench->round);
}

static int isend_or_irecv(struct bench *bench, const struct trial *trial,
			  struct coll_request **request)
{
	if (receives(bench))
		return coll_irecv(bench->comm, bench->recv, trial->count,
				  trial->type, bench->rank - 1, bench->round,
				  request);
	*request = NULL;
	if (!has_receiver(bench))
		return 0;
	return coll_isend(bench->comm, bench->recv, trial->count, trial->type,
			  bench->rank + 1, bench->round, request);
}

static uint64_t check_send(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);
	int sender = receives(bench) ? bench->rank - 1 : bench->rank;

	return pattern_check_input(&p, sender, bench->recv, trial->count);
}

/* ---- allgather(v), gather(v): one block a rank in, all blocks out ---- */

/* @result_in_place: the input is written where the result has its block. */
static void prepare_own_block(struct bench *bench, const struct trial *trial,
			      bool result_in_place)
{
	struct pattern p = bench_pattern(bench, trial);
	void *to = result_in_place ?
		   bench_block(bench->recv, trial, bench->rank) : bench->send;

	memset(bench->recv, SPOILED, trial->size);
	pattern_fill(&p, bench->rank, to, own_count(bench, trial));
}

static void prepare_allgather(struct bench *bench, const struct trial *trial)
{
	prepare_own_block(bench, trial, bench->in_place);
}

static int allgather(struct bench *bench, const struct trial *trial)
{
	return coll_allgather(bench->comm, input(bench), bench->recv,
			      trial->count, trial->type);
}

static int iallgather(struct bench *bench, const struct trial *trial,
		      struct coll_request **request)
{
	return coll_iallgather(bench->comm, input(bench), bench->recv,
			       trial->count, trial->type, request);
}

static int allgatherv(struct bench *bench, const struct trial *trial)
{
	return coll_allgatherv(bench->comm, input(bench),
			       own_count(bench, trial), bench->recv,
			       trial->counts, trial->displs, trial->type);
}

static int iallgatherv(struct bench *bench, const struct trial *trial,
		       struct coll_request **request)
{
	return coll_iallgatherv(bench->comm, input(bench),
				own_count(bench, trial), bench->recv,
				trial->counts, trial->displs, trial->type,
				request);
}

static uint64_t check_allgather(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	return bench_check_gathered(bench, trial, &p) +
	       bench_check_send(bench, trial);
}

static void prepare_gather(struct bench *bench, const struct trial *trial)
{
	prepare_own_block(bench, trial, bench->in_place && is_root(bench));
}

static int gather(struct bench *bench, const struct trial *trial)
{
	return coll_gather(bench->comm, root_input(bench), bench->recv,
			   trial->count, trial->type, bench->root);
}

static int igather(struct bench *bench, const struct trial *trial,
		   struct coll_request **request)
{
	return coll_igather(bench->comm, root_input(bench), bench->recv,
			    trial->count, trial->type, bench->root, request);
}

static int gatherv(struct bench *bench, const struct trial *trial)
{
	return coll_gatherv(bench->comm, root_input(bench),
			    own_count(bench, trial), bench->recv,
			    trial->counts, trial->displs, trial->type,
			    bench->root);
}

static int igatherv(struct bench *bench, const struct trial *trial,
		    struct coll_request **request)
{
	return coll_igatherv(bench->comm, root_input(bench),
			     own_count(bench, trial), bench->recv,
			     trial->counts, trial->displs, trial->type,
			     bench->root, request);
}

static uint64_t check_gather(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern(bench, trial);

	if (is_root(bench))
		return check_allgather(bench, trial);
	return pattern_check_input(&p, bench->rank, bench->send,
				   own_count(bench, trial));
}

/* ---- scatter(v), reduce_scatter(v), alltoall(v): a block for each rank in ---- */

static void prepare_scatter(struct bench *bench, const struct trial *trial)
{
	memset(bench->recv, SPOILED, trial->size);
	if (is_root(bench))
		bench_prepare_blocks(bench, trial);
}

/* The receive argument of scatter(v). */
static void *root_output(const struct bench *bench)
{
	return bench->in_place && is_root(bench) ? COLL_IN_PLACE : bench->recv;
}

static int scatter(struct bench *bench, const struct trial *trial)
{
	return coll_scatter(bench->comm, bench->send, root_output(bench),
			    trial->count, trial->type, bench->root);
}

static int iscatter(struct bench *bench, const struct trial *trial,
		    struct coll_request **request)
{
	return coll_iscatter(bench->comm, bench->send, root_output(bench),
			     trial->count, trial->type, bench->root, request);
}

static int scatterv(struct bench *bench, const struct trial *trial)
{
	return coll_scatterv(bench->comm, bench->send, trial->counts,
			     trial->displs, root_output(bench),
			     own_count(bench, trial), trial->type,
			     bench->root);
}

static int iscatterv(struct bench *bench, const struct trial *trial,
		     struct coll_request **request)
{
	return coll_iscatterv(bench->comm, bench->send, trial->counts,
			      trial->displs, root_output(bench),
			      own_count(bench, trial), trial->type,
			      bench->root, request);
}

/* In place, the root's block of the result is its block of the input. */
static uint64_t check_scatter(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern_block(bench, trial, bench->rank);
	uint64_t wrong = 0;

	if (is_root(bench))
		wrong = bench_check_blocks(bench, trial);
	if (!is_root(bench) || !bench->in_place)
		wrong += pattern_check_input(&p, bench->root, bench->recv,
					     own_count(bench, trial));
	return wrong;
}

static void prepare_reduce_scatter(struct bench *bench,
				   const struct trial *trial)
{
	if (!bench->in_place)
		memset(bench->recv, SPOILED, trial->size);
	bench_prepare_blocks(bench, trial);
}

static int reduce_scatter(struct bench *bench, const struct trial *trial)
{
	return coll_reduce_scatter(bench->comm, input(bench), bench->recv,
				   trial->count, trial->type, trial->op);
}

static int ireduce_scatter(struct bench *bench, const struct trial *trial,
			   struct coll_request **request)
{
	return coll_ireduce_scatter(bench->comm, input(bench), bench->recv,
				    trial->count, trial->type, trial->op,
				    request);
}

static int reduce_scatterv(struct bench *bench, const struct trial *trial)
{
	return coll_reduce_scatterv(bench->comm, input(bench), trial->displs,
				    bench->recv, trial->counts, trial->type,
				    trial->op);
}

static int ireduce_scatterv(struct bench *bench, const struct trial *trial,
			    struct coll_request **request)
{
	return coll_ireduce_scatterv(bench->comm, input(bench), trial->displs,
				     bench->recv, trial->counts, trial->type,
				     trial->op, request);
}

static uint64_t check_reduce_scatter(struct bench *bench,
				     const struct trial *trial)
{
	struct pattern p = bench_pattern_block(bench, trial, bench->rank);
	uint64_t wrong = pattern_check_result(&p, bench->recv,
					      own_count(bench, trial));

	return bench->in_place ? wrong : wrong + bench_check_blocks(bench, trial);
}

static void prepare_alltoall(struct bench *bench, const struct trial *trial)
{
	memset(bench->recv, SPOILED, trial->size);
	bench_prepare_blocks(bench, trial);
}

static int alltoall(struct bench *bench, const struct trial *trial)
{
	return coll_alltoall(bench->comm, bench->send, bench->recv,
			     trial->count, trial->type);
}

static int ialltoall(struct bench *bench, const struct trial *trial,
		     struct coll_request **request)
{
	return coll_ialltoall(bench->comm, bench->send, bench->recv,
			      trial->count, trial->type, request);
}

/* Between two ranks the block has the same size in both directions. */
static int alltoallv(struct bench *bench, const struct trial *trial)
{
	return coll_alltoallv(bench->comm, bench->send, trial->counts,
			      trial->displs, bench->recv, trial->counts,
			      trial->displs, trial->type);
}

static int ialltoallv(struct bench *bench, const struct trial *trial,
		      struct coll_request **request)
{
	return coll_ialltoallv(bench->comm, bench->send, trial->counts,
			       trial->displs, bench->recv, trial->counts,
			       trial->displs, trial->type, request);
}

static uint64_t check_alltoall(struct bench *bench, const struct trial *trial)
{
	struct pattern p = bench_pattern_block(bench, trial, bench->rank);

	return bench_check_blocks(bench, trial) +
	       bench_check_gathered(bench, trial, &p);
}

/* ---- barrier: no buffer ---- */

static int barrier(struct bench *bench, const struct trial *trial)
{
	(void)trial;
	return coll_barrier(bench->comm);
}

static int ibarrier(struct bench *bench, const struct trial *trial,
		    struct coll_request **request)
{
	(void)trial;
	return coll_ibarrier(bench->comm, request);
}

const struct collective bench_collectives[] = {
	{
		.name = "allreduce", .typed = true, .reduces = true,
		.can_reproduce = true, .bus_factor = bus_allreduce,
		.prepare = prepare_vector, .call = allreduce,
		.icall = iallreduce, .check = check_allreduce,
	},
	{
		.name = "reduce", .typed = true, .reduces = true,
		.bus_factor = bus_once,
		.prepare = prepare_vector, .call = reduce,
		.icall = ireduce, .check = check_reduce,
	},
	{
		.name = "broadcast", .typed = true, .one_buffer = true,
		.bus_factor = bus_once,
		.prepare = prepare_broadcast, .call = broadcast,
		.icall = ibroadcast, .check = check_broadcast,
	},
	{
		.name = "allgather", .typed = true, .blocks = true,
		.bus_factor = bus_blocks,
		.prepare = prepare_allgather, .call = allgather,
		.icall = iallgather, .check = check_allgather,
	},
	{
		.name = "allgatherv", .typed = true, .blocks = true,
		.uneven = true, .bus_factor = bus_blocks,
		.prepare = prepare_allgather, .call = allgatherv,
		.icall = iallgatherv, .check = check_allgather,
	},
	{
		.name = "reduce_scatter", .typed = true, .reduces = true,
		.blocks = true, .bus_factor = bus_blocks,
		.prepare = prepare_reduce_scatter, .call = reduce_scatter,
		.icall = ireduce_scatter, .check = check_reduce_scatter,
	},
	{
		.name = "reduce_scatterv", .typed = true, .reduces = true,
		.blocks = true, .uneven = true, .bus_factor = bus_blocks,
		.prepare = prepare_reduce_scatter, .call = reduce_scatterv,
		.icall = ireduce_scatterv, .check = check_reduce_scatter,
	},
	{
		.name = "gather", .typed = true, .blocks = true,
		.bus_factor = bus_blocks,
		.prepare = prepare_gather, .call = gather,
		.icall = igather, .check = check_gather,
	},
	{
		.name = "gatherv", .typed = true, .blocks = true,
		.uneven = true, .bus_factor = bus_blocks,
		.prepare = prepare_gather, .call = gatherv,
		.icall = igatherv, .check = check_gather,
	},
	{
		.name = "scatter", .typed = true, .blocks = true,
		.bus_factor = bus_blocks,
		.prepare = prepare_scatter, .call = scatter,
		.icall = iscatter, .check = check_scatter,
	},
	{
		.name = "scatterv", .typed = true, .blocks = true,
		.uneven = true, .bus_factor = bus_blocks,
		.prepare = prepare_scatter, .call = scatterv,
		.icall = iscatterv, .check = check_scatter,
	},
	{
		.name = "alltoall", .typed = true, .blocks = true,
		.two_buffers = true, .bus_factor = bus_blocks,
		.prepare = prepare_alltoall, .call = alltoall,
		.icall = ialltoall, .check = check_alltoall,
	},
	{
		.name = "alltoallv", .typed = true, .blocks = true,
		.uneven = true, .paired = true, .two_buffers = true,
		.bus_factor = bus_blocks,
		.prepare = prepare_alltoall, .call = alltoallv,
		.icall = ialltoallv, .check = check_alltoall,
	},
	{
		.name = "scan", .typed = true, .reduces = true,
		.no_average = true, .bus_factor = bus_once,
		.prepare = prepare_vector, .call = scan,
		.icall = iscan, .check = check_scan,
	},
	{
		.name = "exscan", .typed = true, .reduces = true,
		.no_average = true, .bus_factor = bus_once,
		.prepare = prepare_vector, .call = exscan,
		.icall = iexscan, .check = check_exscan,
	},
	{
		.name = "send", .typed = true, .one_buffer = true,
		.bus_factor = bus_once,
		.prepare = prepare_send, .call = send_or_recv,
		.icall = isend_or_irecv, .check = check_send,
	},
	{ .name = "barrier", .call = barrier, .icall = ibarrier },
	{ 0 }
};

const struct collective *bench_find_collective(const char *name)
{
	const struct collective *collective = bench_collectives;

	while (collective->name && strcmp(collective->name, name))
		collective++;
	return collective->name ? collective : NULL;
}
