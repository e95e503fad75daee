// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trees and doubling: few steps, for small payloads.
 *
 * Allreduce and allgather tell the length of each step.  Because every rank's result depends on
 * every other rank's call, they need no announcement.
 *
 * Hazards: all but barrier and broadcast are small and sent by copy.  But the copy is made when
 * the socket takes it, and receiving must not wait for that.  So nothing is written that was
 * sent: each round has its own place in scratch, and in place a copy of the input is sent.
 */
#include "core/schedule/schedule.h"

/* Rounds of doubling until @n ranks are reached. */
static u32 rounds(u32 n)
{
	return n > 1 ? 32 - __builtin_clz(n - 1) : 0;
}

/* Number of ranks beyond the largest power of two. */
static u32 doubling_extra(const struct coll_plan *plan)
{
	u32 n = plan->nranks, k = rounds(n);

	return (1U << k) == n ? 0 : n - (1U << (k - 1));
}

/* Partner in round @k of this rank, or of the rank that acts for it. */
static u32 doubling_partner(const struct coll_plan *plan, u32 k)
{
	u32 extra = doubling_extra(plan);
	u32 me = plan->rank < 2 * extra ? plan->rank / 2 : plan->rank - extra;

	me ^= 1U << k;
	return me < extra ? 2 * me + 1 : me + extra;
}

static u64 tree_barrier_steps(const struct coll_plan *plan)
{
	return rounds(plan->nranks);
}

/*
 * Dissemination: in round k rank r signals rank r + 2^k, which has then heard, directly or through
 * others, of the 2^(k + 1) ranks before it.  If the number of ranks is a power of two, rank r
 * exchanges with rank r xor 2^k, so that each signal acknowledges the other.
 */
static void tree_barrier_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 n = plan->nranks, far = 1U << i;

	if (doubling_extra(plan)) {
		step->to = (plan->rank + far) % n;
		step->from = (plan->rank + n - far) % n;
	} else {
		step->to = doubling_partner(plan, i);
		step->from = step->to;
	}
	step->depends_on = i;
	step->signal = true;
}

const struct coll_schedule coll_tree_barrier = {
	.name	= "dissemination barrier",
	.algorithm = COLLECTIVE_ALGORITHM_TREE,
	.covers_all = true,
	.implicit_match = true,
	.steps	= tree_barrier_steps,
	.step	= tree_barrier_step,
};

static u64 tree_broadcast_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 1 + rounds(plan->nranks) : 0;
}

/*
 * A binomial tree: a rank that has the vector sends it to the ranks 2^k, ... 4, 2, 1 after it,
 * counted from the root.
 */
static void tree_broadcast_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 n = plan->nranks, top = rounds(n);
	u32 me = (plan->rank + n - plan->root) % n;
	u32 low = me ? me & -me : 1U << top;
	u32 far = i ? 1U << (top - i) : 0;

	step->in = coll_plan_span(plan, coll_plan_vector(plan), COLL_AREA_RECV);
	step->out = coll_plan_span(plan, coll_plan_vector(plan),
				   me ? COLL_AREA_RECV : COLL_AREA_SEND);
	if (!i && me)
		step->from = (me - low + plan->root) % n;
	else if (i && far < low && me + far < n)
		step->to = (me + far + plan->root) % n;
	step->tag = plan->root;
	step->depends_on = 1;
	step->cut_through = true;
}

const struct coll_schedule coll_tree_broadcast = {
	.name	= "binomial broadcast",
	.algorithm = COLLECTIVE_ALGORITHM_TREE,
	.steps	= tree_broadcast_steps,
	.step	= tree_broadcast_step,
	.local_copy = coll_local_root,
};

static struct coll_span tree_vector(const struct coll_plan *plan, u8 area)
{
	return coll_plan_span(plan, coll_plan_vector(plan), area);
}

/* A place in scratch with the size of the vector. */
static struct coll_span tree_slot(const struct coll_plan *plan, u32 place)
{
	u64 len = coll_plan_vector(plan).count * plan->size;

	return (struct coll_span){ .area = COLL_AREA_SCRATCH, .off = place * len, .len = len };
}

/* The input; in place, its copy at the first place in scratch. */
static struct coll_span tree_input(const struct coll_plan *plan)
{
	return plan->in_place ? tree_slot(plan, 0) : tree_vector(plan, COLL_AREA_SEND);
}

static void tree_save_input(const struct coll_plan *plan, struct coll_local_copy *local)
{
	struct coll_span input = tree_vector(plan, COLL_AREA_SEND);

	if (!plan->in_place || !coll_plan_moves(plan))
		return;
	local->from = input.off;
	local->len = input.len;
}

static void tree_own(struct coll_step *step, struct coll_span own)
{
	step->reduce = true;
	step->own = own.area;
	step->own_off = own.off;
}

