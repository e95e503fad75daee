// SPDX-License-Identifier: GPL-2.0-only
/*
 * References: payload that the peer's device reads from the memory where it is.
 *
 * A payload is registered when the message that refers to it is sent, with a key that lets the peer
 * read just these bytes.  What cannot be registered, because it is in too many pieces or has gaps
 * within pages, is copied as a small payload is.
 */
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mem/account.h"
#include "transport/rdma/rdma.h"

/* Bytes charged for a memory region: its list of pieces, and what the driver keeps for a page. */
#define REF_CHARGE	(COLL_RDMA_REF_PIECES * (u32)(sizeof(struct scatterlist) + 32))

static struct coll_rdma_ref *ref_at(struct coll_rdma_refs *refs, u32 number)
{
	return &refs->ref[number % COLL_RDMA_REFS];
}

/**
 * coll_rdma_refers() - is a payload to be sent by reference?
 * @conn: the connection, locked
 * @out: a frame
 *
 * A payload of which a part has been copied is not.
 */
bool coll_rdma_refers(const struct coll_rdma_conn *conn, const struct coll_out *out)
{
	const u32 head = sizeof(struct coll_rdma_head) + sizeof(struct coll_rdma_reference);

	return conn->refs && conn->refs->enabled && !out->copy && out->ptr &&
	       out->more >= COLL_RDMA_REF_MIN && out->more <= COLL_RDMA_REF_MAX &&
	       head + out->len <= conn->tx_slot;
}

/**
 * coll_rdma_ref_free() - may another payload be referred to?
 * @conn: the connection, locked; of data
 *
 * The peer may have returned one before its message is known to have arrived.  Only when it is, the
 * work of its registration is done with, too.
 */
bool coll_rdma_ref_free(const struct coll_rdma_conn *conn)
{
	const struct coll_rdma_refs *refs = conn->refs;
	const struct coll_rdma_ref *ref = &refs->ref[refs->head % COLL_RDMA_REFS];

	/* The numbers wrap, and a region may not have been used for long. */
	return refs->head - refs->tail < COLL_RDMA_REFS &&
	       (!ref->mr ||
		conn->tx_posted - ref->message >= conn->tx_posted - conn->tx_done);
}

/* Make a memory region, which is kept.  Return: 0 or a negative errno. */
static int ref_prepare(struct coll_endpoint *ep, struct coll_rdma_conn *conn,
		       struct coll_rdma_ref *ref)
{
	int err;

	if (ref->mr)
		return 0;
	err = coll_charge(ep->charges, REF_CHARGE);
	if (err)
		return err;
	ref->sg = kvmalloc_array(COLL_RDMA_REF_PIECES, sizeof(*ref->sg), GFP_KERNEL_ACCOUNT);
	if (ref->sg)
		ref->mr = ib_alloc_mr(conn->pd, IB_MR_TYPE_MEM_REG, COLL_RDMA_REF_PIECES);
	if (IS_ERR_OR_NULL(ref->mr)) {
		ref->mr = NULL;
		kvfree(ref->sg);
		ref->sg = NULL;
		coll_uncharge(ep->charges, REF_CHARGE);
		return -ENOMEM;
	}
	ep->charged += REF_CHARGE;
	return 0;
}

/* List the pieces of a payload.  Return: false if there are too many. */
static bool ref_list(struct coll_rdma_ref *ref, const struct coll_out *out)
{
	u64 off = out->off;
	u32 left = out->more;

	sg_init_table(ref->sg, COLL_RDMA_REF_PIECES);
	for (ref->pieces = 0; left; ref->pieces++) {
		struct page *page;
		size_t n;
		void *ptr = out->mem->at(out->mem, off, &n);

		if (ref->pieces == COLL_RDMA_REF_PIECES)
			return false;
		n = min_t(size_t, n, left);
		if (is_vmalloc_addr(ptr)) {
			n = min_t(size_t, n, PAGE_SIZE - offset_in_page(ptr));
			page = vmalloc_to_page(ptr);
		} else {
			page = virt_to_page(ptr);
		}
		sg_set_page(&ref->sg[ref->pieces], page, n, offset_in_page(ptr));
		off += n;
		left -= n;
	}
	sg_mark_end(&ref->sg[ref->pieces - 1]);
	return true;
}

