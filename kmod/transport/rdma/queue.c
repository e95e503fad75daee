// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work requests for a queue pair, and their completions.
 *
 * Messages are sent from the slots in turn, and complete in their order.  One in COLL_RDMA_SIGNAL
 * of them asks for a completion, which stands for those before it, too.
 */
#include <linux/string.h>

#include "transport/rdma/rdma.h"

/* Send slots that messages of bytes leave to the others. */
#define SEND_KEPT	2U

/* Completions that are taken from the device at once. */
#define POLL_BATCH	8

static_assert(!(COLL_RDMA_SEND_SLOTS & (COLL_RDMA_SEND_SLOTS - 1)));
static_assert(!(COLL_RDMA_READY & (COLL_RDMA_READY - 1)) && COLL_RDMA_READY >= COLL_RDMA_CREDITS);
static_assert(!(COLL_RDMA_REFS & (COLL_RDMA_REFS - 1)));
static_assert(!(COLL_RDMA_READS & (COLL_RDMA_READS - 1)));
static_assert(sizeof(struct coll_rdma_head) == 8);

static u64 slot_dma(const struct coll_rdma_slots *slots, u32 i)
{
	u32 per_page = PAGE_SIZE / slots->slot;

	return slots->dma[i / per_page] + i % per_page * slots->slot;
}

/**
 * coll_rdma_check_hello() - check what a peer tells when it connects
 * @hello: as it has come
 *
 * Return: 0 or -EPROTO.
 */
int coll_rdma_check_hello(const struct coll_rdma_hello *hello)
{
	if (le32_to_cpu(hello->magic) != COLL_RDMA_MAGIC || hello->bulk > 1 ||
	    hello->reads > hello->bulk ||
	    le32_to_cpu(hello->slot_bytes) < COLL_RDMA_SLOT_CONTROL ||
	    le16_to_cpu(hello->credits) < 2)
		return -EPROTO;
	return 0;
}

/**
 * coll_rdma_learn() - check what the peer has told when it connected
 * @conn: the connection, locked; @hello has come
 *
 * Return: 0 or -EPROTO.
 */
int coll_rdma_learn(struct coll_rdma_conn *conn)
{
	const struct coll_rdma_hello *hello = &conn->hello;
	u32 slot = le32_to_cpu(hello->slot_bytes), credits = le16_to_cpu(hello->credits);

	if (coll_rdma_check_hello(hello) || hello->bulk != conn->bulk)
		return -EPROTO;
	if (conn->bulk)
		conn->refs->enabled = hello->reads && conn->depth.in;
	conn->tx_slot = min(slot, conn->tx_slots.slot);
	conn->tx_credits = credits;
	return 0;
}

static int post_receive(struct coll_rdma_conn *conn, u32 slot)
{
	struct coll_rdma_slots *slots = &conn->rx_slots;
	struct ib_sge sge = {
		.addr = slot_dma(slots, slot),
		.length = slots->slot,
		.lkey = conn->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	ib_dma_sync_single_for_device(conn->id->device, sge.addr, sge.length, DMA_FROM_DEVICE);
	return ib_post_recv(conn->id->qp, &wr, NULL);
}

/**
 * coll_rdma_post_receives() - post all receive slots
 * @conn: the connection, locked; its queue pair is new
 *
 * Return: 0 or a negative errno.
 */
int coll_rdma_post_receives(struct coll_rdma_conn *conn)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < coll_rdma_recv_slots(conn->bulk); i++)
		err = post_receive(conn, i);
	return err;
}

/**
 * coll_rdma_repost() - post a receive slot again
 * @conn: the connection, locked; not released
 * @slot: index of the slot, whose message was consumed
 */
void coll_rdma_repost(struct coll_rdma_conn *conn, u32 slot)
{
	if (post_receive(conn, slot))
		coll_rdma_conn_end(conn, -ECONNRESET);
}

static u32 send_slots_free(const struct coll_rdma_conn *conn)
{
	return COLL_RDMA_SEND_SLOTS - (conn->tx_posted - conn->tx_done);
}

static bool needs_credit(enum coll_rdma_kind kind)
{
	return kind == COLL_RDMA_BYTES || kind == COLL_RDMA_REFERENCE;
}

