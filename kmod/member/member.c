// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members: from the open file to its release, or to the end of the process.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "exec/closing.h"
#include "lane/lane.h"
#include "limits.h"
#include "member/group.h"
#include "member/member.h"
#include "member/sysfs.h"
#include "op/match.h"
#include "op/wait.h"

/**
 * coll_member_new() - the member of a file that is opened
 *
 * Return: a member of no group, for coll_member_close(); or NULL.
 */
struct coll_member *coll_member_new(void)
{
	struct coll_member *member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	struct coll_requests *reqs;

	if (!member)
		return NULL;
	kobject_init(&member->kobj, &coll_member_ktype);
	mutex_init(&member->mutex);
	INIT_LIST_HEAD(&member->group_node);
	coll_registry_init(&member->registry);
	coll_fail_init(&member->fail, &member->id, coll_control_notify);
	coll_control_init(&member->control);
	coll_net_init(&member->net, &member->id, &member->fail, &member->charges,
		      &member->control.runner, &coll_control_net_ops);
	reqs = &member->requests;
	reqs->id = &member->id;
	reqs->fail = &member->fail;
	reqs->net = &member->net;
	reqs->charges = &member->charges;
	reqs->registry = &member->registry;
	reqs->pinned = &member->pinned;
	coll_requests_init(reqs);
	return member;
}

/* A peer that is silent for this long is dead; jiffies. */
static unsigned long member_silence(const struct coll_member *member)
{
	return nsecs_to_jiffies(coll_fail_heartbeats_ns(&member->fail, COLL_SILENCE_BEATS));
}

/*
 * The teardown: Documentation/design/objects.rst says why in this order.  No call and no runner
 * uses the member when its connections end, and no connection when its pages are given back.
 */
static void member_stop(struct coll_member *member, bool reset)
{
	u32 i;

	spin_lock(&member->fail.lock);
	WRITE_ONCE(member->fail.stopped, true);
	spin_unlock(&member->fail.lock);
	/*
	 * @stopped before @active_calls: pairs with coll_member_use().  A percpu_ref would do the
	 * same, but it needs memory on each CPU, and an RCU grace period in each LEAVE.  It would
	 * gain nothing, because a member's calls hardly ever come from several CPUs at once.
	 */
	smp_mb();
	wait_event(member->fail.state_wait, !atomic_read(&member->active_calls));

	coll_control_stop(&member->control);
	for (i = 0; i < member->id.nlanes; i++)
		coll_runner_stop(&member->lanes[i].runner);
	coll_exit_watch_end(member);
	hrtimer_cancel(&member->control.settle);
	cancel_delayed_work_sync(&member->control.tick);
	cancel_delayed_work_sync(&member->requests.expiry);

	coll_net_close(&member->net);
	if (!reset)
		coll_net_flush_until(&member->net, jiffies + member_silence(member));
	for (i = 0; i < member->id.nlanes; i++)
		coll_lane_close(&member->lanes[i], reset);
	coll_wait_free_uncollected(&member->requests);
	coll_group_leave(member);
	coll_member_free_lanes(member);
	coll_member_free_links(member, false);
	coll_registry_clear(&member->registry);
	coll_member_uncharge(member);
	coll_member_forget_owner(member);
}

/* Return: 0 or -ENOTCONN. */
static int member_begin_call(struct coll_member *member)
{
	/* Calls that come too late must not delay member_stop(), however many they are. */
	if (READ_ONCE(member->fail.stopped))
		return -ENOTCONN;
	atomic_inc(&member->active_calls);
	/* @active_calls before @stopped: pairs with member_stop(). */
	smp_mb__after_atomic();
	if (READ_ONCE(member->fail.stopped)) {
		coll_member_unuse(member);
		return -ENOTCONN;
	}
	return 0;
}

/**
 * coll_member_use() - begin a call of the process that may have requests
 * @member: stays complete until coll_member_unuse()
 *
 * Return: 0, -ENOTCONN or -EPERM.
 */
int coll_member_use(struct coll_member *member)
{
	if (READ_ONCE(member->fail.state) <= COLLECTIVE_STATE_CONNECTING)
		return -ENOTCONN;
	if (member->owner.mm != current->mm)
		return -EPERM;
	return member_begin_call(member);
}

/**
 * coll_member_unuse() - end such a call
 * @member: as for coll_member_use()
 */
