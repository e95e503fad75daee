/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic of binary16 with the F16C instructions, which no compiler finds
 * in the loops of reduce_impl.h by itself: eight elements at a time, and those
 * loops for the rest.  Only reduce_impl.h includes this.
 */
#ifndef COLL_REDUCE_F16C_H
#define COLL_REDUCE_F16C_H

typedef s16 coll_f16x8 __attribute__((__vector_size__(16)));
typedef f32 coll_f32x8 __attribute__((__vector_size__(32)));
typedef s32 coll_s32x8 __attribute__((__vector_size__(32)));
typedef coll_f16x8 raw_f16x8 __aligned(1) __attribute__((__may_alias__));

static __always_inline coll_f32x8 coll_f16x8_load(const void *from)
{
	return __builtin_ia32_vcvtph2ps256(*(const raw_f16x8 *)from);
}

static __always_inline void coll_f16x8_store(void *to, coll_f32x8 value)
{
	const coll_s32x8 nan = value != value;
	const coll_s32x8 bits = ((coll_s32x8)value & ~nan) | (nan & (s32)COLL_F32_NAN);

	*(raw_f16x8 *)to = __builtin_ia32_vcvtps2ph256((coll_f32x8)bits, 0 /* to nearest even */);
}

#define COLL_REDUCE_F16X8(name, rest, expr)				\
static void coll_##name(void *dst, const void *a, const void *b,	\
			size_t count, u32 divisor)			\
{									\
	const raw_u16 *first = a;					\
	const raw_u16 *second = b;					\
	raw_u16 *result = dst;						\
	size_t i;							\
									\
	for (i = 0; i + 8 <= count; i += 8) {				\
		const coll_f32x8 x = coll_f16x8_load(first + i);	\
		const coll_f32x8 y = coll_f16x8_load(second + i);	\
									\
		coll_f16x8_store(result + i, expr);			\
	}								\
	coll_##rest(result + i, first + i, second + i, count - i, divisor);	\
}

COLL_FLOAT_ARITHMETIC(f16_rest, u16, f32, coll_f16_widen, coll_f16_narrow)

COLL_REDUCE_F16X8(f16_sum, f16_rest_sum, x + y)
COLL_REDUCE_F16X8(f16_prod, f16_rest_prod, x * y)
COLL_REDUCE_F16X8(f16_avg, f16_rest_avg, (x + y) / (f32)divisor)

#endif /* COLL_REDUCE_F16C_H */
