/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Arithmetic of binary16 with the F16C instructions, eight elements at a time.  Compilers do not
 * generate these instructions from the loops of reduce_impl.h; those loops reduce the rest of
 * fewer than eight elements.  Only reduce_impl.h includes this.
 */
#ifndef COLL_REDUCE_F16C_H
#define COLL_REDUCE_F16C_H

typedef s16 coll_f16x8 __attribute__((__vector_size__(16)));
typedef f32 coll_f32x8 __attribute__((__vector_size__(32)));
typedef s32 coll_s32x8 __attribute__((__vector_size__(32)));
typedef coll_f16x8 raw_f16x8 __aligned(1) __attribute__((__may_alias__));
typedef coll_f32x8 raw_f32x8 __aligned(1) __attribute__((__may_alias__));

static __always_inline coll_f32x8 coll_f16x8_load(const void *from)
{
	return __builtin_ia32_vcvtph2ps256(*(const raw_f16x8 *)from);
}

static __always_inline coll_f32x8 coll_f32x8_canonical(coll_f32x8 value)
{
	const coll_s32x8 nan = value != value;

	return (coll_f32x8)(((coll_s32x8)value & ~nan) | (nan & (s32)COLL_F32_NAN));
}

static __always_inline void coll_f16x8_store(void *to, coll_f32x8 value)
{
	*(raw_f16x8 *)to = __builtin_ia32_vcvtps2ph256(coll_f32x8_canonical(value),
						       0 /* to nearest even */);
}

/* Return: the value rounded to binary16; a NaN need not be the canonical one. */
static __always_inline coll_f32x8 coll_f16x8_rounded(coll_f32x8 value)
{
	return __builtin_ia32_vcvtph2ps256(__builtin_ia32_vcvtps2ph256(value, 0));
}

static __always_inline coll_f32x8 coll_f32x8_load(const void *from)
{
	return *(const raw_f32x8 *)from;
}

static __always_inline void coll_f32x8_store(void *to, coll_f32x8 value)
{
	*(raw_f32x8 *)to = coll_f32x8_canonical(value);
}

/*
 * Define coll_@name and coll_@name_of.  The first operand is stored as @one, the others are
 * binary16, and the result is stored as @out.  coll_@rest reduces the last elements of
 * two operands.
 */
#define COLL_REDUCE_F16X8(name, rest, one, load_one, out, store, before, expr)	\
static __always_inline void coll_##name##_of(void *dst, const void *const *src, \
					     const u32 sources, size_t count,	\
					     u32 divisor)		\
{									\
	const raw_##one *first = src[0];				\
	const raw_u16 *second = src[1];					\
	const raw_u16 *third = src[sources > 2 ? 2 : 1];		\
	const raw_u16 *fourth = src[sources - 1];			\
	raw_##out *result = dst;					\
	size_t i;							\
									\
	for (i = 0; i + 8 <= count; i += 8) {				\
		coll_f32x8 x = load_one(first + i);			\
		coll_f32x8 y = coll_f16x8_load(second + i);		\
									\
		if (sources > 2) {					\
			x = before;					\
			y = coll_f16x8_load(third + i);			\
		}							\
		if (sources > 3) {					\
			x = before;					\
			y = coll_f16x8_load(fourth + i);		\
		}							\
		store(result + i, expr);				\
	}								\
	if (sources == 2)						\
		coll_##rest(result + i, first + i, second + i, count - i, divisor);	\
}									\
									\
COLL_REDUCE_TWO(name)

#define COLL_REDUCE_F16(op, before, expr)				\
COLL_REDUCE_F16X8(f16_##op, f16_rest_##op,				\
		  u16, coll_f16x8_load, u16, coll_f16x8_store,		\
		  coll_f16x8_rounded(before), expr)

#define COLL_REDUCE_F16_WIDE(op, expr)					\
COLL_REDUCE_F16X8(f16_wn_##op, f16_rest_wn_##op,			\
		  u16, coll_f16x8_load, u16, coll_f16x8_store, x + y, expr)	\
COLL_REDUCE_F16X8(f16_wi_##op, f16_rest_wi_##op,			\
		  f32, coll_f32x8_load, u16, coll_f16x8_store, x + y, expr)	\
COLL_REDUCE_F16X8(f16_wo_##op, f16_rest_wo_##op,			\
		  u16, coll_f16x8_load, f32, coll_f32x8_store, x + y, expr)	\
COLL_REDUCE_F16X8(f16_ww_##op, f16_rest_ww_##op,			\
		  f32, coll_f32x8_load, f32, coll_f32x8_store, x + y, expr)

COLL_FLOAT_ARITHMETIC(f16_rest, u16, f32, coll_f16_widen, coll_f16_narrow)
COLL_FLOAT_WIDE(f16_rest, coll_f16_widen, coll_f16_narrow)

COLL_REDUCE_F16(sum, x + y, x + y)
COLL_REDUCE_F16(prod, x * y, x * y)
COLL_REDUCE_F16(avg, x + y, coll_f16x8_rounded(x + y) / (f32)divisor)
COLL_REDUCE_F16_WIDE(sum, x + y)
COLL_REDUCE_F16_WIDE(avg, (x + y) / (f32)divisor)

#endif /* COLL_REDUCE_F16C_H */
