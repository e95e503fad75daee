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

#include "coll.h"

/* A frame of what is small finds room beside the credit that is kept, or not told at once. */
static_assert(COLLECTIVE_EAGER_LIMIT + COLL_DATA_SIZE * (COLL_INFLIGHT + 1) <=
	      COLL_CREDIT - COLL_CREDIT_UNTOLD);

/* Grants that are taken from a mail at a time, under its lock, and names that are failed. */
#define LANE_GRANTS		128
#define LANE_FAILURES		64

/* What may wait in a socket until somebody wants it: a message. */
#define COLL_EARLY_MAX		(COLLECTIVE_EAGER_LIMIT + COLL_DATA_SIZE)

static struct coll_stream *lane_stream(void *ctx, u32 peer)
{
	struct coll_lane *lane = ctx;
	struct coll_link *link = coll_link_get(lane->member, peer);
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
	coll_link_queue_frame(lane->member->links[peer], control);
}

static void lane_kick(void *ctx, struct coll_stream *stream)
{
	struct coll_lane *lane = ctx;

	lane->member->links[stream->peer]->data[lane->engine.lane]->tx_wanted = true;
}

/*
 * The buffers are the user's again, and this is the last look at whether the
 * group has failed: whoever was told that it has may have had his pages back
 * before we consumed them.
 */
static void lane_complete(void *ctx, struct coll_task *inst)
{
	struct coll_lane *lane = ctx;
	struct coll_part *part = inst->args.user;

	part->error = inst->error;
	if (!part->error) {
		smp_rmb();	/* what was consumed, then the flag */
		part->error = READ_ONCE(lane->member->aborted);
	}
	list_add_tail(&part->node, &lane->done_parts);
}

static void lane_mismatch(void *ctx, struct coll_task *inst, u32 peer)
{
	struct coll_lane *lane = ctx;
	struct coll_part *part = inst->args.user;

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

	return coll_failed_ops_has(lane->member, instance);
}

static const struct coll_engine_ops lane_ops = {
	.stream		= lane_stream,
	.control	= lane_control,
	.kick		= lane_kick,
	.complete	= lane_complete,
	.mismatch	= lane_mismatch,
	.fpu		= lane_vector,
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

static u16 *mail_head(struct coll_mailbox *mail, u64 instance)
{
	return &mail->head[coll_instance_hash(instance, COLL_MAIL_HASH)];
}

/* The last grant is taken: it is the first of its hash. */
static int mail_take(struct coll_mailbox *mail, struct coll_stream *stream)
{
	const struct coll_grant *grant = &mail->grants[--mail->ngrants];

	*mail_head(mail, grant->instance) = mail->next[mail->ngrants];
	return coll_stream_granted(stream, grant->instance, grant->limit, grant->digest);
}

static int lane_read_mail(struct coll_lane *lane, struct coll_conn *conn)
{
	struct coll_mailbox *mail = conn->mailbox;
	u32 left = LANE_GRANTS;
	int err = 0;

	if (!READ_ONCE(mail->posted))
		return 0;
	spin_lock(&mail->lock);
	while (mail->ngrants && left-- && !err)
		err = mail_take(mail, conn->stream);
	mail->posted = mail->ngrants;
	if (mail->posted)
		coll_runner_kick(&lane->runner);
	if (!err)
		err = coll_stream_consumed(conn->stream, mail->consumed);
	if (!err)
		err = coll_stream_credited(conn->stream, mail->credited);
	spin_unlock(&mail->lock);
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
		first &= part->inst.args.eager;
		part->error = coll_engine_begin(&lane->engine, &part->inst);
		if (part->error)
			list_add_tail(&part->node, &lane->done_parts);
	}
	return first;
}

