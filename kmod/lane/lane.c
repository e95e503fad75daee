// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes: where the engine meets the connections.
 *
 * One run takes in what has come since the last one (connections, mail from the
 * control runner, submitted parts, a failure), then moves bytes (progress.c) until neither
 * side moves or the budget is spent, and at last completes what is finished,
 * when no vector register is held and no engine is on the stack.
 *
 * What others send or call bounds none of the loops: a lane has a connection a rank at most,
 * and COLL_INFLIGHT operations; what there can be more of is taken in parts.
 */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "fail/failure.h"
#include "lane/copy_helper.h"
#include "lane/lane.h"
#include "lane/lane_fail.h"
#include "lane/progress.h"
#include "limits.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/link.h"

/* A frame of what is small finds room beside the credit that is kept, or not told at once. */
static_assert(COLLECTIVE_EAGER_LIMIT + COLL_DATA_SIZE * (COLL_INFLIGHT + 1) <=
	      COLL_CREDIT - COLL_CREDIT_UNTOLD);

/* Grants taken from a mailbox at a time, under its lock. */
#define LANE_GRANTS		128

/* What may wait in a socket until somebody wants it: a message. */
#define COLL_EARLY_MAX		(COLLECTIVE_EAGER_LIMIT + COLL_DATA_SIZE)

static struct coll_stream *lane_stream(void *ctx, u32 peer)
{
	struct coll_lane *lane = ctx;
	struct coll_link *link = coll_link_get(lane->net, peer);
	struct coll_conn *conn;

	if (!link)
		return NULL;
	conn = READ_ONCE(link->data[lane->engine.lane]);	/* then its stream, likewise */
	return conn ? conn->stream : NULL;
}

static void lane_control(void *ctx, u32 peer, const struct coll_control *control)
{
	struct coll_lane *lane = ctx;

	/* Locks are taken in there. */
	coll_fpu_end(&lane->fpu);
	coll_link_queue_frame(lane->net->links[peer], control);
}

static void lane_kick(void *ctx, struct coll_stream *stream)
{
	struct coll_lane *lane = ctx;

	lane->net->links[stream->peer]->data[lane->engine.lane]->tx_wanted = true;
}

/*
 * The buffers are the user's again, and this is the last look at whether the
 * group has failed: whoever was told that it has may have had his pages back
 * before we consumed them.
 */
static void lane_complete(void *ctx, struct coll_task *task)
{
	struct coll_lane *lane = ctx;
	struct coll_part *part = task->args.user;

	part->error = task->error;
	if (!part->error) {
		smp_rmb();	/* what was consumed, then the flag */
		part->error = READ_ONCE(lane->fail->aborted);
	}
	list_add_tail(&part->node, &lane->done_parts);
}

static void lane_mismatch(void *ctx, struct coll_task *task, u32 peer)
{
	struct coll_lane *lane = ctx;
	struct coll_part *part = task->args.user;

	part->mismatch_peer = peer;
	lane->mismatch_pending = true;
}

static void lane_vector(void *ctx, bool begin)
{
	struct coll_lane *lane = ctx;

	if (begin)
		coll_fpu_begin(&lane->fpu);
	else
		coll_fpu_end(&lane->fpu);
}

static bool lane_failed(void *ctx, u64 instance)
{
	const struct coll_lane *lane = ctx;

	return coll_failed_ops_has(lane->fail->failed_ops, instance);
}

static const struct coll_engine_ops lane_ops = {
	.stream		= lane_stream,
	.control	= lane_control,
	.kick		= lane_kick,
	.complete	= lane_complete,
	.mismatch	= lane_mismatch,
	.vector		= lane_vector,
	.failed		= lane_failed,
};

static void lane_attach_new(struct coll_lane *lane)
{
	struct coll_conn *conn;
	LIST_HEAD(arrivals);

	/* What is added later is kicked for later. */
	if (list_empty(&lane->new_conns))
		return;
	spin_lock(&lane->lock);
	list_splice_init(&lane->new_conns, &arrivals);
	spin_unlock(&lane->lock);

	list_for_each_entry(conn, &arrivals, node)
		coll_engine_connected(&lane->engine, conn->stream);
	list_splice_tail(&arrivals, &lane->conns);
}

