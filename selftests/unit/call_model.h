/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What uapi/linux/collective.h says of a call: which errors it may have, and which elements of its
 * buffers it touches.  Written from the documentation, element by element, in numbers of 128 bits.
 */
#ifndef COLL_CALL_MODEL_H
#define COLL_CALL_MODEL_H

#include <linux/collective.h>
#include <linux/mm.h>

#include "env.h"

typedef unsigned __int128 wide;

#define MODEL_RANKS		8
#define MODEL_ELEMENTS		512U

/* Uses that a collective makes of the fields of a call. */
#define USES_REDUCTION		1
#define USES_ROOT		2
#define USES_LAYOUT		4
#define USES_VARLEN		8
#define USES_NOTHING		16
#define IS_MESSAGE		32

/* Blocks of a buffer: none, one, or one for each rank. */
enum model_has { NONE, ONE, ALL };

static const struct {
	u8 uses;
	enum model_has root[2];		/* on the root, or on all ranks: of @send and @recv */
	enum model_has other[2];	/* on other ranks than the root */
} model_of[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]	= { USES_NOTHING },
	[COLLECTIVE_ALLREDUCE]	= { USES_REDUCTION, { ONE, ONE } },
	[COLLECTIVE_REDUCE]	= { USES_REDUCTION | USES_ROOT, { ONE, ONE }, { ONE, NONE } },
	[COLLECTIVE_BROADCAST]	= { USES_ROOT | USES_VARLEN, { ONE, ONE }, { NONE, ONE } },
	[COLLECTIVE_ALLGATHER]	= { USES_LAYOUT, { ONE, ALL } },
	[COLLECTIVE_REDUCE_SCATTER] = { USES_REDUCTION | USES_LAYOUT, { ALL, ONE } },
	[COLLECTIVE_GATHER]	= { USES_ROOT | USES_LAYOUT, { ONE, ALL }, { ONE, NONE } },
	[COLLECTIVE_SCATTER]	= { USES_ROOT | USES_LAYOUT | USES_VARLEN, { ALL, ONE },
				    { NONE, ONE } },
	[COLLECTIVE_ALLTOALL]	= { USES_LAYOUT, { ALL, ALL } },
	[COLLECTIVE_SCAN]	= { USES_REDUCTION, { ONE, ONE } },
	[COLLECTIVE_EXSCAN]	= { USES_REDUCTION, { ONE, ONE } },
	[COLLECTIVE_SEND]	= { USES_ROOT | IS_MESSAGE, { ONE, NONE }, { ONE, NONE } },
	[COLLECTIVE_RECV]	= { USES_ROOT | USES_VARLEN | IS_MESSAGE, { NONE, ONE },
				    { NONE, ONE } },
};

/**
 * struct model_side - the blocks of one buffer
 * @has: how many there are
 * @n: the same as a number
 * @addr: address of the buffer
 * @size: bytes of an element
 * @count: by block: number of elements
 * @view: of blocks of equal length
 * @displs: by block: the first element; NULL: they follow @view, or one another
 * @viewed: true if there is a view
 */
struct model_side {
	enum model_has has;
	u32 n;
	u64 addr;
	u32 size;
	u64 count[MODEL_RANKS];
	struct collective_view view;
	const u64 *displs;
	bool viewed;
};

/**
 * struct call_model - a call, and what the documentation says of it
 * @op: the call
 * @rank: of the member
 * @nranks: of the group
 * @given: its layout, in memory of the test; NULL: none
 * @side: its buffers
 * @errors: bit (1 << errno) of each error that it may have
 * @unsure: true if the elements of the result are too many to say whether two rows share one
 */
struct call_model {
	struct collective_op op;
	u32 rank;
	u32 nranks;
	const struct collective_layout *given;
	struct model_side side[2];
	wide errors[2];
	bool unsure;
};

static const u8 model_sizes[COLLECTIVE_TYPE_COUNT] = { 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8 };

static void model_error(struct call_model *model, int error)
{
	model->errors[error / 128] |= (wide)1 << error % 128;
}

static bool model_has_error(const struct call_model *model, int error)
{
	return model->errors[error / 128] >> error % 128 & 1;
}

static bool model_is_valid(const struct call_model *model)
{
	return !model->errors[0] && !model->errors[1];
}

