// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control runner: all connection management of a member, one thing at a time.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "coll.h"

/* Rounds over the links in one run, before other work on this CPU. */
#define COLL_ROUNDS	4

static void control_arrivals(struct coll_member *member)
{
	struct coll_conn *conn;

	spin_lock(&member->lock);
	list_for_each_entry(conn, &member->new_conns, node)
		member->ngreeting++;
	list_splice_tail_init(&member->new_conns, &member->handshakes);
	spin_unlock(&member->lock);
}

static void control_flood(struct coll_member *member)
{
	struct coll_control control = {
		.kind = COLL_CONTROL_ABORT,
		.instance = COLL_INSTANCE_GROUP,
	};
	struct coll_link *link;

	spin_lock(&member->lock);
	control.cause = member->reason;
	spin_unlock(&member->lock);

	coll_for_each_link(link, member) {
		if (link->abort_sent_kind == control.cause.kind)
			continue;
		link->abort_sent_kind = control.cause.kind;
		coll_link_queue_frame(link, &control);
	}
}

static void control_leave(struct coll_member *member)
{
	struct coll_control control = { .kind = COLL_CONTROL_LEAVE };
	struct coll_link *link;

	coll_for_each_link(link, member)
		coll_link_queue_frame(link, &control);
}

static bool control_turn(struct coll_member *member)
{
	unsigned long chores = xchg(&member->control_events, 0);
	u64 now = ktime_get_ns();
	struct coll_conn *conn, *next;
	struct coll_link *link;
	int round = 0;

	if (test_and_clear_bit(COLL_EVENT_READABLE, &member->listener_events) ||
	    chores & BIT(COLL_CHORE_TICK))
		if (member->listener.transport)
			coll_conn_accept(member);
	control_arrivals(member);
	/* COLL_HALF_OPEN_MAX, and those that we have called; HELLOs are short. */
	list_for_each_entry_safe(conn, next, &member->handshakes, node)
		coll_conn_handshake(conn, now);

	if (chores & BIT(COLL_CHORE_FLOOD))
		control_flood(member);
	if (chores & BIT(COLL_CHORE_LEAVE))
		control_leave(member);
	if (chores & BIT(COLL_CHORE_SUBMITTED))
		coll_match_send_submitted(member, now);
	if (chores & BIT(COLL_CHORE_TICK)) {
		coll_member_expire(member);
		coll_match_heartbeat(member, now);
		coll_for_each_link(link, member)
			coll_link_tick(link, now);
	}
	do {
		/* What comes on one link may have to be told on another. */
		WRITE_ONCE(member->control_tx_pending, false);
		/* COLL_CONTROL_BUDGET is taken from each, and what is posted is sent. */
		coll_for_each_link(link, member) {
			coll_link_run(link);
			cond_resched();
		}
	} while (READ_ONCE(member->control_tx_pending) && ++round < COLL_ROUNDS);
	return READ_ONCE(member->control_tx_pending);
}

/**
 * coll_control_run() - see struct coll_runner
 * @runner: a member's control runner
 *
 * Whatever runs it, memory is charged to the cgroup that joined.
 *
 * Return: true: there is more to do.
 */
bool coll_control_run(struct coll_runner *runner)
{
	struct coll_member *member = container_of(runner, struct coll_member, control_runner);
	struct mem_cgroup *memcg = set_active_memcg(member->memcg);
	bool more = control_turn(member);

	set_active_memcg(memcg);
	return more;
}

/**
 * coll_control_tick() - the heartbeat's work item
 * @work: of the member
 */
void coll_control_tick(struct work_struct *work)
{
	struct coll_member *member = container_of(to_delayed_work(work),
						  struct coll_member, tick);
	u32 i;

	/* Its reason may have settled. */
	if (READ_ONCE(member->aborted))
		wake_up_all(&member->state_wait);
	set_bit(COLL_CHORE_TICK, &member->control_events);
	coll_runner_kick(&member->control_runner);
	for (i = 0; i < member->nlanes; i++)
		if (READ_ONCE(member->inflight) || READ_ONCE(member->lanes[i].rx_deferred))
			coll_runner_kick(&member->lanes[i].runner);
	queue_delayed_work(coll_wq, &member->tick,
			   msecs_to_jiffies(member->heartbeat_ms));
}
