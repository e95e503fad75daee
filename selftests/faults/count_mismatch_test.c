// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts that only two ranks know, and that differ. The operation fails with EBADMSG on every
 * rank, at once, whichever rank has more. The error names the two ranks. The group lives on.
 */
#include <collective.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/collective.h>

#include "kselftest_harness.h"
#include "lib/machine.h"
#include "lib/lib_group.h"

/* Far less than the deadline, and far more than the slowest machine needs; ms. */
#define FAIL_WITHIN_MS		8000
#define TIMEOUT_MS	60000

/* Most elements of a block, the largest block of one frame, and the largest block. */
#define BLOCK_MAX	1600000
#define BLOCK_FRAME	((16 * 65464 - 32) / 64 * 64 / 2)

/* Flags of a group: all ranks are up, an operation was called, or has ended. */
enum { FLAG_UP, FLAG_CALLED, FLAG_ENDED };

enum form {
	GATHERV,
	SCATTERV,
	ALLTOALLV,
	ALLTOALLV_IN_PLACE,	/* on one rank */
	FORMS
};

static const char * const names[FORMS] = {
	"gatherv", "scatterv", "alltoallv", "alltoallv in place",
};

/**
 * struct exchange - how much each rank sends to each, as both ends see it
 * @form: form of the operation
 * @root: root rank, or the rank that is in place
 * @waiting: true if a nonblocking form is used, followed by a wait
 * @sent: counts of the senders, by sender and receiver
 * @expected: counts of the receivers, by sender and receiver
 */
struct exchange {
	enum form form;
	int root;
	bool waiting;
	size_t sent[GROUP_RANKS_MAX][GROUP_RANKS_MAX];
	size_t expected[GROUP_RANKS_MAX][GROUP_RANKS_MAX];
};

static const size_t pairs[][2] = {
	{ 1, 0 }, { 0, 1 }, { 2, 1 }, { 1, 2 }, { 7991, 43 }, { 43, 7991 }, { 40000, 43 },
	{ 43, 40000 }, { 40000, 20000 }, { 20000, 40000 }, { 40000, 0 }, { 0, 40000 },
	{ 40000, 39999 }, { BLOCK_MAX, BLOCK_FRAME }, { BLOCK_FRAME, BLOCK_MAX },
	{ BLOCK_MAX, 0 }, { 0, BLOCK_MAX },
};

static unsigned int below(unsigned int *seed, unsigned int n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (unsigned long long)*seed * n >> 32;
}

/* Make counts that match, the same on every rank. */
static void exchange_match(struct exchange *exchange, int n, unsigned int *seed)
{
	static const size_t usual[] = { 0, 0, 1, 3, 500, 20000, 70000 };
	int i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k <= i; k++) {
			size_t one = usual[below(seed, ARRAY_SIZE(usual))];
			size_t two = usual[below(seed, ARRAY_SIZE(usual))];

			/*
			 * A rank in place has equal counts in both directions, and its own block.
			 */
			if (i == k || (exchange->form == ALLTOALLV_IN_PLACE &&
				       (i == exchange->root || k == exchange->root)))
				two = one;
			exchange->sent[i][k] = one;
			exchange->sent[k][i] = two;
			exchange->expected[i][k] = one;
			exchange->expected[k][i] = two;
		}
	}
}

static __u16 mark(int from, int to)
{
	return from << 8 | (to + 1);
}

/* Memory for all blocks of a rank, and their places. */
struct area {
	__u16 *at;
	size_t counts[GROUP_RANKS_MAX];
	size_t displs[GROUP_RANKS_MAX];
};

static void area_lay(struct area *area, int n)
{
	size_t at = 0;
	int i;

	for (i = 0; i < n; i++) {
		area->displs[i] = at;
		at += area->counts[i];
	}
}

static void area_fill(const struct area *area, int block, __u16 value)
{
	__u16 *at = area->at + area->displs[block];
	size_t i;

	for (i = 0; i < area->counts[block]; i++)
		at[i] = value;
}

static bool area_holds(const struct area *area, int block, __u16 value)
{
	const __u16 *at = area->at + area->displs[block];
	size_t i;

	for (i = 0; i < area->counts[block]; i++)
		if (at[i] != value)
			return false;
	return true;
}

static int finish(bool waiting, int err, struct coll_request *request)
{
	return err || !waiting ? err : coll_wait(request);
}

