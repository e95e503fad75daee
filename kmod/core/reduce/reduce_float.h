/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Conversions of single floating-point elements, without branches, so that loops of them can be
 * vectorized.  Only reduce_impl.h includes this.
 *
 * Sum, product and average compute in floating point; so do minimum and maximum of binary32 and
 * binary64, which have an instruction.  reduce_bits.h has the reductions that depend on an
 * element's bits, which it reads as an unsigned integer of the same size.
 */
#ifndef COLL_REDUCE_FLOAT_H
#define COLL_REDUCE_FLOAT_H

#include "core/env.h"

typedef float f32;
typedef double f64;

static __always_inline u32 coll_f32_bits(f32 value)
{
	const union { f32 value; u32 bits; } pun = { .value = value };

	return pun.bits;
}

static __always_inline f32 coll_f32_from_bits(u32 bits)
{
	const union { u32 bits; f32 value; } pun = { .bits = bits };

	return pun.value;
}

static __always_inline u64 coll_f64_bits(f64 value)
{
	const union { f64 value; u64 bits; } pun = { .value = value };

	return pun.bits;
}

static __always_inline f64 coll_f64_from_bits(u64 bits)
{
	const union { u64 bits; f64 value; } pun = { .bits = bits };

	return pun.value;
}

/* Return: the value to store: the canonical NaN for every NaN. */
static __always_inline f32 coll_f32_canonical(f32 value)
{
	return value != value ? __builtin_nanf("") : value;
}

static __always_inline f64 coll_f64_canonical(f64 value)
{
	return value != value ? __builtin_nan("") : value;
}

/* bfloat16 is the upper half of a binary32. */
static __always_inline f32 coll_bf16_widen(u16 bits)
{
	return coll_f32_from_bits((u32)bits << 16);
}

/* Round to nearest even, by adding just under half of the last place, or half to an odd one. */
static __always_inline u16 coll_bf16_narrow(f32 value)
{
	const u32 bits = coll_f32_bits(value);
	const u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;

	return value != value ? COLL_BF16_NAN : rounded;
}

/*
 * binary16 has 5 bits of exponent, biased by 15, and 10 of mantissa.  binary32 has 8 bits of
 * exponent, biased by 127, and 23 of mantissa.  When the bits are moved into place, the exponent
 * of a normal number lacks 127 - 15 = 112; that of infinity or NaN lacks 224.  A denormal is
 * computed by the FPU: the float with the exponent of 2^-14 and its mantissa, minus 2^-14.
 */
static __always_inline f32 coll_f16_widen(u16 bits)
{
	const u32 least = (u32)(127 - 14) << 23;
	const u32 sign = (u32)(bits & ~COLL_F16_ABS) << 16;
	const u32 moved = (u32)(bits & COLL_F16_ABS) << 13;
	const u32 normal = moved + (112U << 23);
	const u32 special = moved + (224U << 23);
	const u32 denormal = coll_f32_bits(coll_f32_from_bits(moved + least) -
					   coll_f32_from_bits(least));
	const u32 finite = moved < 1U << 23 ? denormal : normal;

	return coll_f32_from_bits(sign | (moved < COLL_F16_INF << 13 ? finite : special));
}

/*
 * Round to nearest even.  A normal result is rounded by adding just under half of its last place,
 * or half if that is odd; the carry may give infinity.  A denormal result is rounded by the FPU:
 * the last place of 0.5 as binary32 is that of a binary16 denormal, so adding 0.5 rounds to it.
 */
static __always_inline u16 coll_f16_narrow(f32 value)
{
	const u32 half = (u32)(127 - 1) << 23;
	const u32 bits = coll_f32_bits(value);
	const u32 magnitude = bits & COLL_F32_ABS;
	const u32 sign = (bits ^ magnitude) >> 16;
	const u32 normal = (magnitude - (112U << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
	const u32 denormal = coll_f32_bits(coll_f32_from_bits(magnitude) +
					   coll_f32_from_bits(half)) - half;
	const u32 finite = magnitude < (u32)(127 - 14) << 23 ? denormal : normal;
	const u32 number = magnitude < (u32)(127 + 16) << 23 ? finite : COLL_F16_INF;

	return magnitude > COLL_F32_INF ? COLL_F16_NAN : sign | number;
}

#endif /* COLL_REDUCE_FLOAT_H */
