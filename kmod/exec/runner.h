/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A runner runs one function, in one context at a time, and loses no wakeup (compare NAPI).
 *
 * Its state is IDLE, OWNED or MISSED.  coll_runner_kick() queues the work item of an idle runner,
 * and sets MISSED in one that is owned.  An owner releases the runner only from OWNED; from
 * MISSED it runs the function again.
 *
 * A waiting thread can replace the work item in two ways.  Polling: it acquires the runner and
 * polls the state; a kick then only sets MISSED.  Sleeping: it registers its completion with
 * coll_runner_redirect(); a kick then completes it instead of queueing the work item, and the
 * thread runs the runner itself.  That saves a context switch.
 */
#ifndef COLL_RUNNER_H
#define COLL_RUNNER_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct coll_cpu_home;
struct coll_cpu_user;

/**
 * struct coll_runner - a function that is run by one owner at a time
 * @state: IDLE, OWNED or MISSED: enum in runner.c [a]
 * @wq: workqueue of the work item [c]
 * @cpu: CPU on which the work item runs, or has run last; written by cpu.c [a]
 * @home: where the work item may run; NULL: on @cpu.  Set while nothing kicks the runner
 * @user: entry of the runner in cpu.c; NULL: none.  Set likewise
 * @stopping: true if the owner must release it, even if there is more to do [a]
 * @work: the work item
 * @run: the function; works within a budget and returns true if there is more to do
 * @lock: protects @waiter; innermost, taken in any context
 * @waiter: completion of the thread that runs it instead of the work item; NULL: no thread does;
 *	written under @lock [a]
 * @handed_over: true if the thread of @waiter owns the runner and must run it; set by the
 *	previous owner under @lock [a]
 */
struct coll_runner {
	atomic_t state;
	struct workqueue_struct *wq;
	int cpu;
	const struct coll_cpu_home *home;
	struct coll_cpu_user *user;
	bool stopping;
	struct work_struct work;
	bool (*run)(struct coll_runner *runner);
	raw_spinlock_t lock;	/* innermost; a kick may come from any context */
	struct completion *waiter;
	bool handed_over;
};

void coll_runner_init(struct coll_runner *runner, bool (*run)(struct coll_runner *runner),
		      struct workqueue_struct *wq);
void coll_runner_kick(struct coll_runner *runner);
void coll_runner_run_now(struct coll_runner *runner);
bool coll_runner_try_acquire(struct coll_runner *runner);
void coll_runner_acquire(struct coll_runner *runner);
bool coll_runner_has_pending(const struct coll_runner *runner);
bool coll_runner_poll(struct coll_runner *runner);
void coll_runner_release(struct coll_runner *runner);
bool coll_runner_redirect(struct coll_runner *runner, struct completion *event);
void coll_runner_run_redirected(struct coll_runner *runner);
void coll_runner_stop_redirect(struct coll_runner *runner);
void coll_runner_stop(struct coll_runner *runner);

/* Lanes, control runners, and what belongs to no CPU: ticks, deadlines, notices. */
extern struct workqueue_struct *coll_lane_wq;
extern struct workqueue_struct *coll_control_wq;
extern struct workqueue_struct *coll_unbound_wq;

int coll_runner_setup(void);
void coll_runner_cleanup(void);

#endif /* COLL_RUNNER_H */
