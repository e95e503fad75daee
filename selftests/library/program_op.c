// SPDX-License-Identifier: GPL-2.0-only
/* The operations of random programs: their kinds, sizes, layouts, inputs and results. */
#include "library/program.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/values.h"

const char * const program_kinds[PROGRAM_KINDS] = {
	"barrier", "allreduce", "reduce", "broadcast", "allgather", "reduce_scatter", "gather",
	"scatter", "alltoall", "scan", "exscan", "shift", "allgatherv", "gatherv", "scatterv",
	"alltoallv", "reduce_scatterv", "allgather_view", "reduce_scatter_view", "alltoall_view",
	"broadcast_varlen", "scatter_varlen",
};

static bool reduces(int kind)
{
	return kind == PROGRAM_ALLREDUCE || kind == PROGRAM_REDUCE || kind == PROGRAM_SCAN ||
	       kind == PROGRAM_EXSCAN || kind == PROGRAM_REDUCE_SCATTER ||
	       kind == PROGRAM_REDUCE_SCATTERV || kind == PROGRAM_REDUCE_SCATTER_VIEW;
}

static bool scans(int kind)
{
	return kind == PROGRAM_SCAN || kind == PROGRAM_EXSCAN;
}

/* Has the input a block for each rank? */
static bool scatters(int kind)
{
	return kind == PROGRAM_REDUCE_SCATTER || kind == PROGRAM_REDUCE_SCATTERV ||
	       kind == PROGRAM_REDUCE_SCATTER_VIEW || kind == PROGRAM_SCATTER ||
	       kind == PROGRAM_SCATTERV || kind == PROGRAM_SCATTER_VARLEN ||
	       kind == PROGRAM_ALLTOALL || kind == PROGRAM_ALLTOALLV ||
	       kind == PROGRAM_ALLTOALL_VIEW;
}

/* Has the result a block of each rank? */
static bool gathers(int kind)
{
	return kind == PROGRAM_ALLGATHER || kind == PROGRAM_ALLGATHERV ||
	       kind == PROGRAM_ALLGATHER_VIEW || kind == PROGRAM_GATHER ||
	       kind == PROGRAM_GATHERV || kind == PROGRAM_ALLTOALL || kind == PROGRAM_ALLTOALLV ||
	       kind == PROGRAM_ALLTOALL_VIEW;
}

static bool has_view(int kind)
{
	return kind == PROGRAM_ALLGATHER_VIEW || kind == PROGRAM_REDUCE_SCATTER_VIEW ||
	       kind == PROGRAM_ALLTOALL_VIEW;
}

static bool has_counts(int kind)
{
	return (kind >= PROGRAM_ALLGATHERV && kind <= PROGRAM_REDUCE_SCATTERV) ||
	       kind == PROGRAM_SCATTER_VARLEN;
}

/* Does rank @rank send, and receive? */
static bool sends(const struct program_op *op, int rank)
{
	switch (op->kind) {
	case PROGRAM_BARRIER:
		return false;
	case PROGRAM_BROADCAST:
	case PROGRAM_BROADCAST_VARLEN:
	case PROGRAM_SCATTER:
	case PROGRAM_SCATTERV:
	case PROGRAM_SCATTER_VARLEN:
		return rank == op->root;
	}
	return true;
}

static bool receives(const struct program_op *op, int rank)
{
	switch (op->kind) {
	case PROGRAM_BARRIER:
		return false;
	case PROGRAM_BROADCAST:
	case PROGRAM_BROADCAST_VARLEN:
		return rank != op->root;
	case PROGRAM_REDUCE:
	case PROGRAM_GATHER:
	case PROGRAM_GATHERV:
		return rank == op->root;
	case PROGRAM_EXSCAN:
		return rank;
	}
	return true;
}

/* A number of elements: often none, or about as many as are sent at once; up to @most bytes. */
static size_t choose_count(struct rng *rng, size_t size, size_t most)
{
	size_t bytes;

	switch (rng_below(rng, 8)) {
	case 0:
		return 0;
	case 1:
	case 2:
		bytes = rng_below(rng, 64);
		break;
	case 3:
	case 4:
		bytes = rng_below(rng, 5000);
		break;
	case 5:
		bytes = 32768 - 32 + rng_below(rng, 64);
		break;
	default:
		bytes = rng_below(rng, most);
	}
	return (bytes < most ? bytes : most) / size;
}