static int run_gatherv(struct lib_rank *m, const struct exchange *d, struct area *in,
		       struct area *out)
{
	size_t count = d->sent[m->rank][d->root];
	struct coll_request *request = NULL;
	int i, err;

	for (i = 0; i < m->nranks; i++)
		in->counts[i] = d->expected[i][d->root];
	area_lay(in, m->nranks);
	out->counts[0] = count;
	area_lay(out, 1);
	area_fill(out, 0, mark(m->rank, d->root));
	err = d->waiting ?
	      coll_igatherv(m->comm, out->at, count, in->at, in->counts, in->displs,
			    COLL_UINT16, d->root, &request) :
	      coll_gatherv(m->comm, out->at, count, in->at, in->counts, in->displs,
			   COLL_UINT16, d->root);
	err = finish(d->waiting, err, request);
	for (i = 0; !err && m->rank == d->root && i < m->nranks; i++)
		CHECK(area_holds(in, i, mark(i, d->root)));
	return err;
}

static int run_scatterv(struct lib_rank *m, const struct exchange *d, struct area *in,
			struct area *out)
{
	size_t count = d->expected[d->root][m->rank];
	struct coll_request *request = NULL;
	int i, err;

	for (i = 0; i < m->nranks; i++)
		out->counts[i] = d->sent[d->root][i];
	area_lay(out, m->nranks);
	for (i = 0; i < m->nranks; i++)
		area_fill(out, i, mark(d->root, i));
	in->counts[0] = count;
	area_lay(in, 1);
	err = d->waiting ?
	      coll_iscatterv(m->comm, out->at, out->counts, out->displs, in->at, count,
			     COLL_UINT16, d->root, &request) :
	      coll_scatterv(m->comm, out->at, out->counts, out->displs, in->at, count,
			    COLL_UINT16, d->root);
	err = finish(d->waiting, err, request);
	if (!err)
		CHECK(area_holds(in, 0, mark(d->root, m->rank)));
	return err;
}

static int run_alltoallv(struct lib_rank *m, const struct exchange *d, struct area *in,
			 struct area *out)
{
	bool in_place = d->form == ALLTOALLV_IN_PLACE && m->rank == d->root;
	struct coll_request *request = NULL;
	const void *send = in_place ? COLL_IN_PLACE : out->at;
	int i, err;

	for (i = 0; i < m->nranks; i++) {
		out->counts[i] = d->sent[m->rank][i];
		in->counts[i] = d->expected[i][m->rank];
	}
	area_lay(out, m->nranks);
	area_lay(in, m->nranks);
	for (i = 0; i < m->nranks; i++)
		area_fill(in_place ? in : out, i, mark(m->rank, i));
	err = d->waiting ?
	      coll_ialltoallv(m->comm, send, out->counts, out->displs, in->at, in->counts,
			      in->displs, COLL_UINT16, &request) :
	      coll_alltoallv(m->comm, send, out->counts, out->displs, in->at, in->counts,
			     in->displs, COLL_UINT16);
	err = finish(d->waiting, err, request);
	for (i = 0; !err && i < m->nranks; i++)
		CHECK(area_holds(in, i, mark(i, m->rank)));
	return err;
}

static int exchange_run(struct lib_rank *me, const struct exchange *exchange, struct area *in,
			struct area *out)
{
	switch (exchange->form) {
	case GATHERV:
		return run_gatherv(me, exchange, in, out);
	case SCATTERV:
		return run_scatterv(me, exchange, in, out);
	default:
		return run_alltoallv(me, exchange, in, out);
	}
}

/* Choose the sender and the receiver of the pair that will have different counts. */
static void exchange_pick(const struct exchange *exchange, int n, unsigned int *seed, int *from,
			  int *to)
{
	int other = (exchange->root + 1 + below(seed, n - 1)) % n;
	bool back = below(seed, 2);

	*from = exchange->root;
	*to = other;
	if (exchange->form == GATHERV || (exchange->form > SCATTERV && back)) {
		*from = other;
		*to = exchange->root;
	}
	if (exchange->form == ALLTOALLV) {
		*from = below(seed, n);
		*to = (*from + 1 + below(seed, n - 1)) % n;
	}
}

/* Check that all ranks fail at once and name the two ranks. */
static int exchange_differs(struct lib_rank *me, const struct exchange *exchange, struct area *in,
			    struct area *out, int from, int to, bool named)
{
	const char *detail;
	__u64 begun;
	char text[32];