static void ref_unmap(struct coll_rdma_ref *ref, struct ib_device *device)
{
	if (ref->pieces)
		ib_dma_unmap_sg(device, ref->sg, ref->pieces, DMA_TO_DEVICE);
	ref->pieces = 0;
}

/* Let the device read a payload.  Return: false if it cannot be registered. */
static bool ref_map(struct coll_rdma_conn *conn, struct coll_rdma_ref *ref,
		    const struct coll_out *out)
{
	struct ib_device *device = conn->id->device;
	int n = 0;

	if (ref_list(ref, out))
		n = ib_dma_map_sg(device, ref->sg, ref->pieces, DMA_TO_DEVICE);
	if (n <= 0) {
		ref->pieces = 0;
		return false;
	}
	if (ib_map_mr_sg(ref->mr, ref->sg, n, NULL, PAGE_SIZE) != n ||
	    ref->mr->length != out->more) {
		ref_unmap(ref, device);
		return false;
	}
	/*
	 * A region may begin at any address with the same offset in a page.  That of the device
	 * would tell the peer where memory of this host is.
	 */
	ref->mr->iova = offset_in_page(ref->mr->iova);
	return true;
}

/* Have the memory registered, with a key that was not used before. */
static int ref_register(struct coll_rdma_conn *conn, struct coll_rdma_ref *ref)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_id = COLL_RDMA_WR_REGISTER, .opcode = IB_WR_REG_MR },
		.mr = ref->mr,
		.access = IB_ACCESS_REMOTE_READ,
	};

	ib_update_fast_reg_key(ref->mr, ib_inc_rkey(ref->mr->rkey));
	wr.key = ref->mr->rkey;
	return ib_post_send(conn->id->qp, &wr.wr, NULL);
}

/* Return: 0, or a negative errno: the connection has ended. */
static int ref_send(struct coll_rdma_conn *conn, const struct coll_rdma_ref *ref,
		    const struct coll_out *out, u8 *slot)
{
	struct coll_rdma_reference reference = {
		.addr = cpu_to_le64(ref->mr->iova),
		.key = cpu_to_le32(ref->mr->rkey),
		.len = cpu_to_le32(out->more),
	};

	memcpy(slot, &reference, sizeof(reference));
	memcpy(slot + sizeof(reference), out->ptr, out->len);
	return coll_rdma_post(conn, COLL_RDMA_REFERENCE, sizeof(reference) + out->len);
}

/**
 * coll_rdma_refer() - send a frame whose payload the peer reads
 * @ep: the endpoint; charged
 * @conn: its connection, locked; not released
 * @out: the frame: coll_rdma_refers()
 *
 * Return: number of bytes, all of the frame; -EAGAIN; -EOPNOTSUPP: the payload is to be copied; or
 * another negative errno: the connection has ended.
 */
int coll_rdma_refer(struct coll_endpoint *ep, struct coll_rdma_conn *conn,
		    const struct coll_out *out)
{
	struct coll_rdma_refs *refs = conn->refs;
	struct coll_rdma_ref *ref = ref_at(refs, refs->head);
	u8 *slot = coll_rdma_next_slot(conn, COLL_RDMA_REFERENCE);

	if (coll_rdma_conn_error(conn))
		return coll_rdma_conn_error(conn);
	if (!slot || !coll_rdma_ref_free(conn))
		return -EAGAIN;
	if (ref_prepare(ep, conn, ref) || !ref_map(conn, ref, out))
		return -EOPNOTSUPP;
	ref->position = out->position;
	ref->len = out->more;
	ref->owner = out->owner;
	ref->invalid = false;
	/* The end of the connection unmaps it if it is not sent. */
	refs->head++;
	refs->position = out->position;
	refs->due = out->position;
	if (ref_register(conn, ref)) {
		coll_rdma_conn_end(conn, -ECONNRESET);
		return -ECONNRESET;
	}
	if (ref_send(conn, ref, out, slot))
		return -ECONNRESET;
	ref->message = conn->tx_posted;
	return out->len + out->more;
}

/* The key of the payload of this index is valid no more; the connection is not released. */
static void ref_invalidated(struct coll_rdma_conn *conn, u32 index)
{
	struct coll_rdma_refs *refs = conn->refs;

	refs->ref[index].invalid = true;
	ref_unmap(&refs->ref[index], conn->id->device);
	while (refs->tail != refs->returned && ref_at(refs, refs->tail)->invalid)
		refs->tail++;
}