static int lane_read_mailbox(struct coll_lane *lane, struct coll_conn *conn)
{
	bool more;
	int err = coll_mailbox_take(conn->mailbox, conn->stream, LANE_GRANTS, &more);

	if (more)
		coll_runner_kick(&lane->runner);
	return err;
}

/* Begin what was submitted; is it small, and all there is? */
static bool lane_begin_submitted(struct coll_lane *lane)
{
	bool first = list_empty(&lane->engine.active);
	struct coll_part *part, *next;
	struct llist_node *parts;

	if (llist_empty(&lane->submitted))	/* likewise */
		return false;
	parts = llist_reverse_order(llist_del_all(&lane->submitted));
	llist_for_each_entry_safe(part, next, parts, submitted) {
		first &= part->task.args.eager;
		part->error = coll_engine_begin(&lane->engine, &part->task);
		if (part->error)
			list_add_tail(&part->node, &lane->done_parts);
	}
	return first;
}

/* Is it being found out why the group failed? */
static bool lane_reason_pending(const struct coll_lane *lane)
{
	return smp_load_acquire(&lane->fail->aborted) &&	/* then until when */
	       !coll_fail_reason_final(lane->fail, ktime_get_ns());
}

/* What fails waits for the reason; it may not be the one that it was finished for. */
static void lane_finish(struct coll_lane *lane)
{
	struct coll_part *part, *next;

	list_for_each_entry_safe(part, next, &lane->done_parts, node) {
		if (part->error && lane_reason_pending(lane))
			continue;
		if (part->error && !part->task.error)
			part->error = READ_ONCE(lane->fail->aborted) ?: part->error;
		list_del(&part->node);
		lane->ops->part_done(part);
	}
}

static noinline void lane_report_mismatches(struct coll_lane *lane)
{
	struct coll_task *task;

	lane->mismatch_pending = false;
	list_for_each_entry(task, &lane->engine.active, node) {
		struct coll_part *part = task->args.user;
		u32 peer = part->mismatch_peer;

		if (peer == COLL_NOBODY)
			continue;
		part->mismatch_peer = COLL_NOBODY;
		lane->ops->mismatch(part, peer);
	}
}

/*
 * A rank that is ahead sends what nobody here has asked for yet.  As long as that is little
 * it stays in its socket: whoever asks for it looks there, where a worker could but put it
 * aside, and would take the CPU from the very thread that is about to ask.
 */

/* A run begins, and sees what has come by itself. */
static void lane_run_begin(struct coll_lane *lane)
{
	WRITE_ONCE(lane->running, true);
	WRITE_ONCE(lane->quiescent, false);
	WRITE_ONCE(lane->rx_deferred, false);
	/* Before any look at what has come: pairs with coll_lane_may_defer_rx(). */
	smp_mb();
}

static void lane_run_end(struct coll_lane *lane)
{
	WRITE_ONCE(lane->quiescent, list_empty(&lane->engine.active) && !lane->had_abort &&
		   !READ_ONCE(lane->fail->aborted));
	WRITE_ONCE(lane->running, false);
	/* Before the last look at what has come: pairs with coll_lane_may_defer_rx(). */
	smp_mb();
}

/* What came in a run, after it was looked at there. */
static void lane_recheck_events(struct coll_lane *lane)
{
	struct coll_conn *conn;

	list_for_each_entry(conn, &lane->conns, node)
		if (READ_ONCE(conn->events) && !conn->down && !coll_lane_may_defer_rx(lane, conn))
			coll_runner_kick(&lane->runner);
}

/**
 * coll_lane_may_defer_rx() - need nobody have a lane run for what has come?
 * @lane: the lane
 * @conn: a data connection of it, whose event is set
 *
 * If so it runs and will see it, or the next run will, or the next heartbeat has it run.
 *
 * Context: any.
 */
bool coll_lane_may_defer_rx(struct coll_lane *lane, const struct coll_conn *conn)
{
	smp_mb__after_atomic();	/* the event, then whether a run has begun, or ended */
	if (READ_ONCE(lane->running))
		return true;
	if (!READ_ONCE(lane->quiescent) || test_bit(COLL_EVENT_WRITABLE, &conn->events) ||
	    !conn->ep.transport->can_defer_rx(&conn->ep, COLL_EARLY_MAX))
		return false;
	WRITE_ONCE(lane->rx_deferred, true);
	return true;
}

