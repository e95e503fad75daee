// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of a rank to itself (op/self_message.c, with op/submit.c, op/complete.c, op/table.c and
 * op/cancel.c): random sends and receives, compared with a model that pairs them by order and tag.
 */
/* What user space does not have. */
#define ERESTARTSYS	512
#define __uninitialized

#include "charges_env.h"
#include "fail/failed_ops.c"
#include "fail/member_state.c"
#include "lane/lane.h"
#include "net/link.h"
#include "op/absent.c"
#include "op/ahead.c"
#include "op/cancel.c"
#include "op/claim.c"
#include "op/complete.c"
#include "op/kept_calls.c"
#include "op/match.c"
#include "op/match_fail.c"
#include "op/self_message.c"
#include "op/submit.c"
#include "op/table.c"
#include "op/unexpected_calls.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	4000
#define STEPS		60
#define TAGS		3
#define MOST		STEPS

/**
 * struct half - one call of the program
 * @request: its request, until it is complete
 * @receives: it is a receive
 * @varlen: the sender tells the length
 * @tag: its tag; TAGS: none
 * @number: calls of the same tag and direction before it
 * @type: of its elements
 * @count: number of its elements
 * @cancelled: the program has cancelled it
 * @done: it is complete
 * @error: how; negative errno or 0
 * @received: likewise
 */
struct half {
	struct coll_request *request;
	bool receives, varlen, cancelled, done;
	u32 tag, number, type;
	u64 count;
	int error;
	u64 received;
};

static struct coll_ident ident;
static struct coll_member_state state;
static struct coll_net net;
static struct coll_requests reqs;
static struct coll_charges charges;
static struct coll_lane lanes[2];
static struct coll_runner control_runner;
static struct coll_link no_link;

static struct half halves[MOST];
static u32 nhalves;
/* Parts that lanes have, in their order. */
static struct coll_part *parts[MOST];
static u32 nparts;

static struct half *half_of(const struct coll_request *request)
{
	return request->completion_ctx;
}

/*
 * What the other rooms do
 */

void coll_lane_submit(struct coll_lane *lane, struct coll_part *part)
{
	assert(state.lock.held && nparts < MOST && lane == &lanes[part->task.args.instance % 2]);
	parts[nparts++] = part;
}

void coll_lane_check_aborts(struct coll_lane *lane)
{
	assert(!state.lock.held);
}

void coll_runner_kick(struct coll_runner *runner)
{
}

struct coll_link *coll_link_get(const struct coll_net *of, u32 peer)
{
	assert(false);
	return &no_link;
}

void coll_link_queue_frame(struct coll_link *link, const struct coll_control *control)
{
	assert(false);
}

void coll_link_queue_failure(struct coll_link *link, u64 instance,
			     const struct coll_failure *failure)
{
	assert(false);
}

void coll_link_ping(struct coll_link *link, u64 now)
{
}

bool coll_tx_ring_has_space(struct coll_tx_ring *ring)
{
	return true;
}

int coll_net_reserve(struct coll_net *of, u32 ops)
{
	return 0;
}

void coll_timer_arm(struct coll_request *request)
{
}

void coll_times_queued(struct coll_request *request, u64 now)
{
}

void coll_times_wait_for_calls(struct coll_request *request)
{
}

void coll_times_add(const struct coll_request *request, u64 now)
{
}

void coll_request_free(struct coll_request *request)
{
	free(request);
}

int coll_process_place(struct coll_request *request)
{
	return -EPROTO;
}

int coll_process_await(const struct coll_request *request, long limit)
{
	return -EPROTO;
}

void coll_process_done(const struct coll_request *request)
{
}

void coll_process_sync(struct coll_requests *of)
{
}

void coll_process_alarm(struct coll_requests *of, u64 instance)
{
}

void coll_process_notice(struct coll_requests *of)
{
}

u64 coll_process_called(const struct coll_requests *of)
{
	return 0;
}

void coll_record_submit(const struct coll_trace *trace, u64 instance,
			const struct coll_signature *signature, u64 bytes, u32 lanes_used, u64 now)
{
}

u64 coll_record_begin(const struct coll_trace *trace, u64 instance)
{
	return 0;
}

u64 coll_record_done(const struct coll_trace *trace, u64 instance, int error,
		     const struct coll_reason *reason, u64 since)
{
	return 0;
}

void coll_record_agreed(const struct coll_trace *trace, u64 instance)
{
}

void coll_record_fail(const struct coll_trace *trace, u64 instance,
		      const struct coll_reason *reason)
{
}

void coll_record_absent(const struct coll_trace *trace, u64 instance, u32 rank)
{
}

void coll_record_state(const struct coll_trace *trace, enum collective_state from,
		       enum collective_state to)
{
}