/* Some operations are to fail by themselves, begun or not. */
static noinline void lane_check_aborts(struct coll_lane *lane)
{
	struct coll_task *inst, *next;
	u32 left = LANE_FAILURES;
	u64 name;
	int error;

	lane->had_abort = true;
	list_for_each_entry_safe(inst, next, &lane->engine.active, node) {
		struct coll_part *part = inst->args.user;

		error = READ_ONCE(part->request->abort_error);
		if (error && !inst->error)
			coll_engine_abort(&lane->engine, inst->args.instance, error);
	}
	while (coll_failed_ops_next(lane->member, &lane->failures, &name)) {
		coll_engine_drop_unexpected(&lane->engine, name);
		if (!--left) {
			coll_lane_check_aborts(lane);
			break;
		}
	}
}

/* The group has failed: drop what is queued, and see who may have memory back. */
static noinline void lane_fail(struct coll_lane *lane)
{
	struct coll_member *member = lane->member;
	u64 now = ktime_get_ns();
	bool fenced = coll_fail_leases_expired(member, now);
	struct coll_conn *conn;

	list_for_each_entry(conn, &lane->conns, node) {
		if (conn->ep.transport)
			conn->ep.transport->close(&conn->ep, true);
		WRITE_ONCE(conn->down, true);
	}
	if (!coll_fail_reason_final(member, now))
		return;
	coll_engine_abort(&lane->engine, COLL_INSTANCE_GROUP, READ_ONCE(member->aborted));
	list_for_each_entry(conn, &lane->conns, node)
		if (fenced || READ_ONCE(conn->link->peer_fenced))
			coll_stream_release(conn->stream);
}

/* Has something begun that will be aborted?  There will be another run then. */
static noinline bool lane_has_failing_start(const struct coll_lane *lane)
{
	const struct coll_task *inst;

	list_for_each_entry(inst, &lane->engine.active, node) {
		const struct coll_part *part = inst->args.user;

		if (part->request->fail_at_start && !inst->error)
			return true;
	}
	return false;
}

/* Has a peer left, and is all that it had to say here? */
static bool conn_departed(const struct coll_conn *conn)
{
	return conn->peer_departed &&
		(READ_ONCE(conn->down) || READ_ONCE(conn->link->leave_timed_out));
}

static bool lane_peer_departed(void *ctx, u32 peer)
{
	const struct coll_lane *lane = ctx;
	struct coll_link *link = coll_link_get(lane->member, peer);
	const struct coll_conn *conn = link ? READ_ONCE(link->data[lane->engine.lane]) : NULL;

	return conn && conn_departed(conn);
}

/*
 * A peer that has left cannot give what an operation still needs.  What has failed needs
 * nothing: it left with nothing in flight, so it completes nothing of ours any more.  Nor is
 * anything expected in a group that has failed: it may have been dropped here.
 */
static void lane_check_departed(struct coll_lane *lane)
{
	struct coll_member *member = lane->member;
	struct coll_conn *conn;
	bool any = false;
	u32 peer;

	if (list_empty(&lane->engine.active) || READ_ONCE(member->aborted))
		return;
	list_for_each_entry(conn, &lane->conns, node)
		any |= conn_departed(conn);
	if (!any || lane_has_failing_start(lane))
		return;
	peer = coll_engine_find_lacking(&lane->engine, false, lane_peer_departed);
	/* Before what others were lent is free: nothing completes with success then. */
	if (peer != COLL_NOBODY)
		coll_fail_report_kind(member, COLLECTIVE_REASON_LEFT, peer, member->rank);
	list_for_each_entry(conn, &lane->conns, node) {
		if (!conn_departed(conn))
			continue;
		WRITE_ONCE(conn->down, true);
		if (conn->peer != peer)
			coll_stream_release(conn->stream);
	}
}

/* Is there no way to a peer, or will there be none? */
static noinline bool lane_link_unusable(const struct coll_lane *lane, const struct coll_link *link)
{
	const struct coll_conn *conn = READ_ONCE(link->data[lane->engine.lane]);

	if (test_bit(lane->engine.lane, &link->refused_mask))
		return true;
	/* What it has sent already counts. */
	return test_bit(COLL_REFUSED_CONTROL, &link->refused_mask) &&
		(!conn || READ_ONCE(conn->down));
}

static bool lane_unreachable(void *ctx, u32 peer)
{
	const struct coll_lane *lane = ctx;
	const struct coll_link *link = coll_link_get(lane->member, peer);

	/* Then why: pairs with conn_refused(). */
	return link && smp_load_acquire(&link->refused_mask) && lane_link_unusable(lane, link);
}

