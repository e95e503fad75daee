// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lingering sockets: released after their endpoint.
 *
 * A released socket answers all packets with a reset and retransmits nothing, so frames that were
 * lost on their way would never arrive.  A socket that was shut down is therefore released when
 * its FIN is acknowledged, or at the deadline of shutdown().
 *
 * The member, its listener and its memory do not wait for that.  The socket, its file and their
 * charge belong to a struct coll_tcp_linger, which its work item frees.  TCP calls sk_state_change
 * at each transition that can end the waiting.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "mem/account.h"
#include "exec/closing.h"
#include "transport/tcp/tcp.h"

/**
 * struct coll_tcp_linger - a lingering socket
 * @work: releases the socket; queued for the deadline, and earlier by a state change
 * @sock: the socket
 * @state_change: the socket's own callback
 * @account: account that is charged for the socket
 * @charged: bytes charged to @account
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

/* Context: softirq, or process under the socket lock. */
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
	/* A state change may have queued the work again.  The callback is gone: none does later. */
	cancel_delayed_work(&linger->work);

	coll_tcp_release(linger->sock, false);
	coll_account_return(linger->account, linger->charged);
	kfree(linger);
	coll_closing_end();
}

/**
 * coll_tcp_linger_new() - allocate what a socket needs to linger
 *
 * Called when an endpoint is opened, so that close() cannot fail.
 *
 * Context: may sleep.
 * Return: object for coll_tcp_linger() or kfree(), or NULL.
 */
struct coll_tcp_linger *coll_tcp_linger_new(void)
{
	struct coll_tcp_linger *linger = kzalloc(sizeof(*linger), GFP_KERNEL_ACCOUNT);

	if (linger)
		INIT_DELAYED_WORK(&linger->work, linger_work);
	return linger;
}

/**
 * coll_tcp_lingers() - must a socket outlive its endpoint?
 * @ep: the endpoint, its callbacks detached from the socket
 *
 * Return: true if shutdown() was called, its FIN is not acknowledged, and its deadline is not over.
 */
bool coll_tcp_lingers(const struct coll_endpoint *ep)
{
	return linger_pending(ep->sock->sk) && time_before(jiffies, ep->close_deadline);
}

/**
 * coll_tcp_linger() - release a socket later
 * @ep: the endpoint, its callbacks detached from the socket; loses the socket and its charge
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

	/* The work item takes this lock before it frees @linger. */
	write_lock_bh(&sk->sk_callback_lock);
	linger->state_change = sk->sk_state_change;
	__rcu_assign_sk_user_data_with_flags(sk, linger, SK_USER_DATA_NOCOPY);
	sk->sk_state_change = linger_state_change;
	queue_delayed_work(coll_closing_wq, &linger->work, max(left, 0L));
	/* The state may have changed before the callback was set. */
	if (!linger_pending(sk))
		mod_delayed_work(coll_closing_wq, &linger->work, 0);
	write_unlock_bh(&sk->sk_callback_lock);
}
