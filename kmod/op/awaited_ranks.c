// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which ranks an operation waits for just now, as far as this rank knows.
 *
 * It is for people: lanes own the steps of their tasks and write them while they are read here, so
 * an answer may mix two moments.
 */
#include "core/engine/engine.h"
#include "core/match/balance.h"
#include "fail/member_state.h"
#include "op/match.h"
#include "op/request.h"
#include "op/requests.h"

/**
 * struct wait_set - ranks that are waited for
 * @ranks: the ranks
 * @n: number of them
 * @max: most that @ranks has space for
 * @own: rank of the member
 * @nranks: number of ranks of the group
 */
struct wait_set {
	u32 *ranks;
	u32 n;
	u32 max;
	u32 own;
	u32 nranks;
};

static void wait_add(struct wait_set *set, u32 rank)
{
	u32 i;

	if (rank >= set->nranks || rank == set->own || set->n == set->max)
		return;
	for (i = 0; i < set->n; i++)
		if (set->ranks[i] == rank)
			return;
	set->ranks[set->n++] = rank;
}

/**
 * coll_request_waits() - find the ranks that an operation waits for
 * @request: in flight; its member is locked
 * @ranks: out: the ranks
 * @max: most that @ranks has space for
 *
 * Return: number of ranks; 0 if none is known.
 */
u32 coll_request_waits(const struct coll_request *request, u32 *ranks, u32 max)
{
	const struct coll_ident *id = request->reqs->id;
	struct wait_set set = {
		.ranks = ranks,
		.max = max,
		.own = id->rank,
		.nranks = id->nranks,
	};
	u32 i;

	lockdep_assert_held(&request->reqs->state->lock);
	if (request->stage == COLL_REQUEST_QUEUED || !atomic_read(&request->parts_pending))
		return 0;
	if (coll_plan_is_p2p(&request->plan)) {
		wait_add(&set, request->plan.root);
		return set.n;
	}
	if (request->match == COLL_MATCH_PENDING)
		wait_add(&set, coll_match_awaited(request));
	for (i = 0; i < request->nparts; i++)
		wait_add(&set, coll_task_awaited(&request->part[i].task));
	return set.n;
}
