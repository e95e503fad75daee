// SPDX-License-Identifier: GPL-2.0-only
/*
 * Matching (op/match.c, op/match_fail.c, op/absent.c) in whole groups: ranks submit in any order,
 * and frames arrive in any order that connections allow.  All ranks succeed or all fail, and a
 * rank that succeeds knows that all have called the same.  With calls that need not synchronize
 * (op/ahead.c) the ranks that have completed one are told later.
 */
#include "charges_env.h"
#include "fail/failed_ops.c"
#include "fail/member_state.c"
#include "lane/lane.h"
#include "net/link.h"
#include "op/absent.c"
#include "op/ahead.c"
#include "op/kept_calls.c"
#include "op/match.c"
#include "op/match_fail.c"
#include "op/self_message.c"
#include "op/table.c"
#include "op/unexpected_calls.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	2500
#define RANKS		9
#define OPS		6
#define FRAMES		4096

/* struct frame - on its way: a control frame, or the failure of an operation */
struct frame {
	struct coll_control control;
	struct coll_failure failure;
	bool fails;
};

/* struct queue - frames from one rank to another, in their order */
struct queue {
	struct frame frame[64];
	u32 put, got;
};

/**
 * struct member - one rank
 * @called: by operation: it has called it
 * @signature: by operation: how it calls it
 * @nosync: by operation: its call need not synchronize
 * @request: by operation: while it is in flight
 * @moved: by operation: its lanes have ended
 * @ahead: by operation: it has completed it before it has heard all others
 * @reported: by operation: times that all of its parts were reported
 * @error: by operation: the errno of these
 * @announced: by operation: bit (1 << round) for each round in which it has announced its call
 * @deaf: by operation: it had not called it when it learned of the failure
 */
struct member {
	struct coll_ident id;
	struct coll_member_state state;
	struct coll_net net;
	struct coll_requests reqs;
	struct coll_link links[RANKS];
	struct coll_charges charges;
	bool called[OPS];
	struct coll_signature signature[OPS];
	bool nosync[OPS];
	struct coll_request *request[OPS];
	bool moved[OPS], ahead[OPS];
	u32 reported[OPS];
	int error[OPS];
	u32 announced[OPS];
	bool deaf[OPS];
};

static struct member members[RANKS];
static struct queue queues[RANKS][RANKS];
static u32 nranks, nframes, group_failures;
static struct coll_runner control_runner;

/* The last operations have keys. */
static u64 instance_of(u32 op)
{
	return op < OPS - 2 ? op : coll_instance_keyed(op);
}

static u32 op_of(u64 instance)
{
	return instance & ~COLL_INSTANCE_KEYED;
}

static struct member *member_of(const struct coll_requests *reqs)
{
	return container_of(reqs, struct member, reqs);
}

/*
 * What the other rooms do
 */

static void put_frame(struct coll_link *link, const struct frame *frame)
{
	struct queue *queue = &queues[link->net->id->rank][link->peer];

	assert(queue->put - queue->got < ARRAY_SIZE(queue->frame));
	queue->frame[queue->put++ % ARRAY_SIZE(queue->frame)] = *frame;
	nframes++;
}

void coll_link_queue_frame(struct coll_link *link, const struct coll_control *control)
{
	struct member *member = container_of(link->net, struct member, net);

	if (control->kind == COLL_CONTROL_ANNOUNCE) {
		/* Once in each round. */
		u32 *announced = &member->announced[op_of(control->instance)];

		assert(!(*announced & BIT(control->position)));
		*announced |= BIT(control->position);
	}
	put_frame(link, &(struct frame){ .control = *control });
}

void coll_link_queue_failure(struct coll_link *link, u64 instance,
			     const struct coll_failure *failure)
{
	put_frame(link, &(struct frame){
		.control = { .kind = COLL_CONTROL_ABORT, .instance = instance },
		.failure = *failure,
		.fails = true,
	});
}

struct coll_link *coll_link_get(const struct coll_net *net, u32 peer)
{
	return net->links[peer];
}

bool coll_tx_ring_has_space(struct coll_tx_ring *ring)
{
	return true;
}

void coll_link_ping(struct coll_link *link, u64 now)
{
}

