/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_TCP_H
#define COLL_TCP_H

#include <linux/workqueue.h>
#include <net/sock.h>

#include "transport/transport.h"

struct coll_account;

/**
 * struct coll_tcp_end - a socket, and what belongs to it; may linger after its endpoint
 * @sock: the socket; this is the only reference to its file
 * @saved: the socket's own callbacks, restored when it is detached from the endpoint
 * @acked: see coll_tcp_acknowledges(): sequence number up to which the peer had acknowledged, and
 * @heard: when its latest acknowledgment had come, jiffies; both used by the control runner only
 * @bvec: COLL_SEND_PIECES entries to describe a frame; NULL but of payload, after setup()
 * @headers: page fragment for copies of frame headers, likewise
 * @deadline: time at which the connection ends after shutdown() and close(), in jiffies
 * @work: releases a socket that lingers; queued for @deadline, and earlier by a change of state
 * @account: of a socket that lingers: account that is charged for it
 * @charged: bytes charged to @account
 */
struct coll_tcp_end {
	struct socket *sock;
	struct {
		void (*data_ready)(struct sock *sk);
		void (*write_space)(struct sock *sk);
		void (*state_change)(struct sock *sk);
		void (*error_report)(struct sock *sk);
	} saved;
	u32 acked;
	u32 heard;
	struct bio_vec *bvec;
	struct page_frag headers;
	unsigned long deadline;
	struct delayed_work work;
	struct coll_account *account;
	u32 charged;
};

/* Context: the owner of @ep, between its opening and close(). */
static inline struct coll_tcp_end *coll_tcp_end(const struct coll_endpoint *ep)
{
	return ep->end;
}

static inline struct socket *coll_tcp_socket(const struct coll_endpoint *ep)
{
	return coll_tcp_end(ep)->sock;
}

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
void coll_tcp_info_attach(struct coll_endpoint *ep, struct coll_tcp_end *end);
struct sock *coll_tcp_info_hold(struct coll_endpoint *ep);
bool coll_tcp_info(struct coll_endpoint *ep, struct coll_endpoint_info *info);
bool coll_tcp_acknowledges(struct coll_endpoint *ep);

/* linger.c */
void coll_tcp_linger_init(struct coll_tcp_end *end);
bool coll_tcp_lingers(const struct coll_tcp_end *end);
void coll_tcp_linger(struct coll_tcp_end *end, struct coll_charges *charges);

/* resend.c */
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
