// SPDX-License-Identifier: GPL-2.0-only
#include "exec/cpu.h"
#include "exec/runner.h"

#include <linux/delay.h>
#include <linux/sched.h>

#include "compat/compat.h"

enum {
	RUNNER_IDLE,
	RUNNER_OWNED,
	RUNNER_MISSED,
};

struct workqueue_struct *coll_wq;

/* Runs in a row by one owner, before other work on this CPU. */
#define RUNNER_ROUNDS	64

static void runner_queue_work(struct coll_runner *runner)
{
	queue_work_on(READ_ONCE(runner->cpu), coll_wq, &runner->work);
}

/* The owner passes the runner to the redirected thread, or to the work item. */
static noinline void runner_dispatch(struct coll_runner *runner)
{
	unsigned long flags;

	if (!READ_ONCE(runner->waiter)) {
		runner_queue_work(runner);
		return;
	}
	raw_spin_lock_irqsave(&runner->lock, flags);
	if (runner->waiter) {
		/* Publishes the owner's work, whatever wakes the thread. */
		smp_store_release(&runner->handed_over, true);
		complete(runner->waiter);
	} else {
		runner_queue_work(runner);
	}
	raw_spin_unlock_irqrestore(&runner->lock, flags);
}

/*
 * Acquires an idle runner, or sets MISSED.  MISSED is written even if it is set already: that
 * orders the caller's event before the owner's next reads.
 */
static bool runner_claim(struct coll_runner *runner)
{
	int old = atomic_read(&runner->state);

	while (!atomic_try_cmpxchg(&runner->state, &old,
				   old == RUNNER_IDLE ? RUNNER_OWNED : RUNNER_MISSED))
		;
	return old == RUNNER_IDLE;
}

/* Return: false if an event was missed, and the caller still owns the runner. */
static bool runner_release(struct coll_runner *runner)
{
	if (atomic_cmpxchg_release(&runner->state, RUNNER_OWNED, RUNNER_IDLE) == RUNNER_OWNED)
		return true;
	/* Before the reads of run(). */
	atomic_xchg(&runner->state, RUNNER_OWNED);
	return false;
}

/* Runs by the owner; after a bounded number the rest is dispatched. */
static void runner_loop(struct coll_runner *runner)
{
	int round;

	for (round = 0; !READ_ONCE(runner->stopping); round++) {
		bool more = runner->run(runner);

		if (!more && runner_release(runner))
			return;
		if (more || round == RUNNER_ROUNDS) {
			runner_dispatch(runner);
			return;
		}
	}
	atomic_set_release(&runner->state, RUNNER_IDLE);
}

static void runner_work(struct work_struct *work)
{
	coll_cpu_yield_to_waiters();
	runner_loop(container_of(work, struct coll_runner, work));
}

/**
 * coll_runner_init() - make an idle runner
 * @runner: zeroed
 * @run: see struct coll_runner
 * @cpu: of its work item
 */
void coll_runner_init(struct coll_runner *runner, bool (*run)(struct coll_runner *runner),
		      int cpu)
{
	atomic_set(&runner->state, RUNNER_IDLE);
	raw_spin_lock_init(&runner->lock);
	runner->cpu = cpu;
	runner->run = run;
	INIT_WORK(&runner->work, runner_work);
}

/**
 * coll_runner_kick() - an event has happened: let the runner run
 * @runner: any
 *
 * Context: any.
 */
void coll_runner_kick(struct coll_runner *runner)
{
	if (runner_claim(runner))
		runner_dispatch(runner);
}

/**
 * coll_runner_run_now() - run here if the runner is idle, else as coll_runner_kick()
 * @runner: any
 *
 * What exceeds one budget is dispatched to the work item or the redirected thread.
 *
 * Context: may sleep.
 */
void coll_runner_run_now(struct coll_runner *runner)
{
	if (runner_claim(runner))
		runner_loop(runner);
}

/**
 * coll_runner_try_acquire() - own an idle runner until coll_runner_release()
 * @runner: kicks become pending for coll_runner_poll()
 *
 * Context: process.
 * Return: false if the runner has another owner.
 */
