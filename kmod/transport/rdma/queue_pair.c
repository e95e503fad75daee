// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: their memory, their queue pair, and how a failure is noted.
 *
 * Slots belong to the device from the moment that the queue pair exists until it is destroyed.
 * Only then they are unmapped and freed.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "mem/account.h"
#include "transport/rdma/rdma.h"

/**
 * coll_rdma_conn_new() - make a connection without endpoint and slots
 * @id: identifier of a peer's call; NULL: the caller connects, and sets it
 *
 * Context: may sleep.
 * Return: for coll_rdma_conn_free(), or NULL.
 */
struct coll_rdma_conn *coll_rdma_conn_new(struct rdma_cm_id *id)
{
	struct coll_rdma_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);

	if (!conn)
		return NULL;
	mutex_init(&conn->mutex);
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->node);
	INIT_DELAYED_WORK(&conn->work, coll_rdma_work);
	init_completion(&conn->routed);
	complete_all(&conn->routed);
	conn->id = id;
	conn->incoming = !!id;
	conn->state = id ? COLL_RDMA_CALLING : COLL_RDMA_RESOLVING;
	return conn;
}

static u32 slot_size(bool bulk)
{
	return bulk ? COLL_RDMA_SLOT_BULK : COLL_RDMA_SLOT_CONTROL;
}

static u32 slots_pages(u32 count, u32 slot)
{
	return DIV_ROUND_UP(count, PAGE_SIZE / slot);
}

/**
 * coll_rdma_conn_bytes() - memory of a connection, but for what it makes on demand
 * @bulk: true for a data connection
 *
 * Return: bytes.
 */
u32 coll_rdma_conn_bytes(bool bulk)
{
	u32 slot = slot_size(bulk);
	u32 bytes = sizeof(struct coll_rdma_conn) +
		    (slots_pages(coll_rdma_recv_slots(bulk), slot) +
		     slots_pages(COLL_RDMA_SEND_SLOTS, slot)) * (u32)PAGE_SIZE;

	if (bulk)
		bytes += sizeof(struct coll_rdma_refs) + sizeof(struct coll_rdma_reading);
	return bytes;
}

static void slots_free(struct coll_rdma_slots *slots)
{
	u32 i;

	for (i = 0; slots->memory && i < slots->pages; i++)
		free_page((unsigned long)slots->memory[i]);
	kfree(slots->memory);
	kfree(slots->dma);
	memset(slots, 0, sizeof(*slots));
}

static int slots_alloc(struct coll_rdma_slots *slots, u32 count, u32 slot)
{
	u32 i;

	slots->slot = slot;
	slots->pages = slots_pages(count, slot);
	slots->memory = kcalloc(slots->pages, sizeof(*slots->memory), GFP_KERNEL_ACCOUNT);
	slots->dma = kcalloc(slots->pages, sizeof(*slots->dma), GFP_KERNEL_ACCOUNT);
	if (!slots->memory || !slots->dma)
		return -ENOMEM;
	for (i = 0; i < slots->pages; i++) {
		/* What was in the page before must not be sent. */
		slots->memory[i] = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		if (!slots->memory[i])
			return -ENOMEM;
	}
	return 0;
}

static void slots_unmap(struct coll_rdma_slots *slots, struct ib_device *device,
			enum dma_data_direction direction)
{
	while (slots->mapped)
		ib_dma_unmap_single(device, slots->dma[--slots->mapped], PAGE_SIZE, direction);
}

static int slots_map(struct coll_rdma_slots *slots, struct ib_device *device,
		     enum dma_data_direction direction)
{
	while (slots->mapped < slots->pages) {
		u64 dma = ib_dma_map_single(device, slots->memory[slots->mapped], PAGE_SIZE,
					    direction);

		if (ib_dma_mapping_error(device, dma))
			return -ENOMEM;
		slots->dma[slots->mapped++] = dma;
	}
	return 0;
}

