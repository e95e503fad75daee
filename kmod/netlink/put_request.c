// SPDX-License-Identifier: GPL-2.0-only
/* Requests in flight: their calls, their age, and the ranks that they wait for. */
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "member/member.h"
#include "netlink/family.h"
#include "op/request.h"
#include "op/requests.h"

/* Ranks that a message names as waited for. */
#define REQUEST_WAITS	16

static int put_times(struct sk_buff *skb, const struct coll_request *request)
{
	long left = request->deadline - jiffies;

	return nla_put_uint(skb, COLLECTIVE_A_REQUEST_AGE_NS,
			    ktime_get_ns() - request->submit_ns) ||
	       (request->deadline && !request->abort.error &&
		nla_put_uint(skb, COLLECTIVE_A_REQUEST_LEFT_MS,
			     jiffies_to_msecs(max(left, 0L))));
}

static int put_request(struct coll_message *message, const struct coll_request *request)
{
	struct coll_rank_call call = {
		.rank = request->reqs->id->rank,
		.signature = request->call.signature,
	};
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message);
	u32 waits[REQUEST_WAITS], n;

	if (err)
		return err;
	n = coll_request_waits(request, waits, REQUEST_WAITS);
	err = nla_put_u32(skb, COLLECTIVE_A_REQUEST_RANK, call.rank) ||
	      nla_put_uint(skb, COLLECTIVE_A_REQUEST_ID, request->id) ||
	      nla_put_uint(skb, COLLECTIVE_A_REQUEST_INSTANCE, request->call.instance) ||
	      coll_put_call(skb, COLLECTIVE_A_REQUEST_CALL, &call) ||
	      nla_put_uint(skb, COLLECTIVE_A_REQUEST_BYTES, request->footprint.block) ||
	      nla_put_u32(skb, COLLECTIVE_A_REQUEST_LANES, request->nparts) ||
	      nla_put_u32(skb, COLLECTIVE_A_REQUEST_STATE, coll_request_state(request)) ||
	      put_times(skb, request) ||
	      coll_put_ranks(skb, COLLECTIVE_A_REQUEST_WAITS_FOR, waits, n) ||
	      (request->abort.error &&
	       coll_put_reason(skb, COLLECTIVE_A_REQUEST_REASON, &request->failure.reason,
			       request->call.instance));
	return coll_message_end(message, err);
}

/**
 * coll_put_requests() - add the messages of a member's requests in flight
 * @message: see struct coll_message
 * @dump: @item is the least id to go on with
 * @member: the member
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_requests(struct coll_message *message, struct coll_dump *dump,
		      struct coll_member *member)
{
	struct coll_requests *reqs = &member->requests;
	const struct coll_request *request;
	int err = 0;

	spin_lock(&reqs->state->lock);
	/* COLL_INFLIGHT at most; ids rise in the order of the list. */
	list_for_each_entry(request, &reqs->inflight_list, node) {
		if (request->id < dump->item || request->submit_ns > dump->until)
			continue;
		err = put_request(message, request);
		if (err)
			break;
		dump->item = request->id + 1;
	}
	spin_unlock(&reqs->state->lock);
	return err;
}