/**
 * coll_rdma_next_slot() - memory for the bytes of the next message
 * @conn: the connection, locked
 * @kind: of the message
 *
 * Return: memory of @tx_slot less the head; NULL: no slot is free, or there is no credit.
 */
void *coll_rdma_next_slot(struct coll_rdma_conn *conn, enum coll_rdma_kind kind)
{
	u32 kept = kind == COLL_RDMA_END ? 0 : needs_credit(kind) ? SEND_KEPT : 1;

	if (send_slots_free(conn) <= kept || (needs_credit(kind) && !conn->tx_credits))
		return NULL;
	return coll_rdma_slot(&conn->tx_slots, conn->tx_posted % COLL_RDMA_SEND_SLOTS) +
	       sizeof(struct coll_rdma_head);
}

/* @key is what a return lets the peer's device invalidate. */
static int post_message(struct coll_rdma_conn *conn, enum coll_rdma_kind kind, u32 len, u32 key)
{
	u32 slot = conn->tx_posted % COLL_RDMA_SEND_SLOTS;
	struct coll_rdma_head *head = coll_rdma_slot(&conn->tx_slots, slot);
	struct ib_sge sge = {
		.addr = slot_dma(&conn->tx_slots, slot),
		.length = sizeof(*head) + len,
		.lkey = conn->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_id = COLL_RDMA_WR_SENT | (u32)(conn->tx_posted + 1),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = kind == COLL_RDMA_RETURN ? IB_WR_SEND_WITH_INV : IB_WR_SEND,
		.ex.invalidate_rkey = key,
	};
	int err;

	*head = (struct coll_rdma_head){
		.credits = cpu_to_le16(conn->rx_owed),
		.kind = kind,
	};
	if (kind == COLL_RDMA_END || kind == COLL_RDMA_REFERENCE ||
	    !((conn->tx_posted + 1) % COLL_RDMA_SIGNAL))
		wr.send_flags = IB_SEND_SIGNALED;
	ib_dma_sync_single_for_device(conn->id->device, sge.addr, sge.length, DMA_TO_DEVICE);
	err = ib_post_send(conn->id->qp, &wr, NULL);
	if (err) {
		coll_rdma_conn_end(conn, -ECONNRESET);
		return -ECONNRESET;
	}
	conn->tx_posted++;
	conn->tx_credits -= needs_credit(kind);
	conn->rx_owed = 0;
	return 0;
}

/**
 * coll_rdma_post() - send the message whose bytes are in the next slot
 * @conn: the connection, locked; not released
 * @kind: of the message, but COLL_RDMA_RETURN
 * @len: number of bytes behind the head
 *
 * Return: 0, or a negative errno: the connection has ended.
 */
int coll_rdma_post(struct coll_rdma_conn *conn, enum coll_rdma_kind kind, u32 len)
{
	return post_message(conn, kind, len, 0);
}

/**
 * coll_rdma_post_return() - return the reference that has been read
 * @conn: the connection, locked; not released
 * @key: its key, which the peer's device invalidates
 *
 * Return: 0, or a negative errno: the connection has ended.
 */
int coll_rdma_post_return(struct coll_rdma_conn *conn, u32 key)
{
	return post_message(conn, COLL_RDMA_RETURN, 0, key);
}

/**
 * coll_rdma_return_credits() - return credits by a message of their own, if they are many
 * @conn: the connection, locked; not released
 *
 * If no slot is free for it, a completion comes, and this is called again.
 */
void coll_rdma_return_credits(struct coll_rdma_conn *conn)
{
	if (conn->rx_owed >= COLL_RDMA_CREDITS / 2 && !conn->tx_ended &&
	    coll_rdma_next_slot(conn, COLL_RDMA_CREDIT))
		coll_rdma_post(conn, COLL_RDMA_CREDIT, 0);
}

/* Credits come back for what was sent only. */
static int take_credits(struct coll_rdma_conn *conn, u32 credits)
{
	if (credits > le16_to_cpu(conn->hello.credits) - conn->tx_credits)
		return -EPROTO;
	conn->tx_credits += credits;
	return 0;
}

