// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue pairs of one user on one device, and their limit.
 *
 * A device has a bounded number of queue pairs, for all programs of the host.  A connection counts
 * for the user whose rank it belongs to, as its memory does (mem/account.c), from before its queue
 * pair is made until that is destroyed.
 */
#include <linux/list.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>

#include "mem/account.h"
#include "transport/rdma/rdma.h"

/* The default limit of one user is what the device has, divided by this. */
#define SHARE_DEFAULT_PART	2

static uint user_queue_pairs;
module_param(user_queue_pairs, uint, 0644);
MODULE_PARM_DESC(user_queue_pairs, "Limit for the queue pairs of all groups of one user on one RDMA device. Beyond it connections by RDMA fail with EDQUOT, unless the process had CAP_SYS_RESOURCE when it joined. 0 (default): half of what the device has");

/**
 * struct coll_rdma_share - queue pairs of one user on one device; freed with the last one
 * @node: in the list of all shares
 * @account: account of the user; it lives as long as a connection that is charged to it
 * @device: the device; it lives as long as a connection that uses it
 * @used: number of queue pairs
 */
struct coll_rdma_share {
	struct list_head node;
	const struct coll_account *account;
	const struct ib_device *device;
	u32 used;
};

static DEFINE_MUTEX(shares_mutex);
static LIST_HEAD(shares);		/* protected by shares_mutex, as all entries are */

static u32 share_limit(const struct ib_device *device)
{
	return READ_ONCE(user_queue_pairs) ?:
	       max(device->attrs.max_qp, 0) / SHARE_DEFAULT_PART;
}

/* Find the share, or make it; shares_mutex is held.  NULL: no memory. */
static struct coll_rdma_share *share_find(const struct coll_account *account,
					  const struct ib_device *device)
{
	struct coll_rdma_share *share;

	/* At most one for each user of RDMA and each device. */
	list_for_each_entry(share, &shares, node)
		if (share->account == account && share->device == device)
			return share;
	/* Not charged: a cgroup at its limit must not keep other users waiting for the mutex. */
	share = kzalloc(sizeof(*share), GFP_KERNEL);
	if (!share)
		return NULL;
	share->account = account;
	share->device = device;
	list_add(&share->node, &shares);
	return share;
}

static void share_put(struct coll_rdma_share *share)
{
	if (share->used)
		return;
	list_del(&share->node);
	kfree(share);
}

static void share_refused(const struct coll_rdma_share *share, u32 limit)
{
	pr_notice_ratelimited("collective: user %u has reached the limit of queue pairs on %s, %u (parameter user_queue_pairs of collective_rdma)\n",
			      coll_account_user(share->account), dev_name(&share->device->dev),
			      limit);
}

/**
 * coll_rdma_share_take() - count a queue pair before it is made
 * @conn: the connection, locked; its identifier has a device, and it has an endpoint
 * @charges: of the member
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM, or -EDQUOT: the limit of the user would be exceeded.
 */
int coll_rdma_share_take(struct coll_rdma_conn *conn, const struct coll_charges *charges)
{
	const struct ib_device *device = conn->id->device;
	u32 limit = charges->exempt ? U32_MAX : share_limit(device);
	struct coll_rdma_share *share;
	int err = 0;

	mutex_lock(&shares_mutex);
	share = share_find(charges->account, device);
	if (!share) {
		err = -ENOMEM;
	} else if (share->used >= limit) {
		share_refused(share, limit);
		share_put(share);
		err = -EDQUOT;
	} else {
		share->used++;
		conn->share = share;
	}
	mutex_unlock(&shares_mutex);
	return err;
}

/**
 * coll_rdma_share_give() - undo coll_rdma_share_take(), if it was called
 * @conn: the connection, locked; its queue pair is destroyed
 *
 * Context: may sleep.
 */
void coll_rdma_share_give(struct coll_rdma_conn *conn)
{
	struct coll_rdma_share *share = conn->share;

	if (!share)
		return;
	mutex_lock(&shares_mutex);
	share->used--;
	share_put(share);
	mutex_unlock(&shares_mutex);
	conn->share = NULL;
}