/* Offset of an element from the address of the buffer, in elements; saturated. */
static wide model_element(const struct model_side *side, u32 block, u64 element)
{
	wide at = 0, part;
	u64 rows, row;
	u32 i;

	if (side->displs)
		return (wide)side->displs[block] + element;
	if (!side->viewed) {
		for (i = 0; i < block; i++)
			at += side->count[i];
		return at + element;
	}
	rows = side->view.rows ? side->view.rows : 1;
	row = side->count[block] / rows;
	at = (wide)block * side->view.distance + element % row;
	if (__builtin_mul_overflow((wide)(element / row), (wide)side->view.stride, &part) ||
	    __builtin_add_overflow(at, part, &at))
		return ~(wide)0 >> 1;
	return at;
}

static wide model_byte(const struct model_side *side, u32 block, u64 element)
{
	return side->addr + model_element(side, block, element) * side->size;
}

/* Elements of all blocks; 0: more than the test looks at one by one. */
static u32 model_elements(const struct model_side *side)
{
	wide n = 0;
	u32 i;

	for (i = 0; i < side->n; i++)
		n += side->count[i];
	return n <= MODEL_ELEMENTS ? n : 0;
}

/* The first byte, and the one behind the last one, from the address on.  Return: false: none. */
static bool model_hull(const struct model_side *side, wide *low, wide *high)
{
	wide first, last;
	bool any = false;
	u32 i;

	*low = ~(wide)0;
	*high = 0;
	for (i = 0; i < side->n; i++) {
		if (!side->count[i])
			continue;
		first = model_element(side, i, 0);
		last = model_element(side, i, side->count[i] - 1);
		*low = min(*low, first);
		*high = max(*high, last + 1);
		any = true;
	}
	if (any && __builtin_mul_overflow(*high, (wide)side->size, high))
		*high = ~(wide)0;
	*low *= side->size;
	return any;
}

static int model_compare(const void *a, const void *b)
{
	wide x = *(const wide *)a, y = *(const wide *)b;

	return x < y ? -1 : x > y;
}

/* Do two blocks that begin anywhere share an element? */
static bool model_blocks_meet(const struct model_side *side)
{
	u32 a, b;

	for (a = 0; a < side->n; a++)
		for (b = 0; b < side->n; b++)
			if (a != b && side->count[a] && side->count[b] &&
			    side->displs[a] <= side->displs[b] &&
			    side->displs[b] < (wide)side->displs[a] + side->count[a])
				return true;
	return false;
}

/* Is an element in two blocks or rows?  Only of a side whose elements are looked at. */
static bool model_repeats(const struct model_side *side)
{
	static wide at[MODEL_ELEMENTS];
	u32 n = 0, i;
	u64 e;

	if (side->displs)
		return model_blocks_meet(side);
	if (!side->viewed)
		return false;
	for (i = 0; i < side->n; i++)
		for (e = 0; e < side->count[i]; e++)
			at[n++] = model_element(side, i, e);
	qsort(at, n, sizeof(*at), model_compare);
	for (i = 1; i < n; i++)
		if (at[i] == at[i - 1])
			return true;
	return false;
}

static bool view_is_given(const struct collective_view *view)
{
	return view->rows || view->stride || view->distance;
}

/* The counts of a side of a call with VECTOR. */
static void model_counts(struct call_model *model, u32 area, u64 counts, u64 displs)
{
	struct model_side *side = &model->side[area];
	wide sum = 0;
	u32 i;

	if (side->has == NONE)
		return;
	if (side->has == ONE) {
		side->count[0] = model->op.count;
		if (counts || displs)
			model_error(model, EINVAL);
		return;
	}
	if (!counts) {
		model_error(model, EINVAL);
		side->n = 0;
		return;
	}
	for (i = 0; i < side->n; i++) {
		side->count[i] = ((const u64 *)counts)[i];
		sum += side->count[i];
	}
	/* Also where gaps let them overlap. */
	if (sum * side->size > TASK_SIZE_MAX)
		model_error(model, EOVERFLOW);
	side->displs = (const u64 *)displs;
}

