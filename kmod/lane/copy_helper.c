// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying by two CPUs.
 *
 * One CPU copies more slowly than memory allows.  A thread that waits for a large operation on a
 * CPU of its own helps a lane of its group that copies on another CPU of this host: the root of a
 * broadcast, for example, only waits until its memory is free again.
 *
 * It remains one copy: the lane's runner continues when both halves are done, so no other code
 * knows of helpers.  A helper is not preempted within a half, though it may be interrupted.
 *
 * An idle helper is on its group's list.  A lane that wants help takes one off the list and wakes
 * it if it sleeps.  A helper interrupts helping to run its own lanes; the lane may pick another
 * helper meanwhile.  A helper detaches when another task becomes runnable on its CPU, or after
 * HELPER_IDLE_NS without work.
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include "lane/copy_helper.h"
#include "lane/lane.h"

/* Bytes that two CPUs copy at least, in pieces of memory of this length; and a half at most. */
#define HELPER_MIN	(16 * 1024)
#define HELPER_PIECE_MIN	256
#define HELPER_HALF_MAX	(128 * 1024)
/* Bytes that have to follow to be worth waking a helper, which may sleep. */
#define HELPER_WAKE_MIN	(128 * 1024)
/* Consecutive pieces without the helper before another one is woken. */
#define HELPER_MISSES	16
/* How long a helper polls for more, ns; and polls between readings of the clock. */
#define HELPER_IDLE_NS	(50 * NSEC_PER_USEC)
#define HELPER_IDLE_POLLS	64

enum half_state {
	HALF_NONE,
	HALF_OFFERED,
	HALF_TAKEN,
	HALF_DONE,
};

static void copy_helper_free(struct kref *ref)
{
	kfree(container_of(ref, struct coll_copy_helper, ref));
}

/**
 * coll_copy_helper_put() - drop a reference
 * @copy_helper: of the lane or of its helper; or NULL
 */
void coll_copy_helper_put(struct coll_copy_helper *copy_helper)
{
	if (copy_helper)
		kref_put(&copy_helper->ref, copy_helper_free);
}

/* A helper on another core: the threads of one core share the units that copying needs. */
static struct coll_helper *find_helper(const struct coll_helper_pool *pool)
{
	const struct cpumask *ours = topology_sibling_cpumask(raw_smp_processor_id());
	struct coll_helper *helper;

	list_for_each_entry(helper, &pool->idle, node)
		if (!cpumask_test_cpu(helper->cpu, ours))
			return helper;
	return NULL;
}

static void wake_helper(struct coll_copy_helper *copy_helper)
{
	struct coll_helper_pool *pool = copy_helper->lane->helpers;
	struct coll_helper *helper;

	if (list_empty(&pool->idle))
		return;
	raw_spin_lock(&pool->lock);
	helper = find_helper(pool);
	if (helper) {
		list_del_init(&helper->node);
		kref_get(&copy_helper->ref);
		WRITE_ONCE(copy_helper->helper, helper);
		copy_helper->misses = 0;
		/* Publishes the copy_helper. */
		smp_store_release(&helper->target, copy_helper);
		if (helper->needs_wakeup)
			complete(helper->event);
	}
	raw_spin_unlock(&pool->lock);
}

static bool take_half(struct coll_copy_helper *copy_helper)
{
	return atomic_read(&copy_helper->half) == HALF_OFFERED &&
	       atomic_cmpxchg_acquire(&copy_helper->half, HALF_OFFERED, HALF_TAKEN) == HALF_OFFERED;
}

static void copy_halves(const struct coll_copy_helper *copy_helper)
{
	coll_mem_store(copy_helper->copy, copy_helper->mem, copy_helper->off, copy_helper->ptr,
		       copy_helper->len);
}

/* A helper must not be delayed by many short pieces: its half has long ones on average. */
static bool is_worthwhile(const struct coll_mem *dst, u64 off, size_t len)
{
	size_t half = min(len / 2, HELPER_HALF_MAX), done = 0;
	u32 pieces = 0;

	if (len < HELPER_MIN)
		return false;
	while (done < half && pieces++ < half / HELPER_PIECE_MIN)
		done += coll_mem_piece(dst, off + len - half + done);
	return done >= half;
}

/**
 * coll_copy_helper_split() - copy to memory, half of it by a helper
 * @copy_helper: of the lane that runs
 * @copy: copies a half
 * @dst: destination
 * @off: offset in it, bytes
 * @ptr: source
 * @len: bytes
 * @left: bytes that follow at once; enough of them are worth waking a helper
 *
 * Return: false if there is no helper, and nothing was copied.
 */
bool coll_copy_helper_split(struct coll_copy_helper *copy_helper, coll_copy_fn copy,
			    const struct coll_mem *dst,
			    u64 off, const void *ptr, size_t len, u64 left)
{
	size_t first;

	/* A lane does not wait for another CPU in an FPU section. */
	if (copy_helper->lane->fpu.held || !is_worthwhile(dst, off, len))
		return false;
	if (!READ_ONCE(copy_helper->helper) || copy_helper->misses >= HELPER_MISSES) {
		if (left >= HELPER_WAKE_MIN)
			wake_helper(copy_helper);
		return false;
	}
	/* Both halves begin at the same offset in a cache line. */
	first = ALIGN(len - min(len / 2, HELPER_HALF_MAX), SMP_CACHE_BYTES);
	copy_helper->copy = copy;
	copy_helper->mem = dst;
	copy_helper->off = off + first;
	copy_helper->ptr = ptr + first;
	copy_helper->len = len - first;
	/* Pairs with take_half(). */
	atomic_set_release(&copy_helper->half, HALF_OFFERED);
	coll_mem_store(copy, dst, off, ptr, first);
	if (take_half(copy_helper)) {
		copy_halves(copy_helper);
		copy_helper->misses++;
	} else {
		while (atomic_read_acquire(&copy_helper->half) != HALF_DONE)
			cpu_relax();
		copy_helper->lane->helper_bytes += copy_helper->len;
		copy_helper->misses = 0;
	}
	return true;
}

