/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hub: where the members of a group find each other in this kernel.
 *
 * A group has one hub.  A member that accepts local connections has a listener in it, from JOIN to
 * its teardown.  A call queues a connection at the listener of its peer, and the peer's own control
 * runner takes it out: no member runs or allocates anything for another one.
 */
#ifndef COLL_LOCAL_HUB_H
#define COLL_LOCAL_HUB_H

#include <linux/list.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/**
 * struct coll_local_hub - listeners of a group's members
 * @lock: protects @listeners and their queues; innermost but for the locks of runners
 * @listeners: at most one for each rank
 */
struct coll_local_hub {
	spinlock_t lock;
	struct list_head listeners;
};

void coll_local_hub_init(struct coll_local_hub *hub);
bool coll_local_hub_has(struct coll_local_hub *hub, u32 rank, const struct sockaddr_storage *addr);

#endif /* COLL_LOCAL_HUB_H */
