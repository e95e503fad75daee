/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two queue pairs that are connected, and the device between them, which does one thing at a time
 * when it is told to.  It asserts what a reliable connection asks of its users: a slot for each
 * message, space in its queues, and valid keys.
 */
#ifndef COLL_RDMA_DEVICE_H
#define COLL_RDMA_DEVICE_H

#include "rdma_env.h"

#define DEVICE_QUEUE	64U
#define DEVICE_REGIONS	8U
#define DEVICE_PIECES	16

/* struct device_work - a work request */
struct device_work {
	struct ib_send_wr wr;
	struct ib_sge sge[DEVICE_PIECES];
	u64 remote_addr;
	u32 rkey;
	struct ib_mr *mr;
};

/**
 * struct ib_cq - completions, from @tail to @head modulo its size
 * @wc: the completions
 * @space: number of them that it was made for
 */
struct ib_cq {
	struct ib_wc wc[DEVICE_QUEUE];
	u32 head;
	u32 tail;
	u32 space;
};

/**
 * struct ib_qp - a queue pair
 * @peer: the other one
 * @cq: its completion queue
 * @work: work requests; positions modulo its size
 * @head: number of those that were posted
 * @sent: of these, how many have reached the peer
 * @tail: of these, how many the peer has acknowledged
 * @freed: of these, how many have given their place back: a completion of them was taken
 * @space: number of places
 * @slot: receive slots, likewise
 * @slot_head: number of slots that were posted
 * @slot_tail: of these, how many have a message
 * @mr: its memory regions
 * @nmr: number of these
 * @returns: number of messages that were to invalidate a key of the peer
 * @destroyed: true if nothing reaches it any more
 */
struct ib_qp {
	struct ib_qp *peer;
	struct ib_cq *cq;
	struct device_work work[DEVICE_QUEUE];
	u32 head;
	u32 sent;
	u32 tail;
	u32 freed;
	u32 space;
	struct {
		u64 wr_id;
		struct ib_sge sge;
	} slot[DEVICE_QUEUE];
	u32 slot_head;
	u32 slot_tail;
	struct ib_mr mr[DEVICE_REGIONS];
	u32 nmr;
	u32 returns;
	bool destroyed;
};

/* One memory region after the other is of the queue pair that makes one now. */
static struct ib_qp *device_allocates;

static struct ib_mr *ib_alloc_mr(struct ib_pd *pd, int type, u32 pieces)
{
	struct ib_qp *qp = device_allocates;
	struct ib_mr *mr = &qp->mr[qp->nmr];

	(void)pd;
	(void)type;
	(void)pieces;
	assert(qp->nmr < DEVICE_REGIONS);
	mr->rkey = ++qp->nmr << 8;
	return mr;
}

static void ib_dereg_mr(struct ib_mr *mr)
{
	mr->valid = false;
}

static u32 ib_inc_rkey(u32 rkey)
{
	return (rkey & ~0xffU) | ((rkey + 1) & 0xff);
}

static void ib_update_fast_reg_key(struct ib_mr *mr, u32 key)
{
	assert(!mr->valid);
	mr->rkey = key;
}

static int ib_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int n, void *offset, u32 page)
{
	int i;

	(void)offset;
	(void)page;
	assert(!mr->valid);
	mr->sg = sg;
	mr->iova = (u64)sg->at;
	mr->length = 0;
	for (i = 0; i < n; i++)
		mr->length += sg[i].len;
	return n;
}

static void device_post(struct ib_qp *qp, const struct ib_send_wr *wr)
{
	struct device_work *work = &qp->work[qp->head % DEVICE_QUEUE];
	int i;

	assert(qp->head - qp->freed < qp->space);
	memset(work, 0, sizeof(*work));
	work->wr = *wr;
	for (i = 0; i < wr->num_sge; i++)
		work->sge[i] = wr->sg_list[i];
	if (wr->opcode == IB_WR_RDMA_READ) {
		work->remote_addr = container_of(wr, const struct ib_rdma_wr, wr)->remote_addr;
		work->rkey = container_of(wr, const struct ib_rdma_wr, wr)->rkey;
	}
	if (wr->opcode == IB_WR_REG_MR) {
		work->mr = container_of(wr, const struct ib_reg_wr, wr)->mr;
		/* It is told to the peer, and tells no address of this host. */
		assert(work->mr->iova < PAGE_SIZE);
	}
	qp->returns += wr->opcode == IB_WR_SEND_WITH_INV;
	qp->head++;
}

static int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const void *bad)
{
	(void)bad;
	device_post(qp, wr);
	return 0;
}

