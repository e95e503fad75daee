// SPDX-License-Identifier: GPL-2.0-only
/*
 * Busy polling: a thread that waits runs lanes in place of their work items.
 *
 * A thread acquires runners and polls them before it sleeps.  Before it sleeps it redirects the
 * runners of the lanes it is pinned with, so that their events wake it directly.
 *
 * Where two ranks that exchange small payloads in memory share a CPU, each yields to the other
 * while it polls.  So no rank sleeps for a few microseconds, and no worker is woken in its place.
 */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>

#include "fail/member_state.h"
#include "lane/lane.h"
#include "limits.h"
#include "net/net.h"
#include "op/busy_poll.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/wait.h"

/* Default polling time of a thread. */
#define COLL_POLL_NS	(200 * (u64)NSEC_PER_USEC)

/* Of a thread that needs no lane, so that it may poll on any CPU. */
#define COLL_POLL_ANYWHERE_NS	(20 * (u64)NSEC_PER_USEC)

/* Looks between two looks at the clock. */
#define COLL_POLL_LOOKS	16U

/* A thread that got its CPU back only after so long has yielded to one that computes. */
#define COLL_YIELD_NS	(500 * (u64)NSEC_PER_USEC)

/* Waits of a member that do not yield after that, so that hardly any waits so long. */
#define COLL_YIELD_PAUSE	1000

static int busy_poll_us = -1;
module_param(busy_poll_us, int, 0644);
MODULE_PARM_DESC(busy_poll_us,
		 "Time in us that a waiting thread busy-polls before it sleeps. -1 (default): 200 if the thread is alone on its lane's CPU or shares it with one rank that it exchanges small payloads with in memory, otherwise 0, or 20 if the thread itself executes a small operation. 0: never poll");

/*
 * Bits of coll_wait.redirected.  Control comes first, because its events are followed by work for
 * lanes.
 */
enum {
	COLL_WAIT_CONTROL,
	COLL_WAIT_LANES,
};

/*
 * May this thread run on the lane's CPU only?  A thread that may migrate is pulled to the CPU of
 * its waker, away from the lane's.  One of low priority (nice) would delay its lane.
 */
static bool is_bound(const struct coll_lane *lane)
{
	return current->nr_cpus_allowed == 1 && task_nice(current) <= 0 &&
	       current->policy != SCHED_IDLE &&
	       cpumask_test_cpu(READ_ONCE(lane->runner.cpu), current->cpus_ptr);
}

static struct coll_runner *wait_runner(struct coll_requests *reqs, u32 bit)
{
	return bit == COLL_WAIT_CONTROL ? reqs->net->control :
					  &reqs->lanes[bit - COLL_WAIT_LANES].runner;
}

/* Return: mask of the runners that this thread is bound to the CPU of. */
static unsigned long bound_runners(const struct coll_wait *wait, const struct coll_requests *reqs)
{
	unsigned long runners = 0;
	u32 i;

	for (i = 0; i < wait->nparts; i++)
		if (is_bound(&reqs->lanes[i]))
			runners |= BIT(COLL_WAIT_LANES + i);
	/* The control runner has the CPU of the first lane. */
	if (runners & BIT(COLL_WAIT_LANES))
		runners |= BIT(COLL_WAIT_CONTROL);
	return runners;
}

/* The lane that a thread is bound to the CPU of, of several the first. */
static const struct coll_cpu_user *bound_lane(const struct coll_requests *reqs,
					      unsigned long bound)
{
	return &reqs->lanes[__ffs(bound >> COLL_WAIT_LANES)].cpu_user;
}

/*
 * May this thread yield?  A real-time thread yields to few others.  Ranks on TCP receive in
 * softirqs in any case, and have nothing to gain.  Among three or more ranks on the CPU, the worker
 * that runs the lanes of all is quicker.
 */
static bool may_yield(const struct coll_wait *wait, struct coll_requests *reqs)
{
	u32 pause = READ_ONCE(reqs->yield_pause);

	if (!reqs->id->reads || wait->bytes > COLLECTIVE_EAGER_LIMIT ||
	    current->policy != SCHED_NORMAL)
		return false;
	if (!pause)
		return true;
	WRITE_ONCE(reqs->yield_pause, pause - 1);
	return false;
}

