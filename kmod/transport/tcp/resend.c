// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an outage has lost is sent again soon after its end.
 *
 * TCP doubles the time between two tries: after an outage of 4 s the next try may be 3 s away, and
 * the link would be silent for longer than the path was.  So the control runner sets this time back
 * once a heartbeat, as TCP itself does when a router says that it was the path and not congestion
 * (RFC 6069).  One segment is sent again then, so a path that is congested has little more to
 * carry.
 */
#include <linux/minmax.h>
#include <net/tcp.h>

#include "transport/tcp/tcp.h"

/* Shortest time to the next try, jiffies. */
#define RESEND_LEAST	2U

/* Probes of a window that are counted: fewer than those after which TCP gives up. */
#define PROBES_MOST	3

/* Parts of a heartbeat within which the next try is to come: coll_link_resend(). */
#define BEAT_PARTS	4

/*
 * Does TCP wait for a time to send again, or to probe the peer's window, that is too long?  It is
 * if a try has brought no answer (TCP then waits for longer), if the caller knows of a loss, or if
 * it is longer than a heartbeat: answers that an outage has kept back count as round-trip times,
 * and a rank that hears the other one again knows of no loss.
 */
static bool is_waiting(const struct inet_connection_sock *icsk, bool lost, unsigned int most)
{
	switch (READ_ONCE(icsk->icsk_pending)) {
	case ICSK_TIME_LOSS_PROBE:
		return lost;
	case ICSK_TIME_RETRANS:
	case ICSK_TIME_PROBE0:
		return lost || READ_ONCE(icsk->icsk_backoff) ||
		       READ_ONCE(icsk->icsk_rto) > BEAT_PARTS * most;
	}
	return false;
}

/* The shortest round-trip time that was measured: no answer comes sooner. */
static u32 least_rtt_us(const struct tcp_sock *tp)
{
	u32 least = tcp_min_rtt(tp);

	return least == ~0U ? tp->srtt_us >> 3 : least;
}

static void resend_within(struct sock *sk, unsigned int most, bool lost)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	/* Not before the answer to the last try can have come. */
	unsigned int least = usecs_to_jiffies(least_rtt_us(tcp_sk(sk))) + RESEND_LEAST;
	unsigned int when = clamp(__tcp_set_rto(tcp_sk(sk)), least, max(most, least));
	bool probes = icsk->icsk_pending == ICSK_TIME_PROBE0;

	/* The answer may have come meanwhile.  A time that is set anew each time never ends. */
	if (!is_waiting(icsk, lost && least <= most, most))
		return;
	icsk->icsk_backoff = 0;
	/* TCP gives up after a number of probes: here heartbeats say when a peer is silent. */
	if (probes)
		WRITE_ONCE(icsk->icsk_probes_out, min(icsk->icsk_probes_out, PROBES_MOST));
	icsk->icsk_rto = when;
	inet_csk_reset_xmit_timer(sk, probes ? ICSK_TIME_PROBE0 : ICSK_TIME_RETRANS, when, when);
}

/**
 * coll_tcp_resend() - see struct coll_transport
 * @ep: the endpoint, which its owner may use and end meanwhile
 * @ms: time to the next try at most
 * @lost: true if the peer has been silent for so long that something must have been lost
 *
 * Context: may sleep.
 */
void coll_tcp_resend(struct coll_endpoint *ep, u32 ms, bool lost)
{
	const unsigned int most = msecs_to_jiffies(ms);
	struct sock *sk = coll_tcp_info_hold(ep);

	if (!sk)
		return;
	if (is_waiting(inet_csk(sk), lost, most)) {
		lock_sock(sk);
		resend_within(sk, most, lost);
		release_sock(sk);
	}
	sock_put(sk);
}
