// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ranks that an operation waits for (op/awaited_ranks.c), with all parts, peers and stages: a
 * rank is named once, and no more than there is space for.
 */
#include <linux/err.h>

#include "charges_env.h"
#include "net/link.h"
#include "op/awaited_ranks.c"
#include "op/match.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	30000
#define PARTS		8
#define RANKS		20
#define SPACE		12
#define GUARD		0xdeadbeef

static struct coll_ident ident;
static struct coll_member_state state;
static struct coll_requests reqs;
static struct coll_request *request;
static struct coll_stream streams[PARTS];
static const struct coll_schedule schedule;

/* struct found - the ranks that should be named, in their order */
struct found {
	u32 ranks[PARTS + 1];
	u32 n;
};

static void find(struct found *found, u32 rank)
{
	u32 i;

	if (rank == ident.rank || rank >= ident.nranks)
		return;
	for (i = 0; i < found->n; i++)
		if (found->ranks[i] == rank)
			return;
	found->ranks[found->n++] = rank;
}

static u32 some_rank(void)
{
	return random_once(9) ? COLL_NO_RANK : random_below(ident.nranks + random_once(9));
}

/* A task that waits for a rank, in each way that a lane leaves it.  Return: this rank. */
static u32 some_task(struct coll_task *task, struct coll_stream *stream)
{
	u32 rank = some_rank();

	*task = (struct coll_task){
		.schedule = &schedule, .nsteps = 5, .rx_step = 5, .tx_step = 5,
		.stopped_by = COLL_NO_RANK, .rx = { .from = some_rank() },
		.tx = { .to = some_rank() },
	};
	switch (random_below(5)) {
	case 0:
		task->rx_step = random_below(5);
		task->tx_step = random_below(6);
		task->rx.from = rank;
		return rank;
	case 1:
		task->tx_step = random_below(5);
		task->tx.to = rank;
		return rank;
	case 2:
		/* All is sent, and one peer may still read it. */
		stream->peer = rank;
		task->zc_ref[random_below(COLL_ZC_REFS)].stream = stream;
		return rank;
	case 3:
		task->rx_step = 0;
		task->state = COLL_TASK_STOPPED;
		task->stopped_by = rank;
		/* A task that is stopped by no rank waits as others do. */
		return rank == COLL_NO_RANK ? task->rx.from : rank;
	default:
		/* It has not started. */
		*task = (struct coll_task){ };
		return COLL_NO_RANK;
	}
}

/* The ranks before this one at distances that are powers of two announce the call to it. */
static u32 first_unheard(void)
{
	u32 round;

	for (round = 0; 1U << round < ident.nranks; round++)
		if (!(request->call.rounds_heard >> round & 1))
			return (ident.rank + ident.nranks - (1U << round)) % ident.nranks;
	return COLL_NO_RANK;
}

static struct found some_request(void)
{
	static const u8 stages[] = {
		COLL_REQUEST_QUEUED, COLL_REQUEST_STARTED, COLL_REQUEST_STARTED,
		COLL_REQUEST_STARTED,
	};
	struct found found = { .n = 0 };
	u32 i, awaited[PARTS];
	bool waits;

	ident.nranks = 1 + random_below(RANKS);
	ident.rank = random_below(ident.nranks);
	memset(request, 0, sizeof(*request));
	request->reqs = &reqs;
	request->nparts = random_below(PARTS + 1);
	request->stage = stages[random_below(ARRAY_SIZE(stages))];
	request->match = random_below(COLL_MATCH_PENDING + 1);
	request->call.rounds_heard = random_u64();
	request->plan.collective = random_once(4) ? COLLECTIVE_SEND : COLLECTIVE_ALLREDUCE;
	request->plan.root = some_rank();
	atomic_set(&request->parts_pending, random_below(4));
	for (i = 0; i < request->nparts; i++)
		awaited[i] = some_task(&request->part[i].task, &streams[i]);
	waits = request->stage == COLL_REQUEST_STARTED && atomic_read(&request->parts_pending);
	if (waits && request->plan.collective == COLLECTIVE_SEND) {
		find(&found, request->plan.root);
	} else if (waits) {
		if (request->match == COLL_MATCH_PENDING)
			find(&found, first_unheard());
		for (i = 0; i < request->nparts; i++)
			find(&found, awaited[i]);
	}
	return found;
}

static bool run_program(void)
{
	u32 ranks[SPACE], n, i, max = random_below(SPACE);
	struct found found = some_request();

	for (i = 0; i < SPACE; i++)
		ranks[i] = GUARD;
	n = coll_request_waits(request, ranks, max);
	if (!HOLDS(n == min(found.n, max)))
		return false;
	/* In this order: the call that is missing is the reason of what parts wait for. */
	for (i = 0; i < SPACE; i++)
		if (!HOLDS(ranks[i] == (i < n ? found.ranks[i] : GUARD)))
			return false;
	return true;
}

static void test_programs(void)
{
	bool good;

	spin_lock(&state.lock);
	good = random_programs(PROGRAMS, run_program);
	spin_unlock(&state.lock);
	tap_ok(good, "a request names each rank that it waits for once, as far as there is space");
}

int main(void)
{
	tap_plan(0);
	spin_lock_init(&state.lock);
	reqs.id = &ident;
	reqs.state = &state;
	request = calloc(1, sizeof(*request) + PARTS * sizeof(struct coll_part));
	test_programs();
	free(request);
	return tap_exit();
}
