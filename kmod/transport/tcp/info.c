// SPDX-License-Identifier: GPL-2.0-only
/*
 * What others than the owner of a TCP endpoint read of it, from any thread, while the owner uses
 * and ends it.  One lock protects coll_endpoint.end of all endpoints; the end of a socket takes it
 * once.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/inet_sock.h>

#include "transport/tcp/tcp.h"

static DEFINE_SPINLOCK(info_lock);

/**
 * coll_tcp_info_attach() - let others read an end, or none any more
 * @ep: the endpoint
 * @end: its end of the connection; NULL: it closes
 *
 * Context: process or work item.
 */
void coll_tcp_info_attach(struct coll_endpoint *ep, struct coll_tcp_end *end)
{
	spin_lock(&info_lock);
	ep->end = end;
	spin_unlock(&info_lock);
}

/**
 * coll_tcp_info_hold() - keep the socket of an endpoint that its owner may end meanwhile
 * @ep: the endpoint
 *
 * Context: process or work item.
 * Return: the socket, for sock_put(); NULL: it has ended.
 */
struct sock *coll_tcp_info_hold(struct coll_endpoint *ep)
{
	struct sock *sk = NULL;

	spin_lock(&info_lock);
	if (ep->end) {
		sk = coll_tcp_socket(ep)->sk;
		sock_hold(sk);
	}
	spin_unlock(&info_lock);
	return sk;
}

/* Retransmissions, and probes of a closed window or of an idle connection. */
static u32 info_unanswered(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);

	return max(READ_ONCE(icsk->icsk_retransmits), READ_ONCE(icsk->icsk_probes_out));
}

static void info_addresses(const struct sock *sk, struct coll_endpoint_info *info)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (sk->sk_family == AF_INET) {
		*(struct sockaddr_in *)&info->local = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = inet->inet_sport,
			.sin_addr.s_addr = inet->inet_rcv_saddr,
		};
		*(struct sockaddr_in *)&info->peer = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = inet->inet_dport,
			.sin_addr.s_addr = inet->inet_daddr,
		};
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		*(struct sockaddr_in6 *)&info->local = (struct sockaddr_in6){
			.sin6_family = AF_INET6,
			.sin6_port = inet->inet_sport,
			.sin6_addr = sk->sk_v6_rcv_saddr,
		};
		*(struct sockaddr_in6 *)&info->peer = (struct sockaddr_in6){
			.sin6_family = AF_INET6,
			.sin6_port = inet->inet_dport,
			.sin6_addr = sk->sk_v6_daddr,
		};
	}
#endif
}

/* What the peer has got twice was not lost. */
static u32 info_lost(const struct tcp_sock *tp)
{
	u32 retransmits = READ_ONCE(tp->total_retrans);

	return retransmits - min(retransmits, READ_ONCE(tp->dsack_dups));
}

/*
 * TCP keeps the highest sample while the sender has no more to send.  Else it keeps the latest one,
 * which is low if the peer was slow to read.
 */
static u64 info_rate(const struct tcp_sock *tp)
{
	u32 us = READ_ONCE(tp->rate_interval_us);

	if (!us || !tp->rate_app_limited)
		return 0;
	return div_u64((u64)READ_ONCE(tp->rate_delivered) * tp->mss_cache * USEC_PER_SEC, us);
}

static void info_read(const struct sock *sk, struct coll_endpoint_info *info)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	info_addresses(sk, info);
	info->rtt_us = READ_ONCE(tp->srtt_us) >> 3;
	info->retransmits = READ_ONCE(tp->total_retrans);
	info->unanswered = info_unanswered(sk);
	info->unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	info->lost = info_lost(tp);
	info->acked = READ_ONCE(tp->bytes_acked);
	info->rate = info_rate(tp);
}

/**
 * coll_tcp_info() - see struct coll_transport
 * @ep: the endpoint, which its owner may end meanwhile
 * @info: out
 *
 * Return: false if it has ended.
 */
bool coll_tcp_info(struct coll_endpoint *ep, struct coll_endpoint_info *info)
{
	memset(info, 0, sizeof(*info));
	spin_lock(&info_lock);
	if (ep->end)
		info_read(coll_tcp_socket(ep)->sk, info);
	spin_unlock(&info_lock);
	return info->local.ss_family;
}

/* Has the peer acknowledged something since the last call, or has it nothing to? */
static bool end_acknowledges(struct coll_tcp_end *end)
{
	const struct tcp_sock *tp = tcp_sk(end->sock->sk);
	u32 acked = READ_ONCE(tp->snd_una);
	u32 heard = READ_ONCE(tp->rcv_tstamp);
	bool answers = acked == READ_ONCE(tp->write_seq) || acked != end->acked;

	if (!READ_ONCE(tp->packets_out) || !READ_ONCE(tp->snd_wnd))
		answers |= heard != end->heard;
	end->acked = acked;
	end->heard = heard;
	return answers;
}

/**
 * coll_tcp_acknowledges() - see struct coll_transport
 * @ep: the endpoint, which its owner may use and end meanwhile
 *
 * A peer that lets nothing in acknowledges the probes of its window.
 *
 * Context: control runner.
 * Return: true if the peer has acknowledged something since the last call, or has nothing to.
 */
bool coll_tcp_acknowledges(struct coll_endpoint *ep)
{
	bool answers;

	spin_lock(&info_lock);
	answers = !ep->end || end_acknowledges(coll_tcp_end(ep));
	spin_unlock(&info_lock);
	return answers;
}
