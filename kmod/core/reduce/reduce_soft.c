// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions of a few elements with integer instructions only.
 *
 * Saving and restoring the process's FPU registers costs as much as some tens of such additions.
 * Reductions that are rare, or need much code, are missing here: they use the FPU registers for
 * any number of elements.
 */
#define COLL_INDEPENDENT	/* empty: the loops must not be vectorized */
#define COLL_REDUCE_MANY(...)	/* empty: more than two operands are reduced in pairs */
#include "core/reduce/reduce_bits.h"

/*
 * IEEE 754 sums, rounded to nearest even.  The operand of smaller magnitude is shifted to the
 * exponent of the larger one, and the two are added or subtracted.  Three more bits decide the
 * rounding: a half and a quarter of the last place, and one that is set if any lower bit was.
 */
#define SOFT_MORE	3

/* Shift right; the lowest bit of the result is set if any bit that is shifted out was. */
static __always_inline u64 soft_down(u64 x, u32 places)
{
	if (places > 63)
		return !!x;
	return x >> places | (x & ((1ULL << places) - 1) ? 1 : 0);
}

/*
 * Split a finite number.  Return: its digits, with the hidden bit of a normal number, shifted by
 * SOFT_MORE; *@exponent is the biased exponent, 1 for a denormal.
 */
static __always_inline u64 soft_digits(u64 magnitude, u32 digits, u32 *exponent)
{
	const u64 one = 1ULL << digits;
	u32 biased = magnitude >> digits;

	*exponent = biased ? biased : 1;
	return ((magnitude & (one - 1)) | (biased ? one : 0)) << SOFT_MORE;
}

/* Round and join digits and exponent; a carry of the rounding goes to the exponent. */
static __always_inline u64 soft_round(u64 x, u32 exponent, u32 digits, u64 infinity)
{
	const u32 half = 1U << (SOFT_MORE - 1);
	u32 below = x & (2 * half - 1);
	u64 magnitude;

	x >>= SOFT_MORE;
	x += below > half || (below == half && (x & 1));
	magnitude = ((u64)(exponent - 1) << digits) + x;
	return min(magnitude, infinity);
}

static __always_inline u64 soft_sum(u64 a, u64 b, u32 digits, u64 infinity, u64 nan)
{
	const u64 sign = (infinity | ((1ULL << digits) - 1)) + 1;
	const u64 top = 1ULL << (digits + SOFT_MORE);
	u64 large = a & ~sign, small = b & ~sign, x, y;
	bool differ = (a ^ b) & sign;
	u32 exponent, other;

	if (large < small) {
		swap(large, small);
		a = b;
	}
	if (large >= infinity)
		return large > infinity || (small == infinity && differ) ? nan : a;
	x = soft_digits(large, digits, &exponent);
	y = soft_digits(small, digits, &other);
	y = soft_down(y, exponent - other);
	if (!differ) {
		x += y;
		if (x >= 2 * top) {
			x = soft_down(x, 1);
			exponent++;
		}
	} else {
		x -= y;
		if (!x)
			return 0;
		for (; x < top && exponent > 1; exponent--)
			x <<= 1;
	}
	return (a & sign) | soft_round(x, exponent, digits, infinity);
}

static __always_inline u32 soft_f32_sum(u32 x, u32 y)
{
	return soft_sum(x, y, 23, COLL_F32_INF, COLL_F32_NAN);
}

static __always_inline u64 soft_f64_sum(u64 x, u64 y)
{
	return soft_sum(x, y, 52, COLL_F64_INF, COLL_F64_NAN);
}

COLL_REDUCE_INTEGERS
COLL_REDUCE_LOGICAL_FLOATS
COLL_FLOAT_BITS_ORDER(f16, F16, u16, s16)
COLL_FLOAT_BITS_ORDER(bf16, BF16, u16, s16)
COLL_FLOAT_BITS_ORDER(f32, F32, u32, s32)
COLL_FLOAT_BITS_ORDER(f64, F64, u64, s64)
COLL_REDUCE(f32_sum, u32, soft_f32_sum(x, y))
COLL_REDUCE(f64_sum, u64, soft_f64_sum(x, y))

#define SOFT_INTEGER(n, w) {						\
	COLL_REDUCE_ROW_BITS(n, w),					\
	COLL_REDUCE_ROW_BITWISE(w),					\
	[COLLECTIVE_SUM]	= coll_##w##_sum,			\
	[COLLECTIVE_PROD]	= coll_##w##_prod,			\
}

const struct coll_reduce_impl coll_reduce_soft = {
	.name = "soft",
	.fn = {
		[COLLECTIVE_INT8]	= SOFT_INTEGER(s8, u8),
		[COLLECTIVE_UINT8]	= SOFT_INTEGER(u8, u8),
		[COLLECTIVE_INT16]	= SOFT_INTEGER(s16, u16),
		[COLLECTIVE_UINT16]	= SOFT_INTEGER(u16, u16),
		[COLLECTIVE_INT32]	= SOFT_INTEGER(s32, u32),
		[COLLECTIVE_UINT32]	= SOFT_INTEGER(u32, u32),
		[COLLECTIVE_INT64]	= SOFT_INTEGER(s64, u64),
		[COLLECTIVE_UINT64]	= SOFT_INTEGER(u64, u64),
		[COLLECTIVE_FLOAT16]	= { COLL_REDUCE_ROW_BITS(f16, f16) },
		[COLLECTIVE_BFLOAT16]	= { COLL_REDUCE_ROW_BITS(bf16, bf16) },
		[COLLECTIVE_FLOAT32]	= { COLL_REDUCE_ROW_BITS(f32, f32),
					    [COLLECTIVE_SUM] = coll_f32_sum },
		[COLLECTIVE_FLOAT64]	= { COLL_REDUCE_ROW_BITS(f64, f64),
					    [COLLECTIVE_SUM] = coll_f64_sum },
	},
	.copy = coll_copy_words,
};
