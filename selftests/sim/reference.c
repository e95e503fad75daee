// SPDX-License-Identifier: GPL-2.0-only
/*
 * What goes into an operation and what must come out, bit by bit.
 *
 * Written against Documentation and the UAPI header, one element at a time, and
 * sharing no code with core/reduce*: the two must not be wrong together.  Only
 * the cut into lanes and chunks is taken from core/layout, which has a test of
 * its own.  An element of chunk c is reduced beginning with rank c, then c + 1
 * and so on around the ring; every step rounds to the type.
 */
#include "sim.h"
#include "../unit/reduce_reference.h"

typedef union {
	u64 u;
	float f;
	double d;
} scalar;

static u64 random_bits(const struct sim_op *op, u32 rank, u64 index)
{
	return rng_mix(op->seed + rng_mix(index * 1031 + rank + 1));
}

static bool is_float(u8 type)
{
	return type >= COLLECTIVE_FLOAT16;
}

static bool is_signed(u8 type)
{
	return type == COLLECTIVE_INT8 || type == COLLECTIVE_INT16 ||
	       type == COLLECTIVE_INT32 || type == COLLECTIVE_INT64;
}

static scalar float_load(u8 type, const void *element)
{
	scalar s = { 0 };
	u16 half;

	switch (type) {
	case COLLECTIVE_FLOAT16:
		memcpy(&half, element, sizeof(half));
		s.f = reference_decode(&reference_types[type], half);
		break;
	case COLLECTIVE_BFLOAT16:
		memcpy(&half, element, sizeof(half));
		s.u = (u32)half << 16;
		break;
	default:
		memcpy(&s, element, coll_type_size(type));
	}
	return s;
}

static void float_store(u8 type, scalar s, void *element)
{
	static const u64 nan[] = {
		[COLLECTIVE_FLOAT16] = 0x7e00, [COLLECTIVE_BFLOAT16] = 0x7fc0,
		[COLLECTIVE_FLOAT32] = 0x7fc00000,
		[COLLECTIVE_FLOAT64] = 0x7ff8000000000000ULL,
	};
	bool wrong = type == COLLECTIVE_FLOAT64 ? s.d != s.d : s.f != s.f;
	u16 half;

	if (wrong) {
		memcpy(element, &nan[type], coll_type_size(type));
		return;
	}
	switch (type) {
	case COLLECTIVE_FLOAT16:
		half = reference_encode(&reference_types[type], s.f);
		memcpy(element, &half, sizeof(half));
		break;
	case COLLECTIVE_BFLOAT16: {
		u32 bits = s.u, rest = bits & 0xffff;

		/* To nearest; in the middle, to even. */
		half = bits >> 16;
		if (rest > 0x8000 || (rest == 0x8000 && (half & 1)))
			half++;
		memcpy(element, &half, sizeof(half));
		break;
	}
	default:
		memcpy(element, &s, coll_type_size(type));
	}
}

static double float_value(u8 type, scalar s)
{
	return type == COLLECTIVE_FLOAT64 ? s.d : s.f;
}

static scalar float_scalar(u8 type, double value)
{
	scalar s = { 0 };

	if (type == COLLECTIVE_FLOAT64)
		s.d = value;
	else
		s.f = value;
	return s;
}

static void input_element(const struct sim_op *op, u32 rank, u64 index, void *element)
{
	u64 bits = random_bits(op, rank, index);
	double value;

	if (op->values == VALUES_ANY || (!is_float(op->type) && op->values != VALUES_SMALL)) {
		memcpy(element, &bits, coll_type_size(op->type));
		return;
	}
	if (op->values == VALUES_SMALL) {
		s64 small = (s64)(bits % 7) - 3;

		if (!is_float(op->type)) {
			memcpy(element, &small, coll_type_size(op->type));
			return;
		}
		value = small;
	} else {
		value = (double)(s64)bits / (1ULL << (40 + bits % 23));
	}
	float_store(op->type, float_scalar(op->type, value), element);
}

/**
 * reference_block_count() - elements that one rank has for another
 * @op: the operation
 * @from: the one
 * @to: the other
 */
u64 reference_block_count(const struct sim_op *op, u32 from, u32 to)
{
	u64 bits;

	if (!op->vector)
		return op->count;
	if (op->collective == COLLECTIVE_ALLGATHER || op->collective == COLLECTIVE_GATHER)
		to = 0;
	if (op->collective == COLLECTIVE_SCATTER || op->collective == COLLECTIVE_REDUCE_SCATTER)
		from = 0;
	bits = rng_mix(op->seed + 77 * from + rng_mix(to));
	return bits % 4 ? (bits >> 8) % (op->count + 1) : 0;
}

