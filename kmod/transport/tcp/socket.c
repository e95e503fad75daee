// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP endpoints: how a socket is made, connected and closed.
 *
 * A socket is made in the context of the process that joins or connects, and belongs to the
 * memory cgroup of that process.  The control runner makes it if RDMA could not reach the peer, or
 * if a connection is made again; such a socket belongs to the cgroup of the running thread, like
 * one that is accepted.  A socket has a file with the credentials of the process that joined,
 * because packet filters find the user of a packet there.  No descriptor refers to the file; the
 * endpoint has the only reference.  The socket ends with the file, by __fput_sync(): fput() would
 * wait for the return to user space, and a thread that waits may stay in the kernel for long.
 */
#include <linux/bvec.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/tcp.h>

#include "mem/account.h"
#include "compat/compat.h"
#include "limits.h"
#include "transport/tcp/tcp.h"

/* Bytes that may be queued in a socket and not sent. */
#define COLL_TCP_LOWAT		(512 * 1024)

/* Bytes that a new socket can receive before any of them are read. */
#define COLL_TCP_WINDOW		(2 * 1024 * 1024)

/*
 * Free space in a full socket that causes an event, in bytes.  TCP's usual third of the buffer is
 * too much for a link with a long delay: unacknowledged bytes may fill the buffer, and the link
 * would idle.
 */
#define COLL_TCP_ROOM		(256 * 1024)

#define COLL_TCP_BACKLOG	64

/* Bytes charged for an end that sends payload: @bvec, and page fragments of @headers. */
#define COLL_TCP_BULK	(COLL_SEND_PIECES * (u32)sizeof(struct bio_vec) + 32 * 1024)

static void endpoint_event(struct sock *sk, enum coll_event event)
{
	struct coll_endpoint *ep;

	read_lock_bh(&sk->sk_callback_lock);
	ep = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (ep)
		coll_endpoint_event(ep, event);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void endpoint_data_ready(struct sock *sk)
{
	endpoint_event(sk, COLL_EVENT_READABLE);
}

static bool endpoint_writeable(struct sock *sk)
{
	return sk_stream_wspace(sk) >= min(sk_stream_min_wspace(sk), COLL_TCP_ROOM) &&
	       __sk_stream_memory_free(sk, 1);
}

static void endpoint_write_space(struct sock *sk)
{
	if (!sk->sk_socket || !endpoint_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	endpoint_event(sk, COLL_EVENT_WRITABLE);
}

/* Connected, closed or failed: the owner finds out which. */
static void endpoint_state_change(struct sock *sk)
{
	endpoint_event(sk, COLL_EVENT_WRITABLE);
	endpoint_event(sk, COLL_EVENT_READABLE);
}

static void endpoint_attach(struct coll_endpoint *ep, struct coll_tcp_end *end,
			    struct socket *sock)
{
	struct sock *sk = sock->sk;

	end->sock = sock;
	end->deadline = jiffies;
	ep->transport = &coll_tcp;
	ep->error = 0;
	coll_tcp_info_attach(ep, end);

	lock_sock(sk);
	sk->sk_use_task_frag = false;
	write_lock_bh(&sk->sk_callback_lock);
	end->saved.data_ready = sk->sk_data_ready;
	end->saved.write_space = sk->sk_write_space;
	end->saved.state_change = sk->sk_state_change;
	end->saved.error_report = sk->sk_error_report;
	/* NOCOPY: not for the children of a listener, which may outlive it by a moment. */
	__rcu_assign_sk_user_data_with_flags(sk, ep, SK_USER_DATA_NOCOPY);
	sk->sk_data_ready = endpoint_data_ready;
	sk->sk_write_space = endpoint_write_space;
	sk->sk_state_change = endpoint_state_change;
	sk->sk_error_report = endpoint_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);

	tcp_sock_set_nodelay(sk);
}

/* Give a socket its own callbacks back. */
static void socket_restore(const struct coll_tcp_end *end, struct sock *sk)
{
	sk->sk_data_ready = end->saved.data_ready;
	sk->sk_write_space = end->saved.write_space;
	sk->sk_state_change = end->saved.state_change;
	sk->sk_error_report = end->saved.error_report;
}

/* Close an endpoint for its owner and for others.  Return: what was its end of the connection. */
static struct coll_tcp_end *endpoint_detach(struct coll_endpoint *ep)
{
	struct coll_tcp_end *end = coll_tcp_end(ep);
	struct sock *sk = end->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	socket_restore(end, sk);
	write_unlock_bh(&sk->sk_callback_lock);
	/* After the last callback, which may look at the end (coll_tcp_can_defer_rx()). */
	coll_tcp_info_attach(ep, NULL);
	ep->transport = NULL;
	return end;
}

/*
 * Let TCP ask the peer while nothing is sent: a firewall or a translator of addresses forgets a
 * connection without packets, and drops its later packets.  A path that is down for long while
 * nothing is sent is no failure, so TCP asks as often as it can before it gives up, for an hour.
 */
static void socket_keep_alive(struct sock *sk)
{
	tcp_sock_set_keepidle(sk, COLL_KEEPALIVE_S);
	tcp_sock_set_keepintvl(sk, COLL_KEEPALIVE_S);
	tcp_sock_set_keepcnt(sk, MAX_TCP_KEEPCNT);
	sock_set_keepalive(sk);
}

static int tcp_addr_len(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	}
	return -EAFNOSUPPORT;
}

