// SPDX-License-Identifier: GPL-2.0-only
/*
 * The input of an operation and the result that it must have, bit by bit.
 *
 * It follows the documentation and the UAPI header, and computes one element at a time.  It
 * shares no code with core/reduce, so that both cannot have the same fault.  Only the partition
 * into lanes and chunks is that of core/schedule/partition.c, which has a unit test.
 *
 * An element of chunk c starts with the value of rank c; then those of ranks c + 1, c + 2 and so
 * on, modulo the size of the group, are reduced into it.  Each step rounds to the type.  This
 * order is the same for algorithms that do not send along the ring.
 */
#include "sim.h"
#include "../unit/reduce_reference.h"

typedef union {
	u64 u;
	float f;
	double d;
} scalar;

static __always_inline bool is_float(u8 type)
{
	return type >= COLLECTIVE_FLOAT16;
}

static __always_inline bool is_signed(u8 type)
{
	return type == COLLECTIVE_INT8 || type == COLLECTIVE_INT16 ||
	       type == COLLECTIVE_INT32 || type == COLLECTIVE_INT64;
}

static __always_inline scalar float_load(u8 type, const void *element)
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

static __always_inline void float_store(u8 type, scalar s, void *element)
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

		/* Round to nearest, ties to even. */
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

static __always_inline double float_value(u8 type, scalar s)
{
	return type == COLLECTIVE_FLOAT64 ? s.d : s.f;
}

static __always_inline scalar float_scalar(u8 type, double value)
{
	scalar s = { 0 };

	if (type == COLLECTIVE_FLOAT64)
		s.d = value;
	else
		s.f = value;
	return s;
}

/* Return: true if the input is random bits, independent of the type. */
static bool input_raw(const struct sim_op *op)
{
	return op->values == VALUES_ANY || (!is_float(op->type) && op->values != VALUES_SMALL);
}

