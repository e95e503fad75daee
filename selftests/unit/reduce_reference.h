/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A reference for the reductions, one element at a time.  It shares no code with them: integers
 * are computed in 128 bits, small floats in double, and nearbyint() rounds.
 */
#ifndef COLL_REDUCE_REFERENCE_H
#define COLL_REDUCE_REFERENCE_H

#include <linux/collective.h>
#include <math.h>

enum reference_kind { REFERENCE_SIGNED, REFERENCE_UNSIGNED, REFERENCE_FLOAT };

/* Of floats: the bits of the mantissa without the hidden one; the least normal exponent */
struct reference_type {
	const char *name;
	enum reference_kind kind;
	int size;
	int mantissa;
	int least_exponent;
};

static const struct reference_type reference_types[COLLECTIVE_TYPE_COUNT] = {
	[COLLECTIVE_INT8]	= { "int8",	REFERENCE_SIGNED,	1, 0, 0 },
	[COLLECTIVE_UINT8]	= { "uint8",	REFERENCE_UNSIGNED,	1, 0, 0 },
	[COLLECTIVE_INT16]	= { "int16",	REFERENCE_SIGNED,	2, 0, 0 },
	[COLLECTIVE_UINT16]	= { "uint16",	REFERENCE_UNSIGNED,	2, 0, 0 },
	[COLLECTIVE_INT32]	= { "int32",	REFERENCE_SIGNED,	4, 0, 0 },
	[COLLECTIVE_UINT32]	= { "uint32",	REFERENCE_UNSIGNED,	4, 0, 0 },
	[COLLECTIVE_INT64]	= { "int64",	REFERENCE_SIGNED,	8, 0, 0 },
	[COLLECTIVE_UINT64]	= { "uint64",	REFERENCE_UNSIGNED,	8, 0, 0 },
	[COLLECTIVE_FLOAT16]	= { "float16",	REFERENCE_FLOAT,	2, 10, -14 },
	[COLLECTIVE_BFLOAT16]	= { "bfloat16",	REFERENCE_FLOAT,	2, 7, -126 },
	[COLLECTIVE_FLOAT32]	= { "float32",	REFERENCE_FLOAT,	4, 23, -126 },
	[COLLECTIVE_FLOAT64]	= { "float64",	REFERENCE_FLOAT,	8, 52, -1022 },
};

static const char *const reference_reductions[COLLECTIVE_REDUCTION_COUNT] = {
	"sum", "prod", "min", "max", "avg", "band", "bor", "bxor", "land", "lor", "lxor",
};

static inline u64 reference_mask(const struct reference_type *type)
{
	return U64_MAX >> (64 - 8 * type->size);
}

/* Return: the float that has these bits; a NaN loses its payload. */
static inline double reference_decode(const struct reference_type *type, u64 bits)
{
	const u64 hidden = 1ULL << type->mantissa;
	const u64 fraction = bits & (hidden - 1);
	const int exponent = (bits & reference_mask(type) >> 1) >> type->mantissa;
	const int special = (int)(reference_mask(type) >> 1 >> type->mantissa);
	const bool negative = bits >> (8 * type->size - 1) & 1;
	double value;

	if (exponent == special)
		value = fraction ? NAN : INFINITY;
	else if (exponent)
		value = ldexp(hidden | fraction, type->least_exponent + exponent - 1 -
			      type->mantissa);
	else
		value = ldexp(fraction, type->least_exponent - type->mantissa);
	return negative ? -value : value;
}

/* Return: the bits of the nearest float; of two equally near ones the even one. */
static inline u64 reference_encode(const struct reference_type *type, double value)
{
	const u64 hidden = 1ULL << type->mantissa;
	const u64 special = (reference_mask(type) >> 1) & ~(hidden - 1);
	const u64 sign = signbit(value) ? 1ULL << (8 * type->size - 1) : 0;
	int exponent;
	u64 units;

	if (isnan(value))
		return special | hidden >> 1;
	value = fabs(value);
	if (isinf(value))
		return sign | special;
	frexp(value, &exponent);
	exponent = value == 0 || exponent - 1 < type->least_exponent ?
		   type->least_exponent : exponent - 1;
	units = nearbyint(ldexp(value, type->mantissa - exponent));
	/* Denormals have the least normal exponent; 2 * hidden carries into the exponent. */
	units += (u64)(exponent - type->least_exponent) << type->mantissa;
	return sign | (units > special ? special : units);
}

static inline u64 reference_float(const struct reference_type *type, int reduction,
				  u64 a, u64 b, u32 divisor)
{
	const bool wide = type->size == 8;
	const double x = reference_decode(type, a);
	const double y = reference_decode(type, b);
	double result;

	switch (reduction) {
	case COLLECTIVE_SUM:
		result = wide ? x + y : (float)(x + y);
		break;
	case COLLECTIVE_PROD:
		result = wide ? x * y : (float)(x * y);
		break;
	case COLLECTIVE_AVG:
		result = wide ? x + y : (float)(x + y);
		/* The sum is rounded before it is divided. */
		result = reference_decode(type, reference_encode(type, result));
		if (divisor > 1)
			result = wide ? result / divisor : (float)(result / (float)divisor);
		break;
	case COLLECTIVE_MIN:
		if (isnan(x) || isnan(y))
			result = NAN;
		else if (x == y)
			result = signbit(x) ? x : y;
		else
			result = x < y ? x : y;
		break;
	case COLLECTIVE_MAX:
		if (isnan(x) || isnan(y))
			result = NAN;
		else if (x == y)
			result = signbit(x) ? y : x;
		else
			result = x > y ? x : y;
		break;
	case COLLECTIVE_LAND:
		result = x != 0 && y != 0;
		break;
	case COLLECTIVE_LOR:
		result = x != 0 || y != 0;
		break;
	default:
		result = (x != 0) != (y != 0);
	}
	return reference_encode(type, result);
}

static inline __int128 reference_extend(const struct reference_type *type, u64 bits)
{
	const __int128 value = bits & reference_mask(type);

	if (type->kind == REFERENCE_SIGNED && value >> (8 * type->size - 1))
		return value - ((__int128)1 << (8 * type->size));
	return value;
}

static inline u64 reference_integer(const struct reference_type *type, int reduction,
				    u64 a, u64 b, u32 divisor)
{
	const __int128 x = reference_extend(type, a);
	const __int128 y = reference_extend(type, b);

	switch (reduction) {
	case COLLECTIVE_SUM:
		return x + y;
	case COLLECTIVE_PROD:
		return (unsigned __int128)x * (unsigned __int128)y;
	case COLLECTIVE_MIN:
		return x < y ? x : y;
	case COLLECTIVE_MAX:
		return x < y ? y : x;
	case COLLECTIVE_AVG:
		return reference_extend(type, x + y) / (divisor ? divisor : 1);
	case COLLECTIVE_BAND:
		return a & b;
	case COLLECTIVE_BOR:
		return a | b;
	case COLLECTIVE_BXOR:
		return a ^ b;
	case COLLECTIVE_LAND:
		return x && y;
	case COLLECTIVE_LOR:
		return x || y;
	default:
		return !x != !y;
	}
}

/* Return: the bits of a (op) b, in the lower bytes. */
static inline u64 reference_reduce(int type, int reduction, u64 a, u64 b, u32 divisor)
{
	const struct reference_type *t = &reference_types[type];

	if (t->kind == REFERENCE_FLOAT)
		return reference_float(t, reduction, a, b, divisor) & reference_mask(t);
	return reference_integer(t, reduction, a, b, divisor) & reference_mask(t);
}

#endif /* COLL_REDUCE_REFERENCE_H */
