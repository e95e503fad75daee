// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank: submits the operations of the program, several at a time, and checks each result
 * as soon as the operation is complete.
 */
#include "expose.h"
#include "sim.h"

#define FRESH	0xa5	/* contents of memory before an operation */
#define STALE	0x5a	/* contents of memory after an operation */
#define MARGIN	40	/* bytes before and after a buffer, which must not be written */

static struct coll_stream *on_stream(void *ctx, u32 peer)
{
	struct coll_engine *engine = ctx;
	struct endpoint *ep = endpoint_get(member_of(ctx), engine->lane, peer);

	return ep->up ? &ep->stream : NULL;
}

/* The engine sends a control frame. */
static void on_control(void *ctx, u32 peer, const struct coll_control *control)
{
	const struct coll_task *task = coll_task_find(ctx, control->instance);
	struct coll_control early = *control;

	if (member_of(ctx)->sim->config.mutation == MUTATION_EXCHANGE && task &&
	    task->rx.exchange && control->kind == COLL_CONTROL_GRANT)
		early.position = COLL_GRANT_ALL;
	control_send(member_of(ctx), peer, &early);
}

static void on_kick(void *ctx, struct coll_stream *stream)
{
	struct sim *sim = member_of(ctx)->sim;

	if (sim->config.mutation == MUTATION_KICK && rng_once_in(&sim->rng, 50))
		return;
	sim_wake(sim, &container_of(stream, struct endpoint, stream)->send);
}

/* The engine has found a mismatch, as only worlds with wrong counts or FAULT_UNGRANTED may have. */
static void on_mismatch(void *ctx, struct coll_task *task, u32 peer)
{
	struct sim_part *part = task->args.user;
	u32 ungranted = member_of(ctx)->sim->ungranted;
	struct endpoint *ep;

	/* Matching finds it on all ranks. */
	if (member_of(ctx)->sim->ops[part->number].mismatched)
		return;
	/* Told when the engine has returned. */
	if (member_of(ctx)->sim->ops[part->number].odd_count) {
		part->differs = true;
		sim_wake(member_of(ctx)->sim, &member_of(ctx)->copy);
		return;
	}
	/*
	 * The rank that sends ungranted bytes may mismatch its peers, too: a grant that comes after
	 * these bytes is taken for the next use of the key.
	 */
	if (peer == ungranted || member_of(ctx)->rank == ungranted) {
		ep = member_of(ctx)->ep[task->engine->lane][peer];
		ep->mismatched = true;
		sim_wake(ep->member->sim, &ep->receive);
		return;
	}
	sim_fail(member_of(ctx)->sim, "rank %u: operation %llu does not match that of %u",
		 member_of(ctx)->rank, (unsigned long long)task->args.instance, peer);
}

static bool on_revoke(void *ctx, struct coll_stream *stream, struct coll_task *task)
{
	struct endpoint *ep = container_of(stream, struct endpoint, stream);

	if (ep->member != member_of(ctx))
		sim_fail(ep->member->sim, "another rank's references are revoked");
	return !endpoint_revoke(ep, task);
}

static void on_fpu(void *ctx, bool begin)
{
	struct member *member = member_of(ctx);

	if (member->fpu == begin)
		sim_fail(member->sim, "the vector registers are taken, or given back, twice");
	member->fpu = begin;
}

/* A task is complete: check that it completes once and with no frame open. */
static void on_complete(void *ctx, struct coll_task *task)
{
	struct member *member = member_of(ctx);
	struct sim_part *part = task->args.user;
	u32 number = part->number, lane = task->engine->lane;
	int error;

	if (!part->submitted || !part->lanes_left) {
		sim_fail(member->sim, "rank %u: operation %u completes twice",
			 member->rank, number);
		return;
	}
	part->received = task->received;
	member->ntasks[lane]--;
	if (endpoint_opens(member, lane, task)) {
		sim_fail(member->sim, "rank %u: operation %u completes with a frame open",
			 member->rank, number);
		list_add(&task->node, &member->sim->ended_early);
		return;
	}
	error = task->error;
	/* Freed at once, so that the sanitizer notices an access by the engine. */
	free(task);
	member_part_done(member, number, error);
}

static bool on_failed(void *ctx, u64 instance)
{
	return distance_remembers(member_of(ctx), instance);
}

