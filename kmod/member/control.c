// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control runner: all connection management of a member, one thing at a time, and the frames
 * that come on it passed on to lanes and operations.
 */
#include <linux/ktime.h>
#include <linux/sched/mm.h>

#include "compat/timer.h"
#include "lane/lane.h"
#include "limits.h"
#include "member/query_member.h"
#include "member/control.h"
#include "member/member.h"
#include "net/conn.h"
#include "net/link.h"
#include "op/match.h"

static struct coll_member *control_member(struct coll_member_control *control)
{
	return container_of(control, struct coll_member, control);
}

/*
 * Events of connections
 */

static struct coll_member *net_member(struct coll_net *net)
{
	return container_of(net, struct coll_member, net);
}

static void net_data_open(struct coll_conn *conn)
{
	coll_lane_attach(&net_member(conn->net)->lanes[conn->lane], conn);
}

static int net_announce(struct coll_net *net, u32 peer, const struct coll_control *frame)
{
	return coll_match_receive_announce(&net_member(net)->requests, peer, frame);
}

static void net_abort(struct coll_net *net, const struct coll_control *frame,
		      const struct coll_failure *failure)
{
	struct coll_requests *reqs = &net_member(net)->requests;

	coll_match_abort(reqs, frame->instance, failure);
	coll_absent_receive(reqs, frame);
}

static void net_peer_left(struct coll_net *net)
{
	coll_match_peer_left(&net_member(net)->requests);
}

static void net_count_received(struct coll_net *net, u32 peer, u64 count)
{
	coll_match_receive_submitted(&net_member(net)->requests, peer, count);
}

static u64 net_own_count(struct coll_net *net, u32 peer)
{
	return coll_match_submitted_for(&net_member(net)->requests, peer);
}

static void net_kick_lane(struct coll_net *net, u32 lane)
{
	coll_runner_kick(&net_member(net)->lanes[lane].runner);
}

static void member_kick_lanes(struct coll_member *member)
{
	u32 i;

	for (i = 0; i < member->id.nlanes; i++)
		coll_runner_kick(&member->lanes[i].runner);
}

static void net_kick_lanes(struct coll_net *net)
{
	member_kick_lanes(net_member(net));
}

static void net_answer(struct coll_net *net, struct coll_answer *answer)
{
	coll_member_answer(net_member(net), answer);
}

/* A lease has ended while the member rested, so links that have one are pinged at once. */
static void net_resume(struct coll_net *net)
{
	struct coll_member *member = net_member(net);
	u32 ms = coll_net_has_leases(net) ? 0 : member->id.heartbeat_ms;

	member->control.idle_beats = 0;
	mod_delayed_work(coll_unbound_wq, &member->control.tick, msecs_to_jiffies(ms));
}

const struct coll_net_ops coll_control_net_ops = {
	.data_open	= net_data_open,
	.announce	= net_announce,
	.abort		= net_abort,
	.peer_left	= net_peer_left,
	.count_received	= net_count_received,
	.own_count	= net_own_count,
	.kick_lane	= net_kick_lane,
	.kick_lanes	= net_kick_lanes,
	.answer		= net_answer,
	.resume		= net_resume,
};

/*
 * The runner
 */

/* Do connections need ticks, in any state?  A member that connects probes what is open. */
static bool control_has_conns(const struct coll_member *member)
{
	return coll_net_is_connecting(&member->net) ||
	       (READ_ONCE(member->state.value) == COLLECTIVE_STATE_CONNECTING &&
		coll_net_has_pings(&member->net));
}

static void control_resume_for_conns(struct coll_member *member)
{
	struct coll_net *net = &member->net;

	if (!control_has_conns(member))
		return;
	/* The connections before @resting: pairs with control_rests(). */
	smp_mb();
	if (!READ_ONCE(net->resting))
		return;
	spin_lock(&member->state.lock);
	coll_net_resume(net);
	spin_unlock(&member->state.lock);
}

/*
 * Heartbeats are counted, so these ticks are none.  A member that has joined only has no heartbeats
 * yet, and those of others may be far apart.
 */
