// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deferred closing: work that continues after its file has been released.
 *
 * There are two kinds: sockets that linger until the peer has acknowledged the last bytes
 * (transport/tcp/linger.c), and members whose file another process or a kernel thread has released
 * (member/member.c).  Either takes minutes if a peer is silent, so no work item sleeps for it: an
 * event or a timer queues the work.  No open file holds a reference to the module meanwhile;
 * instead, the module's exit waits until the number of closings in progress is 0.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/wait.h>

#include "exec/closing.h"

/* A wait is told of so often, in jiffies. */
#define SAY_EVERY	(10 * HZ)

struct workqueue_struct *coll_closing_wq;

static atomic_t closing_count = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(closing_none);

/** coll_closing_begin() - count a closing, until coll_closing_end() */
void coll_closing_begin(void)
{
	atomic_inc(&closing_count);
}

/**
 * coll_closing_end() - undo coll_closing_begin()
 *
 * Context: a work item of coll_closing_wq, which uses only its own stack afterwards.
 */
void coll_closing_end(void)
{
	if (atomic_dec_and_test(&closing_count))
		wake_up_all(&closing_none);
}

/**
 * coll_closing_wait() - wait until all closings have ended
 *
 * Context: the module's exit; no file is open, so no closing begins.  May sleep.
 */
void coll_closing_wait(void)
{
	/* "Idle", because it may take longer than the hung task detector allows. */
	while (!wait_event_idle_timeout(closing_none, !atomic_read(&closing_count), SAY_EVERY))
		pr_notice("collective: the module waits for %d sockets and members that are closed\n",
			  atomic_read(&closing_count));
}

/**
 * coll_closing_setup() - allocate the workqueue
 *
 * Return: 0 or -ENOMEM.
 */
int coll_closing_setup(void)
{
	/*
	 * As many at once as there may be: the end of a member may sleep for milliseconds, and
	 * those of one user must not delay those of another.  Their number is bounded by what they
	 * are charged.
	 *
	 * Freezable, because they use sockets and RDMA devices.  None of them sleeps for a peer or
	 * for a frozen process, so a suspend waits for milliseconds.
	 */
	coll_closing_wq = alloc_workqueue("collective_closing", WQ_UNBOUND | WQ_FREEZABLE,
					  WQ_MAX_ACTIVE);
	return coll_closing_wq ? 0 : -ENOMEM;
}

/** coll_closing_cleanup() - undo coll_closing_setup(), after coll_closing_wait() */
void coll_closing_cleanup(void)
{
	/* Waits for work items that have called coll_closing_end() and have not returned. */
	destroy_workqueue(coll_closing_wq);
}
