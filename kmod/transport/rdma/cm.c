// SPDX-License-Identifier: GPL-2.0-only
/*
 * How connections are made, by the RDMA connection manager.
 *
 * Its handler only notes the event and tells the owner, which takes the next step in
 * coll_rdma_status().  So a step is charged to the owner, and never runs beside another operation.
 * Calls that come are connections at once, and wait in the queue of the listener.
 *
 * A listener has the port number of the TCP listener, in the port space of RDMA.
 */
#include <linux/in.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "mem/account.h"
#include "transport/rdma/rdma.h"

/* Time to find the peer and the way to it; ms.  CONNECT has a deadline of its own. */
#define RESOLVE_MS	5000

/* The device tries again so many times before a message counts as lost. */
#define RETRIES		7

/* Longest outage for which it does: the time between two tries grows with it. */
#define OUTAGE_MOST_MS	6000U

/* What an event has reached.  One that comes after the end changes nothing. */
static void conn_reached(struct coll_rdma_conn *conn, enum coll_rdma_state state)
{
	coll_rdma_conn_set_state(conn, state, 0);
	coll_rdma_conn_notify(conn);
}

/*
 * Without one it is zero, and coll_rdma_learn() refuses it.  So if it says that the peer reads,
 * and the connection manager says that none of its reads may be in progress.
 */
static void hello_copy(struct coll_rdma_hello *hello, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	if (param->private_data && param->private_data_len >= sizeof(*hello))
		memcpy(hello, param->private_data, sizeof(*hello));
	if (hello->reads && !param->responder_resources)
		memset(hello, 0, sizeof(*hello));
}

/*
 * The peer has refused a call, or has ended a connection before the connection manager there knew
 * that it is open.  Return: -ECONNRESET if the peer just has no place.
 */
static int conn_rejected(struct coll_rdma_conn *conn, struct rdma_cm_id *id,
			 struct rdma_cm_event *event)
{
	u8 len = 0;
	const u8 *data = rdma_consumer_reject_data(id, event, &len);

	if (coll_rdma_conn_state(conn) == COLL_RDMA_OPEN ||
	    (data && len && *data == COLL_RDMA_BUSY))
		return -ECONNRESET;
	return -ECONNREFUSED;
}

/*
 * Look for a route.  The connection manager cancels that when the device goes, without a lock and
 * after its event: an identifier that its owner has destroyed meanwhile has no device then.  So the
 * owner does not destroy it until the search has ended, and conn_removed() leaves it to the
 * connection manager.
 */
static int conn_find_route(struct coll_rdma_conn *conn)
{
	struct rdma_cm_id *id = conn->id;
	int err;

	/* No event comes before the search is known to have begun. */
	rdma_lock_handler(id);
	reinit_completion(&conn->routed);
	err = rdma_resolve_route(id, RESOLVE_MS);
	if (err)
		complete_all(&conn->routed);
	rdma_unlock_handler(id);
	return err;
}

/* The device goes.  Return: nonzero if the connection manager is to destroy the identifier. */
static int conn_removed(struct coll_rdma_conn *conn)
{
	WRITE_ONCE(conn->removed, true);
	coll_rdma_conn_end(conn, -ECONNRESET);
	/* The connection manager waits until the identifier is gone. */
	mod_delayed_work(coll_rdma_wq, &conn->work, 0);
	if (completion_done(&conn->routed))
		return 0;
	conn->id = NULL;
	/* The owner may free @conn from here on. */
	complete_all(&conn->routed);
	return 1;
}

