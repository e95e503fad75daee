// SPDX-License-Identifier: GPL-2.0-only
/*
 * Validation of calls (op/validate.c, op/layout.c), compared with a model of the documentation:
 * random calls, and calls in which each field is set to each extreme value.
 */
#include "charges_env.h"
#include "call_model.h"
#include "op/layout.c"
#include "op/validate.c"
#include "random.h"
#include "tap.h"

#define RANDOM_CALLS		100000
#define FAULTS			0x7000000000000000ULL

static struct coll_charges charges;
static struct coll_ident ident = { .nlanes = 2 };
static struct coll_requests reqs = { .id = &ident, .charges = &charges };

/* The layout in user memory, with space behind it for a longer struct. */
static struct {
	struct collective_layout layout;
	u8 rest[4200];
} given;

static u64 numbers[4][MODEL_RANKS];

static const u64 extremes[] = {
	0, 1, 2, 3, 7, 8, 255, 256, 4095, 4096, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
	COLLECTIVE_KEY_MAX, COLLECTIVE_KEY_MAX + 1, (1ULL << 47) - 4096, 1ULL << 47, 1ULL << 60,
	1ULL << 61, 1ULL << 62, 1ULL << 63, ~0ULL - 7, ~0ULL - 1, ~0ULL,
};

static u64 seed;

__attribute__((__format__(printf, 2, 3)))
static bool wrong(const struct call_model *model, const char *format, ...)
{
	const struct collective_op *op = &model->op;
	va_list args;

	printf("# seed %llu: rank %u of %u, opcode %u type %u reduction %u algorithm %u flags %#x ",
	       (unsigned long long)seed, model->rank, model->nranks, op->opcode, op->type,
	       op->reduction, op->algorithm, op->flags);
	printf("root %u key %llx count %llx send %llx recv %llx layout %d: ", op->root, op->key,
	       op->count, op->send, op->recv, !!op->layout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return false;
}

static void *identity_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	*len = SIZE_MAX;
	return (void *)off;
}

static const struct coll_mem identity = { .at = identity_at };

/* Each element is where the model has it, through the view of the layout if there is one. */
static bool check_elements(const struct call_model *model, struct coll_block_layout *layout,
			   const struct coll_footprint *footprint, u32 area)
{
	const struct model_side *side = &model->side[area];
	u64 first = side->addr + footprint->range[area].skip;
	const struct coll_mem *mem = coll_block_layout_over(layout, area, &identity, first);
	u64 e, off = 0, at;
	size_t len;
	u32 i;

	for (i = 0; i < side->n; i++) {
		for (e = 0; e < side->count[i]; e++, off += side->size) {
			at = mem ? (u64)mem->at(mem, off, &len) : side->addr + off;
			if (at != (u64)model_byte(side, i, e))
				return wrong(model, "area %u: element %llu of block %u is at %#llx",
					     area, (unsigned long long)e, i,
					     (unsigned long long)at);
		}
	}
	return true;
}

static bool check_range(const struct call_model *model, struct coll_block_layout *layout,
			const struct coll_footprint *footprint, u32 area, bool untouched)
{
	const struct coll_byte_range *range = &footprint->range[area];
	wide low, high;

	if (!model_hull(&model->side[area], &low, &high) || untouched)
		return !range->bytes ||
		       wrong(model, "area %u: %llu bytes of nothing are touched", area,
			     (unsigned long long)range->bytes);
	if (range->skip != low || range->bytes != high - low)
		return wrong(model, "area %u: %llu bytes behind %llu are touched", area,
			     (unsigned long long)range->bytes, (unsigned long long)range->skip);
	return !model_elements(&model->side[area]) ||
	       check_elements(model, layout, footprint, area);
}

/* What all ranks must agree on. */
static bool check_total(const struct call_model *model, const struct coll_footprint *footprint)
{
	const struct collective_op *op = &model->op;
	const struct model_side *all =
		&model->side[op->opcode == COLLECTIVE_ALLGATHER ? 1 : 0];
	u64 total = op->count, sum = 0;
	u32 i;

	if (op->flags & (COLLECTIVE_F_VECTOR | COLLECTIVE_F_VARLEN))
		total = 0;
	if (op->flags & COLLECTIVE_F_VECTOR && (op->opcode == COLLECTIVE_ALLGATHER ||
						op->opcode == COLLECTIVE_REDUCE_SCATTER)) {
		for (i = 0; i < all->n; i++)
			sum += all->count[i];
		total = sum;
		if (footprint->digest != coll_fnv(all->count, model->nranks))
			return wrong(model, "the digest is another one");
	} else if (footprint->digest) {
		return wrong(model, "counts that not all ranks know have a digest");
	}
	return footprint->total == total ||
	       wrong(model, "all ranks compare %llu", (unsigned long long)footprint->total);
}

