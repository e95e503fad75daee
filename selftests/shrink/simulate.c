// SPDX-License-Identifier: GPL-2.0-only
/*
 * coll_shrink() with time: the real state machine, and a network with delays, loss and
 * partitions, which drop or reject. Ranks die, are stopped, are late and call again. There is one
 * group, and none after its end. If nothing prevents it, all ranks have it after their first call.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shrink/pace.h"
#include "tap.h"

#define RANKS_MAX	5
#define TIMEOUT_MS	8000
#define END_MS		60000
#define QUEUE_MAX	4096
#define MAILBOX_MAX	100	/* the smallest socket buffer holds some hundreds */
#define TEXT_SIZE	100

enum plan_kind {
	PLAN_NONE,		/* no failure */
	PLAN_DEATHS,		/* ranks die before and during the calls */
	PLAN_STOPPED,		/* one rank does not answer for a while */
	PLAN_MISSED,		/* one rank does not answer until the others have ended */
	PLAN_SILENT,		/* ranks fall silent before and during the calls */
	PLAN_REJECTED,		/* two parts of the group reject each other's datagrams */
	PLAN_AGAIN,		/* the call of one rank ends early, and it calls again */
	PLAN_ALL,		/* any of these */
};

/**
 * struct node - a rank
 * @agree: state machine under test
 * @pace: timers under test
 * @peers: peers of @pace
 * @alive: true if it has not died
 * @calling: true if it is in coll_shrink()
 * @over: true if its old group has failed, or was left
 * @blamed: true if the modules know of its death
 * @held: true if a client has its port, or a child its socket, so that packets are not refused
 * @call_at: time of its next call
 * @calls: number of calls left
 * @end_at: time at which its call ends, unless it has ended before
 * @die_at: time of its death
 * @stop_at: time at which it is stopped
 * @wake_at: time at which it continues
 * @wakes: time of its next timer
 * @connect: true if the CONNECT of @joined is in progress
 * @joined: number of the group that it has joined; 0: none
 * @returned: number of the group with which it has returned; 0: none
 * @members: ranks of that group
 * @first: result of its first call; 1: not yet returned
 * @box: messages received but not read
 * @nbox: number of messages in @box
 */
struct node {
	struct coll_agree agree;
	struct coll_pace pace;
	struct coll_pace_peer peers[RANKS_MAX];
	bool alive;
	bool calling;
	bool over;
	bool blamed;
	bool held;
	uint64_t call_at;
	unsigned int calls;
	uint64_t end_at;
	uint64_t die_at;
	uint64_t stop_at;
	uint64_t wake_at;
	uint64_t wakes;
	bool connect;
	uint64_t joined;
	struct coll_ranks connect_members;
	uint64_t connect_since;
	uint64_t returned;
	struct coll_ranks members;
	int first;
	struct coll_agree_message box[MAILBOX_MAX];
	unsigned int nbox;
};

/* A packet in flight. @refused: an error for its sender. */
struct packet {
	uint64_t at;
	bool refused;
	struct coll_agree_message message;
};

struct sim {
	enum plan_kind plan;
	unsigned int nranks;
	struct node node[RANKS_MAX];
	struct packet queue[QUEUE_MAX];
	unsigned int nqueue;
	uint64_t now;
	uint64_t rng;
	unsigned int loss;		/* of 1000 */
	unsigned int delay;
	uint64_t cut_at;
	uint64_t mend_at;
	unsigned int side;		/* ranks on one side of the cut, a mask */
	bool rejects;			/* packets across the cut are refused, and not dropped */
	bool verbose;
};

static struct sim sim;

static uint64_t rng(uint64_t below)
{
	uint64_t x = sim.rng += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (x ^ x >> 31) % below;
}

static struct node *node_of(void *env)
{
	return &sim.node[(uintptr_t)env];
}

static unsigned int rank_of(const struct node *node)
{
	return node - sim.node;
}

static bool stopped(const struct node *node)
{
	return sim.now >= node->stop_at && sim.now < node->wake_at;
}

static bool cut(unsigned int a, unsigned int b)
{
	return sim.now >= sim.cut_at && sim.now < sim.mend_at &&
	       (sim.side >> a & 1) != (sim.side >> b & 1);
}

static void put(const struct coll_agree_message *message, bool refused)
{
	const bool is_cut = cut(message->from, message->to);

	if (sim.nqueue == QUEUE_MAX || rng(1000) < sim.loss || (is_cut && !sim.rejects))
		return;
	refused |= is_cut;
	sim.queue[sim.nqueue++] = (struct packet){
		.at = sim.now + rng(sim.delay + 1),
		.refused = refused,
		.message = *message,
	};
}

/*
 * The operations of a rank
 */

