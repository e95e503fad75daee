/* SPDX-License-Identifier: GPL-2.0-only */
/* What protects a field, [c] and so on: coll.h. */
#ifndef COLL_CONN_H
#define COLL_CONN_H

#include <linux/list.h>
#include <linux/socket.h>

#include "core/engine/engine.h"
#include "transport/transport.h"

struct coll_link;
struct coll_mailbox;
struct coll_member;
struct coll_runner;

enum coll_conn_state {
	COLL_CONN_CONNECTING,	/* the transport is */
	COLL_CONN_GREETING,	/* our HELLO is leaving or theirs is awaited */
	COLL_CONN_PROVING,	/* the caller's confirmation is on its way */
	COLL_CONN_OPEN,
	COLL_CONN_DOWN,
};

/**
 * struct coll_conn - a connection
 * @ep: its end of it
 * @charged: bytes charged for it and its stream, but not for @ep; returned when it is freed
 * @member: [c]
 * @link: once it is known whose it is
 * @runner: who serves it: first the control runner, then perhaps a lane's
 * @node: in the member's list of greeting ones [C], or the lane's list [L]
 * @state: enum coll_conn_state, owned by @runner
 * @kind: enum coll_conn_kind
 * @lane: of a data connection
 * @outgoing: we called
 * @peer: rank, once known
 * @events: bit (1 << enum coll_event) [a]
 * @created_ns: when it was made, ns
 * @buf: HELLO or control frame that is arriving
 * @rx_len: bytes of it
 * @hello: HELLO that is leaving; while PROVING, of who is called: that has to come
 * @hello_tx_left: bytes of it that have not left
 * @answer_built: of who is called: our answer is in @hello
 * @tx_blocked: the transport takes no more for now
 * @tx_wanted: of a data connection: there is something to send
 * @budget: of a data connection: what may still be taken from it now, bytes [L]
 * @stream: of a data connection [L]
 * @mailbox: of a data connection: its link's
 * @down: of a data connection: it is [a]
 * @tx_broken: of a data connection: nothing can be sent on it [L]
 * @peer_departed: its peer had left when this run of the lane began [L]
 */
struct coll_conn {
	struct coll_endpoint ep;
	u32 charged;
	struct coll_member *member;
	struct coll_link *link;
	struct coll_runner *runner;
	struct list_head node;
	enum coll_conn_state state;
	u8 kind;
	u8 lane;
	bool outgoing;
	u32 peer;
	unsigned long events;
	u64 created_ns;
	u8 buf[COLL_HELLO_SIZE];
	u32 rx_len;
	u8 hello[COLL_HELLO_SIZE];
	u32 hello_tx_left;
	bool answer_built;
	bool tx_blocked;
	bool tx_wanted;
	s64 budget;
	struct coll_stream *stream;
	struct coll_mailbox *mailbox;
	bool down;
	bool tx_broken;
	bool peer_departed;
};

/* conn.c */
int coll_conn_listen(struct coll_member *member, struct sockaddr_storage *addr);
int coll_conn_connect(struct coll_link *link, u8 kind, u8 lane,
		      const struct sockaddr_storage *addr);
void coll_conn_accept(struct coll_member *member);
void coll_conn_handshake(struct coll_conn *conn, u64 now);
void coll_conn_finish(struct coll_conn *conn, unsigned long until);
void coll_conn_free(struct coll_conn *conn, bool reset);

/* auth.c */
int coll_auth_answer(const struct coll_member *member, const u8 *call, u8 *answer);
int coll_auth_check_answer(const struct coll_member *member, const u8 *call, const u8 *answer);
int coll_auth_confirm(const struct coll_member *member, const u8 *call, const u8 *answer,
		      u8 *confirm);

#endif /* COLL_CONN_H */
