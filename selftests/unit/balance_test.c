// SPDX-License-Identifier: GPL-2.0-only
/*
 * The balance of counts that only two ranks know.  Every rank computes it, whatever the order
 * in which announcements arrive.  It is 0 if and only if all counts match.
 */
#include <stdlib.h>

#include "core/match/balance.h"
#include "tap.h"

#define RANKS	1024

static u64 state = 1;

static u64 random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

static u32 random_below(u32 n)
{
	return (random64() >> 32) * n >> 32;
}

static u32 rounds_of(u32 n)
{
	u32 rounds = 0;

	while (1U << rounds < n)
		rounds++;
	return rounds;
}

/**
 * struct announcer - a rank that announces its call
 * @own: the rank's own term of the balance
 * @received: the balance received in each round
 * @known: bit k: the announcement of round k has arrived
 * @rounds_sent: number of rounds that the rank has announced in
 */
static struct announcer {
	u64 own;
	struct coll_balance received[COLL_ROUNDS_MAX];
	u32 known;
	u32 rounds_sent;
} announcers[RANKS];

static const struct coll_signature paired = {
	.collective = COLLECTIVE_ALLTOALL, .algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.flags = COLLECTIVE_F_VECTOR,
};

/*
 * Announce in all rounds.  A random one of the ranks that may announce does so, and its
 * announcement arrives at once.
 *
 * Return: false if no rank may announce, or an announcement is wrong.
 */
static bool announce_all(u32 n)
{
	static u32 able[RANKS];
	u32 rounds = rounds_of(n), r, nable, sent = 0;

	for (r = 0; r < n; r++) {
		announcers[r].known = 0;
		announcers[r].rounds_sent = 0;
		memset(announcers[r].received, 0xa5, sizeof(announcers[r].received));
	}
	while (sent < n * rounds) {
		struct coll_signature signature = paired;
		struct announcer *t, *to;

		for (nable = 0, r = 0; r < n; r++) {
			u32 needed = (1U << announcers[r].rounds_sent) - 1;

			if (announcers[r].rounds_sent < rounds &&
			    (announcers[r].known & needed) == needed)
				able[nable++] = r;
		}
		if (!nable)
			return false;
		r = able[random_below(nable)];
		t = &announcers[r];
		to = &announcers[(r + (1U << t->rounds_sent)) % n];
		coll_balance_put(t->received, t->own, n, t->rounds_sent, &signature);
		to->received[t->rounds_sent] = coll_balance_get(&signature);
		to->known |= 1U << t->rounds_sent;
		if (signature.count || signature.layout)
			return false;
		t->rounds_sent++;
		sent++;
	}
	return true;
}

static bool all_have(u32 n, u64 total)
{
	u32 r;

	for (r = 0; r < n; r++)
		if (coll_balance_total(announcers[r].received, announcers[r].own, n) != total)
			return false;
	return true;
}

static void test_sums(void)
{
	static const u32 large[] = { 127, 128, 129, 255, 500, 513 };
	bool passed = true;
	u32 n, i, r;

	for (i = 0; i < 69 + ARRAY_SIZE(large) && passed; i++) {
		u64 total = 0;

		n = i < 69 ? i + 2 : large[i - 69];
		for (r = 0; r < n; r++) {
			announcers[r].own = random64();
			total += announcers[r].own;
		}
		passed &= announce_all(n) && all_have(n, total);
	}
	tap_ok(passed, "every rank has the sum of all terms");
}

/**
 * struct table - counts by sender and receiver
 * @sent: the counts as the sender called
 * @expected: the counts as the receiver called
 * @first: offsets of the blocks that the plans refer to, by rank; sent, received; elements
 */
#define TABLE	20
static struct table {
	u64 sent[TABLE][TABLE];
	u64 expected[TABLE][TABLE];
	u64 first[TABLE][2][TABLE + 1];
} table;

static struct coll_plan plan_of(u8 collective, u32 n, u32 rank, u32 root)
{
	u64 *send = table.first[rank][0], *recv = table.first[rank][1];
	struct coll_plan plan = {
		.collective = collective, .rank = rank, .root = root, .nranks = n,
		.size = 4, .nlanes = 1, .vector = true,
	};
	u32 i;

	send[0] = 0;
	recv[0] = 0;
	for (i = 0; i < n; i++) {
		send[i + 1] = send[i] + table.sent[rank][i];
		recv[i + 1] = recv[i] + table.expected[i][rank];
	}
	if (collective == COLLECTIVE_ALLTOALL || (collective == COLLECTIVE_SCATTER && rank == root))
		plan.send_first = send;
	if (collective == COLLECTIVE_ALLTOALL || (collective == COLLECTIVE_GATHER && rank == root))
		plan.recv_first = recv;
	if (collective == COLLECTIVE_GATHER)
		plan.count = table.sent[rank][root];
	if (collective == COLLECTIVE_SCATTER)
		plan.count = table.expected[root][rank];
	return plan;
}

/* Return: a random count of any magnitude, 0 for one of three. */
static u64 any_count(void)
{
	return random64() >> (24 + random_below(40)) & (random_below(3) ? ~0ULL : 0);
}