static bool check_plan(const struct call_model *model, const struct coll_plan *plan,
		       const struct coll_footprint *footprint)
{
	const struct collective_op *op = &model->op;
	u64 longest = op->count;
	u32 i, area;

	for (area = 0; area < 2; area++)
		for (i = 0; i < model->side[area].n; i++)
			longest = max(longest, model->side[area].count[i]);
	if (footprint->block != longest * model_sizes[op->type])
		return wrong(model, "the longest block has %llu bytes",
			     (unsigned long long)footprint->block);
	return (plan->collective == op->opcode && plan->type == op->type &&
		plan->reduction == op->reduction && plan->root == op->root &&
		plan->rank == model->rank && plan->nranks == model->nranks &&
		plan->size == model_sizes[op->type] && plan->schedule &&
		plan->algorithm == plan->schedule->algorithm &&
		(op->algorithm == COLLECTIVE_ALGORITHM_AUTO ||
		 op->algorithm == plan->algorithm || op->flags) &&
		plan->vector == !!(op->flags & COLLECTIVE_F_VECTOR) &&
		plan->varlen == !!(op->flags & COLLECTIVE_F_VARLEN)) ||
	       wrong(model, "the plan is of another call");
}

static bool check_success(const struct call_model *model, struct coll_block_layout *layout,
			  const struct coll_plan *plan, const struct coll_footprint *footprint,
			  bool in_place)
{
	const struct collective_op *op = &model->op;
	/* A root in place has the result, and no rank is before the first one. */
	bool unwritten = (in_place && (op->opcode == COLLECTIVE_BROADCAST ||
				       op->opcode == COLLECTIVE_SCATTER)) ||
			 (op->opcode == COLLECTIVE_EXSCAN && !model->rank);

	return check_range(model, layout, footprint, 0, false) &&
	       check_range(model, layout, footprint, 1, unwritten) &&
	       check_total(model, footprint) && check_plan(model, plan, footprint);
}

static bool overlaps(const struct call_model *model)
{
	wide low[2], high[2];
	u64 from[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		if (!model_hull(&model->side[i], &low[i], &high[i]))
			return false;
		from[i] = model->side[i].addr + (u64)low[i];
	}
	if (model->op.opcode == COLLECTIVE_EXSCAN && !model->rank)
		return false;
	return from[0] < from[1] + (high[1] - low[1]) && from[1] < from[0] + (high[0] - low[0]);
}

/* Two descriptions of the same places need not be recognised. */
static bool described_alike(const struct call_model *model)
{
	const struct collective_layout *layout = model->given;

	return !layout || model->op.opcode != COLLECTIVE_ALLTOALL ||
	       !memcmp(&layout->send, &layout->recv, sizeof(layout->send));
}

/* Compare the verdict on a call with the model's. */
static bool check_call(struct call_model *model)
{
	struct coll_block_layout *layout;
	struct coll_footprint footprint;
	bool overlap, in_place = false, good = true, unsure;
	struct coll_plan plan;
	int err;

	ident.rank = model->rank;
	ident.nranks = model->nranks;
	model_call(model);
	unsure = model->unsure;
	if (model_is_valid(model)) {
		overlap = overlaps(model);
		in_place = model_in_place(model);
		if (overlap && !in_place)
			model_error(model, EINVAL);
		unsure |= in_place && !(described_alike(model) &&
				       model->op.opcode != COLLECTIVE_REDUCE_SCATTER);
	}
	err = coll_validate(&model->op, &reqs, &plan, &footprint, &layout);
	if (err && (layout || charges.bytes))
		good = wrong(model, "a layout is left by error %d", err);
	if (!err && !model_is_valid(model))
		good = wrong(model, "it is accepted");
	if (err && !model_has_error(model, -err) && !(unsure && err == -EINVAL) &&
	    !(err == -EOPNOTSUPP && (model->op.algorithm || model->op.flags & COLLECTIVE_F_WIDE)))
		good = wrong(model, "error %d", err);
	if (!err && good)
		good = check_success(model, layout, &plan, &footprint, in_place);
	if (!err && good && footprint.in_place !=
	    (in_place && (model->op.opcode != COLLECTIVE_REDUCE_SCATTER || model->nranks == 1)))
		good = wrong(model, "in place: %d", footprint.in_place);
	if (!err)
		coll_block_layout_free(layout);
	return (!charges.bytes || wrong(model, "a layout stays charged")) && good;
}