static void choose_counts(struct program_op *op, struct rng *rng)
{
	const bool many = scatters(op->kind) || gathers(op->kind);
	const size_t size = reference_types[op->type].size;
	/* Half of the memory is left for gaps and rows. */
	const size_t most = PROGRAM_HALF / 2 / (many ? op->n : 1);
	const size_t common = choose_count(rng, size, most);
	const bool symmetric = rng_once_in(rng, 2);
	size_t mine[PROGRAM_RANKS];
	int i, j;

	for (i = 0; i < op->n; i++)
		mine[i] = has_counts(op->kind) ? choose_count(rng, size, most) : common;
	for (i = 0; i < op->n; i++)
		for (j = 0; j < op->n; j++) {
			if (op->kind == PROGRAM_ALLTOALLV)
				op->count[i][j] = symmetric && j < i ? op->count[j][i] :
						  choose_count(rng, size, most);
			else
				op->count[i][j] = mine[scatters(op->kind) ? j : i];
		}
}

/* Only in the kinds in which all ranks have one vector of one length. */
static void choose_fault(struct program_op *op, struct rng *rng, bool allowed)
{
	static const int mismatches[] = {
		PROGRAM_ALLREDUCE, PROGRAM_REDUCE, PROGRAM_BROADCAST, PROGRAM_SCAN,
	};
	size_t i;

	op->fault = PROGRAM_NO_FAULT;
	op->culprit = rng_below(rng, op->n);
	if (!allowed)
		return;
	if (op->kind != PROGRAM_SHIFT && rng_once_in(rng, 10))
		op->fault = PROGRAM_CANCEL;
	if (op->n == 1 || !rng_once_in(rng, 10))
		return;
	for (i = 0; i < ARRAY_SIZE(mismatches); i++)
		if (op->kind == mismatches[i])
			op->fault = PROGRAM_MISMATCH;
}

void program_op_choose(struct program_thread *t, struct program_op *op)
{
	struct rng *rng = &t->common;

	memset(op, 0, sizeof(*op));
	op->number = t->number++;
	op->n = t->n;
	do {
		op->kind = rng_below(rng, PROGRAM_KINDS);
	} while (op->kind == PROGRAM_SHIFT && op->n == 1);
	op->root = rng_below(rng, op->n);
	op->tag = rng_once_in(rng, 2) ? COLL_TAG_NONE : (long long)op->number;
	do {
		op->type = rng_below(rng, COLLECTIVE_TYPE_COUNT);
		op->reduction = reduces(op->kind) ? rng_below(rng, COLLECTIVE_REDUCTION_COUNT) : 0;
		/* Scans offer neither averages nor wide sums. */
	} while (reduces(op->kind) &&
		 (!valid(op->type, op->reduction) ||
		  (scans(op->kind) &&
		   (op->reduction == COLLECTIVE_AVG ||
		    (t->program->flags & COLL_CONFIG_WIDE && op->reduction == COLLECTIVE_SUM)))));
	choose_counts(op, rng);
	choose_fault(op, rng, t->program->victim < 0);
}

/*
 * Layouts
 */

/* Blocks one after the other, in any order and with gaps if @free. */
static void place_blocks(struct program_area *area, struct rng *rng, bool free)
{
	int order[PROGRAM_RANKS], i, k;
	size_t at = 0;

	for (i = 0; i < area->n; i++) {
		k = free ? (int)rng_below(rng, i + 1) : i;
		order[i] = order[k];
		order[k] = i;
	}
	free &= area->n > 1;
	for (i = 0; i < area->n; i++) {
		at += free ? rng_below(rng, 9) : 0;
		area->displ[order[i]] = at;
		at += area->count[order[i]];
	}
}

/* Rows at equal distances: the blocks side by side, or one below the other. */
static void place_rows(struct program_area *area, struct rng *rng)
{
	struct coll_view *view = &area->view;
	size_t rows, row, count = area->count[0];
	int i;

	for (rows = 1 + rng_below(rng, 5); count % rows; rows--)
		;
	row = count / rows;
	view->size = rng_once_in(rng, 2) ? sizeof(*view) : 0;
	view->rows = rows;
	if (rng_once_in(rng, 2)) {
		view->distance = row + rng_below(rng, 4);
		view->stride = area->n * view->distance + rng_below(rng, 4);
	} else {
		view->stride = row + rng_below(rng, 4);
		view->distance = rows * view->stride + rng_below(rng, 4);
	}
	if (area->n == 1)
		view->distance = 0;
	for (i = 0; i < area->n; i++)
		area->displ[i] = i * view->distance;
}

