// SPDX-License-Identifier: LGPL-2.1-or-later
/* A call of MPI as an operation of the kernel. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/access.h"
#include "common/datatype.h"
#include "common/group.h"
#include "common/reduction.h"
#include "common/region.h"
#include "common/settings.h"
#include "common/task.h"

/*
 * The kernel pins gaps between blocks, too.  A gap shorter than a page, on every architecture,
 * lies in pages that a block is also in.
 */
#define GAP_MAX	4096

static const unsigned char opcodes[CM_FUNCTION_COUNT] = {
	[CM_ALLGATHER]			= COLLECTIVE_ALLGATHER,
	[CM_ALLGATHERV]			= COLLECTIVE_ALLGATHER,
	[CM_ALLREDUCE]			= COLLECTIVE_ALLREDUCE,
	[CM_ALLTOALL]			= COLLECTIVE_ALLTOALL,
	[CM_ALLTOALLV]			= COLLECTIVE_ALLTOALL,
	[CM_BARRIER]			= COLLECTIVE_BARRIER,
	[CM_BCAST]			= COLLECTIVE_BROADCAST,
	[CM_EXSCAN]			= COLLECTIVE_EXSCAN,
	[CM_GATHER]			= COLLECTIVE_GATHER,
	[CM_GATHERV]			= COLLECTIVE_GATHER,
	[CM_REDUCE]			= COLLECTIVE_REDUCE,
	[CM_REDUCE_SCATTER]		= COLLECTIVE_REDUCE_SCATTER,
	[CM_REDUCE_SCATTER_BLOCK]	= COLLECTIVE_REDUCE_SCATTER,
	[CM_SCAN]			= COLLECTIVE_SCAN,
	[CM_SCATTER]			= COLLECTIVE_SCATTER,
	[CM_SCATTERV]			= COLLECTIVE_SCATTER,
};

/* ---- one buffer ---- */

/* Distance of a block with a displacement from the address that MPI has, in bytes. */
static ptrdiff_t block_displ(const struct cm_side *side, int block)
{
	return cm_buffer_displ(&side->buffer, block) * side->extent;
}

/* Number of bytes of all blocks. */
static size_t packed_size(const struct cm_side *side)
{
	size_t elements = 0;
	int i;

	if (!side->buffer.counts)
		return side->blocks * side->buffer.count * side->item;
	for (i = 0; i < side->blocks; i++)
		elements += cm_buffer_count(&side->buffer, i);
	return elements * side->item;
}

/* The kernel works on a packed copy. */
static int side_stage(struct cm_side *side)
{
	const size_t bytes = packed_size(side);
	__u64 at = 0;
	int i;

	side->stage = malloc(bytes ?: 1);
	if (!side->stage)
		return -ENOMEM;
	side->addr = side->stage;
	side->bytes = bytes;
	for (i = 0; side->counts && i < side->blocks; i++) {
		side->displs[i] = at;
		at += side->counts[i];
	}
	return 0;
}

/*
 * Place the blocks of a vector in the program's memory.  Return: false: they are not in the order
 * of ranks, or gaps between them may contain memory that is not the program's.
 */
static bool side_place(struct cm_side *side, ptrdiff_t offset)
{
	ptrdiff_t first = 0, end = 0, at = 0;
	bool any = false;
	int i;

	for (i = 0; i < side->blocks; i++) {
		const size_t bytes = side->counts[i] * side->unit;

		if (side->buffer.displs)
			at = block_displ(side, i);
		if (!bytes)
			continue;
		if (!any)
			first = at;
		else if (at < end || at - end >= GAP_MAX)
			return false;
		side->displs[i] = (at - first) / side->unit;
		any = true;
		at += bytes;
		end = at;
	}
	side->addr = (char *)side->buffer.addr + offset + first;
	side->bytes = end - first;
	return true;
}

/*
 * Describe a buffer.  @addr of MPI may be that of another buffer, if the call is in place.
 * Return: 0 or -ENOMEM.
 */
