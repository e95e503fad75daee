/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_FPU_H
#define COLL_FPU_H

#include "core/data/mem.h"
#include "core/reduce/reduce.h"

/**
 * struct coll_fpu - an FPU section, in which kernel code may use vector registers
 * @held: true if the section has begun; preemption is disabled
 * @used: cost of the work in this section, in bytes; see coll_piece_cost()
 * @since: begin of the section, ns, if the event collective_vector is enabled; else 0
 *
 * Owned by the runner of the lane that contains it.  To begin a section for every few bytes is
 * expensive, and a long one delays other tasks.  Therefore a section ends after
 * COLL_FPU_SECTION_BYTES, which takes some ten microseconds.  One piece of work costs at most as
 * much, so a section does less than twice that.
 */
struct coll_fpu {
	bool held;
	u64 used;
	u64 since;
};

#define COLL_FPU_SECTION_BYTES	(64 * 1024U)
static_assert(COLL_PIECES_MAX * COLL_PIECE_COST <= COLL_FPU_SECTION_BYTES);

int coll_fpu_setup(void);
void coll_fpu_cleanup(void);
const struct coll_reduce_impl *coll_fpu_reductions(void);
void coll_fpu_begin(struct coll_fpu *fpu);
void *coll_fpu_part(void);
void coll_fpu_used(struct coll_fpu *fpu, u64 cost);
void coll_fpu_end(struct coll_fpu *fpu);

#endif /* COLL_FPU_H */
