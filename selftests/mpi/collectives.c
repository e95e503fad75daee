// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls every collective of MPI in all forms, with random types, counts, roots, places and
 * communicators, and checks every byte of all buffers.
 *
 *	collectives [SEED [BATCHES [all [emulated]]]]
 *
 * What an MPI library does wrong itself is called with "all" only, if all calls are taken: Open
 * MPI's nonblocking alltoallv in place is wrong for large blocks.  With "emulated" MPI_C_BOOL is
 * left out: on QEMU's emulated CPU, Open MPI's own logical reductions of bytes have wrong bytes now
 * and then.
 *
 * What ranks must agree on comes from a sequence that they share, the rest from one of their own.
 * Each function comes in each form once in a cycle of calls; those of the first cycle, on
 * MPI_COMM_WORLD, with elements, and of types that the kernel has, can all be taken.
 * Inputs are known everywhere, so each rank computes what it must get, with MPI_Reduce_local() for
 * reductions.
 */
#include <complex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#if OMPI_MAJOR_VERSION
#include <mpi-ext.h>
#endif

#include "layout.h"

/* Open MPI 4 has the persistent functions of MPI-4 by names of its own. */
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define INIT(name)	MPI_##name##_init
#else
#define INIT(name)	MPIX_##name##_init
#endif

#define RANKS_MAX	16
#define BATCH_MAX	6
#define CYCLE		(FUNCTIONS * FORMS)
#define COMMS		6

enum function {
	ALLGATHER, ALLGATHERV, ALLREDUCE, ALLTOALL, ALLTOALLV, BARRIER, BCAST, EXSCAN, GATHER,
		GATHERV,
	REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, SCATTER, SCATTERV, FUNCTIONS
};