static int side_build(struct cm_side *side, const struct cm_buffer *buffer, int blocks,
		      size_t unit)
{
	ptrdiff_t offset;
	int i;

	side->buffer = *buffer;
	side->blocks = blocks;
	side->item = cm_type_size(buffer->type);
	side->extent = cm_type_extent(buffer->type);
	side->unit = unit;
	if (!buffer->counts) {
		if (!cm_type_dense(buffer->type, blocks * buffer->count, &offset))
			return side_stage(side);
		side->addr = (char *)buffer->addr + offset;
		side->bytes = packed_size(side);
		return (uintptr_t)side->addr % unit ? side_stage(side) : 0;
	}
	side->counts = calloc(2 * blocks, sizeof(*side->counts));
	if (!side->counts)
		return -ENOMEM;
	side->displs = side->counts + blocks;
	for (i = 0; i < blocks; i++)
		side->counts[i] = cm_buffer_count(buffer, i) * side->item / unit;
	/* Of two elements, so that each begins where the one before it ends. */
	if (cm_type_dense(buffer->type, 2, &offset) && side_place(side, offset))
		return 0;
	return side_stage(side);
}

/* Address of a block in the memory or copy of a buffer that begins at @addr. */
static char *block_in(const struct cm_side *side, char *addr, int block, size_t *bytes)
{
	if (side->counts) {
		*bytes = side->counts[block] * side->unit;
		return addr + side->displs[block] * side->unit;
	}
	*bytes = side->bytes / side->blocks;
	return addr + block * *bytes;
}

/* Is a block among those that are copied?  @only, @except: rank, or negative. */
static bool copies(int block, int only, int except)
{
	return block != except && (only < 0 || block == only);
}

/* Copy blocks from one place to another, both of which are as the kernel's buffer. */
static void side_copy_blocks(const struct cm_side *side, char *from, char *to, int only, int except)
{
	int i;

	for (i = 0; i < side->blocks; i++) {
		size_t bytes;
		const char *block = block_in(side, from, i, &bytes);

		if (copies(i, only, except))
			memcpy(block_in(side, to, i, &bytes), block, bytes);
	}
}

/* Copy blocks between the program's memory and the copy that is as that. */
static int side_copy_memory(const struct cm_side *side, bool pack, int only, int except)
{
	side_copy_blocks(side, pack ? side->memory : side->bounce,
			 pack ? side->bounce : side->memory, only, except);
	return 0;
}

/* Copy blocks between MPI's buffer and the packed copy. */
static int side_copy_packed(const struct cm_side *side, bool pack, int only, int except)
{
	char *addr = side->buffer.addr, *stage = side->stage;
	int i, err;

	for (i = 0; i < side->blocks; i++) {
		const size_t count = cm_buffer_count(&side->buffer, i);
		char *at = side->buffer.displs ?
			   (char *)side->buffer.addr + block_displ(side, i) : addr;

		if (count && copies(i, only, except)) {
			err = pack ? cm_type_pack(at, count, side->buffer.type, stage) :
				     cm_type_unpack(stage, at, count, side->buffer.type);
			if (err)
				return err;
		}
		addr += count * side->extent;
		stage += count * side->item;
	}
	return 0;
}

/* Copy blocks between the buffer of MPI and the copy on which the kernel works, if any. */
static int side_copy(const struct cm_side *side, bool pack, int only, int except)
{
	if (side->stage)
		return side_copy_packed(side, pack, only, except);
	return side->bounce ? side_copy_memory(side, pack, only, except) : 0;
}

/*
 * The kernel works on a copy, in which each block has the same place.  @write: it stores a result
 * there.  Return: 0 or a negative errno.
 */
static int side_bounce(struct cm_side *side, bool write)
{
	int i, err;

	for (i = 0; i < side->blocks; i++) {
		size_t bytes;
		char *addr = block_in(side, side->addr, i, &bytes);

		err = cm_access_check(addr, bytes, write);
		if (err)
			return err;
	}
	side->bounce = malloc(side->bytes);
	if (!side->bounce)
		return -ENOMEM;
	side->memory = side->addr;
	side->addr = side->bounce;
	return 0;
}

