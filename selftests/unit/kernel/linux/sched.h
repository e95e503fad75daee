/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_SCHED_H
#define COLL_KERNEL_SCHED_H

#include <linux/cpumask.h>

#define MAX_SCHEDULE_TIMEOUT	LONG_MAX

struct mm_struct;
struct pid;

struct task_struct {
	struct mm_struct *mm;
	struct pid *tgid;
	struct cpumask cpus_mask;
};

static struct task_struct kernel_task __maybe_unused;

/* The thread that runs; the test sets it. */
static struct task_struct *kernel_current __maybe_unused = &kernel_task;

#define current			kernel_current
#define cond_resched()		((void)0)

#endif /* COLL_KERNEL_SCHED_H */
