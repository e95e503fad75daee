// SPDX-License-Identifier: GPL-2.0-only
#include "transport/tcp/tcp.h"

/* Kernel TCP sockets, IPv4 and IPv6. */
const struct coll_transport coll_tcp = {
	.name		= "tcp",
	.listen		= coll_tcp_listen,
	.connect	= coll_tcp_connect,
	.accept		= coll_tcp_accept,
	.status		= coll_tcp_status,
	.send		= coll_tcp_send,
	.send_out	= coll_tcp_send_out,
	.receive	= coll_tcp_receive,
	.acknowledge	= coll_tcp_acknowledge,
	.keeps		= coll_tcp_keeps,
	.watch		= coll_tcp_watch,
	.stirs		= coll_tcp_stirs,
	.unwatch	= coll_tcp_unwatch,
	.bulk		= coll_tcp_bulk,
	.finish		= coll_tcp_finish,
	.close		= coll_tcp_close,
};
