// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that a program could submit: every collective, type and algorithm, in place or
 * not, with blocks of different lengths, and with lengths that the sender decides (VARLEN).
 * They have few elements, but may have many frames, because the scratch windows are small.
 */
#include "rig.h"
#include "core/reduce/reduce.h"

#define INPUT_BYTE	1
#define COUNT_MAX	9000

/**
 * struct footprint - the sizes of an operation's buffers on this rank
 * @send: the input; elements
 * @recv: the result; elements
 * @own: the offset of the input in the result if the operation is in place; elements
 */
struct footprint {
	u64 send;
	u64 recv;
	u64 own;
};

static u64 choose_count(struct input *in)
{
	static const u16 counts[] = {
		0, 1, 2, 3, 4, 5, 8, 15, 16, 33, 64, 100, 255, 600, 1024, COUNT_MAX,
	};

	return counts[input_below(in, ARRAY_SIZE(counts))];
}

/* A few bytes, but no more than 256 segments: thousands take long and test nothing else. */
static u32 choose_segment(struct input *in, u64 bytes)
{
	u32 segment = COLL_ELEMENT_MAX << input_below(in, 8);

	while (segment < bytes / 256)
		segment *= 2;
	return segment;
}

static void choose_plan(const struct rig *rig, struct input *in, struct coll_plan *plan)
{
	u8 how;

	plan->collective = input_below(in, COLLECTIVE_OPCODE_COUNT);
	plan->type = input_below(in, COLLECTIVE_TYPE_COUNT);
	plan->reduction = input_below(in, COLLECTIVE_REDUCTION_COUNT);
	plan->algorithm = input_below(in, COLLECTIVE_ALGORITHM_COUNT);
	plan->rank = rig->engine.rank;
	plan->nranks = rig->engine.nranks;
	plan->root = input_below(in, plan->nranks);
	plan->nlanes = 1;
	plan->count = choose_count(in);
	plan->size = coll_type_size(plan->type);
	how = input_byte(in);
	plan->reproducible = how & 1;
	plan->wide = how & 2;
	plan->varlen = how & 4;
	plan->vector = how & 8;
	plan->in_place = how & 16;
	if (plan->collective == COLLECTIVE_BARRIER)
		plan->count = 0;
	if (coll_plan_is_p2p(plan) && plan->root == plan->rank)
		plan->root = (plan->root + 1) % plan->nranks;
	if (plan->collective == COLLECTIVE_SEND)
		plan->varlen = false;
}

static bool has_blocks(const struct coll_plan *plan)
{
	return plan->collective >= COLLECTIVE_ALLGATHER &&
	       plan->collective <= COLLECTIVE_ALLTOALL;
}

/* Choose blocks of different lengths, and give the plan those that this rank knows. */
static void choose_blocks(struct input *in, struct coll_plan *plan,
			  struct operation *operation)
{
	u64 *send = operation->first[0], *recv = operation->first[1];
	bool root = plan->rank == plan->root;
	u64 longest = 0;
	u32 i;

	if (!plan->vector)
		return;
	for (i = 0; i < plan->nranks; i++) {
		u64 count = input_below(in, 32) ? input_byte(in) : choose_count(in);

		longest = max(longest, count);
		send[i + 1] = send[i] + count;
		/* The two directions of a pair differ; a rank's block to itself is one. */
		if (plan->collective == COLLECTIVE_ALLTOALL && i != plan->rank)
			count = input_byte(in);
		recv[i + 1] = recv[i] + count;
	}
	plan->count = send[plan->rank + 1] - send[plan->rank];
	switch (plan->collective) {
	case COLLECTIVE_ALLGATHER:
		plan->count = longest;
		plan->recv_first = recv;
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		plan->count = longest;
		plan->send_first = send;
		break;
	case COLLECTIVE_GATHER:
		plan->recv_first = root ? recv : NULL;
		break;
	case COLLECTIVE_SCATTER:
		plan->send_first = root ? send : NULL;
		break;
	case COLLECTIVE_ALLTOALL:
		plan->count = 0;
		plan->send_first = send;
		plan->recv_first = recv;
		break;
	}
}

static u64 block(const struct coll_plan *plan, const u64 *first)
{
	return coll_plan_first(plan, first, plan->rank + 1) -
	       coll_plan_first(plan, first, plan->rank);
}

