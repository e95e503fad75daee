// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading: the device fetches payload that a message of the peer refers to.
 *
 * The owner says where the bytes go.  It has them stored in their place, or gets them in staging
 * memory, or they are dropped without being read.  Several reads are in progress, and the owner
 * takes their bytes in order, so it reduces the bytes of one while the device fetches the next.
 * The reference is returned when the owner has taken all of it.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mem/account.h"
#include "transport/rdma/rdma.h"

static struct coll_rdma_read *read_at(struct coll_rdma_reading *reading, u32 number)
{
	return &reading->read[number % COLL_RDMA_READS];
}

/**
 * coll_rdma_read_begin() - begin with the reference of the oldest message
 * @conn: the connection, locked; of data, and no reference is being read
 * @reference: from the peer
 *
 * Address and key are for the peer's device only, which checks them.
 *
 * Return: 0 or -EPROTO.
 */
int coll_rdma_read_begin(struct coll_rdma_conn *conn, const struct coll_rdma_reference *reference)
{
	struct coll_rdma_reading *reading = conn->reading;
	u32 len = le32_to_cpu(reference->len);

	if (!len || len > COLL_RDMA_REF_MAX)
		return -EPROTO;
	reading->open = true;
	reading->addr = le64_to_cpu(reference->addr);
	reading->key = le32_to_cpu(reference->key);
	reading->len = len;
	reading->asked = 0;
	reading->done = 0;
	return 0;
}

static void read_unmap(struct coll_rdma_read *read, struct ib_device *device)
{
	while (read->pieces) {
		const struct ib_sge *sge = &read->sge[--read->pieces];

		ib_dma_unmap_page(device, sge->addr, sge->length, DMA_FROM_DEVICE);
	}
}

/* Add memory to a read.  Return: number of bytes, 0 if it cannot be mapped. */
static u32 read_add(struct coll_rdma_conn *conn, struct coll_rdma_read *read, void *ptr, size_t len)
{
	struct ib_device *device = conn->id->device;
	struct page *page;
	u64 addr;

	if (is_vmalloc_addr(ptr)) {
		len = min_t(size_t, len, PAGE_SIZE - offset_in_page(ptr));
		page = vmalloc_to_page(ptr);
	} else {
		page = virt_to_page(ptr);
	}
	addr = ib_dma_map_page(device, page, offset_in_page(ptr), len, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(device, addr))
		return 0;
	read->sge[read->pieces++] = (struct ib_sge){
		.addr = addr,
		.length = len,
		.lkey = conn->pd->local_dma_lkey,
	};
	read->len += len;
	return len;
}

/* Let a read store bytes where they belong.  Return: 0, or -ENOMEM. */
static int read_to_place(struct coll_rdma_conn *conn, struct coll_rdma_read *read,
			 const struct coll_place *place, u32 len)
{
	read->stage = -1;
	while (read->len < len && read->pieces < conn->read_pieces) {
		size_t n;
		void *ptr = place->mem->at(place->mem, place->off + read->len, &n);

		if (!read_add(conn, read, ptr, min_t(size_t, n, len - read->len)))
			break;
	}
	return read->len ? 0 : -ENOMEM;
}

static void *stage_page(const struct coll_rdma_reading *reading, u32 stage, u32 off)
{
	return reading->memory[stage * COLL_RDMA_STAGE_PAGES + off / PAGE_SIZE] +
	       offset_in_page(off);
}

/* Allocate staging memory.  Return: 0 or -ENOMEM. */
static int stages_prepare(struct coll_endpoint *ep, struct coll_rdma_reading *reading)
{
	const u32 pages = COLL_RDMA_STAGES * COLL_RDMA_STAGE_PAGES;
	u32 i;

	if (reading->memory[pages - 1])
		return 0;
	if (!reading->memory[0]) {
		if (coll_charge(ep->charges, pages * PAGE_SIZE))
			return -ENOMEM;
		ep->charged += pages * PAGE_SIZE;
	}
	for (i = 0; i < pages; i++) {
		if (!reading->memory[i])
			reading->memory[i] = (void *)__get_free_page(GFP_KERNEL_ACCOUNT);
		if (!reading->memory[i])
			return -ENOMEM;
	}
	return 0;
}

