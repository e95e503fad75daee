/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_LINK_H
#define COLL_LINK_H

#include <linux/rculist.h>
#include <linux/spinlock.h>

#include <linux/collective.h>
#include <linux/collective_netlink.h>

#include "core/wire/wire.h"
#include "fail/member_state.h"
#include "net/mailbox.h"
#include "net/net.h"
#include "net/tx_ring.h"

struct coll_conn;

/* Bit of coll_link.refused_mask for the control connection, above those of the lanes. */
#define COLL_REFUSED_CONTROL	COLLECTIVE_LANES_MAX

/* How many of the latest times of PING are kept. */
#define COLL_LINK_RTTS	8

/**
 * struct coll_link - connections to one peer: one for control frames, one for each lane's data
 * @node: in coll_net.link_list [c]
 * @net: of the member [c]
 * @peer: rank of the peer [c]
 * @transport: of its connections; NULL: none has begun; set by this rank if it connects, else by
 *	the first connection that is accepted [a]
 * @choice: enum collective_link_choice: why it is this transport [a]
 * @tries: true while its connections are made by RDMA, and may be made by TCP instead; set under
 *	@link_mutex before the first of them is made, cleared by the control runner [a]
 * @tries_until: time of the end of that, ns; likewise
 * @nr_standing: of these connections, how many are made [C]
 * @try_error: negative errno for which they are going to be made by TCP [a]
 * @charged: bytes charged for it and @mailboxes; returned when it is freed [c]
 * @control: the control connection; set once [C] [a]
 * @required: true if CONNECT waits for it: the peer is a neighbour on the ring or in the rounds
 *	of matching [c]
 * @nr_connecting: connections that this rank has begun, the control connection first and then by
 *	lane; all of them at 1 + lanes; written under coll_net.link_mutex [a]
 * @data: data connections by lane; set once [a]
 * @refused_mask: bit (1 << lane), and COLL_REFUSED_CONTROL, of connections made on demand that
 *	could not be opened [a]
 * @why: reason of the first of these; written before its bit [C]
 * @mailboxes: by lane
 * @nmailboxes: number of these; the lanes are gone before the link [c]
 * @nr_open: connections that have been opened [C] [a]
 * @missed_heartbeats: heartbeats since the last frame of the peer [C]
 * @unanswered_beats: by lane: heartbeats in which bytes on the data connection were not
 *	acknowledged and the peer acknowledged nothing [C]
 * @rtt_us: latest times from a PING to its PONG, at least 1; 0: there were not so many yet [C]
 * @next_rtt: the place in @rtt_us that is written next [C]
 * @submitted_told: number in the latest PING to the peer [C]
 * @lease: time until which the peer waits for this rank, ns; not used if the link is local [a]
 * @next_tx_msg: messages without a key sent to this peer so far [l]
 * @next_rx_msg: messages without a key received from this peer so far [l]
 * @peer_left: true if the peer has sent LEAVE [a]
 * @leave_timed_out: true if the connections should have ended since, and have not [a]
 * @peer_fenced: true if the peer can no longer report success for an operation of this group: it
 *	has sent the group's ABORT or closed its control connection in order.  Pages that it
 *	may read may be unpinned.  Written by the control runner, read by lanes [a]
 * @down_heartbeats: heartbeats since a data connection was found down [C]
 * @abort_sent_kind: kind of the reason sent last [C]
 * @calls_instance: instance of @calls plus one; 0: none [C]
 * @calls: calls of two ranks, received ahead of the ABORT of a mismatch [C]
 * @tx_ring: control frames to be sent
 * @tx_overflow: true if a frame had no space [a]
 * @rx_paused: true if no further frame is received in this run, because a ring is low [C]
 * @resend_due: true if a PING has come, so that what was lost is to be sent again [C]
 */
struct coll_link {
	struct list_head node;
	struct coll_net *net;
	u32 peer;
	const struct coll_transport *transport;
	u32 choice;
	bool tries;
	u64 tries_until;
	u32 nr_standing;
	int try_error;
	u32 charged;
	bool required;
	u32 nr_connecting;
	struct coll_conn *control;
	struct coll_conn *data[COLLECTIVE_LANES_MAX];
	unsigned long refused_mask;
	struct coll_reason why;
	struct coll_mailbox *mailboxes;
	u32 nmailboxes;
	u32 nr_open;
	u32 missed_heartbeats;
	u8 unanswered_beats[COLLECTIVE_LANES_MAX];
	u32 rtt_us[COLL_LINK_RTTS];
	u32 next_rtt;
	u64 submitted_told;
	u64 lease;
	u64 next_tx_msg;
	u64 next_rx_msg;
	bool peer_left;
	bool leave_timed_out;
	bool peer_fenced;
	u32 down_heartbeats;
	u32 abort_sent_kind;
	u64 calls_instance;
	struct coll_rank_call calls[2];
	struct coll_tx_ring tx_ring;
	bool tx_overflow;
	bool rx_paused;
	bool resend_due;
};

/* Links are added while this runs; none is removed before all runners have stopped. */
#define coll_for_each_link(link, net)					\
	list_for_each_entry_lockless(link, &(net)->link_list, node)

/* link.c */
int coll_link_setup(void);
void coll_link_cleanup(void);
int coll_link_new(struct coll_net *net, u32 peer, bool required);
struct coll_link *coll_link_get(const struct coll_net *net, u32 peer);
int coll_link_begin(struct coll_link *link);
bool coll_link_can_retry(int err);
int coll_link_connect(struct coll_link *link);
int coll_link_ensure(struct coll_net *net, u32 peer);
int coll_link_takes(const struct coll_link *link, const struct coll_conn *conn);
int coll_link_attach_conn(struct coll_link *link, struct coll_conn *conn);
void coll_link_run(struct coll_link *link);
void coll_link_flush_until(struct coll_link *link, unsigned long until);
void coll_link_free(struct coll_link *link, bool reset);

/* choice.c */
int coll_link_agree(struct coll_link *link, const struct sockaddr_storage *addr);
int coll_link_choose(struct coll_link *link, const struct sockaddr_storage *addr);
void coll_link_chosen(struct coll_link *link, const struct coll_transport *transport);
bool coll_link_cannot(struct coll_link *link, int err);

/* refused.c */
void coll_link_failed(struct coll_link *link, u32 bit, int err);

/* link_tx.c */
void coll_link_queue_frame(struct coll_link *link, const struct coll_control *control);
bool coll_link_queue_spare(struct coll_link *link, const struct coll_control *control);
void coll_link_queue_failure(struct coll_link *link, u64 instance,
			     const struct coll_failure *failure);
void coll_link_send(struct coll_link *link);

/* link_rx.c */
void coll_link_receive(struct coll_link *link);
u32 coll_link_rtt_us(const struct coll_link *link);
extern const struct coll_endpoint_ops coll_link_endpoint_ops;

/* heartbeat.c */
void coll_link_resend(struct coll_link *link, u32 parts);
void coll_link_ping(struct coll_link *link, u64 now);
void coll_link_heartbeat(struct coll_link *link, u64 now);

#endif /* COLL_LINK_H */
