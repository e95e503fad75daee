// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <string.h>

#include "pattern.h"

/* The value of an element, before it is converted to its type. */
union value {
	int64_t i;	/* signed and unsigned integers, modulo 2^64 */
	double f;	/* floating point, exact */
};

/* The values of one rank. */
struct source {
	const struct pattern *pattern;
	int rank;
	uint64_t seed;
	long each;	/* bound of a rank's share of a sum; 0: not all ranks have a share */
};

static bool is_float(enum coll_type type)
{
	return type >= COLL_FLOAT16;
}

/* For integer types only. */
static bool is_unsigned(enum coll_type type)
{
	return type & 1;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* The largest integer up to which all integers are exact. */
static long exact_max(enum coll_type type)
{
	switch (type) {
	case COLL_BFLOAT16:
		return 1 << 8;
	case COLL_FLOAT16:
		return 1 << 11;
	default:
		return 1 << 20;	/* enough */
	}
}

/*
 * With more ranks than the type can count, most ranks have the neutral value.  The ranks
 * with another value differ from element to element.
 */
static bool takes_part(const struct pattern *pattern, int rank, size_t i,
		       long most)
{
	long one_in = (pattern->nranks + most - 1) / most;

	return (i + rank) % one_in == 0;
}

static struct source source(const struct pattern *pattern, int rank)
{
	return (struct source){
		.pattern = pattern,
		.rank = rank,
		.seed = mix(mix(pattern->round + 1) + rank),
		.each = exact_max(pattern->type) / pattern->nranks,
	};
}

static double float_value(const struct source *source, size_t i, uint64_t h)
{
	const struct pattern *pattern = source->pattern;
	long each = source->each;

	switch (pattern->op) {
	case COLL_SUM:
	case COLL_AVG:
		if (!each && !takes_part(pattern, source->rank, i, exact_max(pattern->type) / 2))
			return 0;
		each = each ? each : 1;
		return (double)(long)((h >> 32) * (2 * each + 1) >> 32) - each;
	case COLL_PROD:
		if (takes_part(pattern, source->rank, i, 6) && h & 2)
			return h & 1 ? 2 : -2;
		return h & 1 ? 1 : -1;
	case COLL_LAND:
	case COLL_LOR:
	case COLL_LXOR:
		return h & 3 ? (double)(h >> 2 & 63) : 0;
	default:
		return (double)(long)(h % 511) - 255;
	}
}

static int64_t int_value(const struct pattern *pattern, uint64_t h)
{
	switch (pattern->op) {
	case COLL_PROD:
		return h | 1;	/* many even factors would be 0 */
	case COLL_LAND:
	case COLL_LOR:
	case COLL_LXOR:
		return h & 3 ? h >> 2 & 63 : 0;
	default:
		return h;
	}
}

/* The integer, truncated to the type and extended again. */
static int64_t narrow(enum coll_type type, int64_t i)
{
	switch (type) {
	case COLL_INT8:
		return (int8_t)i;
	case COLL_UINT8:
		return (uint8_t)i;
	case COLL_INT16:
		return (int16_t)i;
	case COLL_UINT16:
		return (uint16_t)i;
	case COLL_INT32:
		return (int32_t)i;
	case COLL_UINT32:
		return (uint32_t)i;
	default:
		return i;
	}
}

static union value value(const struct source *source, size_t i)
{
	enum coll_type type = source->pattern->type;
	uint64_t h = mix(source->seed + i);
	union value v;

	if (is_float(type))
		v.f = float_value(source, i, h);
	else
		v.i = narrow(type, int_value(source->pattern, h));
	return v;
}

static double reduce_float(enum coll_op op, double a, double b)
{
	switch (op) {
	case COLL_PROD:
		return a * b;
	case COLL_MIN:
		return a < b ? a : b;
	case COLL_MAX:
		return a > b ? a : b;
	case COLL_LAND:
		return a && b;
	case COLL_LOR:
		return a || b;
	case COLL_LXOR:
		return !a != !b;
	default:
		return a + b;
	}
}

static int64_t reduce_int(enum coll_op op, enum coll_type type, int64_t a,
			  int64_t b)
{
	bool less = is_unsigned(type) ? (uint64_t)a < (uint64_t)b : a < b;

	switch (op) {
	case COLL_PROD:
		return (uint64_t)a * (uint64_t)b;
	case COLL_MIN:
		return less ? a : b;
	case COLL_MAX:
		return less ? b : a;
	case COLL_BAND:
		return a & b;
	case COLL_BOR:
		return a | b;
	case COLL_BXOR:
		return a ^ b;
	case COLL_LAND:
		return a && b;
	case COLL_LOR:
		return a || b;
	case COLL_LXOR:
		return !a != !b;
	default:
		return (uint64_t)a + (uint64_t)b;
	}
}

static union value reduce(const struct pattern *pattern, union value a, union value b)
{
	if (is_float(pattern->type))
		a.f = reduce_float(pattern->op, a.f, b.f);
	else
		a.i = narrow(pattern->type, reduce_int(pattern->op, pattern->type, a.i, b.i));
	return a;
}

/* The reduction of all ranks, finished: an average is divided. */
static union value whole(const struct pattern *pattern, union value v)
{
	if (pattern->op != COLL_AVG)
		return v;
	if (pattern->type == COLL_FLOAT64)
		v.f /= pattern->nranks;
	else if (is_float(pattern->type))
		v.f = (float)v.f / (float)pattern->nranks;
	else if (is_unsigned(pattern->type))
		v.i = (uint64_t)v.i / pattern->nranks;
	else
		v.i /= pattern->nranks;
	return v;
}

/* The 16 bits of binary16, rounded to even; for normal numbers and 0 only. */
static uint16_t to_half(float f)
{
	uint32_t bits, sign;

	memcpy(&bits, &f, sizeof(bits));
	sign = bits >> 16 & 0x8000;
	bits &= 0x7fffffff;
	if (!bits)
		return sign;
	bits += 0xfff + (bits >> 13 & 1);
	return sign | ((bits >> 13) - (112 << 10));
}

static uint16_t to_bfloat(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static void store(enum coll_type type, union value v, void *to, size_t i)
{
	switch (coll_type_size(type)) {
	case 1:
		((uint8_t *)to)[i] = v.i;
		break;
	case 2:
		((uint16_t *)to)[i] =
			type == COLL_FLOAT16 ? to_half(v.f) :
			type == COLL_BFLOAT16 ? to_bfloat(v.f) : (uint16_t)v.i;
		break;
	case 4:
		if (is_float(type))
			((float *)to)[i] = v.f;
		else
			((uint32_t *)to)[i] = v.i;
		break;
	default:
		if (is_float(type))
			((double *)to)[i] = v.f;
		else
			((uint64_t *)to)[i] = v.i;
	}
}

/*
 * One period, or @count elements of it, of the reduction of the ranks @first to @last; of one
 * rank its input.
 */
static size_t period(const struct pattern *pattern, int first, int last,
		     void *to, size_t count)
{
	size_t n = count < PATTERN_PERIOD ? count : PATTERN_PERIOD, i;
	union value values[PATTERN_PERIOD];
	int rank;

	for (rank = first; rank <= last; rank++) {
		const struct source from = source(pattern, rank);

		for (i = 0; i < n; i++)
			values[i] = rank == first ? value(&from, i) :
				    reduce(pattern, values[i], value(&from, i));
	}
	for (i = 0; i < n; i++)
		store(pattern->type, first == last ? values[i] : whole(pattern, values[i]), to, i);
	return n;
}

void pattern_fill(const struct pattern *pattern, int rank, void *to,
		  size_t count)
{
	size_t element = coll_type_size(pattern->type);
	uint64_t one[PATTERN_PERIOD];
	size_t n = period(pattern, rank, rank, one, count), now;
	char *at = to;

	for (; count; count -= now) {
		now = count < n ? count : n;
		memcpy(at, one, now * element);
		at += now * element;
	}
}

static uint64_t compare(const struct pattern *pattern, int first, int last,
			const void *from, size_t count)
{
	size_t element = coll_type_size(pattern->type);
	uint64_t one[PATTERN_PERIOD], wrong = 0;
	size_t n = period(pattern, first, last, one, count), now, i;
	const char *at = from;

	for (; count; count -= now) {
		now = count < n ? count : n;
		if (memcmp(at, one, now * element))
			for (i = 0; i < now; i++)
				wrong += !!memcmp(at + i * element,
						  (char *)one + i * element,
						  element);
		at += now * element;
	}
	return wrong;
}

uint64_t pattern_check_input(const struct pattern *pattern, int rank,
			     const void *from, size_t count)
{
	return compare(pattern, rank, rank, from, count);
}

uint64_t pattern_check_result(const struct pattern *pattern, const void *from,
			      size_t count)
{
	return compare(pattern, 0, pattern->nranks - 1, from, count);
}

uint64_t pattern_check_scan(const struct pattern *pattern, int rank,
			    const void *from, size_t count)
{
	return compare(pattern, 0, rank, from, count);
}