/* Let a read store bytes in staging memory.  Return: 0, -EAGAIN or -ENOMEM. */
static int read_to_stage(struct coll_endpoint *ep, struct coll_rdma_conn *conn,
			 struct coll_rdma_read *read, u32 len)
{
	struct coll_rdma_reading *reading = conn->reading;
	int err = stages_prepare(ep, reading);

	if (err)
		return err;
	if (reading->stages - reading->stages_done == COLL_RDMA_STAGES)
		return -EAGAIN;
	read->stage = reading->stages % COLL_RDMA_STAGES;
	len = min(len, COLL_RDMA_STAGE);
	while (read->len < len && read->pieces < conn->read_pieces)
		if (!read_add(conn, read, stage_page(reading, read->stage, read->len),
			      min_t(u32, len - read->len, PAGE_SIZE)))
			break;
	if (!read->len)
		return -ENOMEM;
	reading->stages++;
	return 0;
}

static int read_post(struct coll_rdma_conn *conn, struct coll_rdma_read *read)
{
	struct coll_rdma_reading *reading = conn->reading;
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = COLL_RDMA_WR_READ | reading->head % COLL_RDMA_READS,
			.sg_list = read->sge,
			.num_sge = read->pieces,
			.opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = reading->addr + reading->asked,
		.rkey = reading->key,
	};

	return ib_post_send(conn->id->qp, &wr.wr, NULL) ? -ECONNRESET : 0;
}

/* Begin the next read.  Return: 0, -EAGAIN, or another negative errno. */
static int read_next(struct coll_endpoint *ep, struct coll_rdma_conn *conn)
{
	struct coll_rdma_reading *reading = conn->reading;
	struct coll_rdma_read *read = read_at(reading, reading->head);
	u32 len = reading->len - reading->asked;
	struct coll_place place;
	int known, err = 0;

	if (!ep->ops->recv_place)
		return -EPROTO;
	*read = (struct coll_rdma_read){ .stage = -1 };
	known = ep->ops->recv_place(ep, reading->asked - reading->done, &place);
	if (known < 0)
		return known;
	/* A reference is to all payload of its frame: whole elements are stored. */
	if (!reading->asked && place.len != reading->len)
		return -EPROTO;
	if (known && !place.mem) {
		read->len = min_t(u64, len, place.len);
		read->complete = true;
	} else {
		len = min(len, COLL_RDMA_READ_MAX);
		err = known ? read_to_place(conn, read, &place, min_t(u64, len, place.len)) :
			      read_to_stage(ep, conn, read, len);
		if (err)
			return err;
		err = read_post(conn, read);
	}
	reading->head++;
	reading->asked += read->len;
	return err;
}

/* Begin as many reads as there may be.  Return: 0 or a negative errno. */
static int read_ahead(struct coll_endpoint *ep, struct coll_rdma_conn *conn)
{
	struct coll_rdma_reading *reading = conn->reading;
	int err = 0;

	/* What the owner has not taken bounds what is read. */
	if (reading->asked == reading->len || reading->head - reading->tail == COLL_RDMA_READS ||
	    reading->stages - reading->stages_done == COLL_RDMA_STAGES)
		return 0;
	/* Posting takes locks and may sleep. */
	coll_endpoint_recv_idle(ep);
	while (!err && reading->asked < reading->len &&
	       reading->head - reading->tail < COLL_RDMA_READS)
		err = read_next(ep, conn);
	return err == -EAGAIN ? 0 : err;
}