/* Does the kernel work on the program's memory? */
static bool side_direct(const struct cm_side *side)
{
	return side->bytes && !side->stage && !side->bounce;
}

static void side_end(struct cm_side *side)
{
	free(side->stage);
	free(side->bounce);
	free(side->counts);
	side->stage = NULL;
	side->bounce = NULL;
	side->counts = NULL;
}

static bool overlap(const struct cm_side *a, const struct cm_side *b)
{
	return a->addr < b->addr + b->bytes && b->addr < a->addr + a->bytes;
}

/* ---- both ---- */

static void blocks_of(const struct cm_task *task, const struct cm_call *call, int *send, int *recv)
{
	const int all = task->group->size;
	const bool root = task->group->rank == call->root;

	*send = 1;
	*recv = 1;
	switch (call->function) {
	case CM_BARRIER:
		*send = 0;
		*recv = 0;
		break;
	case CM_BCAST:
		*send = root;
		*recv = !root;
		break;
	case CM_REDUCE:
		*recv = root;
		break;
	case CM_ALLGATHER:
	case CM_ALLGATHERV:
		*recv = all;
		break;
	case CM_GATHER:
	case CM_GATHERV:
		*recv = root ? all : 0;
		break;
	case CM_SCATTER:
	case CM_SCATTERV:
		*send = root ? all : 0;
		break;
	case CM_ALLTOALL:
	case CM_ALLTOALLV:
		*send = all;
		*recv = all;
		break;
	default:
		break;
	}
}

static enum cm_input input_of(enum cm_function function)
{
	return function == CM_ALLGATHER || function == CM_ALLGATHERV || function == CM_GATHER ||
	       function == CM_GATHERV ? CM_INPUT_OWN : CM_INPUT_ALL;
}

/* Does the result of every element replace that element, so that both addresses may be equal? */
static bool elementwise(enum cm_function function)
{
	return function == CM_ALLREDUCE || function == CM_REDUCE || function == CM_SCAN ||
	       function == CM_EXSCAN;
}

/* A buffer that this rank does not use is the other one to the kernel: "in place". */
static void set_addresses_to(struct cm_task *task, char *send, char *recv)
{
	task->op.send = (uintptr_t)(task->send.blocks ? send : recv);
	task->op.recv = (uintptr_t)(task->recv.blocks ? recv : send);
}

static void set_addresses(struct cm_task *task)
{
	set_addresses_to(task, task->send.addr, task->recv.addr);
}

/* Describe both buffers of a call that is not a reduce_scatter. */
static int build_sides(struct cm_task *task, const struct cm_call *call, size_t unit)
{
	struct cm_side *send = &task->send, *recv = &task->recv;
	int send_blocks, recv_blocks, err = 0;

	blocks_of(task, call, &send_blocks, &recv_blocks);
	if (send_blocks && call->send.addr == MPI_IN_PLACE) {
		send_blocks = 0;
		task->input = input_of(call->function);
	}
	if (recv_blocks && call->recv.addr == MPI_IN_PLACE)
		recv_blocks = 0;
	if (send_blocks)
		err = side_build(send, &call->send, send_blocks, unit);
	if (!err && recv_blocks)
		err = side_build(recv, &call->recv, recv_blocks, unit);
	if (err)
		return err;
	if (send_blocks && recv_blocks && !send->stage && !recv->stage && overlap(send, recv) &&
	    !(elementwise(call->function) && send->addr == recv->addr)) {
		err = side_stage(send);
		if (err)
			return err;
	}
	set_addresses(task);
	return 0;
}

/*
 * Describe the buffers of a reduce_scatter.  In place, the result is at the beginning of the
 * buffer, and MPI's libraries keep the rest of it, where the kernel would store partial results.
 * So the kernel works on a copy of the input.
 */
