// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unexpected calls and operations that have failed (op/unexpected_calls.c, fail/failed_ops.c):
 * random announcements and failures, compared with plain arrays.
 */
#include <linux/log2.h>

#include "charges_env.h"
#include "fail/failed_ops.c"
#include "net/net.h"
#include "op/unexpected_calls.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	40
#define STEPS		2500
#define KEYS		40
#define COUNTED		(3 * COLL_AHEAD_MAX)

static struct coll_charges charges;
static struct coll_ident ident = { .rank = 1, .nranks = 4 };
static struct coll_member_state state = { .id = &ident };
static struct coll_runner control;
static struct coll_net net = { .control = &control };
static struct coll_requests reqs = {
	.id = &ident, .state = &state, .net = &net, .charges = &charges,
};

/* What is known of an instance: counted ones from 0, then those with a key. */
static struct {
	bool announced;
	bool failed;
} known[COUNTED + KEYS];

static u64 called, alarm_at;
static u32 kicks;

/* What the rooms around do */

u32 coll_match_rounds(u32 nranks)
{
	return order_base_2(nranks);
}

/* No rank runs ahead here. */
bool coll_ahead_call(const struct coll_requests *of, u64 instance, struct coll_signature *signature)
{
	(void)of;
	(void)instance;
	(void)signature;
	return false;
}

u64 coll_process_called(const struct coll_requests *of)
{
	return called;
}

void coll_process_alarm(struct coll_requests *of, u64 instance)
{
	alarm_at = instance;
}

void coll_runner_kick(struct coll_runner *runner)
{
	assert(runner == &control);
	kicks++;
}

static void group_new(void)
{
	memset(known, 0, sizeof(known));
	reqs.next_instance = 0;
	called = 0;
	assert(!coll_failed_ops_setup());
	state.failed_ops = coll_failed_ops_new(&state, &charges);
	assert(state.failed_ops && !coll_unexpected_setup(&reqs));
}

static bool group_end(void)
{
	coll_unexpected_cleanup(&reqs);
	coll_failed_ops_free(state.failed_ops);
	coll_failed_ops_cleanup();
	return HOLDS(!charges.bytes);
}

static u64 instance_of(u32 i)
{
	return i < COUNTED ? i : i % 2 ? coll_instance_keyed(i) : coll_instance_p2p(0, 1, i, true);
}

/* Counted instances near the window of those that this rank may submit, or one with a key. */
static u32 some_instance(void)
{
	u32 ahead = random_once(2) ? random_below(12) : random_below(COLL_AHEAD_MAX + 4);
	u64 i = reqs.next_instance + ahead;

	if (random_once(3))
		return COUNTED + random_below(KEYS);
	if (random_once(5) && reqs.next_instance)
		i = reqs.next_instance - 1 - random_below(min(reqs.next_instance, 9ULL));
	return min(i, COUNTED - 1ULL);
}

static bool expected(u32 i)
{
	return i >= COUNTED || (i >= reqs.next_instance &&
				i < reqs.next_instance + COLL_AHEAD_MAX);
}

static bool announce(void)
{
	u32 i = some_instance();
	struct coll_call *call;
	bool fails = random_once(20);

	if (fails)
		kernel_fails_after = 1;
	call = coll_unexpected_get_or_add(&reqs, instance_of(i));
	kernel_fails_after = 0;
	if (!expected(i) || known[i].failed)
		return HOLDS(!call);
	if (IS_ERR(call))
		return HOLDS(fails) && HOLDS(PTR_ERR(call) == -ENOMEM) &&
		       HOLDS(!known[i].announced);
	if (!HOLDS(call) || !HOLDS(call->instance == instance_of(i)) ||
	    !HOLDS(known[i].announced || !call->rounds_heard))
		return false;
	call->rounds_heard |= 1;
	known[i].announced = true;
	return true;
}

static struct coll_failure failure_of(u32 i)
{
	return (struct coll_failure){
		.reason.kind = COLLECTIVE_REASON_DEADLINE,
		.reason.rank_a = i,
		.reason.rank_b = COLLECTIVE_RANK_NONE,
	};
}

/* A counted operation fails once, in flight or before its submission. */
static bool fail(void)
{
	struct coll_failure failure;
	u32 i = some_instance();
	u64 named;
	bool later;
	int err;

	if (!expected(i) && (i + COLL_INFLIGHT < reqs.next_instance || i >= reqs.next_instance))
		return true;
	failure = failure_of(i);
	alarm_at = ~0ULL;
	err = coll_unexpected_fail(&reqs, instance_of(i), &failure);
	/* Some rank has been done with it, and its failure is not kept. */
	later = i < COUNTED - COLL_AHEAD_MAX && known[i + COLL_AHEAD_MAX].failed;
	if (!HOLDS(err == (!known[i].failed && !later)))
		return false;
	if (known[i].failed)
		return HOLDS(alarm_at == ~0ULL);
	if (!HOLDS(alarm_at == (i < COUNTED ? i : ~0ULL)))
		return false;
	known[i].failed = true;
	known[i].announced = false;
	if (later)
		return true;
	/* This rank is absent, if it has not called the operation itself. */
	named = i < COUNTED && i >= called ? ident.rank : COLLECTIVE_RANK_NONE;
	return HOLDS(coll_failed_ops_find(state.failed_ops, instance_of(i))) &&
	       HOLDS(coll_failed_ops_find(state.failed_ops, instance_of(i))->reason.rank_a == i) &&
	       HOLDS(coll_failed_ops_find(state.failed_ops, instance_of(i))->reason.rank_b ==
		     named);
}