void coll_request_report(struct coll_request *request, int error)
{
	struct member *member = member_of(request->reqs);
	u32 op = op_of(request->call.instance);

	assert(!member->state.lock.held && atomic_read(&request->parts_pending) > 0);
	member->error[op] = member->error[op] ? member->error[op] : error;
	if (atomic_dec_and_test(&request->parts_pending))
		member->reported[op]++;
}

void coll_requests_note_failure(struct coll_requests *of, const struct coll_failure *failure,
				u64 instance)
{
	of->last_failure.instance = instance;
}

void coll_requests_tell_mismatch(struct coll_requests *of)
{
}

u64 coll_process_called(const struct coll_requests *reqs)
{
	return reqs->next_instance;
}

void coll_process_sync(struct coll_requests *reqs)
{
	assert(reqs->state->lock.held);
}

void coll_process_alarm(struct coll_requests *reqs, u64 instance)
{
}

void coll_process_notice(struct coll_requests *reqs)
{
}

void coll_timer_arm(struct coll_request *request)
{
}

void coll_times_queued(struct coll_request *request, u64 now)
{
}

void coll_lane_check_aborts(struct coll_lane *lane)
{
}

void coll_runner_kick(struct coll_runner *runner)
{
}

void coll_record_agreed(const struct coll_trace *trace, u64 instance)
{
}

/* A rank learns of a failure, and again when it calls the operation. */
void coll_record_fail(const struct coll_trace *trace, u64 instance,
		      const struct coll_reason *reason)
{
	struct member *member = &members[trace->id->rank];

	member->deaf[op_of(instance)] |= !member->called[op_of(instance)];
}

void coll_record_absent(const struct coll_trace *trace, u64 instance, u32 rank)
{
}

void coll_record_state(const struct coll_trace *trace, enum collective_state from,
		       enum collective_state to)
{
	group_failures++;
}

void coll_record_abort(const struct coll_trace *trace, const struct coll_reason *reason)
{
	group_failures++;
}

void coll_notices_init(struct coll_notices *notices)
{
}

void coll_notice_post(struct coll_notices *notices, const struct coll_notice *notice)
{
}

static void notify(struct coll_member_state *state)
{
}

/*
 * A group
 */

static void link_peers(struct member *member)
{
	struct coll_net *net = &member->net;
	u32 round, i;

	INIT_LIST_HEAD(&net->link_list);
	net->links = calloc(nranks, sizeof(*net->links));
	for (round = 0; round < coll_match_rounds(nranks); round++) {
		u32 peers[] = { coll_match_next_peer(&member->reqs, round),
				coll_match_prev_peer(&member->reqs, round) };

		for (i = 0; i < 2; i++) {
			struct coll_link *link = &member->links[peers[i]];

			if (net->links[peers[i]])
				continue;
			link->net = net;
			link->peer = peers[i];
			net->links[peers[i]] = link;
			list_add_tail(&link->node, &net->link_list);
		}
	}
}

static void member_new(u32 rank)
{
	struct member *member = &members[rank];

	memset(member, 0, sizeof(*member));
	member->id = (struct coll_ident){
		.rank = rank, .nranks = nranks, .heartbeat_ms = 1000,
	};
	coll_state_init(&member->state, &member->id, notify);
	member->state.value = COLLECTIVE_STATE_UP;
	member->net = (struct coll_net){
		.id = &member->id, .state = &member->state, .control = &control_runner,
	};
	member->reqs = (struct coll_requests){
		.id = &member->id, .state = &member->state, .net = &member->net,
		.charges = &member->charges,
		.by_instance = calloc(COLL_REQUESTS_HASH, sizeof(struct hlist_head)),
	};
	INIT_LIST_HEAD(&member->reqs.inflight_list);
	INIT_LIST_HEAD(&member->reqs.counted);
	member->state.failed_ops = coll_failed_ops_new(&member->state, &member->charges);
	assert(!coll_table_reserve(&member->reqs, 1) && !coll_unexpected_setup(&member->reqs));
	link_peers(member);
}

