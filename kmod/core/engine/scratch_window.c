// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windowed scratch: what comes is granted as far as there is room for it, and there
 * is room as what lies there leaves (struct coll_schedule).
 */
#include "core/engine/task.h"

/* Where in scratch a step needs room for what it has not been granted yet. */
static u64 inst_grant_place(const struct coll_task *inst, const struct coll_step *step)
{
	return (step->exchange ? step->out.off : step->in.off) + step_stored(step, inst->grant_off);
}

/*
 * How much of what comes in a step finds room in scratch, as far as that has been
 * left.
 */
static u64 inst_room(const struct coll_task *inst, const struct coll_step *step)
{
	u64 window = inst->args.area[COLL_AREA_SCRATCH]->length;
	u64 from = inst_grant_place(inst, step);
	u64 end = (inst->left & ~(COLL_ELEMENT_MAX - 1ULL)) + window;
	u64 room = end > from ? end - from : 0;

	if (step->wide_out == step->wide_in)
		return room;
	return step->wide_out ? room / 2 : 2 * room;
}

/*
 * What will be overwritten is copied to where it is sent from: a window at most, or of
 * short pieces some, and the rest when there is nothing else to do.
 */
static u64 inst_swap(struct coll_task *inst, const struct coll_step *step, u64 len)
{
	const struct coll_task_args *call = &inst->args;
	const struct coll_mem *mem = call->area[step->in.area];
	u64 from = call->area_off[step->in.area] + step->in.off + inst->grant_off;
	u64 some = len ? coll_piece_bound(coll_mem_piece(mem, from), len) : 0;

	coll_mem_copy(inst->engine->impl->copy, call->area[COLL_AREA_SCRATCH],
		      inst_grant_place(inst, step), mem, from, some);
	inst->exchanging = some < len;
	return some;
}

/**
 * coll_window_swapped() - how much of the step that sends has been copied
 * @inst: the instance, in a step that swaps
 *
 * Return: bytes.
 */
noinline u64 coll_window_swapped(const struct coll_task *inst)
{
	if (inst->tx_step == inst->grant_step)
		return inst->grant_off;
	return inst->tx_step < inst->grant_step ? inst->tx.out.len : 0;
}

/*
 * Go through the steps of the run as far as there is room for what comes: those of a window,
 * or, where blocks are shorter than a segment, one a block.
 */
static void inst_allow(struct coll_task *inst)
{
	struct coll_step step;

	coll_schedule_step(inst->schedule, &inst->args.plan, inst->grant_step, &step);
	/* What the window has room for: four segments, or a block a turn. */
	while (!inst->granted) {
		bool scratch = step.exchange || step.in.area == COLL_AREA_SCRATCH;
		u64 more = step_in(&step) - inst->grant_off;

		if (step.clear) {
			inst->grant_limit = COLL_GRANT_ALL;
			inst->granted = true;
			return;
		}
		if (step_in(&step) && scratch)
			more = min(more, inst_room(inst, &step));
		if (step_in(&step) && step.exchange)
			more = inst_swap(inst, &step, more);
		inst->grant_off += more;
		inst->grant_limit += more;
		if (inst->grant_off < step_in(&step))
			return;

		inst->grant_off = 0;
		inst->grant_step = coll_schedule_next(inst->schedule, &inst->args.plan,
						      inst->grant_step + 1, inst->nsteps,
						      false, &step);
		inst->granted = inst->grant_step == inst->nsteps || step.from != inst->rx.from;
	}
}

/* Where in scratch that ends: its steps have their places there in order. */
static u64 inst_allowed(const struct coll_task *inst)
{
	struct coll_step step;

	if (inst->granted)
		return ~0ULL;
	coll_schedule_step(inst->schedule, &inst->args.plan, inst->grant_step, &step);
	return inst_grant_place(inst, &step);
}

/**
 * coll_window_grant() - grant what the window has room for, a good part of it at a time
 * @inst: the instance, whose run has begun
 * @first: it has not been told anything yet
 *
 * What is not told yet is less than a quarter of it, so there is always more to be
 * told when all that has come has left.
 */
noinline void coll_window_grant(struct coll_task *inst, bool first)
{
	u64 window = inst->args.area[COLL_AREA_SCRATCH] ?
		     inst->args.area[COLL_AREA_SCRATCH]->length : 0;
	u64 allowed;

	inst_allow(inst);
	if (inst->exchanging)
		coll_engine_copying(inst);
	coll_task_kick(inst);
	allowed = inst_allowed(inst);
	if (!first && !inst->granted && allowed - inst->grant_scratch < window / 4)
		return;
	inst->grant_scratch = allowed;
	coll_task_send_grant(inst, inst->grant_limit);
}

/**
 * coll_window_swap() - fill the window further with what is swapped
 * @inst: the instance, that is swapping
 */
void coll_window_swap(struct coll_task *inst)
{
	inst->exchanging = false;
	list_del_init(&inst->copying);
	if (inst->local.len)
		coll_engine_copying(inst);
	if (inst->run_started && !inst->granted)
		coll_window_grant(inst, false);
}