/*
 * Make an end without a socket, and take the charge that close() returns, or leaves to a socket
 * that lingers.  What it needs to linger is part of it, so close() cannot fail.
 */
static struct coll_tcp_end *end_new(struct coll_endpoint *ep)
{
	struct coll_tcp_end *end;
	int err = coll_charge(ep->charges, COLL_CHARGE_SOCKET);

	if (err)
		return ERR_PTR(err);
	end = kzalloc(sizeof(*end), GFP_KERNEL_ACCOUNT);
	if (!end) {
		coll_uncharge(ep->charges, COLL_CHARGE_SOCKET);
		return ERR_PTR(-ENOMEM);
	}
	coll_tcp_linger_init(end);
	ep->charged = COLL_CHARGE_SOCKET;
	return end;
}

/* Return all charges of an endpoint that its socket does not take along. */
static void endpoint_uncharge(struct coll_endpoint *ep)
{
	coll_uncharge(ep->charges, ep->charged);
	ep->charged = 0;
}

/* Free an end without a socket. */
static void end_free(struct coll_endpoint *ep, struct coll_tcp_end *end)
{
	kfree(end);
	endpoint_uncharge(ep);
}

/* Give a socket a file with the current credentials.  On failure the socket is released. */
static int socket_file(struct socket *sock)
{
	return PTR_ERR_OR_ZERO(sock_alloc_file(sock, O_NONBLOCK, NULL));
}

static int discard_actor(read_descriptor_t *desc, struct sk_buff *skb,
			 unsigned int off, size_t len)
{
	return len;
}

/*
 * Read and drop all received bytes.  If bytes are unread, TCP sends a reset instead of a FIN: the
 * peer would lose bytes that have not reached it yet, and take an orderly end for a failure.
 */
static void socket_discard(struct sock *sk)
{
	read_descriptor_t desc = { .count = 1 };

	lock_sock(sk);
	tcp_read_sock(sk, &desc, discard_actor);
	release_sock(sk);
}

/**
 * coll_tcp_release() - release a socket and its file
 * @sock: the socket; no endpoint is attached to it
 * @reset: true to drop queued bytes and reset the connection
 *
 * Context: may sleep.
 */
void coll_tcp_release(struct socket *sock, bool reset)
{
	if (reset)
		sock_no_linger(sock->sk);
	else
		socket_discard(sock->sk);
	__fput_sync(sock->file);
}

/*
 * Make @ep a socket of a family, bound to @local unless that is NULL.  If the socket is going to
 * connect (@connects), its port is chosen then: it may be one that other sockets use for other
 * destinations, so that a host has its full range of ports for each peer address.
 */
static int endpoint_open(struct coll_endpoint *ep, int family, struct sockaddr_storage *local,
			 bool connects)
{
	struct coll_tcp_end *end = end_new(ep);
	struct socket *sock;
	int err;

	if (IS_ERR(end))
		return PTR_ERR(end);
	err = __sock_create(ep->ns, family, SOCK_STREAM, IPPROTO_TCP, &sock, 0);
	if (err)
		goto free;
	err = socket_file(sock);
	if (err)
		goto free;
	if (connects)
		inet_set_bit(BIND_ADDRESS_NO_PORT, sock->sk);
	else if (!coll_port_is_any(local))
		/* Connections of a group that has ended may still be in TIME-WAIT there. */
		sock_set_reuseaddr(sock->sk);
	if (local)
		err = kernel_bind(sock, coll_sockaddr(local), tcp_addr_len(local));
	if (err)
		goto release;
	endpoint_attach(ep, end, sock);
	return 0;

release:
	coll_tcp_release(sock, true);
free:
	end_free(ep, end);
	return err;
}

/**
 * coll_tcp_listen() - see struct coll_transport
 * @ep: becomes a listener
 * @addr: in: address to bind; out: bound address with its port
 *
 * Return: 0 or a negative errno.
 */
int coll_tcp_listen(struct coll_endpoint *ep, struct sockaddr_storage *addr)
{
	int err = tcp_addr_len(addr);

	if (err < 0)
		return err;
	err = endpoint_open(ep, addr->ss_family, addr, false);
	if (err)
		return err;
	err = kernel_getsockname(coll_tcp_socket(ep), (struct sockaddr *)addr);
	if (err >= 0)
		err = kernel_listen(coll_tcp_socket(ep), COLL_TCP_BACKLOG);
	if (err)
		coll_tcp_close(ep, true);
	return err;
}

/**
 * coll_tcp_connect() - see struct coll_transport
 * @ep: the endpoint
 * @addr: address of the peer
 * @local: address to bind, its port not used; or NULL
 *
 * Return: 0, also while the connection is not open yet, or a negative errno.
 */
