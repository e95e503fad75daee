// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "faults/rdma_peer.h"
#include "lib/group.h"

/* Time for each step of a connection, on a slow machine; ms. */
#define STEP_MS		5000

unsigned int rdma_peer_depth = RDMA_PEER_READS;

const struct rdma_hello rdma_hello_good = {
	.magic = COLL_RDMA_MAGIC,
	.slot_bytes = RDMA_PEER_SLOT,
	.credits = RDMA_PEER_SLOTS / 2,
};

int rdma_peer_event(struct rdma_peer *peer, unsigned int ms)
{
	struct pollfd poller = { .fd = peer->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int kind;

	if (poll(&poller, 1, ms) != 1 || rdma_get_cm_event(peer->channel, &event))
		return -1;
	kind = event->event;
	rdma_ack_cm_event(event);
	return kind;
}

static int peer_make_qp(struct rdma_peer *peer)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 64, .max_recv_wr = RDMA_PEER_SLOTS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	int i;

	if (rdma_create_qp(peer->id, NULL, &attr))
		return -errno;
	peer->mr = rdma_reg_msgs(peer->id, peer->sent, sizeof(peer->sent) + sizeof(peer->slots));
	if (!peer->mr)
		return -errno;
	for (i = 0; i < RDMA_PEER_SLOTS; i++)
		if (rdma_post_recv(peer->id, peer->slots[i], peer->slots[i], RDMA_PEER_SLOT,
				   peer->mr))
			return -errno;
	return 0;
}

int rdma_peer_call(struct rdma_peer *peer, const struct sockaddr_storage *addr, const void *hello,
		   size_t len)
{
	struct rdma_conn_param param = {
		.private_data = hello,
		.private_data_len = len,
		.responder_resources = rdma_peer_depth,
		.initiator_depth = rdma_peer_depth,
		.retry_count = 7,
	};
	int event;

	memset(peer, 0, sizeof(*peer));
	peer->channel = rdma_create_event_channel();
	if (!peer->channel ||
	    rdma_create_id(peer->channel, &peer->id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(peer->id, NULL, (struct sockaddr *)addr, STEP_MS))
		return -1;
	event = rdma_peer_event(peer, STEP_MS);
	if (event != RDMA_CM_EVENT_ADDR_RESOLVED || rdma_resolve_route(peer->id, STEP_MS))
		return event ? event : -1;
	event = rdma_peer_event(peer, STEP_MS);
	if (event != RDMA_CM_EVENT_ROUTE_RESOLVED || peer_make_qp(peer) ||
	    rdma_connect(peer->id, &param))
		return event ? event : -1;
	return 0;
}

int rdma_peer_connect(struct rdma_peer *peer, const struct sockaddr_storage *addr,
		      const void *hello, size_t len)
{
	int err = rdma_peer_call(peer, addr, hello, len);

	return err ? err : rdma_peer_event(peer, STEP_MS);
}

bool rdma_peer_ended(struct rdma_peer *peer, unsigned int ms)
{
	int event = rdma_peer_event(peer, ms);

	return event == RDMA_CM_EVENT_DISCONNECTED || event == RDMA_CM_EVENT_REJECTED;
}

static struct rdma_head *peer_next(struct rdma_peer *peer, enum rdma_kind kind,
				   unsigned int credits)
{
	struct rdma_head *head = (void *)peer->sent[peer->nsent++ % RDMA_PEER_SLOTS];

	memset(head, 0, RDMA_PEER_SENT);
	head->credits = credits;
	head->kind = kind;
	return head;
}

int rdma_peer_send(struct rdma_peer *peer, enum rdma_kind kind, unsigned int credits, size_t len)
{
	struct rdma_head *head = peer_next(peer, kind, credits);

	return rdma_post_send(peer->id, NULL, head, len, peer->mr, 0) ? -errno : 0;
}

int rdma_peer_send_bytes(struct rdma_peer *peer, enum rdma_kind kind, const void *bytes,
			 size_t len)
{
	struct rdma_head *head = peer_next(peer, kind, 0);

	memcpy(head + 1, bytes, len);
	len += sizeof(*head);
	return rdma_post_send(peer->id, NULL, head, len, peer->mr, 0) ? -errno : 0;
}

int rdma_peer_invalidate(struct rdma_peer *peer, enum rdma_kind kind, unsigned int credits,
			 __u32 key)
{
	struct rdma_head *head = peer_next(peer, kind, credits);
	struct ibv_sge sge = {
		.addr = (uintptr_t)head,
		.length = sizeof(*head),
		.lkey = peer->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = key,
	};
	struct ibv_send_wr *bad;

	return -ibv_post_send(peer->id->qp, &wr, &bad);
}

int rdma_peer_message(struct rdma_peer *peer, unsigned int ms)
{
	const __u64 end = now_ms() + ms;
	const struct rdma_head *head;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(peer->id->recv_cq, 1, &wc))) {
		if (now_ms() >= end)
			return -ETIMEDOUT;
		sleep_ms(1);
	}
	if (n < 0 || wc.status != IBV_WC_SUCCESS || wc.byte_len < sizeof(*head))
		return -ECONNRESET;
	head = (const void *)(uintptr_t)wc.wr_id;
	peer->bytes = (const void *)(head + 1);
	peer->left = wc.byte_len - sizeof(*head);
	return head->kind;
}

int rdma_peer_receive(struct rdma_peer *peer, void *bytes, size_t len, unsigned int ms)
{
	__u8 *to = bytes;

	while (len) {
		unsigned int n = len < peer->left ? len : peer->left;

		memcpy(to, peer->bytes, n);
		to += n;
		len -= n;
		peer->bytes += n;
		peer->left -= n;
		if (len) {
			int kind = rdma_peer_message(peer, ms);

			if (kind < 0)
				return kind;
		}
	}
	return 0;
}

void rdma_peer_close(struct rdma_peer *peer)
{
	if (peer->id && peer->id->qp) {
		rdma_disconnect(peer->id);
		rdma_destroy_qp(peer->id);
	}
	if (peer->mr)
		rdma_dereg_mr(peer->mr);
	if (peer->id)
		rdma_destroy_id(peer->id);
	if (peer->channel)
		rdma_destroy_event_channel(peer->channel);
	memset(peer, 0, sizeof(*peer));
}
