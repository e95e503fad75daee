// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What MPICH refuses.
 *
 * It refuses a call that is wrong in itself on the rank that makes it, at once, and the other ranks
 * need not know.  So such a call is left to MPICH, which knows what to say, and is not counted.
 */
#include <stdint.h>

#include "common/datatype.h"
#include "common/reduction.h"
#include "mpich.h"

static bool is_root(const struct cm_group *group, const struct cm_call *call)
{
	return group->rank == call->root;
}

/* Is an array of counts missing? */
static bool has_counts(const struct cm_group *group, const struct cm_call *call)
{
	switch (call->function) {
	case CM_ALLTOALLV:
		return call->recv.counts && (call->send.addr == MPI_IN_PLACE || call->send.counts);
	case CM_ALLGATHERV:
	case CM_REDUCE_SCATTER:
		return call->recv.counts;
	case CM_GATHERV:
		return !is_root(group, call) || call->recv.counts;
	case CM_SCATTERV:
		return !is_root(group, call) || call->send.counts;
	default:
		return true;
	}
}

/* Only a type of addresses has elements at MPI_BOTTOM, which is NULL. */
static bool has_addresses(MPI_Datatype type)
{
	MPI_Count lb, extent;

	PMPI_Type_get_true_extent_x(type, &lb, &extent);
	return lb;
}

static bool valid_buffer(const struct cm_buffer *buffer, int blocks)
{
	int i;

	if (buffer->addr == MPI_IN_PLACE)
		return true;
	if (!type_valid(buffer->type))
		return false;
	for (i = 0; i < (buffer->counts ? blocks : 1); i++)
		if (cm_buffer_count(buffer, i) > PTRDIFF_MAX)
			return false;
	return buffer->addr != MPI_BOTTOM || buffer->counts || !buffer->count ||
	       !cm_type_size(buffer->type) || has_addresses(buffer->type);
}

static bool has_elements(const struct cm_buffer *buffer, int blocks)
{
	int i;

	for (i = 0; i < (buffer->counts ? blocks : 1); i++)
		if (cm_buffer_count(buffer, i))
			return true;
	return false;
}

/* Only these are used on this rank. */
static bool uses_send(const struct cm_group *group, const struct cm_call *call)
{
	return is_root(group, call) ||
	       !(call->function == CM_SCATTER || call->function == CM_SCATTERV);
}

static bool uses_recv(const struct cm_group *group, const struct cm_call *call)
{
	return is_root(group, call) ||
	       !(call->function == CM_GATHER || call->function == CM_GATHERV ||
		 call->function == CM_REDUCE);
}

/* The block of this rank in a buffer that has one of each; MPICH takes sizes for extents. */
static const char *own_block(const struct cm_group *group, const struct cm_buffer *buffer)
{
	const ptrdiff_t before = !buffer->counts ? (ptrdiff_t)(group->rank * buffer->count) :
				 buffer->displs ? cm_buffer_displ(buffer, group->rank) : 0;

	return (const char *)buffer->addr + before * (ptrdiff_t)cm_type_size(buffer->type);
}

/* Are the block of this rank in the buffer of all and its own buffer one? */
static bool block_aliased(const struct cm_group *group, const struct cm_buffer *all,
			  const struct cm_buffer *own)
{
	return all->type == own->type && own->count && cm_buffer_count(all, group->rank) &&
	       (all->counts || all->count == own->count) &&
	       own->addr == own_block(group, all);
}

/* MPICH refuses two buffers that are one. */
static bool aliased(const struct cm_group *group, const struct cm_call *call)
{
	const struct cm_buffer *send = &call->send, *recv = &call->recv;

	if (!environment_alias_check() ||
	    send->addr == MPI_IN_PLACE || recv->addr == MPI_IN_PLACE ||
	    !uses_send(group, call) || !uses_recv(group, call))
		return false;
	switch (call->function) {
	case CM_GATHER:
	case CM_GATHERV:
	case CM_ALLGATHER:
	case CM_ALLGATHERV:
		return block_aliased(group, recv, send);
	case CM_SCATTER:
	case CM_SCATTERV:
		return block_aliased(group, send, recv);
	case CM_ALLTOALL:
		return send->addr == recv->addr && send->type == recv->type &&
		       send->count == recv->count && send->count;
	case CM_ALLTOALLV:
		return send->addr == recv->addr && send->type == recv->type &&
		       send->counts == recv->counts;
	case CM_BCAST:
		return false;
	default:
		return send->addr == recv->addr && has_elements(recv, group->size);
	}
}

/* MPICH refuses to receive in place, but for a block of a scatter. */
static bool receives_in_place(const struct cm_group *group, const struct cm_call *call)
{
	switch (call->function) {
	case CM_BCAST:
	case CM_SCATTER:
	case CM_SCATTERV:
		return false;
	default:
		return uses_recv(group, call) && call->recv.addr == MPI_IN_PLACE &&
		       has_elements(&call->recv, group->size);
	}
}

/* MPICH refuses an operator that is none, and one of its own that the type does not have. */
static bool valid_op(const struct cm_call *call)
{
	struct cm_reduction reduction;
	int nothing;

	if (!cm_call_reduces(call) || cm_reduction_find(call->recv.type, call->op, &reduction))
		return true;
	/* It looks at the operator first, and then has nothing to do. */
	return PMPI_Allreduce(MPI_IN_PLACE, &nothing, 0, call->recv.type, call->op,
			      communicator_own()) == MPI_SUCCESS;
}

bool call_valid(const struct cm_group *group, const struct cm_call *call)
{
	if (call->function == CM_BARRIER)
		return true;
	return call->root >= 0 && call->root < group->size && has_counts(group, call) &&
	       (!uses_send(group, call) || valid_buffer(&call->send, group->size)) &&
	       (!uses_recv(group, call) || valid_buffer(&call->recv, group->size)) &&
	       !receives_in_place(group, call) && !aliased(group, call) && valid_op(call);
}