/* Called with the identifier's lock of the connection manager; may sleep, but must not wait. */
static int conn_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct coll_rdma_conn *conn = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		conn_reached(conn, COLL_RDMA_ADDRESS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		conn_reached(conn, COLL_RDMA_ROUTE);
		complete_all(&conn->routed);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		/* The accepting side has the peer's hello already, and no other one comes. */
		if (!conn->incoming) {
			hello_copy(&conn->hello, event);
			/* As the peer has accepted; the connection manager tells the device. */
			conn->depth.out = min_t(u32, conn->depth.out,
						event->param.conn.initiator_depth);
			conn->depth.in = min_t(u32, conn->depth.in,
					       event->param.conn.responder_resources);
		}
		conn_reached(conn, COLL_RDMA_OPEN);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		coll_rdma_conn_end(conn, -EHOSTUNREACH);
		complete_all(&conn->routed);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		coll_rdma_conn_end(conn, -ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_REJECTED:
		coll_rdma_conn_end(conn, conn_rejected(conn, id, event));
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		coll_rdma_conn_end(conn, -ECONNREFUSED);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		coll_rdma_conn_end(conn, -ECONNRESET);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return conn_removed(conn);
	default:
		break;
	}
	return 0;
}

/* A peer calls.  Return: nonzero to refuse it. */
static int listener_called(struct coll_rdma_listener *listener, struct rdma_cm_id *id,
			   struct rdma_cm_event *event)
{
	const u8 busy = COLL_RDMA_BUSY;
	struct coll_rdma_hello hello = { };
	struct coll_rdma_conn *conn;
	int err;

	/* Nothing is allocated for a caller that is none of this module. */
	hello_copy(&hello, event);
	err = coll_rdma_check_hello(&hello);
	if (err)
		return err;
	conn = coll_rdma_conn_new(id);
	if (!conn)
		return -ENOMEM;
	conn->hello = hello;
	conn->bulk = hello.bulk;
	conn->depth.in = event->param.conn.responder_resources;
	conn->depth.out = event->param.conn.initiator_depth;

	spin_lock(&listener->lock);
	if (listener->ncalls >= listener->ep->calls) {
		spin_unlock(&listener->lock);
		coll_rdma_conn_free(conn);
		/* The caller may call again. */
		rdma_reject(id, &busy, sizeof(busy), IB_CM_REJ_CONSUMER_DEFINED);
		return -ENOBUFS;
	}
	id->context = conn;
	id->event_handler = conn_handler;
	list_add_tail(&conn->node, &listener->calls);
	listener->ncalls++;
	spin_unlock(&listener->lock);
	coll_endpoint_event(listener->ep, COLL_EVENT_READABLE);
	return 0;
}

static int listener_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct coll_rdma_listener *listener = id->context;
	int err;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		err = listener_called(listener, id, event);
		if (err)
			listener->ep->ops->refused(listener->ep, &id->route.addr.dst_addr, err);
		return err;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		queue_work(coll_rdma_wq, &listener->work);
		break;
	default:
		break;
	}
	return 0;
}

static void listener_release(struct coll_rdma_listener *listener)
{
	mutex_lock(&listener->mutex);
	if (listener->id)
		rdma_destroy_id(listener->id);
	listener->id = NULL;
	mutex_unlock(&listener->mutex);
}

static void listener_work(struct work_struct *work)
{
	listener_release(container_of(work, struct coll_rdma_listener, work));
}

static struct coll_rdma_conn *listener_next(struct coll_rdma_listener *listener)
{
	struct coll_rdma_conn *conn;

	spin_lock(&listener->lock);
	conn = list_first_entry_or_null(&listener->calls, struct coll_rdma_conn, node);
	if (conn) {
		list_del_init(&conn->node);
		listener->ncalls--;
	}
	spin_unlock(&listener->lock);
	return conn;
}

static void listener_put_back(struct coll_rdma_listener *listener, struct coll_rdma_conn *conn)
{
	spin_lock(&listener->lock);
	list_add(&conn->node, &listener->calls);
	listener->ncalls++;
	spin_unlock(&listener->lock);
}

/* End a connection that nothing else knows; may sleep. */
static void conn_drop(struct coll_rdma_conn *conn)
{
	mutex_lock(&conn->mutex);
	coll_rdma_conn_attach(conn, NULL);
	coll_rdma_conn_release(conn);
	mutex_unlock(&conn->mutex);
	cancel_delayed_work_sync(&conn->work);
	coll_rdma_conn_free(conn);
}

