// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state of a member and the reason of its failure (fail/member_state.c): which reason wins, in
 * every order, until when, and what is told of it.
 */
#include "fail/member_state.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	20000
#define STEPS		12
#define RANKS		5

static struct coll_ident ident = { .rank = 2, .nranks = RANKS, .heartbeat_ms = 1000 };
static struct coll_member_state state;
static u32 notified, recorded, told_aborted, told_left;

/* What the room below does */

void coll_record_state(const struct coll_trace *trace, enum collective_state from,
		       enum collective_state to)
{
	assert(to > from);
}

void coll_record_abort(const struct coll_trace *trace, const struct coll_reason *reason)
{
	recorded++;
}

void coll_notices_init(struct coll_notices *notices)
{
}

void coll_notice_post(struct coll_notices *notices, const struct coll_notice *notice)
{
	told_aborted += notice->kind == COLLECTIVE_EVENT_KIND_ABORTED;
	told_left += notice->kind == COLLECTIVE_EVENT_KIND_LEFT;
	/* Programs hear of a reason that does not change any more. */
	assert(notice->kind != COLLECTIVE_EVENT_KIND_ABORTED ||
	       (notice->reason.kind && notice->state == COLLECTIVE_STATE_ABORTED));
}

static void notify(struct coll_member_state *of)
{
	assert(of == &state && of->lock.held && of->aborted);
	notified++;
}

static void state_new(enum collective_state value)
{
	memset(&state, 0, sizeof(state));
	coll_state_init(&state, &ident, notify);
	state.value = value;
	kernel_ns = 5000000000;
	notified = 0;
	recorded = 0;
	told_aborted = 0;
	told_left = 0;
}

static struct coll_reason some_reason(void)
{
	u32 kind = 1 + random_below(COLLECTIVE_REASON_COUNT - 1);

	return (struct coll_reason){
		.kind = kind,
		.error = random_once(9) ? random_u64() : -coll_reason_error(kind),
		.rank_a = random_once(9) ? COLLECTIVE_RANK_NONE : random_below(RANKS),
		.rank_b = random_once(9) ? COLLECTIVE_RANK_NONE : random_below(RANKS),
	};
}