const struct coll_engine_ops member_ops = {
	.stream		= on_stream,
	.control	= on_control,
	.kick		= on_kick,
	.complete	= on_complete,
	.mismatch	= on_mismatch,
	.revoke		= on_revoke,
	.fpu		= on_fpu,
	.expose		= expose_begin,
	.withdraw	= expose_withdraw,
	.begin_read	= expose_begin_read,
	.end_read	= expose_end_read,
	.wake		= board_wake,
	.failed		= on_failed,
};

/* Return: the features of this CPU that have an implementation of their own. */
static u32 reduce_features(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx2") ? COLL_REDUCE_HAS_AVX2 : 0;
#else
	return 0;
#endif
}

void member_init(struct sim *sim, u32 rank)
{
	struct member *member = &sim->members[rank];
	static const struct coll_reduce_impl *impls[2];
	u32 lane, i;

	impls[0] = &coll_reduce_scalar;
	impls[1] = coll_reduce_select(reduce_features());

	member->sim = sim;
	member->rank = rank;
	member->parts = calloc(sim->config.nops + 1, sizeof(*member->parts));
	for (i = 0; i < sim->config.nops; i++)
		member->parts[i].number = i;
	for (i = 0; i < sim->config.nops; i++)
		member->parts[i].done = !sim_takes_part(&sim->ops[i], rank);
	while (member->oldest < sim->config.nops && member->parts[member->oldest].done)
		member->oldest++;
	distance_init(member);
	for (lane = 0; lane < sim->config.lanes; lane++) {
		struct coll_engine *engine = &member->engine[lane];

		*engine = (struct coll_engine){
			.ops = &member_ops,
			.impl = impls[rank % 2],
			.rank = rank,
			.nranks = sim->config.nranks,
			.lane = lane,
			.incarnation = 0x1234,
		};
		engine->ctx = engine;
		engine->fuse.part = member->part;
		coll_engine_init(engine, sim->config.nslots);
	}
	sim_actor_init(sim, &member->actor, ACTOR_MEMBER, rank, member);
	sim_actor_init(sim, &member->copy, ACTOR_COPY, rank, member);
	sim_actor_init(sim, &member->ping, ACTOR_PING, rank, member);
}

void member_free(struct member *member)
{
	u32 lane, peer, i;

	for (peer = 0; peer < member->sim->config.nranks; peer++) {
		queue_free(member->queue[peer]);
		for (lane = 0; lane < SIM_LANES_MAX; lane++)
			endpoint_free(member->ep[lane][peer]);
	}
	for (lane = 0; lane < member->sim->config.lanes; lane++) {
		while (!list_empty(&member->engine[lane].active)) {
			struct coll_task *task = list_first_entry(&member->engine[lane].active,
								  struct coll_task, node);

			list_del(&task->node);
			free(task);
		}
	}
	for (i = 0; i < member->sim->config.nops; i++) {
		if (member->parts[i].recv != member->parts[i].send)
			memory_free(member->parts[i].recv);
		memory_free(member->parts[i].send);
		for (lane = 0; lane < SIM_LANES_MAX; lane++)
			memory_free(member->parts[i].scratch[lane]);
		free(member->parts[i].send_first);
		free(member->parts[i].recv_first);
	}
	free(member->parts);
	free(member->failed_counted);
}

/**
 * member_tick() - give the time to the engines of a rank, if sim_timed()
 * @member: the rank
 */
void member_tick(struct member *member)
{
	u32 lane;

	if (!sim_timed(member->sim))
		return;
	for (lane = 0; lane < member->sim->config.lanes; lane++) {
		coll_engine_tick(&member->engine[lane], member->sim->now);
		engine_deliver_unexpected(&member->engine[lane]);
	}
}

/* Set the lengths of the input and the result, and where the input is if it is in place. */
static void part_extent(const struct sim *sim, const struct sim_op *op, u32 rank,
			struct sim_part *part)
{
	u64 bytes = op->count * coll_type_size(op->type);

	u32 n = sim->config.nranks, size = coll_type_size(op->type);
	u64 before = reference_before(op, rank, n) * size;
	u64 behind = reference_behind(op, rank, n) * size;
	bool root = rank == op->root;

