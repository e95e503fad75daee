// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults, and the reactions to them that the module adds to the engines.
 *
 * - An abort of an operation goes to all ranks; the operation fails where it is not complete.
 * - A failed group: each rank sends ABORT when the group fails there.  A rank that receives
 *   this ABORT owns again the pages that the sender could read.
 * - A rank that is cut off reuses its memory after the fence.  Its peers may still have bytes
 *   of it to read; their leases have ended by then, so they cannot succeed.
 * - A rank that sends bytes that it was not granted is refused, and the group fails.
 * - A dead process: its host sends ABORT, and all ranks must name the dead rank.
 * - A dead host: peers see a connection end, or silence.  They name a link of the dead rank.
 */
#include "sim.h"

/* Take back the pages that @peer may read; with @reset, drop the bytes that are in flight to it. */
static void release(struct member *member, u32 peer, bool reset)
{
	u32 lane;

	for (lane = 0; lane < member->sim->config.lanes; lane++) {
		struct endpoint *ep = member->ep[lane][peer];

		if (!ep)
			continue;
		if (reset)
			endpoint_reset(ep);
		coll_stream_release(&ep->stream);
	}
}

/* Close the connections by reference: no peer reads memory of this rank any more. */
static void close_local(struct member *member)
{
	u32 lane, peer;

	for (lane = 0; lane < member->sim->config.lanes; lane++)
		for (peer = 0; peer < member->sim->config.nranks; peer++)
			if (member->ep[lane][peer] && member->ep[lane][peer]->stream.by_reference)
				endpoint_revoke(member->ep[lane][peer], NULL);
}

/* Nothing that was sent by reference needs a fence after that. */
static void release_local(struct member *member)
{
	u32 lane, peer;

	for (lane = 0; lane < member->sim->config.lanes; lane++)
		for (peer = 0; peer < member->sim->config.nranks; peer++)
			if (member->ep[lane][peer] && member->ep[lane][peer]->stream.by_reference)
				coll_stream_release(&member->ep[lane][peer]->stream);
}

/* Send an ABORT to all other ranks. */
static void broadcast_abort(struct member *member, u64 instance, const struct coll_reason *reason)
{
	struct coll_control control = {
		.kind = COLL_CONTROL_ABORT,
		.instance = instance,
		.reason = *reason,
	};
	u32 peer;

	for (peer = 0; peer < member->sim->config.nranks; peer++)
		if (peer != member->rank)
			control_send(member, peer, &control);
}

/**
 * member_abort() - fail one operation on one rank, now or when it is submitted
 * @member: the rank
 * @instance: instance of the operation; if it has a key, no later operation with this key succeeds
 */
void member_abort(struct member *member, u64 instance)
{
	struct sim *sim = member->sim;
	u32 lane, i;

	distance_fail(member, instance);
	for (lane = 0; lane < sim->config.lanes; lane++) {
		coll_engine_abort(&member->engine[lane], instance, -ECANCELED);
		engine_deliver_unexpected(&member->engine[lane]);
	}
	for (i = 0; i < sim->config.nops; i++)
		if (sim->ops[i].instance == instance)
			match_abort(member, i);
	/* The operations behind it may go on. */
	sim_wake(sim, &member->copy);
}

/* Return: true if reason @a is stronger than @b, by the order of kmod/fail/member_state.c. */
static bool stronger(const struct coll_reason *a, const struct coll_reason *b)
{
	if (b->kind == COLLECTIVE_REASON_NONE)
		return true;
	return a->kind != b->kind ? a->kind < b->kind : a->rank_a < b->rank_a;
}

/* Fail the group on one rank; if it has failed, take @reason if it is the stronger reason. */
static void member_fail(struct member *member, const struct coll_reason *reason)
{
	u32 lane;

	if (!stronger(reason, &member->reason))
		return;
	member->reason = *reason;
	if (!member->failed) {
		member->failed = -ECONNRESET;
		member->failed_at = member->sim->now;
		close_local(member);
		for (lane = 0; lane < member->sim->config.lanes; lane++)
			coll_engine_abort(&member->engine[lane], COLL_INSTANCE_GROUP,
					  member->failed);
		release_local(member);
	}
	broadcast_abort(member, COLL_INSTANCE_GROUP, reason);
}

static struct coll_reason reason_of_rank(u32 kind, u32 error, u32 rank)
{
	return (struct coll_reason){
		.kind = kind,
		.error = error,
		.rank_a = rank,
		.rank_b = COLLECTIVE_RANK_NONE,
	};
}

