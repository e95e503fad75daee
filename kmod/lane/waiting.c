// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time that a lane waits for other ranks.
 *
 * A lane waits from the end of a run that leaves nothing to move, if it has active tasks, to the
 * next run, which some event has caused.  The wait counts for the oldest task, and for the rank
 * that its current step needs: other ranks' frames may come meanwhile, and are not waited for.
 * What a part has waited is what its lane has waited from the part's begin to its end.
 */
#include <linux/math64.h>

#include "lane/lane.h"
#include "lane/times.h"
#include "lane/waiting.h"

/* Lanes of an operation wait at the same time, so each one counts for its part. */
static void count_wait(const struct coll_lane *lane, u64 ns)
{
	const struct coll_task *oldest =
		list_first_entry(&lane->engine.active, struct coll_task, node);
	const struct coll_plan *plan = &oldest->args.plan;
	struct coll_times *times = READ_ONCE(lane->times[plan->collective]);
	u32 peer = coll_task_awaited(oldest);

	if (peer != COLL_NO_RANK && times)
		atomic64_add(plan->nlanes == 1 ? ns : div_u64(ns, coll_plan_lanes(plan)),
			     &times->waited[peer]);
}

/**
 * coll_waiting_end() - a run begins
 * @lane: a lane that runs, and has waited
 *
 * Tasks change in runs only, so the oldest one, and the rank that it waits for, are still those of
 * the end of the run before.
 */
void coll_waiting_end(struct coll_lane *lane)
{
	struct coll_waiting *waiting = &lane->waiting;
	u64 ns = ktime_get_ns() - waiting->since;

	waiting->since = 0;
	waiting->total += ns;
	count_wait(lane, ns);
}
