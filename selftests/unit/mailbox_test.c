// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mailboxes (net/mailbox.c): what peers send, compared with what the lane takes.
 */
#include "charges_env.h"
#include "net/mailbox.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	400
#define STEPS		300
#define INSTANCES	40

static struct coll_charges charges;
static struct coll_mailbox mailbox;
static struct coll_stream stream;

/**
 * struct known - what was put in and not taken
 * @granted: by instance: a grant waits
 * @limit: by instance: its latest limit
 * @consumed: the latest position
 * @credited: likewise
 * @reply: a reply waits
 * @blocked: position of BLOCKED, if it waits
 * @has_blocked: it waits
 */
static struct known {
	bool granted[INSTANCES];
	u64 limit[INSTANCES];
	u64 consumed;
	u64 credited;
	u8 reply;
	u64 blocked;
	bool has_blocked;
} known;

static bool taken_well;
static u32 taken;

/* The stream: checks what it is given. */

int coll_stream_granted(struct coll_stream *of, u64 instance, u64 limit, u64 digest)
{
	taken_well &= HOLDS(instance < INSTANCES) && HOLDS(known.granted[instance]) &&
		      HOLDS(limit == known.limit[instance]) && HOLDS(digest == limit * 7);
	known.granted[instance % INSTANCES] = false;
	taken++;
	return 0;
}

int coll_stream_consumed(struct coll_stream *of, u64 position)
{
	taken_well &= HOLDS(!of->by_reference) && HOLDS(position == known.consumed);
	return 0;
}

int coll_stream_credited(struct coll_stream *of, u64 position, u8 reply)
{
	taken_well &= HOLDS(position == known.credited) && HOLDS(reply == known.reply);
	known.reply = 0;
	return 0;
}

int coll_stream_blocked(struct coll_stream *of, u64 position)
{
	taken_well &= HOLDS(known.has_blocked) && HOLDS(position == known.blocked);
	known.has_blocked = false;
	return 0;
}

static void mailbox_new(void)
{
	memset(&mailbox, 0, sizeof(mailbox));
	memset(&known, 0, sizeof(known));
	coll_mailbox_init(&mailbox, &charges);
	taken_well = true;
	taken = 0;
}

static int put(u8 kind, u64 instance, u64 position, u8 reply)
{
	struct coll_control control = {
		.kind = kind,
		.instance = instance,
		.position = position,
	};

	if (kind == COLL_CONTROL_GRANT)
		control.digest = position * 7;
	if (kind == COLL_CONTROL_CREDIT)
		control.credit_reply = reply;
	return coll_mailbox_put(&mailbox, &control);
}

static bool put_some(void)
{
	u64 position = random_below(100);
	u32 i = random_below(INSTANCES);

	switch (random_below(4)) {
	case 0:
		kernel_fails_after = random_once(3);
		if (put(COLL_CONTROL_GRANT, i, position, 0)) {
			bool failed = kernel_fails_after;

			kernel_fails_after = 0;
			return HOLDS(failed) && HOLDS(!known.granted[i]);
		}
		kernel_fails_after = 0;
		known.granted[i] = true;
		known.limit[i] = position;
		return true;
	case 1:
		position += known.consumed;
		known.consumed = position;
		return HOLDS(!put(COLL_CONTROL_CONSUMED, 0, position, 0));
	case 2:
		position += known.credited;
		known.credited = position;
		if (random_once(2) && !known.reply)
			known.reply = 1 + random_below(2);
		else
			return HOLDS(!put(COLL_CONTROL_CREDIT, 0, position, 0));
		return HOLDS(!put(COLL_CONTROL_CREDIT, 0, position, known.reply));
	default:
		if (known.has_blocked)
			return HOLDS(put(COLL_CONTROL_BLOCKED, 0, position, 0) == -EPROTO);
		known.blocked = position;
		known.has_blocked = true;
		return HOLDS(!put(COLL_CONTROL_BLOCKED, 0, position, 0));
	}
}

static bool take_some(void)
{
	u32 most = random_below(6), more, i, waiting = 0, before = taken;

	for (i = 0; i < INSTANCES; i++)
		waiting += known.granted[i];
	stream.by_reference = random_once(2);
	if (!HOLDS(!coll_mailbox_take(&mailbox, &stream, most, &more)))
		return false;
	return HOLDS(taken - before == min(most, waiting)) &&
	       HOLDS(more == waiting - (taken - before)) &&
	       HOLDS(coll_mailbox_posted(&mailbox) == !!more) && HOLDS(!known.has_blocked) &&
	       HOLDS(!known.reply) && taken_well;
}

static bool mailbox_end(void)
{
	bool charged = charges.bytes == mailbox.size * sizeof(*mailbox.grants);

	coll_mailbox_cleanup(&mailbox);
	return HOLDS(charged) && HOLDS(!charges.bytes);
}

static void test_programs(void)
{
	bool good = true;
	u32 step;
	u64 seed;

	for (seed = 1; good && seed <= PROGRAMS; seed++) {
		random_begin(seed);
		mailbox_new();
		for (step = 0; good && step < STEPS; step++)
			good = random_once(4) ? take_some() : put_some();
		good = mailbox_end() && good;
	}
	tap_ok(good, "the lane takes each grant once, with its latest limit, and all positions");
}

static void test_bound(void)
{
	bool good = true;
	u32 i, more;

	mailbox_new();
	for (i = 0; i < COLL_MAILBOX_MOST; i++)
		good &= !put(COLL_CONTROL_GRANT, i << 20, 1, 0);
	good &= put(COLL_CONTROL_GRANT, i << 20, 1, 0) == -EPROTO;
	/* One that is there needs no more space. */
	good &= !put(COLL_CONTROL_GRANT, 5 << 20, 2, 0);
	tap_ok(good && mailbox.size == COLL_MAILBOX_MOST, "%u grants are kept, and no more",
	       COLL_MAILBOX_MOST);
	good = mailbox_end();
	mailbox_new();
	charges.limit = 1;
	good &= put(COLL_CONTROL_GRANT, 0, 1, 0) == -EDQUOT && !mailbox.size;
	charges.limit = 0;
	good &= !coll_mailbox_take(&mailbox, &stream, 9, &more) && !more;
	tap_ok(mailbox_end() && good, "without memory nothing is left");
}

static void test_breaches(void)
{
	bool good = true;

	mailbox_new();
	good &= !put(COLL_CONTROL_CREDIT, 0, 10, 0) && !put(COLL_CONTROL_CREDIT, 0, 10, 0);
	good &= put(COLL_CONTROL_CREDIT, 0, 9, 0) == -EPROTO;
	mailbox_new();
	good &= !put(COLL_CONTROL_CONSUMED, 0, ~0ULL, 0);
	good &= put(COLL_CONTROL_CONSUMED, 0, 0, 0) == -EPROTO;
	mailbox_new();
	good &= !put(COLL_CONTROL_CREDIT, 0, 1, 1);
	good &= put(COLL_CONTROL_CREDIT, 0, 2, 1) == -EPROTO;
	tap_ok(good, "positions that fall and second replies break the protocol");
}

int main(void)
{
	tap_plan(0);
	test_programs();
	test_bound();
	test_breaches();
	return tap_exit();
}