/* Nor can one to whom no connection could be made. */
static void lane_check_refused(struct coll_lane *lane)
{
	struct coll_member *member = lane->member;
	u32 peer;

	if (!READ_ONCE(member->any_refused) || list_empty(&lane->engine.active))
		return;
	peer = coll_engine_find_lacking(&lane->engine, true, lane_unreachable);
	if (peer != COLL_NOBODY && !lane_has_failing_start(lane))
		coll_fail_report(member, &coll_link_get(member, peer)->why);
}

/* Is it being found out why the group failed? */
static bool lane_reason_pending(const struct coll_lane *lane)
{
	return smp_load_acquire(&lane->member->aborted) &&	/* then until when */
	       !coll_fail_reason_final(lane->member, ktime_get_ns());
}

/* What fails waits for the reason; it may not be the one that it was finished for. */
static void lane_finish(struct coll_lane *lane)
{
	struct coll_part *part, *next;

	list_for_each_entry_safe(part, next, &lane->done_parts, node) {
		if (part->error && lane_reason_pending(lane))
			continue;
		if (part->error && !part->inst.error)
			part->error = READ_ONCE(lane->member->aborted) ?: part->error;
		list_del(&part->node);
		coll_request_part_done(part);
	}
}

static noinline void lane_report_mismatches(struct coll_lane *lane)
{
	struct coll_task *inst;

	lane->mismatch_pending = false;
	list_for_each_entry(inst, &lane->engine.active, node) {
		struct coll_part *part = inst->args.user;
		u32 peer = part->mismatch_peer;

		if (peer == COLL_NOBODY)
			continue;
		part->mismatch_peer = COLL_NOBODY;
		coll_match_payload_mismatch(lane->member, inst->args.instance, peer);
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
		   !READ_ONCE(lane->member->aborted));
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
	lane->ack_deferred = !lane->ack_deferred && READ_ONCE(lane->member->control_tx_pending);
	if (!lane->ack_deferred)
		coll_progress_send_acks(lane);
	return lane->ack_deferred;
}

