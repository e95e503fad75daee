// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layouts: where the blocks of an operation's buffers lie.
 *
 * The layout is copied from user space once, and checked before use: no number overflows, and no
 * two blocks of a result overlap.  The first and the last byte that the operation may touch are
 * computed; these and all between them are pinned.  Afterwards a view presents the blocks as if
 * they followed one another (core/data/view.h).
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include "core/data/view.h"
#include "core/reduce/reduce.h"
#include "mem/account.h"
#include "op/layout.h"
#include "core/wire/fnv.h"

static bool view_given(const struct collective_view *view)
{
	return view->rows || view->stride || view->distance;
}

/* A user view as a struct coll_stride, in elements. */
static int view_stride(const struct collective_view *view, u64 count, u32 nblocks,
		       struct coll_stride *stride)
{
	u64 rows = max(view->rows, 1ULL), rest;

	*stride = (struct coll_stride){
		.blocks = nblocks,
		.rows = rows,
		.row = div64_u64_rem(count, rows, &rest),
		.stride = view->stride,
		.distance = view->distance,
	};
	return rest ? -EINVAL : 0;
}

static int view_check(struct coll_area_layout *area_layout, const struct collective_view *view,
		      u64 count, u32 size, u32 nblocks, bool writable)
{
	struct coll_stride stride;
	int err;

	err = view_stride(view, count, nblocks, &stride);
	if (err)
		return err;
	if (stride.rows > 1 && stride.stride < stride.row)
		return -EINVAL;
	if (coll_stride_span(&stride, &area_layout->span) ||
	    check_mul_overflow(area_layout->span, (u64)size, &area_layout->span) ||
	    area_layout->span > TASK_SIZE_MAX)
		return -EOVERFLOW;
	if (writable && !coll_stride_apart(&stride))
		return -EINVAL;
	if (!area_layout->span || coll_stride_plain(&stride))
		return 0;

	/* Offsets within the span cannot overflow. */
	stride.row *= size;
	stride.stride *= size;
	stride.distance *= size;
	area_layout->needs_view = true;
	coll_view_strided(&area_layout->view, &stride);
	return 0;
}

static int layout_read(struct collective_layout *given, u64 user)
{
	void __user *ptr = u64_to_user_ptr(user);
	u32 size;
	int err;

	if (get_user(size, (u32 __user *)ptr))
		return -EFAULT;
	if (size < offsetofend(struct collective_layout, recv))
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(given, sizeof(*given), ptr, size);
	if (err)
		return err;
	return given->flags ? -EINVAL : 0;
}

static int numbers_read(u64 *numbers, u64 user, u32 n)
{
	if (copy_from_user(numbers, u64_to_user_ptr(user), n * sizeof(*numbers)))
		return -EFAULT;
	return 0;
}

/* Turn counts into the number of elements before each block. */
static int counts_add(struct coll_area_layout *area_layout, u64 *first, u32 n, u32 size)
{
	u64 bytes;
	u32 i;

	first[0] = 0;
	for (i = 0; i < n; i++) {
		area_layout->longest = max(area_layout->longest, first[i + 1]);
		if (check_add_overflow(first[i], first[i + 1], &first[i + 1]))
			return -EOVERFLOW;
	}
	if (check_mul_overflow(first[n], (u64)size, &bytes) || bytes > TASK_SIZE_MAX)
		return -EOVERFLOW;
	area_layout->first = first;
	area_layout->span = bytes;
	return 0;
}

static int displ_compare(const void *a, const void *b, const void *priv)
{
	const u64 *displs = priv;
	u64 x = displs[*(const u32 *)a], y = displs[*(const u32 *)b];

	return x < y ? -1 : x > y;
}

/* Check that no element is in two blocks: sorted by displacement, each ends before the next one. */
static int blocks_disjoint(const u64 *first, const u64 *displs, u32 n)
{
	u32 *order = kmalloc_array(n, sizeof(*order), GFP_KERNEL_ACCOUNT);
	u32 i, used = 0;
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (first[i + 1] > first[i])
			order[used++] = i;
	sort_r(order, used, sizeof(*order), displ_compare, NULL, displs);
	for (i = 1; i < used; i++) {
		u32 a = order[i - 1];

		if (displs[order[i]] - displs[a] < first[a + 1] - first[a])
			err = -EINVAL;
	}
	kfree(order);
	return err;
}

static int displs_check(struct coll_area_layout *area_layout, const u64 *displs, u32 n, u32 size,
			bool writable)
{
	const u64 *first = area_layout->first;
	u64 low = U64_MAX, high = 0, end, bytes;
	bool plain = true;
	u32 i;
	int err;

	for (i = 0; i < n; i++) {
		if (first[i + 1] == first[i])
			continue;
		if (check_add_overflow(displs[i], first[i + 1] - first[i], &end) ||
		    check_mul_overflow(end, (u64)size, &bytes) || bytes > TASK_SIZE_MAX)
			return -EOVERFLOW;
		low = min(low, displs[i]);
		high = max(high, end);
		plain &= displs[i] == first[i];
	}
	if (plain)
		return 0;
	err = writable ? blocks_disjoint(first, displs, n) : 0;
	if (err)
		return err;
	area_layout->skip = low * size;
	area_layout->span = (high - low) * size;
	area_layout->needs_view = true;
	coll_view_placed(&area_layout->view, n, size, first, displs);
	return 0;
}