	part->send_len = bytes;
	part->recv_len = bytes;
	switch (op->collective) {
	case COLLECTIVE_ALLGATHER:
		part->send_len = reference_block_count(op, rank, 0) * size;
		part->recv_len = behind;
		part->own = reference_behind(op, 0, rank) * size;
		break;
	case COLLECTIVE_BROADCAST:
		part->send_len = root ? bytes : 0;
		break;
	case COLLECTIVE_SEND:
		part->send_len = root ? bytes : 0;
		part->recv_len = root ? 0 : bytes;
		break;
	case COLLECTIVE_REDUCE:
		part->recv_len = root ? bytes : 0;
		break;
	case COLLECTIVE_EXSCAN:
		part->recv_len = rank ? bytes : 0;
		break;
	case COLLECTIVE_GATHER:
		part->send_len = reference_seen_count(op, rank, rank, op->root) * size;
		part->recv_len = root ? behind : 0;
		part->own = root ? reference_behind(op, rank, rank) * size : 0;
		break;
	case COLLECTIVE_SCATTER:
		part->send_len = root ? before : 0;
		part->recv_len = reference_seen_count(op, rank, op->root, rank) * size;
		break;
	case COLLECTIVE_ALLTOALL:
		part->send_len = before;
		part->recv_len = behind;
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		part->send_len = before;
		part->recv_len = reference_block_count(op, 0, rank) * size;
		break;
	}
	if (op->varlen && !root)
		part->recv_len = reference_capacity(op, rank) * size;
}

/* Return: true if the operation cannot be in place in memory that is laid out as here. */
static bool part_apart(const struct sim_op *op, const struct sim_part *part)
{
	switch (op->collective) {
	case COLLECTIVE_SCATTER:
	case COLLECTIVE_REDUCE_SCATTER:
		return part->send_len;
	case COLLECTIVE_ALLTOALL:
		/* In place, the blocks to and from a rank would need the same length. */
		return op->vector;
	}
	return false;
}

/* Allocate memory for an operation: in place, or two buffers in one memory or in two. */
static void part_allocate(struct sim *sim, struct sim_op *op, u32 rank,
			  struct sim_part *part)
{
	size_t size = coll_type_size(op->type);
	u32 way = rng_below(&sim->rng, 4);

	part_extent(sim, op, rank, part);
	part->send_off = MARGIN + size * rng_below(&sim->rng, 64);
	part->recv_off = MARGIN + size * rng_below(&sim->rng, 64);
	part->send_off -= part->send_off % size;
	part->recv_off -= part->recv_off % size;

	if (way < 2 && part_apart(op, part))
		way += 2;
	if (way < 2 || !part->send_len || !part->recv_len) {
		part->in_place = true;
		part->send_off = part->recv_off + part->own;
		part->send = memory_new(&sim->rng, part->recv_off + MARGIN +
					max(part->recv_len, part->send_len));
		part->recv = part->send;
	} else if (way == 2) {
		part->recv_off += part->send_off + part->send_len;
		part->recv_off -= part->recv_off % size;
		part->send = memory_new(&sim->rng, part->recv_off + part->recv_len + MARGIN);
		part->recv = part->send;
	} else {
		part->send = memory_new(&sim->rng, part->send_off + part->send_len + MARGIN);
		part->recv = memory_new(&sim->rng, part->recv_off + part->recv_len + MARGIN);
		memory_fill(part->recv, FRESH, 0, part->recv->mem.length);
	}
	memory_fill(part->send, FRESH, 0, part->send->mem.length);
	if (part->send_len)
		memory_write(part->send, part->send_off,
			     reference_input(op, rank, sim->config.nranks), part->send_len);
}

/* Return: true if bytes of a memory outside of the buffers were written. */
static bool part_margins(const struct sim_part *part, const struct sim_mem *memory)
{
	u64 at = 0;

	if (memory == part->send && !part->in_place) {
		if (memory_differs(memory, FRESH, at, part->send_off))
			return true;
		at = part->send_off + part->send_len;
	}
	if (memory == part->recv) {
		if (memory_differs(memory, FRESH, at, part->recv_off))
			return true;
		at = part->recv_off + max(part->recv_len, part->in_place ? part->send_len : 0);
	}
	return memory_differs(memory, FRESH, at, memory->mem.length);
}