void coll_member_unuse(struct coll_member *member)
{
	if (atomic_dec_and_test(&member->active_calls) && READ_ONCE(member->fail.stopped))
		wake_up_all(&member->fail.state_wait);
}

/**
 * coll_member_hold() - begin a call of another process
 * @member: of coll_group_member(); stays complete until coll_member_drop()
 *
 * Context: its group is locked, and may be unlocked before coll_member_drop().
 * Return: 0, or -ENOTCONN: the member is about to end, or has not joined completely.
 */
int coll_member_hold(struct coll_member *member)
{
	int err = READ_ONCE(member->fail.state) == COLLECTIVE_STATE_NEW ?
		  -ENOTCONN : member_begin_call(member);

	/* The file may be released while this call ends. */
	if (!err)
		kobject_get(&member->kobj);
	return err;
}

/**
 * coll_member_drop() - end such a call
 * @member: as for coll_member_hold()
 *
 * Context: may sleep.
 */
void coll_member_drop(struct coll_member *member)
{
	coll_member_unuse(member);
	kobject_put(&member->kobj);
}

/**
 * coll_member_leave() - leave the group: in order if nothing is in flight, else by failing it
 * @member: of any state
 *
 * Context: the member's mutex is held; may sleep.
 * Return: 0 or -ENOTCONN.
 */
int coll_member_leave(struct coll_member *member)
{
	bool busy, early;

	if (member->fail.state == COLLECTIVE_STATE_NEW || member->fail.stopped)
		return -ENOTCONN;

	spin_lock(&member->fail.lock);
	busy = member->requests.inflight || member->requests.nr_claimed;
	early = member->fail.state < COLLECTIVE_STATE_UP;
	/* No thread may begin to wait any more. */
	WRITE_ONCE(member->fail.stopped, !busy && !early);
	if (!busy && !early && !member->fail.aborted) {
		coll_fail_set_state(&member->fail, COLLECTIVE_STATE_LEFT);
		set_bit(COLL_MEMBER_SEND_LEAVE, &member->control.events);
	}
	spin_unlock(&member->fail.lock);

	/*
	 * Peers still wait for this rank, and so may threads of this process.  Requests in flight
	 * can be collected until the file is closed.
	 */
	if (busy || early)
		coll_fail_report_kind(&member->fail, COLLECTIVE_REASON_LEFT, member->id.rank,
				      COLLECTIVE_RANK_NONE);
	if (busy)
		return 0;
	member_stop(member, member->fail.aborted);
	spin_lock(&member->fail.lock);
	if (member->fail.state != COLLECTIVE_STATE_LEFT)
		coll_fail_set_state(&member->fail, COLLECTIVE_STATE_LEFT);
	spin_unlock(&member->fail.lock);
	return 0;
}

/*
 * A living process with nothing in flight leaves in order.  One with operations in flight gets its
 * memory back after the fence, and a dying one at once.
 */
static void member_end(struct coll_member *member)
{
	bool alive = !READ_ONCE(member->owner.mm_released);

	if (alive && member->fail.state == COLLECTIVE_STATE_UP && !member->requests.inflight)
		coll_member_leave(member);
	if (member->fail.state != COLLECTIVE_STATE_NEW && !member->fail.stopped) {
		coll_fail_report_kind(&member->fail, alive ? COLLECTIVE_REASON_LEFT :
				      COLLECTIVE_REASON_DEATH, member->id.rank,
				      COLLECTIVE_RANK_NONE);
		if (alive)
			coll_wait_inflight(&member->requests, HZ + member_silence(member));
		member_stop(member, true);
	}
	coll_charges_end(&member->charges);
	kobject_put(&member->kobj);
}

static void member_close_work(struct work_struct *work)
{
	member_end(container_of(work, struct coll_member, close_work));
	coll_closing_end();
}

/**
 * coll_member_close() - the file is released
 * @member: freed
 *
 * When this returns, rank, listener and pages are free; only sockets may linger.  The exception is
 * a file that is released by a kernel thread, which closes files of other processes, too: it must
 * not wait for operations in flight, which keep their pages until the fence, so a work item does.
 *
 * Context: may sleep.
 */
void coll_member_close(struct coll_member *member)
{
	if (!(current->flags & PF_KTHREAD) || !member->requests.inflight ||
	    READ_ONCE(member->owner.mm_released)) {
		member_end(member);
		return;
	}
	coll_closing_begin();
	INIT_WORK(&member->close_work, member_close_work);
	queue_work(coll_closing_wq, &member->close_work);
}
