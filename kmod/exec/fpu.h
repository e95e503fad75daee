/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_FPU_H
#define COLL_FPU_H

#include "core/data/mem.h"
#include "core/reduce/reduce.h"

/**
 * struct coll_fpu - an FPU section of a lane
 * @held: true in the section, with preemption disabled
 * @used: cost of the work in the section so far, bytes: see coll_piece_cost()
 * @since: begin of the section, ns, if its end is traced; else 0
 *
 * Beginning a section for every few bytes costs much, and a long one delays other tasks.  A
 * section ends after COLL_VECTOR_BYTES, some ten microseconds; as no piece of work is longer, it
 * is always shorter than twice that.
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
void coll_fpu_begin(struct coll_fpu *fpu);
void coll_fpu_used(struct coll_fpu *fpu, u64 cost);
void coll_fpu_end(struct coll_fpu *fpu);

#endif /* COLL_FPU_H */
