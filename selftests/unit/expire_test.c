// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines (op/expire.c, op/timer.c): one work item for many requests.  It tells which are slow,
 * fails them at their deadline, waits for absent ranks, and fails the group at the fence.
 */
#include <linux/err.h>

#include "charges_env.h"
#include "net/link.h"
#include "op/absent.c"
#include "op/expire.c"
#include "op/match.c"
#include "op/timer.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	3000
#define REQUESTS	12
#define TIMES		1500
#define RANKS		6
#define RANK		2
#define HEARTBEAT_MS	40
#define FENCE		(COLL_FENCE_BEATS * HEARTBEAT_MS)
#define NEVER		(~0UL)

/**
 * struct op - one request and when something is to become of it
 * @starts: time at which it starts; NEVER: it waits behind another one
 * @ends: time at which its lanes are done, unless it waits for absent ranks
 * @slow, @deadline: see struct coll_request; 0: never
 * @failed_at: time at which it has failed; NEVER: it has not
 * @told: number of notices that it is slow
 * @released: true if it has waited for absent ranks, and does not any more
 * @gone: true if it is complete
 * @request: the request
 */
struct op {
	unsigned long starts, ends, slow, deadline, failed_at;
	u32 told;
	bool released, gone;
	struct coll_request request;
};

static struct op ops[REQUESTS];
static struct coll_ident ident = {
	.rank = RANK, .nranks = RANKS, .heartbeat_ms = HEARTBEAT_MS,
};

static struct coll_member_state state;
static struct coll_net net;
static struct coll_runner control;
static struct coll_requests reqs;
static u32 nops;
static u32 late;
static bool good;

struct workqueue_struct *coll_unbound_wq;

/* Times of this program are counted from here. */
static unsigned long base, now;

static void set_now(unsigned long at)
{
	now = at;
	jiffies = base + at;
	kernel_ns = at * NSEC_PER_MSEC;
}

/* As requests have them: 0 is no time. */
static unsigned long odd_jiffy(unsigned long at)
{
	return ((base + at) | 1) - base;
}

static struct op *op_of(const struct coll_request *request)
{
	return container_of(request, struct op, request);
}

/* The next thing that is to become of a request that has started. */
static unsigned long due(const struct op *op)
{
	if (op->failed_at == NEVER)
		return op->slow && !op->told ? op->slow : op->deadline;
	if (op->request.absent_pending)
		return op->failed_at + COLL_SETTLE_MS;
	return op->failed_at + FENCE;
}

static bool is_running(const struct op *op)
{
	return now >= op->starts && !op->gone && op->deadline &&
	       atomic_read(&op->request.parts_pending);
}

/*
 * What the other rooms do
 */

void coll_record_absent(const struct coll_trace *trace, u64 instance, u32 rank)
{
}

void coll_runner_kick(struct coll_runner *runner)
{
}

void coll_link_queue_frame(struct coll_link *link, const struct coll_control *frame)
{
}

bool coll_tx_ring_has_space(struct coll_tx_ring *ring)
{
	return true;
}

void coll_process_sync(struct coll_requests *of)
{
}

u64 coll_process_called(const struct coll_requests *of)
{
	return of->next_instance;
}

struct coll_request *coll_request_by_instance(struct coll_requests *of, u64 instance)
{
	return instance < nops ? &ops[instance].request : NULL;
}

u64 coll_state_heartbeats_ns(const struct coll_member_state *of, u32 beats)
{
	return (u64)beats * of->id->heartbeat_ms * NSEC_PER_MSEC;
}

u32 coll_request_waits(const struct coll_request *request, u32 *ranks, u32 max)
{
	assert(state.lock.held && max == COLL_NOTICE_RANKS);
	ranks[0] = request->call.instance;
	return 1;
}

void coll_notice_post(struct coll_notices *notices, const struct coll_notice *notice)
{
	struct op *op = &ops[notice->instance];

	good &= HOLDS(notice->kind == COLLECTIVE_EVENT_KIND_SLOW) && HOLDS(!op->told) &&
		HOLDS(op->failed_at == NEVER) && HOLDS(is_running(op)) &&
		HOLDS(op->slow && now >= op->slow) &&
		HOLDS(notice->request == 100 + notice->instance) &&
		HOLDS(notice->left_ms == (now < op->deadline ? op->deadline - now : 0)) &&
		HOLDS(notice->age_ns == (now - op->starts) * NSEC_PER_MSEC) &&
		HOLDS(notice->nwaits == 1 && notice->waits[0] == notice->instance) &&
		HOLDS(notice->calls[0].rank == RANK) &&
		HOLDS(notice->calls[1].rank == COLLECTIVE_RANK_NONE);
	op->told++;
}