static void model_view(struct call_model *model, u32 area, const struct collective_view *view)
{
	struct model_side *side = &model->side[area];
	u64 rows = view->rows ? view->rows : 1;
	u32 i;

	for (i = 0; i < side->n; i++)
		side->count[i] = model->op.count;
	if (side->has == NONE || !view_is_given(view))
		return;
	side->view = *view;
	side->viewed = true;
	if ((side->has == ONE && view->distance) || model->op.count % rows ||
	    (rows > 1 && view->stride < model->op.count / rows))
		model_error(model, EINVAL);
	if (model->op.count % rows)
		side->n = 0;
}

static void model_layout(struct call_model *model)
{
	const struct collective_layout *given = model->given;
	u64 send_counts, recv_counts, sent, received;
	bool vector = model->op.flags & COLLECTIVE_F_VECTOR;
	static const struct collective_layout none;
	struct model_side *send = &model->side[0], *recv = &model->side[1];

	if (!given) {
		if (vector && (send->has == ALL || recv->has == ALL))
			model_error(model, EINVAL);
		given = &none;
		vector = false;
	}
	if (given->flags)
		model_error(model, EINVAL);
	if (!vector) {
		model_view(model, 0, &given->send);
		model_view(model, 1, &given->recv);
		if (given->send_counts || given->send_displs || given->recv_counts ||
		    given->recv_displs)
			model_error(model, EINVAL);
		return;
	}
	if (view_is_given(&given->send) || view_is_given(&given->recv))
		model_error(model, EINVAL);
	send_counts = given->send_counts;
	recv_counts = given->recv_counts;
	if (model->op.opcode == COLLECTIVE_REDUCE_SCATTER) {
		if (send_counts)
			model_error(model, EINVAL);
		send_counts = recv_counts;
		recv_counts = 0;
	}
	model_counts(model, 0, send_counts, given->send_displs);
	model_counts(model, 1, recv_counts, given->recv_displs);
	if (!model_is_valid(model))
		return;
	/* The block that a rank sends to itself. */
	sent = send->has == ALL ? send->count[model->rank] : model->op.count;
	received = recv->has == ALL ? recv->count[model->rank] : model->op.count;
	if (sent != received || (send->has == ALL && recv->has == ALL && model->op.count))
		model_error(model, EINVAL);
}

/* The fields that need no look at buffers. */
static void model_fields(struct call_model *model)
{
	const struct collective_op *op = &model->op;
	u8 uses = model_of[op->opcode].uses;
	bool keyed = op->flags & COLLECTIVE_F_KEYED;

	if (op->reduction >= COLLECTIVE_REDUCTION_COUNT ||
	    op->algorithm >= COLLECTIVE_ALGORITHM_COUNT || op->flags & ~COLLECTIVE_F_ALL ||
	    op->root >= model->nranks || op->reserved[0] || op->reserved[1] ||
	    op->key > (keyed ? COLLECTIVE_KEY_MAX : 0))
		model_error(model, EINVAL);
	if ((op->root && !(uses & USES_ROOT)) ||
	    /* The instance that stands for the group. */
	    (uses & IS_MESSAGE && keyed && op->root == model->rank &&
	     model->rank == COLLECTIVE_RANKS_MAX - 1 && op->key == COLLECTIVE_KEY_MAX) ||
	    ((op->layout || op->flags & COLLECTIVE_F_VECTOR) && !(uses & USES_LAYOUT)) ||
	    (op->flags & COLLECTIVE_F_VARLEN && !(uses & USES_VARLEN)) ||
	    (op->flags & COLLECTIVE_F_NOSYNC && uses & IS_MESSAGE))
		model_error(model, EINVAL);
	if (uses & USES_NOTHING && (op->type || op->count || op->send || op->recv ||
				    op->send_buffer || op->recv_buffer))
		model_error(model, EINVAL);
	if (!(uses & USES_REDUCTION) &&
	    (op->reduction || op->flags & (COLLECTIVE_F_REPRODUCIBLE | COLLECTIVE_F_WIDE)))
		model_error(model, EINVAL);
	if (uses & USES_REDUCTION && op->type >= COLLECTIVE_FLOAT16 &&
	    (op->reduction == COLLECTIVE_BAND || op->reduction == COLLECTIVE_BOR ||
	     op->reduction == COLLECTIVE_BXOR))
		model_error(model, EINVAL);
	if ((op->opcode == COLLECTIVE_SCAN || op->opcode == COLLECTIVE_EXSCAN) &&
	    op->reduction == COLLECTIVE_AVG)
		model_error(model, EINVAL);
}