static void input_element(const struct sim_op *op, u64 bits, void *element)
{
	double value;

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
 * reference_block_count() - length of the block from one rank to another
 * @op: the operation
 * @from: the sender
 * @to: the receiver
 *
 * Return: elements; with vector, a random count of 0 to op->count for each block.
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

/**
 * reference_seen_count() - length of a block as one of its two ranks believes it to be
 * @op: the operation
 * @by: the rank that believes it: @from or @to
 * @from: the sender
 * @to: the receiver
 *
 * Return: reference_block_count(), or op->wrong_count if this rank has the wrong count.
 */
u64 reference_seen_count(const struct sim_op *op, u32 by, u32 from, u32 to)
{
	if (op->mismatched && from == op->wrong_from && to == op->wrong_to &&
	    by == (op->wrong_sender ? from : to))
		return op->wrong_count;
	return reference_block_count(op, from, to);
}

/**
 * reference_capacity() - capacity of a rank in an operation with VARLEN
 * @op: the operation
 * @rank: a rank that takes part in it
 *
 * Return: elements: as many as are sent, or more, or fewer; at the root, as many as are sent.
 */
u64 reference_capacity(const struct sim_op *op, u32 rank)
{
	u64 bits = rng_mix(op->seed + 31 * rank + 5);
	u64 sent = reference_block_count(op, op->root, rank);

	if (rank == op->root || bits % 3 == 0)
		return sent;
	if (bits % 3 == 1)
		return sent + 1 + (bits >> 8) % (sent + 2);
	return bits >> 60 ? (bits >> 8) % (sent + 1) : 0;
}

/* Return: elements of the blocks from @rank to all ranks below @to. */
u64 reference_before(const struct sim_op *op, u32 rank, u32 to)
{
	u64 count = 0;

	while (to--)
		count += reference_seen_count(op, rank, rank, to);
	return count;
}

/* Return: elements of the blocks to @rank from all ranks below @from. */
u64 reference_behind(const struct sim_op *op, u32 rank, u32 from)
{
	u64 count = 0;

	while (from--)
		count += reference_seen_count(op, rank, from, rank);
	return count;
}

/**
 * reference_input() - get the input of a rank
 * @op: the operation
 * @rank: the rank
 * @nranks: size of the group
 *
 * Return: the elements, kept with @op.
 */
const u8 *reference_input(struct sim_op *op, u32 rank, u32 nranks)
{
	struct rng rng = { .state = rng_mix(op->seed + rng_mix(rank + 1)) };
	size_t size = coll_type_size(op->type), step = input_raw(op) ? 8 : size;
	u64 count = op->count, off;

	if (op->input[rank])
		return op->input[rank];
	if (op->collective == COLLECTIVE_SCATTER || op->collective == COLLECTIVE_ALLTOALL ||
	    op->collective == COLLECTIVE_REDUCE_SCATTER)
		count = reference_before(op, rank, nranks);
	else if (op->vector)
		count = reference_seen_count(op, rank, rank, op->root);
	op->input[rank] = malloc(count * size + 8);
	for (off = 0; off < count * size; off += step) {
		u64 bits = rng_next(&rng);

		if (input_raw(op))
			memcpy(op->input[rank] + off, &bits, 8);
		else
			input_element(op, bits, op->input[rank] + off);
	}
	return op->input[rank];
}

static __always_inline void reduce_float(u8 type, u8 reduction, void *acc, const void *in,
					 u32 divisor)
{
	scalar a = float_load(type, acc), b = float_load(type, in), r = { 0 };
	bool wide = type == COLLECTIVE_FLOAT64;
	double x = float_value(type, a), y = float_value(type, b);
	bool p = x != 0, q = y != 0;

	switch (reduction) {
	case COLLECTIVE_SUM:
	case COLLECTIVE_AVG:
		if (wide)
			r.d = a.d + b.d;
		else
			r.f = a.f + b.f;
		if (reduction == COLLECTIVE_AVG && divisor > 1) {
			/* The sum is rounded to the type before it is divided. */
			float_store(type, r, acc);
			r = float_load(type, acc);
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
			r = float_scalar(type, __builtin_nan(""));
		else if (x == y)
			r = !!__builtin_signbit(x) ==
			    (reduction == COLLECTIVE_MIN) ? a : b;
		else
			r = (x < y) == (reduction == COLLECTIVE_MIN) ? a : b;
		break;
	case COLLECTIVE_LAND:
		r = float_scalar(type, p && q);
		break;
	case COLLECTIVE_LOR:
		r = float_scalar(type, p || q);
		break;
	case COLLECTIVE_LXOR:
		r = float_scalar(type, p != q);
		break;
	default:
		abort();
	}
	float_store(type, r, acc);
}

static __always_inline u64 integer_load(u8 type, const void *element)
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

static __always_inline void reduce_integer(u8 type, u8 reduction, void *acc, const void *in,
					   u32 divisor)
{
	bool sign = is_signed(type);
	u64 x = integer_load(type, acc), y = integer_load(type, in), r = 0;
	bool less = sign ? (s64)x < (s64)y : x < y;

	switch (reduction) {
	case COLLECTIVE_SUM:
		r = x + y;
		break;
	case COLLECTIVE_AVG:
		r = x + y;
		r = integer_load(type, &r);
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
	memcpy(acc, &r, coll_type_size(type));
}

/* The type is constant in each loop, so that the compiler specializes it: these loops are hot. */
#define REDUCE(how, type) \
	case type: \
		for (; bytes; bytes -= size, acc += size, in += size) \
			how(type, op->reduction, acc, in, divisor); \
		break

/* Reduce @in into @acc.  An average divides by @divisor in its last step; 0: not the last one. */
static void reduce(const struct sim_op *op, u8 *acc, const u8 *in, u64 bytes, u32 divisor)
{
	size_t size = coll_type_size(op->type);

	switch (op->type) {
	REDUCE(reduce_integer, COLLECTIVE_INT8);
	REDUCE(reduce_integer, COLLECTIVE_UINT8);
	REDUCE(reduce_integer, COLLECTIVE_INT16);
	REDUCE(reduce_integer, COLLECTIVE_UINT16);
	REDUCE(reduce_integer, COLLECTIVE_INT32);
	REDUCE(reduce_integer, COLLECTIVE_UINT32);
	REDUCE(reduce_integer, COLLECTIVE_INT64);
	REDUCE(reduce_integer, COLLECTIVE_UINT64);
	REDUCE(reduce_float, COLLECTIVE_FLOAT16);
	REDUCE(reduce_float, COLLECTIVE_BFLOAT16);
	REDUCE(reduce_float, COLLECTIVE_FLOAT32);
	REDUCE(reduce_float, COLLECTIVE_FLOAT64);
	}
}

/**
 * reference_ordered() - find out whether a reduction must go in the order of ranks
 * @op: the operation
 *
 * Return: true if it is reproducible and if the order can change its result.
 */
bool reference_ordered(const struct sim_op *op)
{
	/* The order can change only what is rounded: sums and products of floats. */
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
 * reference_wide() - find out whether an operation has wide sums
 * @op: the operation
 *
 * Return: true if its sums of 16-bit floats are kept and sent as binary32.
 */
bool reference_wide(const struct sim_op *op)
{
	return op->wide && reduces(op) &&
	       (op->type == COLLECTIVE_FLOAT16 || op->type == COLLECTIVE_BFLOAT16) &&
	       (op->reduction == COLLECTIVE_SUM || op->reduction == COLLECTIVE_AVG);
}

/**
 * reference_along_ring() - find out whether a reduction goes along the ring
 * @op: a reduce or reduce_scatter that is not ordered
 *
 * Return: true if it does; false if each rank sends to the receiver of the result.
 */
bool reference_along_ring(const struct sim_op *op)
{
	if (reference_wide(op) || op->algorithm == COLLECTIVE_ALGORITHM_RING)
		return true;
	return op->algorithm == COLLECTIVE_ALGORITHM_AUTO && op->collective == COLLECTIVE_REDUCE;
}

/**
 * reference_tree() - find out whether an operation uses a tree or recursive doubling
 * @op: the operation
 * @nranks: size of the group
 *
 * Return: true if it does.
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

/**
 * reference_direct() - find out whether an allreduce sends from each rank to each
 * @op: the operation
 *
 * Return: true if it does.  The result is the same as along the ring.
 */
bool reference_direct(const struct sim_op *op)
{
	return op->algorithm == COLLECTIVE_ALGORITHM_DIRECT && !reference_ordered(op) &&
	       !reference_wide(op);
}

/**
 * reference_fused() - find out whether ranks read one another's memory
 * @sim: the world
 * @op: the operation
 *
 * Return: true if they do.  The result is the same as along the ring, or as that of a direct
 * reduce_scatter.
 */
bool reference_fused(const struct sim *sim, const struct sim_op *op)
{
	u64 count = op->count;
	u32 i;

	if (!sim->config.reads || sim->config.nranks < 2 || sim->config.nranks > 64 ||
	    (op->algorithm != COLLECTIVE_ALGORITHM_AUTO &&
	     op->algorithm != COLLECTIVE_ALGORITHM_DIRECT) ||
	    (op->collective != COLLECTIVE_ALLREDUCE && op->collective != COLLECTIVE_REDUCE &&
	     op->collective != COLLECTIVE_REDUCE_SCATTER))
		return false;
	if (op->vector)
		for (count = 0, i = 0; i < sim->config.nranks; i++)
			count = max(count, reference_block_count(op, i, i));
	return count * coll_type_size(op->type) > COLLECTIVE_EAGER_LIMIT;
}

/**
 * reference_board() - find out whether an operation has its place on the board
 * @sim: the world
 * @op: the operation
 *
 * Return: true if it has.  Its operands are in the order of ranks.
 */
bool reference_board(const struct sim *sim, const struct sim_op *op)
{
	struct coll_plan plan = sim_plan(sim, op, 0);

	plan.vector = op->vector;
	return coll_board_fits(&plan);
}

/* Reduce one element over all ranks as binary32, and round it once. */
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

/* Reduce @bytes at @off over all ranks, in the order @first, @first + 1, ... modulo @nranks. */
static void reference_round(const struct sim_op *op, u32 nranks, u32 first, u64 off, u64 bytes,
			    u8 *result)
{
	size_t size = coll_type_size(op->type);
	u64 at;
	u32 i;

	memcpy(result, op->input[first] + off, bytes);
	if (reference_wide(op)) {
		for (at = 0; at < bytes; at += size)
			reference_wide_element(op, nranks, first, off + at, result + at);
		return;
	}
	for (i = 1; i < nranks; i++)
		reduce(op, result, op->input[(first + i) % nranks] + off, bytes,
		       i + 1 == nranks ? nranks : 0);
}

/* Compute a scan or exscan of all ranks, in the order of ranks. */
static void reference_scan(struct sim_op *op, u32 nranks)
{
	u64 bytes = op->count * coll_type_size(op->type);
	bool own = op->collective == COLLECTIVE_SCAN;
	u32 rank;

	for (rank = 0; rank < nranks; rank++) {
		u8 *result = malloc(bytes + 8);

		op->expected[rank] = result;
		if (rank) {
			memcpy(result, rank == 1 && !own ? op->input[0] : op->expected[rank - 1],
			       bytes);
			if (own || rank > 1)
				reduce(op, result, op->input[own ? rank : rank - 1], bytes, 0);
		} else if (own) {
			memcpy(result, op->input[0], bytes);
		}
	}
}

static void reference_ring(const struct sim *sim, const struct sim_op *op, u8 *result)
{
	size_t size = coll_type_size(op->type);
	u32 n = sim->config.nranks;
	u32 lanes = coll_partition_lanes(op->count * size, sim->config.lanes);
	u32 lane, c;

	for (lane = 0; lane < lanes; lane++) {
		struct coll_range part = coll_partition_piece(op->count, size, lanes, lane);

		for (c = 0; c < n; c++) {
			struct coll_range chunk = coll_partition_piece(part.count, size, n, c);
			u64 off = (part.first + chunk.first) * size;

			reference_round(op, n, c, off, chunk.count * size, result + off);
		}
	}
}

/*
 * Reduce a block of a direct reduce_scatter: the own input first, then that of rank
 * (round - rank) modulo nranks, for each round.
 */
static void reference_pairs(const struct sim_op *op, u32 nranks, u32 rank, u8 *result)
{
	size_t size = coll_type_size(op->type);
	u64 block = reference_before(op, 0, rank) * size;
	u64 bytes = reference_block_count(op, 0, rank) * size;
	u32 left = nranks - 1, round;

	memcpy(result, op->input[rank] + block, bytes);
	for (round = 0; round < nranks; round++) {
		u32 from = (round + nranks - rank) % nranks;

		if (from == rank)
			continue;
		left--;
		reduce(op, result, op->input[from] + block, bytes, left ? 0 : nranks);
	}
}

/* Bytes of each rank that the functions below reduce at a time. */
#define FEW	512

/* Reduce @x of @n ranks into x[0] by recursive doubling: pairs, then pairs of pairs and so on. */
static void reference_doubling(const struct sim_op *op, u8 (*x)[FEW], u32 n, u32 bytes)
{
	u32 whole = 1, extra, m, i;

	while (2 * whole <= n)
		whole *= 2;
	extra = n - whole;
	for (i = 0; i < whole; i++) {
		if (i < extra)
			reduce(op, x[2 * i], x[2 * i + 1], bytes, 0);
		memmove(x[i], x[i < extra ? 2 * i : i + extra], bytes);
	}
	for (m = whole; m > 1; m /= 2)
		for (i = 0; i < m / 2; i++) {
			reduce(op, x[2 * i], x[2 * i + 1], bytes, m == 2 ? n : 0);
			memmove(x[i], x[2 * i], bytes);
		}
}

/* Reduce @x of @n ranks into x[0] along a binomial tree. */
static void reference_binomial(const struct sim_op *op, u8 (*x)[FEW], u32 n, u32 bytes)
{
	u32 far, i;

	for (far = 1; far < n; far *= 2)
		for (i = 0; i + far < n; i += 2 * far)
			reduce(op, x[i], x[i + far], bytes, 2 * far >= n ? n : 0);
}

/* Prefix reduction: in round k, x[i - 2^k] and x[i] are reduced into x[i]. */
static void reference_prefix(const struct sim_op *op, u8 (*x)[FEW], u32 n, u32 bytes)
{
	u32 far, i;

	for (far = 1; far < n; far *= 2)
		for (i = n - 1; i >= far; i--) {
			u8 sum[FEW];

			memcpy(sum, x[i - far], bytes);
			reduce(op, sum, x[i], bytes, 0);
			memcpy(x[i], sum, bytes);
		}
}

/* Compute a reduce or allreduce that uses a tree or recursive doubling. */
static void reference_few(struct sim_op *op, u32 n, u8 *result)
{
	u32 first = op->collective == COLLECTIVE_REDUCE ? op->root : 0;
	u64 off, end = op->count * coll_type_size(op->type);
	u8 x[SIM_RANKS_MAX][FEW];
	u32 i;

	for (off = 0; off < end; off += FEW) {
		u32 bytes = min_t(u64, FEW, end - off);

		for (i = 0; i < n; i++)
			memcpy(x[i], op->input[(first + i) % n] + off, bytes);
		if (op->collective == COLLECTIVE_REDUCE)
			reference_binomial(op, x, n, bytes);
		else
			reference_doubling(op, x, n, bytes);
		memcpy(result + off, x[0], bytes);
	}
}

/* Compute a scan or exscan of all ranks by prefix reduction. */
static void reference_few_scan(struct sim_op *op, u32 n)
{
	u64 off, end = op->count * coll_type_size(op->type);
	u32 skip = op->collective == COLLECTIVE_EXSCAN;
	u8 x[SIM_RANKS_MAX][FEW];
	u32 i;

	for (i = 0; i < n; i++)
		op->expected[i] = malloc(end + 8);
	for (off = 0; off < end; off += FEW) {
		u32 bytes = min_t(u64, FEW, end - off);

		for (i = 0; i < n; i++)
			memcpy(x[i], op->input[i] + off, bytes);
		reference_prefix(op, x, n, bytes);
		for (i = skip; i < n; i++)
			memcpy(op->expected[i] + off, x[i - skip], bytes);
	}
}

/* Reduce the block of @rank of a reduce_scatter, in ring order from @first on. */
static void reference_block(const struct sim_op *op, u32 nranks, u32 rank, u32 first, u8 *result)
{
	size_t size = coll_type_size(op->type);

	reference_round(op, nranks, first, reference_before(op, 0, rank) * size,
			reference_block_count(op, 0, rank) * size, result);
}

static void reference_compute(const struct sim *sim, struct sim_op *op, u32 rank, u8 *result)
{
	size_t size = coll_type_size(op->type);
	u64 bytes = op->count * size;
	bool board = reference_board(sim, op);
	u32 n = sim->config.nranks;
	u32 first, i;

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
		first = op->root;
		if (reference_ordered(op) || board)
			first = 0;
		else if (reference_along_ring(op) || reference_fused(sim, op))
			first = op->root + 1;
		if (!board && reference_tree(op, n))
			reference_few(op, n, result);
		else
			reference_round(op, n, first % n, 0, bytes, result);
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		if (reference_ordered(op) || board)
			reference_block(op, n, rank, 0, result);
		else if (reference_along_ring(op))
			reference_block(op, n, rank, (rank + 1) % n, result);
		else
			reference_pairs(op, n, rank, result);
		break;
	default:
		if (!board && reference_tree(op, n))
			reference_few(op, n, result);
		else if (reference_ordered(op) || board)
			reference_round(op, n, 0, 0, bytes, result);
		else
			reference_ring(sim, op, result);
	}
}

/* Return: true if only the input of the root matters. */
static bool reference_rooted(const struct sim_op *op)
{
	return op->collective == COLLECTIVE_BROADCAST || op->collective == COLLECTIVE_SEND ||
	       op->collective == COLLECTIVE_SCATTER;
}

/**
 * reference_result() - get the result that a rank must have
 * @sim: the world
 * @op: the operation
 * @rank: the rank
 *
 * Return: the elements, kept with @op.
 */
const u8 *reference_result(const struct sim *sim, struct sim_op *op, u32 rank)
{
	u32 n = sim->config.nranks, i;
	u8 *result;

	if (op->expected[rank])
		return op->expected[rank];
	for (i = 0; i < n; i++)
		if (!reference_rooted(op) || i == op->root)
			reference_input(op, i, n);
	if (op->collective == COLLECTIVE_SCAN || op->collective == COLLECTIVE_EXSCAN) {
		if (!reference_board(sim, op) && reference_tree(op, n))
			reference_few_scan(op, n);
		else
			reference_scan(op, n);
		return op->expected[rank];
	}

	result = malloc(n * op->count * coll_type_size(op->type) + 8);
	reference_compute(sim, op, rank, result);
	if (op->collective == COLLECTIVE_SCATTER || op->collective == COLLECTIVE_ALLTOALL ||
	    op->collective == COLLECTIVE_REDUCE_SCATTER)
		op->expected[rank] = result;
	else
		for (i = 0; i < n; i++)
			op->expected[i] = result;
	return result;
}

/**
 * reference_init() - allocate the tables of inputs and results of an operation
 * @op: the operation
 * @nranks: size of the group
 */
void reference_init(struct sim_op *op, u32 nranks)
{
	op->input = calloc(nranks, sizeof(*op->input));
	op->expected = calloc(nranks, sizeof(*op->expected));
}

/**
 * reference_free() - free the inputs and results of an operation
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
	free(op->input);
	free(op->expected);
}