static const char * const names[FUNCTIONS] = {
	"allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast",
	"exscan", "gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block", "scan",
	"scatter", "scatterv",
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

/* Persistent calls of MPICH 4.0 are its own, and wrong in several ways. */
#ifdef MPICH_NUMVERSION
#define FORMS	PERSISTENT
#else
#define FORMS	(PERSISTENT + 1)
#endif

/* Contents of the elements of a type. */
enum contents { BITS, SMALL_FLOAT, SMALL_DOUBLE, TRUTH_BYTE, TRUTH_INT, PAIR };

struct reducible {
	MPI_Datatype type;
	enum contents contents;
	int parts;
	const char *ops;	/* initials: see op_of() */
};

/* MPICH 4.0 compares unsigned integers as signed ones, by which results are checked here. */
#ifdef MPICH_NUMVERSION
#define XN	""
#else
#define XN	"xn"
#endif

static struct reducible reducibles[] = {
	{ MPI_INT, BITS, 1, "spxnaoelmr" },
	{ MPI_LONG, BITS, 1, "spxnaoelmr" },
	{ MPI_LONG_LONG, BITS, 1, "spxnaoe" },
	/* Some of Open MPI's own sums of small integers saturate. */
	{ MPI_SHORT, BITS, 1, "xnaoelmr" },
	{ MPI_SIGNED_CHAR, BITS, 1, "xnaoelmr" },
	{ MPI_UNSIGNED_CHAR, BITS, 1, XN "aoelmr" },
	{ MPI_SIGNED_CHAR, TRUTH_BYTE, 1, "sp" },
	{ MPI_UNSIGNED_CHAR, TRUTH_BYTE, 1, "sp" },
	{ MPI_UNSIGNED, BITS, 1, "sp" XN "aoelmr" },
	{ MPI_UINT16_T, BITS, 1, XN "aoelmr" },
	{ MPI_UINT64_T, BITS, 1, "sp" XN "aoelmr" },
	{ MPI_AINT, BITS, 1, "sx" },
	{ MPI_BYTE, BITS, 1, "aoe" },
	{ MPI_INTEGER, BITS, 1, "spxnaoe" },
	{ MPI_FLOAT, SMALL_FLOAT, 1, "spxn" },
	{ MPI_DOUBLE, SMALL_DOUBLE, 1, "spxn" },
	{ MPI_REAL, SMALL_FLOAT, 1, "sx" },
	{ MPI_DOUBLE_PRECISION, SMALL_DOUBLE, 1, "sn" },
	{ MPI_C_FLOAT_COMPLEX, SMALL_FLOAT, 2, "s" },
	{ MPI_C_DOUBLE_COMPLEX, SMALL_DOUBLE, 2, "s" },
	{ MPI_DOUBLE_COMPLEX, SMALL_DOUBLE, 2, "s" },
	{ MPI_C_BOOL, TRUTH_BYTE, 1, "lmr" },
	{ MPI_LOGICAL, TRUTH_INT, 1, "lmr" },
	/* These are left to MPI. */
	{ MPI_2INT, PAIR, 1, "XN" },
	{ MPI_INT, BITS, 1, "u" },
};

#define REDUCIBLES	((int)(sizeof(reducibles) / sizeof(reducibles[0])))
#define LEFT		2

static MPI_Op user_op;

/**
 * struct call - a call
 * @number: of all calls
 * @round: of a persistent call
 * @own: choices of this rank
 */
struct call {
	int number;
	int round;
	enum function function;
	enum form form;
	MPI_Comm comm;
	int rank;
	int size;
	int root;
	bool in_place;
	MPI_Datatype basic;
	int basic_size;
	const struct reducible *reducible;
	MPI_Op op;
	int items[RANKS_MAX][RANKS_MAX];	/* from rank, to rank, or of a rank */
	bool has_send;
	bool has_recv;
	struct area send;
	struct area recv;
	MPI_Request request;
	uint64_t own;
	uint64_t digest;
};

static int world_rank;
static uint64_t shared, mine;
static bool all_forms, emulated;
static MPI_Comm comms[COMMS];

static MPI_Op op_of(char initial)
{
	switch (initial) {
	case 's': return MPI_SUM;
	case 'p': return MPI_PROD;
	case 'x': return MPI_MAX;
	case 'n': return MPI_MIN;
	case 'a': return MPI_BAND;
	case 'o': return MPI_BOR;
	case 'e': return MPI_BXOR;
	case 'l': return MPI_LAND;
	case 'm': return MPI_LOR;
	case 'r': return MPI_LXOR;
	case 'X': return MPI_MAXLOC;
	case 'N': return MPI_MINLOC;
	default: return user_op;
	}
}

/* Composition of x -> m * x + a, with 16 bits each: associative, but not commutative. */
static void user_function(void *in, void *inout, int *count, MPI_Datatype *type)
{
	unsigned short (*first)[2] = in, (*second)[2] = inout;
	int i;

	(void)type;
	for (i = 0; i < *count; i++) {
		second[i][1] += first[i][1] * second[i][0];
		second[i][0] *= first[i][0];
	}
}

static bool reduces(enum function f)
{
	return f == ALLREDUCE || f == REDUCE || f == SCAN || f == EXSCAN || f == REDUCE_SCATTER ||
	       f == REDUCE_SCATTER_BLOCK;
}

static bool is_v(enum function f)
{
	return f == ALLGATHERV || f == GATHERV || f == SCATTERV || f == ALLTOALLV;
}

static bool rooted(enum function f)
{
	return f == BCAST || f == REDUCE || f == GATHER || f == GATHERV || f == SCATTER ||
		f == SCATTERV;
}

/* ---- inputs ---- */

static void element(const struct call *call, char *to, uint64_t *sequence)
{
	const int n = random_next(sequence, 5) - 2;
	int i;

	switch (call->reducible ? call->reducible->contents : BITS) {
	case SMALL_FLOAT:
		for (i = 0; i < call->reducible->parts; i++)
			((float *)to)[i] = n + i;
		break;
	case SMALL_DOUBLE:
		for (i = 0; i < call->reducible->parts; i++)
			((double *)to)[i] = n - i;
		break;
	case TRUTH_BYTE:
		*to = n > 0;
		break;
	case TRUTH_INT:
		*(int *)to = n > 0;
		break;
	case PAIR:
		((int *)to)[0] = n;
		((int *)to)[1] = random_next(sequence, 100);
		break;
	default:
		for (i = 0; i < call->basic_size; i++)
			to[i] = random_next(sequence, 4) ? (int)random_next(sequence, 256) : 0;
	}
}

/* What rank @from gives for block @block, packed; the caller frees it. */
static char *input(const struct call *call, int from, int block, int items)
{
	uint64_t sequence = call->number * 1000003ULL + call->round * 7919 + from * 131 + block;
	char *bytes = malloc((size_t)items * call->basic_size + 64);
	int i;

	for (i = 0; i < items; i++)
		element(call, bytes + (size_t)i * call->basic_size, &sequence);
	return bytes;
}

/* The vectors of ranks @from to @to - 1, reduced in their order. */
static char *reduced(const struct call *call, int to, int items)
{
	char *so_far = input(call, 0, 0, items), *next;
	int rank;

	for (rank = 1; rank < to; rank++) {
		next = input(call, rank, 0, items);
		MPI_Reduce_local(so_far, next, items, call->basic, call->op);
		free(so_far);
		so_far = next;
	}
	return so_far;
}

/* ---- a call ---- */

static int total_items(const struct call *call)
{
	int i, total = 0;

	for (i = 0; i < call->size; i++)
		total += call->items[i][0];
	return total;
}

/* Blocks of the buffers of this rank: from rank 0 on; 0: there is no buffer. */
static void shape(const struct call *call, int *sends, int *recvs, int *send_items, int *recv_items)
{
	const bool root = call->rank == call->root;
	int i;

	*sends = 1;
	*recvs = 1;
	send_items[0] = call->items[call->rank][0];
	recv_items[0] = send_items[0];
	switch (call->function) {
	case BARRIER:
		*sends = 0;
		*recvs = 0;
		break;
	case BCAST:
		*sends = 0;
		break;
	case REDUCE:
		*recvs = root;
		break;
	case REDUCE_SCATTER:
	case REDUCE_SCATTER_BLOCK:
		send_items[0] = total_items(call);
		if (call->in_place)
			recv_items[0] = send_items[0];
		break;
	case ALLGATHER:
	case ALLGATHERV:
	case GATHER:
	case GATHERV:
		*recvs = root || !rooted(call->function) ? call->size : 0;
		for (i = 0; i < *recvs; i++)
			recv_items[i] = call->items[i][0];
		break;
	case SCATTER:
	case SCATTERV:
		*sends = root ? call->size : 0;
		for (i = 0; i < *sends; i++)
			send_items[i] = call->items[i][0];
		break;
	case ALLTOALL:
	case ALLTOALLV:
		*sends = call->size;
		*recvs = call->size;
		for (i = 0; i < call->size; i++) {
			send_items[i] = call->items[call->rank][i];
			recv_items[i] = call->items[i][call->rank];
		}
		break;
	default:
		break;
	}
	if (call->in_place && (call->function == SCATTER || call->function == SCATTERV))
		*recvs = 0;
	else if (call->in_place)
		*sends = 0;
}

static void make_areas(struct call *call)
{
	/* MPICH's own allgatherv fails if types differ, though their signatures match. */
	const int kinds = call->reducible || (!*XN && !all_forms) ? 1 : 4;
	const int derived = random_next(&call->own, kinds);
	const int derived_too = random_next(&call->own, kinds);
	int sends, recvs, send_items[RANKS_MAX], recv_items[RANKS_MAX];

	shape(call, &sends, &recvs, send_items, recv_items);
	call->has_send = sends;
	call->has_recv = recvs;
	if (sends)
		area_make(&call->send, call->basic, derived, sends, send_items,
			  is_v(call->function) && sends > 1, &call->own);
	if (recvs)
		area_make(&call->recv, call->basic, derived_too, recvs, recv_items,
			  is_v(call->function) && recvs > 1, &call->own);
}

static void set_block(struct call *call, struct area *area, int block, int from, int of, int items)
{
	char *bytes = input(call, from, of, items);

	area_set(area, block, bytes);
	free(bytes);
	(void)call;
}

static void expect_block(struct call *call, int block, int from, int of, int items)
{
	char *bytes = input(call, from, of, items);

	area_expect(&call->recv, block, bytes);
	free(bytes);
}

/* Put the input of this rank into its buffers. */
static void set_inputs(struct call *call)
{
	const int me = call->rank;
	const enum function f = call->function;
	int i, items = call->items[me][0];

	if (f == REDUCE_SCATTER || f == REDUCE_SCATTER_BLOCK)
		items = total_items(call);
	if (f == BCAST && me == call->root)
		set_block(call, &call->recv, 0, me, 0, items);
	if (call->has_send && call->send.blocks == 1 && f != ALLTOALL && f != ALLTOALLV)
		set_block(call, &call->send, 0, me, 0, items);
	else if (call->has_send)
		for (i = 0; i < call->size; i++)
			set_block(call, &call->send, i, me, i,
				  f == ALLTOALL || f == ALLTOALLV ? call->items[me][i] :
				  call->items[i][0]);
	if (call->in_place && call->has_recv) {
		if (f == ALLTOALL || f == ALLTOALLV)
			for (i = 0; i < call->size; i++)
				set_block(call, &call->recv, i, me, i, call->items[me][i]);
		else
			set_block(call, &call->recv, call->recv.blocks > 1 ? me : 0, me, 0, items);
	}
	if (call->has_send)
		area_begin(&call->send);
	if (call->has_recv)
		area_begin(&call->recv);
}

/* The result of a reduction; a reduce_scatter has the beginning of its block. */
static void expect_reduction(struct call *call)
{
	const enum function f = call->function;
	const bool scatters = f == REDUCE_SCATTER || f == REDUCE_SCATTER_BLOCK;
	const int items = scatters ? total_items(call) : call->items[0][0];
	const int to = f == SCAN ? call->rank + 1 : f == EXSCAN ? call->rank : call->size;
	size_t before = 0, bytes;
	char *vector;
	int i;

	if (!call->has_recv || !to)
		return;
	vector = reduced(call, to, items);
	for (i = 0; scatters && i < call->rank; i++)
		before += (size_t)call->items[i][0] * call->basic_size;
	bytes = (size_t)(scatters ? call->items[call->rank][0] : items) * call->basic_size;
	memcpy(call->recv.expected + (call->recv.base - call->recv.memory), vector + before, bytes);
	free(vector);
}

static void expect(struct call *call)
{
	const int me = call->rank;
	int i;

	if (call->reducible) {
		expect_reduction(call);
		return;
	}
	if (!call->has_recv)
		return;
	switch (call->function) {
	case BCAST:
		expect_block(call, 0, call->root, 0, call->items[0][0]);
		break;
	case SCATTER:
	case SCATTERV:
		/* With one rank, the root has given the block 0. */
		expect_block(call, 0, call->root, me, call->items[me][0]);
		break;
	case ALLTOALL:
	case ALLTOALLV:
		for (i = 0; i < call->size; i++)
			expect_block(call, i, i, me, call->items[i][me]);
		break;
	default:
		for (i = 0; i < call->recv.blocks; i++)
			expect_block(call, i, i, 0, call->items[i][0]);
	}
}

/* The function and the form, in an order of each cycle's own. */
static void deal(struct call *call, int number)
{
	uint64_t sequence = shared * 31 + number / CYCLE;
	int order[CYCLE], i, k;

	random_next(&sequence, 2);
	for (i = 0; i < CYCLE; i++) {
		k = random_next(&sequence, i + 1);
		order[i] = order[k];
		order[k] = i;
	}
	call->function = order[number % CYCLE] / FORMS;
	call->form = order[number % CYCLE] % FORMS;
}

static void choose(struct call *call, int number)
{
	const bool first = number < CYCLE;
	uint64_t sequence = shared ^ number * 0x9e3779b97f4a7c15ULL;
	static const int scales[] = { 1, 1, 1, 3, 20, 150, 1500 };
	const MPI_Datatype basics[] = { MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_SHORT, MPI_FLOAT };
	int i, j, k, scale, uniform;

	random_next(&sequence, 2);
	memset(call, 0, sizeof(*call));
	call->number = number;
	deal(call, number);
	call->comm = comms[first ? 0 : random_next(&sequence, COMMS)];
	MPI_Comm_rank(call->comm, &call->rank);
	MPI_Comm_size(call->comm, &call->size);
	call->root = random_next(&sequence, 1000) % call->size;
	call->own = mine ^ number * 0x2545f4914f6cdd1dULL;
	call->in_place = !random_next(&sequence, 3) && call->function != BCAST &&
			 call->function != BARRIER &&
			 (!rooted(call->function) || call->rank == call->root);
	call->basic = basics[random_next(&sequence, 5)];
	k = random_next(&sequence, first ? REDUCIBLES - LEFT : REDUCIBLES);
	if (emulated && reducibles[k].type == MPI_C_BOOL)
		k = 0;
	if (reduces(call->function)) {
		call->reducible = &reducibles[k];
		call->basic = call->reducible->type;
		call->op = op_of(call->reducible->ops[random_next(&sequence, 1000) %
						      strlen(call->reducible->ops)]);
	}
	/* MPICH 4.0 itself crashes in some of these, if they are left to it. */
	if (!*XN && (call->function == REDUCE || call->function == REDUCE_SCATTER ||
		     call->function == REDUCE_SCATTER_BLOCK) &&
	    (call->reducible->contents == PAIR || call->op == user_op || !all_forms))
		call->in_place = false;
	MPI_Type_size(call->basic, &call->basic_size);
	scale = scales[random_next(&sequence, 7)] * ITEMS;
	/* Open MPI itself returns from some calls without elements. */
	uniform = (first + random_next(&sequence, 6)) * scale;
	for (i = 0; i < call->size; i++)
		for (j = 0; j < call->size; j++)
			call->items[i][j] = is_v(call->function) ||
				call->function == REDUCE_SCATTER ?
					    (int)(first + random_next(&sequence, 4)) * scale :
					    uniform;
	/* In place, both directions have one length. */
	if (call->function == ALLTOALLV && call->in_place && !all_forms)
		call->form = BLOCKING;
	if (call->function == ALLTOALLV && call->in_place)
		for (i = 0; i < call->size; i++)
			for (j = 0; j < i; j++)
				call->items[i][j] = call->items[j][i];
	call->request = MPI_REQUEST_NULL;
}

#define DO(name, ...)								\
	do {									\
		if (call->form == BLOCKING)					\
			MPI_##name(__VA_ARGS__, call->comm);			\
		else if (call->form == NONBLOCKING)				\
			MPI_I##name(__VA_ARGS__, call->comm, &call->request);	\
		else								\
			INIT(name)(__VA_ARGS__, call->comm, MPI_INFO_NULL,	\
				   &call->request);				\
	} while (0)

/* MPI spells MPI_Ibcast() and the like with a small letter. */
#define MPI_IAllgather		MPI_Iallgather
#define MPI_IAllgatherv		MPI_Iallgatherv
#define MPI_IAllreduce		MPI_Iallreduce
#define MPI_IAlltoall		MPI_Ialltoall
#define MPI_IAlltoallv		MPI_Ialltoallv
#define MPI_IBcast		MPI_Ibcast
#define MPI_IExscan		MPI_Iexscan
#define MPI_IGather		MPI_Igather
#define MPI_IGatherv		MPI_Igatherv
#define MPI_IReduce		MPI_Ireduce
#define MPI_IReduce_scatter	MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block	MPI_Ireduce_scatter_block
#define MPI_IScan		MPI_Iscan
#define MPI_IScatter		MPI_Iscatter
#define MPI_IScatterv		MPI_Iscatterv

/* Counts of a reduce_scatter must live as long as a persistent call. */
static int *counts_of(struct call *call)
{
	int *counts = malloc(call->size * sizeof(int)), i;

	for (i = 0; i < call->size; i++)
		counts[i] = call->items[i][0];
	return counts;
}

static void call_mpi(struct call *call)
{
	const struct area *s = &call->send, *r = &call->recv;
	void *send = call->has_send ? s->base : MPI_IN_PLACE;
	void *recv = call->has_recv ? r->base : MPI_IN_PLACE;
	const MPI_Datatype st = call->has_send ? s->layout.type : MPI_DATATYPE_NULL;
	const MPI_Datatype rt = call->has_recv ? r->layout.type : MPI_DATATYPE_NULL;
	const int sc = call->has_send ? s->counts[0] : 0, rc = call->has_recv ? r->counts[0] : 0;
	const int n = call->items[0][0], root = call->root;

	/* What means nothing on a rank is given as something that must not be used. */
	if (!call->in_place || call->rank != root) {
		send = call->has_send ? send : NULL;
		recv = call->has_recv ? recv : NULL;
	}
	if (call->in_place && !rooted(call->function))
		send = MPI_IN_PLACE;
	switch (call->function) {
	case ALLGATHER:
		DO(Allgather, send, sc, st, recv, rc, rt);
		break;
	case ALLGATHERV:
		DO(Allgatherv, send, sc, st, recv, r->counts, r->displs, rt);
		break;
	case ALLREDUCE:
		DO(Allreduce, send, recv, n, call->basic, call->op);
		break;
	case ALLTOALL:
		DO(Alltoall, send, sc, st, recv, rc, rt);
		break;
	case ALLTOALLV:
		DO(Alltoallv, send, s->counts, s->displs, st, recv, r->counts, r->displs, rt);
		break;
	case BARRIER:
		if (call->form == BLOCKING)
			MPI_Barrier(call->comm);
		else if (call->form == NONBLOCKING)
			MPI_Ibarrier(call->comm, &call->request);
		else
			INIT(Barrier)(call->comm, MPI_INFO_NULL, &call->request);
		break;
	case BCAST:
		DO(Bcast, recv, rc, rt, root);
		break;
	case EXSCAN:
		DO(Exscan, send, recv, n, call->basic, call->op);
		break;
	case GATHER:
		DO(Gather, send, sc, st, recv, rc, rt, root);
		break;
	case GATHERV:
		DO(Gatherv, send, sc, st, recv, r->counts, r->displs, rt, root);
		break;
	case REDUCE:
		DO(Reduce, send, recv, n, call->basic, call->op, root);
		break;
	case REDUCE_SCATTER:
		DO(Reduce_scatter, send, recv, counts_of(call), call->basic, call->op);
		break;
	case REDUCE_SCATTER_BLOCK:
		DO(Reduce_scatter_block, send, recv, n, call->basic, call->op);
		break;
	case SCAN:
		DO(Scan, send, recv, n, call->basic, call->op);
		break;
	case SCATTER:
		DO(Scatter, send, sc, st, recv, rc, rt, root);
		break;
	case SCATTERV:
		DO(Scatterv, send, s->counts, s->displs, st, recv, rc, rt, root);
		break;
	default:
		break;
	}
}

/* Names of the type and the operator. */
static void print_reduction(const struct call *call)
{
	char name[MPI_MAX_OBJECT_NAME];
	const char *initial = call->reducible->ops;
	int length;

	while (op_of(*initial) != call->op)
		initial++;
	MPI_Type_get_name(call->basic, name, &length);
	printf("type %s operator %c\n", name, *initial);
}

static void check(struct call *call)
{
	/* A reduce_scatter in place keeps the rest of the input, as MPI's libraries do. */
	if ((call->has_send && area_check(&call->send)) ||
	    (call->has_recv && area_check(&call->recv))) {
		if (call->reducible)
			print_reduction(call);
		die("call %d: %s form %d round %d rank %d of %d root %d in place %d items %d",
		    call->number, names[call->function], call->form, call->round, call->rank,
		    call->size,
		    call->root, call->in_place, call->items[call->rank][0]);
	}
}

static void begin(struct call *call)
{
	set_inputs(call);
	expect(call);
}

/* Wait for all, in an order and manner of this rank's own. */
static void finish(struct call *calls, int n)
{
	MPI_Request requests[BATCH_MAX];
	int i, k, index, done;

	for (i = 0; i < n; i++)
		requests[i] = calls[i].request;
	switch (random_next(&mine, 3)) {
	case 0:
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
		break;
	case 1:
		for (i = 0; i < n; i++)
			MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
		break;
	default:
		for (i = 0, k = random_next(&mine, n); i < n; i++, k = (k + 1) % n)
			do
				MPI_Test(&requests[k], &done, MPI_STATUS_IGNORE);
			while (!done);
	}
	for (i = 0; i < n; i++)
		check(&calls[i]);
}

/* Start the persistent calls in an order of this rank's own. */
static void start(struct call *calls, int n)
{
	int i, k = random_next(&mine, n);

	for (i = 0; i < n; i++, k = (k + 1) % n)
		if (calls[k].form == PERSISTENT)
			MPI_Start(&calls[k].request);
}

static void run_batch(int number, int n)
{
	struct call calls[BATCH_MAX];
	int i, j;

	for (i = 0; i < n; i++) {
		choose(&calls[i], number + i);
		make_areas(&calls[i]);
		begin(&calls[i]);
		call_mpi(&calls[i]);
		if (calls[i].form == BLOCKING)
			check(&calls[i]);
	}
	start(calls, n);
	finish(calls, n);
	for (i = 0, j = 0; i < n; i++) {
		if (calls[i].form == PERSISTENT) {
			calls[j++] = calls[i];
			continue;
		}
		if (calls[i].has_send)
			area_free(&calls[i].send);
		if (calls[i].has_recv)
			area_free(&calls[i].recv);
	}
	if (!j)
		return;
	for (i = 0; i < j; i++) {
		calls[i].round++;
		begin(&calls[i]);
	}
	start(calls, j);
	finish(calls, j);
	for (i = 0; i < j; i++) {
		MPI_Request_free(&calls[i].request);
		if (calls[i].has_send)
			area_free(&calls[i].send);
		if (calls[i].has_recv)
			area_free(&calls[i].recv);
	}
}

static void make_comm(int i)
{
	int size;

	if (comms[i] != MPI_COMM_NULL && comms[i] != MPI_COMM_WORLD)
		MPI_Comm_free(&comms[i]);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	switch (i) {
	case 0:
		comms[i] = MPI_COMM_WORLD;
		break;
	case 1:
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
		break;
	case 2:
		MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &comms[i]);
		break;
	case 3:
		MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[i]);
		break;
	case 4:
		MPI_Comm_split(MPI_COMM_WORLD, world_rank < size / 2, 0, &comms[i]);
		break;
	default:
		MPI_Comm_dup(comms[3], &comms[i]);
	}
	/* So that nonblocking and persistent calls find a group. */
	MPI_Barrier(comms[i]);
}

int main(int argc, char **argv)
{
	int size, i, n, number = 0, batches;
	uint64_t batch_sequence;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > RANKS_MAX)
		die("at most %d ranks", RANKS_MAX);
	shared = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	batches = argc > 2 ? atoi(argv[2]) : 500;
	all_forms = argc > 3;
	emulated = argc > 4;
	batch_sequence = shared;
	mine = shared * 31 + world_rank + 1;
	MPI_Op_create(user_function, 0, &user_op);
	for (i = 0; i < COMMS; i++)
		comms[i] = MPI_COMM_NULL;
	for (i = 0; i < COMMS; i++)
		make_comm(i);
	for (i = 0; i < batches || number < CYCLE; i++) {
		n = 1 + random_next(&batch_sequence, BATCH_MAX);
		run_batch(number, n);
		number += n;
		if (!random_next(&batch_sequence, 40))
			make_comm(random_next(&batch_sequence, COMMS));
	}
	for (i = 1; i < COMMS; i++)
		MPI_Comm_free(&comms[i]);
	MPI_Op_free(&user_op);
	if (!world_rank)
		printf("%d calls are right\n", number);
	MPI_Finalize();
	return 0;
}