/* This rank submits the next operation, or its process has executed some. */
static bool advance(void)
{
	u64 until = reqs.next_instance + (random_once(9) ? random_below(40) : 1);

	if (until >= COUNTED - COLL_AHEAD_MAX)
		return true;
	if (until == reqs.next_instance + 1 && random_once(2)) {
		coll_unexpected_remove(&reqs, reqs.next_instance);
		known[reqs.next_instance++].announced = false;
	} else {
		while (reqs.next_instance < until)
			known[reqs.next_instance++].announced = false;
		coll_unexpected_forget(&reqs);
	}
	called = reqs.next_instance;
	return true;
}

static bool check(void)
{
	u32 i = some_instance(), announced = 0, spare = 0;
	struct coll_unexpected *unexpected = reqs.match.unexpected;
	struct coll_unexpected_call *entry;
	struct coll_call *call;

	for (u32 j = 0; j < ARRAY_SIZE(known); j++)
		announced += known[j].announced;
	hlist_for_each_entry(entry, &unexpected->spare, node)
		spare++;
	call = coll_unexpected_find(&reqs, instance_of(i));
	return HOLDS(!call == !known[i].announced) &&
	       HOLDS(coll_unexpected_expects(&reqs, instance_of(i)) == expected(i)) &&
	       HOLDS(unexpected->ncalls == announced) &&
	       HOLDS(spare <= COLL_UNEXPECTED_SPARE) &&
	       /* What is complete is not asked for. */
	       (!expected(i) || HOLDS(coll_failed_ops_has(state.failed_ops, instance_of(i)) ==
				      known[i].failed));
}

static bool run_program(void)
{
	bool good = true;
	u32 step;

	group_new();
	spin_lock(&state.lock);
	for (step = 0; good && step < STEPS; step++) {
		switch (random_below(5)) {
		case 0:
			good = fail();
			break;
		case 1:
			good = advance();
			break;
		default:
			good = announce();
		}
		good = good && (step % 8 || check());
	}
	spin_unlock(&state.lock);
	return group_end() && good;
}

static void test_programs(void)
{
	tap_ok(random_programs(PROGRAMS, run_program),
	       "calls are kept until they are submitted or fail, and failures are known");
}

/* Peers that break the protocol announce more than ranks can have in flight. */
static void test_bound(void)
{
	u32 n, most = COLL_AHEAD_MAX + COLL_CALLS_AHEAD +
		      2 * (COLL_INFLIGHT + COLL_CALLS_AHEAD) * 2;
	bool good = true;

	group_new();
	spin_lock(&state.lock);
	for (n = 0; n < most; n++)
		good &= !IS_ERR_OR_NULL(coll_unexpected_get_or_add(&reqs, coll_instance_keyed(n)));
	good &= PTR_ERR(coll_unexpected_get_or_add(&reqs, coll_instance_keyed(n))) == -EPROTO;
	/* Those that are known are found. */
	good &= !IS_ERR_OR_NULL(coll_unexpected_get_or_add(&reqs, coll_instance_keyed(n - 1)));
	coll_unexpected_remove(&reqs, coll_instance_keyed(3));
	good &= !IS_ERR_OR_NULL(coll_unexpected_get_or_add(&reqs, coll_instance_keyed(n)));
	spin_unlock(&state.lock);
	tap_ok(group_end() && good, "%u unexpected calls are kept, and no more", most);
}

static void test_failed_bound(void)
{
	u32 n, most = COLL_FAILED_MAX + COLL_INFLIGHT * ident.nranks;
	struct coll_failure failure = failure_of(1);
	bool good = true;

	group_new();
	spin_lock(&state.lock);
	for (n = 0; n < most; n++) {
		good &= coll_unexpected_full(&reqs) == (n >= COLL_FAILED_MAX);
		good &= coll_unexpected_fail(&reqs, coll_instance_keyed(n), &failure) == 1;
	}
	good &= coll_unexpected_fail(&reqs, coll_instance_keyed(n), &failure) == -EPROTO;
	good &= !coll_unexpected_fail(&reqs, coll_instance_keyed(n - 1), &failure);
	spin_unlock(&state.lock);
	tap_ok(group_end() && good, "%u failures with a key are kept, and no more", most);
}

