/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rank made of nothing but sockets, for what no honest one does.  It is of a lower
 * number than the one that it calls.
 */
#ifndef COLL_RAW_PEER_H
#define COLL_RAW_PEER_H

#include <linux/collective.h>
#include <linux/types.h>
#include <sys/socket.h>

struct coll_control;

/**
 * struct raw_peer - its connections
 * @control: socket
 * @data: sockets, by lane
 * @lanes: of the group
 * @incarnation: of the group
 */
struct raw_peer {
	int control;
	int data[COLLECTIVE_LANES_MAX];
	__u32 lanes;
	__u32 incarnation;
};

/**
 * struct raw_peer_config - whom it calls
 * @addr: where
 * @name: of the group
 * @id: of the group
 * @from: its own rank
 * @to: the other's
 * @nranks: how many there are
 * @lanes: of the group; 0: one
 * @inflight: as QUERY says
 * @secret: of the group; NULL: there is none
 */
struct raw_peer_config {
	const struct sockaddr_storage *addr;
	const char *name;
	__u64 id;
	__u32 from;
	__u32 to;
	__u32 nranks;
	__u32 lanes;
	__u32 inflight;
	const __u8 *secret;
};

/* The call of a connection: HELLO bytes; @kind: enum coll_conn_kind. */
void raw_peer_hello(const struct raw_peer_config *call, int kind, __u32 lane, __u8 *hello);
/* Say that and what has to follow: the socket, or a negative errno. */
int raw_peer_dial(const struct raw_peer_config *call, const __u8 *hello);

/* All return 0 or a negative errno. */
int raw_peer_connect(struct raw_peer *peer, const struct raw_peer_config *call);
int raw_peer_send_control(const struct raw_peer *peer, const struct coll_control *control);
int raw_peer_grant(const struct raw_peer *peer, __u64 instance, const struct collective_op *op);
int raw_peer_ping(const struct raw_peer *peer);
int raw_peer_announce(const struct raw_peer *peer, __u64 round);
/* Say that ranks have called the first operation, @op: see ANNOUNCE. */
int raw_peer_announce_op(const struct raw_peer *peer, __u64 round, const struct collective_op *op);
int raw_peer_payload(const struct raw_peer *peer, __u64 instance);
int raw_peer_leave(const struct raw_peer *peer);
/* One data frame of the first lane, whose payload is of @len bytes. */
int raw_peer_receive(const struct raw_peer *peer, void *payload, size_t len);

/* Read until the other says goodbye, or to the end; both return 0 or a negative errno. */
int raw_peer_wait_leave(const struct raw_peer *peer);
int raw_peer_wait_end(const struct raw_peer *peer);

void raw_peer_close(struct raw_peer *peer);

#endif /* COLL_RAW_PEER_H */