/* Return: bytes of the result that must be right; checks that the bytes after it are unwritten. */
static u64 part_length(struct member *member, const struct sim_op *op,
		       const struct sim_part *part)
{
	u64 sent = reference_block_count(op, op->root, member->rank) *
		   coll_type_size(op->type);
	u64 stored = min(sent, part->recv_len);

	if (!op->varlen || member->rank == op->root)
		return part->recv_len;
	if (part->received != sent)
		sim_fail(member->sim, "rank %u: operation %u: the length is %llu bytes, not %llu",
			 member->rank, part->number, (unsigned long long)part->received,
			 (unsigned long long)sent);
	if (memory_differs(part->recv, FRESH, part->recv_off + stored,
			   part->recv_off + part->recv_len))
		sim_fail(member->sim, "rank %u: operation %u: written beyond the length",
			 member->rank, part->number);
	return stored;
}

/* Check the result, that the input is unchanged, and that nothing else was written. */
static void part_check(struct member *member, u32 number)
{
	struct sim *sim = member->sim;
	struct sim_op *op = &sim->ops[number];
	struct sim_part *part = &member->parts[number];
	size_t size = coll_type_size(op->type);
	u64 i = 0;
	const u8 *expected = reference_result(sim, op, member->rank);
	u8 *got = malloc(part->recv_len + part->send_len + 8);
	u64 stored = part_length(member, op, part);

	memory_read(part->recv, part->recv_off, got, part->recv_len);
	if (memcmp(got, expected, stored)) {
		while (got[i] == expected[i])
			i++;
		sim_fail(sim, "rank %u: operation %u (%u): wrong bits in element %llu of %llu",
			 member->rank, number, op->collective, (unsigned long long)(i / size),
			 (unsigned long long)(part->recv_len / size));
	}

	if (part->send_len && (!part->in_place || !part->recv_len)) {
		memory_read(part->send, part->send_off, got, part->send_len);
		if (memcmp(got, reference_input(op, member->rank, sim->config.nranks),
			   part->send_len))
			sim_fail(sim, "rank %u: operation %u: the input was written",
				 member->rank, number);
	}
	if (part_margins(part, part->send) || part_margins(part, part->recv))
		sim_fail(sim, "rank %u: operation %u: written outside of the buffers",
			 member->rank, number);
	free(got);
}

/**
 * member_part_done() - note that a lane, or matching, has ended an operation
 * @member: the rank
 * @number: number of the operation
 * @error: 0, or a negative errno
 */
void member_part_done(struct member *member, u32 number, int error)
{
	struct sim_part *part = &member->parts[number];

	if (!part->error)
		part->error = error;
	if (!--part->lanes_left)
		member_done(member, number);
}

/**
 * member_done() - complete an operation: check it, and overwrite its memory
 * @member: the rank
 * @number: number of the operation
 */
void member_done(struct member *member, u32 number)
{
	struct sim *sim = member->sim;
	struct sim_op *op = &sim->ops[number];
	struct sim_part *part = &member->parts[number];
	u32 lane;

	part->done = true;
	member->inflight--;
	while (member->oldest < sim->config.nops && member->parts[member->oldest].done)
		member->oldest++;
	sim_wake(sim, &member->actor);

	if (part->error) {
		sim->errors++;
		if (!sim->config.fault)
			sim_fail(sim, "rank %u: operation %u fails: %d",
				 member->rank, number, part->error);
		if (!fault_explained(member) || !match_explained(sim, number))
			sim_fail(sim, "rank %u: operation %u fails, and no fault explains it",
				 member->rank, number);
		if (part->send && (part_margins(part, part->send) ||
				   part_margins(part, part->recv)))
			sim_fail(sim, "rank %u: operation %u fails, and wrote outside of buffers",
				 member->rank, number);
	} else {
		sim->successes++;
		if (op->mismatched || op->odd_count)
			sim_fail(sim, "rank %u: operation %u succeeds although counts differ",
				 member->rank, number);
		if (member->failed)
			sim_fail(sim, "rank %u: operation %u succeeds in a failed group",
				 member->rank, number);
		if (op->collective != COLLECTIVE_BARRIER)
			part_check(member, number);
		else if (op->submitted < sim->config.nranks)
			sim_fail(sim, "rank %u: barrier %u ends before all ranks have submitted it",
				 member->rank, number);
	}

	for (lane = 0; lane < SIM_LANES_MAX; lane++)
		if (part->scratch[lane])
			memory_fill(part->scratch[lane], STALE, 0,
				    part->scratch[lane]->mem.length);
	if (part->send) {
		memory_fill(part->send, STALE, 0, part->send->mem.length);
		memory_fill(part->recv, STALE, 0, part->recv->mem.length);
	}
}