static void op_send(void *env, const struct coll_agree_message *said)
{
	struct coll_agree_message message = *said;

	coll_pace_stamp(&node_of(env)->pace, sim.now, &message);
	put(&message, false);
}

static int op_join(void *env, const struct coll_value *value)
{
	struct node *node = node_of(env);

	node->joined = value->id;
	node->connect = false;
	return 0;
}

static void op_connect(void *env)
{
	struct node *node = node_of(env);

	node->connect = true;
	node->connect_since = sim.now;
	node->connect_members = node->agree.formed.members;
}

static void op_abandon(void *env)
{
	struct node *node = node_of(env);

	node->joined = 0;
	node->connect = false;
}

static int op_leave(void *env)
{
	node_of(env)->over = true;
	return 0;
}

static uint64_t op_number(void *env)
{
	(void)env;
	return rng(~0ULL) + 1;
}

static const struct coll_agree_ops ops = {
	.send = op_send,
	.join = op_join,
	.connect = op_connect,
	.abandon = op_abandon,
	.leave = op_leave,
	.number = op_number,
};

/*
 * Events
 */

/* The module connects a group when all members have joined; it reports which one has not. */
static void try_connect(struct node *node)
{
	const uint64_t id = node->agree.formed.id;
	bool all = true, lost = false;
	unsigned int rank;

	for (rank = 0; rank < sim.nranks; rank++) {
		const struct node *other = &sim.node[rank];

		if (!coll_ranks_has(&node->connect_members, rank))
			continue;
		if (!other->alive || (other->joined != id && other->agree.promised >
						node->agree.form_ballot))
			lost = true;
		else if (other->joined != id || other->agree.form < COLL_FORM_CONNECTING)
			all = false;
	}
	if (lost || sim.now >= node->connect_since + TIMEOUT_MS / 4) {
		node->connect = false;
		coll_agree_connected(&node->agree, lost ? -ECONNRESET : -ETIMEDOUT);
	} else if (all && sim.now >= node->connect_since + 3) {
		node->connect = false;
		coll_agree_connected(&node->agree, 0);
	}
}

static void say(const struct node *node, const char *text, int number)
{
	if (sim.verbose)
		printf("# %5llu rank %u: %s %d\n", (unsigned long long)sim.now, rank_of(node),
		       text, number);
}

static void take(struct node *node, const struct coll_agree_message *message)
{
	if (sim.verbose && message->kind > COLL_AGREE_ALIVE)
		printf("# %5llu %u <- %u kind %d ballot %llu.%u\n",
		       (unsigned long long)sim.now, message->to, message->from, message->kind,
		       (unsigned long long)message->ballot >> 32,
		       coll_ballot_rank(message->ballot));
	coll_pace_receive(&node->pace, sim.now, message);
}

static void read_box(struct node *node)
{
	unsigned int i;

	for (i = 0; i < node->nbox; i++)
		take(node, &node->box[i]);
	node->nbox = 0;
}

/* The module knows which rank died, once this rank's group has failed. */
static void look_at_module(struct node *node)
{
	unsigned int rank;

	for (rank = 0; rank < sim.nranks; rank++)
		if (sim.node[rank].blamed && sim.now > sim.node[rank].die_at + 5)
			coll_agree_lost(&node->agree, rank);
}

static void arrive(const struct packet *packet)
{
	const struct coll_agree_message *message = &packet->message;
	struct node *node = &sim.node[packet->refused ? message->from : message->to];

	if (packet->refused) {
		if (node->alive && node->calling && !stopped(node))
			coll_pace_refused(&node->pace, message->to);
	} else if (!node->alive) {
		if (!node->held)
			put(message, true);
	} else if (!node->calling || stopped(node)) {
		if (node->nbox < MAILBOX_MAX)
			node->box[node->nbox++] = *message;
	} else {
		take(node, message);
	}
}

static void finish_call(struct node *node, int result)
{
	say(node, "returns", result);
	node->calling = false;
	if (node->first > 0)
		node->first = result;
	if (!result) {
		node->returned = node->agree.value.id;
		node->members = node->agree.value.members;
		return;
	}
	coll_agree_end(&node->agree);
	node->end_at = ~0ULL;
	node->call_at = sim.now + rng(300);
}

static void run(struct node *node)
{
	if (!node->alive || stopped(node))
		return;
	if (!node->calling) {
		if (sim.now < node->call_at || !node->calls || node->returned)
			return;
		say(node, "calls", node->calls);
		node->calls--;
		node->calling = true;
		coll_agree_begin(&node->agree, false);
		coll_pace_begin(&node->pace, sim.now, TIMEOUT_MS);
	}
	if (!node->agree.finished)
		read_box(node);
	if (node->connect && !node->agree.finished)
		try_connect(node);
	if (!node->agree.finished) {
		look_at_module(node);
		coll_pace_run(&node->pace, sim.now);
	}
	if (!node->agree.finished && (sim.now >= node->pace.deadline || sim.now >= node->end_at)) {
		if (node->agree.decided)
			coll_agree_finish(&node->agree);
		else
			finish_call(node, -ETIMEDOUT);
	}
	if (node->calling && node->agree.finished)
		finish_call(node, node->agree.result);
}