/**
 * coll_rdma_conn_prepare() - allocate the slots, and what a data connection refers and reads with
 * @conn: the connection; @bulk is set
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM: the caller frees the connection.
 */
int coll_rdma_conn_prepare(struct coll_rdma_conn *conn)
{
	u32 slot = slot_size(conn->bulk);

	if (conn->bulk) {
		conn->refs = kzalloc(sizeof(*conn->refs), GFP_KERNEL_ACCOUNT);
		conn->reading = kzalloc(sizeof(*conn->reading), GFP_KERNEL_ACCOUNT);
		if (!conn->refs || !conn->reading)
			return -ENOMEM;
	}
	return slots_alloc(&conn->rx_slots, coll_rdma_recv_slots(conn->bulk), slot) ?:
	       slots_alloc(&conn->tx_slots, COLL_RDMA_SEND_SLOTS, slot);
}

/**
 * coll_rdma_conn_free() - free a connection
 * @conn: the connection, released, without endpoint; its work is not pending
 */
void coll_rdma_conn_free(struct coll_rdma_conn *conn)
{
	slots_free(&conn->rx_slots);
	slots_free(&conn->tx_slots);
	coll_rdma_reading_free(conn->reading);
	kfree(conn->refs);
	kvfree(conn->rest);
	mutex_destroy(&conn->mutex);
	kfree(conn);
}

/**
 * coll_rdma_conn_attach() - make a connection that of an endpoint, or of none
 * @conn: the connection
 * @ep: the endpoint, which gets events from now on; NULL: none does
 *
 * Context: any but interrupts.
 */
void coll_rdma_conn_attach(struct coll_rdma_conn *conn, struct coll_endpoint *ep)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	conn->ep = ep;
	spin_unlock_irqrestore(&conn->lock, flags);
}

/* Tell the owner, or the work if there is none; @lock is held. */
static void conn_notify_locked(struct coll_rdma_conn *conn)
{
	if (conn->ep) {
		if (READ_ONCE(conn->tx_waits) || conn->state != COLL_RDMA_OPEN)
			coll_endpoint_event(conn->ep, COLL_EVENT_WRITABLE);
		coll_endpoint_event(conn->ep, COLL_EVENT_READABLE);
	} else {
		mod_delayed_work(coll_rdma_wq, &conn->work, 0);
	}
}

/**
 * coll_rdma_conn_notify() - something has changed: tell the owner
 * @conn: the connection
 *
 * Context: any.
 */
void coll_rdma_conn_notify(struct coll_rdma_conn *conn)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	conn_notify_locked(conn);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * coll_rdma_conn_set_state() - let a connection go on to another state
 * @conn: the connection
 * @state: the state
 * @error: of the end: negative errno; of other states: 0
 *
 * The connection manager's events and the owner's steps are not ordered.  What does not follow the
 * state comes too late and changes nothing, so the first error counts.
 *
 * Context: any.
 */