/* Layout of blocks that each have a length of their own (VECTOR). */
static int layout_counts(struct coll_block_layout *layout, const struct collective_layout *given,
			 const struct collective_op *op, u32 nranks, const u8 *holds)
{
	u64 counts[] = { given->send_counts, given->recv_counts };
	u64 displs[] = { given->send_displs, given->recv_displs };
	u32 size = coll_type_size(op->type);
	u64 *numbers = layout->numbers;
	u32 area;
	int err;

	if (view_given(&given->send) || view_given(&given->recv))
		return -EINVAL;
	/* The block that a rank receives has the same length in the input of every rank. */
	if (op->opcode == COLLECTIVE_REDUCE_SCATTER) {
		if (counts[COLL_AREA_SEND])
			return -EINVAL;
		swap(counts[COLL_AREA_SEND], counts[COLL_AREA_RECV]);
	}
	for (area = 0; area < COLL_AREA_SCRATCH; area++) {
		struct coll_area_layout *area_layout = &layout->area[area];

		if (holds[area] == COLL_HOLDS_NOTHING)
			continue;
		if (holds[area] == COLL_HOLDS_BLOCK) {
			if (counts[area] || displs[area])
				return -EINVAL;
			if (check_mul_overflow(op->count, (u64)size, &area_layout->span) ||
			    area_layout->span > TASK_SIZE_MAX)
				return -EOVERFLOW;
			continue;
		}
		if (!counts[area])
			return -EINVAL;
		err = numbers_read(numbers + 1, counts[area], nranks);
		if (err)
			return err;
		/* Only these counts are the same on every rank. */
		if (op->opcode == COLLECTIVE_ALLGATHER || op->opcode == COLLECTIVE_REDUCE_SCATTER)
			layout->digest = coll_fnv(numbers + 1, nranks);
		err = counts_add(area_layout, numbers, nranks, size);
		if (err)
			return err;
		numbers += nranks + 1;
		if (!displs[area])
			continue;
		err = numbers_read(numbers, displs[area], nranks) ?:
		      displs_check(area_layout, numbers, nranks, size, area == COLL_AREA_RECV);
		if (err)
			return err;
		numbers += nranks;
	}
	return 0;
}

/* This rank's own block must have the same length in the input and in the result. */
static bool own_block_matches(const struct coll_block_layout *layout,
			      const struct collective_op *op,
			      u32 rank)
{
	const u64 *send = layout->area[COLL_AREA_SEND].first;
	const u64 *recv = layout->area[COLL_AREA_RECV].first;
	u64 sent = send ? send[rank + 1] - send[rank] : op->count;
	u64 received = recv ? recv[rank + 1] - recv[rank] : op->count;

	return sent == received && (!send || !recv || !op->count);
}

/* Layout of blocks of equal length. */
static int layout_views(struct coll_block_layout *layout, const struct collective_layout *given,
			const struct collective_op *op, u32 nranks, const u8 *holds)
{
	const struct collective_view *views[] = {
		[COLL_AREA_SEND] = &given->send,
		[COLL_AREA_RECV] = &given->recv,
	};
	u32 size = coll_type_size(op->type);
	u32 area;
	int err;

	if (given->send_counts || given->send_displs || given->recv_counts ||
	    given->recv_displs)
		return -EINVAL;
	for (area = 0; area < COLL_AREA_SCRATCH; area++) {
		struct coll_area_layout *area_layout = &layout->area[area];
		u32 n = holds[area] == COLL_HOLDS_BLOCKS ? nranks : 1;

		if (holds[area] == COLL_HOLDS_NOTHING)
			continue;
		if (holds[area] == COLL_HOLDS_BLOCK && views[area]->distance)
			err = -EINVAL;
		else if (view_given(views[area]))
			err = view_check(area_layout, views[area], op->count, size, n,
					 area == COLL_AREA_RECV);
		else if (check_mul_overflow(op->count, (u64)size * n, &area_layout->span) ||
			 area_layout->span > TASK_SIZE_MAX)
			err = -EOVERFLOW;
		else
			err = 0;
		if (err)
			return err;
	}
	return 0;
}

static int layout_new(struct coll_block_layout **layout, struct coll_charges *charges, u32 n)
{
	u32 bytes = struct_size(*layout, numbers, n);
	int err = coll_charge(charges, bytes);

	if (err)
		return err;
	*layout = kvzalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!*layout) {
		coll_uncharge(charges, bytes);
		return -ENOMEM;
	}
	(*layout)->charges = charges;
	(*layout)->charged = bytes;
	return 0;
}