/* Elements of the blocks that @rank has for those before @to. */
u64 reference_before(const struct sim_op *op, u32 rank, u32 to)
{
	u64 count = 0;

	while (to--)
		count += reference_block_count(op, rank, to);
	return count;
}

/* Elements of the blocks that those before @from have for @rank. */
u64 reference_behind(const struct sim_op *op, u32 rank, u32 from)
{
	u64 count = 0;

	while (from--)
		count += reference_block_count(op, from, rank);
	return count;
}

/**
 * reference_input() - a rank's input
 * @op: the operation
 * @rank: whose
 * @nranks: size of the group
 *
 * Return: the elements, kept with @op.
 */
const u8 *reference_input(struct sim_op *op, u32 rank, u32 nranks)
{
	size_t size = coll_type_size(op->type);
	u64 count = op->count, i;

	if (op->input[rank])
		return op->input[rank];
	if (op->collective == COLLECTIVE_SCATTER || op->collective == COLLECTIVE_ALLTOALL ||
	    op->collective == COLLECTIVE_REDUCE_SCATTER)
		count = reference_before(op, rank, nranks);
	else if (op->vector)
		count = reference_block_count(op, rank, 0);
	op->input[rank] = malloc(count * size + 8);
	for (i = 0; i < count; i++)
		input_element(op, rank, i, op->input[rank] + i * size);
	return op->input[rank];
}

static void reduce_float(const struct sim_op *op, void *acc, const void *in, u32 divisor)
{
	scalar a = float_load(op->type, acc), b = float_load(op->type, in), r = { 0 };
	bool wide = op->type == COLLECTIVE_FLOAT64;
	double x = float_value(op->type, a), y = float_value(op->type, b);
	bool p = x != 0, q = y != 0;

	switch (op->reduction) {
	case COLLECTIVE_SUM:
	case COLLECTIVE_AVG:
		if (wide)
			r.d = a.d + b.d;
		else
			r.f = a.f + b.f;
		if (op->reduction == COLLECTIVE_AVG && divisor > 1) {
			if (wide)
				r.d /= divisor;
			else
				r.f /= (float)divisor;
		}
		break;
	case COLLECTIVE_PROD:
		if (wide)
			r.d = a.d * b.d;
		else
			r.f = a.f * b.f;
		break;
	case COLLECTIVE_MIN:
	case COLLECTIVE_MAX:
		if (x != x || y != y)
			r = float_scalar(op->type, __builtin_nan(""));
		else if (x == y)
			r = !!__builtin_signbit(x) ==
			    (op->reduction == COLLECTIVE_MIN) ? a : b;
		else
			r = (x < y) == (op->reduction == COLLECTIVE_MIN) ? a : b;
		break;
	case COLLECTIVE_LAND:
		r = float_scalar(op->type, p && q);
		break;
	case COLLECTIVE_LOR:
		r = float_scalar(op->type, p || q);
		break;
	case COLLECTIVE_LXOR:
		r = float_scalar(op->type, p != q);
		break;
	default:
		abort();
	}
	float_store(op->type, r, acc);
}

static u64 integer_load(u8 type, const void *element)
{
	u64 x = 0;

	switch (type) {
	case COLLECTIVE_INT8:
		return (u64)*(const s8 *)element;
	case COLLECTIVE_INT16:
		return (u64)*(const s16 *)element;
	case COLLECTIVE_INT32:
		return (u64)*(const s32 *)element;
	case COLLECTIVE_UINT8:
		return *(const u8 *)element;
	case COLLECTIVE_UINT16:
		return *(const u16 *)element;
	case COLLECTIVE_UINT32:
		return *(const u32 *)element;
	default:
		memcpy(&x, element, 8);
		return x;
	}
}