static int build_reduce_scatter(struct cm_task *task, const struct cm_call *call,
				const struct cm_reduction *reduction)
{
	const struct cm_group *group = task->group;
	struct cm_buffer input = call->send, result = call->recv;
	const bool in_place = input.addr == MPI_IN_PLACE;
	size_t all = 0;
	int i, err;

	for (i = 0; i < group->size; i++)
		all += cm_buffer_count(&result, i);
	if (result.counts) {
		task->counts = calloc((unsigned int)group->size, sizeof(*task->counts));
		if (!task->counts)
			return -ENOMEM;
		for (i = 0; i < group->size; i++)
			task->counts[i] = cm_buffer_count(&result, i) * reduction->per_item;
		task->layout.recv_counts = (uintptr_t)task->counts;
		result.count = cm_buffer_count(&result, group->rank);
		result.counts = NULL;
	}
	/* The input is one vector here; the kernel's counts tell which part each rank gets. */
	input = (struct cm_buffer){
		.addr = in_place ? result.addr : input.addr,
		.type = result.type,
		.count = all,
	};
	err = side_build(&task->send, &input, 1, reduction->size) ?:
	      side_build(&task->recv, &result, 1, reduction->size);
	if (err)
		return err;
	if (!task->send.stage &&
	    (in_place || (!task->recv.stage && overlap(&task->send, &task->recv))))
		err = side_stage(&task->send);
	set_addresses(task);
	task->op.count = result.count * reduction->per_item;
	return err;
}

/* Number of bytes of the block of this rank in a buffer. */
static size_t own_bytes(const struct cm_task *task, const struct cm_buffer *buffer)
{
	return cm_buffer_count(buffer, task->group->rank) * cm_type_size(buffer->type);
}

/* Set the number of bytes of a call that moves data. */
static void count_bytes(struct cm_task *task, const struct cm_call *call)
{
	const bool from_send = call->send.addr != MPI_IN_PLACE;
	const bool from_recv = call->recv.addr != MPI_IN_PLACE;

	switch (call->function) {
	case CM_ALLTOALLV:
		break;
	case CM_GATHER:
	case CM_GATHERV:
		task->op.count = own_bytes(task, from_send ? &call->send : &call->recv);
		break;
	case CM_SCATTER:
	case CM_SCATTERV:
		task->op.count = own_bytes(task, from_recv ? &call->recv : &call->send);
		break;
	default:
		task->op.count = own_bytes(task, &call->recv);
	}
}

/* Is what this rank sends to itself not what it receives? */
static bool differs_from_itself(const struct cm_task *task, const struct cm_call *call)
{
	switch (call->function) {
	case CM_GATHER:
	case CM_GATHERV:
	case CM_SCATTER:
	case CM_SCATTERV:
		if (task->group->rank != call->root)
			return false;
		break;
	case CM_ALLGATHER:
	case CM_ALLGATHERV:
	case CM_ALLTOALL:
	case CM_ALLTOALLV:
		break;
	default:
		return false;
	}
	return call->send.addr != MPI_IN_PLACE && call->recv.addr != MPI_IN_PLACE &&
	       own_bytes(task, &call->send) != own_bytes(task, &call->recv);
}

/* Receive blocks as large as this rank's own one into memory that is dropped. */
static int receive_for_nothing(struct cm_task *task, struct cm_call *call)
{
	const size_t own = own_bytes(task, &call->send), size = cm_type_size(call->recv.type);
	const int ranks = task->group->size, rank = task->group->rank;
	MPI_Count *counts;
	size_t all = 0;
	int i;

	task->dropped = malloc(ranks * sizeof(*counts));
	if (!task->dropped)
		return -ENOMEM;
	counts = task->dropped;
	for (i = 0; i < ranks; i++) {
		counts[i] = i == rank || !call->recv.counts ?
			    own : cm_buffer_count(&call->recv, i) * size;
		all += counts[i];
	}
	counts = realloc(task->dropped, ranks * sizeof(*counts) + all);
	if (!counts)
		return -ENOMEM;
	task->dropped = counts;
	call->recv = (struct cm_buffer){
		.addr = &counts[ranks],
		.type = MPI_BYTE,
		.count = own,
		.counts = call->recv.counts ? counts : NULL,
		.large = true,
	};
	return 0;
}

/*
 * The program is wrong on this rank.  It does its part for the others all the same, and its own
 * call fails in the end.
 */