/**
 * coll_rdma_returned() - the peer has returned the oldest payload that it had not returned
 * @conn: the connection, locked; not released
 * @wc: completion of its message, whose slot is posted again
 *
 * Return: 0, -EPROTO, or another negative errno.
 */
int coll_rdma_returned(struct coll_rdma_conn *conn, const struct ib_wc *wc)
{
	struct coll_rdma_refs *refs = conn->refs;
	u32 index;

	if (!refs || refs->returned == refs->head)
		return -EPROTO;
	index = refs->returned++ % COLL_RDMA_REFS;
	/* Another key may be that of memory which is still to be read. */
	if (!(wc->wc_flags & IB_WC_WITH_INVALIDATE) ||
	    wc->ex.invalidate_rkey != refs->ref[index].mr->rkey)
		return -EPROTO;
	ref_invalidated(conn, index);
	return 0;
}

/**
 * coll_rdma_copied() - a part of a frame was copied into messages
 * @conn: the connection, locked
 * @out: the frame
 * @len: number of bytes that were sent
 */
void coll_rdma_copied(struct coll_rdma_conn *conn, const struct coll_out *out, u32 len)
{
	bool whole = len == out->len + (out->ptr ? out->more : 0);
	struct coll_rdma_refs *refs = conn->refs;

	if (!refs)
		return;
	if (whole)
		refs->position = max(refs->position, out->position);
	if (out->copy)
		return;
	refs->copied = whole ? NULL : out->owner;
	if (whole)
		refs->due = out->position;
}

static u64 refs_consumed(struct coll_rdma_refs *refs)
{
	const struct coll_rdma_ref *ref = ref_at(refs, refs->tail);

	return refs->tail == refs->head ? refs->position : ref->position - ref->len;
}

/**
 * coll_rdma_tell_consumed() - have the owner look at what the peer has consumed
 * @ep: the endpoint
 * @conn: its connection, locked
 */
void coll_rdma_tell_consumed(struct coll_endpoint *ep, struct coll_rdma_conn *conn)
{
	struct coll_rdma_refs *refs = conn->refs;

	if (!refs || refs->told >= refs->due || refs_consumed(refs) == refs->told)
		return;
	refs->told = refs_consumed(refs);
	coll_endpoint_event(ep, COLL_EVENT_WRITABLE);
}

/**
 * coll_rdma_consumed() - see struct coll_transport
 * @ep: the endpoint; of data
 *
 * Context: may sleep.
 */
u64 coll_rdma_consumed(struct coll_endpoint *ep)
{
	struct coll_rdma_conn *conn = ep->end;
	u64 position;

	mutex_lock(&conn->mutex);
	position = refs_consumed(conn->refs);
	mutex_unlock(&conn->mutex);
	return position;
}

/**
 * coll_rdma_revoke() - see struct coll_transport
 * @ep: the endpoint; of data
 * @owner: whose memory it is
 *
 * A key that is invalidated while the peer's device reads would end the connection.  So the peer
 * returns the payload when its operation has failed, too, as soon as the bytes before it are
 * consumed.
 *
 * Context: may sleep.
 */
bool coll_rdma_revoke(struct coll_endpoint *ep, const void *owner)
{
	struct coll_rdma_conn *conn = ep->end;
	struct coll_rdma_refs *refs = conn->refs;
	bool unread;
	u32 i;

	mutex_lock(&conn->mutex);
	unread = refs->copied != owner;
	for (i = refs->tail; i != refs->head; i++)
		unread &= ref_at(refs, i)->owner != owner;
	mutex_unlock(&conn->mutex);
	return unread;
}

/**
 * coll_rdma_release_refs() - let nothing be read any more
 * @conn: the connection, locked; its queue pair is destroyed
 * @device: its device
 *
 * Context: may sleep.
 */
void coll_rdma_release_refs(struct coll_rdma_conn *conn, struct ib_device *device)
{
	u32 i;

	for (i = 0; conn->refs && i < COLL_RDMA_REFS; i++) {
		struct coll_rdma_ref *ref = &conn->refs->ref[i];

		if (ref->mr)
			ib_dereg_mr(ref->mr);
		ref->mr = NULL;
		ref_unmap(ref, device);
		kvfree(ref->sg);
		ref->sg = NULL;
	}
}