void coll_record_abort(const struct coll_trace *trace, const struct coll_reason *reason)
{
}

void coll_notices_init(struct coll_notices *notices)
{
}

void coll_notice_post(struct coll_notices *notices, const struct coll_notice *notice)
{
}

static void notify(struct coll_member_state *of)
{
}

/* As the receiver of a completion: the request is collected later. */
static void half_done(struct coll_request *request)
{
	struct half *half = half_of(request);

	assert(state.lock.held && !half->done);
	half->done = true;
	half->error = request->error;
	half->received = request->received;
}

static const struct coll_completion_ops completion_ops = { .done = half_done };

/*
 * A member
 */

static void member_new(u32 nranks)
{
	memset(&reqs, 0, sizeof(reqs));
	memset(&state, 0, sizeof(state));
	memset(lanes, 0, sizeof(lanes));
	memset(halves, 0, sizeof(halves));
	nhalves = 0;
	nparts = 0;
	ident = (struct coll_ident){ .rank = nranks - 1, .nranks = nranks, .nlanes = 2 };
	coll_state_init(&state, &ident, notify);
	state.value = COLLECTIVE_STATE_UP;
	net = (struct coll_net){
		.id = &ident, .state = &state, .control = &control_runner, .tx_ops = MOST + 1,
	};
	INIT_LIST_HEAD(&net.link_list);
	reqs = (struct coll_requests){
		.id = &ident, .state = &state, .net = &net, .charges = &charges, .lanes = lanes,
		.by_instance = calloc(COLL_REQUESTS_HASH, sizeof(struct hlist_head)),
	};
	INIT_LIST_HEAD(&reqs.inflight_list);
	INIT_LIST_HEAD(&reqs.counted);
	state.failed_ops = coll_failed_ops_new(&state, &charges);
	assert(!coll_table_reserve(&reqs, 1) && !coll_unexpected_setup(&reqs));
}

/* Complete requests are collected. */
static void collect(struct half *half)
{
	if (!half->done || !half->request)
		return;
	spin_lock(&state.lock);
	coll_table_remove(half->request);
	spin_unlock(&state.lock);
	free(half->request);
	half->request = NULL;
}

static bool member_end(void)
{
	u32 i;

	for (i = 0; i < nhalves; i++)
		collect(&halves[i]);
	coll_unexpected_cleanup(&reqs);
	coll_failed_ops_free(state.failed_ops);
	coll_table_free(&reqs);
	free(reqs.by_instance);
	return HOLDS(!charges.bytes);
}

/* As coll_request_new() does. */
static struct coll_request *request_of(struct half *half)
{
	struct coll_request *request = calloc(1, sizeof(*request) + sizeof(request->part[0]));
	bool keyed = half->tag < TAGS;

	request->reqs = &reqs;
	request->nparts = 1;
	request->links_ready = true;
	request->completion_ops = &completion_ops;
	request->completion_ctx = half;
	request->mismatch_peer = COLL_NO_RANK;
	request->op = (struct collective_op){
		.opcode = half->receives ? COLLECTIVE_RECV : COLLECTIVE_SEND,
		.key = keyed ? half->tag : 0,
	};
	request->plan = (struct coll_plan){
		.collective = request->op.opcode, .type = half->type, .size = 4,
		.count = half->count, .varlen = half->varlen, .nlanes = 2,
		.rank = ident.rank, .nranks = ident.nranks, .root = ident.rank,
	};
	request->plan.schedule = coll_schedule_find(&request->plan);
	assert(request->plan.schedule == &coll_p2p_self);
	request->call.signature = (struct coll_signature){
		.collective = request->op.opcode, .type = half->type, .count = half->count,
		.root = ident.rank, .flags = keyed ? COLLECTIVE_F_KEYED : 0,
	};
	/* An address by which the copy tells whose memory it reads. */
	request->mem[half->receives] = (const struct coll_mem *)half;
	request->off[half->receives] = half - halves;
	atomic_set(&request->parts_pending, 1);
	return request;
}

/*
 * The program and its model
 */

static struct half *partner_of(const struct half *half)
{
	u32 i;

	for (i = 0; i < nhalves; i++)
		if (halves[i].receives != half->receives && halves[i].tag == half->tag &&
		    halves[i].number == half->number)
			return &halves[i];
	return NULL;
}

static bool call(bool receives)
{
	struct half *half = &halves[nhalves];
	u32 i;

	if (nhalves == MOST)
		return true;
	*half = (struct half){
		.receives = receives,
		.varlen = receives && random_once(3),
		.tag = random_below(TAGS + 1),
		.type = random_once(12) ? COLLECTIVE_INT32 : COLLECTIVE_UINT32,
		.count = random_once(4) ? random_below(3) : 2,
	};
	for (i = 0; i < nhalves; i++)
		half->number += halves[i].receives == receives && halves[i].tag == half->tag;
	half->request = request_of(half);
	nhalves++;
	return HOLDS(!coll_request_start(half->request, NULL));
}

