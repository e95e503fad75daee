/* SPDX-License-Identifier: GPL-2.0-only */
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
 * Define the function coll_@name.  The first operand is binary16; the second is stored as @in and
 * the result as @out.  coll_@rest reduces the last elements.
 */
#define COLL_REDUCE_F16X8(name, rest, in, load, out, store, expr)	\
static void coll_##name(void *dst, const void *a, const void *b,	\
			size_t count, u32 divisor)			\
{									\
	const raw_u16 *first = a;					\
	const raw_##in *second = b;					\
	raw_##out *result = dst;					\
	size_t i;							\
									\
	for (i = 0; i + 8 <= count; i += 8) {				\
		const coll_f32x8 x = coll_f16x8_load(first + i);	\
		const coll_f32x8 y = load(second + i);			\
									\
		store(result + i, expr);				\
	}								\
	coll_##rest(result + i, first + i, second + i, count - i, divisor);	\
}

#define COLL_REDUCE_F16(op, expr)					\
COLL_REDUCE_F16X8(f16_##op, f16_rest_##op,				\
		  u16, coll_f16x8_load, u16, coll_f16x8_store, expr)

#define COLL_REDUCE_F16_WIDE(op, expr)					\
COLL_REDUCE_F16X8(f16_wi_##op, f16_rest_wi_##op,			\
		  f32, coll_f32x8_load, u16, coll_f16x8_store, expr)	\
COLL_REDUCE_F16X8(f16_wo_##op, f16_rest_wo_##op,			\
		  u16, coll_f16x8_load, f32, coll_f32x8_store, expr)	\
COLL_REDUCE_F16X8(f16_ww_##op, f16_rest_ww_##op,			\
		  f32, coll_f32x8_load, f32, coll_f32x8_store, expr)

COLL_FLOAT_ARITHMETIC(f16_rest, u16, f32, coll_f16_widen, coll_f16_narrow)
COLL_FLOAT_WIDE(f16_rest, coll_f16_widen, coll_f16_narrow)

COLL_REDUCE_F16(sum, x + y)
COLL_REDUCE_F16(prod, x * y)
COLL_REDUCE_F16(avg, coll_f16x8_rounded(x + y) / (f32)divisor)
COLL_REDUCE_F16X8(f16_wn_avg, f16_rest_wn_avg,
		  u16, coll_f16x8_load, u16, coll_f16x8_store, (x + y) / (f32)divisor)
COLL_REDUCE_F16_WIDE(sum, x + y)
COLL_REDUCE_F16_WIDE(avg, (x + y) / (f32)divisor)

#endif /* COLL_REDUCE_F16C_H */
