// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying by two CPUs.
 *
 * One CPU alone copies slower than memory can.  Whoever waits for a large operation, with a
 * CPU to himself, helps another rank of his group who copies on another CPU: of a broadcast
 * the root does, which has nothing else to do than to wait until its memory is free again.
 *
 * It is one copy as before: the runner of the lane goes on when both halves are done.  So
 * nothing else need know of helpers, and where there is none nothing is different.  A helper
 * is not preempted in the middle of a half.
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "coll.h"

/* What is copied by two, bytes... */
#define CREW_MIN	(16 * 1024)
/* ...and how much has to follow for somebody to be called, who may be asleep. */
#define CREW_CALL_MIN	(256 * 1024)
/* How long a helper stays when there is nothing to do, ns. */
#define CREW_IDLE_NS	(50 * NSEC_PER_USEC)
/* It looks at the clock once in so many times. */
#define CREW_IDLE_TURNS	64

enum crew_half {
	CREW_NOTHING,
	CREW_OFFERED,
	CREW_TAKEN,
	CREW_DONE,
};

static void crew_free(struct kref *ref)
{
	kfree(container_of(ref, struct coll_crew, ref));
}

/**
 * coll_crew_put() - it is used no longer
 * @crew: by the lane, or its helper; or NULL
 */
void coll_crew_put(struct coll_crew *crew)
{
	if (crew)
		kref_put(&crew->ref, crew_free);
}

/* The first who is idle on another CPU. */
static struct coll_helper *crew_find(const struct coll_group *group)
{
	struct coll_helper *helper;

	list_for_each_entry(helper, &group->idle, node)
		if (helper->cpu != raw_smp_processor_id())
			return helper;
	return NULL;
}

/* Have somebody come. */
static void crew_call(struct coll_crew *crew)
{
	struct coll_group *group = crew->lane->member->group;
	struct coll_helper *helper;

	if (list_empty(&group->idle))
		return;
	spin_lock(&group->idle_lock);
	helper = crew_find(group);
	if (helper) {
		list_del_init(&helper->node);
		kref_get(&crew->ref);
		WRITE_ONCE(crew->helped, true);
		WRITE_ONCE(helper->crew, crew);
		complete(helper->news);
	}
	spin_unlock(&group->idle_lock);
}

static bool crew_take(struct coll_crew *crew)
{
	return atomic_read(&crew->half) == CREW_OFFERED &&
	       atomic_cmpxchg_acquire(&crew->half, CREW_OFFERED, CREW_TAKEN) == CREW_OFFERED;
}

static void crew_copy(const struct coll_crew *crew)
{
	coll_mem_store(crew->impl, crew->mem, crew->off, crew->ptr, crew->len);
}

/* See struct coll_copier. */
static bool crew_store(struct coll_copier *copier, const struct coll_mem *dst, u64 off,
		       const void *ptr, size_t len, u64 left)
{
	struct coll_crew *crew = container_of(copier, struct coll_crew, copier);
	size_t first;

	if (len < CREW_MIN)
		return false;
	if (!READ_ONCE(crew->helped)) {
		if (left >= CREW_CALL_MIN)
			crew_call(crew);
		return false;
	}
	first = ALIGN(len / 2, SMP_CACHE_BYTES);
	crew->mem = dst;
	crew->off = off + first;
	crew->ptr = ptr + first;
	crew->len = len - first;
	atomic_set_release(&crew->half, CREW_OFFERED);	/* pairs with crew_take() */
	coll_mem_store(crew->impl, dst, off, ptr, first);
	if (crew_take(crew)) {
		crew_copy(crew);
	} else {
		while (atomic_read_acquire(&crew->half) != CREW_DONE)
			cpu_relax();
		crew->lane->helped += crew->len;
	}
	atomic_set(&crew->half, CREW_NOTHING);
	return true;
}

/**
 * coll_crew_new() - who copies for a lane
 * @lane: the lane
 *
 * Return: the crew, for coll_crew_put() when the lane does not run any more; or NULL.
 */
struct coll_crew *coll_crew_new(struct coll_lane *lane)
{
	struct coll_crew *crew = kzalloc(sizeof(*crew), GFP_KERNEL_ACCOUNT);

	if (!crew)
		return NULL;
	kref_init(&crew->ref);
	crew->copier.store = crew_store;
	crew->lane = lane;
	crew->impl = lane->engine.impl;
	return crew;
}

/**
 * coll_helper_offer() - help who copies, from now on
 * @helper: this thread's, which stays on its CPU
 * @group: whose ranks are helped
 * @news: completed when coll_helper_called()
 */
void coll_helper_offer(struct coll_helper *helper, struct coll_group *group,
		       struct completion *news)
{
	*helper = (struct coll_helper){
		.group = group,
		.news = news,
		.cpu = raw_smp_processor_id(),
	};
	spin_lock(&group->idle_lock);
	list_add_tail(&helper->node, &group->idle);
	spin_unlock(&group->idle_lock);
}

/**
 * coll_helper_turn() - copy what there is
 * @helper: one that is called
 *
 * Return: false: there has been nothing for a while; rest.
 */
bool coll_helper_turn(struct coll_helper *helper)
{
	struct coll_crew *crew = helper->crew;
	bool taken;

	/* Who has offered it waits for us. */
	preempt_disable();
	taken = crew_take(crew);
	if (taken) {
		crew_copy(crew);
		atomic_set_release(&crew->half, CREW_DONE);	/* pairs with crew_store() */
	}
	preempt_enable();
	if (taken) {
		helper->until = 0;
		helper->idle = 0;
		return true;
	}
	if (++helper->idle % CREW_IDLE_TURNS)
		return true;
	if (!helper->until)
		helper->until = ktime_get_ns() + CREW_IDLE_NS;
	return ktime_get_ns() < helper->until;
}

/* It is not idle, and has no crew. */
static void helper_leave(struct coll_helper *helper)
{
	struct coll_crew *crew = helper->crew;

	list_del_init(&helper->node);
	WRITE_ONCE(helper->crew, NULL);
	if (crew)
		WRITE_ONCE(crew->helped, false);
	coll_crew_put(crew);
}

/**
 * coll_helper_rest() - let others call
 * @helper: one that was called
 */
void coll_helper_rest(struct coll_helper *helper)
{
	spin_lock(&helper->group->idle_lock);
	helper_leave(helper);
	helper->until = 0;
	list_add_tail(&helper->node, &helper->group->idle);
	spin_unlock(&helper->group->idle_lock);
}

/**
 * coll_helper_withdraw() - undo coll_helper_offer(), if it was done
 * @helper: ours
 */
void coll_helper_withdraw(struct coll_helper *helper)
{
	if (!helper->group)
		return;
	spin_lock(&helper->group->idle_lock);
	helper_leave(helper);
	spin_unlock(&helper->group->idle_lock);
}
