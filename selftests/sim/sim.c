// SPDX-License-Identifier: GPL-2.0-only
/* The world: picks the next actor, keeps the time, and checks the end state. */
#include <stdarg.h>

#include "sim.h"

/* Picks after which a world counts as endless. */
#define STEPS_MAX	200000000ULL

/**
 * sim_fail() - note that a check has failed; only the first time is kept
 * @sim: the world
 * @format: description of the failure, as of printf()
 */
void sim_fail(struct sim *sim, const char *format, ...)
{
	va_list args;

	if (sim->broken)
		return;
	sim->broken = true;
	va_start(args, format);
	vsnprintf(sim->why, sizeof(sim->why), format, args);
	va_end(args);
}

/**
 * sim_actor_init() - initialize an actor, with a random speed
 * @sim: the world
 * @actor: the actor
 * @kind: enum actor_kind
 * @rank: rank on which it acts
 * @owner: as in struct actor
 */
void sim_actor_init(struct sim *sim, struct actor *actor, u8 kind, u32 rank, void *owner)
{
	actor->kind = kind;
	actor->rank = rank;
	actor->owner = owner;
	/* Some actors are slow; in some worlds, all actors of a kind are. */
	if (rng_mix(sim->config.seed * ACTOR_KINDS + kind) % 4 == 0)
		actor->slow = rng_between(&sim->rng, 2, 12);
	else if (rng_once_in(&sim->rng, 12))
		actor->slow = rng_between(&sim->rng, 2, sim->bytes < 200000 ? 60 : 6);
	if (kind == ACTOR_PING || sim->config.fault_event)
		actor->slow = 0;
	if (kind == ACTOR_MEMBER && rank + 1 == sim->config.slow_rank)
		actor->slow = rng_between(&sim->rng, 50, 2000);
}

/**
 * sim_wake() - make an actor ready, so that the world may pick it
 * @sim: the world
 * @actor: the actor
 */
void sim_wake(struct sim *sim, struct actor *actor)
{
	if (actor->ready)
		return;
	if (sim->nready == sim->ready_max) {
		sim->ready_max = sim->ready_max ? 2 * sim->ready_max : 64;
		sim->ready = realloc(sim->ready, sim->ready_max * sizeof(*sim->ready));
	}
	actor->ready = true;
	sim->nlazy += actor->lazy;
	actor->at = sim->nready;
	sim->ready[sim->nready++] = actor;
}

/* Make an actor not ready. */
static void sim_rest(struct sim *sim, struct actor *actor)
{
	struct actor *last = sim->ready[--sim->nready];

	sim->ready[actor->at] = last;
	last->at = actor->at;
	actor->ready = false;
	sim->nlazy -= actor->lazy;
}

static bool sim_act(struct actor *actor)
{
	switch (actor->kind) {
	case ACTOR_MEMBER:
		return member_act(actor->owner);
	case ACTOR_SEND:
		return endpoint_send(actor->owner);
	case ACTOR_RECEIVE:
		return endpoint_receive(actor->owner);
	case ACTOR_CONTROL:
		return control_receive(actor->owner);
	case ACTOR_CONNECT:
		return endpoint_connect(actor->owner);
	case ACTOR_COPY:
		return member_copy(actor->owner);
	default:
		return fault_ping(actor->owner);
	}
}

/* Return: true if only heartbeats are left to happen; then time goes by faster. */
static bool sim_idle(const struct sim *sim)
{
	u32 i;

	if (sim->config.fault != FAULT_LOSS || sim->nready > sim->config.nranks)
		return false;
	for (i = 0; i < sim->nready; i++)
		if (sim->ready[i]->kind != ACTOR_PING)
			return false;
	return true;
}

/* Pick a random actor and let it act, unless its rank is frozen or dead, or the actor is slow. */
static void sim_step(struct sim *sim)
{
	struct actor *actor = sim->ready[rng_below(&sim->rng, sim->nready)];
	bool more;

	sim->steps++;
	/* With many ranks, time goes slower, so that each rank acts as often as one of few. */
	if (sim->steps % (1 + sim->config.nranks * sim->config.nranks / 100) == 0)
		sim->now += rng_below(&sim->rng, sim_idle(sim) ? SIM_PING / 2 : 10);
	if (sim->steps >= sim->frozen_until && rng_once_in(&sim->rng, 3000)) {
		sim->frozen = rng_below(&sim->rng, sim->config.nranks);
		sim->frozen_until = sim->steps + rng_below(&sim->rng, 4000);
	}
	if (actor->rank == sim->frozen && sim->steps < sim->frozen_until)
		return;
	if (actor->lazy && sim->nlazy < sim->nready)
		return;
	if (actor->slow && !rng_once_in(&sim->rng, actor->slow))
		return;

	/* Not ready any more before it acts, because its action may wake it again. */
	sim_rest(sim, actor);
	if (actor->rank == sim->dead)
		return;
	sim->acts += actor->kind != ACTOR_PING;
	if (!sim->faults_left && actor->owner == &sim->members[actor->rank] &&
	    actor->rank + 1 == sim->config.slow_rank)
		actor->slow = 0;
	more = sim_act(actor);
	if (more)
		sim_wake(sim, actor);
}