static void table_fill(u32 n)
{
	u32 i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++)
			table.sent[i][k] = any_count();
	memcpy(table.expected, table.sent, sizeof(table.sent));
}

static u64 table_total(u8 collective, u32 n, u32 root)
{
	u64 total = 0;
	u32 r;

	for (r = 0; r < n; r++) {
		struct coll_plan plan = plan_of(collective, n, r, root);

		total += coll_balance_own(&plan);
	}
	return total;
}

/* Return: true if the two ranks of the pair that differs, and no others, find both counts. */
static bool table_found(u8 collective, u32 n, u32 root, u64 total, u32 from, u32 to)
{
	u32 r;

	for (r = 0; r < n; r++) {
		struct coll_plan plan = plan_of(collective, n, r, root);
		struct coll_imbalance found;
		bool one = r == from || r == to;

		if (coll_balance_find(&plan, total, &found) != one)
			return false;
		if (one && (found.from != from || found.to != to ||
			    found.sent != table.sent[from][to] ||
			    found.expected != table.expected[from][to]))
			return false;
	}
	return true;
}

/* Return: a count that differs from @count. */
static u64 other_count(u64 count)
{
	u64 other;

	do {
		switch (random_below(4)) {
		case 0:
			other = 0;
			break;
		case 1:
			other = count + 1;
			break;
		case 2:
			other = count / 2;
			break;
		default:
			other = any_count();
		}
	} while (other == count);
	return other;
}

static void test_pairs(u8 collective, const char *name)
{
	bool matching = true, differing = true, found = true, several = true;
	u32 round;

	for (round = 0; round < 3000; round++) {
		u32 n = 2 + random_below(TABLE - 1), root = random_below(n), k;
		u32 from = random_below(n), to = (from + 1 + random_below(n - 1)) % n;
		u64 total;

		if (collective == COLLECTIVE_GATHER && from == root)
			swap(from, to);
		if (collective == COLLECTIVE_GATHER)
			to = root;
		if (collective == COLLECTIVE_SCATTER && to == root)
			swap(from, to);
		if (collective == COLLECTIVE_SCATTER)
			from = root;
		table_fill(n);
		matching &= !table_total(collective, n, root);

		if (random_below(2))
			table.sent[from][to] = other_count(table.sent[from][to]);
		else
			table.expected[from][to] = other_count(table.expected[from][to]);
		total = table_total(collective, n, root);
		differing &= total != 0;
		found &= table_found(collective, n, root, total, from, to);

		for (k = random_below(10); k; k--) {
			u32 r = random_below(n);

			if (r == root)
				continue;
			if (collective != COLLECTIVE_GATHER)
				table.sent[root][r] = other_count(table.sent[root][r]);
			else
				table.sent[r][root] = other_count(table.sent[r][root]);
		}
		for (k = 0; k < n * n; k++)
			if (table.sent[k / n][k % n] != table.expected[k / n][k % n])
				break;
		if (k < n * n)
			several &= table_total(collective, n, root) != 0;
	}
	tap_ok(matching, "%s: the balance is 0 if all counts match", name);
	tap_ok(differing, "%s: the balance is not 0 if the counts of one pair differ", name);
	tap_ok(found, "%s: the two ranks find their counts, and only they do", name);
	tap_ok(several, "%s: the balance is not 0 if several pairs differ", name);
}

/* A difference in one direction does not cancel the opposite one in the other direction. */
static void test_swapped(void)
{
	struct table *t = &table;

	memset(t, 0, sizeof(*t));
	t->sent[0][1] = 5;
	t->expected[1][0] = 5;
	t->sent[1][0] = 7;
	t->expected[0][1] = 7;
	tap_ok(table_total(COLLECTIVE_ALLTOALL, 2, 0), "5 for 7, and 7 for 5, do not cancel");
	t->sent[1][0] = 5;
	t->expected[0][1] = 5;
	tap_ok(!table_total(COLLECTIVE_ALLTOALL, 2, 0), "5 for 5 both ways: the balance is 0");
}

static void test_signatures(void)
{
	struct coll_signature s = paired, other;
	struct coll_balance balance;

	s.count = 3;
	s.layout = 4;
	other = s;
	balance = coll_balance_get(&s);
	tap_ok(balance.window == 3 && balance.rest == 4 && !s.count && !s.layout,
	       "an announcement carries both sums");
	other.collective = COLLECTIVE_ALLGATHER;
	balance = coll_balance_get(&other);
	tap_ok(!balance.window && !balance.rest && other.count == 3 && other.layout == 4,
	       "no balance if all ranks know all counts");
	other.collective = COLLECTIVE_SCATTER;
	other.flags |= COLLECTIVE_F_VARLEN;
	balance = coll_balance_get(&other);
	tap_ok(!balance.window && other.count == 3, "no balance if the sender decides the lengths");
	other.flags = 0;
	tap_ok(!coll_signature_paired(&other), "no balance if all blocks have one length");
}

int main(void)
{
	tap_plan(0);
	test_sums();
	test_pairs(COLLECTIVE_GATHER, "gather");
	test_pairs(COLLECTIVE_SCATTER, "scatter");
	test_pairs(COLLECTIVE_ALLTOALL, "alltoall");
	test_swapped();
	test_signatures();
	return tap_exit();
}