/* Keep a message with bytes until they are consumed. */
static int keep_message(struct coll_rdma_conn *conn, u32 slot, u32 len, u8 kind)
{
	u32 least = sizeof(struct coll_rdma_head);
	u32 i;

	if (kind == COLL_RDMA_REFERENCE) {
		/* Told by the hello, and by the depth of reads. */
		if (!conn->bulk || !conn->depth.out)
			return -EPROTO;
		least += sizeof(struct coll_rdma_reference);
	}
	if (len <= least || conn->rx_head - conn->rx_tail >= COLL_RDMA_CREDITS)
		return -EPROTO;
	i = conn->rx_head++ % COLL_RDMA_READY;
	conn->rx_ready[i].slot = slot;
	conn->rx_ready[i].len = len;
	conn->rx_ready[i].kind = kind;
	return 0;
}

/* Return: 0 or a negative errno. */
static int take_message(struct coll_rdma_conn *conn, const struct ib_wc *wc)
{
	const struct coll_rdma_slots *slots = &conn->rx_slots;
	u32 slot = wc->wr_id, len = wc->byte_len;
	const struct coll_rdma_head *head = coll_rdma_slot(slots, slot);

	ib_dma_sync_single_for_cpu(conn->id->device, slot_dma(slots, slot), slots->slot,
				   DMA_FROM_DEVICE);
	if (len < sizeof(*head) || len > slots->slot || conn->rx_end)
		return -EPROTO;
	/* Only the key of what is returned may be invalidated. */
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE && head->kind != COLL_RDMA_RETURN)
		return -EPROTO;
	switch (head->kind) {
	case COLL_RDMA_BYTES:
	case COLL_RDMA_REFERENCE:
		return keep_message(conn, slot, len, head->kind) ?:
		       take_credits(conn, le16_to_cpu(head->credits));
	case COLL_RDMA_CREDIT: {
		u32 credits = le16_to_cpu(head->credits);

		/* So a peer causes no more of these than it has received messages. */
		if (!credits)
			return -EPROTO;
		/* Before its credits are used: see COLL_RDMA_SPARE. */
		coll_rdma_repost(conn, slot);
		return take_credits(conn, credits);
	}
	case COLL_RDMA_RETURN: {
		u32 credits = le16_to_cpu(head->credits);

		/* Before another payload is referred to, which the peer returns, too. */
		coll_rdma_repost(conn, slot);
		return coll_rdma_returned(conn, wc) ?: take_credits(conn, credits);
	}
	case COLL_RDMA_END:
		conn->rx_end = true;
		return 0;
	}
	return -EPROTO;
}

/* Return: 0, or the negative errno of the end. */
static int take_completion(struct coll_rdma_conn *conn, const struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		return -ECONNRESET;
	if (wc->wr_id & COLL_RDMA_WR_SENT)
		conn->tx_done = (u32)wc->wr_id;
	else if (wc->wr_id & COLL_RDMA_WR_READ)
		coll_rdma_read_complete(conn, wc->wr_id);
	else if (!(wc->wr_id & COLL_RDMA_WR_REGISTER))
		return take_message(conn, wc);
	return 0;
}

/**
 * coll_rdma_poll() - take what is complete
 * @conn: the connection, locked; not released
 *
 * Return: number of completions.
 */
u32 coll_rdma_poll(struct coll_rdma_conn *conn)
{
	struct ib_wc wc[POLL_BATCH];
	u32 done = 0;
	int i, n;

	/* At most all that is posted; more is posted by this only for messages of credits. */
	do {
		n = ib_poll_cq(conn->cq, POLL_BATCH, wc);
		for (i = 0; i < n; i++) {
			int err = take_completion(conn, &wc[i]);

			if (err)
				coll_rdma_conn_end(conn, err);
		}
		done += max(n, 0);
	} while (n == POLL_BATCH && done < 4 * (COLL_RDMA_RECV_SLOTS + COLL_RDMA_BULK_WORK));
	if (n < 0)
		coll_rdma_conn_end(conn, -ECONNRESET);
	return done;
}

/**
 * coll_rdma_arm() - have the next completion cause an event
 * @conn: the connection, locked; not released
 *
 * Return: true if something is complete already, so that coll_rdma_poll() is to be called.
 */
bool coll_rdma_arm(struct coll_rdma_conn *conn)
{
	return ib_req_notify_cq(conn->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}
