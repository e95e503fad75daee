/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of an implementation of the reductions; see reduce.h.
 *
 * Each reduce_<instruction set>.c includes this once, and nothing else does.  A reduction is an
 * expression of two elements x and y without side effects and calls, so that the compiler can
 * vectorize the loop around it.
 */
#ifndef COLL_REDUCE_IMPL_H
#define COLL_REDUCE_IMPL_H

#include "core/reduce/reduce_bits.h"
#include "core/reduce/reduce_float.h"

COLL_RAW(f32);
COLL_RAW(f64);

/* Bytes of the vector types below; the compiler maps them to the vectors of the CPU. */
#if defined(__AVX512F__)
#define COLL_VECTOR	64
#elif defined(__AVX__)
#define COLL_VECTOR	32
#else
#define COLL_VECTOR	16
#endif

#define COLL_VECTOR_OF(type)						\
typedef type coll_##type##_vector __attribute__((__vector_size__(COLL_VECTOR)));	\
typedef coll_##type##_vector raw_##type##_vector			\
	__aligned(1) __attribute__((__may_alias__))

COLL_VECTOR_OF(u64);
COLL_VECTOR_OF(f32);
COLL_VECTOR_OF(f64);

/*
 * Arithmetic of floats that are computed in the type in which they are stored.
 *
 * Replacing every NaN as it is stored costs more than the sum itself, and NaNs are rare.
 * Therefore all results of a block are added up.  The total is a NaN if any of them is, and then
 * the block's NaNs are replaced in a second pass.  Infinities of both signs also cause that pass,
 * which changes nothing then.  The pass reads and writes results only, so it works in place.
 */
#define COLL_BLOCK	8192	/* most bytes of a block, so that it stays in the L1 cache */
#define COLL_STRIDE	4	/* independent totals, to hide the latency of additions */

#define COLL_FLOAT_BLOCK(f)						\
static __always_inline bool coll_##f##_any_nan(const coll_##f##_vector *sums)	\
{									\
	const coll_##f##_vector sum = (sums[0] + sums[1]) + (sums[2] + sums[3]); \
	const union {							\
		coll_u64_vector vector;					\
		u64 words[COLL_VECTOR / sizeof(u64)];			\
	} nan = { .vector = (coll_u64_vector)(sum != sum) };		\
	u64 any = 0;							\
	size_t i;							\
									\
	for (i = 0; i < COLL_VECTOR / sizeof(u64); i++)			\
		any |= nan.words[i];					\
	return any;							\
}									\
									\
static void coll_##f##_make_canonical(raw_##f *values, size_t count)	\
{									\
	size_t i;							\
									\
	for (i = 0; i < count; i++)					\
		values[i] = coll_##f##_canonical(values[i]);		\
}

COLL_FLOAT_BLOCK(f32)
COLL_FLOAT_BLOCK(f64)

