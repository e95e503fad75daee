// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runners: see runner.h for their states.
 */
#include <linux/delay.h>
#include <linux/sched.h>

#include "compat/compat.h"
#include "exec/cpu.h"
#include "exec/runner.h"

enum {
	RUNNER_IDLE,	/* no context runs it */
	RUNNER_OWNED,	/* one context runs it */
	RUNNER_MISSED,	/* the same, and it was kicked since the owner last looked */
};

struct workqueue_struct *coll_lane_wq;
struct workqueue_struct *coll_control_wq;
struct workqueue_struct *coll_unbound_wq;

/* Times that an owner runs the function again before it lets other work on its CPU run. */
#define RUNNER_ROUNDS	64

/*
 * Work items that a CPU has begun at a time.  A pool of workers runs one work item of a CPU at a
 * time, of all workqueues of the kernel, and begins another when that one sleeps or ends: other
 * work waits for at most so many runs of lanes, each of one budget.  It is more than one, because
 * a lane may wait for memory.
 */
#define RUNNER_LANES_ACTIVE	4

/* Control work of a user that waits for memory must not keep back that of others. */
#define RUNNER_CONTROL_ACTIVE	64

static void runner_queue_work(struct coll_runner *runner)
{
	queue_work_on(coll_cpu_pick(runner), runner->wq, &runner->work);
}

/* Pass ownership to the work item, or to the thread that has redirected the runner to itself. */
static void runner_dispatch(struct coll_runner *runner)
{
	unsigned long flags;

	if (!READ_ONCE(runner->waiter)) {
		runner_queue_work(runner);
		return;
	}
	raw_spin_lock_irqsave(&runner->lock, flags);
	if (runner->waiter) {
		/* All that this owner did: pairs with coll_runner_run_redirected(). */
		smp_store_release(&runner->handed_over, true);
		complete(runner->waiter);
	} else {
		runner_queue_work(runner);
	}
	raw_spin_unlock_irqrestore(&runner->lock, flags);
}

/*
 * Acquire an idle runner, or set MISSED.  The state is written even if it is MISSED already: this
 * full barrier pairs with the atomic_xchg() of the owner, and orders the event before what run()
 * reads.  Return: true if it was acquired.
 */
static bool runner_claim(struct coll_runner *runner)
{
	int old = atomic_read(&runner->state);

	while (!atomic_try_cmpxchg(&runner->state, &old,
				   old == RUNNER_IDLE ? RUNNER_OWNED : RUNNER_MISSED))
		;
	return old == RUNNER_IDLE;
}

/* Return: true if it was released; false: it was kicked, and the caller still owns it. */
static bool runner_release(struct coll_runner *runner)
{
	if (atomic_cmpxchg_release(&runner->state, RUNNER_OWNED, RUNNER_IDLE) == RUNNER_OWNED)
		return true;
	/* A full barrier: pairs with runner_claim(), see there. */
	atomic_xchg(&runner->state, RUNNER_OWNED);
	return false;
}

/* Run as owner.  After one budget, or RUNNER_ROUNDS, the rest is left to the work item. */
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
	struct coll_runner *runner = container_of(work, struct coll_runner, work);

	coll_cpu_note(runner, raw_smp_processor_id());
	runner_loop(runner);
}

/**
 * coll_runner_init() - initialise an idle runner
 * @runner: the runner, zeroed
 * @run: see struct coll_runner
 * @wq: workqueue of its work item
 */
void coll_runner_init(struct coll_runner *runner, bool (*run)(struct coll_runner *runner),
		      struct workqueue_struct *wq)
{
	atomic_set(&runner->state, RUNNER_IDLE);
	raw_spin_lock_init(&runner->lock);
	runner->wq = wq;
	runner->cpu = raw_smp_processor_id();
	runner->run = run;
	INIT_WORK(&runner->work, runner_work);
}

/**
 * coll_runner_kick() - have a runner run, after an event for it
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
 * coll_runner_run_now() - run a runner in this context, or kick it if it is owned
 * @runner: the runner
 *
 * What exceeds one budget is left to the work item, or to the thread in its place.
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
 * @runner: the runner
 *
 * Kicks set MISSED meanwhile, which coll_runner_poll() sees.
 *
 * Context: process.
 * Return: true, or false if it has another owner.
 */
bool coll_runner_try_acquire(struct coll_runner *runner)
{
	return atomic_read(&runner->state) == RUNNER_IDLE &&
	       atomic_cmpxchg(&runner->state, RUNNER_IDLE, RUNNER_OWNED) == RUNNER_IDLE;
}

/*
 * Wait for the owner.  It may be a thread or a work item that this thread has preempted.  If this
 * thread is a real-time thread, such an owner continues only while this thread sleeps.
 */