/* Offset of an element in bytes. */
static size_t element_at(const struct program_area *area, int block, size_t i)
{
	const size_t rows = area->view.rows ? area->view.rows : 1;
	const size_t row = rows > 1 ? area->count[block] / rows : 0;
	const size_t at = row ? i / row * area->view.stride + i % row : i;

	return (area->displ[block] + at) * area->size;
}

static void area_init(struct program_area *area, const struct program_op *op, u8 *half,
		      struct rng *rng)
{
	memset(area, 0, sizeof(*area));
	area->size = reference_types[op->type].size;
	area->at = half + GUARD + area->size * rng_below(rng, 600);
}

static void layout(struct program_slot *slot, int rank, struct rng *rng)
{
	const struct program_op *op = &slot->op;
	struct program_area *send = &slot->send, *recv = &slot->recv;
	const int from = op->kind == PROGRAM_SHIFT ? (rank + op->n - 1) % op->n : op->root;
	int i;

	area_init(send, op, slot->arena, rng);
	area_init(recv, op, slot->arena + PROGRAM_HALF, rng);
	send->n = !sends(op, rank) ? 0 : scatters(op->kind) ? op->n : 1;
	recv->n = !receives(op, rank) ? 0 : gathers(op->kind) ? op->n : 1;
	for (i = 0; i < send->n; i++)
		send->count[i] = op->count[rank][i];
	for (i = 0; i < recv->n; i++)
		recv->count[i] = gathers(op->kind) ? op->count[i][rank] :
				 reduces(op->kind) ? op->count[rank][rank] : op->count[from][rank];
	place_blocks(send, rng, has_counts(op->kind) && rng_once_in(rng, 2));
	place_blocks(recv, rng, has_counts(op->kind) && rng_once_in(rng, 2));
	if (has_view(op->kind)) {
		place_rows(send, rng);
		place_rows(recv, rng);
	}
}

/* In place, the input is one of the blocks of the result, or the other way round. */
static void layout_in_place(struct program_slot *slot, int rank)
{
	const struct program_op *op = &slot->op;
	struct program_area *send = &slot->send, *recv = &slot->recv;
	struct program_area own = *recv;

	if (scatters(op->kind) && !gathers(op->kind)) {
		/* A scatter's root keeps its block where it is. */
		if (!reduces(op->kind)) {
			recv->n = 0;
			return;
		}
		send->at = recv->at;
		return;
	}
	if (!gathers(op->kind)) {
		send->at = recv->at;
		return;
	}
	if (scatters(op->kind)) {
		*send = *recv;
		return;
	}
	own.n = 1;
	own.count[0] = recv->count[rank];
	own.displ[0] = recv->displ[rank];
	*send = own;
}

static bool can_be_in_place(const struct program_op *op, int rank)
{
	int i;

	switch (op->kind) {
	case PROGRAM_ALLREDUCE:
	case PROGRAM_ALLGATHER:
	case PROGRAM_REDUCE_SCATTER:
	case PROGRAM_ALLTOALL:
	case PROGRAM_SCAN:
	case PROGRAM_EXSCAN:
	case PROGRAM_ALLGATHERV:
	case PROGRAM_REDUCE_SCATTERV:
	case PROGRAM_ALLGATHER_VIEW:
	case PROGRAM_ALLTOALL_VIEW:
		return true;
	case PROGRAM_REDUCE:
	case PROGRAM_GATHER:
	case PROGRAM_GATHERV:
	case PROGRAM_SCATTER:
	case PROGRAM_SCATTERV:
	case PROGRAM_SCATTER_VARLEN:
		return rank == op->root;
	case PROGRAM_ALLTOALLV:
		for (i = 0; i < op->n; i++)
			if (op->count[rank][i] != op->count[i][rank])
				return false;
		return true;
	}
	return false;
}

/*
 * Contents
 */

struct period {
	u8 byte[PERIOD * 8];
};

/* The input that rank @from has for rank @to; a rank with one block has it for rank 0. */
static u64 input_of(const struct program_op *op, int from, int to, u32 i)
{
	const u32 block = scatters(op->kind) ? to : 0;

	return input(op->type, op->reduction, (op->number * PROGRAM_RANKS + from) * PROGRAM_RANKS +
		     block, i);
}

static void period_set(struct period *period, const struct program_op *op, u32 i, u64 value)
{
	const int size = reference_types[op->type].size;

	memcpy(period->byte + i * size, &value, size);
}

/* The input of a block. */
static void period_input(struct period *period, const struct program_op *op, int from, int to)
{
	u32 i;

	for (i = 0; i < PERIOD; i++)
		period_set(period, op, i, input_of(op, from, to, i));
}

