/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CONN_H
#define COLL_CONN_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/socket.h>

#include "core/engine/engine.h"
#include "transport/transport.h"

struct coll_link;
struct coll_listener;
struct coll_mailbox;
struct coll_net;
struct coll_runner;

/* The life of a connection: coll_conn_set_state(). */
enum coll_conn_state {
	COLL_CONN_CONNECTING,	/* the transport connects */
	COLL_CONN_LOST,		/* the peer has needed its place; to be made again */
	COLL_CONN_HELLO,	/* until the reply has come; accepting side: until the call has */
	COLL_CONN_REPLYING,	/* accepting side: the reply is sent */
	COLL_CONN_PROVING,	/* the caller's confirmation is sent and received */
	COLL_CONN_OPEN,
	COLL_CONN_BROKEN,	/* nothing can be sent; the frames that have come are received */
	COLL_CONN_DOWN,		/* nothing is received any more */
	COLL_CONN_STATES
};

/**
 * struct coll_handshake - HELLOs of a connection that is not open yet
 * @in: HELLO being received
 * @out: HELLO being sent; in state PROVING on the accepting side: the HELLO that must come
 * @since_ns: time at which the connection was made, or at which the call was answered, ns
 * @listener: of an incoming connection: where its place is; NULL: it has none any more
 * @evicted: true if it is to give its place to another one, unless it needs that no more
 * @from: of an incoming connection: address of its caller, of IPv4 as IPv6 maps it; all 0: none
 * @calls_again: number of times that this rank has made the connection again
 * @again_ns: time before which it is not made again
 */
struct coll_handshake {
	u8 in[COLL_HELLO_SIZE];
	u8 out[COLL_HELLO_SIZE];
	u64 since_ns;
	struct coll_listener *listener;
	bool evicted;
	struct in6_addr from;
	u32 calls_again;
	u64 again_ns;
};

/**
 * struct coll_conn - one connection to a peer
 * @ep: its endpoint.  Its @ops are those of the handshake until the connection is open, then
 *	those of the link or of the lane that owns it; published with @runner [a]
 * @charged: bytes charged for it and its stream, but not for @ep; returned when it is freed
 * @net: of the member [c]
 * @link: of the peer; NULL until the peer is known
 * @runner: its owner: the control runner, or a lane's runner after a data connection is open [a]
 * @node: in coll_net.handshakes [C], or in the list of the lane [L]
 * @state: enum coll_conn_state, written by @runner [a]
 * @kind: enum coll_conn_kind
 * @lane: index of the lane of a data connection
 * @outgoing: true if this rank has made the connection
 * @stands: true if it counts in coll_link.nr_standing
 * @peer: rank of the peer, once known
 * @events: bit (1 << enum coll_event) [a]
 * @handshake: its HELLOs; NULL: it is open
 * @frame: control frame being received
 * @rx_len: bytes of @frame, or of the HELLO, that have come
 * @hello_tx_left: bytes of the HELLO that have not been sent
 * @tx_blocked: true if the transport accepts no more until it is writable
 * @tx_wanted: data connection: true if the engine has something to send [L]
 * @budget: data connection: bytes that may still be received in this round [L]
 * @stream: data connection: its engine stream; NULL: it was not used.  Set once, by its lane [a]
 * @spare: data connection: memory for @stream, reserved by a thread that submits; NULL: none [a]
 * @wanted: data connection: true if its stream is to be made [L]
 * @mailbox: data connection: the mailbox of its lane in the link
 * @peer_departed: data connection: true if the peer had left when this run of the lane began [L]
 */
struct coll_conn {
	struct coll_endpoint ep;
	u32 charged;
	struct coll_net *net;
	struct coll_link *link;
	struct coll_runner *runner;
	struct list_head node;
	enum coll_conn_state state;
	u8 kind;
	u8 lane;
	bool outgoing;
	bool stands;
	u32 peer;
	unsigned long events;
	struct coll_handshake *handshake;
	u8 frame[COLL_CONTROL_SIZE];
	u32 rx_len;
	u32 hello_tx_left;
	bool tx_blocked;
	bool tx_wanted;
	s64 budget;
	struct coll_stream *stream;
	struct coll_stream *spare;
	bool wanted;
	struct coll_mailbox *mailbox;
	bool peer_departed;
};

/* Is nothing received on a connection any more? */
static inline bool coll_conn_is_down(const struct coll_conn *conn)
{
	return READ_ONCE(conn->state) == COLL_CONN_DOWN;
}

/* conn.c */
int coll_conn_setup(void);
void coll_conn_cleanup(void);
struct coll_conn *coll_conn_new(struct coll_net *net);
void coll_conn_set_state(struct coll_conn *conn, enum coll_conn_state state);
int coll_conn_reserve(struct coll_conn *conn);
void coll_conn_drop_spare(struct coll_conn *conn);
struct coll_stream *coll_conn_take_stream(struct coll_conn *conn);
void coll_conn_end_handshake(struct coll_conn *conn);
void coll_conn_finish(struct coll_conn *conn, unsigned long until);
void coll_conn_delete(struct coll_conn *conn);
void coll_conn_free(struct coll_conn *conn, bool reset);

/* handshake.c */
int coll_conn_connect(struct coll_link *link, u8 kind, u8 lane,
		      const struct sockaddr_storage *addr);
void coll_conn_handshake(struct coll_conn *conn, u64 now);
void coll_conn_drop_outgoing(struct coll_link *link);
extern const struct coll_endpoint_ops coll_handshake_ops;

/* choice.c */
bool coll_conn_may_begin(struct coll_conn *conn, u64 now);

/* auth.c */
int coll_auth_reply(const struct coll_net *net, const u8 *call, u8 *reply);
int coll_auth_check_reply(const struct coll_net *net, const u8 *call, const u8 *reply);
int coll_auth_confirm(const struct coll_net *net, const u8 *call, const u8 *reply, u8 *confirm);

#endif /* COLL_CONN_H */