static void runner_wait_for_owner(struct coll_runner *runner)
{
	if (!flush_work(&runner->work))
		usleep_range(50, 200);
}

/**
 * coll_runner_acquire() - own a runner until coll_runner_release(), once its owner has ended
 * @runner: the runner
 *
 * Context: process; may sleep.
 */
void coll_runner_acquire(struct coll_runner *runner)
{
	while (!coll_runner_try_acquire(runner))
		runner_wait_for_owner(runner);
}

/**
 * coll_runner_has_pending() - has a runner been kicked since its owner last ran it?
 * @runner: runner that the caller owns
 *
 * Return: true if it has.
 */
bool coll_runner_has_pending(const struct coll_runner *runner)
{
	return atomic_read(&runner->state) == RUNNER_MISSED;
}

/**
 * coll_runner_poll() - run a runner once, if it has been kicked
 * @runner: runner that the caller owns
 *
 * What exceeds one budget counts as a kick for the next call.
 *
 * Context: may sleep.
 * Return: true if it has run.
 */
bool coll_runner_poll(struct coll_runner *runner)
{
	if (!coll_runner_has_pending(runner))
		return false;
	/* A full barrier: pairs with runner_claim(), see there. */
	atomic_xchg(&runner->state, RUNNER_OWNED);
	if (runner->run(runner))
		atomic_set(&runner->state, RUNNER_MISSED);
	return true;
}

/**
 * coll_runner_release() - undo coll_runner_try_acquire()
 * @runner: runner that the caller owns; if it has been kicked, it runs once, and the rest is
 *	left to the work item
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
 * coll_runner_redirect() - have a thread run a runner in place of its work item
 * @runner: the runner
 * @event: completed when the thread must call coll_runner_run_redirected(), soon
 *
 * Context: process.
 * Return: true, or false if another thread does so already.
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
 * coll_runner_run_redirected() - run a runner, if it has been handed over
 * @runner: runner that is redirected to this thread
 *
 * Context: may sleep.
 */
void coll_runner_run_redirected(struct coll_runner *runner)
{
	if (!smp_load_acquire(&runner->handed_over))	/* pairs with dispatch */
		return;
	/* This thread owns it now, so no other context hands it over until the loop ends. */
	WRITE_ONCE(runner->handed_over, false);
	runner_loop(runner);
}

/**
 * coll_runner_stop_redirect() - undo coll_runner_redirect()
 * @runner: runner that is redirected to this thread; if it was handed over, its work item runs it
 *
 * Context: process.
 */
void coll_runner_stop_redirect(struct coll_runner *runner)
{
	bool handed_over;

	raw_spin_lock_irq(&runner->lock);
	WRITE_ONCE(runner->waiter, NULL);
	handed_over = runner->handed_over;
	WRITE_ONCE(runner->handed_over, false);
	raw_spin_unlock_irq(&runner->lock);
	if (handed_over)
		runner_queue_work(runner);
}

/**
 * coll_runner_stop() - own a runner for ever
 * @runner: the runner; later kicks have no effect
 *
 * Context: may sleep.
 */
void coll_runner_stop(struct coll_runner *runner)
{
	WRITE_ONCE(runner->stopping, true);
	while (!runner_claim(runner))
		runner_wait_for_owner(runner);
}

/**
 * coll_runner_setup() - allocate the workqueues
 *
 * Lanes leave it to the pool that they run one after another: several threads that share a CPU
 * would take turns in one operation, which made one of 64 KiB half as slow again.  Control work is
 * short and may be much, so the scheduler shares the CPU between it and other work.
 *
 * Return: 0 or -ENOMEM.
 */
int coll_runner_setup(void)
{
	coll_lane_wq = alloc_workqueue("collective", COLL_WQ_PERCPU | WQ_FREEZABLE,
				       RUNNER_LANES_ACTIVE);
	coll_control_wq = alloc_workqueue("collective_control",
					  COLL_WQ_PERCPU | WQ_CPU_INTENSIVE | WQ_FREEZABLE,
					  RUNNER_CONTROL_ACTIVE);
	coll_unbound_wq = alloc_workqueue("collective_unbound", WQ_UNBOUND | WQ_FREEZABLE, 0);
	if (coll_lane_wq && coll_control_wq && coll_unbound_wq)
		return 0;
	coll_runner_cleanup();
	return -ENOMEM;
}

/** coll_runner_cleanup() - undo coll_runner_setup() */
void coll_runner_cleanup(void)
{
	if (coll_unbound_wq)
		destroy_workqueue(coll_unbound_wq);
	if (coll_control_wq)
		destroy_workqueue(coll_control_wq);
	if (coll_lane_wq)
		destroy_workqueue(coll_lane_wq);
}
