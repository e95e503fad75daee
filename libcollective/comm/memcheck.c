// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

#include "comm/memcheck.h"

/* Defined by MemorySanitizer if the program is built with it. */
void __msan_unpoison(const void *at, size_t size) __attribute__((weak));

static bool has_checker(void)
{
#ifdef RUNNING_ON_VALGRIND
	if (RUNNING_ON_VALGRIND)
		return true;
#endif
	return __msan_unpoison;
}

static void mark_defined(uintptr_t at, size_t size)
{
	if (!size)
		return;
#ifdef VALGRIND_MAKE_MEM_DEFINED
	VALGRIND_MAKE_MEM_DEFINED(at, size);
#endif
	if (__msan_unpoison)
		__msan_unpoison((void *)at, size);
}

void coll_memcheck_written(const void *at, size_t size)
{
	mark_defined((uintptr_t)at, size);
}

/*
 * Called before submission: the arrays belong to the caller and may be freed before completion.
 */
static void mark_vector(const struct coll_comm *comm, const struct coll_operation *operation)
{
	const struct collective_layout *layout = &operation->layout;
	const struct collective_op *op = &operation->op;
	const size_t *counts = (void *)(uintptr_t)layout->recv_counts;
	const size_t *displs = (void *)(uintptr_t)layout->recv_displs;
	const size_t element = coll_type_size(op->type);
	size_t at = 0;
	int i;

	if (op->opcode == COLLECTIVE_REDUCE_SCATTER || op->opcode == COLLECTIVE_SCATTER) {
		mark_defined(op->recv,
			     op->count * coll_operation_result_blocks(comm, op) * element);
		return;
	}
	for (i = 0; counts && i < comm->nranks; i++) {
		at = displs ? displs[i] : at;
		mark_defined(op->recv + at * element, counts[i] * element);
		at += counts[i];
	}
}

void coll_memcheck_begin(const struct coll_comm *comm, struct coll_operation *operation)
{
	const struct collective_op *op = &operation->op;

	operation->memcheck_blocks = 0;
	if (!has_checker())
		return;
	if (op->flags & COLLECTIVE_F_VECTOR && !(op->flags & COLLECTIVE_F_VARLEN))
		mark_vector(comm, operation);
	else
		operation->memcheck_blocks = coll_operation_result_blocks(comm, op);
}

void coll_memcheck_end(const struct coll_operation *operation, __u64 received)
{
	const struct collective_op *op = &operation->op;
	const struct collective_view *view = &operation->layout.recv;
	const size_t rows = view->rows ? view->rows : 1, element = coll_type_size(op->type);
	size_t count = op->count, block, row;

	if (!operation->memcheck_blocks)
		return;
	if (op->flags & COLLECTIVE_F_VARLEN && received < count)
		count = received;
	if (!view->rows && !view->distance) {
		mark_defined(op->recv, operation->memcheck_blocks * count * element);
		return;
	}
	for (block = 0; block < operation->memcheck_blocks; block++)
		for (row = 0; row < rows; row++)
			mark_defined(op->recv + (block * view->distance + row * view->stride) *
				     element, count / rows * element);
}
