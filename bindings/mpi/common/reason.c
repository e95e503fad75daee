// SPDX-License-Identifier: LGPL-2.1-or-later
/* Whether a call becomes an operation of the kernel: only what all ranks know decides. */
#include <stdint.h>

#include "common/datatype.h"
#include "common/digest.h"
#include "common/group.h"
#include "common/reduction.h"
#include "common/region.h"
#include "common/settings.h"
#include "common/task.h"

/* The ranks do not know the same number of bytes. */
#define UNKNOWN	SIZE_MAX

static size_t total(const struct cm_group *group, const struct cm_buffer *buffer)
{
	size_t elements = 0;
	int i;

	for (i = 0; i < group->size; i++)
		elements += cm_buffer_count(buffer, i);
	return elements * cm_type_size(buffer->type);
}

/*
 * By how much this rank's own block is larger in the input than in the result.  The other ranks
 * expect the former, also if this rank is wrong and expects something else.
 */
static size_t own_difference(const struct cm_group *group, const struct cm_call *call)
{
	const struct cm_buffer *send = &call->send, *recv = &call->recv;

	if (send->addr == MPI_IN_PLACE)
		return 0;
	return send->count * cm_type_size(send->type) -
	       cm_buffer_count(recv, group->rank) * cm_type_size(recv->type);
}

/*
 * Number of bytes by which calls are limited: of the vector, or of the blocks of all ranks.  The
 * signature is the same on every rank, even if the types are not.
 */
static size_t call_bytes(const struct cm_group *group, const struct cm_call *call)
{
	const struct cm_buffer *buffer = &call->recv;

	switch (call->function) {
	case CM_BARRIER:
		return 0;
	case CM_BCAST:
	case CM_ALLREDUCE:
	case CM_REDUCE:
	case CM_SCAN:
	case CM_EXSCAN:
		return buffer->count * cm_type_size(buffer->type);
	case CM_ALLGATHERV:
		return total(group, buffer) + own_difference(group, call);
	case CM_REDUCE_SCATTER:
		return total(group, buffer);
	case CM_GATHERV:
	case CM_SCATTERV:
	case CM_ALLTOALLV:
		return UNKNOWN;
	case CM_GATHER:
		if (group->rank != call->root)
			buffer = &call->send;
		break;
	case CM_SCATTER:
		if (group->rank == call->root)
			buffer = &call->send;
		break;
	case CM_ALLGATHER:
	case CM_ALLTOALL:
		/* See own_difference(). */
		if (call->send.addr != MPI_IN_PLACE)
			buffer = &call->send;
		break;
	default:
		break;
	}
	return group->size * buffer->count * cm_type_size(buffer->type);
}

bool cm_call_reduces(const struct cm_call *call)
{
	const enum cm_function function = call->function;

	return function == CM_ALLREDUCE || function == CM_REDUCE || function == CM_SCAN ||
	       function == CM_EXSCAN || function == CM_REDUCE_SCATTER ||
	       function == CM_REDUCE_SCATTER_BLOCK;
}

bool cm_call_rounds(const struct cm_call *call)
{
	struct cm_reduction reduction;

	return cm_call_reduces(call) &&
	       cm_reduction_find(call->recv.type, call->op, &reduction) &&
	       (reduction.type == COLLECTIVE_FLOAT32 || reduction.type == COLLECTIVE_FLOAT64);
}

bool cm_call_large_enough(const struct cm_group *group, const struct cm_call *call)
{
	const size_t bytes = call_bytes(group, call);

	/* Between hosts, MPI's own path is no faster for small calls. */
	return !group->one_host || (bytes == UNKNOWN ? 0 : bytes) >=
				   cm_settings.min_bytes.bytes[call->function][group->sharing];
}

static bool exceeds_max_bytes(const struct cm_group *group, const struct cm_call *call)
{
	const size_t bytes = call_bytes(group, call);

	return bytes != UNKNOWN &&
	       bytes > cm_settings.max_bytes.bytes[call->function][group->sharing];
}

