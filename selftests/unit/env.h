/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user-space replacement for kmod/core/env.h: it has the same include guard, and the
 * compiler includes it first (-include env.h).  It defines the kernel's names that core/ uses,
 * with the kernel's meanings.
 */
#ifndef COLL_ENV_H
#define COLL_ENV_H

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define barrier()		__asm__ volatile("" ::: "memory")
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))

#define __packed		__attribute__((__packed__))
#define __aligned(n)		__attribute__((__aligned__(n)))
#define __maybe_unused		__attribute__((__unused__))
#define __must_check		__attribute__((__warn_unused_result__))
#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define fallthrough		__attribute__((__fallthrough__))

#undef static_assert
#define __static_assert(e, msg, ...)	_Static_assert(e, msg)
#define static_assert(e, ...)	__static_assert(e, ##__VA_ARGS__, #e)
#define BUILD_BUG_ON(e)		_Static_assert(!(e), "BUILD_BUG_ON: " #e)

/* core/env.h */

#define coll_assert(condition)	assert(condition)

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

/* linux/atomic.h, asm/barrier.h */

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

/* linux/array_size.h, linux/container_of.h, linux/stddef.h */

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define sizeof_field(t, m)	sizeof(((t *)0)->m)
#define offsetofend(t, m)	(offsetof(t, m) + sizeof_field(t, m))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))

/* linux/limits.h */

#define U8_MAX			UINT8_MAX
#define U16_MAX			UINT16_MAX
#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define S8_MAX			INT8_MAX
#define S16_MAX			INT16_MAX
#define S32_MAX			INT32_MAX
#define S64_MAX			INT64_MAX
#define S8_MIN			INT8_MIN
#define S16_MIN			INT16_MIN
#define S32_MIN			INT32_MIN
#define S64_MIN			INT64_MIN

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
#define min3(a, b, c)		({ __typeof__(a) __min3 = min(a, b); min(__min3, c); })
#define max3(a, b, c)		({ __typeof__(a) __max3 = max(a, b); max(__max3, c); })
#define clamp(v, lo, hi)	({ __typeof__(v) __lo = max(v, lo); min(__lo, hi); })
#define clamp_t(t, v, lo, hi)	clamp((t)(v), (t)(lo), (t)(hi))
#define swap(a, b) do {						\
	__typeof__(a) __swap = (a);				\
	(a) = (b);						\
	(b) = __swap;						\
} while (0)

/* linux/bits.h, linux/math.h, linux/math64.h, linux/log2.h, linux/overflow.h */

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define round_up(x, y)		((((x) - 1) | ((__typeof__(x))((y) - 1))) + 1)
#define round_down(x, y)	((x) & ~((__typeof__(x))((y) - 1)))
#define roundup(x, y)		((((x) + (y) - 1) / (y)) * (y))
#define rounddown(x, y)		((x) - (x) % (y))

#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)
#define check_sub_overflow(a, b, d)	__builtin_sub_overflow(a, b, d)
#define check_mul_overflow(a, b, d)	__builtin_mul_overflow(a, b, d)

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div_u64_rem(u64 n, u32 d, u32 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline u64 div64_u64_rem(u64 n, u64 d, u64 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline s64 div64_s64(s64 n, s64 d)
{
	return n / d;
}

static inline s64 div_s64(s64 n, s32 d)
{
	return n / d;
}

/* linux/byteorder.h, linux/unaligned.h */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define coll_env_le(bits, x)	((u##bits)(x))
#else
#define coll_env_le(bits, x)	__builtin_bswap##bits((u##bits)(x))
#endif

#define COLL_ENV_LE(bits)						\
static inline __le##bits cpu_to_le##bits(u##bits x)			\
{									\
	return (__le##bits)coll_env_le(bits, x);			\
}									\
static inline u##bits le##bits##_to_cpu(__le##bits x)			\
{									\
	return coll_env_le(bits, x);					\
}									\
static inline u##bits get_unaligned_le##bits(const void *p)		\
{									\
	u##bits x;							\
									\
	memcpy(&x, p, sizeof(x));					\
	return coll_env_le(bits, x);					\
}									\
static inline void put_unaligned_le##bits(u##bits x, void *p)		\
{									\
	x = coll_env_le(bits, x);					\
	memcpy(p, &x, sizeof(x));					\
}

COLL_ENV_LE(16)
COLL_ENV_LE(32)
COLL_ENV_LE(64)

/* linux/list.h */

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(h)	{ &(h), &(h) }
#define LIST_HEAD(h)		struct list_head h = LIST_HEAD_INIT(h)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline void list_env_link(struct list_head *prev, struct list_head *next)
{
	prev->next = next;
	next->prev = prev;
}

static inline void list_add(struct list_head *item, struct list_head *head)
{
	list_env_link(item, head->next);
	list_env_link(head, item);
}

static inline void list_add_tail(struct list_head *item, struct list_head *head)
{
	list_env_link(head->prev, item);
	list_env_link(item, head);
}

/* The pointers of a deleted item become NULL, so that a use after deletion crashes. */
static inline void list_del(struct list_head *item)
{
	list_env_link(item->prev, item->next);
	item->next = NULL;
	item->prev = NULL;
}

static inline void list_del_init(struct list_head *item)
{
	list_env_link(item->prev, item->next);
	INIT_LIST_HEAD(item);
}

static inline void list_move(struct list_head *item, struct list_head *head)
{
	list_env_link(item->prev, item->next);
	list_add(item, head);
}

static inline void list_move_tail(struct list_head *item, struct list_head *head)
{
	list_env_link(item->prev, item->next);
	list_add_tail(item, head);
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline bool list_is_last(const struct list_head *item, const struct list_head *head)
{
	return item->next == head;
}

static inline void list_splice_tail_init(struct list_head *from, struct list_head *head)
{
	if (list_empty(from))
		return;
	list_env_link(head->prev, from->next);
	list_env_link(from->prev, head);
	INIT_LIST_HEAD(from);
}

#define list_entry(p, t, m)		container_of(p, t, m)
#define list_first_entry(h, t, m)	list_entry((h)->next, t, m)
#define list_last_entry(h, t, m)	list_entry((h)->prev, t, m)
#define list_next_entry(p, m)		list_entry((p)->m.next, __typeof__(*(p)), m)
#define list_prev_entry(p, m)		list_entry((p)->m.prev, __typeof__(*(p)), m)
#define list_entry_is_head(p, h, m)	(&(p)->m == (h))
#define list_first_entry_or_null(h, t, m) \
	(list_empty(h) ? NULL : list_first_entry(h, t, m))

#define list_for_each_entry(p, h, m)					\
	for (p = list_first_entry(h, __typeof__(*p), m);		\
	     !list_entry_is_head(p, h, m);				\
	     p = list_next_entry(p, m))

#define list_for_each_entry_safe(p, n, h, m)				\
	for (p = list_first_entry(h, __typeof__(*p), m),		\
	     n = list_next_entry(p, m);					\
	     !list_entry_is_head(p, h, m);				\
	     p = n, n = list_next_entry(n, m))

#endif /* COLL_ENV_H */
