// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for requests, and collecting them.
 *
 * A request that has its numbers is in the member's table, and whoever takes it
 * out, which is done once, frees it: a thread that was told how it ended, or the
 * teardown.  A request that is not complete stays there, whatever becomes of those
 * who wait.
 *
 * A thread claims what it waits for by leaving its completion there, so that a
 * request has one waiter at most and what it finds complete when it wakes up is its
 * own.  A request with a source (dev/uring.c) is claimed by that from the beginning.
 * Claims are made, looked at and given up under the member's lock; the
 * completion can be on the stack.  The teardown comes when nothing is claimed: LEAVE
 * fails the group instead while somebody waits, and on release nobody is left.
 */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>

#include "coll.h"

/* Polled where nothing is said, by who has a CPU to himself. */
#define COLL_POLL_NS	(200 * (u64)NSEC_PER_USEC)

/* Looks for news between looks at the clock, and at who else wants the CPU. */
#define COLL_POLL_LOOKS	4

static int busy_poll_us = -1;
module_param(busy_poll_us, int, 0644);
MODULE_PARM_DESC(busy_poll_us,
		 "Time in us that a waiting thread busy-polls before it sleeps. -1 (default): 200 if the thread is alone on its lane's CPU, otherwise 0. 0: never poll, and do not help other ranks copy");

/* Bits of what a thread has lent itself to: control first, which has news for lanes. */
enum {
	COLL_WAIT_CONTROL,
	COLL_WAIT_LANES,
};

static struct coll_request **wait_slot(struct coll_member *member, u64 id)
{
	lockdep_assert_held(&member->lock);
	return &member->table[id & (COLL_INFLIGHT - 1)];
}

static struct coll_request *wait_find(struct coll_member *member, u64 id)
{
	struct coll_request *request = *wait_slot(member, id);

	return id && request && request->id == id ? request : NULL;
}

static void wait_rise(struct coll_wait *wait)
{
	if (wait->cpu >= 0 && !atomic_xchg(&wait->counted, 1))
		coll_cpu_waiter_running(wait->cpu);
}

/**
 * coll_wait_init() - a thread comes to submit something, or to wait
 * @wait: its
 * @member: of the requests
 */
void coll_wait_init(struct coll_wait *wait, const struct coll_member *member)
{
	init_completion(&wait->event);
	wait->task = current;
	wait->index = wait->n;
	wait->cpu = READ_ONCE(member->bulk) && !coll_cpu_exclusive(&member->lanes[0]) ?
		    READ_ONCE(member->lanes[0].runner.cpu) : -1;
	wait_rise(wait);
}

/**
 * coll_wait_idle() - it is about to sleep, or goes and has no claims
 * @wait: its
 */
void coll_wait_idle(struct coll_wait *wait)
{
	if (wait->cpu >= 0 && atomic_xchg(&wait->counted, 0))
		coll_cpu_waiter_idle(wait->cpu);
}

/**
 * coll_wait_notify() - what a thread waits for is complete
 * @request: one with a waiter; its member is locked
 */
void coll_wait_notify(struct coll_request *request)
{
	struct coll_wait *wait = container_of(request->waiter, struct coll_wait, event);

	lockdep_assert_held(&request->member->lock);
	/* A thread may run a lane itself. */
	if (wait->task == current) {
		wait->self_notified = true;
		return;
	}
	wait_rise(wait);
	complete(&wait->event);
}

/**
 * coll_wait_claim() - what becomes of a request is for one thread to know
 * @wait: its
 * @request: nobody waits for it; its member is locked
 */
void coll_wait_claim(struct coll_wait *wait, struct coll_request *request)
{
	lockdep_assert_held(&request->member->lock);
	request->waiter = &wait->event;
	wait->nparts = max(wait->nparts, request->first_lane + request->nparts);
	wait->bytes = max(wait->bytes, request->plan.count * request->plan.size);
	if (request->eager)
		wait->eager_lanes |= BIT(request->first_lane);
	request->member->nwaiting++;
}

static void wait_unclaim(struct coll_request *request)
{
	request->waiter = NULL;
	request->member->nwaiting--;
}

