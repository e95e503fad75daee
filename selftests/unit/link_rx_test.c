// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving on a link (net/link_rx.c): what each control frame causes, frames that no correct peer
 * sends, any bytes in any pieces, and the end of the control connection.
 */
#include "charges_env.h"
#include "fail/member_state.c"
#include "net/link_rx.c"
#include "net/mailbox.c"
#include "net/query_links.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	2000
#define FUZZ_PROGRAMS	3000
#define RANK		3
#define PEER		6
#define RANKS		8
#define LANES		2
#define SECOND		1000000000ULL

static struct coll_ident ident = {
	.rank = RANK, .nranks = RANKS, .nlanes = LANES, .incarnation = 0x1234, .heartbeat_ms = 1000,
};

static struct coll_member_state state;
static struct coll_charges charges;
static struct coll_runner control_runner;
static struct coll_net net;
static struct coll_link *link_table[RANKS], the_link;
static struct coll_mailbox mailboxes[LANES];
static struct coll_conn conn;

/**
 * struct seen - what was done since link_new()
 * @announces: number of calls of @announce; @announce_error: what they return
 * @aborts: number of operations that were aborted; @failure, @aborted: the latest
 * @left: number of calls of @peer_left
 * @counts: number of calls of @count_received; @count: the latest number
 * @lane_kicks: by lane
 * @kicks: number of times that all lanes were kicked
 * @control_kicks: number of times that the control runner was
 * @frames: number of frames that were queued; @frame: the latest
 * @spares: likewise of queries
 * @resends: number of times that lost bytes were sent again; @parts: of the latest
 * @spaces: number of times that space was made
 * @recorded: the latest change of the link; @changes: number of these
 */
static struct seen {
	u32 announces;
	int announce_error;
	u32 aborts;
	struct coll_failure failure;
	u64 aborted;
	u32 left, counts;
	u64 count;
	u32 lane_kicks[LANES], kicks, control_kicks;
	u32 frames, spares;
	struct coll_control frame;
	u32 resends, parts, spaces;
	enum coll_link_event recorded;
	u32 changes;
} seen;

/* What the other rooms do */

static int announce(struct coll_net *of, u32 peer, const struct coll_control *control)
{
	assert(peer == PEER && control->kind == COLL_CONTROL_ANNOUNCE);
	seen.announces++;
	return seen.announce_error;
}

static bool in_group(u32 rank)
{
	return rank < RANKS || rank == COLLECTIVE_RANK_NONE;
}

static void abort_op(struct coll_net *of, const struct coll_control *control,
		     const struct coll_failure *failure)
{
	assert(in_group(failure->reason.rank_a) && in_group(failure->reason.rank_b));
	assert(in_group(failure->calls[0].rank) && in_group(failure->calls[1].rank));
	assert(failure->reason.error && control->instance != COLL_INSTANCE_GROUP);
	seen.aborts++;
	seen.aborted = control->instance;
	seen.failure = *failure;
}

static void net_peer_left(struct coll_net *of)
{
	/* Lanes and operations find both. */
	assert(the_link.peer_left && test_bit(PEER, state.peers_left));
	seen.left++;
}

static void count_received(struct coll_net *of, u32 peer, u64 count)
{
	assert(peer == PEER);
	seen.counts++;
	seen.count = count;
}

/* The answer to a frame of the peer leaves little space. */
static bool answers_lower;

static u64 own_count(struct coll_net *of, u32 peer)
{
	assert(peer == PEER);
	of->tx_low |= answers_lower;
	return 77;
}

static void kick_lane(struct coll_net *of, u32 lane)
{
	assert(lane < LANES);
	seen.lane_kicks[lane]++;
}

static void kick_lanes(struct coll_net *of)
{
	seen.kicks++;
}

static void answer(struct coll_net *of, struct coll_answer *answer)
{
	answer->parts = BIT(COLL_ANSWER_STATE);
}

static const struct coll_net_ops ops = {
	.announce	= announce,
	.abort		= abort_op,
	.peer_left	= net_peer_left,
	.count_received	= count_received,
	.own_count	= own_count,
	.kick_lane	= kick_lane,
	.kick_lanes	= kick_lanes,
	.answer		= answer,
};

/* True while the transport holds the lock of the socket. */
static bool receiving;

void coll_link_queue_frame(struct coll_link *link, const struct coll_control *control)
{
	seen.frames++;
	seen.frame = *control;
}

bool coll_link_queue_spare(struct coll_link *link, const struct coll_control *control)
{
	seen.spares++;
	seen.frame = *control;
	return true;
}