/* Spans beyond the address space, elements of a result in two blocks, and alignment. */
static void model_sides(struct call_model *model)
{
	const struct collective_op *op = &model->op;
	bool ignored;
	wide low, high;
	u32 area;

	for (area = 0; area < 2; area++) {
		struct model_side *side = &model->side[area];

		if (!model_hull(side, &low, &high))
			continue;
		if (high > TASK_SIZE_MAX)
			model_error(model, EOVERFLOW);
		if (area == 1 && side->viewed && !model_elements(side))
			model->unsure = true;
		else if (area == 1 && model_repeats(side))
			model_error(model, EINVAL);
		/* No rank is before the first one. */
		ignored = op->opcode == COLLECTIVE_EXSCAN && !model->rank && area == 1;
		if (!ignored && side->addr % side->size)
			model_error(model, EINVAL);
	}
	/* The blocks of all ranks, also on a rank that has not all of them. */
	if (!(op->flags & COLLECTIVE_F_VECTOR && model->given)) {
		bool all = model->side[0].has == ALL || model->side[1].has == ALL;

		if ((wide)op->count * model->side[0].size * (all ? model->nranks : 1) >
		    TASK_SIZE_MAX)
			model_error(model, EOVERFLOW);
	}
}

/**
 * model_call() - say what the documentation says of a call
 * @model: @op, @rank, @nranks and @given are set
 */
static void model_call(struct call_model *model)
{
	const struct collective_op *op = &model->op;
	bool other;
	u32 i;

	if (op->opcode >= COLLECTIVE_OPCODE_COUNT || op->type >= COLLECTIVE_TYPE_COUNT) {
		model_error(model, EINVAL);
		return;
	}
	model_fields(model);
	other = model_of[op->opcode].uses & USES_ROOT && op->root != model->rank;
	for (i = 0; i < 2; i++) {
		struct model_side *side = &model->side[i];

		side->has = other ? model_of[op->opcode].other[i] : model_of[op->opcode].root[i];
		side->n = side->has == ALL ? model->nranks : side->has == ONE;
		side->size = model_sizes[op->type];
		side->addr = i ? op->recv : op->send;
	}
	model_layout(model);
	model_sides(model);
}

/* Do both buffers of an alltoall, or of any other call, have each element at the same place? */
static bool model_same_places(const struct call_model *model)
{
	const struct model_side *send = &model->side[0], *recv = &model->side[1];
	u32 i;
	u64 e;

	for (i = 0; i < send->n; i++) {
		if (send->count[i] != recv->count[i])
			return false;
		for (e = 0; e < send->count[i]; e++)
			if (model_byte(send, i, e) != model_byte(recv, i, e))
				return false;
	}
	return true;
}

/* Is the result of a reduce_scatter this rank's own block of the input? */
static bool model_own_block(const struct call_model *model)
{
	const struct model_side *send = &model->side[0], *recv = &model->side[1];
	u64 e;

	for (e = 0; e < recv->count[0]; e++)
		if (model_byte(send, model->rank, e) != model_byte(recv, 0, e))
			return false;
	return true;
}

/* Do the elements of a side's one block follow one another?  None is before an earlier one. */
static bool model_is_plain(const struct model_side *side)
{
	return model_element(side, 0, side->count[0] - 1) == side->count[0] - 1;
}

/* Is a call in place, as its documentation says? */
static bool model_in_place(const struct call_model *model)
{
	const struct model_side *send = &model->side[0], *recv = &model->side[1];
	wide low, high;

	if (!model_hull(send, &low, &high) || !model_hull(recv, &low, &high) ||
	    (model->op.opcode == COLLECTIVE_EXSCAN && !model->rank))
		return false;
	switch (model->op.opcode) {
	case COLLECTIVE_ALLTOALL:
		return model_same_places(model);
	case COLLECTIVE_REDUCE_SCATTER:
		return model_own_block(model);
	}
	return send->addr == recv->addr && model_is_plain(send->has == ONE ? send : recv);
}

#endif /* COLL_CALL_MODEL_H */
