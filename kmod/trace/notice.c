// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notices wait in a list of their member until the work item, or the end of the member, sends them.
 *
 * One lock protects all lists and the list of members that have notices.  It is innermost.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "exec/runner.h"
#include "trace/notice.h"

static DEFINE_SPINLOCK(notices_lock);
static LIST_HEAD(notices_list);

/* One sender at a time: a member that ends waits until none of its notices is being sent. */
static DEFINE_MUTEX(send_mutex);
static int (*notice_send)(struct coll_notices *notices, const struct coll_notice *notice, u32 lost);

/**
 * struct coll_notice_entry - a notice that waits
 * @node: in coll_notices.waiting
 * @notice: the notice
 */
struct coll_notice_entry {
	struct list_head node;
	struct coll_notice notice;
};

/**
 * coll_notices_init() - initialise an empty list
 * @notices: zeroed
 */
void coll_notices_init(struct coll_notices *notices)
{
	INIT_LIST_HEAD(&notices->node);
	INIT_LIST_HEAD(&notices->waiting);
}

/* Takes the first notice of a member out.  Return: false if there is none. */
static bool notice_take(struct coll_notices *notices, struct coll_notice *notice, u32 *lost)
{
	struct coll_notice_entry *entry =
		list_first_entry_or_null(&notices->waiting, struct coll_notice_entry, node);

	lockdep_assert_held(&notices_lock);
	if (!entry) {
		list_del_init(&notices->node);
		return false;
	}
	*notice = entry->notice;
	list_del(&entry->node);
	notices->nwaiting--;
	kfree(entry);
	*lost = min_t(u64, notices->lost - notices->lost_told, U32_MAX);
	/* Each member in turn. */
	list_move_tail(&notices->node, &notices_list);
	return true;
}

static void notice_deliver(struct coll_notices *notices, const struct coll_notice *notice, u32 lost)
{
	int err = notice_send(notices, notice, lost);

	spin_lock(&notices_lock);
	if (err)
		notices->lost++;
	else
		notices->lost_told += lost;
	spin_unlock(&notices_lock);
}

static struct coll_notices *notices_next(struct coll_notice *notice, u32 *lost)
{
	struct coll_notices *notices;
	bool taken = false;

	spin_lock(&notices_lock);
	do {
		notices = list_first_entry_or_null(&notices_list, struct coll_notices, node);
		taken = notices && notice_take(notices, notice, lost);
	} while (notices && !taken);
	spin_unlock(&notices_lock);
	return notices;
}

static void notices_work(struct work_struct *work)
{
	struct coll_notices *notices;
	struct coll_notice notice;
	u32 lost;

	mutex_lock(&send_mutex);
	while ((notices = notices_next(&notice, &lost))) {
		notice_deliver(notices, &notice, lost);
		/* A member that ends need not wait for all others. */
		mutex_unlock(&send_mutex);
		cond_resched();
		mutex_lock(&send_mutex);
	}
	mutex_unlock(&send_mutex);
}

static DECLARE_WORK(notice_work, notices_work);

/**
 * coll_notice_post() - have a notice sent
 * @notices: of the member
 * @notice: copied; its time is set here.  Lost, and counted, if too many wait, or without memory
 *
 * Context: process or work item; locks of the member may be held.
 */
void coll_notice_post(struct coll_notices *notices, const struct coll_notice *notice)
{
	struct coll_notice_entry *entry = NULL;

	spin_lock(&notices_lock);
	if (notices->nwaiting < COLL_NOTICES)
		entry = kmalloc(sizeof(*entry), GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!entry) {
		notices->lost++;
	} else {
		entry->notice = *notice;
		entry->notice.at = ktime_get_ns();
		list_add_tail(&entry->node, &notices->waiting);
		notices->nwaiting++;
		if (list_empty(&notices->node))
			list_add_tail(&notices->node, &notices_list);
	}
	spin_unlock(&notices_lock);
	queue_work(coll_unbound_wq, &notice_work);
}

/**
 * coll_notices_flush() - send all notices of a member
 * @notices: of the member.  If nothing is posted any more, nothing refers to it when this returns
 *
 * Context: may sleep; no spinlock is held.
 */
void coll_notices_flush(struct coll_notices *notices)
{
	struct coll_notice notice;
	bool more;
	u32 lost;

	mutex_lock(&send_mutex);
	do {
		spin_lock(&notices_lock);
		more = notice_take(notices, &notice, &lost);
		spin_unlock(&notices_lock);
		if (more)
			notice_deliver(notices, &notice, lost);
	} while (more);
	mutex_unlock(&send_mutex);
}

/**
 * coll_notices_lost() - number of notices of a member that were not sent
 * @notices: of the member
 */
u64 coll_notices_lost(struct coll_notices *notices)
{
	u64 lost;

	spin_lock(&notices_lock);
	lost = notices->lost;
	spin_unlock(&notices_lock);
	return lost;
}

/**
 * coll_notice_setup() - set what sends notices
 * @send: sends a notice, and how many before it were @lost.  Returns a negative errno if the notice
 *	is lost.  May sleep
 */
void coll_notice_setup(int (*send)(struct coll_notices *notices,
				   const struct coll_notice *notice, u32 lost))
{
	notice_send = send;
}

/** coll_notice_cleanup() - wait for the work item; no member is left */
void coll_notice_cleanup(void)
{
	cancel_work_sync(&notice_work);
}