/* Set the lengths of the blocks in the plan, as far as this rank knows them. */
static void part_vector(struct sim *sim, const struct sim_op *op, struct sim_part *part,
			struct coll_plan *plan)
{
	u32 n = sim->config.nranks, rank = plan->rank, i;

	if (!op->vector)
		return;
	part->send_first = calloc(n + 1, sizeof(*part->send_first));
	part->recv_first = calloc(n + 1, sizeof(*part->recv_first));
	for (i = 0; i < n; i++) {
		part->send_first[i + 1] = part->send_first[i] +
					  reference_seen_count(op, rank, rank, i);
		part->recv_first[i + 1] = part->recv_first[i] +
					  reference_seen_count(op, rank, i, rank);
	}
	plan->vector = true;
	plan->count = 0;
	switch (op->collective) {
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_REDUCE_SCATTER:
		for (i = 0; i < n; i++)
			plan->count = max(plan->count, reference_block_count(op, i, i));
		break;
	case COLLECTIVE_GATHER:
		plan->count = reference_seen_count(op, rank, rank, op->root);
		break;
	case COLLECTIVE_SCATTER:
		plan->count = reference_seen_count(op, rank, op->root, rank);
		break;
	}
	if (op->collective == COLLECTIVE_REDUCE_SCATTER ||
	    op->collective == COLLECTIVE_ALLTOALL ||
	    (op->collective == COLLECTIVE_SCATTER && rank == op->root))
		plan->send_first = part->send_first;
	if (op->collective == COLLECTIVE_ALLGATHER || op->collective == COLLECTIVE_ALLTOALL ||
	    (op->collective == COLLECTIVE_GATHER && rank == op->root))
		plan->recv_first = part->recv_first;
}

/* Allocate the scratch of a lane; the exact size, so that the sanitizer notices one byte more. */
static void part_scratch(struct sim *sim, struct sim_part *part, struct coll_task_args *call)
{
	u32 lane = call->plan.lane;
	u64 bytes = coll_plan_scratch(&call->plan);

	if (!bytes)
		return;
	part->scratch[lane] = memory_new(&sim->rng, bytes);
	part->scratch[lane]->window = coll_schedule_find(&call->plan)->windowed;
	memory_fill(part->scratch[lane], FRESH, 0, bytes);
	call->area[COLL_AREA_SCRATCH] = &part->scratch[lane]->mem;
}

/*
 * Return: true if an earlier operation with the same key has failed on this rank.  Then the
 * lanes do not get this one.  Any other aborted operation may reach the lanes, as it would if
 * its abort arrived just after it was submitted.
 */
static bool member_refuses(const struct member *member, u32 number)
{
	const struct sim_op *ops = member->sim->ops;
	u32 i;

	for (i = 0; i < number; i++)
		if (ops[i].instance == ops[number].instance && member->parts[i].error)
			return true;
	return false;
}

/* Return: the operation as a rank calls it. */
static struct sim_op op_called(const struct sim_op *op, u32 rank)
{
	struct sim_op called = *op;

	if (op->odd_count && rank == op->odd_rank) {
		called.count = op->odd_count;
		called.seed++;
	}
	return called;
}