/* The ranks up to @last combined. */
static void period_reduced(struct period *period, const struct program_op *op, int last, int to)
{
	u64 value;
	u32 i;
	int k;

	for (i = 0; i < PERIOD; i++) {
		value = input_of(op, 0, to, i);
		for (k = 1; k <= last; k++)
			value = reference_reduce(op->type, op->reduction, value,
						 input_of(op, k, to, i), k == last ? last + 1 : 1);
		period_set(period, op, i, value);
	}
}

static void period_result(struct period *period, const struct program_op *op, int rank, int block)
{
	if (scans(op->kind))
		period_reduced(period, op, op->kind == PROGRAM_SCAN ? rank : rank - 1, 0);
	else if (reduces(op->kind))
		period_reduced(period, op, op->n - 1, rank);
	else if (gathers(op->kind))
		period_input(period, op, block, rank);
	else if (op->kind == PROGRAM_SHIFT)
		period_input(period, op, (rank + op->n - 1) % op->n, rank);
	else
		period_input(period, op, op->root, rank);
}

static void block_store(u8 *base, const struct program_area *area, int block,
			const struct period *period)
{
	size_t i;

	for (i = 0; i < area->count[block]; i++)
		memcpy(base + element_at(area, block, i), period->byte + i % PERIOD * area->size,
		       area->size);
}

void program_slot_fill(struct program_thread *t, struct program_slot *slot)
{
	const struct program_op *op = &slot->op;
	struct period period;
	int i;

	layout(slot, t->rank, &t->local);
	slot->in_place = can_be_in_place(op, t->rank) && rng_once_in(&t->local, 3);
	if (slot->in_place)
		layout_in_place(slot, t->rank);
	memset(slot->arena, 0x5c, 2 * PROGRAM_HALF);
	for (i = 0; i < slot->send.n; i++) {
		period_input(&period, op, t->rank, i);
		block_store(slot->send.at, &slot->send, i, &period);
	}
	memcpy(slot->expected, slot->arena, 2 * PROGRAM_HALF);
}

/*
 * What the operation leaves undefined counts as it is: the result after a failure, and the other
 * blocks of a reduce_scatter in place.
 */
static void take_undefined(struct program_slot *slot, int rank)
{
	const bool overwrites = slot->in_place && reduces(slot->op.kind) && scatters(slot->op.kind);
	struct program_area blocks = overwrites ? slot->send : slot->recv;
	const size_t at = slot->recv.at - slot->arena;
	size_t k, off;
	int i;

	if (!slot->result && !overwrites)
		return;
	if (slot->op.fault == PROGRAM_MISMATCH && slot->op.culprit == rank)
		blocks.count[0]++;
	for (i = 0; i < blocks.n; i++)
		for (k = 0; k < blocks.count[i]; k++) {
			off = at + element_at(&blocks, i, k);
			memcpy(slot->expected + off, slot->arena + off, blocks.size);
		}
}

static size_t first_difference(const struct program_slot *slot)
{
	size_t i = 0;

	while (slot->arena[i] == slot->expected[i])
		i++;
	return i;
}

int program_slot_check(struct program_thread *t, struct program_slot *slot)
{
	u8 *result = slot->expected + (slot->recv.at - slot->arena);
	const struct program_op *op = &slot->op;
	struct period period;
	size_t at;
	int i;

	take_undefined(slot, t->rank);
	for (i = 0; !slot->result && i < slot->recv.n; i++) {
		period_result(&period, op, t->rank, i);
		block_store(result, &slot->recv, i, &period);
	}
	if (!memcmp(slot->arena, slot->expected, 2 * PROGRAM_HALF))
		return 0;
	at = first_difference(slot);
	dprintf(STDOUT_FILENO,
		"# seed %llu, rank %d of %d, operation %u: %s of %zu %s, %s, root %d, form %d%s: byte %zu of the %s is %#x instead of %#x\n",
		(unsigned long long)t->program->seed, t->rank, t->n, op->number,
		program_kinds[op->kind], op->count[0][0], reference_types[op->type].name,
		reference_reductions[op->reduction], op->root, slot->form,
		slot->in_place ? ", in place" : "",
		at < PROGRAM_HALF ? at - (slot->send.at - slot->arena) :
				    at - (slot->recv.at - slot->arena),
		at < PROGRAM_HALF ? "input" : "result", slot->arena[at], slot->expected[at]);
	return 1;
}
