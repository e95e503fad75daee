/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rank that consists of sockets only, for frames that no rank of the module sends. Its rank
 * number is lower than that of the rank it calls.
 */
#ifndef COLL_RAW_PEER_H
#define COLL_RAW_PEER_H

#include <linux/collective.h>
#include <linux/types.h>
#include <sys/socket.h>

struct coll_control;

/**
 * struct raw_peer - connections of the raw peer
 * @control: socket of the control connection
 * @data: sockets of the data connections, by lane
 * @lanes: number of lanes of the group
 * @incarnation: incarnation of the group
 */
struct raw_peer {
	int control;
	int data[COLLECTIVE_LANES_MAX];
	__u32 lanes;
	__u32 incarnation;
};

/**
 * struct raw_peer_config - the rank that is called, and the group
 * @addr: address of the rank that is called
 * @name: name of the group
 * @id: identifier of the group
 * @from: rank number of the raw peer
 * @to: rank number of the rank that is called
 * @nranks: number of ranks of the group
 * @lanes: number of lanes of the group; 0: one
 * @inflight: inflight_max as QUERY returns it
 * @secret: secret of the group; NULL: none
 * @wait_ms: how long to wait for an answer; 0: forever
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
	unsigned int wait_ms;
};

/* Make the call of a connection, HELLO_SIZE bytes; @kind: enum coll_conn_kind. */
void raw_peer_hello(const struct raw_peer_config *call, int kind, __u32 lane, __u8 *hello);
/*
 * Connect and complete the handshake. Return: the socket or a negative errno; -EAGAIN: there was no
 * answer.
 */
int raw_peer_dial(const struct raw_peer_config *call, const __u8 *hello);

/* All return 0 or a negative errno. */
int raw_peer_connect(struct raw_peer *peer, const struct raw_peer_config *call);
int raw_peer_send_control(const struct raw_peer *peer, const struct coll_control *control);
int raw_peer_grant(const struct raw_peer *peer, __u64 instance, const struct collective_op *op);
int raw_peer_ping(const struct raw_peer *peer);
int raw_peer_announce(const struct raw_peer *peer, __u64 round);
/* Announce @op as the first operation, called by the ranks of @round; see ANNOUNCE. */
int raw_peer_announce_op(const struct raw_peer *peer, __u64 round, const struct collective_op *op);
/* Wait for the member's announcement of a round; it can be sent again as that of the peer. */
int raw_peer_wait_announce(const struct raw_peer *peer, struct coll_control *control);
int raw_peer_payload(const struct raw_peer *peer, __u64 instance);
int raw_peer_leave(const struct raw_peer *peer);
/* Ask for credit up to @position, in @times frames at once. */
int raw_peer_blocked(const struct raw_peer *peer, __u64 position, unsigned int times);
/* Give as much credit on the first lane as there may be. */
int raw_peer_give_credit(const struct raw_peer *peer);
/* Say that there is more credit, which was not asked for. */
int raw_peer_answer(const struct raw_peer *peer);
/* Read until CREDIT. Return: its answer, or a negative errno. */
int raw_peer_wait_credit(const struct raw_peer *peer, __u64 *position);
/* Receive one data frame of the first lane, with a payload of @len bytes. */
int raw_peer_receive(const struct raw_peer *peer, void *payload, size_t len);

/* Read until LEAVE, or until the end of the connection. Both return 0 or a negative errno. */
int raw_peer_wait_leave(const struct raw_peer *peer);
int raw_peer_wait_end(const struct raw_peer *peer);

void raw_peer_close(struct raw_peer *peer);

#endif /* COLL_RAW_PEER_H */