void coll_link_resend(struct coll_link *link, u32 parts)
{
	assert(!receiving);
	seen.resends++;
	seen.parts = parts;
}

struct coll_link *coll_link_get(const struct coll_net *of, u32 peer)
{
	assert(peer < RANKS);
	return of->links[peer];
}

void coll_conn_set_state(struct coll_conn *of, enum coll_conn_state value)
{
	of->state = value;
}

void coll_net_make_space(struct coll_net *of)
{
	seen.spaces += of->tx_low;
	of->tx_low = false;
}

void coll_runner_kick(struct coll_runner *runner)
{
	assert(runner == &control_runner);
	seen.control_kicks++;
}

void coll_record_link(const struct coll_trace *trace, u32 peer, enum coll_link_event event,
		      int error)
{
	assert(peer == PEER);
	seen.recorded = event;
	seen.changes++;
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

const struct coll_transport coll_local;

/*
 * The transport: bytes that have come, in pieces
 */

static struct {
	u8 bytes[4 * 64 * 1024];
	u32 len, at;
	int end;
} wire;

static int test_receive(struct coll_endpoint *ep, u32 budget)
{
	u32 done = 0, n;
	int taken;

	receiving = true;
	while (wire.at < wire.len && done < budget) {
		n = min(wire.len - wire.at, random_once(2) ? budget : 1 + random_below(70));
		taken = coll_endpoint_recv(ep, wire.bytes + wire.at, n);
		if (taken <= 0)
			break;
		wire.at += taken;
		done += taken;
	}
	receiving = false;
	if (ep->error)
		return ep->error;
	return done ? (int)done : wire.end;
}

static const struct coll_transport coll_test = {
	.receive	= test_receive,
};

static void link_new(void)
{
	u32 i;

	memset(&seen, 0, sizeof(seen));
	wire.len = 0;
	wire.at = 0;
	wire.end = -EAGAIN;
	memset(&state, 0, sizeof(state));
	coll_state_init(&state, &ident, notify);
	state.value = COLLECTIVE_STATE_UP;
	kernel_ns = 100 * SECOND;
	net = (struct coll_net){
		.id = &ident, .state = &state, .charges = &charges, .control = &control_runner,
		.ops = &ops, .links = link_table,
	};
	INIT_LIST_HEAD(&net.link_list);
	coll_query_init(&net.query);
	the_link = (struct coll_link){
		.net = &net, .peer = PEER, .transport = &coll_test, .control = &conn,
		.mailboxes = mailboxes, .nmailboxes = LANES, .missed_heartbeats = 5,
		.lease = 101 * SECOND,
	};
	memset(mailboxes, 0, sizeof(mailboxes));
	for (i = 0; i < LANES; i++)
		coll_mailbox_init(&mailboxes[i], &charges);
	list_add_tail(&the_link.node, &net.link_list);
	link_table[PEER] = &the_link;
	conn = (struct coll_conn){
		.ep = { .transport = &coll_test, .ops = &coll_link_endpoint_ops },
		.net = &net, .link = &the_link, .state = COLL_CONN_OPEN,
	};
}

static bool link_end(void)
{
	u32 i;

	for (i = 0; i < LANES; i++)
		coll_mailbox_cleanup(&mailboxes[i]);
	coll_query_cleanup(&net);
	return HOLDS(!charges.bytes);
}

static void wire_put(const struct coll_control *control)
{
	assert(wire.len + COLL_CONTROL_SIZE <= sizeof(wire.bytes));
	coll_wire_put_control(wire.bytes + wire.len, control, ident.incarnation);
	wire.len += COLL_CONTROL_SIZE;
}

static void receive(void)
{
	set_bit(COLL_EVENT_READABLE, &conn.events);
	coll_link_receive(&the_link);
}

/* One frame, on its way by the transport. */
static void take(const struct coll_control *control)
{
	wire_put(control);
	receive();
}

/*
 * What each frame causes
 */

#define SIGNATURE	{ .collective = COLLECTIVE_SCAN, .algorithm = COLLECTIVE_ALGORITHM_RING }

static bool pinged(void)
{
	return HOLDS(seen.counts == 1 && seen.count == 12) && HOLDS(seen.frames == 1) &&
	       HOLDS(seen.frame.kind == COLL_CONTROL_PONG) && HOLDS(seen.frame.position == 11) &&
	       HOLDS(seen.frame.submitted == 77) && HOLDS(seen.resends == 1 && seen.parts == 16);
}

static bool ponged(void)
{
	return HOLDS(seen.counts == 1 && seen.count == 12) && HOLDS(!seen.frames) &&
	       HOLDS(!seen.resends) && HOLDS(the_link.next_rtt == 1) &&
	       HOLDS(the_link.lease == 103 * SECOND) && HOLDS(!seen.kicks);
}

static bool announced(void)
{
	return HOLDS(seen.announces == 1);
}

static bool flowed(void)
{
	return HOLDS(seen.lane_kicks[1] == 1 && !seen.lane_kicks[0]) &&
	       HOLDS(mailboxes[1].posted && !mailboxes[0].posted);
}

static bool called(void)
{
	return HOLDS(the_link.calls_instance == 10) && HOLDS(the_link.calls[1].rank == 7) &&
	       HOLDS(the_link.calls[0].rank == COLLECTIVE_RANK_NONE) && HOLDS(!seen.aborts);
}

static bool aborted(void)
{
	const struct coll_reason *reason = &seen.failure.reason;

	/* The errno is one of the reason, whatever the peer tells. */
	return HOLDS(seen.aborts == 1 && seen.aborted == 9) && HOLDS(!state.aborted) &&
	       HOLDS(reason->kind == COLLECTIVE_REASON_DEADLINE) &&
	       HOLDS(reason->error == ETIMEDOUT) && HOLDS(reason->rank_a == 7) &&
	       HOLDS(!the_link.peer_fenced);
}

static bool group_aborted(void)
{
	return HOLDS(!seen.aborts) && HOLDS(the_link.peer_fenced) && HOLDS(state.aborted) &&
	       HOLDS(state.reason.kind == COLLECTIVE_REASON_DEATH) && HOLDS(!state.reason.rank_a);
}

static bool left(void)
{
	return HOLDS(seen.left == 1) && HOLDS(the_link.peer_left) && HOLDS(!state.aborted) &&
	       HOLDS(seen.changes == 1 && seen.recorded == COLL_LINK_LEFT);
}

static bool asked(void)
{
	return HOLDS(seen.spares == 1) && HOLDS(seen.frame.kind == COLL_CONTROL_ANSWER) &&
	       HOLDS(seen.frame.answer.origin == 1) && HOLDS(seen.frame.answer.rank == RANK);
}

static bool answered(void)
{
	/* No query of this rank: the frame is dropped. */
	return HOLDS(!seen.spares) && HOLDS(!net.query.survey.nanswers);
}

#define REASON(k, e, a, b)	{ .kind = k, .error = e, .rank_a = a, .rank_b = b }

static const struct {
	struct coll_control control;
	bool (*check)(void);
} kinds[] = {
	{ { COLL_CONTROL_ANNOUNCE, .signature = SIGNATURE }, announced },
	{ { COLL_CONTROL_GRANT, .lane = 1, .instance = 9, .position = 100 }, flowed },
	{ { COLL_CONTROL_CREDIT, .lane = 1, .position = 100 }, flowed },
	{ { COLL_CONTROL_CONSUMED, .lane = 1, .position = 100 }, flowed },
	{ { COLL_CONTROL_BLOCKED, .lane = 1, .position = 100 }, flowed },
	{ { COLL_CONTROL_PING, .position = 11, .submitted = 12 }, pinged },
	{ { COLL_CONTROL_PONG, .position = 99 * SECOND, .submitted = 12 }, ponged },
	{ { COLL_CONTROL_ABORT, .instance = 9,
	    .reason = REASON(COLLECTIVE_REASON_DEADLINE, EPERM, 7, COLLECTIVE_RANK_NONE) },
	  aborted },
	{ { COLL_CONTROL_ABORT, .instance = COLL_INSTANCE_GROUP,
	    .reason = REASON(COLLECTIVE_REASON_DEATH, EPERM, 0, COLLECTIVE_RANK_NONE) },
	  group_aborted },
	{ { COLL_CONTROL_LEAVE }, left },
	{ { COLL_CONTROL_MISMATCH_CALL, .lane = 1, .instance = 9, .position = 7,
	    .signature = SIGNATURE }, called },
	{ { COLL_CONTROL_QUERY, .query = { .origin = 1, .number = 4, .hops = 1 } }, asked },
	{ { COLL_CONTROL_ANSWER, .answer = { RANK, 4, 2, COLL_ANSWER_NODE_0, "n" } }, answered },
};

static void test_kinds(void)
{
	bool good = true, had[COLL_CONTROL_KINDS] = { false };
	u32 i, kind, missed = 0;

	for (i = 0; good && i < ARRAY_SIZE(kinds); i++) {
		random_begin(i);
		link_new();
		take(&kinds[i].control);
		good = HOLDS(conn.state == COLL_CONN_OPEN) && HOLDS(!the_link.missed_heartbeats) &&
		       kinds[i].check();
		had[kinds[i].control.kind] = true;
		good = link_end() && good;
	}
	for (kind = 1; kind < COLL_CONTROL_KINDS; kind++)
		missed += !had[kind];
	tap_ok(good && !missed, "each kind of frame causes one thing, and ends silence");
}

/*
 * Frames that no correct peer sends
 */

#define MESSAGE(from, to)						\
	(COLL_INSTANCE_P2P | (u64)(to) << COLL_INSTANCE_NUMBER_BITS |	\
	 (u64)(from) << (COLL_INSTANCE_NUMBER_BITS + COLL_INSTANCE_RANK_BITS))
#define DEATH(a, b)	REASON(COLLECTIVE_REASON_DEATH, ECONNRESET, a, b)

/* The first of each pair is right, and the second one a step past the bound. */
static const struct coll_control pairs[][2] = {
	{ { COLL_CONTROL_GRANT, .lane = LANES - 1, .position = 1 },
	  { COLL_CONTROL_GRANT, .lane = LANES, .position = 1 } },
	{ { COLL_CONTROL_CREDIT, .lane = LANES - 1, .position = 1 },
	  { COLL_CONTROL_CREDIT, .lane = LANES, .position = 1 } },
	{ { COLL_CONTROL_CONSUMED, .lane = LANES - 1, .position = 1 },
	  { COLL_CONTROL_CONSUMED, .lane = LANES, .position = 1 } },
	{ { COLL_CONTROL_BLOCKED, .lane = LANES - 1, .position = 1 },
	  { COLL_CONTROL_BLOCKED, .lane = COLLECTIVE_LANES_MAX - 1, .position = 1 } },
	{ { COLL_CONTROL_PONG, .position = 100 * SECOND },
	  { COLL_CONTROL_PONG, .position = 100 * SECOND + 1 } },
	{ { COLL_CONTROL_PONG }, { COLL_CONTROL_PONG, .position = U64_MAX } },
	{ { COLL_CONTROL_MISMATCH_CALL, .instance = 1, .position = RANKS - 1,
	    .signature = SIGNATURE },
	  { COLL_CONTROL_MISMATCH_CALL, .instance = 1, .position = RANKS,
	    .signature = SIGNATURE } },
	{ { COLL_CONTROL_ABORT, .instance = 1, .reason = DEATH(RANKS - 1, 0) },
	  { COLL_CONTROL_ABORT, .instance = 1, .reason = DEATH(RANKS, 0) } },
	{ { COLL_CONTROL_ABORT, .instance = 1, .reason = DEATH(COLLECTIVE_RANK_NONE, RANKS - 1) },
	  { COLL_CONTROL_ABORT, .instance = 1, .reason = DEATH(COLLECTIVE_RANK_NONE, RANKS) } },
	{ { COLL_CONTROL_ABORT, .instance = ~0ULL, .reason = DEATH(0, COLLECTIVE_RANK_NONE) },
	  { COLL_CONTROL_ABORT, .instance = ~0ULL, .reason = DEATH(RANKS, COLLECTIVE_RANK_NONE) } },
	{ { COLL_CONTROL_ABORT, .instance = MESSAGE(PEER, RANK), .reason = DEATH(0, 1) },
	  { COLL_CONTROL_ABORT, .instance = MESSAGE(PEER, RANK + 1), .reason = DEATH(0, 1) } },
	{ { COLL_CONTROL_ABORT, .instance = MESSAGE(RANK, PEER), .reason = DEATH(0, 1) },
	  { COLL_CONTROL_ABORT, .instance = MESSAGE(RANK, RANK), .reason = DEATH(0, 1) } },
	{ { COLL_CONTROL_ABORT, .instance = MESSAGE(RANK, PEER) | COLL_INSTANCE_KEYED,
	    .reason = DEATH(0, 1) },
	  { COLL_CONTROL_ABORT, .instance = MESSAGE(PEER, PEER) | COLL_INSTANCE_KEYED,
	    .reason = DEATH(0, 1) } },
	{ { COLL_CONTROL_QUERY, .query = { .origin = RANKS - 1, .hops = 1 } },
	  { COLL_CONTROL_QUERY, .query = { .origin = RANKS, .hops = 1 } } },
	{ { COLL_CONTROL_ANSWER, .answer = { RANKS - 1, 1, 0, COLL_ANSWER_NODE_0, "n" } },
	  { COLL_CONTROL_ANSWER, .answer = { RANKS, 1, 0, COLL_ANSWER_NODE_0, "n" } } },
	{ { COLL_CONTROL_ANSWER, .answer = { 0, 1, RANKS - 1, COLL_ANSWER_NODE_0, "n" } },
	  { COLL_CONTROL_ANSWER, .answer = { 0, 1, RANKS, COLL_ANSWER_NODE_0, "n" } } },
	{ { COLL_CONTROL_LEAVE }, { .kind = COLL_CONTROL_KINDS } },
	{ { COLL_CONTROL_LEAVE }, { .kind = 0 } },
	{ { COLL_CONTROL_LEAVE }, { .kind = U8_MAX } },
};

/* Handed to the function that dispatches frames, or as bytes on the connection. */
static bool is_refused(const struct coll_control *control)
{
	static struct coll_link before;
	static struct coll_member_state state_before;
	struct seen nothing = { 0 };
	bool good;

	link_new();
	before = the_link;
	state_before = state;
	good = HOLDS(link_receive_frame(&the_link, control) == -EPROTO);
	before.missed_heartbeats = 0;
	/* The group fails below, by the end of the connection. */
	good = good && HOLDS(!memcmp(&before, &the_link, sizeof(before))) &&
	       HOLDS(!memcmp(&state_before, &state, sizeof(state))) &&
	       HOLDS(!memcmp(&nothing, &seen, sizeof(seen))) && HOLDS(!charges.bytes);
	take(control);
	return good && HOLDS(conn.state == COLL_CONN_DOWN) &&
	       HOLDS(state.reason.kind == COLLECTIVE_REASON_PROTOCOL) &&
	       HOLDS(state.reason.rank_a == PEER && state.reason.rank_b == RANK) &&
	       HOLDS(seen.kicks == 1) && HOLDS(!the_link.peer_fenced) && link_end();
}

static void test_refused(void)
{
	bool good = true;
	u32 i;

	random_begin(1);
	for (i = 0; good && i < ARRAY_SIZE(pairs); i++) {
		random_seed = i;
		link_new();
		good = HOLDS(!link_receive_frame(&the_link, &pairs[i][0]));
		good = link_end() && good && is_refused(&pairs[i][1]);
	}
	/* What a room above refuses ends the connection, too. */
	link_new();
	seen.announce_error = -EPROTO;
	take(&kinds[0].control);
	good = good && HOLDS(state.reason.kind == COLLECTIVE_REASON_PROTOCOL);
	tap_ok(good, "a frame past a bound ends the connection and changes nothing");
}

/*
 * Leases and times
 */

static bool run_leases(void)
{
	const u64 lease_ns = COLL_LEASE_BEATS * SECOND;
	u64 lease, sent;
	bool good = true, ended;
	u32 i, kicks = 0;

	link_new();
	lease = the_link.lease;
	for (i = 0; good && i < 40; i++) {
		kernel_ns += random_below(3) ? random_below(SECOND) : random_u64() % (9 * SECOND);
		if (random_once(5))
			kernel_ns = max(kernel_ns, lease + random_below(3) - 1);
		/* A PONG may have been on its way for long. */
		sent = kernel_ns - (random_once(2) ? random_below(SECOND) :
						     random_u64() % (20 * SECOND));
		ended = kernel_ns >= lease;
		take(&(struct coll_control){ COLL_CONTROL_PONG, .position = sent });
		lease = max(lease, sent + lease_ns);
		kicks += ended;
		good = HOLDS(the_link.lease == lease) && HOLDS(seen.kicks == kicks) &&
		       HOLDS(the_link.control->state == COLL_CONN_OPEN);
	}
	return link_end() && good;
}

static void test_leases(void)
{
	tap_ok(random_programs(PROGRAMS, run_leases),
	       "a lease begins with its PING, only grows, and lanes look when it had ended");
}

static void take_pong(u64 way_ns)
{
	kernel_ns += way_ns;
	take(&(struct coll_control){ COLL_CONTROL_PONG, .position = kernel_ns - way_ns });
}

static void test_times(void)
{
	static const u32 us[] = { 70, 10, 80, 20, 60, 30, 50, 40 };
	bool good = true;
	u32 i;

	random_begin(1);
	link_new();
	for (i = 0; i < ARRAY_SIZE(us); i++) {
		good = good && HOLDS(!coll_link_rtt_us(&the_link));
		take_pong(us[i] * 1000 + 999);
	}
	/* The lower median. */
	good = good && HOLDS(coll_link_rtt_us(&the_link) == 40);
	/* The oldest time, 70, is forgotten. */
	take_pong(1000);
	good = good && HOLDS(coll_link_rtt_us(&the_link) == 30);
	link_end();
	link_new();
	for (i = 0; i < COLL_LINK_RTTS; i++)
		take_pong(0);
	good = good && HOLDS(coll_link_rtt_us(&the_link) == 1);
	for (i = 0; i < COLL_LINK_RTTS; i++)
		take_pong((1ULL << 32) * 1000);
	good = good && HOLDS(coll_link_rtt_us(&the_link) == U32_MAX);
	tap_ok(link_end() && good, "the time to the peer is the lower median of the latest eight");
}

/*
 * Calls that come ahead of an ABORT
 */

static struct coll_signature some_signature(void)
{
	struct coll_signature signature = SIGNATURE;

	signature.count = random_below(1000);
	return signature;
}

/* Of which instances calls and ABORTs come is up to the peer. */
static u64 some_instance(void)
{
	static const u64 instances[] = {
		0, 1, 2, COLL_INSTANCE_KEYED, COLL_INSTANCE_KEYED - 1, MESSAGE(PEER, RANK),
		/* Nothing of the group has calls. */
		COLL_INSTANCE_GROUP - 1, COLL_INSTANCE_GROUP,
	};

	return instances[random_below(ARRAY_SIZE(instances))];
}

static bool same_call(const struct coll_rank_call *a, const struct coll_rank_call *b)
{
	return a->rank == b->rank &&
	       (a->rank == COLLECTIVE_RANK_NONE ||
		!coll_signatures_differ(&a->signature, &b->signature));
}

static bool run_calls(void)
{
	struct coll_rank_call calls[2], none = { .rank = COLLECTIVE_RANK_NONE };
	u64 instance, of = COLL_INSTANCE_GROUP;
	bool good = true, is_message;
	u32 i, slot;

	link_new();
	calls[0] = none;
	calls[1] = none;
	for (i = 0; good && i < 40; i++) {
		instance = some_instance();
		is_message = instance & COLL_INSTANCE_P2P && instance != MESSAGE(PEER, RANK);
		if (random_once(3)) {
			if (is_message)
				continue;
			take(&(struct coll_control){
				COLL_CONTROL_ABORT, .instance = instance,
				.reason = REASON(COLLECTIVE_REASON_MISMATCH, EBADMSG, 1, 2),
			});
			if (of != instance || of == COLL_INSTANCE_GROUP) {
				calls[0] = none;
				calls[1] = none;
			}
			good = HOLDS(seen.aborted == instance) &&
			       HOLDS(same_call(&calls[0], &seen.failure.calls[0])) &&
			       HOLDS(same_call(&calls[1], &seen.failure.calls[1]));
			/* They are told once. */
			of = COLL_INSTANCE_GROUP;
			continue;
		}
		slot = random_below(2);
		if (instance != of) {
			calls[0] = none;
			calls[1] = none;
		}
		of = instance;
		calls[slot] = (struct coll_rank_call){ random_below(RANKS), some_signature() };
		take(&(struct coll_control){
			COLL_CONTROL_MISMATCH_CALL, .lane = slot, .instance = instance,
			.position = calls[slot].rank, .signature = calls[slot].signature,
		});
	}
	return link_end() && good && HOLDS(conn.state == COLL_CONN_OPEN);
}

static void test_calls(void)
{
	tap_ok(random_programs(PROGRAMS, run_calls),
	       "an ABORT tells the calls of its own operation, once");
}

/*
 * Turns: pauses, budgets and events
 */

static void test_turns(void)
{
	const struct coll_control ping = { COLL_CONTROL_PING };
	const u32 turn = DIV_ROUND_UP(COLL_CONTROL_BUDGET, COLL_CONTROL_SIZE);
	bool good;
	u32 i;

	random_begin(1);
	link_new();
	for (i = 0; i < 3; i++)
		wire_put(&ping);
	/* Nothing is received without an event. */
	coll_link_receive(&the_link);
	good = HOLDS(!seen.frames);
	/* Each answer leaves a ring low, and space is made before the next frame. */
	answers_lower = true;
	set_bit(COLL_EVENT_READABLE, &conn.events);
	for (i = 1; i <= 3; i++) {
		net.tx_pending = false;
		coll_link_receive(&the_link);
		good = good && HOLDS(seen.frames == i && seen.spaces == i - 1) &&
		       HOLDS(net.tx_pending) &&
		       HOLDS(test_bit(COLL_EVENT_READABLE, &conn.events));
	}
	answers_lower = false;
	good = link_end() && good;
	/* A peer that sends all the time has its turn. */
	link_new();
	for (i = 0; i < 2 * turn; i++)
		wire_put(&ping);
	receive();
	good = good && HOLDS(seen.frames >= turn - 1 && seen.frames <= turn + 2) &&
	       HOLDS(seen.resends == 1) && HOLDS(net.tx_pending) &&
	       HOLDS(test_bit(COLL_EVENT_READABLE, &conn.events));
	for (i = 0; i < 3; i++)
		coll_link_receive(&the_link);
	good = good && HOLDS(seen.frames == 2 * turn) &&
	       HOLDS(!test_bit(COLL_EVENT_READABLE, &conn.events));
	coll_endpoint_event(&conn.ep, COLL_EVENT_READABLE);
	good = good && HOLDS(seen.control_kicks == 1) &&
	       HOLDS(conn.events == BIT(COLL_EVENT_READABLE));
	tap_ok(link_end() && good, "a link takes its turn, and goes on later");
}

/*
 * The end of the control connection
 */

static bool ends(int error, bool has_left, bool is_fenced)
{
	u32 kind = COLLECTIVE_REASON_NONE, rank_a = 0, rank_b = 0;
	bool good;

	if (error == -EPROTO) {
		kind = COLLECTIVE_REASON_PROTOCOL;
		rank_a = PEER;
		rank_b = RANK;
	} else if (error == -ENOMEM || error == -EDQUOT) {
		kind = COLLECTIVE_REASON_RESOURCES;
		rank_a = RANK;
		rank_b = COLLECTIVE_RANK_NONE;
	} else if (!has_left && !is_fenced) {
		kind = COLLECTIVE_REASON_RESET;
		rank_a = RANK;
		rank_b = PEER;
	}
	link_new();
	the_link.peer_left = has_left;
	the_link.peer_fenced = is_fenced;
	wire.end = error;
	receive();
	good = HOLDS(conn.state == COLL_CONN_DOWN) && HOLDS(seen.kicks == 1) &&
	       HOLDS(seen.changes == 1 && seen.recorded == COLL_LINK_DOWN) &&
	       HOLDS(the_link.peer_fenced == (is_fenced || !error)) &&
	       HOLDS(state.reason.kind == kind && state.reason.rank_a == rank_a) &&
	       HOLDS(state.reason.rank_b == rank_b);
	return link_end() && good;
}

static void test_ends(void)
{
	static const int errors[] = {
		0, -EPROTO, -ENOMEM, -EDQUOT, -ECONNRESET, -ETIMEDOUT, -EPIPE,
	};
	bool good = true;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(errors); i++)
		for (j = 0; j < 4; j++)
			good &= ends(errors[i], j & 1, j & 2);
	link_new();
	wire.end = -EAGAIN;
	receive();
	good &= HOLDS(conn.state == COLL_CONN_OPEN && !seen.kicks);
	tap_ok(link_end() && good, "an end that nothing has told of fails the group, and says why");
}

