/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Reductions that use no floating-point instructions: those of integers, and those of floats
 * that depend on the operands' bits only.
 *
 * Only reduce_impl.h includes this.
 */
#ifndef COLL_REDUCE_BITS_H
#define COLL_REDUCE_BITS_H

#include "core/reduce/reduce.h"

/* For each float: the mask of all bits but the sign, infinity, the canonical NaN, and 1.0 */
#define COLL_F16_ABS	0x7fffU
#define COLL_F16_INF	0x7c00U
#define COLL_F16_NAN	0x7e00U
#define COLL_F16_ONE	0x3c00U

#define COLL_BF16_ABS	0x7fffU
#define COLL_BF16_INF	0x7f80U
#define COLL_BF16_NAN	0x7fc0U
#define COLL_BF16_ONE	0x3f80U

#define COLL_F32_ABS	0x7fffffffU
#define COLL_F32_INF	0x7f800000U
#define COLL_F32_NAN	0x7fc00000U
#define COLL_F32_ONE	0x3f800000U

#define COLL_F64_ABS	0x7fffffffffffffffULL
#define COLL_F64_INF	0x7ff0000000000000ULL
#define COLL_F64_NAN	0x7ff8000000000000ULL
#define COLL_F64_ONE	0x3ff0000000000000ULL

/*
 * Operands need not be aligned, because they may lie in socket buffers.  They may alias any
 * type, because the type that the program gave the memory is unknown.
 */
#define COLL_RAW(type)	\
	typedef type raw_##type __aligned(1) __attribute__((__may_alias__))

COLL_RAW(u8);
COLL_RAW(s8);
COLL_RAW(u16);
COLL_RAW(s16);
COLL_RAW(u32);
COLL_RAW(s32);
COLL_RAW(u64);
COLL_RAW(s64);

/*
 * Tells the compiler that no iteration depends on another one: dst is exactly one of the operands,
 * or disjoint from all.
 */
#if defined(__clang__)
#define COLL_INDEPENDENT	_Pragma("clang loop vectorize(assume_safety)")
#else
#define COLL_INDEPENDENT	_Pragma("GCC ivdep")
#endif

/* Define coll_@name, which reduces two operands, by coll_@name_of. */
#define COLL_REDUCE_TWO(name)						\
static void coll_##name(void *dst, const void *a, const void *b,	\
			size_t count, u32 divisor)			\
{									\
	const void *const src[] = { a, b };				\
									\
	coll_##name##_of(dst, src, 2, count, divisor);			\
}

/* Define coll_@name_many, which reduces three or four operands. */
#ifndef COLL_REDUCE_MANY
#define COLL_REDUCE_MANY(name)						\
static void coll_##name##_many(void *dst, const void *const *src, u32 sources,	\
			       size_t count, u32 divisor)		\
{									\
	if (sources == 3)						\
		coll_##name##_of(dst, src, 3, count, divisor);		\
	else								\
		coll_##name##_of(dst, src, 4, count, divisor);		\
}
#endif

/*
 * Define coll_@name and coll_@name_of.  The first operand is stored as @one and the others as @in;
 * @load_one and @load_in convert them to x and y of @type.  @expr reduces x and y, and @store
 * converts its value to @out, as which the result is stored.  @before reduces them if another
 * operand follows.  The number of @sources is a constant wherever coll_@name_of is called, so the
 * compiler removes the loads of operands that do not exist.  It also sees that more than two
 * operands need no code for the last elements.
 */
#define COLL_REDUCE_LOOP(name, one, in, out, type, load_one, load_in, store, before, expr)	\
static __always_inline void coll_##name##_of(void *dst, const void *const *src, \
					     const u32 sources, size_t count,	\
					     u32 divisor __maybe_unused)	\
{									\
	const raw_##one *first = src[0];				\
	const raw_##in *second = src[1];				\
	const raw_##in *third = src[sources > 2 ? 2 : 1];		\
	const raw_##in *fourth = src[sources - 1];			\
	const size_t end = sources > 2 ? count / COLL_REDUCE_STEP * COLL_REDUCE_STEP : count;	\
	raw_##out *result = dst;					\
	size_t i;							\
									\
	COLL_INDEPENDENT						\
	for (i = 0; i < end; i++) {					\
		type x = load_one(first[i]);				\
		type y = load_in(second[i]);				\
									\
		if (sources > 2) {					\
			x = before;					\
			y = load_in(third[i]);				\
		}							\
		if (sources > 3) {					\
			x = before;					\
			y = load_in(fourth[i]);				\
		}							\
		result[i] = store(expr);				\
	}								\
}									\
									\
COLL_REDUCE_TWO(name)

/*
 * All operands and the result are stored as @raw.  What is computed before the last operand is
 * rounded as if it were stored.
 */
#define COLL_REDUCE_STEPS(name, raw, type, load, store, before, expr)	\
	COLL_REDUCE_LOOP(name, raw, raw, raw, type, load, load, store,	\
			 load(store(before)), expr)

/* Every operand is reduced in the same way. */
#define COLL_REDUCE_AS(name, raw, type, load, store, expr)		\
	COLL_REDUCE_STEPS(name, raw, type, load, store, expr, expr)