static bool member_end(struct member *member)
{
	u32 op;

	for (op = 0; op < OPS; op++)
		free(member->request[op]);
	coll_unexpected_cleanup(&member->reqs);
	coll_failed_ops_free(member->state.failed_ops);
	coll_table_free(&member->reqs);
	free(member->reqs.by_instance);
	free(member->net.links);
	return HOLDS(!member->charges.bytes);
}

/* As op/submit.c does.  The lanes are one part, which lanes_end() reports. */
static void call(struct member *member, u32 op)
{
	struct coll_requests *reqs = &member->reqs;
	struct coll_request *request = calloc(1, sizeof(*request));
	struct coll_failure failure;
	bool ended;

	request->reqs = reqs;
	request->call.is_own = true;
	request->call.instance = instance_of(op);
	request->call.signature = member->signature[op];
	request->plan.collective = request->call.signature.collective;
	request->plan.nranks = nranks;
	request->plan.rank = member->id.rank;
	request->plan.root = request->call.signature.root;
	request->plan.nosync = member->nosync[op];
	request->mismatch_peer = COLL_NO_RANK;
	atomic_set(&request->parts_pending, 2);
	member->request[op] = request;
	member->called[op] = true;
	spin_lock(&member->state.lock);
	if (coll_instance_is_counted(request->call.instance))
		reqs->next_instance++;
	coll_table_insert(request);
	coll_table_start(request);
	ended = coll_match_start(request, &failure);
	spin_unlock(&member->state.lock);
	if (ended)
		coll_request_report(request, 0);
	if (failure.reason.kind != COLLECTIVE_REASON_NONE)
		coll_match_fail_started(reqs, request->call.instance, &failure);
}

static void end_request(struct member *member, u32 op)
{
	struct coll_request *request = member->request[op];

	if (!request->abort.error && !member->error[op])
		coll_ahead_succeeded(&member->reqs, request->call.instance);
	coll_table_end(request);
	coll_request_set_stage(request, COLL_REQUEST_COMPLETE);
	coll_table_remove(request);
	free(request);
	member->request[op] = NULL;
}

void coll_request_complete_ahead(struct coll_request *request)
{
	struct member *member = member_of(request->reqs);
	u32 op = op_of(request->call.instance);

	assert(member->state.lock.held);
	member->ahead[op] = true;
	member->reported[op]++;
	end_request(member, op);
}

/* A request whose parts were reported is complete, sooner or later. */
static void collect(struct member *member, u32 op)
{
	if (!member->request[op] || !member->reported[op])
		return;
	spin_lock(&member->state.lock);
	end_request(member, op);
	spin_unlock(&member->state.lock);
}

/* As op/submit.c does when the part of the lanes ends. */
static void lanes_end(struct member *member, u32 op)
{
	struct coll_request *request = member->request[op];

	if (!request || member->moved[op])
		return;
	member->moved[op] = true;
	spin_lock(&member->state.lock);
	if (coll_kept_can_add(request) && atomic_read(&request->parts_pending) == 2 &&
	    coll_kept_add(request)) {
		coll_request_complete_ahead(request);
		spin_unlock(&member->state.lock);
		return;
	}
	spin_unlock(&member->state.lock);
	coll_request_report(request, request->abort.error);
}

/* As op/expire.c does when the time for absent ranks to report themselves is over. */
static void settle(struct member *member, u32 op)
{
	struct coll_request *request = member->request[op];
	bool held;

	if (!request)
		return;
	spin_lock(&member->state.lock);
	held = coll_absent_release_completion(request);
	spin_unlock(&member->state.lock);
	if (held)
		coll_request_report(request, request->abort.error);
}

/* The oldest frame of a connection arrives.  Return: false: it breaks the protocol. */
static bool deliver(u32 from, u32 to)
{
	struct queue *queue = &queues[from][to];
	struct member *member = &members[to];
	struct frame frame;

	if (queue->put == queue->got)
		return true;
	frame = queue->frame[queue->got++ % ARRAY_SIZE(queue->frame)];
	nframes--;
	if (frame.control.kind == COLL_CONTROL_ANNOUNCE)
		return !coll_match_receive_announce(&member->reqs, from, &frame.control);
	if (!frame.fails)
		frame.failure.reason = frame.control.reason;
	coll_match_abort(&member->reqs, frame.control.instance, &frame.failure);
	coll_absent_receive(&member->reqs, &frame.control);
	return true;
}

