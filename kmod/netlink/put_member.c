// SPDX-License-Identifier: GPL-2.0-only
/* Members, their lanes and their registered buffers. */
#include "lane/lane.h"
#include "limits.h"
#include "mem/pin.h"
#include "member/member.h"
#include "member/stats.h"
#include "netlink/family.h"

/**
 * struct stat_attr - a counter and its attribute
 * @attr: number of the attribute
 * @stat: the counter
 */
struct stat_attr {
	int attr;
	enum coll_stat stat;
};

static const struct stat_attr traffic[] = {
	{ COLLECTIVE_A_TRAFFIC_SENT,		COLL_STAT_BYTES_SENT },
	{ COLLECTIVE_A_TRAFFIC_RECEIVED,	COLL_STAT_BYTES_RECEIVED },
	{ COLLECTIVE_A_TRAFFIC_REDUCED,		COLL_STAT_BYTES_REDUCED },
	{ COLLECTIVE_A_TRAFFIC_READ,		COLL_STAT_BYTES_READ },
	{ COLLECTIVE_A_TRAFFIC_READ_OWN,	COLL_STAT_BYTES_READ_OWN },
	{ COLLECTIVE_A_TRAFFIC_STORED,		COLL_STAT_BYTES_STORED },
	{ COLLECTIVE_A_TRAFFIC_ZERO_COPY,	COLL_STAT_ZERO_COPY_BYTES },
	{ COLLECTIVE_A_TRAFFIC_NONTEMPORAL,	COLL_STAT_NONTEMPORAL_BYTES },
	{ COLLECTIVE_A_TRAFFIC_PLACED,		COLL_STAT_BYTES_PLACED },
};

static const struct stat_attr counters[] = {
	{ COLLECTIVE_A_MEMBER_SUBMITTED,		COLL_STAT_OPS_SUBMITTED },
	{ COLLECTIVE_A_MEMBER_COMPLETED,		COLL_STAT_OPS_COMPLETED },
	{ COLLECTIVE_A_MEMBER_FAILED,			COLL_STAT_OPS_FAILED },
	{ COLLECTIVE_A_MEMBER_PINNED_BYTES,		COLL_STAT_PINNED_BYTES },
	{ COLLECTIVE_A_MEMBER_MEMORY_BYTES,		COLL_STAT_MEMORY_BYTES },
	{ COLLECTIVE_A_MEMBER_REFUSED_CONNECTIONS,	COLL_STAT_REFUSED_CONNECTIONS },
};