/**
 * coll_block_layout_read() - read and check an operation's layout
 * @layout: out: the layout; NULL: one block follows the other
 * @op: the operation; its collective takes a layout, its type is valid
 * @charges: account that the memory is charged to
 * @rank: of this member
 * @nranks: of the group
 * @holds: content of the buffers, enum coll_holds by enum coll_area
 *
 * Context: process that submits; may sleep.
 * Return: 0, -EINVAL, -E2BIG, -EFAULT, -EOVERFLOW, -EDQUOT or -ENOMEM.
 */
int coll_block_layout_read(struct coll_block_layout **layout,
			   const struct collective_op *op,
				    struct coll_charges *charges, u32 rank, u32 nranks,
				    const u8 *holds)
{
	bool vector = op->flags & COLLECTIVE_F_VECTOR;
	struct collective_layout given;
	int err;

	*layout = NULL;
	if (!op->layout)
		return vector && (holds[COLL_AREA_SEND] == COLL_HOLDS_BLOCKS ||
				  holds[COLL_AREA_RECV] == COLL_HOLDS_BLOCKS) ? -EINVAL : 0;
	err = layout_read(&given, op->layout);
	if (err)
		return err;
	err = layout_new(layout, charges, vector ? 4 * nranks + 2 : 0);
	if (err)
		return err;
	if (!vector)
		err = layout_views(*layout, &given, op, nranks, holds);
	else
		err = layout_counts(*layout, &given, op, nranks, holds);
	if (!err && vector && !own_block_matches(*layout, op, rank))
		err = -EINVAL;
	if (err) {
		coll_block_layout_free(*layout);
		*layout = NULL;
	}
	return err;
}

/**
 * coll_block_layout_free() - undo coll_block_layout_read()
 * @layout: of a request that is complete or was never submitted; or NULL
 */
void coll_block_layout_free(struct coll_block_layout *layout)
{
	if (!layout)
		return;
	coll_uncharge(layout->charges, layout->charged);
	kvfree(layout);
}

/**
 * coll_block_layout_vector() - do the blocks have different lengths?
 * @layout: a layout, or NULL
 *
 * Return: true if a buffer has counts of its own for each rank.
 */
bool coll_block_layout_vector(const struct coll_block_layout *layout)
{
	return layout && (layout->area[COLL_AREA_SEND].first ||
			  layout->area[COLL_AREA_RECV].first);
}

/**
 * coll_block_layout_own() - find this rank's own block in the input
 * @layout: of an operation with a block for each rank as input, and one block as result
 * @rank: of this member
 * @off: in: offset of the block if the blocks followed one another; out: its offset from the
 *	address of the input; bytes
 *
 * Return: false if the result is strided differently from that block.
 */
bool coll_block_layout_own(const struct coll_block_layout *layout, u32 rank, u64 *off)
{
	const struct coll_area_layout *send = &layout->area[COLL_AREA_SEND];
	const struct coll_area_layout *recv = &layout->area[COLL_AREA_RECV];
	const struct coll_stride *from = &send->view.stride, *to = &recv->view.stride;

	if (!send->needs_view)
		return !recv->needs_view;
	if (send->first) {
		*off = send->view.place[rank] << send->view.shift;
		return true;
	}
	*off = rank * from->distance;
	if (!recv->needs_view)
		return from->rows == 1 || from->stride == from->row;
	return from->rows == to->rows && from->stride == to->stride;
}

/**
 * coll_block_layout_alike() - do the blocks of input and result have the same layout?
 * @layout: of an operation with a block for each rank as input and as result
 * @nranks: of the group
 *
 * Return: true if each block lies at the same offset in both buffers.
 */
bool coll_block_layout_alike(const struct coll_block_layout *layout, u32 nranks)
{
	const struct coll_area_layout *send = &layout->area[COLL_AREA_SEND];
	const struct coll_area_layout *recv = &layout->area[COLL_AREA_RECV];
	const struct coll_stride *from = &send->view.stride, *to = &recv->view.stride;

	if (send->first && memcmp(send->first, recv->first, (nranks + 1) * sizeof(u64)))
		return false;
	if (send->needs_view != recv->needs_view || !send->needs_view)
		return send->needs_view == recv->needs_view;
	if (send->first)
		return !memcmp(send->view.place, recv->view.place, nranks * sizeof(u64));
	return from->rows == to->rows && from->row == to->row &&
	       from->stride == to->stride && from->distance == to->distance;
}

/**
 * coll_block_layout_over() - the view through which the schedules see a buffer
 * @layout: the layout, or NULL
 * @area: the buffer, enum coll_area
 * @under: memory that contains the buffer; must outlive @layout
 * @off: offset in @under at which the span begins
 *
 * Return: the view, or NULL if the blocks follow one another.
 */
const struct coll_mem *coll_block_layout_over(struct coll_block_layout *layout, u32 area,
					      const struct coll_mem *under, u64 off)
{
	struct coll_area_layout *area_layout;

	if (!layout || !layout->area[area].needs_view)
		return NULL;
	area_layout = &layout->area[area];
	coll_view_over(&area_layout->view, under, off - area_layout->skip);
	return &area_layout->view.mem;
}