	CHECK_EQ(0, coll_barrier(me->comm));
	begun = now_ms();
	CHECK_EQ(-EBADMSG, exchange_run(me, exchange, in, out));
	CHECK(now_ms() - begun < FAIL_WITHIN_MS);
	detail = coll_error_detail(me->comm);
	if (named && (me->rank == from || me->rank == to)) {
		snprintf(text, sizeof(text), "rank %d and rank %d ", from, to);
		CHECK(strstr(detail, text));
		snprintf(text, sizeof(text), " %zu uint16", exchange->sent[from][to]);
		CHECK(strstr(detail, text));
		snprintf(text, sizeof(text), " %zu uint16", exchange->expected[from][to]);
		CHECK(strstr(detail, text));
	} else {
		CHECK(strstr(detail, "rank"));
	}
	return 0;
}

/* True if a count of this rank, in place, is also that of the other direction. */
static bool is_coupled(const struct exchange *exchange, int rank)
{
	return exchange->form == ALLTOALLV_IN_PLACE && exchange->root == rank;
}

static int rank_every_pair(struct lib_rank *me)
{
	struct area in = { 0 }, out = { 0 };
	unsigned int seed = me->nranks, i, round;
	__u64 begun;
	int from, to;

	in.at = calloc(4 * BLOCK_MAX, sizeof(*in.at));
	out.at = calloc(4 * BLOCK_MAX, sizeof(*out.at));
	CHECK(in.at && out.at);
	for (round = 0; round < FORMS * ARRAY_SIZE(pairs); round++) {
		struct exchange exchange = { .form = round % FORMS, .waiting = below(&seed, 2) };
		bool named = true;

		i = round / FORMS;
		exchange.root = below(&seed, me->nranks);
		exchange_match(&exchange, me->nranks, &seed);
		/* No heartbeat comes in time to make up for an event that was lost. */
		begun = now_ms();
		CHECK_EQ(0, exchange_run(me, &exchange, &in, &out));
		CHECK(now_ms() - begun < FAIL_WITHIN_MS);
		exchange_pick(&exchange, me->nranks, &seed, &from, &to);
		exchange.sent[from][to] = pairs[i][0];
		exchange.expected[from][to] = pairs[i][1];
		/*
		 * Then the other direction differs as well, unless the other rank is changed,
		 * too.
		 */
		if (is_coupled(&exchange, from)) {
			exchange.expected[to][from] = exchange.sent[from][to];
			if (below(&seed, 2))
				exchange.sent[to][from] = exchange.expected[to][from];
			else
				named = exchange.sent[to][from] == exchange.expected[to][from];
		} else if (is_coupled(&exchange, to)) {
			exchange.sent[to][from] = exchange.expected[from][to];
			if (below(&seed, 2))
				exchange.expected[to][from] = exchange.sent[to][from];
			else
				named = exchange.sent[to][from] == exchange.expected[to][from];
		}
		if (exchange_differs(me, &exchange, &in, &out, from, to, named)) {
			dprintf(STDOUT_FILENO, "# rank %d of %d: %s, root %d: ", me->rank,
				me->nranks, names[exchange.form], exchange.root);
			dprintf(STDOUT_FILENO, "rank %d sends %zu, rank %d expects %zu: %s\n", from,
				exchange.sent[from][to], to, exchange.expected[from][to],
				coll_error_detail(me->comm));
			return 1;
		}
	}
	free(in.at);
	free(out.at);
	return 0;
}

FIXTURE(count_mismatch) {
};

FIXTURE_VARIANT(count_mismatch) {
	unsigned int nranks;
	int lanes;
};

FIXTURE_VARIANT_ADD(count_mismatch, two) { .nranks = 2 };
FIXTURE_VARIANT_ADD(count_mismatch, three) { .nranks = 3, .lanes = 3 };
FIXTURE_VARIANT_ADD(count_mismatch, four) { .nranks = 4 };
FIXTURE_VARIANT_ADD(count_mismatch, five) { .nranks = 5, .lanes = 2 };
FIXTURE_VARIANT_ADD(count_mismatch, seven) { .nranks = 7 };

FIXTURE_SETUP(count_mismatch)
{
	if (variant->nranks > max_ranks())
		SKIP((void)0, "left to User-Mode Linux");
}

FIXTURE_TEARDOWN(count_mismatch) {}

TEST_F_TIMEOUT(count_mismatch, every_pair, 200)
{
	struct coll_config config = {
		.size = sizeof(config), .lanes = variant->lanes, .timeout_ms = TIMEOUT_MS,
		.heartbeat_ms = 4 * FAIL_WITHIN_MS,
	};

	EXPECT_EQ(0, lib_group_run(variant->nranks, &config, rank_every_pair, NULL));
}

