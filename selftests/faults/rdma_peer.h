/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A peer by RDMA that is a program of librdmacm, for messages that no rank of the module sends.
 *
 * Messages are those of kmod/transport/rdma/rdma.h; the Makefile reads COLL_RDMA_MAGIC there.
 */
#ifndef COLL_RDMA_PEER_H
#define COLL_RDMA_PEER_H

#include <linux/types.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Slots, for messages that are sent and for those that come, and bytes of each. */
#define RDMA_PEER_SLOTS		16
#define RDMA_PEER_SENT		1024
#define RDMA_PEER_SLOT		512

/* Reads in progress that a peer offers in each direction when it calls. */
#define RDMA_PEER_READS		4
extern unsigned int rdma_peer_depth;

enum rdma_kind {
	RDMA_BYTES,
	RDMA_CREDIT,
	RDMA_END,
	RDMA_REFERENCE,
	RDMA_RETURN,
	RDMA_UNKNOWN = 99,
};

struct rdma_hello {
	__u32 magic;
	__u32 slot_bytes;
	__u16 credits;
	__u8 bulk;
	__u8 reads;
};

struct rdma_head {
	__u16 credits;
	__u8 kind;
	__u8 zero[5];
};

struct rdma_reference {
	__u64 addr;
	__u32 key;
	__u32 len;
};

/**
 * struct rdma_peer - a connection of the peer
 * @channel: events of the connection manager
 * @id: its identifier, with a queue pair
 * @mr: memory region of @sent and @slots
 * @nsent: number of messages sent
 * @bytes: bytes of the oldest message that were not read
 * @left: number of these
 * @sent: messages that are sent, in turn
 * @slots: room for messages that come; none is used twice
 */
struct rdma_peer {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	unsigned int nsent;
	const __u8 *bytes;
	unsigned int left;
	__u8 sent[RDMA_PEER_SLOTS][RDMA_PEER_SENT];
	__u8 slots[RDMA_PEER_SLOTS][RDMA_PEER_SLOT];
};

/* Of a control connection that keeps to the protocol. */
extern const struct rdma_hello rdma_hello_good;

/* The next event of the connection manager, or -1 if none comes in time. */
int rdma_peer_event(struct rdma_peer *peer, unsigned int ms);

/* Call without waiting for the answer.  Return: 0, or why that is not possible. */
int rdma_peer_call(struct rdma_peer *peer, const struct sockaddr_storage *addr, const void *hello,
		   size_t len);

/* Return: the last event: RDMA_CM_EVENT_ESTABLISHED, or why there is no connection. */
int rdma_peer_connect(struct rdma_peer *peer, const struct sockaddr_storage *addr,
		      const void *hello, size_t len);

/* Has the other end ended the connection?  It may have done so before it knew that it stands. */
bool rdma_peer_ended(struct rdma_peer *peer, unsigned int ms);

/* Send a message of @len bytes, of which those behind its head are zero.  Return: 0 or -errno. */
int rdma_peer_send(struct rdma_peer *peer, enum rdma_kind kind, unsigned int credits, size_t len);

/* Send a message with these bytes behind its head.  Return: 0 or -errno. */
int rdma_peer_send_bytes(struct rdma_peer *peer, enum rdma_kind kind, const void *bytes,
			 size_t len);

/* Send a message that has the other end's device invalidate a key.  Return: 0 or -errno. */
int rdma_peer_invalidate(struct rdma_peer *peer, enum rdma_kind kind, unsigned int credits,
			 __u32 key);

/*
 * Take the next message; its bytes are those that rdma_peer_receive() reads.  Return: its kind, or
 * a negative errno.
 */
int rdma_peer_message(struct rdma_peer *peer, unsigned int ms);

/* Read @len bytes of the stream.  Return: 0 or a negative errno. */
int rdma_peer_receive(struct rdma_peer *peer, void *bytes, size_t len, unsigned int ms);

/* Nothing is done if it is closed. */
void rdma_peer_close(struct rdma_peer *peer);

#endif /* COLL_RDMA_PEER_H */