static bool is_right_reason(const struct op *op, const struct coll_reason *reason)
{
	const struct coll_request *request = &op->request;
	u32 missing = COLLECTIVE_RANK_NONE;

	if (request->plan.collective == COLLECTIVE_SEND)
		missing = request->plan.root;
	else if (!request->implicit_match && !(request->call.rounds_heard & 1))
		missing = RANK - 1;
	return HOLDS(reason->kind == COLLECTIVE_REASON_DEADLINE) &&
	       HOLDS(reason->error == ETIMEDOUT) && HOLDS(reason->rank_a == RANK) &&
	       HOLDS(reason->rank_b == missing);
}

struct coll_failure coll_match_mismatch_failure(const struct coll_request *request)
{
	return (struct coll_failure){
		.reason = { COLLECTIVE_REASON_MISMATCH, EBADMSG, request->mismatch_peer, RANK },
	};
}

/* As match_fail.c does with a request that is in flight. */
void coll_match_fail(struct coll_requests *of, struct coll_request *request, u64 instance,
		     const struct coll_failure *failure)
{
	struct op *op = op_of(request);

	assert(state.lock.held && op->failed_at == NEVER && instance == request->call.instance);
	op->failed_at = now;
	request->failure = *failure;
	request->abort.error = -(int)failure->reason.error;
	coll_absent_hold_completion(request);
	request->deadline = jiffies | 1;
	coll_timer_arm(request);
	spin_unlock(&state.lock);
	if (failure->reason.kind == COLLECTIVE_REASON_CANCELLED)
		return;
	good &= HOLDS(is_running(op)) && HOLDS(now >= op->deadline) &&
		HOLDS(op->told || !op->slow);
	if (request->mismatch_peer != COLL_NO_RANK)
		good &= HOLDS(failure->reason.kind == COLLECTIVE_REASON_MISMATCH);
	else
		good &= is_right_reason(op, &failure->reason);
}

void coll_request_report(struct coll_request *request, int error)
{
	struct op *op = op_of(request);

	assert(!state.lock.held && atomic_read(&request->parts_pending) > 0);
	good &= HOLDS(error == request->abort.error) && HOLDS(error == -ETIMEDOUT) &&
		HOLDS(now >= op->failed_at + COLL_SETTLE_MS) && HOLDS(!op->released);
	op->released = true;
	atomic_dec(&request->parts_pending);
}

void coll_state_fail(struct coll_member_state *of, const struct coll_reason *reason)
{
	bool some = false;
	u32 i;

	assert(!of->lock.held);
	of->aborted = -ETIMEDOUT;
	for (i = 0; i < nops; i++)
		some |= is_running(&ops[i]) && ops[i].failed_at != NEVER &&
			now >= ops[i].failed_at + FENCE;
	good &= HOLDS(some) && HOLDS(reason->kind == COLLECTIVE_REASON_DEADLINE);
}

/*
 * Programs
 */

static void op_new(u32 i, bool hangs)
{
	struct op *op = &ops[i];
	struct coll_request *request = &op->request;
	unsigned long timeout = 1 + random_below(random_once(4) ? 600 : 60);

	memset(op, 0, sizeof(*op));
	op->starts = 1 + random_below(200);
	op->ends = op->starts + random_below(2 * timeout);
	op->failed_at = NEVER;
	/* One that is not done long after its failure. */
	if (hangs && random_once(6))
		op->ends = NEVER;
	if (!random_once(6))
		op->deadline = odd_jiffy(op->starts + timeout);
	if (op->deadline && random_once(2))
		op->slow = odd_jiffy(op->starts + timeout * random_below(101) / 100);
	request->reqs = &reqs;
	request->call.instance = i;
	request->id = 100 + i;
	request->submit_ns = op->starts * NSEC_PER_MSEC;
	request->deadline = op->deadline ? base + op->deadline : 0;
	request->slow_at = op->slow ? base + op->slow : 0;
	request->plan.collective = random_once(3) ? COLLECTIVE_SEND : COLLECTIVE_ALLREDUCE;
	request->plan.root = random_below(RANKS);
	request->implicit_match = random_once(2);
	request->call.rounds_heard = random_below(8);
	request->mismatch_peer = random_once(6) ? 1 : COLL_NO_RANK;
	request->stage = COLL_REQUEST_QUEUED;
	if (random_once(8))
		op->starts = NEVER;
	atomic_set(&request->parts_pending, 1);
	list_add_tail(&request->node, &reqs.inflight_list);
}

