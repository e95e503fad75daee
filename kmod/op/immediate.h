/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small operations that the thread of SUBMIT executes itself, on the board (core/board/board.h).
 *
 * Such an operation has no request, pins nothing and runs no lane of its rank.  A process that has
 * mapped the board does the same (libcollective/board/), and the place in the order is of the same
 * kind: see process_ops.h.  If the other ranks keep the operation waiting, a request takes it over,
 * which works on memory of the kernel.
 */
#ifndef COLL_IMMEDIATE_H
#define COLL_IMMEDIATE_H

#include "core/data/mem.h"

struct collective_op;
struct coll_request;
struct coll_requests;
struct coll_wait;

extern const struct coll_mem coll_immediate_mem;

int coll_immediate_store(const struct coll_request *request);
int coll_immediate_submit(struct coll_requests *reqs, const struct collective_op *op, u64 *id,
			  struct coll_wait *wait);

#endif /* COLL_IMMEDIATE_H */
