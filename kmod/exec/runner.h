/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runners: a function with one owner at a time, and no lost wakeup; compare NAPI.
 *
 * One atomic word is IDLE, OWNED or MISSED.  An event kicks the runner: an idle runner is
 * dispatched to its work item, and an owned one becomes MISSED.  An owner releases the runner only
 * from OWNED; from MISSED it runs again.
 *
 * A waiting thread can replace the work item in two ways.  Polling: it acquires the runner and
 * polls the state word; a kick then only sets MISSED.  Sleeping: it registers its completion with
 * coll_runner_redirect(); a kick then completes it where it would otherwise queue the work item,
 * and the thread runs the runner itself, which saves a context switch.
 */
#ifndef COLL_RUNNER_H
#define COLL_RUNNER_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/**
 * struct coll_runner - a function that is run by one context at a time
 * @state: enum in runner.c [a]
 * @cpu: CPU of its work item [a]
 * @stopping: true if its owner must release it even from MISSED [a]
 * @work: runs it if no thread does
 * @run: handles all events, within a budget.  Return: true if there is more to do
 * @lock: protects @waiter; taken in any context
 * @waiter: completed instead of queueing @work; NULL: no thread is redirected
 * @handed_over: true if the redirected thread owns it and must run it; written under @lock by the
 *	owner
 */
struct coll_runner {
	atomic_t state;
	int cpu;
	bool stopping;
	struct work_struct work;
	bool (*run)(struct coll_runner *runner);
	raw_spinlock_t lock;	/* innermost; taken in any context */
	struct completion *waiter;
	bool handed_over;
};

void coll_runner_init(struct coll_runner *runner, bool (*run)(struct coll_runner *runner),
		      int cpu);
void coll_runner_kick(struct coll_runner *runner);
void coll_runner_run_now(struct coll_runner *runner);
bool coll_runner_try_acquire(struct coll_runner *runner);
bool coll_runner_has_pending(const struct coll_runner *runner);
bool coll_runner_poll(struct coll_runner *runner);
void coll_runner_release(struct coll_runner *runner);
bool coll_runner_redirect(struct coll_runner *runner, struct completion *event);
void coll_runner_run_redirected(struct coll_runner *runner);
void coll_runner_stop_redirect(struct coll_runner *runner);
void coll_runner_stop(struct coll_runner *runner);

/* All work items of the module. */
extern struct workqueue_struct *coll_wq;

int coll_runner_setup(void);
void coll_runner_cleanup(void);

#endif /* COLL_RUNNER_H */
