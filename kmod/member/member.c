// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members: from the open file to its release, or to the end of the process.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>
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
	coll_state_init(&member->state, &member->id, coll_control_notify);
	coll_control_init(&member->control);
	coll_net_init(&member->net, &member->id, &member->state, &member->charges,
		      &member->control.runner, &coll_control_net_ops);
	reqs = &member->requests;
	reqs->id = &member->id;
	reqs->state = &member->state;
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
	return nsecs_to_jiffies(coll_state_heartbeats_ns(&member->state, COLL_SILENCE_BEATS));
}

/* From now on no call begins. */
static void member_refuse_calls(struct coll_member *member)
{
	spin_lock(&member->state.lock);
	WRITE_ONCE(member->state.stopped, true);
	spin_unlock(&member->state.lock);
	/*
	 * @stopped before @active_calls: pairs with member_begin_call().  A percpu_ref would do the
	 * same, but it needs memory on each CPU, and an RCU grace period in each LEAVE.  It would
	 * gain nothing, because a member's calls hardly ever come from several CPUs at once.
	 */
	smp_mb();
}

/*
 * The teardown: Documentation/design/objects.rst says why in this order.  No call and no runner
 * uses the member when its connections end, and no connection when its pages are given back.
 */
static void member_stop(struct coll_member *member)
{
	bool reset = member->state.aborted;
	u32 i;

	member_refuse_calls(member);
	/*
	 * Only calls of administrators are left, which neither sleep for long nor touch user
	 * memory.
	 */
	wait_event(member->state.wait, !atomic_read(&member->active_calls));

	coll_control_stop(&member->control);
	for (i = 0; i < member->id.nlanes; i++)
		coll_runner_stop(&member->lanes[i].runner);
	coll_exit_watch_end(member);
	hrtimer_cancel(&member->control.settle);
	cancel_delayed_work_sync(&member->control.tick);
	cancel_delayed_work_sync(&member->control.handshake_tick);
	cancel_delayed_work_sync(&member->requests.expiry);

	coll_process_close(&member->requests);
	coll_net_close(&member->net);
	if (!reset)
		coll_net_flush_until(&member->net, jiffies + member_silence(member));
	for (i = 0; i < member->id.nlanes; i++)
		coll_lane_close(&member->lanes[i], reset);
	coll_wait_free_uncollected(&member->requests);
	coll_lane_close_board(&member->lanes[0]);
	coll_group_leave(member);
	coll_member_free_lanes(member);
	coll_member_free_links(member, false);
	coll_registry_clear(&member->registry);
	coll_member_uncharge(member);
	coll_member_forget_owner(member);
	member->ended = true;
}

/* Return: 0 or -ENOTCONN. */
static int member_begin_call(struct coll_member *member)
{
	/* Calls that come too late must not delay member_stop(), however many they are. */
	if (READ_ONCE(member->state.stopped))
		return -ENOTCONN;
	atomic_inc(&member->active_calls);
	/* @active_calls before @stopped: pairs with member_refuse_calls(). */
	smp_mb__after_atomic();
	if (READ_ONCE(member->state.stopped)) {
		coll_member_unuse(member);
		return -ENOTCONN;
	}
	return 0;
}

/**
 * coll_member_use() - begin a call of the process
 * @member: stays complete until coll_member_unuse()
 * @least: the state that it must have reached, JOINED or a later one
 *
 * LEAVE waits for the call, with the member's mutex held, so the call must not take that.
 *
 * Return: 0, -ENOTCONN or -EPERM.
 */
int coll_member_use(struct coll_member *member, enum collective_state least)
{
	if (READ_ONCE(member->state.value) < least)
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
	if (atomic_dec_and_test(&member->active_calls) && READ_ONCE(member->state.stopped))
		wake_up_all(&member->state.wait);
}

/**
 * coll_member_hold() - begin a call of another process, or of a thread of the kernel
 * @member: of coll_group_member(), or of an open file; stays complete until coll_member_drop()
 *
 * Context: its group is locked, and may be unlocked before coll_member_drop(); or its file is open.
 * Return: 0, or -ENOTCONN: the member is about to end, or has not joined completely.
 */
