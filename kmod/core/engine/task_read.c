// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps that read: bytes come from the memory of other ranks of this host, not in frames.
 *
 * A task of such a schedule exposes its input and its result from its start on.  Signals say when
 * they may be read, and when they are not read any more; so a task that succeeds is not read.  The
 * owner of an aborted task withdraws the memory.  A rank that finds it withdrawn waits for the
 * abort.  Each piece is read between begin_read() and end_read().
 *
 * Signals do not tell blocks of different lengths, so a rank with other blocks may expose less than
 * a step reads.  That is a mismatch, and nothing is read.
 */
#include "core/engine/task.h"

#include <linux/collective.h>

/*
 * Most bytes that are read in one piece, of all ranks together.  Of many ranks a page each is read,
 * because to begin and end a read costs as much as some hundred bytes.
 */
#define TASK_READ_PIECE	(64 * 1024U)
#define TASK_READ_EACH	4096U

/* The rank whose operand is number @i in the order of a reduction. */
static u32 step_operand(const struct coll_plan *plan, const struct coll_step *step, u32 i)
{
	u32 place = (plan->rank + plan->nranks - step->first) % plan->nranks;

	if (step->own_first) {
		if (!i)
			return plan->rank;
		/* Without the own operand, which is first and not at its place */
		i -= i <= place;
	}
	return (step->first + i) % plan->nranks;
}

static void task_end_read(struct coll_task *task, u32 operands)
{
	const struct coll_engine *engine = task->engine;
	u32 i, peer;

	for (i = 0; i < operands; i++) {
		peer = step_operand(&task->args.plan, &task->rx, i);
		if (peer != engine->rank)
			engine->ops->end_read(engine->ctx, task, peer);
	}
}

/*
 * Begin to read the memory of a rank, whose first @end bytes the current step may read.
 *
 * Return: false if the rank has withdrawn it: the rank has aborted the operation, and this rank
 * will hear of it.  Or the rank exposes too little, and this rank reports that.
 */
static bool task_begin_read(struct coll_task *task, u32 peer, u32 area, u64 end,
			    struct coll_exposed *exposed)
{
	const struct coll_engine *engine = task->engine;
	bool begun = engine->ops->begin_read(engine->ctx, task, peer, area, exposed);

	if (begun && end <= exposed->len)
		return true;
	if (begun) {
		engine->ops->end_read(engine->ctx, task, peer);
		engine->ops->mismatch(engine->ctx, task, peer);
	}
	coll_task_stop(task, peer);
	list_del_init(&task->moving);
	return false;
}

/* Begin to read all operands of a reduction.  Return: false if one cannot be read. */
static bool task_begin_reduce(struct coll_task *task)
{
	const struct coll_task_args *args = &task->args;
	struct coll_engine *engine = task->engine;
	struct coll_fuse *fuse = &engine->fuse;
	u64 off = task->rx.own_off + task->rx_off, end = task->rx.own_off + task->rx.in.len;
	u32 i;

	for (i = 0; i < args->plan.nranks; i++) {
		u32 peer = step_operand(&args->plan, &task->rx, i);
		struct coll_exposed exposed = {
			.mem = args->area[COLL_AREA_SEND],
			.off = args->area_off[COLL_AREA_SEND],
		};

		if (peer != engine->rank &&
		    !task_begin_read(task, peer, COLL_AREA_SEND, end, &exposed)) {
			task_end_read(task, i);
			return false;
		}
		if (peer == engine->rank)
			fuse->own = i;
		fuse->source[i] = (struct coll_fuse_source){
			.mem = exposed.mem,
			.off = exposed.off + off,
		};
	}
	return true;
}