/*
 * Several pairs differ, or one pair in both directions. Ranks only need to report a mismatch, not
 * which.
 */
static int rank_several(struct lib_rank *me)
{
	struct area in = { 0 }, out = { 0 };
	unsigned int seed = 77 * me->nranks, round, k;

	in.at = calloc(4 * BLOCK_MAX, sizeof(*in.at));
	out.at = calloc(4 * BLOCK_MAX, sizeof(*out.at));
	CHECK(in.at && out.at);
	for (round = 0; round < 60; round++) {
		struct exchange exchange = { .form = round % ALLTOALLV_IN_PLACE };
		int from, to;

		exchange.root = below(&seed, me->nranks);
		exchange_match(&exchange, me->nranks, &seed);
		for (k = below(&seed, 4) + 2; k; k--) {
			exchange_pick(&exchange, me->nranks, &seed, &from, &to);
			exchange.sent[from][to] = exchange.expected[from][to] + k;
		}
		if (exchange_differs(me, &exchange, &in, &out, -1, -1, false))
			return 1;
	}
	CHECK_EQ(0, coll_barrier(me->comm));
	free(in.at);
	free(out.at);
	return 0;
}

TEST_F_TIMEOUT(count_mismatch, several_pairs, 200)
{
	struct coll_config config = {
		.size = sizeof(config), .lanes = variant->lanes, .timeout_ms = TIMEOUT_MS,
		.heartbeat_ms = 4 * FAIL_WITHIN_MS,
	};

	EXPECT_EQ(0, lib_group_run(variant->nranks, &config, rank_several, NULL));
}

/*
 * Many operations at once, of which some differ. Each ends according to its own counts, also if
 * its keys are submitted in another order on each rank. Then many are announced before they are
 * submitted.
 */
#define MANY	24

/* Fill in operation @i as this rank calls it. */
static int many_fill(const struct lib_rank *me, unsigned int i, struct area *in, struct area *out)
{
	struct exchange exchange = { .form = ALLTOALLV };
	unsigned int seed = 5 * me->nranks + 1000 * i;
	int k;

	exchange_match(&exchange, me->nranks, &seed);
	if (i % 3 == 1)
		exchange.sent[1][0] = exchange.expected[1][0] + 1 + i;
	if (i % 3 == 2)
		exchange.sent[0][1] = exchange.expected[0][1] ? 0 : 3;
	for (k = 0; k < me->nranks; k++) {
		out->counts[k] = exchange.sent[me->rank][k];
		in->counts[k] = exchange.expected[k][me->rank];
	}
	area_lay(in, me->nranks);
	area_lay(out, me->nranks);
	in->at = calloc(me->nranks * 80000, sizeof(__u16));
	out->at = calloc(me->nranks * 80000, sizeof(__u16));
	CHECK(in->at && out->at);
	return 0;
}

static int many_begin(struct lib_rank *me, unsigned int i, bool keyed, struct area *in,
		      struct area *out, struct coll_request **request)
{
	struct collective_layout layout = {
		.size = sizeof(layout),
		.send_counts = (uintptr_t)out->counts,
		.recv_counts = (uintptr_t)in->counts,
	};
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLTOALL,
		.type = COLLECTIVE_UINT16,
		.flags = COLLECTIVE_F_VECTOR | COLLECTIVE_F_KEYED,
		.key = i,
		.send = (uintptr_t)out->at,
		.recv = (uintptr_t)in->at,
		.layout = (uintptr_t)&layout,
	};

	if (keyed)
		return coll_isubmit(me->comm, &op, request);
	return coll_ialltoallv(me->comm, out->at, out->counts, out->displs, in->at, in->counts,
			       in->displs, COLL_UINT16, request);
}

static int many_run(struct lib_rank *me, bool keyed)
{
	struct coll_request *request[MANY];
	struct area in[MANY], out[MANY];
	unsigned int i, at;

	for (i = 0; i < MANY; i++) {
		at = keyed ? (i * 7 + me->rank * 11) % MANY : i;
		CHECK_EQ(0, many_fill(me, at, &in[at], &out[at]));
		CHECK_EQ(0, many_begin(me, at, keyed, &in[at], &out[at], &request[at]));
	}
	for (i = 0; i < MANY; i++) {
		CHECK_EQ(i % 3 ? -EBADMSG : 0, coll_wait(request[i]));
		free(in[i].at);
		free(out[i].at);
	}
	return coll_barrier(me->comm);
}