static void wait_release(struct coll_wait *wait, struct coll_member *member)
{
	struct coll_request *request;
	u32 i;

	for (i = 0; i < wait->n; i++) {
		request = wait_find(member, wait->ids[i]);
		if (!request || request->waiter != &wait->event)
			continue;
		wait_unclaim(request);
		/* Who polls has not been told. */
		if (request->complete)
			wake_up_all(&member->state_wait);
	}
}

/**
 * coll_wait_unclaim_all() - give up all claims
 * @wait: whose
 * @member: of the requests
 */
void coll_wait_unclaim_all(struct coll_wait *wait, struct coll_member *member)
{
	spin_lock(&member->lock);
	wait_release(wait, member);
	spin_unlock(&member->lock);
}

static void table_remove(struct coll_request *request)
{
	struct coll_member *member = request->member;

	*wait_slot(member, request->id) = NULL;
	member->nrequests--;
}

/* Out of the table with the first that is complete; what is not found is over. */
static struct coll_request *pop_complete(struct coll_wait *wait, struct coll_member *member)
{
	struct coll_request *request;

	for (wait->index = 0; wait->index < wait->n; wait->index++) {
		request = wait_find(member, wait->ids[wait->index]);
		if (!request || !request->complete)
			continue;
		wait_unclaim(request);
		table_remove(request);
		wait_release(wait, member);
		return request;
	}
	return NULL;
}

static int wait_collect(struct coll_wait *wait, struct coll_request *request)
{
	int error = request->error;

	wait->received = request->received;
	coll_request_free(request);
	return error;
}

/*
 * Is the lane's CPU the only one that this thread runs on, and nobody else's?  Then being
 * woken to run it costs what waking a worker does, and who is done need not wake another.
 * A thread that may move is drawn to the CPU of who wakes it, away from the one that its
 * lane has been dealt; where ranks share a CPU its one worker runs all their lanes in
 * turn; and with a thread that stands behind others (nice) its lane would stand there.
 */
static bool is_pinned(const struct coll_lane *lane)
{
	return current->nr_cpus_allowed == 1 && task_nice(current) <= 0 &&
	       current->policy != SCHED_IDLE &&
	       cpumask_test_cpu(READ_ONCE(lane->runner.cpu), current->cpus_ptr) &&
	       coll_cpu_exclusive(lane);
}

static struct coll_runner *wait_runner(struct coll_member *member, u32 bit)
{
	return bit == COLL_WAIT_CONTROL ? &member->control_runner :
					  &member->lanes[bit - COLL_WAIT_LANES].runner;
}

/* The runners that this thread had better run than their workers. */
static unsigned long pinned_runners(const struct coll_wait *wait,
				    const struct coll_member *member)
{
	unsigned long runners = 0;
	u32 i;

	for (i = 0; i < wait->nparts; i++)
		if (is_pinned(&member->lanes[i]))
			runners |= BIT(COLL_WAIT_LANES + i);
	/* Control is where the first lane is. */
	if (runners & BIT(COLL_WAIT_LANES))
		runners |= BIT(COLL_WAIT_CONTROL);
	return runners;
}

/* Run what they need, as far as nobody else does. */
static void run_lanes(struct coll_wait *wait, struct coll_member *member)
{
	u32 i;

	for (i = 0; i < wait->nparts; i++)
		coll_runner_run_now(&member->lanes[i].runner);
	if (READ_ONCE(member->control_tx_pending))
		coll_runner_run_now(&member->control_runner);
}