static void reduce_integer(const struct sim_op *op, void *acc, const void *in, u32 divisor)
{
	bool sign = is_signed(op->type);
	u64 x = integer_load(op->type, acc), y = integer_load(op->type, in), r = 0;
	bool less = sign ? (s64)x < (s64)y : x < y;

	switch (op->reduction) {
	case COLLECTIVE_SUM:
		r = x + y;
		break;
	case COLLECTIVE_AVG:
		r = x + y;
		r = integer_load(op->type, &r);
		if (divisor > 1)
			r = sign ? (u64)((s64)r / (s64)divisor) : r / divisor;
		break;
	case COLLECTIVE_PROD:
		r = x * y;
		break;
	case COLLECTIVE_MIN:
		r = less ? x : y;
		break;
	case COLLECTIVE_MAX:
		r = less ? y : x;
		break;
	case COLLECTIVE_BAND:
		r = x & y;
		break;
	case COLLECTIVE_BOR:
		r = x | y;
		break;
	case COLLECTIVE_BXOR:
		r = x ^ y;
		break;
	case COLLECTIVE_LAND:
		r = x && y;
		break;
	case COLLECTIVE_LOR:
		r = x || y;
		break;
	case COLLECTIVE_LXOR:
		r = !x != !y;
		break;
	}
	memcpy(acc, &r, coll_type_size(op->type));
}

static void reduce(const struct sim_op *op, void *acc, const void *in, u32 divisor)
{
	if (is_float(op->type))
		reduce_float(op, acc, in, divisor);
	else
		reduce_integer(op, acc, in, divisor);
}

/**
 * reference_ordered() - does only the order of ranks decide?
 * @op: the operation, a reduction
 */
bool reference_ordered(const struct sim_op *op)
{
	/* Only the rounding of floats makes the order show. */
	return op->reproducible && is_float(op->type) &&
	       (op->reduction == COLLECTIVE_SUM || op->reduction == COLLECTIVE_PROD ||
		op->reduction == COLLECTIVE_AVG);
}

static bool reduces(const struct sim_op *op)
{
	return op->collective == COLLECTIVE_ALLREDUCE || op->collective == COLLECTIVE_REDUCE ||
	       op->collective == COLLECTIVE_REDUCE_SCATTER || op->collective >= COLLECTIVE_SCAN;
}

/**
 * reference_wide() - are sums passed on wide?
 * @op: the operation
 */
bool reference_wide(const struct sim_op *op)
{
	return op->wide && reduces(op) &&
	       (op->type == COLLECTIVE_FLOAT16 || op->type == COLLECTIVE_BFLOAT16) &&
	       (op->reduction == COLLECTIVE_SUM || op->reduction == COLLECTIVE_AVG);
}

/**
 * reference_around() - does a reduction to one go along the ring?
 * @op: a reduce or reduce_scatter that is not ordered
 */
bool reference_around(const struct sim_op *op)
{
	if (reference_wide(op) || op->algorithm == COLLECTIVE_ALGORITHM_RING)
		return true;
	return op->algorithm == COLLECTIVE_ALGORITHM_AUTO && op->collective == COLLECTIVE_REDUCE;
}

/**
 * reference_tree() - is an operation done by trees or doubling?
 * @op: the operation
 * @nranks: size of the group
 */
bool reference_tree(const struct sim_op *op, u32 nranks)
{
	u64 bytes = op->count * coll_type_size(op->type);

	if (reduces(op) && (reference_ordered(op) || reference_wide(op)))
		return false;
	switch (op->collective) {
	case COLLECTIVE_ALLGATHER:
		bytes = reference_behind(op, 0, nranks) * coll_type_size(op->type);
		break;
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SCAN:
	case COLLECTIVE_EXSCAN:
		break;
	default:
		return false;
	}
	return op->algorithm == COLLECTIVE_ALGORITHM_TREE ||
	       (op->algorithm == COLLECTIVE_ALGORITHM_AUTO && bytes <= COLLECTIVE_EAGER_LIMIT);
}

/* The same, rounded once. */
static void reference_wide_element(const struct sim_op *op, u32 nranks, u32 first, u64 off,
				   void *result)
{
	scalar sum = float_load(op->type, op->input[first] + off);
	u32 i;

	for (i = 1; i < nranks; i++)
		sum.f += float_load(op->type, op->input[(first + i) % nranks] + off).f;
	if (op->reduction == COLLECTIVE_AVG && nranks > 1)
		sum.f /= (float)nranks;
	if (nranks > 1)
		float_store(op->type, sum, result);
}