static u64 extreme(void)
{
	return extremes[random_below(ARRAY_SIZE(extremes))];
}

/* Mostly small numbers. */
static u64 some(u32 n)
{
	return random_once(60) ? extreme() : random_below(n);
}

static struct collective_view some_view(u64 count, u32 nranks, bool one)
{
	u64 rows = count && random_once(2) ? 1 + random_below(min(count, 99ULL)) : random_below(3);
	u64 row = count / (rows ? rows : 1);

	if (random_once(4))
		return (struct collective_view){ 0 };
	if (random_once(3))
		return (struct collective_view){ some(5), some(30), some(60) };
	return (struct collective_view){
		.rows = rows,
		.stride = random_once(3) ? row : row * nranks + random_below(3),
		.distance = one && !random_once(20) ? 0 :
			    random_once(2) ? row : count + random_below(4),
	};
}

/* Blocks one after the other, in another order, with gaps, or anywhere. */
static void some_displs(u64 *displs, const u64 *counts, u32 n)
{
	u32 how = random_below(4), i, j, first = random_below(n);
	u64 at = random_below(5);

	for (i = 0; i < n; i++) {
		j = (first + i) % n;
		displs[j] = how == 3 ? some(40) : at;
		at += counts[j] + (how == 1 ? random_below(3) : 0);
		if (how == 2 && !counts[j])
			displs[j] = extreme();
	}
}

static void some_counts(struct call_model *model, bool alike)
{
	u32 i, n = model->nranks;

	for (i = 0; i < n; i++) {
		numbers[0][i] = some(12);
		numbers[1][i] = alike ? numbers[0][i] : some(12);
	}
	if (!random_once(20))
		numbers[1][model->rank] = numbers[0][model->rank];
	some_displs(numbers[2], numbers[0], n);
	some_displs(numbers[3], numbers[1], n);
	if (alike)
		memcpy(numbers[3], numbers[2], sizeof(numbers[2]));
}

static void some_layout(struct call_model *model)
{
	struct collective_op *op = &model->op;
	enum model_has has[2];
	bool other = model_of[op->opcode].uses & USES_ROOT && op->root != model->rank;
	u32 i;

	for (i = 0; i < 2; i++)
		has[i] = other ? model_of[op->opcode].other[i] : model_of[op->opcode].root[i];
	given.layout = (struct collective_layout){ .size = sizeof(given.layout) };
	op->layout = (u64)&given.layout;
	model->given = &given.layout;
	if (!(op->flags & COLLECTIVE_F_VECTOR)) {
		given.layout.send = some_view(op->count, model->nranks, has[0] == ONE);
		given.layout.recv = some_view(op->count, model->nranks, has[1] == ONE);
		if (random_once(3))
			given.layout.recv = given.layout.send;
		if (has[0] == ONE && has[1] == ALL && random_once(2))
			given.layout.send = (struct collective_view){ 0 };
		if (has[0] == ALL && has[1] == ONE && random_once(2))
			given.layout.recv = (struct collective_view){ 0 };
		return;
	}
	some_counts(model, random_once(2));
	if (has[0] == ALL && op->opcode != COLLECTIVE_REDUCE_SCATTER)
		given.layout.send_counts = (u64)numbers[0];
	if (has[1] == ALL || op->opcode == COLLECTIVE_REDUCE_SCATTER)
		given.layout.recv_counts = (u64)numbers[has[0] == ALL && has[1] == ALL];
	if (has[0] == ALL && random_once(2))
		given.layout.send_displs = (u64)numbers[2];
	if (has[1] == ALL && random_once(2))
		given.layout.recv_displs = (u64)numbers[has[0] == ALL ? 3 : 2];
	if (!random_once(20))
		op->count = has[0] == ALL && has[1] == ALL ? 0 : numbers[0][model->rank];
}

