/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_VECTOR_H
#define COLL_VECTOR_H

#include "core/reduce.h"

/**
 * struct coll_vector - possession of the vector registers
 * @held: they are ours, and preemption is off
 * @used: bytes worked on since
 *
 * Taking them for every few bytes is dear, and keeping them too long delays
 * others: they are given back after COLL_VECTOR_BYTES, some ten microseconds.
 */
struct coll_vector {
	bool held;
	u32 used;
};

#define COLL_VECTOR_BYTES	(64 * 1024U)

void coll_vector_setup(void);
const struct coll_reduce_impl *coll_vector_impl(void);
void coll_vector_hold(struct coll_vector *vector);
void coll_vector_used(struct coll_vector *vector, u32 bytes);
void coll_vector_drop(struct coll_vector *vector);

#endif /* COLL_VECTOR_H */
