/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_SCHED_SIGNAL_H
#define COLL_KERNEL_SCHED_SIGNAL_H

#include <linux/sched.h>

#define ERESTARTSYS		512

/* The states of a sleep that a signal which has come ends. */
static unsigned int kernel_signals __maybe_unused;

static inline bool signal_pending_state(unsigned int state, const struct task_struct *task)
{
	(void)task;
	return state & kernel_signals;
}

#endif /* COLL_KERNEL_SCHED_SIGNAL_H */