/**
 * coll_copy_helper_new() - a lane without a helper
 * @lane: the lane
 *
 * Return: for coll_copy_helper_put() when the lane does not run any more; or NULL.
 */
struct coll_copy_helper *coll_copy_helper_new(struct coll_lane *lane)
{
	struct coll_copy_helper *copy_helper = kzalloc(sizeof(*copy_helper), GFP_KERNEL_ACCOUNT);

	if (!copy_helper)
		return NULL;
	kref_init(&copy_helper->ref);
	copy_helper->lane = lane;
	atomic_set(&copy_helper->half, HALF_NONE);
	return copy_helper;
}

/**
 * coll_helper_pool_init() - no thread is idle
 * @pool: of a new group
 */
void coll_helper_pool_init(struct coll_helper_pool *pool)
{
	raw_spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->idle);
}

/**
 * coll_helper_begin() - let a thread help from now on
 * @helper: of the thread, zeroed
 * @pool: of the group; stays until coll_helper_detach()
 * @event: completed when the helper is woken
 */
void coll_helper_begin(struct coll_helper *helper, struct coll_helper_pool *pool,
		       struct completion *event)
{
	helper->pool = pool;
	helper->event = event;
	INIT_LIST_HEAD(&helper->node);
}

/* On the list, unless a lane has taken it. */
static void helper_list(struct coll_helper *helper)
{
	lockdep_assert_held(&helper->pool->lock);
	helper->cpu = raw_smp_processor_id();
	helper->needs_wakeup = !helper->recently_used;
	if (!helper->target && list_empty(&helper->node))
		list_add_tail(&helper->node, &helper->pool->idle);
}

/* Not the helper of any lane.  Return: for coll_copy_helper_put() without the lock. */
static struct coll_copy_helper *helper_drop_target(struct coll_helper *helper)
{
	struct coll_copy_helper *target = helper->target;

	lockdep_assert_held(&helper->pool->lock);
	if (!target)
		return NULL;
	if (target->helper == helper)
		WRITE_ONCE(target->helper, NULL);
	WRITE_ONCE(helper->target, NULL);
	return target;
}

/**
 * coll_helper_offer() - the thread is idle, and may be woken
 * @helper: of this thread
 */
void coll_helper_offer(struct coll_helper *helper)
{
	helper->idle_polls = 0;
	helper->until = 0;
	raw_spin_lock(&helper->pool->lock);
	helper_list(helper);
	raw_spin_unlock(&helper->pool->lock);
}

/* Copies a half if one is offered. */
static bool helper_copy(struct coll_helper *helper)
{
	struct coll_copy_helper *copy_helper = READ_ONCE(helper->target);
	bool taken;

	if (!copy_helper)
		return false;
	helper->recently_used = true;
	/* The lane spins until the half is done. */
	preempt_disable();
	taken = take_half(copy_helper);
	if (taken) {
		copy_halves(copy_helper);
		/* Pairs with the acquire in coll_copy_helper_split(). */
		atomic_set_release(&copy_helper->half, HALF_DONE);
	}
	preempt_enable();
	return taken;
}

/* Is another half likely to come? */
static bool helper_stays(struct coll_helper *helper)
{
	if (!helper->recently_used || ++helper->idle_polls % HELPER_IDLE_POLLS)
		return helper->recently_used;
	if (!helper->until)
		helper->until = ktime_get_ns() + HELPER_IDLE_NS;
	return ktime_get_ns() < helper->until;
}

/* It was used lately, and no half has come for a while. */
static void helper_cool(struct coll_helper *helper)
{
	struct coll_copy_helper *target;

	helper->recently_used = false;
	raw_spin_lock(&helper->pool->lock);
	target = helper_drop_target(helper);
	helper_list(helper);
	raw_spin_unlock(&helper->pool->lock);
	coll_copy_helper_put(target);
}

/**
 * coll_helper_poll() - copy a half if one is offered
 * @helper: of this thread, which is idle
 *
 * Return: false if none is likely to come soon; @helper->event is completed when a lane wakes it.
 */
bool coll_helper_poll(struct coll_helper *helper)
{
	if (helper_copy(helper)) {
		helper->idle_polls = 0;
		helper->until = 0;
		return true;
	}
	if (helper_stays(helper))
		return true;
	if (helper->recently_used)
		helper_cool(helper);
	return false;
}

/**
 * coll_helper_withdraw() - the thread is busy; it stays the helper of the lane that woke it
 * @helper: of this thread
 */
void coll_helper_withdraw(struct coll_helper *helper)
{
	if (!helper->pool || list_empty_careful(&helper->node))
		return;
	raw_spin_lock(&helper->pool->lock);
	list_del_init(&helper->node);
	raw_spin_unlock(&helper->pool->lock);
}

/**
 * coll_helper_detach() - the thread helps no lane until it is idle again
 * @helper: of this thread
 */
void coll_helper_detach(struct coll_helper *helper)
{
	struct coll_copy_helper *target;

	if (!helper->pool)
		return;
	helper->recently_used = false;
	raw_spin_lock(&helper->pool->lock);
	list_del_init(&helper->node);
	target = helper_drop_target(helper);
	raw_spin_unlock(&helper->pool->lock);
	coll_copy_helper_put(target);
}