/**
 * coll_rdma_listen() - see struct coll_transport
 * @ep: becomes a listener
 * @addr: address with a port
 *
 * Return: 0 or a negative errno; -ENODEV: no RDMA device has the address, or it is 127.0.0.1, from
 * which the connection manager takes no calls; -EPROTONOSUPPORT: the device is an iWARP one.
 */
int coll_rdma_listen(struct coll_endpoint *ep, struct sockaddr_storage *addr)
{
	struct coll_rdma_listener *listener;
	struct rdma_cm_id *id;
	int err;

	if (addr->ss_family == AF_INET &&
	    ipv4_is_loopback(((struct sockaddr_in *)addr)->sin_addr.s_addr))
		return -ENODEV;
	err = coll_charge(ep->charges, sizeof(*listener));
	if (err)
		return err;
	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener) {
		err = -ENOMEM;
		goto uncharge;
	}
	mutex_init(&listener->mutex);
	spin_lock_init(&listener->lock);
	INIT_LIST_HEAD(&listener->calls);
	INIT_WORK(&listener->work, listener_work);
	listener->ep = ep;

	id = rdma_create_id(ep->ns, listener_handler, listener, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		err = PTR_ERR(id);
		goto free;
	}
	listener->id = id;
	ep->end = listener;
	ep->charged = sizeof(*listener);
	ep->transport = &coll_rdma;
	/*
	 * Once it has a device, that may go, and the work destroys the identifier.  The connection
	 * manager's own lock keeps it from noting that in the middle of a call: it would warn.
	 */
	mutex_lock(&listener->mutex);
	rdma_lock_handler(id);
	err = rdma_bind_addr(id, (struct sockaddr *)addr);
	/* There is none yet if the address is that of all devices. */
	if (!err && id->device)
		err = coll_rdma_check_device(id->device, id->port_num);
	if (!err)
		err = rdma_listen(id, ep->calls);
	rdma_unlock_handler(id);
	mutex_unlock(&listener->mutex);
	if (err)
		coll_rdma_close_listener(ep);
	return err;

free:
	kfree(listener);
uncharge:
	coll_uncharge(ep->charges, sizeof(*listener));
	return err;
}

/**
 * coll_rdma_close_listener() - undo coll_rdma_listen(), and refuse the calls that wait
 * @ep: the listener
 *
 * Context: may sleep.
 */
void coll_rdma_close_listener(struct coll_endpoint *ep)
{
	struct coll_rdma_listener *listener = ep->end;
	struct coll_rdma_conn *conn;

	/* No call comes, and no work is queued, after this. */
	listener_release(listener);
	cancel_work_sync(&listener->work);
	while ((conn = listener_next(listener)))
		conn_drop(conn);
	kfree(listener);
	coll_uncharge(ep->charges, ep->charged);
	ep->charged = 0;
	ep->end = NULL;
	ep->transport = NULL;
}

static u32 conn_charge(bool bulk)
{
	return coll_rdma_conn_bytes(bulk) + COLL_RDMA_CHARGE_QP;
}

static void endpoint_attach(struct coll_endpoint *ep, struct coll_rdma_conn *conn)
{
	ep->transport = &coll_rdma;
	ep->error = 0;
	conn->deadline = jiffies;
	coll_rdma_info_attach(ep, conn);
	coll_rdma_conn_attach(conn, ep);
}

static void endpoint_detach(struct coll_endpoint *ep)
{
	coll_rdma_info_attach(ep, NULL);
	coll_uncharge(ep->charges, ep->charged);
	ep->charged = 0;
	ep->transport = NULL;
}

