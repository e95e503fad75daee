// SPDX-License-Identifier: GPL-2.0-only
/* The parts of an answer: decoded as they were encoded, and refused if no right rank sends them. */
#include "tap.h"

#include "core/wire/answer.h"
#include "core/wire/wire.h"

#include <linux/collective.h>

static u64 state = 1;

static u32 below(u32 n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % n;
}

static bool refuses(const struct coll_answer *wrong, enum coll_answer_part part)
{
	struct coll_answer back = { };
	u8 body[COLL_ANSWER_SIZE];

	coll_answer_put(body, wrong, part);
	return coll_answer_get(body, &back, part) == -EPROTO;
}

static void test_parts(void)
{
	static const char name[] = "node-0123456789.rack-0123456789.room-0123456789.example.com.";
	struct coll_answer full = {
		.parts = (1U << COLL_ANSWER_PARTS) - 1,
		.pid = ~0U, .own_pid = 1, .state = COLLECTIVE_STATE_ABORTED, .stopped = true,
		.inflight = 512, .counted = ~0ULL >> 2,
		.has_submitted = true, .submitted_opcode = COLLECTIVE_RECV, .submitted = 1ULL << 63,
		.submit_age_ms = 12, .has_completed = true, .completed = 5,
		.completed_kind = COLLECTIVE_REASON_RESOURCES,
		.oldest_opcode = COLLECTIVE_BARRIER, .oldest_state = 3, .oldest = 6,
		.oldest_age_ms = ~0U, .nwaits = COLL_ANSWER_WAITS, .waits = { 0, 1, 1023, 7 },
		.group = { COLL_INSTANCE_GROUP, COLLECTIVE_REASON_DEATH, ECONNRESET, 3,
			   COLLECTIVE_RANK_NONE, 9 },
		.failed = { 77, COLLECTIVE_REASON_MISMATCH, EBADMSG, 1, 2, 10 },
		.called_ms = 11, .span_ms = ~0U,
		.links = { 1023, 1022, ~0U, 1, 3, ~0U, 1, 2, 1021 },
	}, back = { }, wrong;
	u8 body[COLL_ANSWER_SIZE];
	bool passed = true;
	u32 part;

	coll_answer_add_wait(&full, 1023, 70000);
	coll_answer_set_node(&full, name);
	for (part = 0; part < COLL_ANSWER_PARTS; part++) {
		coll_answer_put(body, &full, part);
		passed &= !coll_answer_get(body, &back, part);
	}
	full.heard = back.heard;
	/* Padding apart, all fields. */
	passed &= back.parts == full.parts && back.pid == full.pid &&
		  back.own_pid == full.own_pid && back.state == full.state &&
		  back.stopped && back.inflight == full.inflight &&
		  back.counted == full.counted && back.has_submitted &&
		  back.submitted_opcode == full.submitted_opcode &&
		  back.submitted == full.submitted &&
		  back.submit_age_ms == full.submit_age_ms && back.has_completed &&
		  back.completed == full.completed &&
		  back.completed_kind == full.completed_kind &&
		  back.oldest_opcode == full.oldest_opcode &&
		  back.oldest_state == full.oldest_state && back.oldest == full.oldest &&
		  back.oldest_age_ms == full.oldest_age_ms && back.nwaits == full.nwaits &&
		  !memcmp(back.waits, full.waits, sizeof(full.waits)) &&
		  !memcmp(&back.group, &full.group, sizeof(full.group)) &&
		  !memcmp(&back.failed, &full.failed, sizeof(full.failed)) &&
		  back.called_ms == full.called_ms && back.span_ms == full.span_ms &&
		  !memcmp(&back.links, &full.links, sizeof(full.links)) &&
		  back.waited_ns == 70000 && back.longest[0].rank == 1023 &&
		  !strcmp(back.node, name) && coll_answer_complete(&back);
	tap_ok(passed, "all parts of an answer are decoded as they were encoded");

	passed = true;
	wrong = full;
	wrong.state = COLLECTIVE_STATE_COUNT;
	passed &= refuses(&wrong, COLL_ANSWER_STATE);
	wrong = full;
	wrong.parts = 1U << COLL_ANSWER_LAST;
	passed &= refuses(&wrong, COLL_ANSWER_STATE);
	wrong.parts = 1U << COLL_ANSWER_PARTS | 1;
	passed &= refuses(&wrong, COLL_ANSWER_STATE);
	wrong = full;
	wrong.completed_kind = COLLECTIVE_REASON_COUNT;
	passed &= refuses(&wrong, COLL_ANSWER_LAST);
	wrong = full;
	wrong.submitted_opcode = COLLECTIVE_OPCODE_COUNT;
	passed &= refuses(&wrong, COLL_ANSWER_LAST);
	wrong = full;
	wrong.waits[3] = COLLECTIVE_RANKS_MAX;
	passed &= refuses(&wrong, COLL_ANSWER_OLDEST);
	wrong = full;
	wrong.oldest_state = 4;
	passed &= refuses(&wrong, COLL_ANSWER_OLDEST);
	wrong = full;
	wrong.group.kind = COLLECTIVE_REASON_NONE;
	passed &= refuses(&wrong, COLL_ANSWER_GROUP);
	wrong = full;
	wrong.links.far = COLLECTIVE_RANKS_MAX;
	passed &= refuses(&wrong, COLL_ANSWER_TIMES);
	wrong = full;
	wrong.links.lossy = COLLECTIVE_RANKS_MAX;
	passed &= refuses(&wrong, COLL_ANSWER_TIMES);
	wrong = full;
	wrong.links.near_us = 0;
	passed &= refuses(&wrong, COLL_ANSWER_TIMES);
	wrong = full;
	wrong.links.far_us = 0;
	passed &= refuses(&wrong, COLL_ANSWER_TIMES);
	wrong = full;
	wrong.links.narrow = COLLECTIVE_RANKS_MAX;
	passed &= refuses(&wrong, COLL_ANSWER_RATES);
	wrong = full;
	wrong.links.narrow_kib = 0;
	passed &= refuses(&wrong, COLL_ANSWER_RATES);
	wrong = full;
	wrong.links.narrow_kib = 3;
	passed &= refuses(&wrong, COLL_ANSWER_RATES);
	wrong = full;
	wrong.failed.rank_a = COLLECTIVE_RANKS_MAX;
	passed &= refuses(&wrong, COLL_ANSWER_FAILED);
	wrong = full;
	wrong.node[5] = '\033';
	passed &= refuses(&wrong, COLL_ANSWER_NODE_0);
	wrong = full;
	wrong.node[5] = '\0';
	passed &= refuses(&wrong, COLL_ANSWER_NODE_0);
	wrong.node[24] = '\0';
	passed &= refuses(&wrong, COLL_ANSWER_NODE_1);
	tap_ok(passed, "parts that no correct rank sends are refused");

	memset(&wrong, 0, sizeof(wrong));
	coll_answer_set_node(&wrong, "a\nb\033[2J\xff c");
	tap_ok(!strcmp(wrong.node, "a?b?[2J??c") && !refuses(&wrong, COLL_ANSWER_NODE_0),
	       "no character of a name controls a terminal");
}