/* A lane sees each failure of an operation that is not submitted yet, however late it looks. */
static void test_cursor(void)
{
	struct coll_failed_ops_cursor cursor = { 0 };
	u32 round, i, first = 0, keys = 0, seen = 0;
	static bool found[COUNTED + KEYS];
	struct coll_failure failure = failure_of(1);
	bool good = true;
	u64 instance;

	group_new();
	memset(found, 0, sizeof(found));
	for (round = 0; round < 3; round++) {
		spin_lock(&state.lock);
		for (i = 0; i < COLL_AHEAD_MAX - 1; i++)
			good &= coll_unexpected_fail(&reqs, reqs.next_instance + i, &failure) == 1;
		good &= coll_unexpected_fail(&reqs, coll_instance_keyed(round), &failure) == 1;
		spin_unlock(&state.lock);
		if (round == 2)
			first = reqs.next_instance;
		/* After two rounds in which the lane did not look, the ring has wrapped. */
		while (round == 2 && coll_failed_ops_next(state.failed_ops, &cursor, &instance)) {
			if (instance & COLL_INSTANCE_KEYED) {
				keys++;
				continue;
			}
			good &= instance < COUNTED && ++seen <= COLL_FAILED_AHEAD;
			if (instance < COUNTED)
				found[instance] = true;
		}
		reqs.next_instance += COLL_AHEAD_MAX - 1;
	}
	for (i = first; i < reqs.next_instance; i++)
		good &= found[i];
	tap_ok(good && keys == 3,
	       "lanes see all failures of operations that are not submitted yet");
	tap_ok(group_end(), "nothing stays charged");
}

static void test_no_memory(void)
{
	struct coll_failure failure = failure_of(1);
	bool good = true;
	u32 n, i;

	for (i = 0; i < 2; i++) {
		u64 instance = i ? coll_instance_keyed(5) : 5;

		for (n = 1; n < 5; n++) {
			group_new();
			spin_lock(&state.lock);
			kernel_fails_after = n;
			/* Slots, those ahead, and itself; or itself and its place in the table. */
			good &= coll_unexpected_fail(&reqs, instance, &failure) ==
				(n <= (i ? 2 : 3) ? -ENOMEM : 1);
			kernel_fails_after = 0;
			spin_unlock(&state.lock);
			good &= group_end();
		}
	}
	group_new();
	spin_lock(&state.lock);
	charges.limit = 1;
	good &= coll_unexpected_fail(&reqs, 5, &failure) == -EDQUOT;
	good &= coll_unexpected_fail(&reqs, coll_instance_keyed(5), &failure) == -EDQUOT;
	for (n = 0; n < COLL_UNEXPECTED_SPARE; n++)
		good &= !IS_ERR_OR_NULL(coll_unexpected_get_or_add(&reqs, n));
	good &= PTR_ERR(coll_unexpected_get_or_add(&reqs, n)) == -EDQUOT;
	charges.limit = 0;
	spin_unlock(&state.lock);
	tap_ok(group_end() && good, "without memory nothing is left");
}

/* After a failure the other ranks are told how far this one has submitted. */
static void test_told(void)
{
	struct coll_failure failure = failure_of(1);
	bool good;

	group_new();
	spin_lock(&state.lock);
	reqs.next_instance = 5000;
	kicks = 0;
	coll_unexpected_submitted(&reqs);
	good = !kicks;
	assert(coll_unexpected_fail(&reqs, 5001, &failure) == 1);
	kicks = 0;
	coll_unexpected_submitted(&reqs);
	good &= kicks && reqs.match.submitted_due;
	/* What is told is known for the others; 2^1 ranks up to this one are not heard of. */
	good &= coll_unexpected_submitted_for(&reqs, 0) == 5000;
	good &= coll_unexpected_submitted_for(&reqs, 1) == 0;
	coll_unexpected_receive_submitted(&reqs, 0, 4000);
	good &= coll_unexpected_submitted_for(&reqs, 1) == 4000;
	coll_unexpected_succeeded(&reqs, 4500);
	good &= coll_unexpected_submitted_for(&reqs, 1) == 4501;
	kicks = 0;
	coll_unexpected_submitted(&reqs);
	good &= !kicks;
	coll_unexpected_succeeded(&reqs, coll_instance_keyed(9999));
	coll_unexpected_succeeded(&reqs, 10);
	good &= coll_unexpected_submitted_for(&reqs, 1) == 4501;
	spin_unlock(&state.lock);
	tap_ok(group_end() && good, "other ranks are told how far this one is, after failures");
}

int main(void)
{
	tap_plan(0);
	test_programs();
	test_bound();
	test_failed_bound();
	test_cursor();
	test_no_memory();
	test_told();
	return tap_exit();
}