/* A rank calls what it has to call next, or an operation with a key. */
static void call_some(struct member *member)
{
	u32 op = random_once(3) ? OPS - 1 - random_below(2) : member->reqs.next_instance;

	if (op < OPS && !member->called[op])
		call(member, op);
}

/* The deadline of an operation that some ranks have not called. */
static void expire(struct member *member, u32 op)
{
	const struct coll_failure failure = {
		.reason = {
			.kind = COLLECTIVE_REASON_DEADLINE,
			.error = ETIMEDOUT,
			.rank_a = member->id.rank,
			.rank_b = COLLECTIVE_RANK_NONE,
		},
	};

	coll_match_abort(&member->reqs, instance_of(op), &failure);
}

static struct coll_signature some_signature(u32 op)
{
	static const u8 collectives[] = {
		COLLECTIVE_ALLREDUCE, COLLECTIVE_BROADCAST, COLLECTIVE_REDUCE, COLLECTIVE_SCAN,
	};

	return (struct coll_signature){
		.collective = collectives[random_below(ARRAY_SIZE(collectives))],
		.type = random_below(4),
		.flags = op >= OPS - 2 ? COLLECTIVE_F_KEYED : 0,
		.count = random_below(100),
	};
}

/* Let a field of a call differ. */
static void change_signature(struct coll_signature *signature)
{
	switch (random_below(8)) {
	case 0:
		signature->collective ^= 1;
		break;
	case 1:
		signature->type ^= 4;
		break;
	case 2:
		signature->reduction ^= 1;
		break;
	case 3:
		signature->algorithm ^= 1;
		break;
	case 4:
		signature->flags ^= COLLECTIVE_F_REPRODUCIBLE;
		break;
	case 5:
		signature->root ^= 1;
		break;
	case 6:
		signature->count ^= 1ULL << random_below(64);
		break;
	default:
		signature->layout ^= 1ULL << random_below(64);
	}
}

static bool calls_differ(const struct coll_signature *a, const struct coll_signature *b)
{
	const u64 x[] = { a->collective, a->type, a->reduction, a->algorithm, a->flags, a->root,
			  a->count, a->layout };
	const u64 y[] = { b->collective, b->type, b->reduction, b->algorithm, b->flags, b->root,
			  b->count, b->layout };

	return memcmp(x, y, sizeof(x));
}

static bool differ(u32 op)
{
	u32 i;

	for (i = 1; i < nranks; i++)
		if (calls_differ(&members[i].signature[op], &members[0].signature[op]))
			return true;
	return false;
}

/* The calls that are told of a mismatch are those of two ranks, and differ. */
static bool check_told(const struct coll_failure *failure, u32 op)
{
	const struct coll_rank_call *a = &failure->calls[0], *b = &failure->calls[1];

	return HOLDS(failure->reason.kind == COLLECTIVE_REASON_MISMATCH) &&
	       HOLDS(a->rank < nranks) && HOLDS(b->rank < nranks) && HOLDS(a->rank != b->rank) &&
	       HOLDS(!calls_differ(&a->signature, &members[a->rank].signature[op])) &&
	       HOLDS(!calls_differ(&b->signature, &members[b->rank].signature[op])) &&
	       HOLDS(calls_differ(&a->signature, &b->signature));
}

/* A rank that was ahead is told of calls that differ, and of nothing else. */
static bool check_ahead(struct member *member, u32 op, bool mismatch, bool expires)
{
	const struct coll_ahead *ahead = &member->reqs.ahead;
	const struct coll_failure *failure;
	bool good;

	spin_lock(&member->state.lock);
	failure = coll_failed_ops_find(member->state.failed_ops, instance_of(op));
	good = HOLDS(!member->error[op]) && HOLDS(mismatch || expires || !failure) &&
	       HOLDS(!mismatch || failure);
	if (good && failure && failure->reason.kind == COLLECTIVE_REASON_MISMATCH)
		good = check_told(failure, op) && HOLDS(ahead->failed) &&
		       check_told(&ahead->failure, ahead->instance);
	spin_unlock(&member->state.lock);
	return good;
}

