/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_SCHED_H
#define COLL_KERNEL_SCHED_H

#include <linux/cpumask.h>

#define MAX_SCHEDULE_TIMEOUT	LONG_MAX

#define TASK_INTERRUPTIBLE	1U
#define TASK_KILLABLE		2U
#define TASK_FREEZABLE		4U

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

/* What others do while this thread sleeps; returns the time that is left then. */
static long (*kernel_sleep)(long left) __maybe_unused;

#define schedule_timeout(left)	kernel_sleep(left)

#endif /* COLL_KERNEL_SCHED_H */
