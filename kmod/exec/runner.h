/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who runs something: one owner at a time, and no wake-up lost.
 *
 * One atomic word says whether somebody is running, and whether something
 * happened since: IDLE, OWNED or MISSED.  Whoever has news kicks: an idle runner
 * is handed to its work item, a busy one is told that it missed something.  An
 * owner lets go only from OWNED; from MISSED it looks again.  A thread that
 * would wait anyway may own the runner for a while instead of its work item.  While it
 * polls it holds it, and the word is all that it looks at.  When it sleeps it may lend
 * itself: then it is told where the work item would be queued, which saves a change of
 * context.
 */
#ifndef COLL_RUNNER_H
#define COLL_RUNNER_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/**
 * struct coll_runner - something that is run by one context at a time
 * @state: enum in runner.c
 * @cpu: where its work item runs
 * @stopping: whoever owns it lets go, whatever there is to do
 * @work: the work item
 * @run: do what there is to do, within a budget; true: there is more
 * @lock: protects @waiter; taken in any context
 * @waiter: completed instead of queueing the work item; NULL: nobody lends himself
 * @handed_over: the lender owns it and is to run it; set under @lock, by the owner
 */
struct coll_runner {
	atomic_t state;
	int cpu;
	bool stopping;
	struct work_struct work;
	bool (*run)(struct coll_runner *runner);
	raw_spinlock_t lock;	/* innermost; a kick comes from any context */
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
bool coll_runner_redirect(struct coll_runner *runner, struct completion *news);
void coll_runner_run_redirected(struct coll_runner *runner);
void coll_runner_stop_redirect(struct coll_runner *runner);
void coll_runner_stop(struct coll_runner *runner);

/* All work items of the module. */
extern struct workqueue_struct *coll_wq;

int coll_runner_setup(void);
void coll_runner_cleanup(void);

#endif /* COLL_RUNNER_H */
