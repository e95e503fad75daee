// SPDX-License-Identifier: GPL-2.0-only
/* The rank that a task waits for. */
#include "core/engine/task.h"

/**
 * coll_task_stop() - receive and send no more of a task, which will be aborted
 * @task: the task
 * @peer: rank that called something else, or has revoked payload or withdrawn memory
 */
void coll_task_stop(struct coll_task *task, u32 peer)
{
	if (!task_runs(task))
		return;
	WRITE_ONCE(task->stopped_by, peer);
	coll_task_set_state(task, COLL_TASK_STOPPED);
}

/* The peer that reads memory which this task has sent by reference; COLL_NO_RANK: none. */
static u32 task_reading_peer(const struct coll_task *task)
{
	const struct coll_stream *stream;
	u32 i;

	for (i = 0; i < COLL_ZC_REFS; i++) {
		stream = READ_ONCE(task->zc_ref[i].stream);
		if (stream)
			return stream->peer;
	}
	return COLL_NO_RANK;
}

/**
 * coll_task_awaited() - the rank that a task waits for just now
 * @task: not complete
 *
 * That is the peer of the step that receives; if all is received, of the step that sends; if all is
 * sent, one that still reads it.  On the board it is a rank that has not published.  A task that
 * will be aborted waits for the rank that is the reason.
 *
 * Context: any; outside the lane's runner the answer may mix two moments.
 * Return: a rank, or COLL_NO_RANK if none is known.
 */
u32 coll_task_awaited(const struct coll_task *task)
{
	/* Before all that is looked at below: pairs with coll_task_start(). */
	u64 nsteps = smp_load_acquire(&task->nsteps);

	if (READ_ONCE(task->state) != COLL_TASK_RUNNING &&
	    READ_ONCE(task->stopped_by) != COLL_NO_RANK)
		return READ_ONCE(task->stopped_by);
	if (READ_ONCE(task->rx_step) < nsteps)
		return task->schedule->board ? coll_task_awaited_on_board(task) :
					       READ_ONCE(task->rx.from);
	if (READ_ONCE(task->tx_step) < nsteps)
		return READ_ONCE(task->tx.to);
	return task_reading_peer(task);
}