/* As submit.c does. */
static void op_start(struct op *op)
{
	spin_lock(&state.lock);
	op->request.stage = COLL_REQUEST_STARTED;
	coll_timer_arm(&op->request);
	spin_unlock(&state.lock);
}

/* The lanes are done.  A request that waits for absent ranks has one more part. */
static void op_end(struct op *op)
{
	atomic_dec(&op->request.parts_pending);
	op->ends = NEVER;
}

static void op_cancel(struct op *op)
{
	const struct coll_failure failure = {
		.reason = { COLLECTIVE_REASON_CANCELLED, ECANCELED, RANK, COLLECTIVE_RANK_NONE },
	};

	spin_lock(&state.lock);
	coll_match_fail(&reqs, &op->request, op->request.call.instance, &failure);
}

static void op_step(struct op *op)
{
	if (op->gone)
		return;
	if (now == op->starts)
		op_start(op);
	if (now >= op->ends && now > op->starts && op->starts != NEVER)
		op_end(op);
	if (is_running(op) && op->failed_at == NEVER && random_once(900))
		op_cancel(op);
	/* It is collected a moment later. */
	if (!atomic_read(&op->request.parts_pending) && random_once(3)) {
		list_del(&op->request.node);
		op->gone = true;
	}
}

static void program_new(void)
{
	bool hangs = random_once(2);
	u32 i;

	good = true;
	memset(&state, 0, sizeof(state));
	memset(&reqs, 0, sizeof(reqs));
	spin_lock_init(&state.lock);
	state.id = &ident;
	reqs.id = &ident;
	reqs.state = &state;
	net.control = &control;
	reqs.net = &net;
	INIT_LIST_HEAD(&net.link_list);
	INIT_LIST_HEAD(&reqs.inflight_list);
	late = random_below(4);
	nops = 1 + random_below(REQUESTS);
	/* Jiffies pass their end in some programs. */
	base = random_once(2) ? -(unsigned long)random_below(TIMES) : 0;
	set_now(0);
	for (i = 0; i < nops; i++)
		op_new(i, hangs);
}

/* The work item waits for the next request that is due, if there is one. */
static bool check_work(const struct delayed_work *work)
{
	unsigned long next = NEVER, at = work->at - base;
	u32 i;

	for (i = 0; i < nops; i++)
		if (is_running(&ops[i]))
			next = min(next, due(&ops[i]));
	if (next == NEVER)
		return HOLDS(!work->work.queued);
	/* The time to wait for absent ranks begins with an odd jiffy. */
	return HOLDS(next + 2 >= now) && HOLDS(work->work.queued) &&
	       HOLDS(at >= next && at <= next + 3);
}

/* The work item runs in its time, or a little later on a busy machine. */
static void run_work(void)
{
	struct delayed_work *work = &reqs.expiry;

	if (!work->work.queued || time_before(jiffies, work->at + random_below(late + 1)))
		return;
	work->work.queued = false;
	coll_expire_work(&work->work);
	good = good && (state.aborted || check_work(work));
}

static bool run_program(void)
{
	u32 i;

	program_new();
	while (good && now < TIMES && !state.aborted) {
		set_now(now + 1);
		for (i = 0; i < nops; i++)
			op_step(&ops[i]);
		run_work();
		/* What is due does not wait for something else. */
		for (i = 0; good && !state.aborted && i < nops; i++)
			good = HOLDS(!is_running(&ops[i]) || now <= due(&ops[i]) + late + 3);
	}
	for (i = 0; good && i < nops; i++)
		good = HOLDS(ops[i].told <= 1) && HOLDS(!is_running(&ops[i]) || state.aborted);
	/* A group that has failed has other times. */
	if (state.aborted) {
		i = ops[0].told;
		set_now(now + 10000);
		coll_expire_work(&reqs.expiry.work);
		good = good && HOLDS(ops[0].told == i);
	}
	return good;
}

static u32 ngroups_failed, nreleased, ntold;

static bool run_counted(void)
{
	u32 i;

	if (!run_program())
		return false;
	ngroups_failed += !!state.aborted;
	for (i = 0; i < nops; i++) {
		nreleased += ops[i].released;
		ntold += ops[i].told;
	}
	return true;
}

static void test_programs(void)
{
	bool all = random_programs(PROGRAMS, run_counted);

	/* All of these happen often. */
	all = all && HOLDS(ngroups_failed > 100 && nreleased > 100 && ntold > 100);
	tap_ok(all, "each request is told slow, fails and ends in its time, and not before");
}

int main(void)
{
	tap_plan(0);
	test_programs();
	return tap_exit();
}
