/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user-space replacement for kmod/transport/local/pipe_env.h, of the same include guard.
 *
 * One access can be weakened at run time: the test shows that this is noticed.  An access is named
 * by its function and its expression, so that pipe.c itself stays as it is.
 */
#ifndef COLL_PIPE_ENV_H
#define COLL_PIPE_ENV_H

#include "core/env.h"

#include <sched.h>

#define COLL_PIPE_LINE		__aligned(64)

/**
 * struct pipe_env_weak - an access that is weakened; set before threads start
 * @function: its function; NULL: none is weakened
 * @what: its expression
 * @split: a compare-and-exchange becomes a load and a store, instead of a relaxed one
 * @used: number of times that it was done, about
 */
static struct pipe_env_weak {
	const char *function;
	const char *what;
	bool split;
	u32 used;
} pipe_env_weak;

static bool pipe_env_weakens(const char *function, const char *what)
{
	if (likely(!pipe_env_weak.function) || strcmp(pipe_env_weak.function, function) ||
	    strcmp(pipe_env_weak.what, what))
		return false;
	__atomic_fetch_add(&pipe_env_weak.used, 1, __ATOMIC_RELAXED);
	return true;
}

/* Volatile accesses are races to ThreadSanitizer, relaxed ones are not, and neither orders. */
#undef READ_ONCE
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#undef WRITE_ONCE
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

#undef smp_mb
/* ThreadSanitizer takes no order from it: see the model in pipe_model_test.c. */
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

#undef smp_load_acquire
/* Pairs with smp_store_release(), as the callers say. */
#define smp_load_acquire(p)						\
	(pipe_env_weakens(__func__, #p) ? __atomic_load_n(p, __ATOMIC_RELAXED) : \
					  __atomic_load_n(p, __ATOMIC_ACQUIRE))

#undef smp_store_release
/* Pairs with smp_load_acquire(), likewise. */
#define smp_store_release(p, v) do {					\
	__typeof__(*(p)) __value = (v);					\
									\
	if (pipe_env_weakens(__func__, #p))				\
		__atomic_store_n(p, __value, __ATOMIC_RELAXED);		\
	else								\
		__atomic_store_n(p, __value, __ATOMIC_RELEASE);		\
} while (0)

/* Return: the value before. */
static inline u32 pipe_env_cmpxchg(u32 *p, u32 old, u32 new, bool weak)
{
	if (!weak) {
		__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	} else if (!pipe_env_weak.split) {
		__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	} else {
		u32 seen = __atomic_load_n(p, __ATOMIC_ACQUIRE);

		sched_yield();
		if (seen == old)
			__atomic_store_n(p, new, __ATOMIC_RELEASE);
		return seen;
	}
	return old;
}

#define cmpxchg(p, old, new)	pipe_env_cmpxchg(p, old, new, pipe_env_weakens(__func__, #p))

#endif /* COLL_PIPE_ENV_H */