static void control_queue_handshake_tick(struct coll_member *member)
{
	if (coll_net_is_connecting(&member->net))
		queue_delayed_work(coll_unbound_wq, &member->control.handshake_tick,
				   msecs_to_jiffies(COLL_HANDSHAKE_TICK_MS));
}

static void control_handshake_tick(struct work_struct *work)
{
	struct coll_member_control *control = container_of(to_delayed_work(work),
							   struct coll_member_control,
							   handshake_tick);

	coll_runner_kick(&control->runner);
}

static bool control_iterate(struct coll_member *member)
{
	unsigned long events = xchg(&member->control.events, 0);
	bool heartbeat = events & BIT(COLL_MEMBER_HEARTBEAT);
	struct coll_net *net = &member->net;
	u64 now = ktime_get_ns();

	if (events & BIT(COLL_MEMBER_ALL_LOCAL))
		coll_net_close_listener(net);
	coll_net_run_handshakes(net, heartbeat, now);
	control_resume_for_conns(member);
	control_queue_handshake_tick(member);
	if (events & BIT(COLL_MEMBER_SEND_ABORT))
		coll_net_send_abort(net);
	if (events & BIT(COLL_MEMBER_SEND_LEAVE))
		coll_net_send_leave(net);
	if (events & BIT(COLL_MEMBER_SEND_QUERY))
		coll_query_send(net);
	coll_match_run(&member->requests, now);
	if (heartbeat) {
		coll_connect_expire(member);
		coll_match_heartbeat(&member->requests, now);
		coll_net_heartbeat(net, now);
	}
	return coll_net_run_links(net);
}

/* Whatever thread runs it, memory is charged to the cgroup of the process that joined. */
static bool control_run(struct coll_runner *runner)
{
	struct coll_member_control *control = container_of(runner, struct coll_member_control,
							   runner);
	struct coll_member *member = control_member(control);
	struct mem_cgroup *memcg = set_active_memcg(member->owner.memcg);
	bool more = control_iterate(member);

	set_active_memcg(memcg);
	return more;
}

/**
 * coll_control_post() - have the control runner do something
 * @control: of the member
 * @event: what
 *
 * Context: any.
 */
void coll_control_post(struct coll_member_control *control, enum coll_member_event event)
{
	set_bit(event, &control->events);
	coll_runner_kick(&control->runner);
}

static bool control_has_deferred(const struct coll_member *member)
{
	u32 i;

	for (i = 0; i < member->id.nlanes; i++)
		if (READ_ONCE(member->lanes[i].rx_deferred))
			return true;
	return false;
}

/*
 * Is there nothing that a tick is for?  The end of CONNECT has a time of its own, and needs no tick
 * before.  A group that has failed needs them until its requests have ended.
 */
static bool control_idle(const struct coll_member *member)
{
	if (control_has_conns(member))
		return false;
	switch (READ_ONCE(member->state.value)) {
	case COLLECTIVE_STATE_CONNECTING:
		return true;
	case COLLECTIVE_STATE_UP:
		return !coll_requests_unsettled(&member->requests) &&
		       !control_has_deferred(member);
	case COLLECTIVE_STATE_ABORTED:
		return !READ_ONCE(member->requests.inflight) &&
		       coll_state_is_final(&member->state, ktime_get_ns());
	}
	return false;
}

/* Links by TCP are probed for a while after the last operation. */
static u32 control_idle_beats(const struct coll_member *member)
{
	return READ_ONCE(member->state.value) == COLLECTIVE_STATE_UP &&
	       coll_net_has_leases(&member->net) ? COLL_REST_MS / member->id.heartbeat_ms : 0;
}

/* The smaller memory is charged to the cgroup of the process that joined, as the larger one was. */
static void control_shrink(struct coll_member *member)
{
	struct mem_cgroup *memcg = set_active_memcg(member->owner.memcg);

	coll_net_shrink(&member->net);
	set_active_memcg(memcg);
}

/*
 * A member rests if nothing has been in flight for a while: it does not tick.  The heartbeat after
 * the last operation has told the peers how far it has submitted.
 */
