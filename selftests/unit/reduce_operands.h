/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of the reductions share: random operands, and the implementations. */
#ifndef COLL_REDUCE_OPERANDS_H
#define COLL_REDUCE_OPERANDS_H

#include "core/reduce/reduce.h"
#include "reduce_reference.h"

static u64 random_state = 0x9e3779b97f4a7c15ULL;

static inline u64 random_bits(void)
{
	u64 z = random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Return: a special value: zero, the end of a range, a denormal, an infinity or a NaN. */
static inline u64 random_special(const struct reference_type *type)
{
	const u64 mask = reference_mask(type);
	const u64 hidden = 1ULL << type->mantissa;
	const u64 infinity = (mask >> 1) & ~(hidden - 1);
	const u64 sign = mask ^ mask >> 1;
	const u64 values[] = {
		0, 1, 2, 3, mask, mask - 1, mask >> 1, sign, sign | 1, hidden, hidden - 1,
		hidden + 1, infinity, infinity - 1, infinity + 1, infinity | hidden >> 1,
		infinity | random_bits() % hidden, random_bits() % hidden, infinity >> 1,
		infinity >> 1 & ~hidden, (infinity >> 1) + hidden, 255, 256, 32767, 65535,
	};
	const u64 value = values[random_bits() % ARRAY_SIZE(values)];

	return random_bits() % 2 ? value : value ^ sign;
}

static inline u64 random_operand(const struct reference_type *type, u64 other)
{
	const u64 bits = random_bits();

	switch (random_bits() % 4) {
	case 0:
		return random_special(type);
	case 1:	/* close to the other operand, of either sign */
		return other ^ (bits & reference_mask(type) >> (4 * type->size)) ^
		       (bits >> 63 << (8 * type->size - 1));
	default:
		return bits;
	}
}

/* F16C is not tested, because clang 14 cannot; every CPU with AVX2 has it. */
static inline bool impl_runs_here(const struct coll_reduce_impl *impl)
{
#if defined(__x86_64__)
	if (impl == &coll_reduce_avx2)
		return __builtin_cpu_supports("avx2");
	if (impl == &coll_reduce_avx512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#endif
	return impl == &coll_reduce_scalar;
}

static const struct coll_reduce_impl *const impls[] = {
	&coll_reduce_scalar,
#if defined(__x86_64__)
	&coll_reduce_avx2,
	&coll_reduce_avx512,
#endif
};

#endif /* COLL_REDUCE_OPERANDS_H */