/* Reduce one piece.  Return: its bytes; 0: an operand cannot be read. */
static u64 task_read_reduce(struct coll_task *task, u64 len, u64 *cost)
{
	const struct coll_task_args *args = &task->args;
	struct coll_engine *engine = task->engine;
	struct coll_fuse *fuse = &engine->fuse;
	u64 n = max(TASK_READ_PIECE / args->plan.nranks, TASK_READ_EACH);

	if (!task_begin_reduce(task))
		return 0;
	fuse->type = args->plan.type;
	fuse->reduction = args->plan.reduction;
	fuse->wide = coll_plan_wide(&args->plan);
	fuse->sources = args->plan.nranks;
	fuse->divisor = args->plan.reduction == COLLECTIVE_AVG ? args->plan.nranks : 0;
	fuse->dst = args->area[task->rx.in.area];
	fuse->dst_off = args->area_off[task->rx.in.area] + task->rx.in.off + task->rx_off;
	fuse->impl = engine->impl;

	n = min(n & ~(u64)(COLL_ELEMENT_MAX - 1), len);
	engine->ops->fpu(engine->ctx, true);
	n = coll_fuse(fuse, n, &engine->stats.read);
	engine->ops->fpu(engine->ctx, false);
	task_end_read(task, args->plan.nranks);
	*cost = fuse->cost;
	return n;
}

/* Copy one piece of another rank's result.  Return: its bytes; 0: it cannot be read. */
static u64 task_read_copy(struct coll_task *task, u64 len, u64 *cost)
{
	const struct coll_task_args *args = &task->args;
	struct coll_engine *engine = task->engine;
	const struct coll_mem *dst = args->area[task->rx.in.area];
	u64 off = task->rx.in.off + task->rx_off, to = args->area_off[task->rx.in.area] + off;
	struct coll_copy_hint hint = {
		.volume = coll_plan_result(&args->plan),
		.source = COLL_NT_RECEIVED,
	};
	u64 piece, done = 0;
	struct coll_exposed exposed;

	if (!task_begin_read(task, task->rx.from, COLL_AREA_RECV,
			     task->rx.in.off + task->rx.in.len, &exposed))
		return 0;
	off += exposed.off;
	piece = min(coll_mem_piece(dst, to), coll_mem_piece(exposed.mem, off));
	len = coll_piece_bound(piece, min_t(u64, len, TASK_READ_PIECE));
	while (done < len) {
		size_t n;
		const void *ptr = exposed.mem->at(exposed.mem, off + done, &n);

		n = min_t(u64, n, len - done);
		coll_copier_store(engine->copier, engine->impl->copy, dst, to + done, ptr, n,
				  &hint);
		done += n;
	}
	engine->ops->end_read(engine->ctx, task, task->rx.from);
	engine->stats.read.peers += len;
	engine->stats.read.stored += len;
	*cost = max_t(u64, coll_piece_cost(piece, len), COLL_PIECE_COST);
	return len;
}

/**
 * coll_task_read() - read a piece of the current step
 * @task: the task; its @rx reads.  It may be gone afterwards
 *
 * Context: the FPU registers are not in use.
 * Return: the cost for a budget.
 */
u64 coll_task_read(struct coll_task *task)
{
	u64 left = task->rx.in.len - task->rx_off, cost = COLL_PIECE_COST, n;

	n = task->rx.reduce ? task_read_reduce(task, left, &cost) :
			      task_read_copy(task, left, &cost);
	if (!n)
		return cost;
	if (n == left)
		list_del_init(&task->moving);
	coll_task_rx_advance(task, task->rx_off + n);
	return cost;
}

/**
 * coll_task_expose() - let the other ranks read the memory of a task, if its schedule reads
 * @task: the task
 */
void coll_task_expose(struct coll_task *task)
{
	if (!task->schedule->reads || !task->nsteps)
		return;
	task->exposed = true;
	task->engine->ops->expose(task->engine->ctx, task);
}

/**
 * coll_task_withdraw() - let no other rank read the memory of a task any more
 * @task: the task
 *
 * Return: false if a rank is reading it just now; coll_engine_withdrawn() follows.
 */
bool coll_task_withdraw(struct coll_task *task)
{
	if (task->exposed && task->engine->ops->withdraw(task->engine->ctx, task))
		task->exposed = false;
	return !task->exposed;
}