static u64 tree_reduce_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? rounds(plan->nranks) : 0;
}

/* The tree of a broadcast, the other way. */
static void tree_reduce_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 n = plan->nranks, far = 1U << i;
	u32 me = (plan->rank + n - plan->root) % n;
	struct coll_span input = tree_vector(plan, COLL_AREA_SEND);
	struct coll_span sum = me ? tree_slot(plan, 0) : tree_vector(plan, COLL_AREA_RECV);

	step->tag = plan->root;
	if (me & (far - 1))
		return;
	if (me & far) {
		step->to = (me - far + plan->root) % n;
		step->out = i && me + 1 < n ? sum : input;
		step->depends_on = i;
	} else if (me + far < n) {
		step->from = (me + far + plan->root) % n;
		step->in = sum;
		step->last = 2 * far >= n;
		tree_own(step, i ? sum : input);
	}
}

static u64 tree_reduce_scratch(const struct coll_plan *plan)
{
	return coll_plan_is_root(plan) ? 0 : tree_slot(plan, 0).len;
}

const struct coll_schedule coll_tree_reduce = {
	.name	= "binomial reduce",
	.algorithm = COLLECTIVE_ALGORITHM_TREE,
	.eager	= true,
	.steps	= tree_reduce_steps,
	.step	= tree_reduce_step,
	.local_copy = coll_local_alone,
	.scratch = tree_reduce_scratch,
};

static u32 doubling_rounds(const struct coll_plan *plan)
{
	return rounds(plan->nranks - doubling_extra(plan));
}

static u64 tree_allreduce_steps(const struct coll_plan *plan)
{
	if (!coll_plan_moves(plan))
		return 0;
	return doubling_rounds(plan) + (doubling_extra(plan) ? 2 : 0);
}

/* Partial result number @made; 0: the input; that of the last round is the result. */
static struct coll_span doubling_partial(const struct coll_plan *plan, u32 made, u32 all)
{
	if (!made)
		return tree_input(plan);
	return made == all ? tree_vector(plan, COLL_AREA_RECV) :
			     tree_slot(plan, made - !plan->in_place);
}

/* Scratch for all partial results but the input, unless it is copied, and the result. */
static u64 doubling_scratch(const struct coll_plan *plan, u32 all)
{
	return coll_plan_moves(plan) ? tree_slot(plan, max(all, 1U) - !plan->in_place).off : 0;
}

/* Is this rank one of a pair, of which one acts for both? */
static bool doubling_paired(const struct coll_plan *plan)
{
	return plan->rank < 2 * doubling_extra(plan);
}

/*
 * In round k the ranks r and r xor 2^k exchange their partial results; each then has the reduction
 * of 2^(k + 1) ranks.  Both take the lower ranks' operand first, so all ranks have the same result
 * to the last bit.  If n is no power of two, the first 2 (n - 2^k) ranks are paired first: the odd
 * rank acts for both, and sends the result to the other.
 */
static void tree_allreduce_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 extra = doubling_extra(plan), all = doubling_rounds(plan);
	bool paired = doubling_paired(plan), silent = paired && !(plan->rank & 1);
	u32 k = i - !!extra, made = k + paired;

	step->depends_on = i;
	step->single_frame = true;
	if (extra && !i) {
		if (silent) {
			step->to = plan->rank + 1;
			step->out = tree_input(plan);
		} else if (paired) {
			step->from = plan->rank - 1;
			step->in = doubling_partial(plan, 1, all + 1);
			tree_own(step, tree_input(plan));
		}
	} else if (k == all) {
		if (silent)
			step->from = plan->rank + 1;
		else if (paired)
			step->to = plan->rank - 1;
		step->out = tree_vector(plan, COLL_AREA_RECV);
		step->in = step->out;
	} else if (!silent) {
		step->to = doubling_partner(plan, k);
		step->from = step->to;
		step->out = doubling_partial(plan, made, all + paired);
		step->in = doubling_partial(plan, made + 1, all + paired);
		step->last = k + 1 == all;
		tree_own(step, step->out);
	}
}

static u64 tree_allreduce_scratch(const struct coll_plan *plan)
{
	return doubling_scratch(plan, doubling_rounds(plan) + doubling_paired(plan));
}

const struct coll_schedule coll_tree_allreduce = {
	.name	= "recursive doubling allreduce",
	.algorithm = COLLECTIVE_ALGORITHM_TREE,
	.eager	= true,
	.covers_all = true,
	.implicit_match = true,
	.steps	= tree_allreduce_steps,
	.step	= tree_allreduce_step,
	.local_copy = coll_local_alone,
	.save_input = tree_save_input,
	.scratch = tree_allreduce_scratch,
};

/* Number of rounds in which a rank before @place sends to it. */
static u32 scan_receives(u32 place)
{
	return rounds(place + 1);
}

static u64 tree_scan_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? rounds(plan->nranks) : 0;
}