#define COLL_REDUCE_FLOAT(name, f, expr)				\
COLL_REDUCE_AS(name##_rest, f, f, /* as is */, coll_##f##_canonical, expr)	\
									\
static void coll_##name(void *dst, const void *a, const void *b,	\
			size_t count, u32 divisor)			\
{									\
	const size_t stride = COLL_STRIDE * COLL_VECTOR / sizeof(f);	\
	const raw_##f *first = a;					\
	const raw_##f *second = b;					\
	raw_##f *result = dst;						\
									\
	while (count >= stride) {					\
		const size_t most = COLL_BLOCK / sizeof(f);		\
		const size_t n = count < most ? count / stride * stride : most;	\
		const raw_##f##_vector *from_a = (const void *)first;	\
		const raw_##f##_vector *from_b = (const void *)second;	\
		raw_##f##_vector *to = (void *)result;			\
		coll_##f##_vector sums[COLL_STRIDE] = { };		\
		size_t i, j;						\
									\
		for (i = 0; i < n / stride * COLL_STRIDE; i += COLL_STRIDE) {	\
			for (j = 0; j < COLL_STRIDE; j++) {		\
				const coll_##f##_vector x = from_a[i + j];	\
				const coll_##f##_vector y = from_b[i + j];	\
				const coll_##f##_vector z = expr;	\
									\
				to[i + j] = z;				\
				sums[j] += z;				\
			}						\
		}							\
		if (coll_##f##_any_nan(sums))				\
			coll_##f##_make_canonical(result, n);		\
		first += n;						\
		second += n;						\
		result += n;						\
		count -= n;						\
	}								\
	coll_##name##_rest(result, first, second, count, divisor);	\
}

/*
 * Quotients rounded toward zero.  Integer division has no vector instruction, so quotients of
 * fewer than 64 bits are computed in a wider float and truncated.  This is exact: if x / d is no
 * integer, it is at least 1 / d below the next one, which is far more than the float's rounding
 * error.  A signed quotient is computed from the magnitude.
 */
static __always_inline u8 coll_u8_quotient(u8 x, u32 divisor)
{
	return (s32)((f32)x / (f32)divisor);
}

static __always_inline u16 coll_u16_quotient(u16 x, u32 divisor)
{
	return (s32)((f32)x / (f32)divisor);
}

static __always_inline u32 coll_u32_quotient(u32 x, u32 divisor)
{
	return (u32)((f64)x / (f64)divisor);
}

static __always_inline u64 coll_u64_quotient(u64 x, u32 divisor)
{
	return x / divisor;
}

#define COLL_SIGNED_QUOTIENT(s, u)					\
static __always_inline u coll_##s##_quotient(u x, u32 divisor)		\
{									\
	const u sign = (s)x < 0 ? (u)~(u)0 : 0;				\
	const u quotient = coll_##u##_quotient((x ^ sign) - sign, divisor);	\
									\
	return (quotient ^ sign) - sign;				\
}

COLL_SIGNED_QUOTIENT(s8, u8)
COLL_SIGNED_QUOTIENT(s16, u16)
COLL_SIGNED_QUOTIENT(s32, u32)
COLL_SIGNED_QUOTIENT(s64, u64)

COLL_REDUCE_INTEGERS
COLL_REDUCE_LOGICAL_FLOATS

#define COLL_REDUCE_AVERAGE(s, u)					\
COLL_REDUCE(u##_avg,  u, coll_##u##_quotient(x + y, divisor))		\
COLL_REDUCE(s##_avg,  u, coll_##s##_quotient(x + y, divisor))

COLL_REDUCE_AVERAGE(s8, u8)
COLL_REDUCE_AVERAGE(s16, u16)
COLL_REDUCE_AVERAGE(s32, u32)
COLL_REDUCE_AVERAGE(s64, u64)

COLL_FLOAT_BITS_ORDER(f16, F16, u16, s16)
COLL_FLOAT_BITS_ORDER(bf16, BF16, u16, s16)

/*
 * Minimum and maximum of binary32 and binary64 by their values, for which there is an
 * instruction.  It is used twice, with the operands in both orders.  For different values both
 * results are the lesser one; for +0 and -0, and if one is a NaN, they are the two operands.  The
 * OR of the results is the lesser value, -0, or a NaN.  The maximum is computed as the negated
 * minimum of the negated operands.
 */
#define COLL_FLOAT_ORDER(f)						\
static __always_inline f coll_##f##_lesser(f x, f y)			\
{									\
	return coll_##f##_from_bits(coll_##f##_bits(x < y ? x : y) |	\
				    coll_##f##_bits(y < x ? y : x));	\
}									\
									\
COLL_REDUCE_AS(f##_min, f, f, /* as is */, coll_##f##_canonical,	\
	       coll_##f##_lesser(x, y))					\
COLL_REDUCE_AS(f##_max, f, f, /* as is */, coll_##f##_canonical,	\
	       -coll_##f##_lesser(-x, -y))

COLL_FLOAT_ORDER(f32)
COLL_FLOAT_ORDER(f64)

/* Arithmetic of floats that are computed as they are stored */
COLL_REDUCE_FLOAT(f32_sum,  f32, x + y)
COLL_REDUCE_FLOAT(f32_prod, f32, x * y)
COLL_REDUCE_FLOAT(f32_avg,  f32, (x + y) / (f32)divisor)
COLL_REDUCE_FLOAT(f64_sum,  f64, x + y)
COLL_REDUCE_FLOAT(f64_prod, f64, x * y)
COLL_REDUCE_FLOAT(f64_avg,  f64, (x + y) / (f64)divisor)

/*
 * An average is the result of SUM, divided: the last sum is rounded to the type before the
 * division, like the earlier sums that the ranks have sent.  Otherwise the same elements could
 * give a finite average on two ranks, and an overflow on three.
 */
#define COLL_FLOAT_ARITHMETIC(f, raw, type, load, store)		\
COLL_REDUCE_AS(f##_sum,  raw, type, load, store, x + y)			\
COLL_REDUCE_AS(f##_prod, raw, type, load, store, x * y)			\
COLL_REDUCE_AS(f##_avg,  raw, type, load, store, load(store(x + y)) / (type)divisor)

COLL_FLOAT_ARITHMETIC(bf16, u16, f32, coll_bf16_widen, coll_bf16_narrow)

/*
 * Wide sums: the first operand is a 16-bit float; the second and the result are a 16-bit float or
 * binary32.  In names, wi is a binary32 operand and a 16-bit result, wo a 16-bit operand and a
 * binary32 result, and ww has binary32 for both.  wn has 16 bits for both; it is an average of two
 * ranks, whose sum is divided before it is rounded.
 */
#define COLL_REDUCE_WIDE_AS(name, in, out, widen_own, widen_in, store, expr)	\
	COLL_REDUCE_LOOP(name, u16, in, out, f32, widen_own, widen_in, store, expr)

#define COLL_REDUCE_WIDE(f, op, widen, narrow, expr)			\
COLL_REDUCE_WIDE_AS(f##_wi_##op, f32, u16, widen, /* as is */, narrow, expr)	\
COLL_REDUCE_WIDE_AS(f##_wo_##op, u16, f32, widen, widen, coll_f32_canonical, expr) \
COLL_REDUCE_WIDE_AS(f##_ww_##op, f32, f32, widen, /* as is */, coll_f32_canonical, expr)

#define COLL_FLOAT_WIDE(f, widen, narrow)				\
COLL_REDUCE_WIDE_AS(f##_wn_avg, u16, u16, widen, widen, narrow, (x + y) / (f32)divisor) \
COLL_REDUCE_WIDE(f, sum, widen, narrow, x + y)				\
COLL_REDUCE_WIDE(f, avg, widen, narrow, (x + y) / (f32)divisor)

COLL_FLOAT_WIDE(bf16, coll_bf16_widen, coll_bf16_narrow)

#if defined(__F16C__)
#include "core/reduce/reduce_f16c.h"
#else
COLL_FLOAT_ARITHMETIC(f16, u16, f32, coll_f16_widen, coll_f16_narrow)
COLL_FLOAT_WIDE(f16, coll_f16_widen, coll_f16_narrow)
#endif

/*
 * The table: @n is the prefix of functions that depend on the order of values and of averages,
 * @w of those that depend on bits only.
 */
#define COLL_REDUCE_ROW(n, w)						\
	[COLLECTIVE_SUM]	= coll_##w##_sum,			\
	[COLLECTIVE_PROD]	= coll_##w##_prod,			\
	[COLLECTIVE_AVG]	= coll_##n##_avg,			\
	COLL_REDUCE_ROW_BITS(n, w)

#define COLL_REDUCE_ROW_INTEGER(n, w) {					\
	COLL_REDUCE_ROW(n, w),						\
	COLL_REDUCE_ROW_BITWISE(w),					\
}

#define COLL_REDUCE_ROW_FLOAT(f) { COLL_REDUCE_ROW(f, f) }

#define COLL_REDUCE_FN_TABLE {						\
	[COLLECTIVE_INT8]	= COLL_REDUCE_ROW_INTEGER(s8, u8),	\
	[COLLECTIVE_UINT8]	= COLL_REDUCE_ROW_INTEGER(u8, u8),	\
	[COLLECTIVE_INT16]	= COLL_REDUCE_ROW_INTEGER(s16, u16),	\
	[COLLECTIVE_UINT16]	= COLL_REDUCE_ROW_INTEGER(u16, u16),	\
	[COLLECTIVE_INT32]	= COLL_REDUCE_ROW_INTEGER(s32, u32),	\
	[COLLECTIVE_UINT32]	= COLL_REDUCE_ROW_INTEGER(u32, u32),	\
	[COLLECTIVE_INT64]	= COLL_REDUCE_ROW_INTEGER(s64, u64),	\
	[COLLECTIVE_UINT64]	= COLL_REDUCE_ROW_INTEGER(u64, u64),	\
	[COLLECTIVE_FLOAT16]	= COLL_REDUCE_ROW_FLOAT(f16),		\
	[COLLECTIVE_BFLOAT16]	= COLL_REDUCE_ROW_FLOAT(bf16),		\
	[COLLECTIVE_FLOAT32]	= COLL_REDUCE_ROW_FLOAT(f32),		\
	[COLLECTIVE_FLOAT64]	= COLL_REDUCE_ROW_FLOAT(f64),		\
}

#define COLL_REDUCE_WIDE_PAIR(n) { coll_##n##_sum, coll_##n##_avg }

#define COLL_REDUCE_WIDE_ROW(f) {					\
	{ { coll_##f##_sum, coll_##f##_wn_avg }, COLL_REDUCE_WIDE_PAIR(f##_wo) },	\
	{ COLL_REDUCE_WIDE_PAIR(f##_wi), COLL_REDUCE_WIDE_PAIR(f##_ww) },	\
}

#define COLL_REDUCE_WIDE_TABLE {					\
	COLL_REDUCE_WIDE_ROW(f16),					\
	COLL_REDUCE_WIDE_ROW(bf16),					\
}

#endif /* COLL_REDUCE_IMPL_H */