/*
 * Acknowledge last what has been taken: packets are given back and, unless what was sent since
 * then told the peer's TCP, one is sent, for which the peer gives back packets in its turn
 * while it waits for what the control runner is about to tell.  Return: true: not yet.
 */
static bool lane_acknowledge(struct coll_lane *lane)
{
	if (!lane->ack_pending)
		return false;
	lane->ack_deferred = !lane->ack_deferred && READ_ONCE(lane->net->tx_pending);
	if (!lane->ack_deferred)
		coll_progress_send_acks(lane);
	return lane->ack_deferred;
}

static bool lane_iterate(struct coll_lane *lane)
{
	struct coll_conn *conn;
	bool moved, recheck, first;

	lane_run_begin(lane);
	lane_attach_new(lane);
	list_for_each_entry(conn, &lane->conns, node) {
		/* Before the mail, which was written before it was set. */
		conn->peer_departed = smp_load_acquire(&conn->link->peer_left);
		/* It left with nothing pending: we had consumed what it lent. */
		conn->stream->lease = conn->peer_departed ? U64_MAX : READ_ONCE(conn->link->lease);
		if (lane_read_mailbox(lane, conn))
			coll_progress_conn_down(conn, -EPROTO);
	}
	/* Before the inbox: what is aborted while it is on its way there is seen next time. */
	recheck = READ_ONCE(lane->abort_check_pending) && xchg(&lane->abort_check_pending, false);
	first = lane_begin_submitted(lane);
	if (recheck)
		coll_lane_abort_ops(lane);
	if (smp_load_acquire(&lane->fail->aborted))	/* then when, and why */
		coll_lane_fail(lane);
	coll_progress_update_leases(lane);
	if (first)
		coll_progress_send_submitted(lane);

	moved = coll_lane_progress(lane);

	coll_lane_check_departed(lane);
	if (!moved)
		coll_lane_check_refused(lane);
	if (lane->mismatch_pending)
		lane_report_mismatches(lane);
	lane_finish(lane);
	if (READ_ONCE(lane->net->tx_pending))
		coll_runner_run_now(lane->net->control);
	if (!moved)
		moved = lane_acknowledge(lane);
	lane_run_end(lane);
	if (!moved)
		lane_recheck_events(lane);
	return moved;
}

/* Whatever runs it, memory is charged to the cgroup that joined. */
static bool lane_run(struct coll_runner *runner)
{
	struct coll_lane *lane = container_of(runner, struct coll_lane, runner);
	struct mem_cgroup *memcg = set_active_memcg(lane->memcg);
	bool more = lane_iterate(lane);

	set_active_memcg(memcg);
	return more;
}

/*
 * Where a lane's work item runs: the ranks and lanes of a group are dealt out
 * over the CPUs that the joining process may use.  Wherever the scheduler has
 * put the submitters would do for one rank a host, and load one CPU twice and
 * another not at all for several.
 */
static int lane_cpu(const struct coll_ident *id, u32 index)
{
	u32 weight = 0, nth;
	int cpu;

	/* Work items only run on CPUs that have been online. */
	for_each_cpu_and(cpu, current->cpus_ptr, cpu_online_mask)
		weight++;
	nth = (id->rank * id->nlanes + index) * weight /
	      (id->nranks * id->nlanes);
	for_each_cpu_and(cpu, current->cpus_ptr, cpu_online_mask)
		if (!nth--)
			return cpu;
	return raw_smp_processor_id();
}

/**
 * coll_lane_setup() - make a lane
 * @lane: zeroed, but for what is const after JOIN
 * @index: of the lane
 *
 * Return: 0 or -ENOMEM.
 */