static bool check_op(u32 op, bool expires)
{
	bool good = true, mismatch = differ(op);
	const struct member *first = NULL;
	u32 i, absent = 0;

	for (i = 0; good && i < nranks; i++) {
		struct member *member = &members[i];
		int error = member->error[op];

		absent += member->deaf[op];
		if (member->ahead[op]) {
			good = HOLDS(member->reported[op] == 1) && HOLDS(!member->deaf[op]) &&
			       check_ahead(member, op, mismatch, expires);
			continue;
		}
		if (!first)
			first = member;
		good = HOLDS(member->reported[op] == 1) &&
		       HOLDS(mismatch || !error || (expires && error == -ETIMEDOUT)) &&
		       HOLDS(!mismatch || error == -EBADMSG || (expires && error == -ETIMEDOUT)) &&
		       /* All of them, or none; but time passes for a rank that hears last. */
		       HOLDS(expires || !error == !first->error[op]);
		if (good && error == -EBADMSG) {
			spin_lock(&member->state.lock);
			good = check_told(coll_failed_ops_find(member->state.failed_ops,
							       instance_of(op)), op);
			spin_unlock(&member->state.lock);
		}
	}
	if (!expires || mismatch || op >= OPS - 2)
		return good;
	/* Each rank knows all that had not called it. */
	for (i = 0; good && i < nranks; i++) {
		good = HOLDS(members[i].reqs.match.absent.n == absent);
		for (u32 j = 0; good && absent && j < nranks; j++)
			good = HOLDS(test_bit(j, members[i].reqs.match.absent.ranks) ==
				     members[j].deaf[op]);
	}
	return good;
}

/* What a rank knows that all have called they have called. */
static bool check_known(const struct member *member)
{
	u64 least = OPS;
	u32 i;

	for (i = 0; i < nranks; i++)
		least = min(least, members[i].reqs.next_instance);
	return HOLDS(member->reqs.match.unexpected->distance.succeeded <= least);
}

static bool run_program(void)
{
	u32 expired = random_once(2) ? random_below(OPS) : OPS, step, i, op;
	bool good = true, all;

	nranks = 2 + random_below(RANKS - 1);
	nframes = 0;
	memset(queues, 0, sizeof(queues));
	for (i = 0; i < nranks; i++)
		member_new(i);
	for (op = 0; op < OPS; op++) {
		struct coll_signature signature = some_signature(op);
		bool differs = random_once(4);

		for (i = 0; i < nranks; i++) {
			members[i].signature[op] = signature;
			members[i].nosync[op] = random_once(2);
			if (differs && random_once(3))
				change_signature(&members[i].signature[op]);
		}
	}
	for (step = 0; good && step < 20000; step++) {
		struct member *member = &members[random_below(nranks)];

		if (random_once(12))
			call_some(member);
		else
			good = HOLDS(deliver(random_below(nranks), member->id.rank));
		if (random_once(8))
			collect(member, random_below(OPS));
		if (random_once(8))
			lanes_end(member, random_below(OPS));
		if (expired < OPS && member->request[expired] && !member->reported[expired] &&
		    random_once(30))
			expire(member, expired);
		if (random_once(300))
			settle(member, random_below(OPS));
		good = good && check_known(member);
		if (nframes || step % 64)
			continue;
		all = true;
		for (i = 0; i < nranks; i++)
			for (op = 0; op < OPS; op++)
				all &= members[i].called[op] && members[i].moved[op];
		if (all)
			break;
	}
	for (i = 0; i < nranks; i++)
		for (op = 0; op < OPS; op++)
			settle(&members[i], op);
	good = good && HOLDS(!nframes) && HOLDS(!group_failures);
	/* Whatever has ended, no call is kept. */
	for (i = 0; i < nranks; i++)
		good = good && HOLDS(!members[i].reqs.match.kept);
	for (op = 0; good && op < OPS; op++)
		good = check_op(op, op == expired);
	for (i = 0; i < nranks; i++)
		good = member_end(&members[i]) && good;
	return good;
}

