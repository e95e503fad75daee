/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The user-space replacement for kmod/core/env.h, for the files of kmod/core/ that the library
 * compiles (core.mk): it has the same include guard, and the compiler includes it first.
 */
#ifndef COLL_ENV_H
#define COLL_ENV_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Functions of the library have these names. */
#define coll_reduce		coll_core_reduce
#define coll_type_size		coll_core_type_size

/* linux/types.h */

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

/* linux/compiler.h, linux/compiler_attributes.h */

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

#define __packed		__attribute__((__packed__))
#define __aligned(n)		__attribute__((__aligned__(n)))
#define __maybe_unused		__attribute__((__unused__))
#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))

#undef static_assert
#define __static_assert(e, msg, ...)	_Static_assert(e, msg)
#define static_assert(e, ...)	__static_assert(e, ##__VA_ARGS__, #e)

/* core/env.h */

static inline u64 coll_set_bits(u64 *word, u64 bits)
{
	return __atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
}

static inline u64 coll_clear_bits(u64 *word, u64 bits)
{
	return __atomic_fetch_and(word, ~bits, __ATOMIC_SEQ_CST);
}

static inline bool coll_replace(u64 *word, u64 old, u64 new)
{
	return __atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* asm/barrier.h */

/* The callers say what it pairs with. */
#define smp_mb()			__atomic_thread_fence(__ATOMIC_SEQ_CST)
/* Likewise. */
#define smp_wmb()			__atomic_thread_fence(__ATOMIC_RELEASE)
/* Likewise. */
#define smp_rmb()			__atomic_thread_fence(__ATOMIC_ACQUIRE)
/* Likewise. */
#define smp_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
/* Likewise. */
#define smp_store_release(p, v)		__atomic_store_n(p, v, __ATOMIC_RELEASE)

/* linux/array_size.h, linux/limits.h */

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define U64_MAX			UINT64_MAX

/* linux/minmax.h */

#define min(a, b) ({						\
	__typeof__(a) __min_a = (a);				\
	__typeof__(b) __min_b = (b);				\
	__min_a < __min_b ? __min_a : __min_b;			\
})
#define max(a, b) ({						\
	__typeof__(a) __max_a = (a);				\
	__typeof__(b) __max_b = (b);				\
	__max_a > __max_b ? __max_a : __max_b;			\
})
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define clamp_t(t, v, lo, hi)	max_t(t, lo, min_t(t, v, hi))

/* linux/bits.h, linux/math.h, linux/math64.h */

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define round_up(x, y)		((((x) - 1) | ((__typeof__(x))((y) - 1))) + 1)
#define round_down(x, y)	((x) & ~((__typeof__(x))((y) - 1)))

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

#endif /* COLL_ENV_H */