static int rank_many(struct lib_rank *me)
{
	return many_run(me, false) ?: many_run(me, true);
}

TEST_F_TIMEOUT(count_mismatch, many_at_once, 100)
{
	struct coll_config config = {
		.size = sizeof(config), .lanes = variant->lanes, .timeout_ms = TIMEOUT_MS,
		.heartbeat_ms = 4 * FAIL_WITHIN_MS,
	};

	EXPECT_EQ(0, lib_group_run(variant->nranks, &config, rank_many, NULL));
}

/* Counts that all ranks know, in all forms that have any. */
static int rank_all_know(struct lib_rank *me)
{
	size_t counts[GROUP_RANKS_MAX], shape[] = { 10 };
	const struct coll_view view = { .rows = 1, .stride = 100, .distance = 100 };
	__u32 *send = calloc(8000, 4), *recv = calloc(8000, 4);
	int i, is_last = me->rank == me->nranks - 1;

	CHECK(send && recv);
	for (i = 0; i < me->nranks; i++)
		counts[i] = 10;
	counts[0] = is_last ? 0 : 10;
	CHECK_EQ(-EBADMSG, coll_allgatherv(me->comm, send, counts[me->rank], recv, counts,
					   NULL, COLL_UINT32));
	CHECK_EQ(-EBADMSG, coll_reduce_scatterv(me->comm, send, NULL, recv, counts,
						COLL_UINT32, COLL_SUM));
	for (i = 0; i < 2; i++) {
		size_t count = is_last == i ? 0 : 10;

		CHECK_EQ(-EBADMSG, coll_allgather_view(me->comm, send, NULL, recv, &view, count,
						       COLL_UINT32));
		CHECK_EQ(-EBADMSG, coll_reduce_scatter_view(me->comm, send, &view, recv, NULL,
							    count, COLL_UINT32, COLL_SUM));
		CHECK_EQ(-EBADMSG, coll_alltoall_view(me->comm, send, &view, recv, &view, count,
						      COLL_UINT32));
		shape[0] = count;
		CHECK_EQ(-EBADMSG, coll_allgather_axis(me->comm, send, recv, shape, 1, 0,
						       COLL_UINT32));
		CHECK_EQ(-EBADMSG, coll_reduce_scatter_axis(me->comm, send, recv, shape, 1, 0,
							    COLL_UINT32, COLL_SUM));
	}
	CHECK_EQ(0, coll_barrier(me->comm));
	return 0;
}

TEST_F_TIMEOUT(count_mismatch, all_know, 100)
{
	struct coll_config config = { .size = sizeof(config), .timeout_ms = TIMEOUT_MS };

	EXPECT_EQ(0, lib_group_run(variant->nranks, &config, rank_all_know, NULL));
}

/*
 * A rank leaves that a receive needs, while no rank can say yet whether the counts of an earlier
 * operation match: two have not called it, and do not before the receive has ended.
 */
static int rank_left_meanwhile(struct lib_rank *me)
{
	struct coll_request *exchange, *receive;
	size_t counts[4] = { 1, 1, 1, 1 };
	__u32 in[4], out[4] = { 0 }, message;

	/* A rank that still connects would see the one that leaves. */
	CHECK(flag_barrier(me->shared, FLAG_UP, 4));
	if (me->rank == 1)
		return !flag_wait(me->shared, FLAG_CALLED, 1, TIMEOUT_MS);
	if (me->rank)
		return !flag_wait(me->shared, FLAG_ENDED, 1, TIMEOUT_MS);
	CHECK_EQ(0, coll_ialltoallv(me->comm, out, counts, NULL, in, counts, NULL, COLL_UINT32,
				    &exchange));
	CHECK_EQ(0, coll_irecv(me->comm, &message, 1, COLL_UINT32, 1, 0, &receive));
	flag_set(me->shared, FLAG_CALLED, 1);
	CHECK_EQ(-ECONNRESET, coll_wait(receive));
	flag_set(me->shared, FLAG_ENDED, 1);
	CHECK_EQ(-ECONNRESET, coll_wait(exchange));
	return 0;
}

TEST(left_meanwhile)
{
	struct coll_config config = { .size = sizeof(config), .timeout_ms = TIMEOUT_MS / 4 };

	EXPECT_EQ(0, lib_group_run(4, &config, rank_left_meanwhile, NULL));
}

TEST_HARNESS_MAIN
