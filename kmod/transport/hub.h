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

#include <linux/collective.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct coll_exposer;
struct coll_local_board;

/* Most ranks of a group that read each other's memory. */
#define COLL_LOCAL_READERS_MAX	64

/**
 * struct coll_local_hub - where the members of a group find each other
 * @lock: protects @listeners, their queues, @addrs and @wishes; innermost but for the locks of
 *	runners
 * @listeners: at most one for each rank
 * @nranks: ranks of the group [c]
 * @lanes: lanes of each rank [c]
 * @addrs: by rank: address by which it has joined last, whether or not it is still a member; of
 *	family AF_UNSPEC: it never has; of IPv4, at the beginning
 * @wishes: by rank: what it has chosen then; enum collective_transport
 * @board: the board; NULL: there is none [c]
 * @exposers: by rank and lane; read under RCU.  NULL: ranks do not read each other's memory [c]
 */
struct coll_local_hub {
	spinlock_t lock;
	struct list_head listeners;
	u32 nranks;
	u32 lanes;
	struct sockaddr_in6 *addrs;
	u8 *wishes;
	struct coll_local_board *board;
	struct coll_exposer __rcu **exposers;
};

int coll_local_hub_init(struct coll_local_hub *hub, u32 nranks, u32 lanes);
void coll_local_hub_cleanup(struct coll_local_hub *hub);
void coll_local_hub_note(struct coll_local_hub *hub, u32 rank,
			 const struct sockaddr_storage *addr, u32 wish);
int coll_local_hub_wish(struct coll_local_hub *hub, u32 rank, const struct sockaddr_storage *addr);
bool coll_local_hub_reads_all(struct coll_local_hub *hub, const struct sockaddr_storage *peers);
bool coll_local_hub_has(struct coll_local_hub *hub, u32 rank, const struct sockaddr_storage *addr);

/**
 * coll_wishes_local() - may the links of a rank be local?
 * @wish: what it has chosen; enum collective_transport
 */
static inline bool coll_wishes_local(u32 wish)
{
	return wish == COLLECTIVE_TRANSPORT_LOCAL || wish == COLLECTIVE_TRANSPORT_AUTO;
}

/**
 * coll_local_hub_exposer() - where the exposer of a lane is
 * @hub: of the group; coll_local_hub_reads_all()
 * @rank: rank of the member
 * @lane: index of the lane
 */
static inline struct coll_exposer __rcu **coll_local_hub_exposer(struct coll_local_hub *hub,
								 u32 rank, u32 lane)
{
	return &hub->exposers[rank * hub->lanes + lane];
}

#endif /* COLL_LOCAL_HUB_H */