/* Of one lane, or of all lanes of the member if @lane is NULL. */
static int put_traffic(struct sk_buff *skb, int attr, struct coll_member *member,
		       const struct coll_lane *lane)
{
	struct nlattr *nest = nla_nest_start(skb, attr);
	size_t i;
	u64 value;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(traffic); i++) {
		value = lane ? coll_stat_lane(lane, traffic[i].stat) :
			       coll_stat_member(member, traffic[i].stat);
		if (nla_put_uint(skb, traffic[i].attr, value))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int put_counters(struct sk_buff *skb, struct coll_member *member)
{
	struct nlattr *nest;
	size_t i;
	u32 kind;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		if (nla_put_uint(skb, counters[i].attr,
				 coll_stat_member(member, counters[i].stat)))
			return -EMSGSIZE;
	/* The attributes are numbered as the kinds of reasons. */
	static_assert((int)COLLECTIVE_A_ERRORS_DEATH == (int)COLLECTIVE_REASON_DEATH);
	static_assert((int)COLLECTIVE_A_ERRORS_RESOURCES == (int)COLLECTIVE_REASON_RESOURCES);
	static_assert((int)COLLECTIVE_A_ERRORS_MAX == (int)COLLECTIVE_REASON_COUNT - 1);
	nest = nla_nest_start(skb, COLLECTIVE_A_MEMBER_ERRORS);
	if (!nest)
		return -EMSGSIZE;
	for (kind = 1; kind < COLLECTIVE_REASON_COUNT; kind++)
		if (nla_put_uint(skb, kind, coll_stat_errors(member, kind)))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* What belongs to the member's spinlock. */
static int put_locked(struct sk_buff *skb, struct coll_member *member)
{
	const struct coll_last_failure *last = &member->requests.last_failure;
	struct coll_member_state *state = &member->state;
	int err;

	spin_lock(&state->lock);
	err = nla_put_u32(skb, COLLECTIVE_A_MEMBER_STATE, state->value) ||
	      coll_put_reason(skb, COLLECTIVE_A_MEMBER_REASON, &state->reason,
			      COLL_INSTANCE_GROUP) ||
	      coll_put_reason(skb, COLLECTIVE_A_MEMBER_LAST_FAILURE, &last->reason,
			      last->instance);
	spin_unlock(&state->lock);
	return err;
}

static u32 timeout_ms(const struct coll_member *member)
{
	unsigned long timeout = READ_ONCE(member->id.timeout);

	return timeout == MAX_JIFFY_OFFSET ? U32_MAX : jiffies_to_msecs(timeout);
}

/**
 * coll_put_member() - add the message of a member
 * @message: see struct coll_message
 * @dump: not used
 * @member: the member
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_member(struct coll_message *message, struct coll_dump *dump,
		    struct coll_member *member)
{
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message);

	if (err)
		return err;
	err = nla_put_u32(skb, COLLECTIVE_A_MEMBER_RANK, member->id.rank) ||
	      nla_put_u32(skb, COLLECTIVE_A_MEMBER_PID, member->owner.pid) ||
	      nla_put_u32(skb, COLLECTIVE_A_MEMBER_TRANSPORT, member->net.wish) ||
	      (message->owned &&
	       coll_put_addr(skb, COLLECTIVE_A_MEMBER_ADDRESS, &member->net.addr)) ||
	      nla_put_u32(skb, COLLECTIVE_A_MEMBER_INFLIGHT,
			  READ_ONCE(member->requests.inflight)) ||
	      nla_put_u32(skb, COLLECTIVE_A_MEMBER_TIMEOUT_MS, timeout_ms(member)) ||
	      nla_put_u32(skb, COLLECTIVE_A_MEMBER_HEARTBEAT_MS, member->id.heartbeat_ms) ||
	      nla_put_uint(skb, COLLECTIVE_A_MEMBER_EVENTS_LOST,
			   coll_notices_lost(&member->state.notices)) ||
	      put_counters(skb, member) ||
	      put_traffic(skb, COLLECTIVE_A_MEMBER_TRAFFIC, member, NULL) ||
	      put_locked(skb, member);
	return coll_message_end(message, err);
}

static int put_lane(struct coll_message *message, struct coll_member *member, u32 index)
{
	const struct coll_lane *lane = &member->lanes[index];
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message);

	if (err)
		return err;
	err = nla_put_u32(skb, COLLECTIVE_A_LANE_RANK, member->id.rank) ||
	      nla_put_u32(skb, COLLECTIVE_A_LANE_LANE, index) ||
	      nla_put_u32(skb, COLLECTIVE_A_LANE_CPU, coll_cpu_pick(&lane->runner)) ||
	      put_traffic(skb, COLLECTIVE_A_LANE_TRAFFIC, member, lane);
	return coll_message_end(message, err);
}

/**
 * coll_put_lanes() - add the messages of a member's lanes
 * @message: see struct coll_message
 * @dump: @item is the number of the lane to go on with
 * @member: the member
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_lanes(struct coll_message *message, struct coll_dump *dump,
		   struct coll_member *member)
{
	int err;

	for (; dump->item < member->id.nlanes; dump->item++) {
		err = put_lane(message, member, dump->item);
		if (err)
			return err;
	}
	return 0;
}

static int put_buffer(struct coll_message *message, const struct coll_member *member, u32 number,
		      const struct coll_buffer *buffer)
{
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message);

	if (err)
		return err;
	err = nla_put_u32(skb, COLLECTIVE_A_BUFFER_RANK, member->id.rank) ||
	      nla_put_u32(skb, COLLECTIVE_A_BUFFER_NUMBER, number) ||
	      nla_put_uint(skb, COLLECTIVE_A_BUFFER_ADDRESS, buffer->addr) ||
	      nla_put_uint(skb, COLLECTIVE_A_BUFFER_LENGTH, buffer->mem.length) ||
	      nla_put_uint(skb, COLLECTIVE_A_BUFFER_PAGES, buffer->npages) ||
	      nla_put_u32(skb, COLLECTIVE_A_BUFFER_USERS, refcount_read(&buffer->refs) - 1) ||
	      (buffer->writable && nla_put_flag(skb, COLLECTIVE_A_BUFFER_WRITABLE));
	return coll_message_end(message, err);
}

/**
 * coll_put_buffers() - add the messages of a member's registered buffers
 * @message: see struct coll_message
 * @dump: @item is the number of the buffer to go on with
 * @member: the member
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_buffers(struct coll_message *message, struct coll_dump *dump,
		     struct coll_member *member)
{
	struct xarray *buffers = &member->registry.buffers;
	struct coll_buffer *buffer;
	unsigned long number;
	int err = 0;

	/* Under the lock a buffer keeps the registry's reference. */
	xa_lock(buffers);
	xa_for_each_start(buffers, number, buffer, dump->item) {
		err = put_buffer(message, member, number, buffer);
		if (err) {
			dump->item = number;
			break;
		}
	}
	xa_unlock(buffers);
	return err;
}