static void die(struct node *node)
{
	unsigned int i;

	say(node, "dies", 0);
	node->alive = false;
	node->blamed = !node->over;
	node->joined = 0;
	if (!node->blamed)
		return;
	/* The old group fails on all ranks. */
	for (i = 0; i < sim.nranks; i++)
		sim.node[i].over = true;
}

static bool same(void)
{
	uint64_t id = 0;
	unsigned int i;

	for (i = 0; i < sim.nranks; i++) {
		const struct node *node = &sim.node[i];

		if (!node->returned)
			continue;
		if (id && node->returned != id)
			return false;
		id = node->returned;
	}
	return true;
}

static void tick(void)
{
	unsigned int i;

	for (i = 0; i < sim.nqueue;) {
		const struct packet packet = sim.queue[i];

		if (packet.at > sim.now) {
			i++;
			continue;
		}
		sim.queue[i] = sim.queue[--sim.nqueue];
		arrive(&packet);
	}
	for (i = 0; i < sim.nranks; i++) {
		if (sim.node[i].alive && sim.now >= sim.node[i].die_at)
			die(&sim.node[i]);
		run(&sim.node[i]);
	}
}

static bool settled(void)
{
	unsigned int i;

	for (i = 0; i < sim.nranks; i++) {
		const struct node *node = &sim.node[i];

		if (node->alive && !node->returned && (node->calling || node->calls))
			return false;
	}
	return true;
}

static void plan(enum plan_kind kind, uint64_t seed)
{
	const uint64_t never = ~0ULL;
	unsigned int i, victims = 0;

	memset(&sim, 0, sizeof(sim));
	sim.plan = kind;
	sim.rng = seed;
	sim.nranks = 2 + rng(RANKS_MAX - 1);
	sim.delay = rng(3) ? rng(4) : rng(60);
	sim.loss = kind == PLAN_ALL || rng(2) ? rng(100) : 0;
	sim.cut_at = never;
	if (kind == PLAN_ALL && rng(2)) {
		sim.cut_at = rng(6000);
		sim.mend_at = sim.cut_at + rng(14000);
		sim.side = rng(1 << sim.nranks);
		sim.rejects = rng(2);
	}
	if (kind == PLAN_REJECTED) {
		sim.cut_at = 0;
		sim.mend_at = never;
		sim.side = rng(1 << sim.nranks);
		sim.rejects = true;
	}
	for (i = 0; i < sim.nranks; i++) {
		struct node *node = &sim.node[i];

		coll_agree_init(&node->agree, &ops, (void *)(uintptr_t)i, i, sim.nranks);
		node->pace.agree = &node->agree;
		node->pace.peers = node->peers;
		node->alive = true;
		node->first = 1;
		node->call_at = rng(kind == PLAN_ALL ? 3 * TIMEOUT_MS / 2 : 300);
		if (kind == PLAN_ALL && rng(3))
			node->call_at = rng(300);
		node->calls = kind == PLAN_ALL ? 1 + rng(4) : 1;
		node->end_at = never;
		node->die_at = never;
		node->stop_at = never;
		if (kind == PLAN_DEATHS && rng(2) && ++victims < sim.nranks)
			node->die_at = rng(2) ? 0 : rng(700);
		if (kind == PLAN_SILENT && rng(2) && ++victims < sim.nranks) {
			node->stop_at = rng(3) ? rng(TIMEOUT_MS / 2) : 0;
			node->wake_at = END_MS;
		}
		if (kind == PLAN_ALL && rng(3) == 0)
			node->die_at = rng(3) ? rng(1000) : rng(20000);
		if (kind == PLAN_ALL && rng(3) == 0) {
			node->stop_at = rng(2) ? rng(1500) : rng(10000);
			node->wake_at = node->stop_at + rng(12000);
		}
		if (kind == PLAN_ALL)
			node->held = rng(6) == 0;
	}
	if (kind == PLAN_STOPPED || kind == PLAN_MISSED) {
		struct node *node;

		if (sim.nranks < 3)
			sim.nranks = 2;	/* the lowest rank leads */
		node = &sim.node[sim.nranks < 3 ? 1 : rng(sim.nranks)];
		node->stop_at = rng(3) ? 0 : rng(400);
		node->wake_at = END_MS / 2;
		for (i = 0; i < sim.nranks && kind == PLAN_MISSED; i++)
			if (&sim.node[i] != node)
				sim.node[i].die_at = node->wake_at - 1000;
	}
	if (kind == PLAN_AGAIN) {
		struct node *node = &sim.node[rng(sim.nranks)];

		node->end_at = rng(700);
		node->calls = 2;
	}
	/* The group failed because of the first death, or because of a link. */
	if (kind != PLAN_STOPPED && kind != PLAN_MISSED && rng(2))
		for (i = 0; i < sim.nranks; i++)
			sim.node[i].over = true;
}

