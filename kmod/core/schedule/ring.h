/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring: each rank sends to the next rank and receives from the previous one. */
#ifndef COLL_RING_H
#define COLL_RING_H

#include "core/schedule/schedule.h"

static inline u32 coll_ring_next(const struct coll_plan *plan)
{
	return plan->rank + 1 == plan->nranks ? 0 : plan->rank + 1;
}

static inline u32 coll_ring_previous(const struct coll_plan *plan)
{
	return (plan->rank ? plan->rank : plan->nranks) - 1;
}

/* The chunk that @back steps around the ring behind ours, in elements. */
static inline struct coll_range coll_ring_piece(const struct coll_plan *plan, u32 back)
{
	u32 n = plan->nranks;

	return coll_plan_chunk(plan, (plan->rank + n - back % n) % n);
}

/* ring.c */
void coll_ring_round(const struct coll_plan *plan, u64 longest, u64 i,
		     struct coll_range out, struct coll_range in, struct coll_step *step);
u64 coll_ring_next_round(const struct coll_plan *plan, u64 i, u32 first,
			 struct coll_range (*block)(const struct coll_plan *plan, u32 back));
u64 coll_ring_scratch(const struct coll_plan *plan, u64 longest);

#endif /* COLL_RING_H */