/* Hand over bytes of the oldest read.  Return: number of bytes consumed, or -EAGAIN. */
static int read_hand_over(struct coll_endpoint *ep, struct coll_rdma_reading *reading, u32 budget,
			  bool *left)
{
	struct coll_rdma_read *read = read_at(reading, reading->tail);
	int n;

	if (reading->tail == reading->head || !read->complete)
		return -EAGAIN;
	if (read->stage < 0) {
		n = read->len;
		ep->ops->recv_placed(ep, n);
		coll_endpoint_recv_done(ep);
	} else {
		u32 in_page = PAGE_SIZE - offset_in_page(read->done);

		n = coll_endpoint_recv(ep, stage_page(reading, read->stage, read->done),
				       min3(in_page, read->len - read->done, budget));
		*left = n <= 0;
		if (n <= 0)
			return -EAGAIN;
	}
	read->done += n;
	reading->done += n;
	if (read->done == read->len) {
		reading->tail++;
		reading->stages_done += read->stage >= 0;
	}
	return n;
}

/**
 * coll_rdma_read_taken() - has the owner taken all bytes of a reference that is not returned?
 * @conn: the connection, locked
 */
bool coll_rdma_read_taken(const struct coll_rdma_conn *conn)
{
	return coll_rdma_reads(conn) && conn->reading->done == conn->reading->len;
}

/**
 * coll_rdma_read_return() - return the reference
 * @conn: the connection, locked; not released; coll_rdma_read_taken()
 *
 * Return: false if there is no slot for the message: a completion follows when there is; or if the
 * connection has ended.
 */
bool coll_rdma_read_return(struct coll_rdma_conn *conn)
{
	if (!coll_rdma_next_slot(conn, COLL_RDMA_RETURN) ||
	    coll_rdma_post_return(conn, conn->reading->key))
		return false;
	conn->reading->open = false;
	return true;
}

/**
 * coll_rdma_read_some() - read, and hand over bytes that are there
 * @ep: the endpoint
 * @conn: its connection, locked; a reference is being read
 * @budget: number of bytes at most, if the owner is to look at them
 * @left: becomes true if the owner leaves bytes for later
 *
 * Context: may sleep; the owner may have begun an FPU section.
 * Return: number of bytes consumed, or 0: the reference is returned; -EAGAIN: nothing more now.
 */
int coll_rdma_read_some(struct coll_endpoint *ep, struct coll_rdma_conn *conn, u32 budget,
			bool *left)
{
	struct coll_rdma_reading *reading = conn->reading;
	int err;

	if (!conn->id || coll_rdma_conn_error(conn))
		return -EAGAIN;
	if (coll_rdma_read_taken(conn)) {
		coll_endpoint_recv_idle(ep);
		return coll_rdma_read_return(conn) ? 0 : -EAGAIN;
	}
	err = read_ahead(ep, conn);
	if (err == -ECONNRESET)
		coll_rdma_conn_end(conn, err);
	else if (err)
		ep->error = err;
	return err ? -EAGAIN : read_hand_over(ep, reading, budget, left);
}

/**
 * coll_rdma_read_complete() - the bytes of a read are there
 * @conn: the connection, locked; not released
 * @index: index of the read
 */
void coll_rdma_read_complete(struct coll_rdma_conn *conn, u32 index)
{
	struct coll_rdma_read *read = &conn->reading->read[index];

	read_unmap(read, conn->id->device);
	read->complete = true;
}

/**
 * coll_rdma_reads() - is there a reference that is not returned?
 * @conn: the connection, locked
 *
 * The device may store bytes until coll_rdma_read_taken() is true.
 */
bool coll_rdma_reads(const struct coll_rdma_conn *conn)
{
	return conn->reading && conn->reading->open;
}

/**
 * coll_rdma_release_reads() - the device stores nothing any more
 * @conn: the connection, locked; its queue pair is destroyed
 * @device: its device
 */
void coll_rdma_release_reads(struct coll_rdma_conn *conn, struct ib_device *device)
{
	u32 i;

	for (i = 0; conn->reading && i < COLL_RDMA_READS; i++)
		read_unmap(&conn->reading->read[i], device);
}

/**
 * coll_rdma_reading_free() - free what a connection reads with
 * @reading: of a connection that is released; or NULL
 */
void coll_rdma_reading_free(struct coll_rdma_reading *reading)
{
	u32 i;

	for (i = 0; reading && i < ARRAY_SIZE(reading->memory); i++)
		free_page((unsigned long)reading->memory[i]);
	kfree(reading);
}