/**
 * coll_poll_choose() - choose how a thread waits
 * @wait: of the thread
 * @reqs: of the member
 * @poll: out: the choice
 *
 * If no lane of another process is on the CPU that the thread is bound to, waking the thread to run
 * its lane costs what waking a worker costs, and the worker's second wakeup is saved.  Where ranks
 * share a CPU, its one worker runs all their lanes in turn, so nothing is redirected.
 *
 * A large operation is copied for long, so there is little to poll for.
 */
void coll_poll_choose(const struct coll_wait *wait, struct coll_requests *reqs,
		      struct coll_poll *poll)
{
	unsigned long bound = bound_runners(wait, reqs);
	u32 processes = bound ? coll_cpu_processes(bound_lane(reqs, bound)) : 0;
	int us = READ_ONCE(busy_poll_us);

	*poll = (struct coll_poll){ .pinned = processes == 1 ? bound : 0 };
	if (!us || wait->bytes > COLL_POLL_MAX)
		return;
	poll->yields = processes == 2 && may_yield(wait, reqs);
	if (us > 0) {
		poll->polled = BIT(COLL_WAIT_LANES + wait->nparts) - 1;
		poll->ns = us * (u64)NSEC_PER_USEC;
	} else if (poll->pinned || poll->yields) {
		poll->polled = bound;
		poll->ns = COLL_POLL_NS;
	}
}

/**
 * coll_poll_run_lanes() - run the lanes of the claimed requests, and control if it must send
 * @wait: of the thread
 * @reqs: of the member
 *
 * A runner that another thread or worker runs now is skipped.
 */
void coll_poll_run_lanes(struct coll_wait *wait, struct coll_requests *reqs)
{
	u32 i;

	for (i = 0; i < wait->nparts; i++)
		coll_runner_run_now(&reqs->lanes[i].runner);
	if (READ_ONCE(reqs->net->tx_pending))
		coll_runner_run_now(reqs->net->control);
}

/**
 * coll_poll_redirect() - have events of runners wake this thread instead of their workers
 * @wait: of the thread
 * @reqs: of the member
 * @runners: mask of runners: see struct coll_poll
 */