/* A rank that need not wait for the others would, so rooted calls are none. */
bool cm_call_is_small(const struct cm_group *group, const struct cm_call *call)
{
	if (!group->small || exceeds_max_bytes(group, call))
		return false;
	switch (call->function) {
	case CM_BARRIER:
		return true;
	case CM_ALLREDUCE:
		return call_bytes(group, call) <= group->small;
	case CM_ALLGATHER:
		return call_bytes(group, call) <= (size_t)group->size * group->small;
	default:
		return false;
	}
}

/* Does the kernel have the reduction, if the call is one? */
static bool is_possible(const struct cm_call *call)
{
	struct cm_reduction reduction;

	return !cm_call_reduces(call) || cm_reduction_find(call->recv.type, call->op, &reduction);
}

bool cm_call_is_wanted(const struct cm_group *group, const struct cm_call *call)
{
	return is_possible(call) && cm_call_large_enough(group, call) &&
	       !exceeds_max_bytes(group, call);
}

size_t cm_call_room(const struct cm_group *group, const struct cm_call *call)
{
	const size_t bytes = call_bytes(group, call);
	/* This rank has one block of a reduce_scatter. */
	const size_t blocks = call->recv.counts && call->function != CM_REDUCE_SCATTER ?
			      group->size : 1;

	return bytes == UNKNOWN ? SIZE_MAX : bytes ? cm_room_max(bytes, blocks) : 0;
}

static bool has_root(enum cm_function function)
{
	return function == CM_BCAST || function == CM_REDUCE || function == CM_GATHER ||
	       function == CM_GATHERV || function == CM_SCATTER || function == CM_SCATTERV;
}

long long cm_call_digest(const struct cm_group *group, const struct cm_call *call)
{
	const size_t bytes = call_bytes(group, call);
	const int root = has_root(call->function) ? call->root : 0;
	unsigned long long digest = CM_DIGEST_INIT;

	digest = cm_digest(digest, &call->function, sizeof(call->function));
	digest = cm_digest(digest, &root, sizeof(root));
	return cm_digest_value(cm_digest(digest, &bytes, sizeof(bytes)));
}

bool cm_call_fits(const struct cm_group *group, const struct cm_call *call, enum cm_form form)
{
	const size_t used = form == CM_PERSISTENT ? group->persistent_room : 0;
	const size_t room = cm_region_room(&group->region, form);

	return room == SIZE_MAX || cm_call_room(group, call) <= room - used;
}

/*
 * Is the call left because of the region?  For blocking ones that do not fit the ranks may try to
 * pin memory, and agree whether all could (call.c).  With reproducible, a sum would have other bits
 * whenever they cannot.
 */
static bool exceeds_region(const struct cm_group *group, const struct cm_call *call,
			   enum cm_form form)
{
	const bool keeps_bits = cm_settings.reproducible && cm_call_rounds(call);

	if (!group->region.addr)
		return false;
	return (form != CM_BLOCKING || keeps_bits) && !cm_call_fits(group, call, form);
}

enum cm_reason cm_call_reason(const struct cm_group *group, const struct cm_call *call,
			      enum cm_form form)
{
	if (!is_possible(call))
		return CM_REDUCTION;
	/* Ranks may start them in any order, and any of them may be waited for. */
	if (form == CM_PERSISTENT && group->persistent >= CM_PERSISTENT_MAX)
		return CM_MANY;
	if (exceeds_region(group, call, form))
		return CM_LOCKED_MEMORY;
	if (form == CM_BLOCKING && cm_call_is_small(group, call))
		return CM_TAKEN;
	if (!cm_call_large_enough(group, call))
		return CM_SMALL;
	return exceeds_max_bytes(group, call) ? CM_LARGE : CM_TAKEN;
}