static struct footprint plan_footprint(const struct coll_plan *plan)
{
	bool root = plan->rank == plan->root;
	u64 before = coll_plan_first(plan, plan->send_first, plan->nranks);
	u64 behind = coll_plan_first(plan, plan->recv_first, plan->nranks);
	struct footprint footprint = { .send = plan->count, .recv = plan->count };

	switch (plan->collective) {
	case COLLECTIVE_ALLGATHER:
		footprint.send = block(plan, plan->recv_first);
		footprint.recv = behind;
		footprint.own = coll_plan_first(plan, plan->recv_first, plan->rank);
		break;
	case COLLECTIVE_BROADCAST:
		footprint.send = root ? plan->count : 0;
		break;
	case COLLECTIVE_SEND:
		footprint.recv = 0;
		break;
	case COLLECTIVE_RECV:
		footprint.send = 0;
		break;
	case COLLECTIVE_REDUCE:
		footprint.recv = root ? plan->count : 0;
		break;
	case COLLECTIVE_EXSCAN:
		footprint.recv = plan->rank ? plan->count : 0;
		break;
	case COLLECTIVE_GATHER:
		footprint.send = block(plan, plan->recv_first);
		footprint.recv = root ? behind : 0;
		footprint.own = root ? coll_plan_first(plan, plan->recv_first, plan->rank) : 0;
		break;
	case COLLECTIVE_SCATTER:
		footprint.send = root ? before : 0;
		footprint.recv = block(plan, plan->send_first);
		break;
	case COLLECTIVE_ALLTOALL:
		footprint.send = before;
		footprint.recv = behind;
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		footprint.send = before;
		footprint.recv = block(plan, plan->send_first);
		break;
	}
	return footprint;
}

/* Return: true if the operation may be in place. */
static bool may_share(const struct coll_plan *plan, const struct footprint *footprint)
{
	if (!footprint->send || !footprint->recv)
		return false;
	switch (plan->collective) {
	case COLLECTIVE_SCATTER:
	case COLLECTIVE_REDUCE_SCATTER:
		return false;
	case COLLECTIVE_ALLTOALL:
		return !plan->vector;
	}
	return true;
}

static void allocate_area(struct operation *operation, struct coll_task_args *call, u8 area,
			  u64 elements, u64 piece)
{
	if (!elements)
		return;
	operation->area[area] = area_new(elements * call->plan.size, piece);
	call->area[area] = &operation->area[area]->mem;
	call->area_off[area] = AREA_MARGIN;
}

static void allocate(struct operation *operation, struct coll_task_args *call, u64 piece)
{
	const struct coll_plan *plan = &call->plan;
	struct footprint footprint = plan_footprint(plan);
	u64 scratch;

	allocate_area(operation, call, COLL_AREA_RECV, footprint.recv, piece);
	if (plan->in_place) {
		operation->area[COLL_AREA_SEND] = operation->area[COLL_AREA_RECV];
		call->area[COLL_AREA_SEND] = call->area[COLL_AREA_RECV];
		call->area_off[COLL_AREA_SEND] = AREA_MARGIN + footprint.own * plan->size;
	} else {
		allocate_area(operation, call, COLL_AREA_SEND, footprint.send, piece);
		operation->send_len = footprint.send * plan->size;
	}
	if (footprint.send)
		area_fill(operation->area[COLL_AREA_SEND], call->area_off[COLL_AREA_SEND],
			  footprint.send * plan->size, INPUT_BYTE);

	scratch = coll_plan_scratch(plan);
	if (scratch) {
		operation->area[COLL_AREA_SCRATCH] =
			area_window(scratch, coll_schedule_find(plan)->windowed);
		call->area[COLL_AREA_SCRATCH] = &operation->area[COLL_AREA_SCRATCH]->mem;
	}
}

static bool plan_valid(const struct coll_plan *plan)
{
	static const u8 reducing[] = {
		COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE, COLLECTIVE_REDUCE_SCATTER,
		COLLECTIVE_SCAN, COLLECTIVE_EXSCAN,
	};
	bool scan = plan->collective == COLLECTIVE_SCAN ||
		    plan->collective == COLLECTIVE_EXSCAN;

	if (memchr(reducing, plan->collective, sizeof(reducing)) &&
	    (!coll_reduce_valid(plan->type, plan->reduction) ||
	     (scan && plan->reduction == COLLECTIVE_AVG)))
		return false;
	return coll_schedule_find(plan);
}