/* A call that is valid in most cases, if its addresses are. */
static void some_call(struct call_model *model)
{
	struct collective_op *op = &model->op;
	u8 uses;

	*model = (struct call_model){ .nranks = 1 + random_below(MODEL_RANKS) };
	model->rank = random_below(model->nranks);
	op->opcode = random_below(COLLECTIVE_OPCODE_COUNT);
	uses = model_of[op->opcode].uses;
	if (uses & USES_NOTHING)
		return;
	op->type = random_below(COLLECTIVE_TYPE_COUNT);
	if (uses & USES_REDUCTION) {
		op->reduction = random_below(op->type < COLLECTIVE_FLOAT16 ?
					     COLLECTIVE_REDUCTION_COUNT : COLLECTIVE_AVG);
		op->flags = random_below(4) * COLLECTIVE_F_REPRODUCIBLE;
	}
	if (uses & USES_ROOT)
		op->root = random_below(model->nranks);
	if (uses & USES_VARLEN && random_once(2))
		op->flags |= COLLECTIVE_F_VARLEN;
	if (random_once(3)) {
		op->flags |= COLLECTIVE_F_KEYED;
		op->key = random_once(2) ? COLLECTIVE_KEY_MAX : random_below(9);
	}
	if (random_once(3))
		op->algorithm = random_below(COLLECTIVE_ALGORITHM_COUNT);
	op->count = some(25);
	if (uses & USES_LAYOUT && random_once(2)) {
		if (random_once(2))
			op->flags |= COLLECTIVE_F_VECTOR;
		some_layout(model);
	}
	op->send = 0x100000 + random_below(64) * 8;
	op->recv = random_once(3) ? op->send :
		   random_once(2) ? 0x100000 + random_below(64) * model_sizes[op->type] : 0x900000;
	/* This rank's own block. */
	if (op->opcode == COLLECTIVE_REDUCE_SCATTER && random_once(2))
		op->recv = op->send + model->rank * op->count * model_sizes[op->type];
}

/* The fields of a call, and their sizes. */
static const struct {
	u16 off, size;
} fields[] = {
#define FIELD(name)	{ offsetof(struct collective_op, name), \
			  sizeof_field(struct collective_op, name) }
	FIELD(opcode), FIELD(type), FIELD(reduction), FIELD(algorithm), FIELD(flags), FIELD(root),
	FIELD(timeout_ms), FIELD(key), FIELD(count), FIELD(send), FIELD(recv),
	FIELD(send_buffer), FIELD(recv_buffer), FIELD(reserved[0]), FIELD(reserved[1]),
};

static void set_field(struct collective_op *op, u32 field, u64 value)
{
	memcpy((u8 *)op + fields[field].off, &value, fields[field].size);
}

/* Of large buffers that overlap, the model cannot say what they share. */
static bool is_comparable(const struct call_model *model)
{
	struct call_model copy = *model;

	model_call(&copy);
	return !model_is_valid(&copy) || !overlaps(&copy) ||
	       ((!copy.side[0].n || model_elements(&copy.side[0])) &&
		(!copy.side[1].n || model_elements(&copy.side[1])));
}

static void test_random(void)
{
	u32 accepted = 0, layouts = 0, in_place = 0, wrongs = 0, compared = 0;
	struct call_model model;

	for (seed = 1; seed <= RANDOM_CALLS && wrongs < 5; seed++) {
		random_begin(seed);
		some_call(&model);
		if (random_once(6))
			set_field(&model.op, random_below(ARRAY_SIZE(fields)), extreme());
		if (!is_comparable(&model))
			continue;
		compared++;
		wrongs += !check_call(&model);
		accepted += model_is_valid(&model);
		layouts += model_is_valid(&model) && model.given;
		in_place += model_is_valid(&model) && model.side[0].n && model.side[1].n &&
			    overlaps(&model);
	}
	tap_ok(!wrongs, "%u random calls are judged as the documentation says", compared);
	tap_ok(accepted > RANDOM_CALLS / 3 && layouts > RANDOM_CALLS / 20 &&
	       in_place > RANDOM_CALLS / 100,
	       "%u are valid, %u of these with a layout, %u in place", accepted, layouts, in_place);
}

/* Each field of a valid call of each collective is set to each extreme value. */
static void test_fields(void)
{
	struct call_model model, base;
	u32 opcode, field, i, wrongs = 0;

	for (opcode = 0; opcode < COLLECTIVE_OPCODE_COUNT; opcode++) {
		base = (struct call_model){ .nranks = 4, .rank = 2, .op.opcode = opcode };
		if (opcode != COLLECTIVE_BARRIER) {
			base.op.type = COLLECTIVE_INT32;
			base.op.count = 6;
			base.op.send = 0x10000;
			base.op.recv = 0x20000;
		}
		for (field = 0; field < ARRAY_SIZE(fields); field++) {
			for (i = 0; i < ARRAY_SIZE(extremes) && wrongs < 5; i++) {
				model = base;
				set_field(&model.op, field, extremes[i]);
				seed = field * 1000 + i;
				if (is_comparable(&model))
					wrongs += !check_call(&model);
			}
		}
	}
	tap_ok(!wrongs, "so are calls with one field of an extreme value");
}

