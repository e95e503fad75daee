/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
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

#define COLL_REDUCE_FLOAT(name, f, before, expr)			\
COLL_REDUCE_AS(name##_rest, f, f, /* as is */, coll_##f##_canonical, expr)	\
									\
static __always_inline void coll_##name##_of(void *dst, const void *const *src, \
					     const u32 sources, size_t count,	\
					     u32 divisor)		\
{									\
	const size_t stride = COLL_STRIDE * COLL_VECTOR / sizeof(f);	\
	const raw_##f *first = src[0];					\
	const raw_##f *second = src[1];					\
	const raw_##f *third = src[sources > 2 ? 2 : 1];		\
	const raw_##f *fourth = src[sources - 1];			\
	raw_##f *result = dst;						\
									\
	while (count >= stride) {					\
		const size_t most = COLL_BLOCK / sizeof(f);		\
		const size_t n = count < most ? count / stride * stride : most;	\
		const raw_##f##_vector *from_a = (const void *)first;	\
		const raw_##f##_vector *from_b = (const void *)second;	\
		const raw_##f##_vector *from_c = (const void *)third;	\
		const raw_##f##_vector *from_d = (const void *)fourth;	\
		raw_##f##_vector *to = (void *)result;			\
		coll_##f##_vector sums[COLL_STRIDE] = { };		\
		size_t i, j;						\
									\
		for (i = 0; i < n / stride * COLL_STRIDE; i += COLL_STRIDE) {	\
			for (j = 0; j < COLL_STRIDE; j++) {		\
				coll_##f##_vector x = from_a[i + j];	\
				coll_##f##_vector y = from_b[i + j];	\
				coll_##f##_vector z;			\
									\
				if (sources > 2) {			\
					x = before;			\
					y = from_c[i + j];		\
				}					\
				if (sources > 3) {			\
					x = before;			\
					y = from_d[i + j];		\
				}					\
				z = expr;				\
				to[i + j] = z;				\
				sums[j] += z;				\
			}						\
		}							\
		if (coll_##f##_any_nan(sums))				\
			coll_##f##_make_canonical(result, n);		\
		first += n;						\
		second += n;						\
		third += n;						\
		fourth += n;						\
		result += n;						\
		count -= n;						\
	}								\
	if (sources == 2)						\
		coll_##name##_rest(result, first, second, count, divisor);	\
}									\
									\
COLL_REDUCE_TWO(name)							\
COLL_REDUCE_MANY(name)

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
COLL_REDUCE_STEPS(u##_avg, u, u, /* as is */, /* as is */, x + y,	\
		  coll_##u##_quotient(x + y, divisor))			\
COLL_REDUCE_STEPS(s##_avg, u, u, /* as is */, /* as is */, x + y,	\
		  coll_##s##_quotient(x + y, divisor))

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
	       -coll_##f##_lesser(-x, -y))				\
COLL_REDUCE_MANY(f##_min)						\
COLL_REDUCE_MANY(f##_max)

COLL_FLOAT_ORDER(f32)
COLL_FLOAT_ORDER(f64)

/* Arithmetic of floats that are computed as they are stored */
COLL_REDUCE_FLOAT(f32_sum,  f32, x + y, x + y)
COLL_REDUCE_FLOAT(f32_prod, f32, x * y, x * y)
COLL_REDUCE_FLOAT(f32_avg,  f32, x + y, (x + y) / (f32)divisor)
COLL_REDUCE_FLOAT(f64_sum,  f64, x + y, x + y)
COLL_REDUCE_FLOAT(f64_prod, f64, x * y, x * y)
COLL_REDUCE_FLOAT(f64_avg,  f64, x + y, (x + y) / (f64)divisor)

/*
 * An average is the result of SUM, divided: the last sum is rounded to the type before the
 * division, like the earlier sums that the ranks have sent.  Otherwise the same elements could
 * give a finite average on two ranks, and an overflow on three.
 */
#define COLL_FLOAT_ARITHMETIC(f, raw, type, load, store)		\
COLL_REDUCE_AS(f##_sum,  raw, type, load, store, x + y)			\
COLL_REDUCE_AS(f##_prod, raw, type, load, store, x * y)			\
COLL_REDUCE_STEPS(f##_avg,  raw, type, load, store, x + y,		\
		  load(store(x + y)) / (type)divisor)

/* Those of more than two operands, unless the functions above are only for the last elements */
#define COLL_FLOAT_MANY(f)						\
COLL_REDUCE_MANY(f##_sum)						\
COLL_REDUCE_MANY(f##_prod)						\
COLL_REDUCE_MANY(f##_avg)						\
COLL_REDUCE_MANY(f##_wn_sum)						\
COLL_REDUCE_MANY(f##_wi_sum)						\
COLL_REDUCE_MANY(f##_wo_sum)						\
COLL_REDUCE_MANY(f##_ww_sum)						\
COLL_REDUCE_MANY(f##_wn_avg)						\
COLL_REDUCE_MANY(f##_wi_avg)						\
COLL_REDUCE_MANY(f##_wo_avg)						\
COLL_REDUCE_MANY(f##_ww_avg)

COLL_FLOAT_ARITHMETIC(bf16, u16, f32, coll_bf16_widen, coll_bf16_narrow)

/*
 * Wide sums: the first operand is a 16-bit float or binary32, and so is the result; the others are
 * 16-bit floats.  In names, wi is a binary32 operand and a 16-bit result, wo a 16-bit operand and
 * a binary32 result, ww has binary32 for both, and wn 16 bits for both.
 */
#define COLL_REDUCE_WIDE_AS(name, one, out, widen_one, widen, store, expr)	\
	COLL_REDUCE_LOOP(name, one, u16, out, f32, widen_one, widen, store, x + y, expr)

#define COLL_REDUCE_WIDE(f, op, widen, narrow, expr)			\
COLL_REDUCE_WIDE_AS(f##_wn_##op, u16, u16, widen, widen, narrow, expr)	\
COLL_REDUCE_WIDE_AS(f##_wi_##op, f32, u16, /* as is */, widen, narrow, expr)	\
COLL_REDUCE_WIDE_AS(f##_wo_##op, u16, f32, widen, widen, coll_f32_canonical, expr) \
COLL_REDUCE_WIDE_AS(f##_ww_##op, f32, f32, /* as is */, widen, coll_f32_canonical, expr)

#define COLL_FLOAT_WIDE(f, widen, narrow)				\
COLL_REDUCE_WIDE(f, sum, widen, narrow, x + y)				\
COLL_REDUCE_WIDE(f, avg, widen, narrow, (x + y) / (f32)divisor)

COLL_FLOAT_WIDE(bf16, coll_bf16_widen, coll_bf16_narrow)
COLL_FLOAT_MANY(bf16)

#if defined(__F16C__)
#include "core/reduce/reduce_f16c.h"
#else
COLL_FLOAT_ARITHMETIC(f16, u16, f32, coll_f16_widen, coll_f16_narrow)
COLL_FLOAT_WIDE(f16, coll_f16_widen, coll_f16_narrow)
#endif
COLL_FLOAT_MANY(f16)

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

/* The reductions that have functions for more than two operands */
#define COLL_REDUCE_MANY_INTEGER(n, w) {				\
	[COLLECTIVE_SUM]	= coll_##w##_sum_many,			\
	[COLLECTIVE_MIN]	= coll_##n##_min_many,			\
	[COLLECTIVE_MAX]	= coll_##n##_max_many,			\
}

#define COLL_REDUCE_MANY_FLOAT(f) {					\
	[COLLECTIVE_SUM]	= coll_##f##_sum_many,			\
	[COLLECTIVE_PROD]	= coll_##f##_prod_many,			\
	[COLLECTIVE_AVG]	= coll_##f##_avg_many,			\
	[COLLECTIVE_MIN]	= coll_##f##_min_many,			\
	[COLLECTIVE_MAX]	= coll_##f##_max_many,			\
}

#define COLL_REDUCE_MANY_TABLE {					\
	[COLLECTIVE_INT8]	= COLL_REDUCE_MANY_INTEGER(s8, u8),	\
	[COLLECTIVE_UINT8]	= COLL_REDUCE_MANY_INTEGER(u8, u8),	\
	[COLLECTIVE_INT16]	= COLL_REDUCE_MANY_INTEGER(s16, u16),	\
	[COLLECTIVE_UINT16]	= COLL_REDUCE_MANY_INTEGER(u16, u16),	\
	[COLLECTIVE_INT32]	= COLL_REDUCE_MANY_INTEGER(s32, u32),	\
	[COLLECTIVE_UINT32]	= COLL_REDUCE_MANY_INTEGER(u32, u32),	\
	[COLLECTIVE_INT64]	= COLL_REDUCE_MANY_INTEGER(s64, u64),	\
	[COLLECTIVE_UINT64]	= COLL_REDUCE_MANY_INTEGER(u64, u64),	\
	[COLLECTIVE_FLOAT16]	= COLL_REDUCE_MANY_FLOAT(f16),		\
	[COLLECTIVE_BFLOAT16]	= COLL_REDUCE_MANY_FLOAT(bf16),		\
	[COLLECTIVE_FLOAT32]	= COLL_REDUCE_MANY_FLOAT(f32),		\
	[COLLECTIVE_FLOAT64]	= COLL_REDUCE_MANY_FLOAT(f64),		\
}

#define COLL_REDUCE_WIDE_PAIR(n, many) { coll_##n##_sum##many, coll_##n##_avg##many }

#define COLL_REDUCE_WIDE_ROW(f, many) {					\
	{ COLL_REDUCE_WIDE_PAIR(f##_wn, many), COLL_REDUCE_WIDE_PAIR(f##_wo, many) },	\
	{ COLL_REDUCE_WIDE_PAIR(f##_wi, many), COLL_REDUCE_WIDE_PAIR(f##_ww, many) },	\
}

#define COLL_REDUCE_WIDE_TABLE(many) {					\
	COLL_REDUCE_WIDE_ROW(f16, many),				\
	COLL_REDUCE_WIDE_ROW(bf16, many),				\
}

/* What all implementations in this file have */
#define COLL_REDUCE_TABLES						\
	.fn = COLL_REDUCE_FN_TABLE,					\
	.many = COLL_REDUCE_MANY_TABLE,					\
	.wide = COLL_REDUCE_WIDE_TABLE(/* two */),			\
	.wide_many = COLL_REDUCE_WIDE_TABLE(_many)

#endif /* COLL_REDUCE_IMPL_H */
