// SPDX-License-Identifier: GPL-2.0-only
/*
 * collective_rdma.ko: the RDMA transport, a module of its own, because not every kernel has RDMA.
 */
#include <linux/module.h>
#include <linux/spinlock.h>

#include "transport/rdma/rdma.h"

/*
 * Releases devices, and ends connections that linger.  Not frozen: a driver may remove its device
 * while the system is suspended, and waits until this has released it.
 */
struct workqueue_struct *coll_rdma_wq;

/* Protects coll_endpoint.end of all connections, and their addresses, for coll_rdma_info(). */
static DEFINE_SPINLOCK(info_lock);

/**
 * coll_rdma_info_attach() - let coll_rdma_info() read a connection, or none any more
 * @ep: the endpoint
 * @conn: its connection; NULL: it ends
 *
 * Context: process or work item.
 */
void coll_rdma_info_attach(struct coll_endpoint *ep, struct coll_rdma_conn *conn)
{
	spin_lock(&info_lock);
	ep->end = conn;
	spin_unlock(&info_lock);
}

/**
 * coll_rdma_info_addresses() - the addresses are known
 * @conn: the connection, locked; not released
 *
 * Context: process or work item.
 */
void coll_rdma_info_addresses(struct coll_rdma_conn *conn)
{
	const struct rdma_addr *addr = &conn->id->route.addr;

	spin_lock(&info_lock);
	conn->local = addr->src_addr;
	conn->peer = addr->dst_addr;
	spin_unlock(&info_lock);
}

/**
 * coll_rdma_info() - see struct coll_transport
 * @ep: the endpoint, which its owner may end meanwhile
 * @info: out
 *
 * Return: false if it has ended, or is not open.
 */
bool coll_rdma_info(struct coll_endpoint *ep, struct coll_endpoint_info *info)
{
	const struct coll_rdma_conn *conn;

	memset(info, 0, sizeof(*info));
	spin_lock(&info_lock);
	conn = ep->end;
	if (conn) {
		info->local = conn->local;
		info->peer = conn->peer;
	}
	spin_unlock(&info_lock);
	return info->local.ss_family;
}

/*
 * Slots, and what a data connection refers and reads with, are made when the connection is, for
 * what the peer has told then.
 */
static int rdma_setup(struct coll_endpoint *ep, bool bulk)
{
	const struct coll_rdma_conn *conn = ep->end;

	return conn->bulk == bulk ? 0 : -EPROTO;
}

/* Connections of RDMA devices: messages, and payload that the peer reads. */
const struct coll_transport coll_rdma = {
	.kind		= COLLECTIVE_TRANSPORT_RDMA,
	.owner		= THIS_MODULE,
	.by_reference	= true,
	.listen		= coll_rdma_listen,
	.connect	= coll_rdma_connect,
	.accept		= coll_rdma_accept,
	.status		= coll_rdma_status,
	.send		= coll_rdma_send,
	.send_frame	= coll_rdma_send_frame,
	.receive	= coll_rdma_receive,
	.consumed	= coll_rdma_consumed,
	.revoke		= coll_rdma_revoke,
	.can_defer_rx	= coll_rdma_can_defer_rx,
	.info		= coll_rdma_info,
	.setup		= rdma_setup,
	.send_rest	= coll_rdma_send_rest,
	.shutdown	= coll_rdma_shutdown,
	.close		= coll_rdma_close,
};

static int __init collective_rdma_init(void)
{
	int err;

	coll_rdma_wq = alloc_workqueue("collective_rdma", WQ_UNBOUND, 0);
	if (!coll_rdma_wq)
		return -ENOMEM;
	err = coll_rdma_register(&coll_rdma);
	if (err)
		destroy_workqueue(coll_rdma_wq);
	return err;
}

static void __exit collective_rdma_exit(void)
{
	coll_rdma_unregister(&coll_rdma);
	/* Waits for work items that have released their reference to the module. */
	destroy_workqueue(coll_rdma_wq);
}

module_init(collective_rdma_init);
module_exit(collective_rdma_exit);

MODULE_AUTHOR("The collective authors");
MODULE_DESCRIPTION("Collective operations over RDMA");
MODULE_LICENSE("GPL");
MODULE_VERSION(COLL_VERSION);