#define COLL_REDUCE(name, type, expr)	\
	COLL_REDUCE_AS(name, type, type, /* as is */, /* as is */, expr)

/* The logical reductions of integers and floats: a value is true if it has a bit of @mask. */
#define COLL_REDUCE_LOGICAL(name, type, mask, one)			\
COLL_REDUCE(name##_land, type, (x & (mask)) && (y & (mask)) ? (one) : 0)	\
COLL_REDUCE(name##_lor,  type, ((x | y) & (mask)) ? (one) : 0)		\
COLL_REDUCE(name##_lxor, type, !(x & (mask)) != !(y & (mask)) ? (one) : 0)

/*
 * Integers.  Reductions to which the sign makes no difference have an unsigned function only,
 * which wraps.  Products of narrow integers are computed as @wide, because a promotion to int
 * could overflow.
 */
#define COLL_REDUCE_INTEGER(s, u, wide)					\
COLL_REDUCE(u##_sum,  u, x + y)						\
COLL_REDUCE(u##_prod, u, (wide)x * y)					\
COLL_REDUCE(u##_band, u, x & y)						\
COLL_REDUCE(u##_bor,  u, x | y)						\
COLL_REDUCE(u##_bxor, u, x ^ y)						\
COLL_REDUCE_LOGICAL(u, u, (u)~(u)0, 1)					\
COLL_REDUCE(u##_min,  u, x < y ? x : y)					\
COLL_REDUCE(u##_max,  u, x > y ? x : y)					\
COLL_REDUCE(s##_min,  s, x < y ? x : y)					\
COLL_REDUCE(s##_max,  s, x > y ? x : y)					\
COLL_REDUCE_MANY(u##_sum)						\
COLL_REDUCE_MANY(u##_min)						\
COLL_REDUCE_MANY(u##_max)						\
COLL_REDUCE_MANY(s##_min)						\
COLL_REDUCE_MANY(s##_max)

#define COLL_REDUCE_INTEGERS						\
COLL_REDUCE_INTEGER(s8, u8, u32)					\
COLL_REDUCE_INTEGER(s16, u16, u32)					\
COLL_REDUCE_INTEGER(s32, u32, u32)					\
COLL_REDUCE_INTEGER(s64, u64, u64)

#define COLL_REDUCE_LOGICAL_FLOATS					\
COLL_REDUCE_LOGICAL(f16, u16, COLL_F16_ABS, COLL_F16_ONE)		\
COLL_REDUCE_LOGICAL(bf16, u16, COLL_BF16_ABS, COLL_BF16_ONE)		\
COLL_REDUCE_LOGICAL(f32, u32, COLL_F32_ABS, COLL_F32_ONE)		\
COLL_REDUCE_LOGICAL(f64, u64, COLL_F64_ABS, COLL_F64_ONE)

/*
 * Minimum and maximum of floats by their bits.  With all bits but the sign of negative floats
 * inverted, all floats but NaNs are in order as signed integers, and -0 is below +0.
 */
#define COLL_FLOAT_BITS_ORDER(f, F, u, s)				\
static __always_inline s coll_##f##_key(u bits)				\
{									\
	return (s)((s)bits < 0 ? bits ^ COLL_##F##_ABS : bits);		\
}									\
									\
static __always_inline u coll_##f##_ordered(u x, u y, u result)		\
{									\
	const bool x_is_nan = (x & COLL_##F##_ABS) > COLL_##F##_INF;	\
	const bool y_is_nan = (y & COLL_##F##_ABS) > COLL_##F##_INF;	\
									\
	return (x_is_nan | y_is_nan) ? COLL_##F##_NAN : result;		\
}									\
									\
COLL_REDUCE(f##_min, u, coll_##f##_ordered(x, y,			\
	    coll_##f##_key(x) < coll_##f##_key(y) ? x : y))		\
COLL_REDUCE(f##_max, u, coll_##f##_ordered(x, y,			\
	    coll_##f##_key(x) > coll_##f##_key(y) ? x : y))		\
COLL_REDUCE_MANY(f##_min)						\
COLL_REDUCE_MANY(f##_max)

/*
 * A row of the table: @n is the prefix of functions that depend on the order of values, @w of
 * those that depend on bits only.
 */
#define COLL_REDUCE_ROW_BITS(n, w)					\
	[COLLECTIVE_MIN]	= coll_##n##_min,			\
	[COLLECTIVE_MAX]	= coll_##n##_max,			\
	[COLLECTIVE_LAND]	= coll_##w##_land,			\
	[COLLECTIVE_LOR]	= coll_##w##_lor,			\
	[COLLECTIVE_LXOR]	= coll_##w##_lxor

/* The part of a row that only integers have */
#define COLL_REDUCE_ROW_BITWISE(w)					\
	[COLLECTIVE_BAND]	= coll_##w##_band,			\
	[COLLECTIVE_BOR]	= coll_##w##_bor,			\
	[COLLECTIVE_BXOR]	= coll_##w##_bxor

#endif /* COLL_REDUCE_BITS_H */
