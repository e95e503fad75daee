// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections that did not open: what fails with one that this rank has made, and how the refused
 * calls of others are counted and logged.
 */
#include <linux/atomic.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/socket.h>

#include "fail/member_state.h"
#include "net/link.h"
#include "net/net.h"

/* Why a connection that this rank has made, or would have, could not be opened. */
static struct coll_reason link_reason(const struct coll_link *link, int err)
{
	struct coll_reason reason = {
		.kind = COLLECTIVE_REASON_RESET,
		.error = ECONNRESET,
		.rank_a = link->peer,
		.rank_b = link->net->id->rank,
	};

	switch (err) {
	case -EACCES:
	case -EPROTO:
	case -EOPNOTSUPP:
	case -EPROTONOSUPPORT:
		reason.kind = COLLECTIVE_REASON_PROTOCOL;
		reason.error = -err;
		break;
	case -ENOMEM:
	case -EDQUOT:
		swap(reason.rank_a, reason.rank_b);
		reason.kind = COLLECTIVE_REASON_RESOURCES;
		reason.error = -err;
		break;
	case -EREMOTEIO:
		reason.kind = COLLECTIVE_REASON_RESOURCES;
		reason.error = ENOMEM;
		break;
	}
	return reason;
}

/*
 * A connection made on demand could not be opened.  Only an operation that needs it fails, because
 * a peer that has done its part and has left is not reachable either.  Another group may listen
 * on the peer's port by then and refuse the call, so a refusal is no breach of the protocol.
 */
static void link_refused(struct coll_link *link, u32 bit, int err)
{
	struct coll_reason reason = link_reason(link, err);
	struct coll_net *net = link->net;

	if (reason.kind != COLLECTIVE_REASON_RESOURCES && err != -EOPNOTSUPP &&
	    err != -EPROTONOSUPPORT)
		reason = (struct coll_reason){
			.kind = COLLECTIVE_REASON_RESET,
			.error = ECONNRESET,
			.rank_a = net->id->rank,
			.rank_b = link->peer,
		};
	if (!link->refused_mask)
		link->why = reason;
	/* @why before the bit: pairs with lane_unreachable(). */
	smp_mb__before_atomic();
	set_bit(bit, &link->refused_mask);
	WRITE_ONCE(net->any_refused, true);
	net->ops->kick_lanes(net);
}

/**
 * coll_link_failed() - a connection that this rank makes could not be opened
 * @link: its link
 * @bit: its bit of coll_link.refused_mask
 * @err: negative errno
 *
 * Context: control runner.
 */
void coll_link_failed(struct coll_link *link, u32 bit, int err)
{
	struct coll_reason reason = link_reason(link, err);

	if (link->required)
		coll_state_fail(link->net->state, &reason);
	else
		link_refused(link, bit, err);
}

static const char *reject_reason(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return "its host has the other byte order, or its transport is not accepted here";
	case -EPROTO:
		return "it does not speak the protocol, or contradicts itself";
	case -EPROTONOSUPPORT:
		return "it speaks another version of the protocol";
	case -EACCES:
		return "it is not of this group";
	case -EINVAL:
		return "its group has another size";
	case -EBUSY:
		return "there is such a connection";
	case -ENOMEM:
	case -EDQUOT:
		return "there is no memory for it";
	case -EAGAIN:
		return "it has not introduced itself in time, or before too many others came";
	case -ENOBUFS:
		return "too many others wait";
	}
	return "it ended";
}

/**
 * coll_net_count_refused() - a call did not come from a rank of this group, or has no place
 * @net: of the member
 * @caller: its address; NULL: not known, or of this kernel
 * @err: negative errno
 *
 * Context: any but interrupts.
 */
void coll_net_count_refused(struct coll_net *net, const struct sockaddr_storage *caller, int err)
{
	static DEFINE_RATELIMIT_STATE(once_a_second, HZ, 1);
	char from[64] = "";

	atomic64_inc(&net->rejected);
	if (!__ratelimit(&once_a_second))
		return;
	if (caller)
		scnprintf(from, sizeof(from), " from %pISpc", caller);
	pr_notice("collective: group %s rank %u: refused a connection%s: %s (%d)\n",
		  net->id->group_name, net->id->rank, from, reject_reason(err), err);
}