void coll_poll_redirect(struct coll_wait *wait, struct coll_requests *reqs,
			unsigned long runners)
{
	u32 i;

	for_each_set_bit(i, &runners, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		if (coll_runner_redirect(wait_runner(reqs, i), &wait->event))
			__set_bit(i, &wait->redirected);
}

/**
 * coll_poll_run_redirected() - run the redirected runners that have been handed over
 * @wait: of the thread
 * @reqs: of the member
 *
 * Context: may sleep.
 */
void coll_poll_run_redirected(const struct coll_wait *wait, struct coll_requests *reqs)
{
	u32 i;

	for_each_set_bit(i, &wait->redirected, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		coll_runner_run_redirected(wait_runner(reqs, i));
	cond_resched();
}

/**
 * coll_poll_stop_redirect() - have events wake the workers again
 * @wait: of the thread
 * @reqs: of the member
 */
void coll_poll_stop_redirect(struct coll_wait *wait, struct coll_requests *reqs)
{
	u32 i;

	for_each_set_bit(i, &wait->redirected, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		coll_runner_stop_redirect(wait_runner(reqs, i));
}

/* This thread may use its CPU, or lets others use it, and no signal is pending. */
static bool thread_may_poll(const struct coll_poll *poll)
{
	return (poll->yields || (single_task_running() && !need_resched())) &&
	       !signal_pending(current);
}

static bool wait_may_poll(const struct coll_wait *wait, const struct coll_poll *poll)
{
	return thread_may_poll(poll) && coll_wait_left(wait);
}

static void wait_pause(struct coll_requests *reqs, const struct coll_poll *poll)
{
	u64 begin;

	if (!poll->yields || (single_task_running() && !need_resched())) {
		cpu_relax();
		return;
	}
	begin = ktime_get_ns();
	yield();
	if (ktime_get_ns() - begin > COLL_YIELD_NS)
		WRITE_ONCE(reqs->yield_pause, COLL_YIELD_PAUSE);
}

/* Acquire the runners that are idle.  Return: mask of those acquired. */
static unsigned long acquire_lanes(struct coll_requests *reqs, unsigned long runners)
{
	unsigned long held = 0;
	u32 i;

	for_each_set_bit(i, &runners, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		if (coll_runner_try_acquire(wait_runner(reqs, i)))
			held |= BIT(i);
	return held;
}

/* Run the acquired runners that have events.  Return: true if any had. */
static bool poll_lanes(struct coll_requests *reqs, unsigned long held)
{
	bool event = false;
	u32 i;

	for_each_set_bit(i, &held, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		event |= coll_runner_poll(wait_runner(reqs, i));
	return event;
}

/* Release the runners.  Each runs first if it has missed an event. */
static void release_lanes(struct coll_requests *reqs, unsigned long held)
{
	u32 i;

	for_each_set_bit(i, &held, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		coll_runner_release(wait_runner(reqs, i));
}

static bool has_event(struct coll_wait *wait, struct coll_requests *reqs, unsigned long held)
{
	u32 i;

	if (completion_done(&wait->event))
		return true;
	for_each_set_bit(i, &held, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		if (coll_runner_has_pending(wait_runner(reqs, i)))
			return true;
	return false;
}

/* Spin until there may be an event.  All of them go to acquired runners or to @event. */
static void wait_spin(struct coll_wait *wait, struct coll_requests *reqs,
		      const struct coll_poll *poll, unsigned long held, u64 poll_end)
{
	while (!has_event(wait, reqs, held) && wait_may_poll(wait, poll) &&
	       ktime_get_ns() < poll_end)
		wait_pause(reqs, poll);
}

/**
 * coll_poll() - poll for events, until a request can be collected or it is time to sleep
 * @wait: of the thread
 * @reqs: of the member
 * @poll: from coll_poll_choose(); its @ns is not 0
 *
 * The thread holds the runners while it polls, so a kick only sets MISSED, and runs them as soon
 * as they have events.  It redirects the pinned ones before it releases any.
 *
 * Return: a request for the caller to free; or NULL.
 */
struct coll_request *coll_poll(struct coll_wait *wait, struct coll_requests *reqs,
			       const struct coll_poll *poll)
{
	unsigned long held = acquire_lanes(reqs, poll->polled);
	struct coll_request *request = NULL;
	u64 now, poll_end = 0;

	coll_poll_run_lanes(wait, reqs);
	while (!request && wait_may_poll(wait, poll)) {
		if (poll_lanes(reqs, held) || wait->self_notified ||
		    try_wait_for_completion(&wait->event)) {
			request = coll_wait_reap(wait, reqs, false);
			poll_end = 0;
			continue;
		}
		now = ktime_get_ns();
		if (!poll_end)
			poll_end = now + poll->ns;
		if (now >= poll_end)
			break;
		if (held == poll->polled) {
			wait_spin(wait, reqs, poll, held, poll_end);
		} else {
			wait_pause(reqs, poll);
			held |= acquire_lanes(reqs, poll->polled & ~held);
		}
	}
	if (!request)
		coll_poll_redirect(wait, reqs, poll->pinned);
	release_lanes(reqs, held);
	return request;
}

/**
 * coll_poll_until() - poll until something holds that needs no lane of this rank
 * @reqs: of the member
 * @bytes: size of the operation that waits for it
 * @done: does it hold?
 * @ctx: for @done
 *
 * Return: false if the thread is to sleep.
 */
bool coll_poll_until(struct coll_requests *reqs, u64 bytes, bool (*done)(void *ctx), void *ctx)
{
	const struct coll_wait wait = { .nparts = 1, .bytes = bytes };
	struct coll_poll poll;
	u64 now, end = 0;
	u32 looks;

	coll_poll_choose(&wait, reqs, &poll);
	if (!poll.ns && READ_ONCE(busy_poll_us) < 0)
		poll.ns = COLL_POLL_ANYWHERE_NS;
	for (looks = 0; !done(ctx); looks++) {
		if (!poll.ns || !thread_may_poll(&poll))
			return false;
		/* A thread that yields may be away for long. */
		if (poll.yields || looks % COLL_POLL_LOOKS == 0) {
			now = ktime_get_ns();
			end = end ?: now + poll.ns;
			if (now >= end)
				return false;
		}
		wait_pause(reqs, &poll);
	}
	return true;
}