/* Return: true if a rank has no more to do: all is done, or it has failed, or it is dead. */
static bool member_finished(const struct member *member)
{
	if (member->rank == member->sim->dead)
		return true;
	if (!member->failed)
		return member->oldest == member->sim->config.nops;
	return !member->inflight;
}

static bool sim_finished(const struct sim *sim)
{
	u32 rank;

	for (rank = 0; rank < sim->config.nranks; rank++)
		if (!member_finished(&sim->members[rank]))
			return false;
	return true;
}

static void dump_lane(const struct member *m, u32 lane)
{
	const struct coll_task *task;
	u32 peer;

	list_for_each_entry(task, &m->engine[lane].active, node) {
		printf("#   lane %u: operation %llx: tx %llu+%llu rx %llu+%llu of %llu, ", lane,
		       (unsigned long long)task->args.instance,
		       (unsigned long long)task->tx_step, (unsigned long long)task->tx_off,
		       (unsigned long long)task->rx_step, (unsigned long long)task->rx_off,
		       (unsigned long long)task->nsteps);
		printf("error %d, zc_ref %llu\n", task->error, (unsigned long long)task->zc_ref);
	}
	for (peer = 0; peer < m->sim->config.nranks; peer++) {
		const struct endpoint *ep = m->ep[lane][peer];

		if (!ep)
			continue;
		printf("#   lane %u to %u: sent %llu consumed %llu eager %llu credit %llu ", lane,
		       peer, (unsigned long long)ep->stream.tx_position,
		       (unsigned long long)ep->stream.tx_consumed,
		       (unsigned long long)ep->stream.tx_eager,
		       (unsigned long long)ep->stream.tx_credit);
		printf("queued %llu unexpected %u\n", (unsigned long long)ep->queued,
		       ep->stream.unexp_len);
	}
}

/* Print the tasks and streams of every rank, after a deadlock. */
static void sim_dump(const struct sim *sim)
{
	u32 rank, lane;

	for (rank = 0; rank < sim->config.nranks; rank++) {
		const struct member *m = &sim->members[rank];

		printf("# rank %u: oldest %u, in flight %u, failed %d\n",
		       rank, m->oldest, m->inflight, m->failed);
		for (lane = 0; lane < sim->config.lanes; lane++)
			dump_lane(m, lane);
	}
}

/*
 * Check that a connection is idle: all bytes are delivered, and the counters of both ends agree.
 * Only grants of failed operations may be left.
 */
static void endpoint_check(struct sim *sim, const struct endpoint *ep)
{
	const struct coll_stream *s = &ep->stream, *o = &ep->other->stream;

	if (ep->first || !coll_stream_idle(s) || !list_empty(&s->sending) ||
	    s->unexp_len || (s->grants.count && !sim->config.fault))
		sim_fail(sim, "rank %u to %u: not idle at the end", ep->member->rank, s->peer);
	if (s->tx_position != o->rx_position || s->tx_eager != o->rx_eager ||
	    o->rx_eager != o->rx_consumed + o->unexp_len ||
	    s->tx_credit != o->rx_returned + o->rx_credit)
		sim_fail(sim, "rank %u to %u: the ends disagree", ep->member->rank, s->peer);
}

/* Check that memory of a complete operation was not written after its end, nor can be read. */
static void part_check_stale(struct sim *sim, u32 rank, u32 number)
{
	const struct sim_part *part = &sim->members[rank].parts[number];

	if (!part->done || !part->send)
		return;
	if (memory_differs(part->send, 0x5a, 0, part->send->mem.length) ||
	    memory_differs(part->recv, 0x5a, 0, part->recv->mem.length))
		sim_fail(sim, "rank %u: operation %u: written after its end", rank, number);
	if (sim->config.fault < FAULT_GROUP &&
	    (part->send->referenced_bytes || part->recv->referenced_bytes))
		sim_fail(sim, "rank %u: operation %u: a peer may still read its memory",
			 rank, number);
}

/*
 * Check that a rank knows the reason: all ranks must name a dead process; after other deaths,
 * those on which the group has failed must name the dead rank.
 */
static void member_check(struct sim *sim, const struct member *member)
{
	bool told = sim->config.fault == FAULT_DEATH && sim->dead != COLL_NO_RANK;

	if ((told || member->failed) && !fault_explained(member))
		sim_fail(sim, "rank %u: the reason is not rank %u, but ranks %u and %u (kind %u)",
			 member->rank, sim->dead, member->reason.rank_a, member->reason.rank_b,
			 member->reason.kind);
}

