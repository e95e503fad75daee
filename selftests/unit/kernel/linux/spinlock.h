/* SPDX-License-Identifier: GPL-2.0-only */
/* Locks: one thread takes each of them once, and nothing sleeps under them. */
#ifndef COLL_KERNEL_SPINLOCK_H
#define COLL_KERNEL_SPINLOCK_H

#include <linux/atomic.h>
#include <linux/slab.h>

typedef struct spinlock {
	bool held;
} spinlock_t;

typedef spinlock_t raw_spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}

static inline void spin_lock(spinlock_t *lock)
{
	assert(!lock->held);
	lock->held = true;
	kernel_locks_held++;
}

static inline void spin_unlock(spinlock_t *lock)
{
	assert(lock->held);
	lock->held = false;
	kernel_locks_held--;
}

#define lockdep_assert_held(lock)	assert((lock)->held)
#define ____cacheline_aligned_in_smp
#define __releases(...)

#endif /* COLL_KERNEL_SPINLOCK_H */