static bool control_rests(struct coll_member *member)
{
	bool rests;

	if (!control_idle(member)) {
		member->control.idle_beats = 0;
		return false;
	}
	if (member->control.idle_beats++ <= control_idle_beats(member))
		return false;
	spin_lock(&member->state.lock);
	WRITE_ONCE(member->net.resting, true);
	/* Pairs with coll_lane_may_defer_rx() and control_resume_for_conns(). */
	smp_mb();
	rests = control_idle(member);
	if (!rests)
		WRITE_ONCE(member->net.resting, false);
	spin_unlock(&member->state.lock);
	if (rests)
		control_shrink(member);
	return rests;
}

/* A lost peer need not be noticed soon before the group is up. */
static unsigned long control_beat(const struct coll_member *member)
{
	u32 ms = member->id.heartbeat_ms;

	if (READ_ONCE(member->state.value) == COLLECTIVE_STATE_CONNECTING &&
	    !coll_net_is_connecting(&member->net))
		ms = max(ms, COLL_HEARTBEAT_CONNECT_MS);
	return msecs_to_jiffies(ms);
}

/**
 * coll_control_queue_tick() - have the member tick, unless it rests
 * @control: of a member whose CONNECT was called
 *
 * What lets the member resume meanwhile has queued an earlier tick.
 *
 * Context: CONNECT, or the last tick.
 */
void coll_control_queue_tick(struct coll_member_control *control)
{
	struct coll_member *member = control_member(control);
	bool rests = control_rests(member);
	unsigned long beat = control_beat(member);
	long left = member->connect_deadline + COLL_CONNECT_LATE + 1 - jiffies;

	if (READ_ONCE(member->state.value) == COLLECTIVE_STATE_CONNECTING &&
	    member->connect_deadline) {
		beat = rests ? max(left, 1L) : min_t(long, beat, max(left, 1L));
		rests = false;
	}
	if (!rests)
		queue_delayed_work(coll_unbound_wq, &control->tick, beat);
}

static void control_tick(struct work_struct *work)
{
	struct coll_member_control *control = container_of(to_delayed_work(work),
							   struct coll_member_control,
							   tick);
	struct coll_member *member = control_member(control);
	u32 i;

	/* The reason may be final now. */
	if (READ_ONCE(member->state.aborted)) {
		coll_state_tell(&member->state);
		wake_up_all(&member->state.wait);
	}
	coll_control_post(control, COLL_MEMBER_HEARTBEAT);
	for (i = 0; i < member->id.nlanes; i++)
		if (READ_ONCE(member->requests.inflight) ||
		    READ_ONCE(member->lanes[i].rx_deferred))
			coll_runner_kick(&member->lanes[i].runner);
	coll_control_queue_tick(control);
}

static enum hrtimer_restart control_settle(struct hrtimer *timer)
{
	struct coll_member_control *control = container_of(timer, struct coll_member_control,
							   settle);

	mod_delayed_work(coll_unbound_wq, &control->tick, 0);
	return HRTIMER_NORESTART;
}

/**
 * coll_control_init() - a control runner that nothing has kicked
 * @control: of a new member
 */
void coll_control_init(struct coll_member_control *control)
{
	coll_runner_init(&control->runner, control_run, coll_control_wq);
	INIT_DELAYED_WORK(&control->tick, control_tick);
	INIT_DELAYED_WORK(&control->handshake_tick, control_handshake_tick);
	coll_timer_setup(&control->settle, control_settle);
}

/**
 * coll_control_stop() - stop the control runner, and run it once more
 * @control: of a member that no call uses any more
 *
 * The last run sends the last frames, such as LEAVE: another thread that would run it may be
 * stopped before it does.
 *
 * Context: may sleep.
 */
void coll_control_stop(struct coll_member_control *control)
{
	coll_runner_stop(&control->runner);
	control_run(&control->runner);
}

/**
 * coll_control_notify() - see coll_member_state.notify
 * @state: of the member; locked
 */
void coll_control_notify(struct coll_member_state *state)
{
	struct coll_member *member = container_of(state, struct coll_member, state);

	WRITE_ONCE(member->net.resting, false);
	coll_process_alarm(&member->requests, COLL_INSTANCE_GROUP);
	hrtimer_start(&member->control.settle, ns_to_ktime(state->settled_at), HRTIMER_MODE_ABS);
	coll_control_post(&member->control, COLL_MEMBER_SEND_ABORT);
	member_kick_lanes(member);
}