int coll_tcp_connect(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
		     const struct sockaddr_storage *local)
{
	bool bound = local && local->ss_family == addr->ss_family;
	struct sockaddr_storage to = *addr, from;
	int len = tcp_addr_len(addr);
	int err;

	if (len < 0)
		return len;
	if (bound) {
		from = *local;
		/* The port has the same offset in struct sockaddr_in6. */
		((struct sockaddr_in *)&from)->sin_port = 0;
	}
	err = endpoint_open(ep, addr->ss_family, bound ? &from : NULL, true);
	if (err)
		return err;
	socket_keep_alive(coll_tcp_socket(ep)->sk);
	err = kernel_connect(coll_tcp_socket(ep), coll_sockaddr(&to), len, O_NONBLOCK);
	if (!err || err == -EINPROGRESS)
		return 0;
	coll_tcp_close(ep, true);
	return err;
}

/**
 * coll_tcp_accept() - see struct coll_transport
 * @listener: a listener
 * @ep: becomes the accepted connection
 *
 * Return: 0; -EAGAIN: none waits, and none will if an administrator has destroyed the listening
 * socket (ss -K); or another negative errno: one call was taken and has ended.
 */
int coll_tcp_accept(struct coll_endpoint *listener, struct coll_endpoint *ep)
{
	struct coll_tcp_end *end = end_new(ep);
	struct socket *sock;
	int err;

	if (IS_ERR(end))
		return PTR_ERR(end);
	err = kernel_accept(coll_tcp_socket(listener), &sock, O_NONBLOCK);
	if (err == -EINVAL)
		err = -EAGAIN;
	if (err)
		goto free;
	/* The socket has inherited the listener's callbacks. */
	write_lock_bh(&sock->sk->sk_callback_lock);
	socket_restore(coll_tcp_end(listener), sock->sk);
	write_unlock_bh(&sock->sk->sk_callback_lock);
	err = socket_file(sock);
	if (err)
		goto free;
	endpoint_attach(ep, end, sock);
	return 0;

free:
	end_free(ep, end);
	return err;
}

/**
 * coll_tcp_status() - see struct coll_transport
 * @ep: the endpoint
 *
 * Return: 0, -EINPROGRESS, or the negative errno of the failure.
 */
int coll_tcp_status(struct coll_endpoint *ep)
{
	struct sock *sk = coll_tcp_socket(ep)->sk;
	int err = READ_ONCE(sk->sk_err);

	if (err)
		return -err;
	switch (READ_ONCE(sk->sk_state)) {
	case TCP_ESTABLISHED:
	case TCP_CLOSE_WAIT:
		return 0;
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return -EINPROGRESS;
	}
	return -ECONNRESET;
}

/**
 * coll_tcp_setup() - see struct coll_transport
 * @ep: the endpoint
 * @bulk: true if it is going to carry payload
 *
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_tcp_setup(struct coll_endpoint *ep, bool bulk)
{
	struct coll_tcp_end *end = coll_tcp_end(ep);
	struct sock *sk = end->sock->sk;
	int err;

	if (!bulk)
		return 0;
	err = coll_charge(ep->charges, COLL_TCP_BULK);
	if (err)
		return err;
	ep->charged += COLL_TCP_BULK;
	end->bvec = kvmalloc_array(COLL_SEND_PIECES, sizeof(*end->bvec), GFP_KERNEL_ACCOUNT);
	if (!end->bvec)
		return -ENOMEM;
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, COLL_TCP_LOWAT);
	/*
	 * The first call enlarges the receive buffer, which TCP may enlarge further.  The second
	 * one restores an event for each byte.
	 */
	lock_sock(sk);
	end->sock->ops->set_rcvlowat(sk, COLL_TCP_WINDOW);
	end->sock->ops->set_rcvlowat(sk, 1);
	release_sock(sk);
	return 0;
}

/**
 * coll_tcp_shutdown() - see struct coll_transport
 * @ep: the endpoint
 * @until: time at which the socket is released at the latest, in jiffies
 */
void coll_tcp_shutdown(struct coll_endpoint *ep, unsigned long until)
{
	/* Fails only if the connection has ended, and there is nothing to wait for. */
	kernel_sock_shutdown(coll_tcp_socket(ep), SHUT_WR);
	coll_tcp_end(ep)->deadline = until;
}

/**
 * coll_tcp_close() - see struct coll_transport
 * @ep: the endpoint; nothing is done if it is closed
 * @reset: true to drop queued bytes and reset the connection
 */
void coll_tcp_close(struct coll_endpoint *ep, bool reset)
{
	struct coll_tcp_end *end;

	if (!ep->transport)
		return;
	end = endpoint_detach(ep);
	kvfree(end->bvec);
	if (end->headers.page)
		put_page(end->headers.page);
	if (!reset && coll_tcp_lingers(end)) {
		ep->charged -= COLL_CHARGE_SOCKET;
		coll_tcp_linger(end, ep->charges);
	} else {
		coll_tcp_release(end->sock, reset);
		kfree(end);
	}
	endpoint_uncharge(ep);
}
