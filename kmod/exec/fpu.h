/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_VECTOR_H
#define COLL_VECTOR_H

#include "core/data/mem.h"
#include "core/reduce/reduce.h"

/**
 * struct coll_fpu - possession of the vector registers
 * @held: they are ours, and preemption is off
 * @used: what the work since has cost, bytes: see coll_piece_cost()
 * @since: when they were taken, ns, if that is traced; else 0
 *
 * Taking them for every few bytes is dear, and keeping them too long delays
 * others: they are given back after COLL_VECTOR_BYTES, some ten microseconds.  As no piece
 * of work is more than that, they are held for less than twice as much.
 */
struct coll_fpu {
	bool held;
	u64 used;
	u64 since;
};

#define COLL_VECTOR_BYTES	(64 * 1024U)
static_assert(COLL_PIECES_MAX * COLL_PIECE_COST <= COLL_VECTOR_BYTES);

void coll_fpu_setup(void);
const struct coll_reduce_impl *coll_vector_impl(void);
void coll_fpu_begin(struct coll_fpu *vector);
void coll_fpu_used(struct coll_fpu *vector, u64 cost);
void coll_fpu_end(struct coll_fpu *vector);

#endif /* COLL_VECTOR_H */
