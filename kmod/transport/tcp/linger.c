// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets that linger.
 *
 * A socket that is closed answers whatever the peer sends by a reset, and sends nothing
 * again.  If the last frames had been lost on their way, or been overtaken, they would
 * never arrive.  So a socket whose FIN is not acknowledged is closed later: when it is, or
 * when the time that finish() was given is over.
 *
 * The rank, its listener and its memory do not wait for that.  The socket, its file and
 * the charge for them belong to a struct coll_tcp_linger from then on, which its work item
 * frees.  TCP calls sk_state_change at each transition that may end it.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "mem/account.h"
#include "exec/closing.h"
#include "transport/tcp/tcp.h"

/**
 * struct coll_tcp_linger - a socket that is closed later
 * @work: closes it; queued at once for when the time is over, and by state changes
 * @sock: the socket
 * @state_change: its own callback
 * @account: that is charged for it
 * @charged: bytes
 */
struct coll_tcp_linger {
	struct delayed_work work;
	struct socket *sock;
	void (*state_change)(struct sock *sk);
	struct coll_account *account;
	u32 charged;
};

static bool linger_pending(const struct sock *sk)
{
	return BIT(READ_ONCE(sk->sk_state)) &
	       (TCPF_FIN_WAIT1 | TCPF_CLOSING | TCPF_LAST_ACK);
}

/* In softirq, or under the socket lock. */
static void linger_state_change(struct sock *sk)
{
	struct coll_tcp_linger *linger;

	read_lock_bh(&sk->sk_callback_lock);
	linger = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (linger && !linger_pending(sk))
		mod_delayed_work(coll_closing_wq, &linger->work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void linger_work(struct work_struct *work)
{
	struct coll_tcp_linger *linger = container_of(to_delayed_work(work),
						      struct coll_tcp_linger, work);
	struct sock *sk = linger->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_state_change = linger->state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	/* A state change may have queued it again; none does any more. */
	cancel_delayed_work(&linger->work);

	coll_tcp_release(linger->sock, false);
	coll_account_return(linger->account, linger->charged);
	kfree(linger);
	coll_closing_end();
}

/**
 * coll_tcp_linger_new() - what a socket needs to linger, so that closing cannot fail
 *
 * Return: for coll_tcp_linger() or kfree(), or NULL.
 */
struct coll_tcp_linger *coll_tcp_linger_new(void)
{
	struct coll_tcp_linger *linger = kzalloc(sizeof(*linger), GFP_KERNEL_ACCOUNT);

	if (linger)
		INIT_DELAYED_WORK(&linger->work, linger_work);
	return linger;
}

/**
 * coll_tcp_lingers() - is a socket to be closed later?
 * @ep: its endpoint, detached from it
 *
 * Return: true if finish() has been called, and its FIN is not acknowledged.
 */
bool coll_tcp_lingers(const struct coll_endpoint *ep)
{
	return linger_pending(ep->sock->sk) && time_before(jiffies, ep->close_deadline);
}

/**
 * coll_tcp_linger() - close a socket later
 * @ep: its endpoint, detached from it; the socket and its charge are not the endpoint's
 *	any more
 *
 * Context: may sleep.
 */
void coll_tcp_linger(struct coll_endpoint *ep)
{
	struct coll_tcp_linger *linger = ep->linger;
	struct sock *sk = ep->sock->sk;
	long left = ep->close_deadline - jiffies;

	linger->sock = ep->sock;
	linger->account = coll_charge_detach(ep->charges, COLL_CHARGE_SOCKET);
	linger->charged = COLL_CHARGE_SOCKET;
	ep->linger = NULL;
	ep->charged -= COLL_CHARGE_SOCKET;
	coll_closing_begin();

	/* The work item frees it, but takes this lock first. */
	write_lock_bh(&sk->sk_callback_lock);
	linger->state_change = sk->sk_state_change;
	__rcu_assign_sk_user_data_with_flags(sk, linger, SK_USER_DATA_NOCOPY);
	sk->sk_state_change = linger_state_change;
	queue_delayed_work(coll_closing_wq, &linger->work, max(left, 0L));
	/* What changed before the callback was there. */
	if (!linger_pending(sk))
		mod_delayed_work(coll_closing_wq, &linger->work, 0);
	write_unlock_bh(&sk->sk_callback_lock);
}