bool coll_runner_try_acquire(struct coll_runner *runner)
{
	return atomic_read(&runner->state) == RUNNER_IDLE &&
	       atomic_cmpxchg(&runner->state, RUNNER_IDLE, RUNNER_OWNED) == RUNNER_IDLE;
}

/**
 * coll_runner_has_pending() - was the runner kicked since it was polled?
 * @runner: acquired by the caller
 */
bool coll_runner_has_pending(const struct coll_runner *runner)
{
	return atomic_read(&runner->state) == RUNNER_MISSED;
}

/**
 * coll_runner_poll() - run once if a kick is pending
 * @runner: acquired by the caller
 *
 * Context: may sleep.
 * Return: true if it was run; what exceeds one budget is pending for the next poll.
 */
bool coll_runner_poll(struct coll_runner *runner)
{
	if (!coll_runner_has_pending(runner))
		return false;
	/* Before the reads of run(). */
	atomic_xchg(&runner->state, RUNNER_OWNED);
	if (runner->run(runner))
		atomic_set(&runner->state, RUNNER_MISSED);
	return true;
}

/**
 * coll_runner_release() - undo coll_runner_try_acquire()
 * @runner: acquired by the caller; run first if a kick is pending, for a bounded time
 *
 * Context: may sleep.
 */
void coll_runner_release(struct coll_runner *runner)
{
	if (runner_release(runner))
		return;
	if (runner->run(runner) || !runner_release(runner))
		runner_dispatch(runner);
}

/**
 * coll_runner_redirect() - complete an event instead of queueing the work item
 * @runner: any
 * @event: completed when the caller has to call coll_runner_run_redirected() soon
 *
 * Context: process.
 * Return: false if another thread is redirected.
 */
bool coll_runner_redirect(struct coll_runner *runner, struct completion *event)
{
	bool redirected;

	raw_spin_lock_irq(&runner->lock);
	redirected = !runner->waiter;
	if (redirected)
		WRITE_ONCE(runner->waiter, event);
	raw_spin_unlock_irq(&runner->lock);
	return redirected;
}

/**
 * coll_runner_run_redirected() - run if the runner was handed over
 * @runner: redirected to the caller
 *
 * Context: may sleep.
 */
void coll_runner_run_redirected(struct coll_runner *runner)
{
	/* Pairs with dispatch(). */
	if (!smp_load_acquire(&runner->handed_over))
		return;
	/* The caller owns the runner, so it is not handed over again until the loop releases it. */
	WRITE_ONCE(runner->handed_over, false);
	runner_loop(runner);
}

/**
 * coll_runner_stop_redirect() - undo coll_runner_redirect()
 * @runner: redirected to the caller
 *
 * Context: process.
 */
void coll_runner_stop_redirect(struct coll_runner *runner)
{
	bool handed;

	raw_spin_lock_irq(&runner->lock);
	WRITE_ONCE(runner->waiter, NULL);
	handed = runner->handed_over;
	WRITE_ONCE(runner->handed_over, false);
	raw_spin_unlock_irq(&runner->lock);
	if (handed)
		runner_queue_work(runner);
}

/**
 * coll_runner_stop() - own the runner for ever
 * @runner: kicks have no effect any more
 *
 * Context: may sleep.
 */
void coll_runner_stop(struct coll_runner *runner)
{
	WRITE_ONCE(runner->stopping, true);
	/*
	 * Its owner may be a work item on this CPU, which cannot run before this thread sleeps if
	 * this is a real-time thread.
	 */
	while (!runner_claim(runner))
		if (!flush_work(&runner->work))
			usleep_range(50, 200);
}

/**
 * coll_runner_setup() - make the workqueue
 *
 * Return: 0 or -ENOMEM.
 */
int coll_runner_setup(void)
{
	coll_wq = alloc_workqueue("collective", COLL_WQ_PERCPU | WQ_FREEZABLE, 0);
	return coll_wq ? 0 : -ENOMEM;
}

/** coll_runner_cleanup() - undo coll_runner_setup() */
void coll_runner_cleanup(void)
{
	destroy_workqueue(coll_wq);
}