void coll_rdma_conn_set_state(struct coll_rdma_conn *conn, enum coll_rdma_state state, int error)
{
	static const u8 next[COLL_RDMA_STATES] = {
		[COLL_RDMA_RESOLVING]	= BIT(COLL_RDMA_ADDRESS) | BIT(COLL_RDMA_ENDED),
		[COLL_RDMA_ADDRESS]	= BIT(COLL_RDMA_ROUTING) | BIT(COLL_RDMA_ENDED),
		[COLL_RDMA_ROUTING]	= BIT(COLL_RDMA_ROUTE) | BIT(COLL_RDMA_ENDED),
		[COLL_RDMA_ROUTE]	= BIT(COLL_RDMA_CALLING) | BIT(COLL_RDMA_ENDED),
		[COLL_RDMA_CALLING]	= BIT(COLL_RDMA_OPEN) | BIT(COLL_RDMA_ENDED),
		[COLL_RDMA_OPEN]	= BIT(COLL_RDMA_ENDED),
	};
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	if (next[conn->state] & BIT(state)) {
		conn->state = state;
		/* Pairs with coll_rdma_conn_error(). */
		smp_store_release(&conn->error, error);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * coll_rdma_conn_end() - nothing more is sent or received
 * @conn: the connection
 * @error: negative errno
 *
 * Context: any.
 */
void coll_rdma_conn_end(struct coll_rdma_conn *conn, int error)
{
	coll_rdma_conn_set_state(conn, COLL_RDMA_ENDED, error);
	coll_rdma_conn_notify(conn);
}

/**
 * coll_rdma_conn_state() - the state of a connection
 * @conn: the connection
 *
 * Context: any.
 */
enum coll_rdma_state coll_rdma_conn_state(struct coll_rdma_conn *conn)
{
	enum coll_rdma_state state;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	state = conn->state;
	spin_unlock_irqrestore(&conn->lock, flags);
	return state;
}

/**
 * coll_rdma_conn_error() - why a connection has ended
 * @conn: the connection
 *
 * It takes no lock: on PREEMPT_RT that would sleep in an FPU section.
 *
 * Context: any.
 * Return: 0, or the negative errno; all messages before the end are in the queue then.
 */
int coll_rdma_conn_error(const struct coll_rdma_conn *conn)
{
	/* Pairs with coll_rdma_conn_set_state(). */
	return smp_load_acquire(&conn->error);
}

/* Context: any, also hard interrupts. */
static void conn_completed(struct ib_cq *cq, void *context)
{
	coll_rdma_conn_notify(context);
}

static void conn_cq_failed(struct ib_event *event, void *context)
{
	coll_rdma_conn_end(context, -ECONNRESET);
}

static void conn_qp_event(struct ib_event *event, void *context)
{
	struct coll_rdma_conn *conn = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		/* The identifier outlives the queue pair, and so this call. */
		rdma_notify(conn->id, IB_EVENT_COMM_EST);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		coll_rdma_conn_end(conn, -ECONNRESET);
		break;
	default:
		break;
	}
}

/**
 * coll_rdma_conn_limit() - how much may a connection read at a time?
 * @conn: the connection, locked; its identifier has a device; of a call, @depth is what the peer
 *	offers
 *
 * A device that cannot do all that is needed refers to nothing and reads nothing.  Regions of
 * ocrdma can only begin at the address of their first page.
 */
void coll_rdma_conn_limit(struct coll_rdma_conn *conn)
{
	const struct ib_device_attr *attrs = &conn->id->device->attrs;
	bool able = conn->bulk && attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS &&
		    attrs->max_fast_reg_page_list_len >= COLL_RDMA_REF_PIECES &&
		    attrs->max_qp_rd_atom > 0 && attrs->max_qp_init_rd_atom > 0 &&
		    conn->id->device->ops.driver_id != RDMA_DRIVER_OCRDMA;
	u32 in = able ? min_t(u32, attrs->max_qp_rd_atom, COLL_RDMA_READS) : 0;
	u32 out = able ? min_t(u32, attrs->max_qp_init_rd_atom, COLL_RDMA_READS) : 0;

	conn->depth.in = conn->incoming ? min(in, conn->depth.in) : in;
	conn->depth.out = conn->incoming ? min(out, conn->depth.out) : out;
	conn->read_pieces = clamp_t(u32, min(attrs->max_sge_rd, attrs->max_send_sge), 1,
				    COLL_RDMA_READ_PIECES);
}

static u32 conn_send_work(const struct coll_rdma_conn *conn)
{
	return COLL_RDMA_SEND_SLOTS + (conn->bulk ? COLL_RDMA_BULK_WORK : 0);
}

static int conn_create_qp(struct coll_rdma_conn *conn)
{
	struct ib_qp_init_attr attr = {
		.event_handler = conn_qp_event,
		.qp_context = conn,
		.send_cq = conn->cq,
		.recv_cq = conn->cq,
		.cap = {
			.max_send_wr = conn_send_work(conn),
			.max_recv_wr = coll_rdma_recv_slots(conn->bulk),
			.max_send_sge = conn->bulk ? conn->read_pieces : 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.port_num = conn->id->port_num,
	};

	return rdma_create_qp(conn->id, conn->pd, &attr);
}

/**
 * coll_rdma_check_device() - can connections use a device?
 * @device: the device
 * @port: number of its port
 *
 * An iWARP device has no port space of its own: it would need the port of the TCP listener itself.
 *
 * Return: 0, or -EPROTONOSUPPORT: it is an iWARP device, or one of another kind.
 */
int coll_rdma_check_device(struct ib_device *device, u32 port)
{
	return rdma_protocol_roce(device, port) || rdma_protocol_ib(device, port) ?
	       0 : -EPROTONOSUPPORT;
}

/**
 * coll_rdma_conn_setup() - make the queue pair, and post the receive slots
 * @conn: the connection, locked; its identifier has a device
 * @charges: of the member
 *
 * Context: may sleep.
 * Return: 0, or a negative errno (-EDQUOT: the user has too many): the caller releases the
 * connection.
 */
int coll_rdma_conn_setup(struct coll_rdma_conn *conn, const struct coll_charges *charges)
{
	struct ib_device *device = conn->id->device;
	struct ib_cq_init_attr attr = {
		/* All work that is posted at once fits, so that it never overflows. */
		.cqe = conn_send_work(conn) + coll_rdma_recv_slots(conn->bulk),
	};
	struct ib_pd *pd;
	struct ib_cq *cq;
	int err;

	err = coll_rdma_check_device(device, conn->id->port_num);
	if (!err)
		err = coll_rdma_share_take(conn, charges);
	if (err)
		return err;
	pd = ib_alloc_pd(device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	conn->pd = pd;
	if (device->num_comp_vectors > 1)
		attr.comp_vector = raw_smp_processor_id() % device->num_comp_vectors;
	cq = ib_create_cq(device, conn_completed, conn_cq_failed, conn, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	conn->cq = cq;
	err = slots_map(&conn->rx_slots, device, DMA_FROM_DEVICE) ?:
	      slots_map(&conn->tx_slots, device, DMA_TO_DEVICE);
	if (!err)
		err = conn_create_qp(conn);
	if (!err)
		err = coll_rdma_post_receives(conn);
	if (!err)
		coll_rdma_arm(conn);
	return err;
}

/**
 * coll_rdma_conn_release() - end a connection, and give the device back
 * @conn: the connection, locked; nothing is done if it is released
 *
 * Nothing that was posted is touched by the device when this returns, and no callback runs.
 *
 * Context: may sleep.
 */
void coll_rdma_conn_release(struct coll_rdma_conn *conn)
{
	struct ib_device *device;
	struct rdma_cm_id *id;

	/* Only of a connection that is closed, and only in its work: see coll_rdma_close(). */
	wait_for_completion(&conn->routed);
	id = conn->id;
	if (!id)
		return;
	device = id->device;
	if (id->qp) {
		/* Fails if the connection was never open; then there is no peer to be told. */
		rdma_disconnect(id);
		rdma_destroy_qp(id);
	}
	coll_rdma_release_reads(conn, device);
	coll_rdma_release_refs(conn, device);
	if (conn->cq)
		ib_destroy_cq(conn->cq);
	if (device) {
		slots_unmap(&conn->rx_slots, device, DMA_FROM_DEVICE);
		slots_unmap(&conn->tx_slots, device, DMA_TO_DEVICE);
	}
	if (conn->pd)
		ib_dealloc_pd(conn->pd);
	conn->cq = NULL;
	conn->pd = NULL;
	coll_rdma_share_give(conn);
	/* Waits for the handler, which takes no mutex. */
	rdma_destroy_id(id);
	conn->id = NULL;
}
