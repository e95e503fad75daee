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

#include "coll.h"

/* What is copied by two, bytes, in pieces of memory of at least so many; and a half at most. */
#define CREW_MIN	(16 * 1024)
#define CREW_PIECE_MIN	256
#define CREW_HALF_MAX	(128 * 1024)
/* How much has to follow for somebody to be called, who may be asleep. */
#define CREW_CALL_MIN	(128 * 1024)
/* So many pieces in a row without the helper, and another one is called. */
#define CREW_MISSED	16
/* How long a helper looks for more, ns; and how often before it looks at the clock. */
#define CREW_IDLE_NS	(50 * NSEC_PER_USEC)
#define CREW_IDLE_TURNS	64

enum crew_half {
	CREW_NOTHING,
	CREW_OFFERED,
	CREW_TAKEN,
	CREW_DONE,
};

static void copy_helper_free(struct kref *ref)
{
	kfree(container_of(ref, struct coll_copy_helper, ref));
}

/**
 * coll_copy_helper_put() - it is used no longer
 * @crew: by the lane, or its helper; or NULL
 */
void coll_copy_helper_put(struct coll_copy_helper *crew)
{
	if (crew)
		kref_put(&crew->ref, copy_helper_free);
}

/* Who is idle on another core: threads of one share what copying takes. */
static struct coll_helper *find_helper(const struct coll_group *group)
{
	const struct cpumask *ours = topology_sibling_cpumask(raw_smp_processor_id());
	struct coll_helper *helper;

	list_for_each_entry(helper, &group->idle, node)
		if (!cpumask_test_cpu(helper->cpu, ours))
			return helper;
	return NULL;
}

/* Have somebody come. */
static void wake_helper(struct coll_copy_helper *crew)
{
	struct coll_group *group = crew->lane->member->group;
	struct coll_helper *helper;

	if (list_empty(&group->idle))
		return;
	spin_lock(&group->idle_lock);
	helper = find_helper(group);
	if (helper) {
		list_del_init(&helper->node);
		kref_get(&crew->ref);
		WRITE_ONCE(crew->helper, helper);
		crew->missed = 0;
		smp_store_release(&helper->crew, crew);	/* as it was made */
		if (helper->dozes)
			complete(helper->news);
	}
	spin_unlock(&group->idle_lock);
}

static bool take_half(struct coll_copy_helper *crew)
{
	return atomic_read(&crew->half) == CREW_OFFERED &&
	       atomic_cmpxchg_acquire(&crew->half, CREW_OFFERED, CREW_TAKEN) == CREW_OFFERED;
}

static void copy_halves(const struct coll_copy_helper *crew)
{
	coll_mem_store(crew->copy, crew->mem, crew->off, crew->ptr, crew->len);
}

/*
 * Nobody is to be kept from his CPU for long by pieces of a few bytes: on the average those of
 * the helper's half are longer.
 */
static bool is_worthwhile(const struct coll_mem *dst, u64 off, size_t len)
{
	size_t half = min(len / 2, CREW_HALF_MAX), done = 0;
	u32 pieces = 0;

	if (len < CREW_MIN)
		return false;
	while (done < half && pieces++ < half / CREW_PIECE_MIN)
		done += coll_mem_piece(dst, off + len - half + done);
	return done >= half;
}

/**
 * coll_copy_helper_split() - copy to memory with a helper
 * @crew: of the lane that runs
 * @copy: how
 * @dst: where to
 * @off: in bytes
 * @ptr: where from
 * @len: bytes
 * @left: how many follow at once: it may be worth it to call a helper for them
 *
 * Return: false: nothing was copied, for nobody helps.
 */
bool coll_copy_helper_split(struct coll_copy_helper *crew, coll_copy_fn copy,
			    const struct coll_mem *dst,
			    u64 off, const void *ptr, size_t len, u64 left)
{
	size_t first;

	/* With the vector registers nobody waits for anybody. */
	if (crew->lane->fpu.held || !is_worthwhile(dst, off, len))
		return false;
	if (!READ_ONCE(crew->helper) || crew->missed >= CREW_MISSED) {
		if (left >= CREW_CALL_MIN)
			wake_helper(crew);
		return false;
	}
	/* Both lie the same in lines of the cache. */
	first = ALIGN(len - min(len / 2, CREW_HALF_MAX), SMP_CACHE_BYTES);
	crew->copy = copy;
	crew->mem = dst;
	crew->off = off + first;
	crew->ptr = ptr + first;
	crew->len = len - first;
	atomic_set_release(&crew->half, CREW_OFFERED);	/* pairs with crew_take() */
	coll_mem_store(copy, dst, off, ptr, first);
	if (take_half(crew)) {
		copy_halves(crew);
		crew->missed++;
	} else {
		while (atomic_read_acquire(&crew->half) != CREW_DONE)
			cpu_relax();
		crew->lane->helper_bytes += crew->len;
		crew->missed = 0;
	}
	return true;
}