/**
 * operation_new() - make an operation and its memory
 * @rig: the rig whose engine will execute it
 * @in: the choices
 * @call: the task's arguments; filled in, except for the instance
 *
 * Return: the operation; NULL if there is no such operation.
 */
struct operation *operation_new(const struct rig *rig, struct input *in,
				struct coll_task_args *call)
{
	struct operation *operation = calloc(1, sizeof(*operation));
	struct coll_plan *plan = &call->plan;
	struct footprint footprint;
	u8 how;

	choose_plan(rig, in, plan);
	how = input_byte(in);
	plan->vector &= has_blocks(plan) && !plan->varlen;
	choose_blocks(in, plan, operation);
	plan->segment = choose_segment(in, plan->size * max3(plan->count,
							     operation->first[0][plan->nranks],
							     operation->first[1][plan->nranks]));
	footprint = plan_footprint(plan);
	plan->in_place &= may_share(plan, &footprint);
	if (!plan_valid(plan)) {
		free(operation);
		return NULL;
	}
	call->eager = coll_plan_eager(plan) && (how & 1 || coll_schedule_find(plan)->eager);
	allocate(operation, call, COLL_ELEMENT_MAX << (how >> 4));
	return operation;
}

/**
 * operation_check() - require that nothing but the result was written
 * @operation: a complete operation
 */
void operation_check(const struct operation *operation)
{
	const struct area *send = operation->area[COLL_AREA_SEND];
	const struct area *recv = operation->area[COLL_AREA_RECV];

	require(!send || area_margins(send));
	require(!recv || area_margins(recv));
	require(!operation->send_len ||
		area_holds(send, AREA_MARGIN, operation->send_len, INPUT_BYTE));
}

/**
 * operation_free() - free an operation and its memory
 * @operation: an operation that the engine does not know, or has completed
 */
void operation_free(struct operation *operation)
{
	if (operation->area[COLL_AREA_SEND] != operation->area[COLL_AREA_RECV])
		free(operation->area[COLL_AREA_SEND]);
	free(operation->area[COLL_AREA_RECV]);
	free(operation->area[COLL_AREA_SCRATCH]);
	free(operation);
}

/* A message's instance has its two ranks and a tag; a collective's is a key or a number. */
static u64 choose_instance(struct rig *rig, struct input *in, const struct coll_plan *plan)
{
	u8 how = input_byte(in);
	bool keyed = how & 1;
	u32 key = how >> 1;

	if (plan->collective == COLLECTIVE_SEND)
		return coll_instance_p2p(plan->rank, plan->root, key % RIG_KEYS, keyed);
	if (plan->collective == COLLECTIVE_RECV)
		return coll_instance_p2p(plan->root, plan->rank, key % RIG_KEYS, keyed);
	if (keyed)
		return coll_instance_keyed(key % RIG_KEYS);
	/* An operation that does not use this lane takes a number, too. */
	rig->next += how >> 6 == 3;
	return rig->next++;
}

/**
 * rig_submit() - submit an operation
 * @rig: the rig
 * @in: the choices; the operation is often the same as the last one
 *
 * Does nothing if the group has failed, RIG_SLOTS operations are in progress, or the choices
 * give no operation.
 */
void rig_submit(struct rig *rig, struct input *in)
{
	bool again = input_once_in(in, 2) && rig->again.left;
	struct input same = rig->again;
	struct coll_task_args call = { 0 };
	struct operation *operation;
	int err;

	if (rig->failed || rig->submitted - rig->completed == RIG_SLOTS)
		return;
	if (!again)
		rig->again = *in;
	operation = operation_new(rig, again ? &same : in, &call);
	if (!operation)
		return;
	call.instance = choose_instance(rig, in, &call.plan);
	if (failed_set_have(&rig->failures, call.instance)) {
		operation_free(operation);
		return;
	}
	rig->call = coll_plan_call(&call.plan);
	rig->submitted++;
	operation->task = (struct coll_task){ .args = call };
	err = engine_submit(&rig->engine, &operation->task);
	if (!err)
		return;
	require(err == -EEXIST);
	rig->submitted--;
	operation_free(operation);
}
