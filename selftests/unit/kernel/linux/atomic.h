/* SPDX-License-Identifier: GPL-2.0-only */
/* Atomic numbers, for one thread. */
#ifndef COLL_KERNEL_ATOMIC_H
#define COLL_KERNEL_ATOMIC_H

#include "env.h"

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

typedef struct {
	s64 counter;
} atomic64_t;

#define ATOMIC_INIT(i)		{ (i) }

#define atomic_read(v)		((v)->counter)
#define atomic_set(v, n)	((v)->counter = (n))
#define atomic_add(n, v)	((v)->counter += (n))
#define atomic_sub(n, v)	((v)->counter -= (n))
#define atomic_inc(v)		((v)->counter++)
#define atomic_dec(v)		((v)->counter--)
#define atomic_dec_and_test(v)	(!--(v)->counter)
#define atomic_sub_and_test(n, v)	(!((v)->counter -= (n)))
#define atomic_add_unless(v, n, not)	((v)->counter != (not) && ((v)->counter += (n), true))
#define atomic_inc_not_zero(v)	((v)->counter && ++(v)->counter)

#define atomic_try_cmpxchg(v, old, new) ({				\
	bool __same = (v)->counter == *(old);				\
									\
	if (__same)							\
		(v)->counter = (new);					\
	else								\
		*(old) = (v)->counter;					\
	__same;								\
})

#define atomic64_read			atomic_read
#define atomic64_set			atomic_set
#define atomic64_add			atomic_add
#define atomic64_sub			atomic_sub
#define atomic64_inc			atomic_inc
#define atomic64_dec			atomic_dec
#define atomic64_try_cmpxchg		atomic_try_cmpxchg
#define atomic_long_read		atomic_read
#define atomic_long_set			atomic_set
#define atomic_long_add			atomic_add
#define atomic_long_sub			atomic_sub
#define atomic_long_try_cmpxchg		atomic_try_cmpxchg

#define cmpxchg(p, old, new) ({						\
	__typeof__(*(p)) __was = *(p);					\
									\
	if (__was == (old))						\
		*(p) = (new);						\
	__was;								\
})

#define xchg(p, new) ({							\
	__typeof__(*(p)) __was = *(p);					\
									\
	*(p) = (new);							\
	__was;								\
})

/* One thread needs no barriers; the callers say what they pair with. */
#define smp_mb__before_atomic()	barrier()
/* Likewise. */
#define smp_mb__after_atomic()	barrier()

#endif /* COLL_KERNEL_ATOMIC_H */