/* One element: that of rank @first, then those of the @others - 1 ranks after it. */
static void reference_element(const struct sim_op *op, u32 nranks, u32 first, u32 others,
			      u64 off, size_t size, void *result)
{
	u32 i;

	memcpy(result, op->input[first] + off, size);
	for (i = 1; i < others; i++) {
		const u8 *in = op->input[(first + i) % nranks] + off;
		u32 divisor = i + 1 == nranks ? nranks : 0;

		reduce(op, result, in, divisor);
	}
	if (reference_wide(op))
		reference_wide_element(op, nranks, first, off, result);
}

/* In the order of ranks: the first @others of them. */
static void reference_chain(const struct sim_op *op, u32 nranks, u32 others, u8 *result)
{
	size_t size = coll_type_size(op->type);
	u64 i;

	for (i = 0; others && i < op->count; i++)
		reference_element(op, nranks, 0, others, i * size, size, result + i * size);
}

static void reference_ring(const struct sim *sim, const struct sim_op *op, u8 *result)
{
	size_t size = coll_type_size(op->type);
	u32 n = sim->config.nranks;
	u32 lanes = coll_layout_lanes(op->count * size, sim->config.lanes);
	u32 lane, c;

	for (lane = 0; lane < lanes; lane++) {
		struct coll_range part = coll_layout_piece(op->count, size, lanes, lane);

		for (c = 0; c < n; c++) {
			struct coll_range chunk = coll_layout_piece(part.count, size, n, c);
			u64 off = (part.first + chunk.first) * size;
			u64 end = off + chunk.count * size;

			for (; off < end; off += size)
				reference_element(op, n, c, n, off, size, result + off);
		}
	}
}

/* Own block first, then what comes in each round from rank s - r. */
static void reference_pairs(const struct sim_op *op, u32 nranks, u32 rank, u8 *result)
{
	size_t size = coll_type_size(op->type);
	u64 i, block = reference_before(op, 0, rank) * size;
	u64 bytes = reference_block_count(op, 0, rank) * size;
	u32 left = nranks - 1, round;

	memcpy(result, op->input[rank] + block, bytes);
	for (round = 0; round < nranks; round++) {
		u32 from = (round + nranks - rank) % nranks;

		if (from == rank)
			continue;
		left--;
		for (i = 0; i < bytes; i += size) {
			const u8 *in = op->input[from] + block + i;
			u32 divisor = left ? 0 : nranks;

			reduce(op, result + i, in, divisor);
		}
	}
}

/* The elements of @n ranks, 8 bytes each, reduced by pairs, pairs of pairs... */
static void reference_doubling(const struct sim_op *op, u8 (*x)[8], u32 n)
{
	u32 whole = 1, extra, m, i;

	while (2 * whole <= n)
		whole *= 2;
	extra = n - whole;
	for (i = 0; i < whole; i++) {
		if (i < extra)
			reduce(op, x[2 * i], x[2 * i + 1], 0);
		memmove(x[i], x[i < extra ? 2 * i : i + extra], 8);
	}
	for (m = whole; m > 1; m /= 2)
		for (i = 0; i < m / 2; i++) {
			reduce(op, x[2 * i], x[2 * i + 1], m == 2 ? n : 0);
			memmove(x[i], x[2 * i], 8);
		}
}

/* Those of @n ranks, in a binomial tree. */
static void reference_binomial(const struct sim_op *op, u8 (*x)[8], u32 n)
{
	u32 far, i;

	for (far = 1; far < n; far *= 2)
		for (i = 0; i + far < n; i += 2 * far)
			reduce(op, x[i], x[i + far], 2 * far >= n ? n : 0);
}

/* In round k, everybody's with those of 2^k ranks before; what the last one gets. */
static void reference_prefix(const struct sim_op *op, u8 (*x)[8], u32 n)
{
	u32 far, i;

	for (far = 1; far < n; far *= 2)
		for (i = n - 1; i >= far; i--) {
			u8 sum[8];

			memcpy(sum, x[i - far], 8);
			reduce(op, sum, x[i], 0);
			memcpy(x[i], sum, 8);
		}
	memmove(x[0], x[n - 1], 8);
}

static void reference_few(const struct sim_op *op, u32 nranks, u32 rank, u8 *result)
{
	bool prefix = op->collective == COLLECTIVE_SCAN || op->collective == COLLECTIVE_EXSCAN;
	u32 n = op->collective == COLLECTIVE_SCAN ? rank + 1 :
		op->collective == COLLECTIVE_EXSCAN ? rank : nranks;
	u32 first = op->collective == COLLECTIVE_REDUCE ? op->root : 0;
	size_t size = coll_type_size(op->type);
	u8 x[SIM_RANKS_MAX][8];
	u64 off;
	u32 i;

	for (off = 0; n && off < op->count * size; off += size) {
		for (i = 0; i < n; i++)
			memcpy(x[i], op->input[(first + i) % nranks] + off, size);
		if (prefix)
			reference_prefix(op, x, n);
		else if (op->collective == COLLECTIVE_REDUCE)
			reference_binomial(op, x, n);
		else
			reference_doubling(op, x, n);
		memcpy(result + off, x[0], size);
	}
}