/* Submit an operation to the engines of all its lanes; it fails at once if it is known to fail. */
static void member_submit(struct member *member, u32 number)
{
	struct sim *sim = member->sim;
	struct sim_op *op = &sim->ops[number], called = op_called(op, member->rank);
	struct sim_part *part = &member->parts[number];
	struct coll_plan plan = sim_plan(sim, &called, member->rank);
	bool barrier = op->collective == COLLECTIVE_BARRIER;
	u32 lane, lanes;

	op->submitted++;
	part->submitted = true;
	part->aborted = distance_failed(member, op->instance);
	member->inflight++;
	distance_submitted(member, number);
	if (part->aborted &&
	    (member_refuses(member, number) || rng_once_in(&sim->rng, 2))) {
		part->error = -ECANCELED;
		member_done(member, number);
		return;
	}
	if (!barrier)
		part_allocate(sim, &called, member->rank, part);
	part_vector(sim, op, part, &plan);
	if (plan.varlen && member->rank != op->root)
		plan.count = reference_capacity(op, member->rank);
	plan.in_place = part->in_place && part->send_len && part->recv_len;
	part->plan = plan;
	part->signature.count = called.seed;
	lanes = coll_plan_lanes(&plan);
	part->lanes_left = lanes + match_waits(sim, op);

	for (lane = 0; lane < lanes; lane++) {
		u32 on = op->collective == COLLECTIVE_SEND ?
			op->instance % sim->config.lanes : lane;
		struct coll_task_args call = {
			.plan = plan,
			.instance = op->instance,
			.signature = coll_plan_implicit_match(&plan) ? &part->signature : NULL,
			.user = part,
		};
		struct coll_task *task = malloc(sizeof(*task));
		int err;

		call.plan.lane = lane;
		call.plan.schedule = mutation_schedule(sim, &call.plan);
		call.plan.in_place &= sim->config.mutation != MUTATION_SAVED_INPUT;
		call.eager = coll_plan_eager(&call.plan);
		part_scratch(sim, part, &call);
		if (!barrier) {
			call.area[COLL_AREA_SEND] = &part->send->mem;
			call.area[COLL_AREA_RECV] = &part->recv->mem;
			call.area_off[COLL_AREA_SEND] = part->send_off;
			call.area_off[COLL_AREA_RECV] = part->recv_off;
		}
		if (++member->ntasks[on] > sim->config.window)
			sim_fail(sim, "rank %u: %u tasks on a lane", member->rank,
				 member->ntasks[on]);
		*task = (struct coll_task){ .args = call };
		err = engine_submit(&member->engine[on], task);
		if (err)
			sim_fail(sim, "rank %u: submitting operation %u: %d",
				 member->rank, number, err);
	}
	if (match_waits(sim, op))
		match_begin(member, number);
	if (part->aborted)
		member_abort(member, op->instance);
	sim_wake(sim, &member->copy);
}

/*
 * Return: true if the operation may be submitted now.  A key may be used again when the last
 * operation with it is done.  Counted operations are submitted in the order of the program.
 */
static bool member_may(const struct member *member, u32 number)
{
	const struct sim_op *op = &member->sim->ops[number];

	if (member->parts[number].submitted || member->parts[number].done)
		return false;
	if (coll_instance_is_counted(op->instance))
		return number == member->next_counted && distance_may(member, op->instance);
	return op->before == OP_NONE || member->parts[op->before].done;
}

/* Set @next to a random operation that may be submitted.  Return: false if there is none. */
static bool member_next(struct member *member, u32 *next)
{
	struct sim *sim = member->sim;
	u32 end = min(member->oldest + sim->config.window, sim->config.nops);
	u32 i, n = 0;

	for (i = member->oldest; i < end; i++)
		if (member_may(member, i) && rng_once_in(&sim->rng, ++n))
			*next = i;
	return n;
}

/**
 * member_act() - submit a random operation
 * @member: the rank
 *
 * Return: false if none can be submitted now.
 */
bool member_act(struct member *member)
{
	u32 next = 0;

	if (member->failed || !member_next(member, &next))
		return false;
	member_tick(member);
	member_submit(member, next);
	return true;
}

/**
 * member_wake_copy() - let the rank copy or read, if an engine wants to
 * @member: the rank
 */
void member_wake_copy(struct member *member)
{
	u32 lane;

	for (lane = 0; lane < member->sim->config.lanes; lane++)
		if (!list_empty(&member->engine[lane].moving))
			sim_wake(member->sim, &member->copy);
}

/* Fail the operations of which the engines have found that other ranks called something else. */
static void tell_mismatches(struct member *member)
{
	u32 i;

	for (i = 0; i < member->sim->config.nops; i++) {
		struct sim_part *part = &member->parts[i];

		if (part->differs && !part->done)
			fault_mismatch(member, i);
		part->differs = false;
	}
}

/**
 * member_copy() - do some of the local copies of a random lane
 * @member: the rank
 *
 * Return: false if no local copies are left on any lane.
 */
bool member_copy(struct member *member)
{
	u32 lane = rng_below(&member->sim->rng, member->sim->config.lanes);
	bool more = false;

	member_tick(member);
	expose_end_withdrawals(member);
	if (member->sim->config.fault == FAULT_CALLS)
		tell_mismatches(member);
	board_look(member);
	coll_engine_move(&member->engine[lane], rng_between(&member->sim->rng, 1, 100000));
	engine_deliver_unexpected(&member->engine[lane]);
	for (lane = 0; lane < member->sim->config.lanes; lane++)
		more |= !list_empty(&member->engine[lane].moving);
	return more;
}
