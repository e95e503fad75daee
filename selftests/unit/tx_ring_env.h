/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user-space replacement for kmod/net/tx_ring_env.h, of the same include guard.
 *
 * What other threads do while one of them waits for memory is a function that the allocation calls.
 */
#ifndef COLL_TX_RING_ENV_H
#define COLL_TX_RING_ENV_H

#include "core/env.h"

#include <assert.h>
#include <stdlib.h>

#include "charges_env.h"

typedef unsigned int gfp_t;

#define GFP_ATOMIC		1U
#define GFP_NOWAIT		2U
#define GFP_KERNEL_ACCOUNT	4U
#define __GFP_ACCOUNT		8U
#define __GFP_NOWARN		16U

/* struct spinlock - as spinlock_t; nothing sleeps under it */
typedef struct spinlock {
	bool held;
} spinlock_t;

/**
 * struct tx_ring_env - the state of this environment
 * @held: locks that are held
 * @others: what others do while memory is waited for, once; NULL: nothing
 * @fails: true if there is no memory
 */
static struct tx_ring_env {
	u32 held;
	void (*others)(void);
	bool fails;
} tx_ring_env;

static void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}

static void spin_lock(spinlock_t *lock)
{
	assert(!lock->held);
	lock->held = true;
	tx_ring_env.held++;
}

static void spin_unlock(spinlock_t *lock)
{
	assert(lock->held);
	lock->held = false;
	tx_ring_env.held--;
}

#define lockdep_assert_held(lock)	assert((lock)->held)

static void *kvmalloc(size_t size, gfp_t gfp)
{
	void (*others)(void) = tx_ring_env.others;

	assert(!tx_ring_env.held);
	tx_ring_env.others = NULL;
	/* Without waiting, others have no time. */
	if (others && gfp & GFP_KERNEL_ACCOUNT)
		others();
	return tx_ring_env.fails ? NULL : malloc(size);
}

static void *kmalloc(size_t size, gfp_t gfp)
{
	assert(gfp & GFP_ATOMIC);
	return tx_ring_env.fails ? NULL : malloc(size);
}

static void kvfree(const void *memory)
{
	free((void *)memory);
}

static void kfree(const void *memory)
{
	free((void *)memory);
}

static bool is_vmalloc_addr(const void *memory)
{
	(void)memory;
	return false;
}

static u32 roundup_pow_of_two(u32 n)
{
	u32 power = 1;

	while (power < n)
		power *= 2;
	return power;
}

#endif /* COLL_TX_RING_ENV_H */