/* An answer with waits of each rank from 0 on. */
static struct coll_answer answer_with_waits(const u64 *ns, u32 n)
{
	struct coll_answer answer = { };
	u32 i;

	for (i = 0; i < n; i++)
		coll_answer_add_wait(&answer, i, ns[i]);
	return answer;
}

static bool waits_survive(const u64 *ns, u32 n)
{
	struct coll_answer answer = answer_with_waits(ns, n), back = { };
	u64 unit = (answer.waited_ns >> 16) + 1, before = ~0ULL;
	u8 body[COLL_ANSWER_SIZE];
	u32 i;

	coll_answer_put(body, &answer, COLL_ANSWER_WAITED);
	if (coll_answer_get(body, &back, COLL_ANSWER_WAITED) || back.waited_ns != answer.waited_ns)
		return false;
	for (i = 0; i < COLL_ANSWER_WAITS; i++) {
		const struct coll_answer_wait *wait = &back.longest[i];
		u64 was = wait->rank < n ? ns[wait->rank] : 0;

		/* It is rounded down by less than a unit; those that are not named are shorter. */
		if (wait->ns > before || (wait->ns && (wait->ns > was || wait->ns + unit <= was)))
			return false;
		before = wait->ns;
	}
	for (i = 0; i < n; i++)
		if (ns[i] >= back.longest[COLL_ANSWER_WAITS - 1].ns + unit &&
		    i != back.longest[0].rank && i != back.longest[1].rank &&
		    i != back.longest[2].rank && i != back.longest[3].rank)
			return false;
	return true;
}