static void link_fail(struct member *member, u32 kind, u32 peer)
{
	struct coll_reason reason = {
		.kind = kind,
		.error = ECONNRESET,
		.rank_a = min(member->rank, peer),
		.rank_b = max(member->rank, peer),
	};

	member_fail(member, &reason);
}

/* A rank dies; with @lost, its host dies too and sends no ABORT. */
static void member_die(struct member *member, bool lost)
{
	struct coll_reason reason = reason_of_rank(COLLECTIVE_REASON_DEATH, ECONNRESET,
						   member->rank);
	struct sim *sim = member->sim;
	u32 lane, peer;

	for (peer = 0; peer < sim->config.nranks; peer++) {
		for (lane = 0; lane < sim->config.lanes; lane++)
			if (member->ep[lane][peer])
				endpoint_die(member->ep[lane][peer]);
		if (lost && member->queue[peer])
			queue_die(member->queue[peer]);
	}
	if (lost)
		sim->cut = member->rank;
	else
		broadcast_abort(member, COLL_INSTANCE_GROUP, &reason);
	sim->dead = member->rank;
}

/* Make the peers of @victim read slowly, so that many of its bytes are in flight. */
static void delay_readers(struct member *victim)
{
	struct sim *sim = victim->sim;
	u32 lane, peer;

	for (lane = 0; lane < sim->config.lanes; lane++) {
		for (peer = 0; peer < sim->config.nranks; peer++) {
			struct endpoint *ep = victim->ep[lane][peer];

			if (!ep)
				continue;
			ep->capacity = 1ULL << 30;
			ep->other->receive.slow = rng_between(&sim->rng, 50, 2000);
		}
	}
}

/* Abort an operation that is in progress on a rank, or its next one. */
static void cancel(struct member *member)
{
	struct coll_reason reason = reason_of_rank(COLLECTIVE_REASON_CANCELLED, ECANCELED,
						   member->rank);
	struct sim *sim = member->sim;
	u32 number = rng_between(&sim->rng, member->oldest, member->oldest + member->inflight);
	u64 instance;

	/* The oldest one waits for the slow rank; if it fails, others go on without that rank. */
	if (sim->config.slow_rank && rng_once_in(&sim->rng, 2))
		number = member->oldest;
	if (number >= sim->config.nops)
		return;
	/* A rank cannot abort an operation that it may not submit yet. */
	instance = sim->ops[number].instance;
	if (coll_instance_is_counted(instance) && !member->parts[number].submitted &&
	    !distance_may(member, instance))
		return;
	member_abort(member, instance);
	broadcast_abort(member, instance, &reason);
}

/**
 * fault_mismatch() - fail an operation because another rank has called something else
 * @member: the rank that has found it
 * @number: number of the operation
 */
void fault_mismatch(struct member *member, u32 number)
{
	struct coll_reason reason = reason_of_rank(COLLECTIVE_REASON_MISMATCH, EBADMSG,
						   member->rank);
	u64 instance = member->sim->ops[number].instance;

	member_abort(member, instance);
	broadcast_abort(member, instance, &reason);
}

/**
 * fault_inject() - make the next fault happen
 * @sim: the world
 */
void fault_inject(struct sim *sim)
{
	u32 any = rng_below(&sim->rng, sim->config.nranks);
	struct member *member = &sim->members[sim->config.fault_event ? sim->config.victim : any];
	struct coll_reason reason = reason_of_rank(COLLECTIVE_REASON_RESET, ECONNRESET,
						   member->rank);
	u32 often = sim->config.faults > 10 ? 4000 / sim->config.faults : 2000;

	sim->faults_left--;
	sim->next_fault = sim->steps + rng_below(&sim->rng, often + 1);

	switch (sim->config.fault) {
	case FAULT_INSTANCE:
		cancel(member);
		break;
	case FAULT_GROUP:
		member_fail(member, &reason);
		break;
	case FAULT_SILENCE:
		if (sim->faults_left) {
			sim->victim = member;
			delay_readers(member);
			break;
		}
		sim->cut = sim->victim->rank;
		reason = reason_of_rank(COLLECTIVE_REASON_RESET, ECONNRESET, sim->cut);
		member_fail(sim->victim, &reason);
		break;
	case FAULT_UNGRANTED:
		sim->ungranted = member->rank;
		break;
	case FAULT_DEATH:
	case FAULT_LOSS:
		member_die(member, sim->config.fault == FAULT_LOSS);
		break;
	}
}

/* A message makes a connection on one lane only, so any lane makes a link. */
static bool linked(const struct member *member, u32 peer)
{
	u32 lane;

	for (lane = 0; lane < member->sim->config.lanes; lane++)
		if (member->ep[lane][peer])
			return true;
	return false;
}