static int build_wrong(struct cm_task *task, struct cm_call *call)
{
	task->too_long = true;
	switch (call->function) {
	case CM_GATHER:
	case CM_GATHERV:
		call->send.addr = MPI_IN_PLACE;
		return 0;
	case CM_SCATTER:
	case CM_SCATTERV:
		call->recv.addr = MPI_IN_PLACE;
		return 0;
	default:
		return receive_for_nothing(task, call);
	}
}

static int build_movement(struct cm_task *task, struct cm_call call)
{
	int err = 0;

	task->op.type = COLLECTIVE_UINT8;
	if (differs_from_itself(task, &call))
		err = build_wrong(task, &call);
	if (err)
		return err;
	count_bytes(task, &call);
	return build_sides(task, &call, 1);
}

static bool is_vector(enum cm_function function)
{
	return function == CM_ALLGATHERV || function == CM_GATHERV || function == CM_SCATTERV ||
	       function == CM_ALLTOALLV || function == CM_REDUCE_SCATTER;
}

static bool has_root(enum cm_function function)
{
	return function == CM_BCAST || function == CM_REDUCE || function == CM_GATHER ||
	       function == CM_GATHERV || function == CM_SCATTER || function == CM_SCATTERV;
}

/* The layout names the arrays of the two sides; in place, those of the only one. */
static void set_layout(struct cm_task *task)
{
	const struct cm_side *send = &task->send, *recv = &task->recv;

	task->op.flags |= COLLECTIVE_F_VECTOR;
	task->op.layout = (uintptr_t)&task->layout;
	task->layout.size = sizeof(task->layout);
	if (task->function == CM_REDUCE_SCATTER)
		return;
	if (task->function == CM_ALLTOALLV && !send->counts)
		send = recv;
	task->layout.send_counts = (uintptr_t)send->counts;
	task->layout.send_displs = (uintptr_t)send->displs;
	task->layout.recv_counts = (uintptr_t)recv->counts;
	task->layout.recv_displs = (uintptr_t)recv->displs;
}

static int build(struct cm_task *task, const struct cm_call *call)
{
	struct cm_reduction reduction;
	int err;

	if (call->function == CM_BARRIER)
		return 0;
	if (opcodes[call->function] != COLLECTIVE_REDUCE_SCATTER &&
	    !elementwise(call->function))
		return build_movement(task, *call);
	if (!cm_reduction_find(call->recv.type, call->op, &reduction))
		return -EINVAL;
	task->op.type = reduction.type;
	task->op.reduction = reduction.reduction;
	task->op.flags |= cm_settings.reproducible ? COLLECTIVE_F_REPRODUCIBLE : 0;
	if (!elementwise(call->function))
		return build_reduce_scatter(task, call, &reduction);
	err = build_sides(task, call, reduction.size);
	task->op.count = call->recv.count * reduction.per_item;
	return err;
}

/* Not 0 for no bytes: the address of the other buffer would mean "in place". */
static size_t room_for(size_t bytes)
{
	return (bytes / CM_REGION_ALIGN + 1) * CM_REGION_ALIGN;
}

static size_t side_room(const struct cm_side *side)
{
	return side->blocks ? room_for(side->bytes) : 0;
}

size_t cm_room_max(size_t bytes, size_t blocks)
{
	return 2 * room_for(bytes + (blocks - 1) * GAP_MAX);
}

/* Calls of other forms that do not fit have been left (reason.c). */
static bool works_in_region(const struct cm_task *task, const struct cm_call *call)
{
	return task->group->region.addr &&
	       (task->form != CM_BLOCKING || cm_call_fits(task->group, call, CM_BLOCKING));
}

static int set_room(struct cm_task *task, const struct cm_call *call)
{
	const size_t most = cm_call_room(task->group, call);

	if (task->send.bytes || task->recv.bytes)
		task->room = side_room(&task->send) + side_room(&task->recv);
	/* Room of persistent ones was counted before, in the order in which they are made. */
	if (task->form == CM_PERSISTENT)
		task->place = task->group->persistent_room - most;
	return task->room <= most ? 0 : -EOVERFLOW;
}