static struct rdma_conn_param conn_param(const struct coll_rdma_conn *conn,
					 struct coll_rdma_hello *hello)
{
	*hello = (struct coll_rdma_hello){
		.magic = cpu_to_le32(COLL_RDMA_MAGIC),
		.slot_bytes = cpu_to_le32(conn->rx_slots.slot),
		.credits = cpu_to_le16(COLL_RDMA_CREDITS),
		.bulk = conn->bulk,
		.reads = !!conn->depth.out,
	};
	return (struct rdma_conn_param){
		.private_data = hello,
		.private_data_len = sizeof(*hello),
		.responder_resources = conn->depth.in,
		.initiator_depth = conn->depth.out,
		.retry_count = RETRIES,
		/* A message never comes before a slot is posted for it. */
		.rnr_retry_count = 0,
	};
}

/*
 * Set how long the device waits for an acknowledgment: 4.096 us shifted by a number.  The last try
 * is to come after an outage.
 */
static void conn_set_timeout(struct coll_rdma_conn *conn)
{
	u32 us = min(conn->outage_ms, OUTAGE_MOST_MS) * USEC_PER_MSEC / RETRIES;

	rdma_set_ack_timeout(conn->id, order_base_2(us * 125 / 512));
}

/**
 * coll_rdma_connect() - see struct coll_transport
 * @ep: the endpoint
 * @addr: address of the peer
 * @local: address to bind, its port not used; or NULL
 *
 * Return: 0, also while the connection is not open yet, or a negative errno.
 */
int coll_rdma_connect(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
		      const struct sockaddr_storage *local)
{
	struct sockaddr_storage from;
	struct coll_rdma_conn *conn;
	struct rdma_cm_id *id;
	u32 bytes = conn_charge(ep->bulk);
	int err = coll_charge(ep->charges, bytes);

	if (err)
		return err;
	ep->charged = bytes;
	conn = coll_rdma_conn_new(NULL);
	if (!conn) {
		err = -ENOMEM;
		goto detach;
	}
	conn->bulk = ep->bulk;
	conn->outage_ms = ep->outage_ms;
	conn->peer = *addr;
	err = coll_rdma_conn_prepare(conn);
	if (err)
		goto free;
	id = rdma_create_id(ep->ns, conn_handler, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		err = PTR_ERR(id);
		goto free;
	}
	conn->id = id;
	endpoint_attach(ep, conn);
	if (local && local->ss_family == addr->ss_family) {
		from = *local;
		/* The port has the same offset in struct sockaddr_in6. */
		((struct sockaddr_in *)&from)->sin_port = 0;
	} else {
		from = (struct sockaddr_storage){ .ss_family = addr->ss_family };
	}
	/* Likewise: see coll_rdma_listen(). */
	mutex_lock(&conn->mutex);
	rdma_lock_handler(id);
	err = rdma_resolve_addr(id, (struct sockaddr *)&from, (const struct sockaddr *)addr,
				RESOLVE_MS);
	rdma_unlock_handler(id);
	mutex_unlock(&conn->mutex);
	if (!err)
		return 0;
	endpoint_detach(ep);
	conn_drop(conn);
	return err;

free:
	coll_rdma_conn_free(conn);
detach:
	endpoint_detach(ep);
	return err;
}

static int conn_accept(struct coll_rdma_conn *conn, const struct coll_charges *charges)
{
	struct coll_rdma_hello hello;
	struct rdma_conn_param param;
	struct rdma_cm_id *id = conn->id;
	int err;

	if (!id || coll_rdma_conn_error(conn))
		return -ECONNRESET;
	coll_rdma_conn_limit(conn);
	param = conn_param(conn, &hello);
	err = coll_rdma_learn(conn);
	if (!err)
		err = coll_rdma_conn_setup(conn, charges);
	if (err)
		return err;
	conn_set_timeout(conn);
	rdma_lock_handler(id);
	err = rdma_accept(id, &param);
	rdma_unlock_handler(id);
	if (!err)
		coll_rdma_conn_set_state(conn, COLL_RDMA_OPEN, 0);
	return err;
}