/* Return: a peer with a link that has not answered for SIM_SILENCE, or COLL_NO_RANK. */
static u32 silent(const struct member *member)
{
	const struct sim *sim = member->sim;
	u32 peer;

	for (peer = 0; peer < sim->config.nranks; peer++)
		if (linked(member, peer) && sim->now > member->answered_ping[peer] + SIM_SILENCE)
			return peer;
	return COLL_NO_RANK;
}

/**
 * fault_ping() - do the heartbeat of a rank: PINGs, leases, silence and the fence
 * @member: the rank
 *
 * Return: true; the heartbeat never stops.
 */
bool fault_ping(struct member *member)
{
	struct sim *sim = member->sim;
	struct coll_control control = { .kind = COLL_CONTROL_PING, .position = sim->now };
	u32 peer, gone;

	if (member->failed) {
		bool cut = sim->cut == member->rank;

		if (sim->now < member->failed_at + SIM_FENCE)
			return true;
		for (peer = 0; peer < sim->config.nranks; peer++)
			release(member, peer, !cut && sim->cut != peer);
		return true;
	}
	member_tick(member);
	gone = silent(member);
	if (gone != COLL_NO_RANK) {
		link_fail(member, COLLECTIVE_REASON_SILENCE, gone);
		return true;
	}
	if (sim->now < member->pinged_at + SIM_PING)
		return true;
	member->pinged_at = sim->now;
	for (peer = 0; peer < sim->config.nranks; peer++)
		if (linked(member, peer))
			control_send(member, peer, &control);
	return true;
}

/* @peer has answered the PING of @pinged_at: extend its lease. */
static void renew(struct member *member, u32 peer, u64 pinged_at)
{
	u32 lane;

	member->answered_ping[peer] = max(member->answered_ping[peer], pinged_at);
	if (member->sim->config.mutation == MUTATION_LEASE)
		return;
	for (lane = 0; lane < member->sim->config.lanes; lane++) {
		struct endpoint *ep = member->ep[lane][peer];

		if (ep)
			ep->stream.lease = max(ep->stream.lease, pinged_at + SIM_LEASE);
	}
	member_tick(member);
}

/* MUTATION_LATE.  Return: true if the aborted operation is beyond those that may be in progress. */
static bool abort_lost(const struct member *member, u64 instance)
{
	return member->sim->config.mutation == MUTATION_LATE &&
	       coll_instance_is_counted(instance) &&
	       instance >= member->counted + member->sim->config.nslots;
}

/**
 * fault_control() - handle a received control frame that is not for a stream
 * @member: the receiver
 * @from: rank of the sender
 * @control: the frame
 */
void fault_control(struct member *member, u32 from, const struct coll_control *control)
{
	struct coll_control answer = *control;

	switch (control->kind) {
	case COLL_CONTROL_ABORT:
		if (control->instance != COLL_INSTANCE_GROUP) {
			if (!abort_lost(member, control->instance))
				member_abort(member, control->instance);
			break;
		}
		member_fail(member, &control->reason);
		release(member, from, true);
		break;
	case COLL_CONTROL_PING:
		if (!sim_timed(member->sim)) {
			distance_receive(member, from, control->submitted);
			break;
		}
		answer.kind = COLL_CONTROL_PONG;
		if (!member->failed)
			control_send(member, from, &answer);
		break;
	case COLL_CONTROL_PONG:
		renew(member, from, control->position);
		break;
	case COLL_CONTROL_ANNOUNCE:
		match_receive(member, control);
		break;
	}
}

/**
 * fault_end() - fail the group because a control connection has ended
 * @member: the rank that sees the end
 * @from: the rank at the other end
 */
void fault_end(struct member *member, u32 from)
{
	link_fail(member, COLLECTIVE_REASON_RESET, from);
}

/**
 * fault_refused() - fail the group because a rank has sent bytes that were not granted
 * @member: the rank that has refused them
 * @peer: the rank at the other end
 */
void fault_refused(struct member *member, u32 peer)
{
	link_fail(member, COLLECTIVE_REASON_RESET, peer);
}

/**
 * fault_explained() - check the reason for which the group has failed on a rank
 * @member: the rank
 *
 * Return: true if the reason names the dead rank, or if the fault of this world is no death.
 */
bool fault_explained(const struct member *member)
{
	const struct coll_reason *reason = &member->reason;
	u32 dead = member->sim->dead;

	switch (member->sim->config.fault) {
	case FAULT_DEATH:
		return reason->kind == COLLECTIVE_REASON_DEATH && reason->rank_a == dead;
	case FAULT_LOSS:
		return dead != COLL_NO_RANK && (reason->rank_a == dead || reason->rank_b == dead);
	}
	return true;
}