static bool lane_iterate(struct coll_lane *lane)
{
	struct coll_member *member = lane->member;
	struct coll_conn *conn;
	bool moved, recheck, first;

	lane_run_begin(lane);
	lane_attach_new(lane);
	list_for_each_entry(conn, &lane->conns, node) {
		/* Before the mail, which was written before it was set. */
		conn->peer_departed = smp_load_acquire(&conn->link->peer_left);
		/* It left with nothing pending: we had consumed what it lent. */
		conn->stream->lease = conn->peer_departed ? U64_MAX : READ_ONCE(conn->link->lease);
		if (lane_read_mail(lane, conn))
			coll_progress_conn_down(conn, -EPROTO);
	}
	/* Before the inbox: what is aborted while it is on its way there is seen next time. */
	recheck = READ_ONCE(lane->abort_check_pending) && xchg(&lane->abort_check_pending, false);
	first = lane_begin_submitted(lane);
	if (recheck)
		lane_check_aborts(lane);
	if (smp_load_acquire(&member->aborted))	/* then when, and why */
		lane_fail(lane);
	coll_progress_update_leases(lane);
	if (first)
		coll_progress_send_submitted(lane);

	moved = coll_lane_progress(lane);

	lane_check_departed(lane);
	if (!moved)
		lane_check_refused(lane);
	if (lane->mismatch_pending)
		lane_report_mismatches(lane);
	lane_finish(lane);
	if (READ_ONCE(member->control_tx_pending))
		coll_runner_run_now(&member->control_runner);
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
	struct mem_cgroup *memcg = set_active_memcg(lane->member->memcg);
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
static int lane_cpu(const struct coll_member *member, u32 index)
{
	u32 weight = 0, nth;
	int cpu;

	/* Work items only run on CPUs that have been online. */
	for_each_cpu_and(cpu, current->cpus_ptr, cpu_online_mask)
		weight++;
	nth = (member->rank * member->nlanes + index) * weight /
	      (member->nranks * member->nlanes);
	for_each_cpu_and(cpu, current->cpus_ptr, cpu_online_mask)
		if (!nth--)
			return cpu;
	return raw_smp_processor_id();
}

/**
 * coll_lane_setup() - make a lane out of zeroed memory
 * @lane: the lane
 * @member: that it belongs to
 * @index: which one
 *
 * Return: 0 or -ENOMEM.
 */
int coll_lane_setup(struct coll_lane *lane, struct coll_member *member, u32 index)
{
	struct coll_task **hash = kvcalloc(COLL_INFLIGHT, sizeof(*hash), GFP_KERNEL_ACCOUNT);

	lane->engine.impl = coll_vector_impl();
	lane->copy_helper = coll_copy_helper_new(lane);
	if (!hash || !lane->copy_helper) {
		coll_copy_helper_put(lane->copy_helper);
		kvfree(hash);
		return -ENOMEM;
	}
	coll_runner_init(&lane->runner, lane_run, lane_cpu(member, index));
	lane->member = member;
	coll_cpu_enter(lane, lane->runner.cpu);
	INIT_LIST_HEAD(&lane->conns);
	INIT_LIST_HEAD(&lane->done_parts);
	init_llist_head(&lane->submitted);
	INIT_LIST_HEAD(&lane->new_conns);
	spin_lock_init(&lane->lock);

	lane->engine.ops = &lane_ops;
	lane->engine.ctx = lane;
	lane->engine.rank = member->rank;
	lane->engine.nranks = member->nranks;
	lane->engine.lane = index;
	lane->engine.incarnation = member->incarnation;
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

	coll_cpu_leave(lane);
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
	int err = coll_charge(&lane->member->charges, bytes);

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
	smp_store_release(&conn->link->data[conn->lane], conn);	/* complete */
	spin_lock(&lane->lock);
	list_add_tail(&conn->node, &lane->new_conns);
	spin_unlock(&lane->lock);
	coll_runner_kick(&lane->runner);
	return 0;
}

/**
 * coll_lane_detach() - undo coll_lane_attach()
 * @conn: any connection; its lane does not run any more
 */
void coll_lane_detach(struct coll_conn *conn)
{
	if (conn->stream) {
		kvfree(conn->stream->unexp_buf);
		kvfree(conn->stream->grants.entry);
	}
	kfree(conn->stream);
}

static int mail_grant(struct coll_mailbox *mail, const struct coll_control *control)
{
	u16 *head = mail_head(mail, control->instance);
	u32 i = *head;

	while (i && mail->grants[i - 1].instance != control->instance)
		i = mail->next[i - 1];
	if (!i && mail->ngrants == ARRAY_SIZE(mail->grants))
		return -EPROTO;
	if (!i) {
		i = ++mail->ngrants;
		mail->next[i - 1] = *head;
		*head = i;
	}
	mail->grants[i - 1] = (struct coll_grant){
		.instance = control->instance,
		.limit = control->position,
		.digest = control->digest,
	};
	return 0;
}

/**
 * coll_lane_post() - a control frame for a data connection's lane
 * @lane: the lane
 * @mail: of the connection, which need not be there yet
 * @control: GRANT, CREDIT or CONSUMED
 *
 * Context: control runner.
 * Return: 0 or -EPROTO.
 */
int coll_lane_post(struct coll_lane *lane, struct coll_mailbox *mail,
		   const struct coll_control *control)
{
	int err = 0;

	spin_lock(&mail->lock);
	switch (control->kind) {
	case COLL_CONTROL_GRANT:
		err = mail_grant(mail, control);
		break;
	case COLL_CONTROL_CREDIT:
		if (control->position < mail->credited)
			err = -EPROTO;
		mail->credited = control->position;
		break;
	case COLL_CONTROL_CONSUMED:
		if (control->position < mail->consumed)
			err = -EPROTO;
		mail->consumed = control->position;
		break;
	}
	mail->posted = true;
	spin_unlock(&mail->lock);
	coll_runner_kick(&lane->runner);
	return err;
}