/*
 * Anything that a peer can send
 */

static void random_bytes(void *to, u32 n)
{
	u8 *byte = to;

	while (n--)
		*byte++ = random_u64() >> 56;
}

/* Once in so many fields a number is any. */
static u32 wrong_once;

/* A number below @bound, or another one that some bound is near. */
static u64 some_number(u64 bound)
{
	const u64 numbers[] = {
		bound, bound + 1, LANES, RANKS, COLLECTIVE_RANKS_MAX - 1, COLLECTIVE_RANKS_MAX,
		kernel_ns + 1, U32_MAX, U64_MAX, random_u64(),
	};

	if (random_once(wrong_once))
		return numbers[random_below(ARRAY_SIZE(numbers))];
	return random_once(2) ? bound - 1 : random_u64() % bound;
}

static struct coll_reason some_reason(void)
{
	return (struct coll_reason){
		1 + some_number(COLLECTIVE_REASON_COUNT - 1), 1 + some_number(4095),
		some_number(RANKS), random_once(2) ? COLLECTIVE_RANK_NONE : some_number(RANKS),
	};
}

/* A part of an answer that is right, if the ranks in it are. */
static struct coll_answer_frame some_answer(void)
{
	struct coll_answer_frame frame = {
		some_number(RANKS), random_below(3), some_number(RANKS),
		some_number(COLL_ANSWER_PARTS),
	};
	struct coll_answer said = {
		.parts = BIT(COLL_ANSWER_STATE), .state = COLLECTIVE_STATE_UP, .pid = 1,
		.own_pid = 1, .oldest_opcode = COLLECTIVE_SCAN, .nwaits = 1,
		.waits = { some_number(RANKS) },
		.group = { .kind = COLLECTIVE_REASON_DEATH, .error = ECONNRESET },
		.failed = { .kind = COLLECTIVE_REASON_DEATH, .error = ECONNRESET },
		.links = { .narrow_kib = 1, .wide_kib = 1, .narrow = some_number(RANKS) },
	};

