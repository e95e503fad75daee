/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections of a member: listener, handshakes, and a link to each peer that it needs.
 *
 * The member's control runner owns what is marked [C].  Links are published by their pointer and
 * are freed by the teardown only, so lanes and operations read them without a lock.
 */
#ifndef COLL_NET_H
#define COLL_NET_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/in6.h>
#include <linux/socket.h>

#include <linux/collective.h>

#include "exec/runner.h"
#include "fail/member_state.h"
#include "ident.h"
#include "net/query_links.h"
#include "transport/transport.h"

struct coll_answer;
struct coll_charges;
struct coll_conn;
struct coll_control;
struct coll_link;
struct coll_local_hub;
struct coll_net;
struct cred;
struct net;

/**
 * struct coll_net_ops - what the rooms above do with connections and control frames
 * @data_open: take over a data connection that is open
 * @announce: an ANNOUNCE has come.  Return: 0 or -EPROTO
 * @abort: an ABORT of one operation has come, after the calls of a mismatch if it is one
 * @peer_left: a LEAVE has come
 * @count_received: a PING or PONG has come from a peer, with the number of its counted collectives
 * @own_count: that number of this rank, for a PING or PONG to a peer
 * @kick_lane: something was put into a mailbox of a lane
 * @kick_lanes: a link cannot be used any more: have each lane look
 * @answer: say what this rank does, for a query; the answer is zeroed
 * @resume: the member does not rest any more: have it tick.  Called with [l], in any context
 *
 * All others are called by the control runner and may sleep.
 */
struct coll_net_ops {
	void (*data_open)(struct coll_conn *conn);
	int (*announce)(struct coll_net *net, u32 peer, const struct coll_control *control);
	void (*abort)(struct coll_net *net, const struct coll_control *control,
		      const struct coll_failure *failure);
	void (*peer_left)(struct coll_net *net);
	void (*count_received)(struct coll_net *net, u32 peer, u64 count);
	u64 (*own_count)(struct coll_net *net, u32 peer);
	void (*kick_lane)(struct coll_net *net, u32 lane);
	void (*kick_lanes)(struct coll_net *net);
	void (*answer)(struct coll_net *net, struct coll_answer *answer);
	void (*resume)(struct coll_net *net);
};

/**
 * struct coll_peer_addr - what CONNECT keeps of an address
 * @in6: IPv6; or of IPv4, at its beginning
 * @offers: what is at COLLECTIVE_ADDR_OFFERS
 */
struct coll_peer_addr {
	struct sockaddr_in6 in6;
	u32 offers;
};

/*
 * Listeners of a member:
 * LOCAL: of lower ranks in this kernel; closed if the member wishes TCP or RDMA
 * RDMA: closed if coll_net.rdma is NULL, or with that of TCP
 * TCP: closed once all ranks are known to be in coll_net.hub
 */
enum coll_listener_kind {
	COLL_LISTENER_LOCAL,
	COLL_LISTENER_RDMA,
	COLL_LISTENER_TCP,
	COLL_LISTENERS,
};

/**
 * struct coll_listener - where calls by one transport come in, and how many are half open
 * @ep: the endpoint
 * @net: of the member [c]
 * @nr_silent: half-open connections that were not answered [C]
 * @nr_proving: half-open connections that were answered and have not proved the secret [C]
 * @waits: true if in this run one was not answered, because there is no place to prove the secret
 *	[C]
 *
 * Each count is at most coll_callers_max(), @nr_proving in groups with a secret.  So callers by one
 * transport take no place of another one, and callers that say nothing take none of those that do.
 */
struct coll_listener {
	struct coll_endpoint ep;
	struct coll_net *net;
	u32 nr_silent;
	u32 nr_proving;
	bool waits;
};