static void test_waits(void)
{
	static const u64 some[][6] = {
		{ 1 }, { 0, 1 }, { 65535 }, { 65536 }, { 3, 2, 1 }, { 1, 2, 3, 4, 5, 6 },
		{ 6, 6, 6, 6, 6, 6 }, { 1ULL << 53, 1 }, { 1ULL << 51, 1ULL << 51, 1ULL << 52 },
		{ 1, 1ULL << 40, 1, 1, 1, 1 }, { COLL_ANSWER_WAITED_MAX },
	};
	struct coll_answer answer;
	bool passed = true;
	u64 random[6];
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(some); i++)
		passed &= waits_survive(some[i], 6);
	for (i = 0; i < 100000; i++) {
		for (k = 0; k < 6; k++)
			random[k] = ((u64)below(1U << 31) << 20) >> below(52);
		random[below(6)] |= 1;
		passed &= waits_survive(random, 6);
	}
	tap_ok(passed, "the longest waits are decoded as they were encoded, to a 65536th of all");

	/* What is too long for an answer is left out, and the rest is still valid. */
	answer = answer_with_waits((const u64[]){ ~0ULL, 1, 2 }, 3);
	tap_ok(answer.waited_ns == COLL_ANSWER_WAITED_MAX && !refuses(&answer, COLL_ANSWER_WAITED),
	       "waits of centuries are cut");
	answer = answer_with_waits((const u64[]){ 0, 0 }, 2);
	tap_ok(!answer.parts, "a rank that has not waited sends no waits");
}

/* The bytes of the part: the sum, and a rank with units of the sum, four times. */
static bool refuses_waits(u64 sum, const u16 *longest)
{
	struct coll_answer back = { };
	u8 body[COLL_ANSWER_SIZE];

	memcpy(body, &sum, sizeof(sum));
	memcpy(body + sizeof(sum), longest, sizeof(body) - sizeof(sum));
	return coll_answer_get(body, &back, COLL_ANSWER_WAITED) == -EPROTO;
}

static void test_wrong_waits(void)
{
	bool passed = !refuses_waits(100, (const u16[8]) { 1, 60, 2, 40 });

	passed &= refuses_waits(0, (const u16[8]) { 0 });
	passed &= refuses_waits(COLL_ANSWER_WAITED_MAX + 1, (const u16[8]) { 0 });
	passed &= refuses_waits(~0ULL, (const u16[8]) { 1, 0xffff });
	passed &= refuses_waits(100, (const u16[8]) { 1, 101 });
	passed &= refuses_waits(100, (const u16[8]) { 1, 60, 2, 41 });
	passed &= refuses_waits(100, (const u16[8]) { 1, 40, 2, 60 });
	passed &= refuses_waits(100, (const u16[8]) { COLLECTIVE_RANKS_MAX, 60 });
	passed &= refuses_waits(100, (const u16[8]) { 1, 60, 5, 0 });
	passed &= refuses_waits(100, (const u16[8]) { 1, 0, 2, 1 });
	tap_ok(passed, "waits that do not add up are refused");
}

int main(void)
{
	tap_plan(0);
	test_parts();
	test_waits();
	test_wrong_waits();
	return tap_exit();
}
