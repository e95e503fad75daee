// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying by two CPUs.
 *
 * One CPU alone copies slower than memory can.  Whoever waits for a large operation, with a
 * CPU to himself, helps a lane of his group that copies on another CPU of this host: of a
 * broadcast the root does, which has nothing else to do than to wait until its memory is free
 * again.
 *
 * It is one copy as before: the runner of the lane goes on when both halves are done, so
 * nothing else need know of helpers.  A helper is not preempted in the middle of a half,
 * though it may be interrupted.
 *
 * Who is idle is in the list of his group, and is called from there, asleep or not.  He comes
 * back when he has done something for himself, but another one may have been called then; he
 * parts when somebody else wants his CPU, or when nothing has come for a while.
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

/* What is copied by two, bytes, in pieces of memory of at least so many; and a half at most. */
#define HELPER_MIN	(16 * 1024)
#define HELPER_PIECE_MIN	256
#define HELPER_HALF_MAX	(128 * 1024)
/* How much has to follow for somebody to be called, who may be asleep. */
#define HELPER_WAKE_MIN	(128 * 1024)
/* So many pieces in a row without the helper, and another one is called. */
#define HELPER_MISSES	16
/* How long a helper looks for more, ns; and how often before it looks at the clock. */
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
 * coll_copy_helper_put() - it is used no longer
 * @copy_helper: by the lane, or its helper; or NULL
 */
void coll_copy_helper_put(struct coll_copy_helper *copy_helper)
{
	if (copy_helper)
		kref_put(&copy_helper->ref, copy_helper_free);
}

/* Who is idle on another core: threads of one share what copying takes. */
static struct coll_helper *find_helper(const struct coll_helper_pool *pool)
{
	const struct cpumask *ours = topology_sibling_cpumask(raw_smp_processor_id());
	struct coll_helper *helper;

	list_for_each_entry(helper, &pool->idle, node)
		if (!cpumask_test_cpu(helper->cpu, ours))
			return helper;
	return NULL;
}

/* Have somebody come. */
static void wake_helper(struct coll_copy_helper *copy_helper)
{
	struct coll_helper_pool *pool = copy_helper->lane->helpers;
	struct coll_helper *helper;

	if (list_empty(&pool->idle))
		return;
	spin_lock(&pool->lock);
	helper = find_helper(pool);
	if (helper) {
		list_del_init(&helper->node);
		kref_get(&copy_helper->ref);
		WRITE_ONCE(copy_helper->helper, helper);
		copy_helper->misses = 0;
		smp_store_release(&helper->target, copy_helper);	/* as it was made */
		if (helper->needs_wakeup)
			complete(helper->event);
	}
	spin_unlock(&pool->lock);
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

/*
 * Nobody is to be kept from his CPU for long by pieces of a few bytes: on the average those of
 * the helper's half are longer.
 */
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
 * coll_copy_helper_split() - copy to memory with a helper
 * @copy_helper: of the lane that runs
 * @copy: how
 * @dst: where to
 * @off: in bytes
 * @ptr: where from
 * @len: bytes
 * @left: how many follow at once: it may be worth it to call a helper for them
 *
 * Return: false: nothing was copied, for nobody helps.
 */
bool coll_copy_helper_split(struct coll_copy_helper *copy_helper, coll_copy_fn copy,
			    const struct coll_mem *dst,
			    u64 off, const void *ptr, size_t len, u64 left)
{
	size_t first;

	/* With the vector registers nobody waits for anybody. */
	if (copy_helper->lane->fpu.held || !is_worthwhile(dst, off, len))
		return false;
	if (!READ_ONCE(copy_helper->helper) || copy_helper->misses >= HELPER_MISSES) {
		if (left >= HELPER_WAKE_MIN)
			wake_helper(copy_helper);
		return false;
	}
	/* Both lie the same in lines of the cache. */
	first = ALIGN(len - min(len / 2, HELPER_HALF_MAX), SMP_CACHE_BYTES);
	copy_helper->copy = copy;
	copy_helper->mem = dst;
	copy_helper->off = off + first;
	copy_helper->ptr = ptr + first;
	copy_helper->len = len - first;
	atomic_set_release(&copy_helper->half, HALF_OFFERED);	/* pairs with crew_take() */
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
 * coll_copy_helper_new() - who copies for a lane
 * @lane: the lane
 *
 * Return: the copy_helper, for coll_copy_helper_put() when the lane does not run any more; or NULL.
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
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->idle);
}