/* Be told instead of the workers. */
static void redirect_lanes(struct coll_wait *wait, struct coll_member *member,
			   unsigned long runners)
{
	u32 i;

	for_each_set_bit(i, &runners, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		if (coll_runner_redirect(wait_runner(member, i), &wait->event))
			__set_bit(i, &wait->redirected);
}

/* Run those that have been handed to us. */
static void redirect_run(const struct coll_wait *wait, struct coll_member *member)
{
	u32 i;

	for_each_set_bit(i, &wait->redirected, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		coll_runner_run_redirected(wait_runner(member, i));
	cond_resched();
}

/* The workers run them again. */
static void redirect_stop(struct coll_wait *wait, struct coll_member *member)
{
	u32 i;

	for_each_set_bit(i, &wait->redirected, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		coll_runner_stop_redirect(wait_runner(member, i));
}

/* All that is to be known under the lock: one that is complete, or no claim is left. */
static struct coll_request *reap_one(struct coll_wait *wait, struct coll_member *member,
				     bool last)
{
	struct coll_request *request;

	wait->self_notified = false;
	spin_lock(&member->lock);
	request = pop_complete(wait, member);
	if (!request && last)
		wait_release(wait, member);
	spin_unlock(&member->lock);
	return request;
}

/* Jiffies; 0: the time is over, however often we have been woken for a lane in it. */
static long wait_left(const struct coll_wait *wait)
{
	long left = wait->end - jiffies;

	return wait->timeout == MAX_SCHEDULE_TIMEOUT ? wait->timeout : max(left, 0L);
}

/* How long to poll, ns.  While much is moved there is little to poll for. */
static u64 poll_ns(const struct coll_wait *wait, unsigned long residence)
{
	int us = READ_ONCE(busy_poll_us);

	if (wait->bytes > COLL_POLL_MAX)
		return 0;
	if (us < 0)
		return residence ? COLL_POLL_NS : 0;
	return us * (u64)NSEC_PER_USEC;
}

/* While much is moved who has a CPU to himself may help others. */
static bool wait_may_help(const struct coll_wait *wait, unsigned long residence)
{
	return residence && wait->bytes >= COLL_HELP_MIN && READ_ONCE(busy_poll_us);
}

/* Nobody else wants this CPU. */
static bool wait_may_poll(const struct coll_wait *wait)
{
	return single_task_running() && !need_resched() && !signal_pending(current) &&
	       wait_left(wait);
}

/* Hold those that nobody runs now. */
static unsigned long acquire_lanes(struct coll_member *member, unsigned long runners)
{
	unsigned long held = 0;
	u32 i;

	for_each_set_bit(i, &runners, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		if (coll_runner_try_acquire(wait_runner(member, i)))
			held |= BIT(i);
	return held;
}

/* Run those of them that have news; whether any had. */
static bool poll_lanes(struct coll_member *member, unsigned long held)
{
	bool news = false;
	u32 i;

	for_each_set_bit(i, &held, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		news |= coll_runner_poll(wait_runner(member, i));
	return news;
}

/* Let go of them; what they have missed is done before. */
static void release_lanes(struct coll_member *member, unsigned long held)
{
	u32 i;

	for_each_set_bit(i, &held, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		coll_runner_release(wait_runner(member, i));
}

/* Of what is small all that we wait for comes at once: it is for us to take in. */
static struct coll_conn *poll_socket(const struct coll_wait *wait, struct coll_member *member,
				     unsigned long held)
{
	unsigned long lane = wait->eager_lanes & (held >> COLL_WAIT_LANES);

	return lane ? coll_progress_poll_begin(&member->lanes[__ffs(lane)]) : NULL;
}

static bool has_no_event(struct coll_wait *wait, struct coll_member *member, unsigned long held,
			 const struct coll_conn *watched)
{
	u32 i;

	if ((watched && coll_progress_poll_pending(watched)) || completion_done(&wait->event))
		return false;
	for_each_set_bit(i, &held, COLL_WAIT_LANES + COLLECTIVE_LANES_MAX)
		if (coll_runner_has_pending(wait_runner(member, i)))
			return false;
	return true;
}

/* Whether there may be news, before it is time to look at anything else. */
static bool has_event(struct coll_wait *wait, struct coll_member *member, unsigned long held,
		      const struct coll_conn *watched)
{
	u32 i;

	for (i = 0; i < COLL_POLL_LOOKS; i++) {
		if (!has_no_event(wait, member, held, watched))
			return true;
		cpu_relax();
	}
	return false;
}

/* Until there may be news, all of which is for those that we hold, or told to us. */
static void wait_spin(struct coll_wait *wait, struct coll_member *member,
		      unsigned long held, u64 until)
{
	struct coll_conn *watched = poll_socket(wait, member, held);

	while (!has_event(wait, member, held, watched) && wait_may_poll(wait) &&
	       ktime_get_ns() < until)
		;
	if (watched)
		coll_progress_poll_end(watched);
}

/*
 * Help who copies while there is nothing to do for ourselves.  We can be called from here on,
 * and come back to who has; but not if somebody else wants this CPU, who would be interrupted
 * for each piece.
 */
static void offer_help(struct coll_wait *wait, struct coll_member *member, unsigned long held)
{
	if (!wait->helper.group)
		return;
	if (wait_may_poll(wait))
		coll_helper_offer(&wait->helper);
	while (has_no_event(wait, member, held, NULL)) {
		if (!wait_may_poll(wait)) {
			coll_helper_detach(&wait->helper);
			return;
		}
		if (!coll_helper_poll(&wait->helper))
			return;
		cpu_relax();
	}
}

/*
 * Hold the runners, so that who has news for them only leaves word, and run them as soon
 * as there is any; before we sleep those of our residence are lent.
 */
static struct coll_request *wait_poll(struct coll_wait *wait, struct coll_member *member,
				      u64 patience, unsigned long residence)
{
	unsigned long runners = READ_ONCE(busy_poll_us) > 0 ?
				BIT(COLL_WAIT_LANES + wait->nparts) - 1 : residence;
	unsigned long held = acquire_lanes(member, runners);
	struct coll_request *request = NULL;
	u64 now, until = 0;

	run_lanes(wait, member);
	while (!request && wait_may_poll(wait)) {
		coll_helper_withdraw(&wait->helper);
		if (poll_lanes(member, held) || wait->self_notified ||
		    try_wait_for_completion(&wait->event)) {
			request = reap_one(wait, member, false);
			until = 0;
			continue;
		}
		if (held == runners)
			offer_help(wait, member, held);
		now = ktime_get_ns();
		if (!until)
			until = now + patience;
		if (now >= until)
			break;
		if (held == runners) {
			/* Others may want the socket for a moment (ss). */
			wait_spin(wait, member, held, min(until, now + COLL_POLL_NS));
		} else {
			cpu_relax();
			held |= acquire_lanes(member, runners & ~held);
		}
	}
	coll_helper_withdraw(&wait->helper);
	if (!request)
		redirect_lanes(wait, member, residence);
	release_lanes(member, held);
	return request;
}

/*
 * Until there is news, all of which is looked at next: what is left of the time, or
 * -ERESTARTSYS, also when there is so much news that nobody would ever sleep.
 */
static long wait_sleep(struct coll_wait *wait, struct coll_member *member)
{
	long left;

	if (wait->self_notified)
		return 1;
	coll_wait_idle(wait);
	offer_help(wait, member, 0);
	left = wait_for_completion_interruptible_timeout(&wait->event, max(wait_left(wait), 1L));
	coll_helper_withdraw(&wait->helper);
	while (try_wait_for_completion(&wait->event))
		;
	if (signal_pending(current))
		return -ERESTARTSYS;
	return left > 0 ? wait_left(wait) : left;
}

/**
 * coll_wait_sleep_and_collect() - wait for what was claimed, and collect one
 * @wait: @ids, @n and @timeout are set, and the claims made; they are gone afterwards.
 *	What was complete before is not looked at until we are told of another
 * @member: of the requests
 *
 * Context: process of the mm that joined.
 * Return: how the request at @wait->index ended, or -EINPROGRESS or -ERESTARTSYS when
 * @wait->index is @wait->n.
 */
int coll_wait_sleep_and_collect(struct coll_wait *wait, struct coll_member *member)
{
	unsigned long residence = pinned_runners(wait, member);
	u64 patience = poll_ns(wait, residence);
	struct coll_request *request = NULL;
	long left = 1;

	wait->end = jiffies + wait->timeout;
	if (wait_may_help(wait, residence))
		coll_helper_begin(&wait->helper, member->group, &wait->event);
	if (patience) {
		request = wait_poll(wait, member, patience, residence);
	} else {
		redirect_lanes(wait, member, residence);
		run_lanes(wait, member);
	}
	/* Once at least: that gives the claims up. */
	while (!request && left > 0) {
		left = wait_sleep(wait, member);
		redirect_run(wait, member);
		request = reap_one(wait, member, left <= 0);
	}
	redirect_stop(wait, member);
	coll_helper_detach(&wait->helper);
	if (request)
		return wait_collect(wait, request);
	if (left >= 0)
		return -EINPROGRESS;
	if (fatal_signal_pending(current))
		coll_exit_report(member);
	return -ERESTARTSYS;
}

static int wait_claims(struct coll_wait *wait, struct coll_member *member)
{
	struct coll_request *request;
	bool any = false;
	u32 i;

	if (member->stopped)
		return -ENOTCONN;
	for (i = 0; i < wait->n; i++) {
		if (!wait->ids[i])
			continue;
		request = wait_find(member, wait->ids[i]);
		if (!request)
			return -ENOENT;
		if (request->waiter || request->completion_ops)
			return -EBUSY;
		coll_wait_claim(wait, request);
		any = true;
	}
	return any ? 0 : -ENOENT;
}

/**
 * coll_wait() - wait for one of several requests, and collect it
 * @wait: @ids, @n and @timeout are set
 * @member: of the requests
 *
 * Context: process of the mm that joined.
 * Return: as coll_wait_sleep_and_collect(); or -ENOENT, -EBUSY, -ENOTCONN with @wait->index
 * @wait->n.
 */
int coll_wait(struct coll_wait *wait, struct coll_member *member)
{
	struct coll_request *request = NULL;
	int err;

	coll_wait_init(wait, member);
	spin_lock(&member->lock);
	err = wait_claims(wait, member);
	/* What has come already costs no run. */
	if (!err)
		request = pop_complete(wait, member);
	if (!err && !request && !wait->timeout)
		err = -EINPROGRESS;
	if (err)
		wait_release(wait, member);
	spin_unlock(&member->lock);
	if (request)
		err = wait_collect(wait, request);
	else if (!err)
		err = coll_wait_sleep_and_collect(wait, member);
	coll_wait_idle(wait);
	return err;
}

/**
 * coll_wait_collect() - collect a request that is complete
 * @request: it came from a source that was told so; gone afterwards
 * @received: out: see struct coll_request
 *
 * Context: may sleep.
 * Return: how it ended.
 */
int coll_wait_collect(struct coll_request *request, u64 *received)
{
	struct coll_member *member = request->member;
	int error;

	spin_lock(&member->lock);
	member->nwaiting--;
	table_remove(request);
	spin_unlock(&member->lock);

	error = request->error;
	*received = request->received;
	coll_request_free(request);
	return error;
}

/**
 * coll_wait_has_collectable() - is there anything to be collected that nobody waits for?
 * @member: the member
 */
bool coll_wait_has_collectable(struct coll_member *member)
{
	bool ready = false;
	u32 i;

	spin_lock(&member->lock);
	for (i = 0; !ready && member->nrequests && i < COLL_INFLIGHT; i++) {
		const struct coll_request *request = member->table[i];

		ready = request && request->complete && !request->waiter &&
			!request->completion_ops;
	}
	spin_unlock(&member->lock);
	return ready;
}

/**
 * coll_wait_inflight() - wait until no request is in flight
 * @member: one whose group has failed
 * @patience: jiffies
 */
void coll_wait_inflight(struct coll_member *member, unsigned long patience)
{
	wait_event_timeout(member->state_wait, !READ_ONCE(member->inflight), patience);
}

/**
 * coll_wait_free_uncollected() - give back what nobody has collected
 * @member: no lane of it runs any more, nobody waits, and @stopped is set
 */
void coll_wait_free_uncollected(struct coll_member *member)
{
	struct coll_request *request;
	u32 i;

	for (i = 0; i < COLL_INFLIGHT; i++) {
		spin_lock(&member->lock);
		request = member->table[i];
		if (request) {
			table_remove(request);
			if (!request->complete) {
				list_del(&request->node);
				WRITE_ONCE(member->inflight, member->inflight - 1);
			}
		}
		spin_unlock(&member->lock);
		if (request)
			coll_request_free(request);
	}
}
