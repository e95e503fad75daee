// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times of collectives: histograms, and the ranks that were waited for.
 *
 * Operations complete meanwhile, so a message may be ahead of one of its figures by an operation.
 * While its group is locked, a table that exists keeps its memory.
 */
#include "member/member.h"
#include "netlink/family.h"
#include "op/times.h"

/* Ranks that a message names as waited for: with full histograms it still fits a page. */
#define TIME_WAITS	16

static int put_bucket(struct sk_buff *skb, u32 i, u64 count)
{
	struct nlattr *nest;

	if (!count)
		return 0;
	nest = nla_nest_start(skb, COLLECTIVE_A_HISTOGRAM_BUCKET);
	if (!nest || (i < COLL_TIME_COUNTS - 1 &&
		      nla_put_uint(skb, COLLECTIVE_A_BUCKET_LIMIT_NS,
				   BIT_ULL(COLL_TIME_SHIFT + i))) ||
	    nla_put_uint(skb, COLLECTIVE_A_BUCKET_COUNT, count))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_histogram(struct sk_buff *skb, int attr, const struct coll_histogram *histogram)
{
	struct nlattr *nest = nla_nest_start(skb, attr);
	u32 i;

	if (!nest ||
	    nla_put_uint(skb, COLLECTIVE_A_HISTOGRAM_SUM_NS, u64_stats_read(&histogram->sum)))
		return -EMSGSIZE;
	for (i = 0; i < COLL_TIME_COUNTS; i++)
		if (put_bucket(skb, i, u64_stats_read(&histogram->count[i])))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * struct time_wait - a rank that was waited for
 * @peer: the rank
 * @ns: for so long
 */
struct time_wait {
	u32 peer;
	u64 ns;
};

/* Insert a rank into those that were waited for longest.  Return: number of them. */
static u32 insert_wait(struct time_wait *waits, u32 n, u32 peer, u64 ns)
{
	u32 i = n < TIME_WAITS ? n++ : n - 1;

	/* A place that is not taken yet has 0. */
	if (waits[i].ns >= ns)
		return n;
	for (; i && waits[i - 1].ns < ns; i--)
		waits[i] = waits[i - 1];
	waits[i] = (struct time_wait){ .peer = peer, .ns = ns };
	return n;
}

/**
 * coll_put_wait() - add a rank that was waited for
 * @skb: the message
 * @attr: number of the attribute
 * @peer: the rank
 * @ns: for so long
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_wait(struct sk_buff *skb, int attr, u32 peer, u64 ns)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || nla_put_u32(skb, COLLECTIVE_A_WAIT_PEER, peer) ||
	    nla_put_uint(skb, COLLECTIVE_A_WAIT_NS, ns))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_waits(struct sk_buff *skb, const struct coll_times *times, u32 nranks)
{
	struct time_wait waits[TIME_WAITS] = {};
	u32 peer, i, n = 0;
	u64 ns, sum = 0;

	for (peer = 0; peer < nranks; peer++) {
		ns = atomic64_read(&times->waited[peer]);
		sum += ns;
		if (ns)
			n = insert_wait(waits, n, peer, ns);
	}
	if (nla_put_uint(skb, COLLECTIVE_A_TIME_WAITED_NS, sum))
		return -EMSGSIZE;
	for (i = 0; i < n; i++)
		if (coll_put_wait(skb, COLLECTIVE_A_TIME_WAITED, waits[i].peer, waits[i].ns))
			return -EMSGSIZE;
	return 0;
}

static int put_time(struct coll_message *message, const struct coll_ident *id, u32 opcode,
		    const struct coll_times *times)
{
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message);

	if (err)
		return err;
	err = nla_put_u32(skb, COLLECTIVE_A_TIME_RANK, id->rank) ||
	      nla_put_u32(skb, COLLECTIVE_A_TIME_OPCODE, opcode) ||
	      nla_put_uint(skb, COLLECTIVE_A_TIME_SPAN_NS,
			   READ_ONCE(times->until) - times->since) ||
	      nla_put_uint(skb, COLLECTIVE_A_TIME_LONGEST_NS, READ_ONCE(times->longest)) ||
	      put_histogram(skb, COLLECTIVE_A_TIME_LATENCY, &times->latency) ||
	      put_histogram(skb, COLLECTIVE_A_TIME_WAITING, &times->waiting) ||
	      put_histogram(skb, COLLECTIVE_A_TIME_MOVING, &times->moving) ||
	      put_waits(skb, times, id->nranks);
	return coll_message_end(message, err);
}

/**
 * coll_put_times() - add the messages of a member's collectives
 * @message: see struct coll_message
 * @dump: @item is the collective to go on with
 * @member: the member
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_times(struct coll_message *message, struct coll_dump *dump,
		   struct coll_member *member)
{
	const struct coll_times *times;
	int err;

	for (; dump->item < COLLECTIVE_OPCODE_COUNT; dump->item++) {
		/* Pairs with coll_times_new(). */
		times = smp_load_acquire(&member->requests.times[dump->item]);
		err = times ? put_time(message, &member->id, dump->item, times) : 0;
		if (err)
			return err;
	}
	return 0;
}

/*
 * All waits of a collective, in messages of TIME_WAITS ranks at most.  The longest ones alone would
 * not do for a program that subtracts: a rank that was not among them before would seem to have
 * been waited for since then only.
 */

/* Adds the next ranks that were waited for.  Return: the rank after them, or -EMSGSIZE. */
static int put_some_waits(struct sk_buff *skb, const struct coll_times *times, u32 peer,
			  u32 nranks)
{
	u32 n = 0;
	u64 ns;

	for (; peer < nranks && n < TIME_WAITS; peer++) {
		ns = atomic64_read(&times->waited[peer]);
		if (!ns)
			continue;
		if (coll_put_wait(skb, COLLECTIVE_A_TIME_WAITED, peer, ns))
			return -EMSGSIZE;
		n++;
	}
	return peer;
}

/* Return: as put_some_waits(). */
static int put_waits_from(struct coll_message *message, const struct coll_ident *id, u32 opcode,
			  const struct coll_times *times, u32 peer)
{
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message), next = peer;

	if (err)
		return err;
	err = nla_put_u32(skb, COLLECTIVE_A_TIME_RANK, id->rank) ||
	      nla_put_u32(skb, COLLECTIVE_A_TIME_OPCODE, opcode);
	if (!err)
		next = put_some_waits(skb, times, peer, id->nranks);
	err = coll_message_end(message, err || next < 0);
	return err ? err : next;
}

/**
 * coll_put_waits() - add the messages of all waits of a member's collectives
 * @message: see struct coll_message
 * @dump: @item is COLLECTIVE_RANKS_MAX times the collective to go on with, plus the rank
 * @member: the member
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_waits(struct coll_message *message, struct coll_dump *dump,
		   struct coll_member *member)
{
	u32 opcode = dump->item / COLLECTIVE_RANKS_MAX, peer = dump->item % COLLECTIVE_RANKS_MAX;
	const struct coll_times *times;
	int next;

	for (; opcode < COLLECTIVE_OPCODE_COUNT; opcode++, peer = 0) {
		/* Pairs with coll_times_new(). */
		times = smp_load_acquire(&member->requests.times[opcode]);
		while (times && peer < member->id.nranks) {
			dump->item = opcode * COLLECTIVE_RANKS_MAX + peer;
			next = put_waits_from(message, &member->id, opcode, times, peer);
			if (next < 0)
				return next;
			peer = next;
		}
	}
	return 0;
}