/* A block of a reduce_scatter, beginning with rank @first. */
static void reference_block(const struct sim_op *op, u32 nranks, u32 rank, u32 first, u8 *result)
{
	size_t size = coll_type_size(op->type);
	u64 i, block = reference_before(op, 0, rank) * size;

	for (i = 0; i < reference_block_count(op, 0, rank) * size; i += size)
		reference_element(op, nranks, first, nranks, block + i, size, result + i);
}

static u8 *reference_compute(const struct sim *sim, struct sim_op *op, u32 rank)
{
	size_t size = coll_type_size(op->type);
	u64 bytes = op->count * size;
	u32 n = sim->config.nranks;
	u8 *result = malloc(n * bytes + 8);
	u32 first;
	u64 i;

	for (i = 0; i < n; i++)
		reference_input(op, i, n);
	if (reference_tree(op, n) && op->collective != COLLECTIVE_BROADCAST &&
	    op->collective != COLLECTIVE_ALLGATHER) {
		reference_few(op, n, rank, result);
		return result;
	}
	switch (op->collective) {
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SEND:
		memcpy(result, op->input[op->root], bytes);
		break;
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_GATHER:
		for (i = 0; i < n; i++)
			memcpy(result + reference_behind(op, 0, i) * size, op->input[i],
			       reference_block_count(op, i, 0) * size);
		break;
	case COLLECTIVE_SCAN:
		reference_chain(op, n, rank + 1, result);
		break;
	case COLLECTIVE_EXSCAN:
		reference_chain(op, n, rank, result);
		break;
	case COLLECTIVE_SCATTER:
		memcpy(result, op->input[op->root] + reference_before(op, op->root, rank) * size,
		       reference_block_count(op, op->root, rank) * size);
		break;
	case COLLECTIVE_ALLTOALL:
		for (i = 0; i < n; i++)
			memcpy(result + reference_behind(op, rank, i) * size,
			       op->input[i] + reference_before(op, i, rank) * size,
			       reference_block_count(op, i, rank) * size);
		break;
	case COLLECTIVE_REDUCE:
		first = reference_ordered(op) ? 0 : reference_around(op) ? op->root + 1 : op->root;
		for (i = 0; i < op->count; i++)
			reference_element(op, n, first % n, n, i * size, size, result + i * size);
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		if (reference_ordered(op))
			reference_block(op, n, rank, 0, result);
		else if (reference_around(op))
			reference_block(op, n, rank, (rank + 1) % n, result);
		else
			reference_pairs(op, n, rank, result);
		break;
	default:
		if (reference_ordered(op))
			reference_chain(op, n, n, result);
		else
			reference_ring(sim, op, result);
	}
	return result;
}

/**
 * reference_result() - what a rank must end with
 * @sim: the world
 * @op: the operation
 * @rank: whose result
 *
 * Return: the elements, kept with @op.
 */
const u8 *reference_result(const struct sim *sim, struct sim_op *op, u32 rank)
{
	u8 *result = op->expected[rank];
	u32 i;

	if (result)
		return result;
	result = reference_compute(sim, op, rank);
	if (op->collective == COLLECTIVE_SCAN || op->collective == COLLECTIVE_EXSCAN ||
	    op->collective == COLLECTIVE_SCATTER ||
	    op->collective == COLLECTIVE_ALLTOALL || op->collective == COLLECTIVE_REDUCE_SCATTER)
		op->expected[rank] = result;
	else
		for (i = 0; i < sim->config.nranks; i++)
			op->expected[i] = result;
	return result;
}

/**
 * reference_free() - free what is kept with an operation
 * @op: the operation
 * @nranks: size of the group
 */
void reference_free(struct sim_op *op, u32 nranks)
{
	u32 rank;

	for (rank = 0; rank < nranks; rank++) {
		free(op->input[rank]);
		if (!rank || op->expected[rank] != op->expected[0])
			free(op->expected[rank]);
	}
}
