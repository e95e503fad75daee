/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_TCP_H
#define COLL_TCP_H

#include <net/sock.h>

#include "transport/transport.h"

/* socket.c */
int coll_tcp_listen(struct coll_endpoint *ep, struct sockaddr_storage *addr);
int coll_tcp_connect(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
		     const struct sockaddr_storage *local);
int coll_tcp_accept(struct coll_endpoint *listener, struct coll_endpoint *ep);
int coll_tcp_status(struct coll_endpoint *ep);
int coll_tcp_setup(struct coll_endpoint *ep, bool bulk);
void coll_tcp_shutdown(struct coll_endpoint *ep, unsigned long until);
void coll_tcp_close(struct coll_endpoint *ep, bool reset);
void coll_tcp_release(struct socket *sock, bool reset);

/* info.c */
void coll_tcp_info_attach(struct coll_endpoint *ep, struct sock *sk);
struct sock *coll_tcp_info_hold(struct coll_endpoint *ep);
bool coll_tcp_info(struct coll_endpoint *ep, struct coll_endpoint_info *info);

/* linger.c */
struct coll_tcp_linger *coll_tcp_linger_new(void);
bool coll_tcp_lingers(const struct coll_endpoint *ep);
void coll_tcp_linger(struct coll_endpoint *ep);

/* resend.c */
bool coll_tcp_acknowledges(struct coll_endpoint *ep);
void coll_tcp_resend(struct coll_endpoint *ep, u32 ms, bool lost);

/* send.c */
int coll_tcp_send(struct coll_endpoint *ep, const void *ptr, u32 len);
int coll_tcp_send_frame(struct coll_endpoint *ep, const struct coll_out *out,
			u32 *zerocopy_bytes);

/* zerocopy.c */
bool coll_tcp_may_zerocopy(const struct coll_endpoint *ep, const struct coll_out *out,
			   unsigned int pieces, u32 len);
bool coll_tcp_zerocopy_header(struct coll_endpoint *ep, const struct coll_out *out);
void coll_tcp_zerocopy_message(struct msghdr *msg, struct ubuf_info *ubuf);

/* recv.c */
int coll_tcp_receive(struct coll_endpoint *ep, u32 budget);
bool coll_tcp_can_defer_rx(const struct coll_endpoint *ep, u32 bytes);

#endif /* COLL_TCP_H */
