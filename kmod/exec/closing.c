// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that outlives the file that it belonged to: sockets that linger until the peer has
 * acknowledged what was sent last (transport/tcp/linger.c), and members that a kernel thread has
 * released (dev/ioctl.c).
 *
 * Either may take minutes if a peer is silent.  It has a workqueue of its own, so that no
 * other work waits for it, and no work item sleeps for a socket.  The module's text is in
 * use meanwhile, and no file holds it: the module's exit waits for the count.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/wait.h>

#include "exec/closing.h"

struct workqueue_struct *coll_closing_wq;

static atomic_t closing_count = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(closing_none);

/** coll_closing_begin() - something goes on, for coll_closing_end() when it has ended */
void coll_closing_begin(void)
{
	atomic_inc(&closing_count);
}

/**
 * coll_closing_end() - it has ended
 *
 * Context: a work item of coll_closing_wq, which uses nothing but its own stack afterwards.
 */
void coll_closing_end(void)
{
	if (atomic_dec_and_test(&closing_count))
		wake_up_all(&closing_none);
}

/**
 * coll_closing_wait() - wait until nothing goes on
 *
 * Context: the module's exit: no file is open, so nothing begins any more.
 */
void coll_closing_wait(void)
{
	/* It may be longer than what counts as a hung task. */
	wait_event_idle(closing_none, !atomic_read(&closing_count));
}

/**
 * coll_closing_setup() - make the workqueue
 *
 * Return: 0 or -ENOMEM.
 */
int coll_closing_setup(void)
{
	coll_closing_wq = alloc_workqueue("collective_closing", WQ_UNBOUND | WQ_FREEZABLE, 0);
	return coll_closing_wq ? 0 : -ENOMEM;
}

/** coll_closing_cleanup() - undo coll_closing_setup(), after coll_closing_wait() */
void coll_closing_cleanup(void)
{
	/* Waits for the ends of the work items, too. */
	destroy_workqueue(coll_closing_wq);
}