int coll_member_hold(struct coll_member *member)
{
	int err = READ_ONCE(member->state.value) == COLLECTIVE_STATE_NEW ?
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

/* Is there no rank to end? */
static bool member_has_ended(const struct coll_member *member)
{
	return member->state.value == COLLECTIVE_STATE_NEW || member->ended;
}

/* Do the other ranks need what this one announces of operations that it has completed? */
static bool member_is_ahead(const struct coll_member *member)
{
	return READ_ONCE(member->requests.match.kept) && !READ_ONCE(member->state.aborted);
}

/* Is the process in an operation?  The member is locked. */
static bool member_is_busy(struct coll_member *member)
{
	u64 instance;

	coll_process_sync(&member->requests);
	return member->requests.inflight || coll_process_is_at(&member->requests, &instance);
}

/*
 * Leave in order if nothing is in flight and no rank is behind, else by failing the group: peers
 * still wait for this rank, and so may threads of this process.  A request that is complete is not
 * in flight, even if its thread or its io_uring has yet to collect it.
 *
 * Return: true if nothing is in flight.
 */
static bool member_leave_group(struct coll_member *member)
{
	bool busy, ahead, early;

	spin_lock(&member->state.lock);
	busy = member_is_busy(member);
	ahead = member_is_ahead(member);
	early = member->state.value < COLLECTIVE_STATE_UP;
	if (!busy && !ahead && !early && !member->state.aborted && !member->state.stopped) {
		coll_state_set(&member->state, COLLECTIVE_STATE_LEFT);
		set_bit(COLL_MEMBER_SEND_LEAVE, &member->control.events);
	}
	/* No thread may begin to wait any more. */
	if (!busy && !early)
		WRITE_ONCE(member->state.stopped, true);
	coll_process_alarm(&member->requests, COLL_INSTANCE_GROUP);
	spin_unlock(&member->state.lock);
	wake_up_all(&member->state.wait);

	if (busy || ahead || early)
		coll_state_fail_kind(&member->state, COLLECTIVE_REASON_LEFT, member->id.rank,
				     COLLECTIVE_RANK_NONE);
	/* The group may have come up meanwhile.  Since the report no request begins. */
	return !busy && !READ_ONCE(member->requests.inflight);
}

/* Is there something to wait for in LEAVE?  What is in flight fails there without a wait. */
static bool member_awaits_ranks_behind(struct coll_member *member)
{
	bool busy;

	if (!member_is_ahead(member))
		return false;
	spin_lock(&member->state.lock);
	busy = member_is_busy(member) || member->state.stopped;
	spin_unlock(&member->state.lock);
	return !busy;
}

/*
 * Wait until all ranks have called what this one has completed, as long as an operation may last,
 * however often the wait is interrupted.  Return: 0 or -ERESTARTSYS.
 */
static int member_wait_for_ranks_behind(struct coll_member *member)
{
	long left;

	if (!member_awaits_ranks_behind(member))
		return 0;
	if (!member->leave_by)
		member->leave_by = (jiffies + READ_ONCE(member->id.timeout)) | 1;
	left = member->leave_by - jiffies;
	return min(wait_event_interruptible_timeout(member->state.wait,
						    !member_awaits_ranks_behind(member),
						    max(left, 0L)), 0L);
}

/*
 * Wait for calls of other threads.  They are about to end: a CONNECT was woken, and requests are
 * complete.  But a call that looks at memory of the process may wait for a page as long as the
 * process itself likes (userfaultfd, FUSE).  Return: 0 or -ERESTARTSYS.
 */
static int member_wait_for_calls(struct coll_member *member)
{
	member_refuse_calls(member);
	if (!atomic_read(&member->active_calls))
		return 0;
	/* The peers are told meanwhile. */
	coll_runner_kick(&member->control.runner);
	return wait_event_interruptible(member->state.wait,
					!atomic_read(&member->active_calls));
}

/**
 * coll_member_leave() - leave the group: in order if nothing is in flight, else by failing it
 * @member: of any state
 *
 * Requests in flight can be collected until the file is closed.  If this rank has completed what
 * others have not called yet (COLLECTIVE_F_NOSYNC), it waits for them.
 *
 * Context: the member's mutex is held; may sleep.
 * Return: 0; -ENOTCONN; -ERESTARTSYS: the same call again, or the release of the file, goes on.
 * The rank has left, unless it has ranks behind it.
 */
int coll_member_leave(struct coll_member *member)
{
	int err;

	if (member_has_ended(member))
		return -ENOTCONN;
	err = member_wait_for_ranks_behind(member);
	if (err)
		return err;
	if (!member_leave_group(member))
		return 0;
	err = member_wait_for_calls(member);
	if (err)
		return err;
	member_stop(member);
	spin_lock(&member->state.lock);
	if (member->state.value != COLLECTIVE_STATE_LEFT)
		coll_state_set(&member->state, COLLECTIVE_STATE_LEFT);
	spin_unlock(&member->state.lock);
	return 0;
}

static void member_free(struct coll_member *member)
{
	coll_charges_end(&member->charges);
	kobject_put(&member->kobj);
}

/*
 * Fail the group of a file that is released, unless its process lives, and has nothing in flight:
 * that one leaves in order.
 */
static void member_fail_group(struct coll_member *member)
{
	bool alive = !READ_ONCE(member->owner.mm_released);

	if (!alive || member->state.value != COLLECTIVE_STATE_UP ||
	    READ_ONCE(member->requests.inflight))
		coll_state_fail_kind(&member->state, alive ? COLLECTIVE_REASON_LEFT :
				      COLLECTIVE_REASON_DEATH, member->id.rank,
				      COLLECTIVE_RANK_NONE);
}

/* Free what is left when nothing is in flight, the process is dead, or the fence has passed. */
static void member_end(struct coll_member *member)
{
	member_leave_group(member);
	member_stop(member);
	member_free(member);
}

/*
 * Closing
 *
 * A living process whose operations are in flight gets its pages back after the fence.
 */

/* Does no living process have pages in flight, or ranks behind it? */
static bool member_is_idle(const struct coll_member *member)
{
	return (!READ_ONCE(member->requests.inflight) && !member_is_ahead(member)) ||
	       READ_ONCE(member->owner.mm_released);
}

/*
 * Wait in close() until the member can end.  A thread that exits gets no signals, so it does not
 * wait.  Return: true if it can end; false: the thread must not wait, or is killed.
 */
static bool member_wait_idle(struct coll_member *member)
{
	long left = member->close_by - jiffies;

	if (member_is_idle(member))
		return true;
	return !(current->flags & PF_EXITING) &&
	       wait_event_killable_timeout(member->state.wait, member_is_idle(member),
					   max(left, 0L)) >= 0;
}

static void member_close_work(struct work_struct *work)
{
	struct coll_member *member = container_of(to_delayed_work(work), struct coll_member,
						  close_work);

	remove_wait_queue(&member->state.wait, &member->close_wake);
	/* An event may have queued the work again.  None does from now on. */
	cancel_delayed_work(&member->close_work);
	member_end(member);
	coll_closing_end();
}

/* Context: any; the lock of the wait queue is held. */
static int member_wake_close(struct wait_queue_entry *entry, unsigned int mode, int flags,
			     void *key)
{
	struct coll_member *member = container_of(entry, struct coll_member, close_wake);

	if (member_is_idle(member))
		mod_delayed_work(coll_closing_wq, &member->close_work, 0);
	return 0;
}

/*
 * Leave the end to a work item, which runs once the member is idle, or at @close_by.  No thread
 * sleeps until then, however many members wait.
 */
static void member_defer_end(struct coll_member *member)
{
	long left = member->close_by - jiffies;

	coll_closing_begin();
	INIT_DELAYED_WORK(&member->close_work, member_close_work);
	init_waitqueue_func_entry(&member->close_wake, member_wake_close);
	/* The work item takes this lock before it frees the member. */
	spin_lock_irq(&member->state.wait.lock);
	__add_wait_queue(&member->state.wait, &member->close_wake);
	queue_delayed_work(coll_closing_wq, &member->close_work,
			   member_is_idle(member) ? 0 : max(left, 0L));
	spin_unlock_irq(&member->state.wait.lock);
}

/**
 * coll_member_close() - the file is released
 * @member: freed
 *
 * When the process that joined releases the file, rank, listener and pages are free when this
 * returns; only sockets may linger.  It waits for operations in flight, which keep their pages
 * until the fence, and stops waiting if it is killed.
 *
 * The file may also be released by others: by a process that it was passed to, by a child, or by
 * a kernel thread, which closes files of many.  What the rank has to wait for is not their affair,
 * so a work item does everything that may sleep.  The peers are told at once in either case.
 *
 * Context: may sleep.
 */
void coll_member_close(struct coll_member *member)
{
	if (member_has_ended(member)) {
		member_free(member);
		return;
	}
	member_fail_group(member);
	/* Ranks behind it have the time of an operation; no pages wait for them. */
	member->close_by = jiffies + (member_is_ahead(member) && !member->requests.inflight ?
				      READ_ONCE(member->id.timeout) :
				      HZ + member_silence(member));
	if (member->owner.tgid == task_tgid(current) && member_wait_idle(member))
		member_end(member);
	else
		member_defer_end(member);
}
