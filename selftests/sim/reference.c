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
		count *= nranks;
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
}

/* In the order of ranks: the first @others of them. */
static void reference_chain(const struct sim_op *op, u32 nranks, u32 others, u8 *result)
{
	size_t size = coll_type_size(op->type);
	u64 i;

	for (i = 0; i < op->count; i++)
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
	u32 left = nranks - 1, round;
	u64 i, block = rank * op->count * size;

	memcpy(result, op->input[rank] + block, op->count * size);
	for (round = 0; round < nranks; round++) {
		u32 from = (round + nranks - rank) % nranks;

		if (from == rank)
			continue;
		left--;
		for (i = 0; i < op->count * size; i += size) {
			const u8 *in = op->input[from] + block + i;
			u32 divisor = left ? 0 : nranks;

			reduce(op, result + i, in, divisor);
		}
	}
}

static u8 *reference_compute(const struct sim *sim, struct sim_op *op, u32 rank)
{
	size_t size = coll_type_size(op->type);
	u64 bytes = op->count * size;
	u32 n = sim->config.nranks;
	u8 *result = malloc(n * bytes + 8);
	u64 i;

	for (i = 0; i < n; i++)
		reference_input(op, i, n);
	switch (op->collective) {
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SEND:
		memcpy(result, op->input[op->root], bytes);
		break;
	case COLLECTIVE_ALLGATHER:
		for (i = 0; i < n; i++)
			memcpy(result + i * bytes, op->input[i], bytes);
		break;
	case COLLECTIVE_SCAN:
		reference_chain(op, n, rank + 1, result);
		break;
	case COLLECTIVE_GATHER:
		for (i = 0; i < n; i++)
			memcpy(result + i * bytes, op->input[i], bytes);
		break;
	case COLLECTIVE_SCATTER:
		memcpy(result, op->input[op->root] + rank * bytes, bytes);
		break;
	case COLLECTIVE_ALLTOALL:
		for (i = 0; i < n; i++)
			memcpy(result + i * bytes, op->input[i] + rank * bytes, bytes);
		break;
	case COLLECTIVE_REDUCE:
		for (i = 0; i < op->count; i++)
			reference_element(op, n, op->root, n, i * size, size, result + i * size);
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		reference_pairs(op, n, rank, result);
		break;
	default:
		/* Only the rounding of floats makes the order show. */
		if (op->reproducible)
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
	if (op->collective == COLLECTIVE_SCAN || op->collective == COLLECTIVE_SCATTER ||
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