int coll_lane_setup(struct coll_lane *lane, u32 index)
{
	struct coll_task **hash = kvcalloc(COLL_INFLIGHT, sizeof(*hash), GFP_KERNEL_ACCOUNT);

	lane->engine.impl = coll_vector_impl();
	lane->copy_helper = coll_copy_helper_new(lane);
	if (!hash || !lane->copy_helper) {
		coll_copy_helper_put(lane->copy_helper);
		kvfree(hash);
		return -ENOMEM;
	}
	coll_runner_init(&lane->runner, lane_run, lane_cpu(lane->id, index));
	coll_cpu_enter(&lane->cpu_user, &lane->runner, lane->owner);
	INIT_LIST_HEAD(&lane->conns);
	INIT_LIST_HEAD(&lane->done_parts);
	init_llist_head(&lane->submitted);
	INIT_LIST_HEAD(&lane->new_conns);
	spin_lock_init(&lane->lock);

	lane->engine.ops = &lane_ops;
	lane->engine.ctx = lane;
	lane->engine.rank = lane->id->rank;
	lane->engine.nranks = lane->id->nranks;
	lane->engine.lane = index;
	lane->engine.incarnation = lane->id->incarnation;
	coll_engine_init(&lane->engine, hash, COLL_INFLIGHT);
	coll_copier_setup(lane);
	return 0;
}

/**
 * coll_lane_cleanup() - undo coll_lane_setup()
 * @lane: its runner is stopped, or it was never used
 * @reset: drop what is queued on its connections
 */
void coll_lane_cleanup(struct coll_lane *lane, bool reset)
{
	struct coll_conn *conn, *next;

	coll_cpu_leave(&lane->cpu_user);
	/* What came behind the last run is not the engine's, whose operations are gone. */
	list_splice_init(&lane->new_conns, &lane->conns);
	list_for_each_entry_safe(conn, next, &lane->conns, node) {
		list_del(&conn->node);
		coll_conn_free(conn, reset);
	}
	coll_copy_helper_put(lane->copy_helper);
	kvfree(lane->engine.hash);
}

/**
 * coll_lane_submit() - give a lane its part of a request
 * @lane: the lane; kicked or poked by the caller afterwards
 * @part: the part
 */
void coll_lane_submit(struct coll_lane *lane, struct coll_part *part)
{
	llist_add(&part->submitted, &lane->submitted);
}

/**
 * coll_lane_check_aborts() - a request of this lane was aborted
 * @lane: the lane
 */
void coll_lane_check_aborts(struct coll_lane *lane)
{
	WRITE_ONCE(lane->abort_check_pending, true);
	coll_runner_kick(&lane->runner);
}

/**
 * coll_lane_attach() - hand an open data connection to a lane
 * @lane: the lane; it owns the connection from here on
 * @conn: the connection
 *
 * Context: control runner.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_lane_attach(struct coll_lane *lane, struct coll_conn *conn)
{
	u32 ngrants = COLL_GRANTS(lane->engine.nhash);
	u32 bytes = sizeof(*conn->stream) + COLL_UNEXP_SIZE +
		    ngrants * sizeof(struct coll_grant);
	int err = coll_charge(lane->net->charges, bytes);

	if (err)
		return err;
	conn->charged += bytes;
	conn->stream = kzalloc(sizeof(*conn->stream), GFP_KERNEL_ACCOUNT);
	if (!conn->stream)
		return -ENOMEM;
	/* What there is goes with the connection. */
	conn->mailbox = &conn->link->mailboxes[conn->lane];
	coll_stream_init(conn->stream, &lane->engine, conn->peer,
			 kvmalloc(COLL_UNEXP_SIZE, GFP_KERNEL_ACCOUNT),
			 kvcalloc(ngrants, sizeof(struct coll_grant), GFP_KERNEL_ACCOUNT));
	if (!conn->stream->unexp_buf || !conn->stream->grants.entry)
		return -ENOMEM;
	err = conn->ep.transport->setup_bulk(&conn->ep);
	if (err)
		return err;

	/* Whatever came while nobody looked. */
	set_bit(COLL_EVENT_READABLE, &conn->events);
	WRITE_ONCE(conn->runner, &lane->runner);
	/* Events reach the lane from here on: after the stream and the runner. */
	smp_store_release(&conn->ep.ops, &coll_lane_endpoint_ops);
	smp_store_release(&conn->link->data[conn->lane], conn);	/* complete */
	spin_lock(&lane->lock);
	list_add_tail(&conn->node, &lane->new_conns);
	spin_unlock(&lane->lock);
	coll_runner_kick(&lane->runner);
	return 0;
}