static void test_programs(void)
{
	tap_ok(random_programs(PROGRAMS, run_program),
	       "all ranks of an operation succeed, or all fail and say why");
}

/* Frames that a peer may not send. */
static void test_breaches(void)
{
	struct coll_control control = { .kind = COLL_CONTROL_ANNOUNCE };
	struct coll_requests *reqs;
	bool good = true;
	u32 peer, round;

	nranks = 7;
	memset(queues, 0, sizeof(queues));
	member_new(2);
	reqs = &members[2].reqs;
	for (peer = 0; peer < nranks; peer++)
		for (round = 0; round < 70; round++) {
			bool right = round < 3 && peer == (2 + 7 - (1 << round)) % 7;

			control.instance = peer;
			control.position = round;
			good &= coll_match_receive_announce(reqs, peer, &control) ==
				(right ? 0 : -EPROTO);
			control.instance = coll_instance_p2p(peer, 2, 0, false);
			good &= coll_match_receive_announce(reqs, peer, &control) == -EPROTO;
		}
	control.position = ~0ULL;
	good &= coll_match_receive_announce(reqs, 1, &control) == -EPROTO;
	tap_ok(member_end(&members[2]) && good, "a peer announces in its round only");
}

/* Rank 2 of 4 has completed an operation ahead; the ranks before it leave. */
static bool leave(u32 peer, bool heard)
{
	struct coll_control control = { .kind = COLL_CONTROL_ANNOUNCE };
	struct member *member = &members[2];
	struct coll_requests *reqs = &member->reqs;
	bool good;

	nranks = 4;
	group_failures = 0;
	memset(queues, 0, sizeof(queues));
	member_new(2);
	member->nosync[0] = true;
	member->signature[0].collective = COLLECTIVE_BROADCAST;
	call(member, 0);
	lanes_end(member, 0);
	good = HOLDS(member->ahead[0]) && HOLDS(reqs->match.kept == 1);
	control.position = peer == 0;
	control.signature = member->signature[0];
	if (heard)
		good = HOLDS(!coll_match_receive_announce(reqs, peer, &control)) && good;
	member->links[peer].peer_left = true;
	coll_match_peer_left(reqs);
	good = good && HOLDS(reqs->match.kept == 1) && HOLDS(!group_failures == heard) &&
	       HOLDS(heard || (member->state.reason.kind == COLLECTIVE_REASON_LEFT &&
			       member->state.reason.rank_a == peer));
	group_failures = 0;
	return member_end(member) && good;
}

/* A request for whose call there is no place completes when there is one. */
static void test_kept_out(void)
{
	struct member *member = &members[2];
	struct coll_requests *reqs = &member->reqs;
	bool good;

	nranks = 4;
	memset(queues, 0, sizeof(queues));
	member_new(2);
	member->nosync[0] = true;
	member->nosync[1] = true;
	member->signature[0].collective = COLLECTIVE_BROADCAST;
	member->signature[1].collective = COLLECTIVE_BROADCAST;
	call(member, 0);
	call(member, 1);
	lanes_end(member, 0);
	/* As if there were others. */
	reqs->match.kept += COLL_CALLS_AHEAD - 1;
	lanes_end(member, 1);
	good = HOLDS(member->ahead[0] && !member->ahead[1] && !member->reported[1]);
	coll_match_run(reqs, 0);
	good = good && HOLDS(!member->reported[1]);
	reqs->match.kept -= COLL_CALLS_AHEAD - 1;
	coll_match_run(reqs, 0);
	good = good && HOLDS(member->reported[1] == 1 && !member->error[1]) &&
	       HOLDS(reqs->match.kept == 2);
	coll_match_run(reqs, 0);
	tap_ok(member_end(member) && good,
	       "a request completes when there is a place for its call");
}

static void test_departed(void)
{
	bool good = leave(1, true) && leave(1, false) && leave(0, true) && leave(0, false);

	tap_ok(good, "no rank leaves before it has announced what others have completed");
}

int main(void)
{
	tap_plan(0);
	assert(!coll_failed_ops_setup());
	test_programs();
	test_breaches();
	test_departed();
	test_kept_out();
	coll_failed_ops_cleanup();
	return tap_exit();
}