int cm_task_build(struct cm_task *task, struct cm_group *group, const struct cm_call *call,
		  enum cm_form form)
{
	int err;

	*task = (struct cm_task){
		.group = group,
		.function = call->function,
		.form = form,
		.op.opcode = opcodes[call->function],
		.op.root = has_root(call->function) ? call->root : 0,
		.op.flags = COLLECTIVE_F_NOSYNC,
		.op.timeout_ms = cm_settings.timeout_ms,
	};
	err = build(task, call);
	if (!err && is_vector(call->function))
		set_layout(task);
	if (!err && works_in_region(task, call))
		err = set_room(task, call);
	return err;
}

/* The block of a result in place that is this rank's input; negative: none, or all are. */
static int own_input(const struct cm_task *task)
{
	return task->input == CM_INPUT_OWN ? task->group->rank : -1;
}

/* Copy the input that is in a buffer to where the kernel reads it. */
static int pack_side(const struct cm_task *task, const struct cm_side *side)
{
	if (side == &task->send)
		return side_copy(side, true, -1, -1);
	return task->input != CM_INPUT_NONE ? side_copy(side, true, own_input(task), -1) : 0;
}

int cm_task_pack(struct cm_task *task)
{
	return pack_side(task, &task->send) ?: pack_side(task, &task->recv);
}

/* EXSCAN leaves the result of rank 0 as it is. */
static bool has_result(const struct cm_task *task)
{
	return task->op.opcode != COLLECTIVE_EXSCAN || task->group->rank;
}

int cm_task_unpack(struct cm_task *task)
{
	if (task->too_long)
		return -EMSGSIZE;
	return has_result(task) ? side_copy(&task->recv, false, -1, own_input(task)) : 0;
}

/* ---- the region ---- */

static char *room_of(const struct cm_task *task, const struct cm_side *side)
{
	const size_t before = side == &task->send ? 0 : side_room(&task->send);

	return cm_region_at(&task->group->region, task->form, task->place + before);
}

void cm_task_enter(struct cm_task *task)
{
	const struct cm_side *send = &task->send, *recv = &task->recv;

	if (!task->room)
		return;
	side_copy_blocks(send, send->addr, room_of(task, send), -1, -1);
	if (task->input != CM_INPUT_NONE)
		side_copy_blocks(recv, recv->addr, room_of(task, recv), own_input(task), -1);
	set_addresses_to(task, room_of(task, send), room_of(task, recv));
	task->op.send_buffer = task->group->region.number;
	task->op.recv_buffer = task->group->region.number;
}

void cm_task_leave(struct cm_task *task)
{
	const struct cm_side *recv = &task->recv;

	if (task->room && has_result(task))
		side_copy_blocks(recv, room_of(task, recv), recv->addr, -1, own_input(task));
}

/* ---- memory that cannot be pinned ---- */

int cm_task_bounce(struct cm_task *task)
{
	struct cm_side *side;
	int err;

	/* The kernel does not tell which buffer it is; it is that of the result more often. */
	side = side_direct(&task->recv) ? &task->recv : &task->send;
	if (!side_direct(side))
		return -EFAULT;
	err = side_bounce(side, side == &task->recv);
	if (err)
		return err;
	set_addresses(task);
	return pack_side(task, side);
}

void cm_task_keep_types(struct cm_task *task)
{
	struct cm_side *sides[2] = { &task->send, &task->recv };
	int i;

	/* Only packing needs types. */
	for (i = 0; i < 2; i++)
		if (sides[i]->stage)
			sides[i]->buffer.type = cm_type_get(sides[i]->buffer.type);
	task->types_kept = true;
}

void cm_task_end(struct cm_task *task)
{
	if (task->types_kept && task->send.stage)
		cm_type_put(task->send.buffer.type);
	if (task->types_kept && task->recv.stage)
		cm_type_put(task->recv.buffer.type);
	side_end(&task->send);
	side_end(&task->recv);
	free(task->counts);
	free(task->dropped);
	task->counts = NULL;
	task->dropped = NULL;
}