static int validate(const struct collective_op *op)
{
	struct coll_block_layout *layout;
	struct coll_footprint footprint;
	struct coll_plan plan;
	int err = coll_validate(op, &reqs, &plan, &footprint, &layout);

	assert(!err == !!layout);
	coll_block_layout_free(layout);
	return err;
}

/* An allgather of two ranks with counts. */
static struct collective_op vector_call(void)
{
	ident.rank = 0;
	ident.nranks = 2;
	numbers[0][0] = 3;
	numbers[0][1] = 5;
	given.layout = (struct collective_layout){
		.size = sizeof(given.layout),
		.recv_counts = (u64)numbers[0],
	};
	return (struct collective_op){
		.opcode = COLLECTIVE_ALLGATHER,
		.flags = COLLECTIVE_F_VECTOR,
		.count = 3,
		.send = 0x1000,
		.recv = 0x2000,
		.layout = (u64)&given.layout,
	};
}

static void test_layout_struct(void)
{
	struct collective_op op = vector_call();
	bool good = !validate(&op);
	u32 size;

	for (size = 0; size < sizeof(given.layout); size++) {
		given.layout.size = size;
		good &= validate(&op) == -EINVAL;
	}
	tap_ok(good, "a layout that is too short is refused");
	given.layout.size = PAGE_SIZE;
	good = !validate(&op);
	given.layout.size = PAGE_SIZE + 1;
	good &= validate(&op) == -E2BIG;
	given.layout.size = ~0U;
	good &= validate(&op) == -E2BIG;
	given.layout.size = sizeof(given.layout) + 9;
	given.rest[8] = 1;
	good &= validate(&op) == -E2BIG;
	given.layout.size--;
	good &= !validate(&op);
	given.rest[8] = 0;
	given.layout.flags = 1;
	good &= validate(&op) == -EINVAL;
	tap_ok(good, "one of a later version is, if it has what this one does not know");
}

static void test_faults(void)
{
	struct collective_op op = vector_call();
	bool good;

	kernel_faults_from = FAULTS;
	given.layout.recv_counts = FAULTS - 8;
	given.layout.recv_displs = 0;
	good = validate(&op) == -EFAULT;
	given.layout.recv_counts = (u64)numbers[0];
	given.layout.recv_displs = FAULTS;
	good &= validate(&op) == -EFAULT;
	op.layout = FAULTS;
	good &= validate(&op) == -EFAULT;
	kernel_faults_from = ~0ULL;
	tap_ok(good && !charges.bytes, "memory of the layout that is not mapped is a fault");
}

static void test_no_memory(void)
{
	struct collective_op op = vector_call();
	bool good = true;
	u32 n;

	/* The layout, and the order of its blocks. */
	numbers[2][0] = 5;
	numbers[2][1] = 0;
	given.layout.recv_displs = (u64)numbers[2];
	for (n = 1; n <= 2; n++) {
		kernel_fails_after = n;
		good &= validate(&op) == -ENOMEM && !charges.bytes;
	}
	kernel_fails_after = n;
	good &= !validate(&op);
	kernel_fails_after = 0;
	charges.limit = 1;
	good &= validate(&op) == -EDQUOT;
	charges.limit = 0;
	tap_ok(good && !validate(&op), "without memory nothing is left");
}

/* With 1,023 other ranks, offsets that are products do not wrap. */
static void test_many_ranks(void)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLTOALL,
		.type = COLLECTIVE_INT64,
		.send = 8,
		.layout = (u64)&given.layout,
	};
	bool good = true;
	u32 i;

	ident.nranks = COLLECTIVE_RANKS_MAX;
	ident.rank = COLLECTIVE_RANKS_MAX - 1;
	for (i = 1; i < 64; i++) {
		given.layout = (struct collective_layout){
			.size = sizeof(given.layout),
			.send.distance = 1ULL << i,
			.recv.distance = 1ULL << i,
		};
		op.count = 1;
		op.recv = 1ULL << 62;
		good &= validate(&op) == (i < 35 ? 0 : -EOVERFLOW);
		op.count = 1ULL << i;
		good &= validate(&op) == (i < 34 ? 0 : -EOVERFLOW);
	}
	tap_ok(good, "distances of 1,024 ranks are refused from the first that is too large");
}

int main(void)
{
	tap_plan(0);
	test_random();
	test_fields();
	test_layout_struct();
	test_faults();
	test_no_memory();
	test_many_ranks();
	return tap_exit();
}