/* Does @rank count in quorums of @node?  A rank that was ready in a group of all loses no more. */
static bool counts(const struct node *node, unsigned int rank)
{
	return !sim.node[rank].blamed || node->agree.sealed;
}

/* Does @rank live, and can it be reached by the ranks of @side? */
static bool has_come(unsigned int rank, bool side)
{
	const struct node *node = &sim.node[rank];

	return node->alive && node->stop_at == ~0ULL &&
	       (sim.plan != PLAN_REJECTED || (sim.side >> rank & 1) == side);
}

/* Are the ranks that @node reaches enough for a group? */
static bool are_enough(const struct node *node)
{
	const bool side = sim.side >> rank_of(node) & 1;
	unsigned int rank, lowest = sim.nranks, all = 0, here = 0;

	for (rank = 0; rank < sim.nranks; rank++) {
		if (!counts(node, rank))
			continue;
		if (!all++)
			lowest = rank;
		here += has_come(rank, side);
	}
	return 2 * here > all || (2 * here == all && here && has_come(lowest, side));
}

/*
 * True if all ranks that could get a group in their first call have one, or in their second one if
 * the first ended early.
 */
static bool live(void)
{
	unsigned int i;

	for (i = 0; i < sim.nranks; i++) {
		const struct node *node = &sim.node[i];

		if (!node->alive || node->stop_at != ~0ULL)
			continue;
		if (sim.plan == PLAN_AGAIN) {
			if (coll_ranks_count(&node->members) != sim.nranks)
				return false;
			continue;
		}
		if (node->first &&
		    (node->first != -ETIMEDOUT || are_enough(node)))
			return false;
		if (sim.plan == PLAN_NONE && coll_ranks_count(&node->members) != sim.nranks)
			return false;
	}
	return true;
}

static bool simulate(enum plan_kind kind, uint64_t seed, bool verbose, unsigned int *returned,
		     uint64_t *took)
{
	unsigned int i;
	bool fine = true;

	plan(kind, seed);
	sim.verbose = verbose;
	for (; sim.now < END_MS && fine && !settled(); sim.now++) {
		tick();
		fine = same();
	}
	*took = sim.now;
	for (i = 0; i < sim.nranks; i++)
		*returned += sim.node[i].returned != 0;
	if (kind != PLAN_ALL)
		fine = fine && live();
	return fine;
}

static void simulate_all(enum plan_kind kind, unsigned int seeds, const char *what)
{
	unsigned int returned = 0, failed = 0, seed, none;
	uint64_t took, longest = 0, total = 0;

	for (seed = 1; seed <= seeds; seed++) {
		if (!simulate(kind, seed, false, &returned, &took)) {
			if (!failed++)
				simulate(kind, seed, true, &none, &took);
			tap_note("seed %u of plan %d", seed, kind);
			if (failed == 5)
				break;
		}
		total += took;
		longest = took > longest ? took : longest;
	}
	tap_note("%u ranks returned; %llu ms each, %llu at most", returned,
		 (unsigned long long)(total / seeds), (unsigned long long)longest);
	tap_ok(!failed && returned > seeds / 2, "%s, %u times", what, seeds);
}

int main(int argc, char **argv)
{
	const unsigned int seeds = argc > 1 ? strtoul(argv[1], NULL, 0) : 4000;
	unsigned int none = 0;
	uint64_t took;

	tap_plan(0);
	if (argc > 3)
		return !simulate(strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 0), true, &none,
				 &took);
	simulate_all(PLAN_NONE, seeds, "nothing happens: all ranks return, with all");
	simulate_all(PLAN_DEATHS, seeds, "ranks die: the others return, if they are enough");
	simulate_all(PLAN_SILENT, seeds / 4,
		     "ranks fall silent: the others return, if they are enough");
	simulate_all(PLAN_REJECTED, seeds, "packets are refused: the part that is enough returns");
	simulate_all(PLAN_STOPPED, seeds / 4, "a rank is stopped: the others return");
	simulate_all(PLAN_MISSED, seeds / 4,
		     "a rank is stopped until the others have ended: no group");
	simulate_all(PLAN_AGAIN, seeds, "a rank ends its call early and calls again: all return");
	simulate_all(PLAN_ALL, seeds, "anything happens: one group");
	return tap_exit();
}
