// SPDX-License-Identifier: GPL-2.0-only
#include "transport/tcp/tcp.h"

/* Sockets of the kernel's TCP, over IPv4 and IPv6. */
const struct coll_transport coll_tcp = {
	.kind		= COLLECTIVE_TRANSPORT_TCP,
	.listen		= coll_tcp_listen,
	.connect	= coll_tcp_connect,
	.accept		= coll_tcp_accept,
	.status		= coll_tcp_status,
	.send		= coll_tcp_send,
	.send_frame	= coll_tcp_send_frame,
	.receive	= coll_tcp_receive,
	.can_defer_rx		= coll_tcp_can_defer_rx,
	.info			= coll_tcp_info,
	.acknowledges	= coll_tcp_acknowledges,
	.resend			= coll_tcp_resend,
	.setup			= coll_tcp_setup,
	.shutdown		= coll_tcp_shutdown,
	.close		= coll_tcp_close,
};