/**
 * coll_copy_helper_new() - who copies for a lane
 * @lane: the lane
 *
 * Return: the crew, for coll_copy_helper_put() when the lane does not run any more; or NULL.
 */
struct coll_copy_helper *coll_copy_helper_new(struct coll_lane *lane)
{
	struct coll_copy_helper *crew = kzalloc(sizeof(*crew), GFP_KERNEL_ACCOUNT);

	if (!crew)
		return NULL;
	kref_init(&crew->ref);
	crew->lane = lane;
	atomic_set(&crew->half, CREW_NOTHING);
	return crew;
}

/**
 * coll_helper_begin() - a thread may help, from now on
 * @helper: its, zeroed
 * @group: whose ranks are helped; it stays until coll_helper_detach()
 * @news: completed when it is called
 */
void coll_helper_begin(struct coll_helper *helper, struct coll_group *group,
		       struct completion *news)
{
	helper->group = group;
	helper->news = news;
	INIT_LIST_HEAD(&helper->node);
}

/* It can be called, unless it has been. */
static void helper_list(struct coll_helper *helper)
{
	lockdep_assert_held(&helper->group->idle_lock);
	helper->cpu = raw_smp_processor_id();
	helper->dozes = !helper->warm;
	if (!helper->crew && list_empty(&helper->node))
		list_add_tail(&helper->node, &helper->group->idle);
}

/* It has no crew. */
static void helper_part(struct coll_helper *helper)
{
	lockdep_assert_held(&helper->group->idle_lock);
	if (!helper->crew)
		return;
	if (helper->crew->helper == helper)
		WRITE_ONCE(helper->crew->helper, NULL);
	coll_copy_helper_put(helper->crew);
	WRITE_ONCE(helper->crew, NULL);
}

/**
 * coll_helper_offer() - it has nothing to do, and can be called
 * @helper: this thread's
 */
void coll_helper_offer(struct coll_helper *helper)
{
	helper->idle = 0;
	helper->until = 0;
	spin_lock(&helper->group->idle_lock);
	helper_list(helper);
	spin_unlock(&helper->group->idle_lock);
}

/* Is there a half to copy?  Then it is done. */
static bool helper_copy(struct coll_helper *helper)
{
	struct coll_copy_helper *crew = READ_ONCE(helper->crew);
	bool taken;

	if (!crew)
		return false;
	helper->warm = true;
	/* Who has offered it waits for us. */
	preempt_disable();
	taken = take_half(crew);
	if (taken) {
		copy_halves(crew);
		/* Pairs with the acquire in coll_copy_helper_split(). */
		atomic_set_release(&crew->half, CREW_DONE);
	}
	preempt_enable();
	return taken;
}

/* Is there likely to be another one? */
static bool helper_stays(struct coll_helper *helper)
{
	if (!helper->warm || ++helper->idle % CREW_IDLE_TURNS)
		return helper->warm;
	if (!helper->until)
		helper->until = ktime_get_ns() + CREW_IDLE_NS;
	return ktime_get_ns() < helper->until;
}

/* It has helped, and there was nothing for a while. */
static void helper_is_cool(struct coll_helper *helper)
{
	helper->warm = false;
	spin_lock(&helper->group->idle_lock);
	helper_part(helper);
	helper_list(helper);
	spin_unlock(&helper->group->idle_lock);
}

/**
 * coll_helper_poll() - copy what there is
 * @helper: this thread's, which is idle
 *
 * Return: false: nobody has called lately; @helper->news is completed when somebody does.
 */
bool coll_helper_poll(struct coll_helper *helper)
{
	if (helper_copy(helper)) {
		helper->idle = 0;
		helper->until = 0;
		return true;
	}
	if (helper_stays(helper))
		return true;
	if (helper->warm)
		helper_is_cool(helper);
	return false;
}

/**
 * coll_helper_withdraw() - it has something to do, and comes back to who has called it
 * @helper: this thread's
 */
void coll_helper_withdraw(struct coll_helper *helper)
{
	if (!helper->group || list_empty_careful(&helper->node))
		return;
	spin_lock(&helper->group->idle_lock);
	list_del_init(&helper->node);
	spin_unlock(&helper->group->idle_lock);
}

/**
 * coll_helper_detach() - it helps nobody, until it is idle again
 * @helper: this thread's
 */
void coll_helper_detach(struct coll_helper *helper)
{
	if (!helper->group)
		return;
	helper->warm = false;
	spin_lock(&helper->group->idle_lock);
	list_del_init(&helper->node);
	helper_part(helper);
	spin_unlock(&helper->group->idle_lock);
}