static bool same(const struct coll_reason *a, const struct coll_reason *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static u64 settle_ms(u32 kind)
{
	return kind == COLLECTIVE_REASON_RESET || kind == COLLECTIVE_REASON_SILENCE ? 100 : 25;
}

/*
 * The reason that should stand after another one is reported: the lowest kind, then the lowest
 * rank, until the time of the standing one is over.
 */
static struct coll_reason winner(const struct coll_reason *standing, struct coll_reason reported,
				 u64 since_ns)
{
	u32 gone = COLLECTIVE_RANK_NONE;

	if (standing->kind && kernel_ns >= since_ns + settle_ms(standing->kind) * 1000000)
		return *standing;
	if (reported.kind == COLLECTIVE_REASON_RESET) {
		if (reported.rank_b < RANKS && test_bit(reported.rank_b, state.peers_left))
			gone = reported.rank_b;
		if (reported.rank_a < RANKS && test_bit(reported.rank_a, state.peers_left))
			gone = reported.rank_a;
	}
	if (gone != COLLECTIVE_RANK_NONE)
		reported = (struct coll_reason){ COLLECTIVE_REASON_LEFT, ECONNRESET, gone,
						 ident.rank };
	/* This rank ends because its group has failed. */
	if (standing->kind && reported.rank_a == ident.rank &&
	    (reported.kind == COLLECTIVE_REASON_DEATH || reported.kind == COLLECTIVE_REASON_LEFT))
		return *standing;
	if (!standing->kind || reported.kind < standing->kind ||
	    (reported.kind == standing->kind && reported.rank_a < standing->rank_a))
		return reported;
	return *standing;
}

static bool check_error(void)
{
	const struct coll_reason *reason = &state.reason;
	int error = -(int)reason->error;

	if (reason->kind == COLLECTIVE_REASON_CANCELLED ||
	    (reason->kind == COLLECTIVE_REASON_LEFT && reason->rank_a == ident.rank))
		error = -ECANCELED;
	return HOLDS(state.aborted == (reason->kind ? error : 0));
}

static bool run_program(void)
{
	struct coll_reason standing = { 0 }, reported, next;
	u64 since = 0;
	u32 step, changes = 0;
	bool good = true;

	state_new(COLLECTIVE_STATE_UP);
	for (step = 0; good && step < STEPS; step++) {
		kernel_ns += random_once(3) ? 0 : random_below(40) * 1000000 + random_below(2);
		if (random_once(6)) {
			set_bit(random_below(RANKS), state.peers_left);
			reported = standing;
			coll_state_peer_left(&state);
			if (!standing.kind)
				continue;
		} else {
			reported = some_reason();
			/* Every caller gives an errno: coll_reason_error_told(). */
			if (!reported.error)
				reported.error = EPROTO;
			coll_state_fail(&state, &reported);
		}
		next = winner(&standing, reported, since);
		if (!standing.kind)
			since = kernel_ns;
		changes += !same(&next, &standing);
		standing = next;
		good = HOLDS(same(&state.reason, &standing)) && HOLDS(state.aborted_at == since) &&
		       HOLDS(state.settled_at == since + settle_ms(standing.kind) * 1000000) &&
		       HOLDS(notified == changes) && HOLDS(recorded == changes) &&
		       HOLDS(state.value == COLLECTIVE_STATE_ABORTED) && check_error() &&
		       HOLDS(!state.lock.held);
		coll_state_tell(&state);
		good = good && HOLDS(told_aborted == coll_state_is_final(&state, kernel_ns));
	}
	coll_state_tell_end(&state);
	return good && HOLDS(told_aborted == !!standing.kind) && HOLDS(told_left == 1);
}

static void test_programs(void)
{
	tap_ok(random_programs(PROGRAMS, run_program),
	       "the strongest reason stands, until its time is over");
}

/* All ranks that hear of the same failures in time report the same one. */
static void test_orders(void)
{
	struct coll_reason reasons[4], first = { 0 };
	u32 i, order, left[4], n;
	bool good = true;
	u64 seed;

	for (seed = 1; good && seed <= 500; seed++) {
		random_begin(seed);
		for (i = 0; i < 4; i++) {
			reasons[i] = some_reason();
			/* What this rank does itself differs from rank to rank. */
			if (reasons[i].rank_a == ident.rank)
				reasons[i].rank_a = 0;
		}
		for (order = 0; order < 24; order++) {
			state_new(COLLECTIVE_STATE_CONNECTING);
			for (i = 0; i < 4; i++)
				left[i] = i;
			for (i = 4, n = order; i; n /= i--) {
				coll_state_fail(&state, &reasons[left[n % i]]);
				left[n % i] = left[i - 1];
			}
			if (!order)
				first = state.reason;
			good = good && HOLDS(state.reason.kind == first.kind) &&
			       HOLDS(state.reason.rank_a == first.rank_a);
		}
	}
	tap_ok(good, "the order of reasons makes no difference");
}

static void test_refused(void)
{
	u32 value;
	bool good = true;

	for (value = 0; value < COLLECTIVE_STATE_COUNT; value++) {
		bool takes = value != COLLECTIVE_STATE_NEW && value != COLLECTIVE_STATE_LEFT;

		state_new(value);
		if (value == COLLECTIVE_STATE_ABORTED)
			continue;
		coll_state_fail_kind(&state, COLLECTIVE_REASON_RESET, 1, 2);
		good &= !!state.aborted == takes && notified == takes;
		state_new(value);
		state.stopped = true;
		coll_state_fail_kind(&state, COLLECTIVE_REASON_RESET, 1, 2);
		good &= !state.aborted && !notified;
	}
	tap_ok(good, "a file without a rank and one that is closed take no reason");
}

/* A peer chooses an errno only among those of its reason. */
static void test_told_errors(void)
{
	static const u32 breaches[] = { EACCES, EOPNOTSUPP, EPROTONOSUPPORT };
	struct coll_reason reason;
	bool good = true;
	u32 error, i;

	for (reason.kind = 0; reason.kind < COLLECTIVE_REASON_COUNT + 2; reason.kind++) {
		for (error = 0; error < 300; error++) {
			int expected = coll_reason_error(reason.kind);

			reason.error = error;
			for (i = 0; i < ARRAY_SIZE(breaches); i++)
				if (reason.kind == COLLECTIVE_REASON_PROTOCOL &&
				    error == breaches[i])
					expected = -(int)error;
			good &= coll_reason_error_told(&reason) == expected && expected < 0;
		}
		reason.error = ~0U;
		good &= coll_reason_error_told(&reason) == coll_reason_error(reason.kind);
	}
	tap_ok(good, "any errno that a peer tells becomes one of its reason");
}

static void test_fence(void)
{
	bool good;

	state_new(COLLECTIVE_STATE_UP);
	ident.heartbeat_ms = COLLECTIVE_HEARTBEAT_MAX_MS;
	coll_state_fail_kind(&state, COLLECTIVE_REASON_DEATH, 1, COLLECTIVE_RANK_NONE);
	good = !coll_state_leases_expired(&state, kernel_ns + 300000000000ULL - 1) &&
	       coll_state_leases_expired(&state, kernel_ns + 300000000000ULL) &&
	       !coll_state_is_final(&state, kernel_ns + 24999999) &&
	       coll_state_is_final(&state, kernel_ns + 25000000);
	ident.heartbeat_ms = 1000;
	tap_ok(good, "the fence and the settle time end when they should");
}

int main(void)
{
	tap_plan(0);
	test_programs();
	test_orders();
	test_refused();
	test_told_errors();
	test_fence();
	return tap_exit();
}
