// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exposed memory: see transport/exposure.h.
 *
 * From begin_read() to end_read() preemption is disabled, so an owner that closes an entry waits
 * for a piece at most.  That also makes the reader an RCU reader: an exposer is freed after a grace
 * period, so the lock that end_read() gives back still exists.
 */
#include <linux/delay.h>
#include <linux/preempt.h>
#include <linux/slab.h>

#include "core/engine/instance.h"
#include "transport/hub.h"
#include "transport/local/exposer.h"

static struct list_head *exposer_bucket(struct coll_exposer *exposer, u64 instance)
{
	return &exposer->table[coll_instance_hash(instance, COLL_EXPOSER_HASH)];
}

/**
 * coll_exposer_open() - let a lane expose memory
 * @hub: of the group; coll_local_hub_reads_all()
 * @rank: rank of the member
 * @lane: index of the lane
 * @ops: what the lane does with events
 * @owner: argument of @ops
 *
 * Context: may sleep.
 * Return: the exposer, for coll_exposer_close(); or NULL.
 */
struct coll_exposer *coll_exposer_open(struct coll_local_hub *hub, u32 rank, u32 lane,
				       const struct coll_exposer_ops *ops, void *owner)
{
	struct coll_exposer *exposer = kzalloc(sizeof(*exposer), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!exposer)
		return NULL;
	raw_spin_lock_init(&exposer->lock);
	for (i = 0; i < COLL_EXPOSER_HASH; i++)
		INIT_LIST_HEAD(&exposer->table[i]);
	INIT_LIST_HEAD(&exposer->unread);
	exposer->ops = ops;
	exposer->owner = owner;
	exposer->slot = coll_local_hub_exposer(hub, rank, lane);
	rcu_assign_pointer(*exposer->slot, exposer);
	return exposer;
}

/* Close all entries.  Return: true if one is being read. */
static bool exposer_close_all(struct coll_exposer *exposer)
{
	struct coll_exposure *exposure;
	bool read = false;
	u32 i;

	raw_spin_lock(&exposer->lock);
	exposer->closed = true;
	for (i = 0; i < COLL_EXPOSER_HASH; i++)
		list_for_each_entry(exposure, &exposer->table[i], node) {
			exposure->closed = true;
			read |= exposure->readers;
		}
	raw_spin_unlock(&exposer->lock);
	return read;
}

/**
 * coll_exposer_close() - expose nothing more
 * @exposer: the exposer; freed
 *
 * No memory of its entries is read when this returns.
 *
 * Context: may sleep.
 */
void coll_exposer_close(struct coll_exposer *exposer)
{
	rcu_assign_pointer(*exposer->slot, NULL);
	/* A piece that is being read takes microseconds. */
	while (exposer_close_all(exposer))
		usleep_range(10, 50);
	kfree_rcu(exposer, rcu);
}

/**
 * coll_exposure_open() - let other ranks read the memory of a task
 * @exposer: of the lane
 * @exposure: the entry, its memories filled in
 *
 * Context: the lane.
 */
void coll_exposure_open(struct coll_exposer *exposer, struct coll_exposure *exposure)
{
	exposure->exposer = exposer;
	exposure->readers = 0;
	exposure->closed = false;
	raw_spin_lock(&exposer->lock);
	list_add(&exposure->node, exposer_bucket(exposer, exposure->instance));
	raw_spin_unlock(&exposer->lock);
}

/**
 * coll_exposure_close() - let no more reads begin
 * @exposure: the entry; may be closed already
 *
 * Context: the lane.
 * Return: true if it is not read, so the entry is gone; false: the exposer's @ended says it later.
 */
bool coll_exposure_close(struct coll_exposure *exposure)
{
	struct coll_exposer *exposer = exposure->exposer;
	bool read;

	raw_spin_lock(&exposer->lock);
	exposure->closed = true;
	read = exposure->readers;
	if (!read)
		list_del_init(&exposure->node);
	raw_spin_unlock(&exposer->lock);
	return !read;
}

/**
 * coll_exposer_next_unread() - take an entry that was closed and is not read any more
 * @exposer: of the lane
 *
 * Context: the lane.
 * Return: the entry, which is gone from the exposer; or NULL.
 */
struct coll_exposure *coll_exposer_next_unread(struct coll_exposer *exposer)
{
	struct coll_exposure *exposure;

	raw_spin_lock(&exposer->lock);
	exposure = list_first_entry_or_null(&exposer->unread, struct coll_exposure, node);
	if (exposure)
		list_del_init(&exposure->node);
	raw_spin_unlock(&exposer->lock);
	return exposure;
}

static struct coll_exposure *exposer_begin_read(struct coll_exposer *exposer, u64 instance)
{
	struct coll_exposure *exposure, *found = NULL;

	raw_spin_lock(&exposer->lock);
	/* At most the operations that the rank has in flight. */
	list_for_each_entry(exposure, exposer_bucket(exposer, instance), node)
		if (exposure->instance == instance && !exposure->closed) {
			exposure->readers++;
			found = exposure;
			break;
		}
	raw_spin_unlock(&exposer->lock);
	return found;
}

/**
 * coll_exposure_begin_read() - begin to read memory of another rank
 * @hub: of the group
 * @rank: rank that exposes it
 * @lane: index of the lane
 * @instance: of the operation
 *
 * Return: the entry, and preemption is disabled until coll_exposure_end_read(); or NULL: it is
 * not exposed, or not any more.
 */
struct coll_exposure *coll_exposure_begin_read(struct coll_local_hub *hub, u32 rank, u32 lane,
					       u64 instance)
{
	struct coll_exposure *exposure = NULL;
	struct coll_exposer *exposer;

	preempt_disable();
	exposer = rcu_dereference_sched(*coll_local_hub_exposer(hub, rank, lane));
	if (exposer)
		exposure = exposer_begin_read(exposer, instance);
	if (!exposure)
		preempt_enable();
	return exposure;
}

/**
 * coll_exposer_wake() - tell a lane of another rank that something was stored on the board
 * @hub: of the group
 * @rank: the other rank; it may have left
 * @lane: index of the lane
 * @latest: the rank that it has waited for, or COLL_NO_RANK
 */
void coll_exposer_wake(struct coll_local_hub *hub, u32 rank, u32 lane, u32 latest)
{
	struct coll_exposer *exposer;

	rcu_read_lock();
	exposer = rcu_dereference(*coll_local_hub_exposer(hub, rank, lane));
	if (exposer) {
		raw_spin_lock(&exposer->lock);
		if (!exposer->closed)
			exposer->ops->wake(exposer->owner, latest);
		raw_spin_unlock(&exposer->lock);
	}
	rcu_read_unlock();
}

/**
 * coll_exposure_end_read() - end what coll_exposure_begin_read() has begun
 * @exposure: the entry; may be gone afterwards
 */
void coll_exposure_end_read(struct coll_exposure *exposure)
{
	struct coll_exposer *exposer = exposure->exposer;

	raw_spin_lock(&exposer->lock);
	if (!--exposure->readers && exposure->closed) {
		list_move_tail(&exposure->node, &exposer->unread);
		exposer->ops->ended(exposer->owner);
	}
	raw_spin_unlock(&exposer->lock);
	preempt_enable();
}
