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

/* Times that an owner looks again, before other work on this CPU has its turn. */
#define RUNNER_ROUNDS	64

static void runner_queue_work(struct coll_runner *runner)
{
	queue_work_on(READ_ONCE(runner->cpu), coll_wq, &runner->work);
}

/* Its owner gives it to its work item, or to who is there instead. */
static noinline void runner_dispatch(struct coll_runner *runner)
{
	unsigned long flags;

	if (!READ_ONCE(runner->waiter)) {
		runner_queue_work(runner);
		return;
	}
	raw_spin_lock_irqsave(&runner->lock, flags);
	if (runner->waiter) {
		/* With all that was done before it was let go, whatever the lender is woken by. */
		smp_store_release(&runner->handed_over, true);
		complete(runner->waiter);
	} else {
		runner_queue_work(runner);
	}
	raw_spin_unlock_irqrestore(&runner->lock, flags);
}

/*
 * Take it if nobody has it; otherwise leave word.  The word is written even when
 * it is there already: that orders what the caller has done before what the owner
 * looks at next.
 */
static bool runner_claim(struct coll_runner *runner)
{
	int old = atomic_read(&runner->state);

	while (!atomic_try_cmpxchg(&runner->state, &old,
				   old == RUNNER_IDLE ? RUNNER_OWNED : RUNNER_MISSED))
		;
	return old == RUNNER_IDLE;
}

/* Let go; false: there is news, and it is still ours. */
static bool runner_release(struct coll_runner *runner)
{
	if (atomic_cmpxchg_release(&runner->state, RUNNER_OWNED, RUNNER_IDLE) == RUNNER_OWNED)
		return true;
	/* Ordered before what run() looks at. */
	atomic_xchg(&runner->state, RUNNER_OWNED);
	return false;
}

/* The owner runs; what is more than a little goes on when others had their turn. */
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
 * @runner: the runner
 * @run: see struct coll_runner
 * @cpu: where its work item runs
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
 * coll_runner_kick() - there is news: have it run
 * @runner: the runner
 *
 * Context: any.
 */
void coll_runner_kick(struct coll_runner *runner)
{
	if (runner_claim(runner))
		runner_dispatch(runner);
}

/**
 * coll_runner_run_now() - there is news: run it here, unless somebody does
 * @runner: the runner
 *
 * What exceeds one budget goes to the work item, or to who is there instead.
 *
 * Context: may sleep.
 */
void coll_runner_run_now(struct coll_runner *runner)
{
	if (runner_claim(runner))
		runner_loop(runner);
}

/**
 * coll_runner_try_acquire() - own it until coll_runner_release(), if nobody does
 * @runner: the runner
 *
 * Whoever kicks it meanwhile leaves word for coll_runner_poll().
 *
 * Context: process.
 * Return: false: somebody else owns it.
 */
bool coll_runner_try_acquire(struct coll_runner *runner)
{
	return atomic_read(&runner->state) == RUNNER_IDLE &&
	       atomic_cmpxchg(&runner->state, RUNNER_IDLE, RUNNER_OWNED) == RUNNER_IDLE;
}

/**
 * coll_runner_has_pending() - is there news?
 * @runner: one that we hold
 */
bool coll_runner_has_pending(const struct coll_runner *runner)
{
	return atomic_read(&runner->state) == RUNNER_MISSED;
}

/**
 * coll_runner_poll() - run it once, if there is news
 * @runner: one that we hold
 *
 * Context: may sleep.
 * Return: whether there was; what exceeds one budget is news for the next time.
 */
bool coll_runner_poll(struct coll_runner *runner)
{
	if (!coll_runner_has_pending(runner))
		return false;
	/* Ordered before what run() looks at. */
	atomic_xchg(&runner->state, RUNNER_OWNED);
	if (runner->run(runner))
		atomic_set(&runner->state, RUNNER_MISSED);
	return true;
}

/**
 * coll_runner_release() - undo coll_runner_try_acquire()
 * @runner: one that we hold; it is run if there is news, but not as long as there is more
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
 * coll_runner_redirect() - run it instead of its work item, from now on
 * @runner: the runner
 * @news: completed when it is time for coll_runner_run_redirected(), which has to follow soon
 *
 * Context: process.
 * Return: false: somebody else does.
 */
bool coll_runner_redirect(struct coll_runner *runner, struct completion *news)
{
	bool lent;

	raw_spin_lock_irq(&runner->lock);
	lent = !runner->waiter;
	if (lent)
		WRITE_ONCE(runner->waiter, news);
	raw_spin_unlock_irq(&runner->lock);
	return lent;
}

/**
 * coll_runner_run_redirected() - run it, if it has been handed over
 * @runner: one that we have lent ourselves to
 *
 * Context: may sleep.
 */
void coll_runner_run_redirected(struct coll_runner *runner)
{
	if (!smp_load_acquire(&runner->handed_over))	/* pairs with kick */
		return;
	/* It is ours, and so nobody hands it over, until the loop lets go. */
	WRITE_ONCE(runner->handed_over, false);
	runner_loop(runner);
}

/**
 * coll_runner_stop_redirect() - undo coll_runner_redirect()
 * @runner: one that we have lent ourselves to
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
 * coll_runner_stop() - own it for ever
 * @runner: the runner; kicks have no effect any more
 *
 * Context: may sleep.
 */
void coll_runner_stop(struct coll_runner *runner)
{
	WRITE_ONCE(runner->stopping, true);
	/*
	 * It may be run by another work item than its own, on this CPU and behind this thread: to
	 * let it go on takes sleep where this thread is a real-time one.
	 */
	while (!runner_claim(runner))
		if (!flush_work(&runner->work))
			usleep_range(50, 200);
}

/**
 * coll_runner_setup() - make what runners need
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