/* Check the end state of all ranks that are not dead. */
static void sim_check(struct sim *sim)
{
	u32 rank, lane, peer, i;

	for (rank = 0; rank < sim->config.nranks; rank++) {
		struct member *member = &sim->members[rank];

		if (rank == sim->dead)
			continue;
		member_check(sim, member);
		for (i = 0; i < sim->config.nops; i++)
			part_check_stale(sim, rank, i);
		for (lane = 0; lane < sim->config.lanes; lane++) {
			if (!list_empty(&member->engine[lane].active))
				sim_fail(sim, "rank %u: tasks are left", rank);
			for (peer = 0; peer < sim->config.nranks; peer++)
				if (member->ep[lane][peer] && sim->config.fault < FAULT_GROUP)
					endpoint_check(sim, member->ep[lane][peer]);
		}
	}
}

/**
 * sim_takes_part() - find out whether a rank calls an operation
 * @op: the operation
 * @rank: the rank
 *
 * Return: true unless the operation is a message of two other ranks.
 */
bool sim_takes_part(const struct sim_op *op, u32 rank)
{
	return op->collective != COLLECTIVE_SEND || rank == op->root || rank == op->to;
}

/**
 * sim_plan() - make the plan of an operation
 * @sim: the world
 * @op: the operation
 * @rank: rank that executes it
 *
 * Return: the plan of lane 0.
 */
struct coll_plan sim_plan(const struct sim *sim, const struct sim_op *op, u32 rank)
{
	bool receives = op->collective == COLLECTIVE_SEND && rank == op->to;
	struct coll_plan plan = {
		.collective = receives ? COLLECTIVE_RECV : op->collective,
		.type = op->type,
		.reduction = op->reduction,
		.algorithm = op->algorithm,
		.reproducible = op->reproducible,
		.size = coll_type_size(op->type),
		.rank = rank,
		.nranks = sim->config.nranks,
		.root = op->collective == COLLECTIVE_SEND && !receives ? op->to : op->root,
		.nlanes = sim->config.lanes,
		.segment = sim->config.segment,
		.reads = sim->config.reads,
		.board = sim->config.board && coll_instance_is_counted(op->instance),
		.nosync = sim->config.fault != FAULT_CALLS && op->seed >> rank % 64 & 1,
		.varlen = op->varlen && (op->collective != COLLECTIVE_SEND || receives),
		.count = op->count,
	};

	/* With MUTATION_WIDE, sums stay wide only if no schedule exists for narrow ones. */
	plan.wide = op->wide && (sim->config.mutation != MUTATION_WIDE ||
				 !coll_schedule_find(&plan));
	return plan;
}

/* Return: true if a fault happens now. */
static bool fault_is_due(const struct sim *sim)
{
	if (!sim->faults_left)
		return false;
	if (sim->config.fault_event)
		return sim->acts + 1 == sim->config.fault_event;
	return sim->steps >= sim->next_fault;
}

/**
 * sim_run() - run a world to its end
 * @sim: the world; config and ops are set, the rest is zero
 *
 * Return: true if all checks pass; otherwise @sim->why describes the first that failed.
 */
bool sim_run(struct sim *sim)
{
	bool timed = sim_timed(sim);
	u32 rank, i;

	for (i = 0; i < sim->config.nops; i++)
		sim->bytes += sim->ops[i].count * coll_type_size(sim->ops[i].type);
	sim->now = sim->config.origin.time;
	sim->ungranted = COLL_NO_RANK;
	INIT_LIST_HEAD(&sim->ended_early);
	sim->rng.state = sim->config.seed;
	sim->cut = COLL_NO_RANK;
	sim->dead = COLL_NO_RANK;
	sim->frozen = COLL_NO_RANK;
	sim->faults_left = sim->config.faults;
	sim->next_fault = rng_between(&sim->rng, 1, 200 + 100 * sim->config.nranks);
	sim->members = calloc(sim->config.nranks, sizeof(*sim->members));
	for (rank = 0; rank < sim->config.nranks; rank++) {
		member_init(sim, rank);
		sim_wake(sim, &sim->members[rank].actor);
		if (timed)
			sim_wake(sim, &sim->members[rank].ping);
	}

	board_init(sim);
	while (sim->nready && !sim->broken && !(timed && sim_finished(sim))) {
		if (fault_is_due(sim))
			fault_inject(sim);
		sim_step(sim);
		if (sim->steps > STEPS_MAX)
			sim_fail(sim, "the world does not end");
	}
	if (!sim->broken && !sim_finished(sim)) {
		sim_fail(sim, "deadlock");
		if (!sim->config.mutation)
			sim_dump(sim);
	}
	if (!sim->broken)
		sim_check(sim);
	return !sim->broken;
}