static int ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const void *bad)
{
	u32 i = qp->slot_head++ % DEVICE_QUEUE;

	(void)bad;
	assert(qp->slot_head - qp->slot_tail <= DEVICE_QUEUE);
	qp->slot[i].wr_id = wr->wr_id;
	qp->slot[i].sge = *wr->sg_list;
	return 0;
}

static void device_complete(struct ib_cq *cq, const struct ib_wc *wc)
{
	assert(cq->head - cq->tail < cq->space);
	cq->wc[cq->head++ % DEVICE_QUEUE] = *wc;
}

static struct ib_mr *device_region(struct ib_qp *qp, u32 rkey)
{
	u32 i;

	for (i = 0; i < qp->nmr; i++)
		if (qp->mr[i].valid && qp->mr[i].rkey == rkey)
			return &qp->mr[i];
	return NULL;
}

static void device_message(struct ib_qp *qp, const struct device_work *work)
{
	struct ib_qp *peer = qp->peer;
	u32 i = peer->slot_tail % DEVICE_QUEUE;
	struct ib_wc wc = { .wr_id = peer->slot[i].wr_id, .byte_len = work->sge[0].length };

	/* A message never comes before a slot is posted for it. */
	assert(peer->slot_tail != peer->slot_head);
	assert(wc.byte_len <= peer->slot[i].sge.length);
	memcpy((void *)peer->slot[i].sge.addr, (void *)work->sge[0].addr, wc.byte_len);
	if (work->wr.opcode == IB_WR_SEND_WITH_INV) {
		struct ib_mr *mr = device_region(peer, work->wr.ex.invalidate_rkey);

		assert(mr);
		mr->valid = false;
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = mr->rkey;
	}
	peer->slot_tail++;
	device_complete(peer->cq, &wc);
}

static void device_read(struct ib_qp *qp, const struct device_work *work)
{
	const struct ib_mr *mr = device_region(qp->peer, work->rkey);
	const struct scatterlist *sg;
	u32 off, done = 0, n;
	int i;

	assert(mr);
	off = work->remote_addr - mr->iova;
	sg = mr->sg;
	for (i = 0; i < work->wr.num_sge; i++) {
		for (done = 0; done < work->sge[i].length; done += n, off += n) {
			while (off >= sg->len)
				off -= sg++->len;
			n = min(sg->len - off, work->sge[i].length - done);
			memcpy((u8 *)work->sge[i].addr + done, sg->at + off, n);
		}
	}
}

/* The oldest work request that has not reached the peer does.  Return: false if none can. */
static bool device_send(struct ib_qp *qp)
{
	const struct device_work *work = &qp->work[qp->sent % DEVICE_QUEUE];

	if (qp->sent == qp->head || qp->destroyed || qp->peer->destroyed)
		return false;
	switch (work->wr.opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
		device_message(qp, work);
		break;
	case IB_WR_RDMA_READ:
		device_read(qp, work);
		break;
	case IB_WR_REG_MR:
		work->mr->valid = true;
		break;
	}
	qp->sent++;
	return true;
}

/* The oldest one is acknowledged.  Return: false if there is none. */
static bool device_acknowledge(struct ib_qp *qp)
{
	const struct device_work *work = &qp->work[qp->tail % DEVICE_QUEUE];

	if (qp->tail == qp->sent)
		return false;
	qp->tail++;
	if (work->wr.send_flags & IB_SEND_SIGNALED)
		device_complete(qp->cq, &(struct ib_wc){ .wr_id = work->wr.wr_id });
	return true;
}

/* What was posted before a completion has given its place back when that is taken. */
static void device_taken(struct ib_qp *qp, const struct ib_wc *wc)
{
	u32 i;

	for (i = qp->freed; i != qp->tail; i++)
		if (qp->work[i % DEVICE_QUEUE].wr.wr_id == wc->wr_id &&
		    qp->work[i % DEVICE_QUEUE].wr.send_flags & IB_SEND_SIGNALED) {
			qp->freed = i + 1;
			return;
		}
}

/* The queue pair whose completions are polled. */
static struct ib_qp *device_polled;

static int ib_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	int i;

	for (i = 0; i < n && cq->tail != cq->head; i++) {
		wc[i] = cq->wc[cq->tail++ % DEVICE_QUEUE];
		device_taken(device_polled, &wc[i]);
	}
	return i;
}

static int ib_req_notify_cq(struct ib_cq *cq, int flags)
{
	(void)flags;
	return cq->tail != cq->head;
}

#endif /* COLL_RDMA_DEVICE_H */