/* A lane takes its oldest part, and copies: out of the right memory, and as much as fits. */
static bool copy_one(void)
{
	struct coll_part *part = parts[0];
	const struct coll_task_args *args;
	struct coll_local_copy local = { 0 };
	struct half *half, *from;
	u64 count;

	if (!nparts)
		return true;
	args = &part->task.args;
	half = half_of(part->owner);
	from = partner_of(half);
	memmove(parts, parts + 1, --nparts * sizeof(*parts));
	if (!HOLDS(from && half->receives && !half->done && !from->done))
		return false;
	count = min(from->count, half->count);
	args->plan.schedule->local_copy(&args->plan, &local);
	if (!HOLDS((const void *)args->area[COLL_AREA_SEND] == from) ||
	    !HOLDS(args->area_off[COLL_AREA_SEND] == (u64)(from - halves)) ||
	    !HOLDS((const void *)args->area[COLL_AREA_RECV] == half) ||
	    !HOLDS(!local.from && !local.to && local.len == 4 * count) ||
	    !HOLDS(!args->plan.schedule->steps(&args->plan)))
		return false;
	part->error = part->abort->error;
	request_part_done(part);
	return HOLDS(half->done && from->done);
}

static bool cancel_some(void)
{
	struct half *half = &halves[random_below(nhalves + 1)];
	int err;

	if (!half->request)
		return true;
	err = coll_request_cancel(&reqs, COLL_FIND_BY_CTX, (uintptr_t)half);
	if (!HOLDS(half->done ? err == -ENOENT || !err : !err || err == -EALREADY))
		return false;
	half->cancelled |= !err;
	return true;
}

/* Has a call of this tag, or of this message if it has none, been cancelled, or differs one? */
static bool may_fail(const struct half *half)
{
	const struct half *other;
	u32 i;

	for (i = 0; i < nhalves; i++) {
		const struct half *send = &halves[i];

		if (send->tag != half->tag || (half->tag == TAGS && send->number != half->number))
			continue;
		if (send->cancelled)
			return true;
		other = partner_of(send);
		if (other && !send->receives && (other->type != send->type ||
						 (other->count != send->count && !other->varlen)))
			return true;
	}
	return false;
}

static bool check_half(const struct half *half, bool last)
{
	const struct half *other = partner_of(half);

	if (!half->done)
		return HOLDS(!last || (!other && !half->cancelled));
	if (half->error == -EMSGSIZE)
		return HOLDS(half->varlen && other && other->count > half->count &&
			     half->received == other->count);
	if (half->error)
		return HOLDS(may_fail(half)) &&
		       HOLDS(half->error == -EBADMSG || half->error == -ECANCELED);
	return HOLDS(other && other->done && (!other->error || other->error == -EMSGSIZE)) &&
	       HOLDS(half->type == other->type) &&
	       HOLDS(half->count == other->count || half->varlen || other->varlen) &&
	       HOLDS(!half->varlen || half->received == other->count);
}

/* The group fails, and heartbeats end what waits. */
static bool fail_group(void)
{
	u32 i;

	state.aborted = -ECONNRESET;
	state.reason.kind = COLLECTIVE_REASON_DEATH;
	match_end(&reqs);
	while (nparts) {
		struct coll_part *part = parts[--nparts];

		part->error = -ECONNRESET;
		request_part_done(part);
		match_end(&reqs);
	}
	for (i = 0; i < nhalves; i++)
		if (!HOLDS(halves[i].done))
			return false;
	return HOLDS(!reqs.inflight);
}

static bool run_program(void)
{
	bool good = true, cancels = random_once(2);
	u32 step, i;

	member_new(1 + random_below(3));
	for (step = 0; good && step < STEPS; step++) {
		u32 what = random_below(10);

		if (what < 7)
			good = call(what & 1);
		else if (what == 7 && cancels)
			good = cancel_some();
		else
			good = copy_one();
		if (random_once(3) && nhalves)
			collect(&halves[random_below(nhalves)]);
	}
	while (good && nparts)
		good = copy_one();
	for (i = 0; good && i < nhalves; i++)
		good = check_half(&halves[i], !cancels);
	good = good && fail_group();
	return member_end() && good;
}

static void test_programs(void)
{
	tap_ok(random_programs(PROGRAMS, run_program),
	       "a send and a receive of one rank are matched by order and tag");
}

int main(void)
{
	tap_plan(0);
	test_programs();
	return tap_exit();
}