	coll_answer_add_wait(&said, some_number(RANKS), 70000);
	coll_answer_set_node(&said, "a-name-of-a-host-that-takes-three-parts-of-an-answer.example");
	if (frame.part < COLL_ANSWER_PARTS)
		coll_answer_put(frame.body, &said, frame.part);
	if (random_once(wrong_once))
		random_bytes(frame.body, COLL_ANSWER_SIZE);
	return frame;
}

/* Frames of flow control are at most once on their way, and their positions grow. */
static void take_flow(struct coll_control *control)
{
	struct coll_mailbox *mailbox = &mailboxes[control->lane % LANES];

	if (random_once(wrong_once))
		return;
	control->position = max(mailbox->credited, mailbox->consumed) + random_below(99);
	mailbox->reply = 0;
	mailbox->has_blocked = false;
}

static struct coll_control some_control(void)
{
	struct coll_control control = {
		.kind = 1 + some_number(COLL_CONTROL_KINDS - 1),
		.lane = some_number(LANES),
		.instance = some_number(COLL_INSTANCE_P2P),
		.position = some_number(RANKS),
	};

	switch (control.kind) {
	case COLL_CONTROL_MISMATCH_CALL:
	case COLL_CONTROL_ANNOUNCE:
		control.signature = some_signature();
		break;
	case COLL_CONTROL_ABORT:
		control.reason = some_reason();
		break;
	case COLL_CONTROL_CREDIT:
		take_flow(&control);
		control.credit_reply = some_number(COLL_CREDIT_REPLIES);
		break;
	case COLL_CONTROL_PING:
	case COLL_CONTROL_PONG:
		control.position = some_number(kernel_ns + 1);
		break;
	case COLL_CONTROL_QUERY:
		control.lane = 0;
		control.query = (struct coll_query){
			some_number(RANKS), random_below(3), 1 + some_number(COLL_QUERY_HOPS),
		};
		break;
	case COLL_CONTROL_ANSWER:
		control.lane = 0;
		control.answer = some_answer();
		break;
	default:
		take_flow(&control);
	}
	return control;
}