/* Make a call the connection of an endpoint.  Return: 0 or a negative errno. */
static int endpoint_accept(struct coll_endpoint *ep, struct coll_rdma_conn *conn)
{
	int err = coll_rdma_conn_prepare(conn);

	if (err)
		return err;
	conn->outage_ms = ep->outage_ms;
	endpoint_attach(ep, conn);
	mutex_lock(&conn->mutex);
	err = conn_accept(conn, ep->charges);
	if (!err)
		coll_rdma_info_addresses(conn);
	mutex_unlock(&conn->mutex);
	return err;
}

/**
 * coll_rdma_accept() - see struct coll_transport
 * @listener: a listener
 * @ep: becomes the accepted connection
 *
 * One call is taken, whatever becomes of it.
 *
 * Return: 0; -EAGAIN: none waits; -EDQUOT: it waits on; or another negative errno: it was refused.
 */
int coll_rdma_accept(struct coll_endpoint *listener, struct coll_endpoint *ep)
{
	struct coll_rdma_conn *conn = listener_next(listener->end);
	u32 bytes;
	int err;

	if (!conn)
		return -EAGAIN;
	bytes = conn_charge(conn->bulk);
	err = coll_charge(ep->charges, bytes);
	if (err) {
		listener_put_back(listener->end, conn);
		return err;
	}
	ep->charged = bytes;
	err = endpoint_accept(ep, conn);
	if (!err)
		return 0;
	endpoint_detach(ep);
	conn_drop(conn);
	/* It is refused, and does not wait for memory. */
	return err == -EAGAIN || err == -EDQUOT || err == -ENOMEM ? -ENOBUFS : err;
}

static int conn_call(struct coll_rdma_conn *conn, const struct coll_charges *charges)
{
	struct coll_rdma_hello hello;
	struct rdma_conn_param param;
	int err;

	coll_rdma_conn_limit(conn);
	param = conn_param(conn, &hello);
	err = coll_rdma_conn_setup(conn, charges);
	if (err)
		return err;
	conn_set_timeout(conn);
	coll_rdma_conn_set_state(conn, COLL_RDMA_CALLING, 0);
	return rdma_connect(conn->id, &param);
}

static int conn_opened(struct coll_rdma_conn *conn)
{
	int err;

	if (conn->tx_slot)
		return 0;
	err = coll_rdma_learn(conn);
	if (!err)
		coll_rdma_info_addresses(conn);
	return err;
}

/* Take the next step.  Return: 0 if it is open, -EINPROGRESS, or why it failed. */
static int conn_advance(struct coll_rdma_conn *conn, const struct coll_charges *charges)
{
	int err = 0;

	if (!conn->id)
		return -ECONNRESET;
	switch (coll_rdma_conn_state(conn)) {
	case COLL_RDMA_ADDRESS:
		coll_rdma_conn_set_state(conn, COLL_RDMA_ROUTING, 0);
		err = conn_find_route(conn);
		break;
	case COLL_RDMA_ROUTE:
		err = conn_call(conn, charges);
		/* It is not tried again: what it has made is freed once. */
		if (err && err != -EINPROGRESS)
			coll_rdma_conn_end(conn, err);
		break;
	case COLL_RDMA_OPEN:
		return conn_opened(conn);
	case COLL_RDMA_ENDED:
		return coll_rdma_conn_error(conn);
	default:
		break;
	}
	return err ?: -EINPROGRESS;
}

/**
 * coll_rdma_status() - see struct coll_transport
 * @ep: the endpoint
 *
 * Return: 0, -EINPROGRESS, or the negative errno of the failure.
 */
int coll_rdma_status(struct coll_endpoint *ep)
{
	struct coll_rdma_conn *conn = ep->end;
	int err;

	mutex_lock(&conn->mutex);
	err = conn_advance(conn, ep->charges);
	mutex_unlock(&conn->mutex);
	return err;
}