/**
 * struct coll_net - connections of a member
 * @id: of the member [c]
 * @state: of the member [c]
 * @charges: connections and links are charged to [c]
 * @control: the control runner [c]
 * @ops: of the rooms above [c]
 * @cred: credentials of the process that joined; connections are made with them [c]
 * @wish: enum collective_transport: which transports its links may use [c]
 * @hub: where ranks of this kernel are found [c]
 * @ns: network namespace of the group [c]
 * @addr: address that the listener by TCP was bound to; names this rank [c]
 * @listeners: accept connections of lower ranks, one for each transport [C]
 * @rdma: the transport, if this rank offers RDMA: a reference to its module; else NULL [c]
 * @no_rdma: enum collective_link_choice: why it does not, if @wish is AUTO [c]
 * @try_ns: time in which connections by RDMA have to stand, if TCP would do; written by CONNECT [c]
 * @falls_back: true if coll_link.try_error of some link may not be 0 [a]
 * @listener_events: of all listeners: bit (1 << enum coll_event) [a]
 * @handshakes: connections that are not open yet [C]
 * @nr_half_open: of these, the number of those that peers have made, or that this rank has made
 *	again; written by [C] [a]
 * @new_conns: connections begun by CONNECT or by an operation, not yet in @handshakes [l]
 * @link_mutex: one thread of the process connects links, or has their rings grow for its requests,
 *	at a time.  Its holder may wait for memory, so the control runner does not wait for it:
 *	coll_net_unlock_links(); taken after the member's mutex
 * @tx_ops: requests in flight for whose frames all links have space, a power of two; 0: the member
 *	has submitted nothing; changed under @link_mutex and [l] [a]
 * @links: by rank; NULL: none.  Set once, under [l] [a]; JOIN makes those to the neighbours
 * @link_list: the same as a list; links are added at its end under [l], and removed by the teardown
 *	only
 * @nr_links: entries of it; written under [l] [a]
 * @nr_required: links that CONNECT waits for [c]
 * @nr_required_open: of these, complete ones [l]
 * @peers: listening address by rank; set once, by CONNECT [a]
 * @resting: true if nothing is in flight and the member has stopped to tick: coll_net_resume();
 *	written under [l] [a]
 * @unused: data connections without a stream [a]
 * @any_refused: true if coll_link.refused_mask of some link is not 0 [a]
 * @tx_pending: true if control frames are queued that the control runner has not seen [a]
 * @tx_low: true if the ring of some link may be low: coll_tx_ring_is_low() [a]
 * @query: queries of this rank, and those of others that it takes part in
 * @rejected: calls that did not come from a rank of the group, or were refused or ended for want
 *	of a place or of memory [a]
 * @secured: true if the group has a secret [c]
 * @secret: the secret; wiped by the teardown [c]
 */
struct coll_net {
	const struct coll_ident *id;
	struct coll_member_state *state;
	struct coll_charges *charges;
	struct coll_runner *control;
	const struct coll_net_ops *ops;
	const struct cred *cred;
	u32 wish;
	struct coll_local_hub *hub;
	struct net *ns;
	struct sockaddr_storage addr;
	struct coll_listener listeners[COLL_LISTENERS];
	const struct coll_transport *rdma;
	u32 no_rdma;
	u64 try_ns;
	bool falls_back;
	unsigned long listener_events;
	struct list_head handshakes;
	u32 nr_half_open;
	struct list_head new_conns;
	struct mutex link_mutex;
	u32 tx_ops;
	struct coll_link **links;
	struct list_head link_list;
	u32 nr_links;
	u32 nr_required;
	u32 nr_required_open;
	struct coll_peer_addr *peers;
	bool resting;
	atomic_t unused;
	bool any_refused;
	bool tx_pending;
	bool tx_low;
	struct coll_net_query query;
	atomic64_t rejected;
	bool secured;
	u8 secret[COLLECTIVE_SECRET_SIZE];
};

/* net.c */
void coll_net_init(struct coll_net *net, const struct coll_ident *id,
		   struct coll_member_state *state,
		   struct coll_charges *charges, struct coll_runner *control,
		   const struct coll_net_ops *ops);
bool coll_net_has_leases(const struct coll_net *net);
bool coll_net_is_connecting(const struct coll_net *net);
bool coll_net_has_pings(const struct coll_net *net);
void coll_net_shrink(struct coll_net *net);
int coll_net_reserve(struct coll_net *net, u32 ops);
void coll_peer_addr_set(struct coll_peer_addr *peer, const struct sockaddr_storage *addr);
void coll_peer_addr_get(const struct coll_peer_addr *peer, struct sockaddr_storage *addr);

int coll_net_listen(struct coll_net *net, struct sockaddr_storage *addr);
void coll_net_close_listener(struct coll_net *net);
bool coll_net_accepts(const struct coll_net *net, const struct coll_transport *transport);
void coll_net_try_up(struct coll_net *net);
void coll_net_take_new_conns(struct coll_net *net);
void coll_net_run_handshakes(struct coll_net *net, bool heartbeat, u64 now);
void coll_net_make_space(struct coll_net *net);
bool coll_net_run_links(struct coll_net *net);
void coll_net_heartbeat(struct coll_net *net, u64 now);
void coll_net_send_abort(struct coll_net *net);
void coll_net_send_leave(struct coll_net *net);
void coll_net_close(struct coll_net *net);
void coll_net_flush_until(struct coll_net *net, unsigned long until);
void coll_net_free_links(struct coll_net *net, bool reset);

/* refused.c */
void coll_net_count_refused(struct coll_net *net, const struct sockaddr_storage *caller, int err);

/* choice.c */
void coll_addr_offer_rdma(struct sockaddr_storage *addr);
void coll_net_fall_back(struct coll_net *net);
void coll_net_unlock_links(struct coll_net *net);

/**
 * coll_net_resume() - let the member tick again: it submits, is called, or must probe a peer
 * @net: of the member, locked
 *
 * Context: any.
 */
static inline void coll_net_resume(struct coll_net *net)
{
	if (!net->resting)
		return;
	WRITE_ONCE(net->resting, false);
	net->ops->resume(net);
}

#endif /* COLL_NET_H */