static void put_anything(void)
{
	u8 *frame = wire.bytes + wire.len;
	struct coll_control control = some_control();

	wire_put(&control);
	if (random_once(wrong_once))
		frame[random_below(COLL_CONTROL_SIZE)] ^= 1 << random_below(8);
	if (random_once(8 * wrong_once))
		random_bytes(frame, COLL_CONTROL_SIZE);
}

static bool check_state(u64 lease)
{
	u32 peer;

	for (peer = 0; peer < COLLECTIVE_RANKS_MAX; peer++)
		if (!HOLDS(test_bit(peer, state.peers_left) == (peer == PEER && seen.left)))
			return false;
	return HOLDS(the_link.lease >= lease) &&
	       HOLDS(the_link.lease <= max(lease, kernel_ns + COLL_LEASE_BEATS * SECOND)) &&
	       HOLDS(!state.aborted || rank_valid(&the_link, state.reason.rank_a)) &&
	       HOLDS(!state.aborted || rank_valid(&the_link, state.reason.rank_b)) &&
	       HOLDS(conn.state == COLL_CONN_OPEN || state.aborted || the_link.peer_left);
}

static u64 fuzz_frames;

static bool run_fuzz(void)
{
	u32 i, number;
	bool good = true;
	u64 lease;

	link_new();
	wrong_once = 4 + random_below(400);
	state.value = random_once(2) ? COLLECTIVE_STATE_UP : COLLECTIVE_STATE_CONNECTING;
	if (random_once(2))
		assert(coll_query_begin(&net, &number) == 1);
	if (random_once(4))
		charges.limit = charges.bytes + random_below(4096);
	for (i = 0; good && i < 200 && conn.state == COLL_CONN_OPEN; i++) {
		lease = the_link.lease;
		kernel_ns += random_below(SECOND);
		answers_lower = random_once(9);
		put_anything();
		receive();
		fuzz_frames++;
		good = check_state(lease);
	}
	answers_lower = false;
	charges.limit = 0;
	return link_end() && good;
}

static void test_fuzz(void)
{
	bool good = random_programs(FUZZ_PROGRAMS, run_fuzz);

	/* Most frames are such that the connection goes on. */
	good = good && HOLDS(fuzz_frames > 10 * FUZZ_PROGRAMS);
	tap_ok(good, "whatever a peer sends stays within bounds");
}

int main(void)
{
	tap_plan(0);
	test_kinds();
	test_refused();
	test_leases();
	test_times();
	test_calls();
	test_turns();
	test_ends();
	test_fuzz();
	return tap_exit();
}
