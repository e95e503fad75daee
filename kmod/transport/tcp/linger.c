// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lingering sockets: released after their endpoint.
 *
 * A released socket answers all packets with a reset and retransmits nothing, so frames that were
 * lost on their way would never arrive.  A socket that was shut down is therefore released when
 * its FIN is acknowledged, or at the deadline of shutdown().
 *
 * The member, its listener and its memory do not wait for that.  The socket, its file and their
 * charge stay with their struct coll_tcp_end, which its work item frees.  TCP calls sk_state_change
 * at each transition that can end the waiting.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "mem/account.h"
#include "exec/closing.h"
#include "transport/tcp/tcp.h"

static bool linger_pending(const struct sock *sk)
{
	return BIT(READ_ONCE(sk->sk_state)) &
	       (TCPF_FIN_WAIT1 | TCPF_CLOSING | TCPF_LAST_ACK);
}

/* Context: softirq, or process under the socket lock. */
static void linger_state_change(struct sock *sk)
{
	struct coll_tcp_end *end;

	read_lock_bh(&sk->sk_callback_lock);
	end = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (end && !linger_pending(sk))
		mod_delayed_work(coll_closing_wq, &end->work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void linger_work(struct work_struct *work)
{
	struct coll_tcp_end *end = container_of(to_delayed_work(work), struct coll_tcp_end, work);
	struct sock *sk = end->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_state_change = end->saved.state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	/* A state change may have queued the work again.  The callback is gone: none does later. */
	cancel_delayed_work(&end->work);

	coll_tcp_release(end->sock, false);
	coll_account_return(end->account, end->charged);
	kfree(end);
	coll_closing_end();
}

/**
 * coll_tcp_linger_init() - prepare what a socket needs to linger
 * @end: zeroed
 */
void coll_tcp_linger_init(struct coll_tcp_end *end)
{
	INIT_DELAYED_WORK(&end->work, linger_work);
}

/**
 * coll_tcp_lingers() - must a socket outlive its endpoint?
 * @end: its callbacks are detached from the socket
 *
 * Return: true if shutdown() was called, its FIN is not acknowledged, and its deadline is not over.
 */
bool coll_tcp_lingers(const struct coll_tcp_end *end)
{
	return linger_pending(end->sock->sk) && time_before(jiffies, end->deadline);
}

/**
 * coll_tcp_linger() - release a socket later
 * @end: its callbacks are detached from the socket; belongs to its work item then
 * @charges: charges of its endpoint; that of the socket is detached from them
 *
 * Context: may sleep.
 */
void coll_tcp_linger(struct coll_tcp_end *end, struct coll_charges *charges)
{
	struct sock *sk = end->sock->sk;
	long left = end->deadline - jiffies;

	end->account = coll_charge_detach(charges, COLL_CHARGE_SOCKET);
	end->charged = COLL_CHARGE_SOCKET;
	coll_closing_begin();

	/* The work item takes this lock before it frees @end. */
	write_lock_bh(&sk->sk_callback_lock);
	__rcu_assign_sk_user_data_with_flags(sk, end, SK_USER_DATA_NOCOPY);
	sk->sk_state_change = linger_state_change;
	queue_delayed_work(coll_closing_wq, &end->work, max(left, 0L));
	/* The state may have changed before the callback was set. */
	if (!linger_pending(sk))
		mod_delayed_work(coll_closing_wq, &end->work, 0);
	write_unlock_bh(&sk->sk_callback_lock);
}