/**
 * coll_helper_begin() - a thread may help, from now on
 * @helper: its, zeroed
 * @group: whose ranks are helped; it stays until coll_helper_detach()
 * @news: completed when it is called
 */
void coll_helper_begin(struct coll_helper *helper, struct coll_helper_pool *pool,
		       struct completion *event)
{
	helper->pool = pool;
	helper->event = event;
	INIT_LIST_HEAD(&helper->node);
}

/* It can be called, unless it has been. */
static void helper_list(struct coll_helper *helper)
{
	lockdep_assert_held(&helper->pool->lock);
	helper->cpu = raw_smp_processor_id();
	helper->needs_wakeup = !helper->recently_used;
	if (!helper->target && list_empty(&helper->node))
		list_add_tail(&helper->node, &helper->pool->idle);
}

/* It has no copy_helper. */
static void helper_part(struct coll_helper *helper)
{
	lockdep_assert_held(&helper->pool->lock);
	if (!helper->target)
		return;
	if (helper->target->helper == helper)
		WRITE_ONCE(helper->target->helper, NULL);
	coll_copy_helper_put(helper->target);
	WRITE_ONCE(helper->target, NULL);
}

/**
 * coll_helper_offer() - it has nothing to do, and can be called
 * @helper: this thread's
 */
void coll_helper_offer(struct coll_helper *helper)
{
	helper->idle_polls = 0;
	helper->until = 0;
	spin_lock(&helper->pool->lock);
	helper_list(helper);
	spin_unlock(&helper->pool->lock);
}

/* Is there a half to copy?  Then it is done. */
static bool helper_copy(struct coll_helper *helper)
{
	struct coll_copy_helper *copy_helper = READ_ONCE(helper->target);
	bool taken;

	if (!copy_helper)
		return false;
	helper->recently_used = true;
	/* Who has offered it waits for us. */
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

/* Is there likely to be another one? */
static bool helper_stays(struct coll_helper *helper)
{
	if (!helper->recently_used || ++helper->idle_polls % HELPER_IDLE_POLLS)
		return helper->recently_used;
	if (!helper->until)
		helper->until = ktime_get_ns() + HELPER_IDLE_NS;
	return ktime_get_ns() < helper->until;
}

/* It has helped, and there was nothing for a while. */
static void helper_is_cool(struct coll_helper *helper)
{
	helper->recently_used = false;
	spin_lock(&helper->pool->lock);
	helper_part(helper);
	helper_list(helper);
	spin_unlock(&helper->pool->lock);
}

/**
 * coll_helper_poll() - copy what there is
 * @helper: this thread's, which is idle
 *
 * Return: false: nobody has called lately; @helper->event is completed when somebody does.
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
		helper_is_cool(helper);
	return false;
}

/**
 * coll_helper_withdraw() - it has something to do, and comes back to who has called it
 * @helper: this thread's
 */
void coll_helper_withdraw(struct coll_helper *helper)
{
	if (!helper->pool || list_empty_careful(&helper->node))
		return;
	spin_lock(&helper->pool->lock);
	list_del_init(&helper->node);
	spin_unlock(&helper->pool->lock);
}

/**
 * coll_helper_detach() - it helps nobody, until it is idle again
 * @helper: this thread's
 */
void coll_helper_detach(struct coll_helper *helper)
{
	if (!helper->pool)
		return;
	helper->recently_used = false;
	spin_lock(&helper->pool->lock);
	list_del_init(&helper->node);
	helper_part(helper);
	spin_unlock(&helper->pool->lock);
}