/* In round k rank r sends the reduction of up to 2^k ranks that end with it to rank r + 2^k. */
static void tree_scan_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 far = 1U << i, all = scan_receives(plan->rank);

	step->depends_on = i;
	step->out = doubling_partial(plan, min(i, all), all);
	if (plan->rank + far < plan->nranks)
		step->to = plan->rank + far;
	if (plan->rank < far)
		return;
	step->from = plan->rank - far;
	step->in = doubling_partial(plan, i + 1, all);
	tree_own(step, step->out);
}

static u64 tree_scan_scratch(const struct coll_plan *plan)
{
	return doubling_scratch(plan, scan_receives(plan->rank));
}

const struct coll_schedule coll_tree_scan = {
	.name	= "doubling scan",
	.algorithm = COLLECTIVE_ALGORITHM_TREE,
	.eager	= true,
	.steps	= tree_scan_steps,
	.step	= tree_scan_step,
	.local_copy = coll_local_first,
	.save_input = tree_save_input,
	.scratch = tree_scan_scratch,
};

static u64 tree_exscan_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 1 + rounds(plan->nranks - 1) : 0;
}

/* The same for an exclusive scan, after everything has moved by one rank. */
static u32 exscan_receives(const struct coll_plan *plan)
{
	return plan->rank ? 1 + scan_receives(plan->rank - 1) : 0;
}

static void tree_exscan_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 far = i ? 1U << (i - 1) : 1, all = exscan_receives(plan);

	step->depends_on = i;
	if (plan->rank + far < plan->nranks && (plan->rank || !i))
		step->to = plan->rank + far;
	step->out = doubling_partial(plan, min(i, all), all);
	if (plan->rank < far + !!i)
		return;
	step->from = plan->rank - far;
	step->in = doubling_partial(plan, i + 1, all);
	if (i)
		tree_own(step, step->out);
}

static u64 tree_exscan_scratch(const struct coll_plan *plan)
{
	return doubling_scratch(plan, exscan_receives(plan));
}

const struct coll_schedule coll_tree_exscan = {
	.name	= "doubling exscan",
	.algorithm = COLLECTIVE_ALGORITHM_TREE,
	.eager	= true,
	.steps	= tree_exscan_steps,
	.step	= tree_exscan_step,
	.save_input = tree_save_input,
	.scratch = tree_exscan_scratch,
};

static u64 tree_allgather_steps(const struct coll_plan *plan)
{
	return coll_plan_total(plan) ? 3 * rounds(plan->nranks) : 0;
}

/* Blocks @first .. @end - 1 of the result, all on one lane. */
static struct coll_span tree_blocks(const struct coll_plan *plan, u32 first, u32 end)
{
	u64 from = coll_plan_first(plan, plan->recv_first, first);
	u64 to = coll_plan_first(plan, plan->recv_first, end);

	return coll_plan_span(plan, (struct coll_range){
		.first = from,
		.count = plan->lane ? 0 : to - from,
	}, COLL_AREA_RECV);
}

/*
 * The blocks that rank @owner sends in a round: its own, those after it, and after a wrap those
 * from the first block on.
 */
static struct coll_span tree_gathered(const struct coll_plan *plan, u32 owner, u32 blocks,
				      u32 part)
{
	u32 n = plan->nranks, end = owner + blocks;

	switch (part) {
	case 0:
		return tree_blocks(plan, owner, owner + 1);
	case 1:
		return tree_blocks(plan, owner + 1, min(end, n));
	default:
		return tree_blocks(plan, 0, end > n ? end - n : 0);
	}
}

/* In round k rank r sends its block and those after it, up to 2^k, to rank r - 2^k. */
static void tree_allgather_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 n = plan->nranks, far = 1U << i / 3, part = i % 3;
	u32 blocks = min(far, n - far);

	step->single_frame = true;
	step->to = (plan->rank + n - far) % n;
	step->from = (plan->rank + far) % n;
	step->out = tree_gathered(plan, plan->rank, blocks, part);
	step->in = tree_gathered(plan, step->from, blocks, part);
	if (part) {
		step->depends_on = i - part;
	} else {
		step->out.area = COLL_AREA_SEND;
		step->out.off = 0;
	}
}

static void tree_allgather_local(const struct coll_plan *plan, struct coll_local_copy *local)
{
	struct coll_span own = tree_blocks(plan, plan->rank, plan->rank + 1);

	local->to = own.off;
	local->len = own.len;
}

const struct coll_schedule coll_tree_allgather = {
	.name	= "doubling allgather",
	.algorithm = COLLECTIVE_ALGORITHM_TREE,
	.eager	= true,
	.covers_all = true,
	.implicit_match = true,
	.steps	= tree_allgather_steps,
	.step	= tree_allgather_step,
	.local_copy = tree_allgather_local,
};
