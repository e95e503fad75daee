// SPDX-License-Identifier: GPL-2.0-only
/*
 * CONNECT: the addresses of all ranks, and links to the neighbours.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "exec/runner.h"
#include "lane/lane.h"
#include "limits.h"
#include "member/member.h"
#include "net/conn.h"
#include "net/link.h"
#include "transport/hub.h"

/**
 * coll_addr_len() - size of an address
 * @addr: of a peer, or to listen on
 *
 * Return: bytes; 0: of a family that is not supported.
 */
u32 coll_addr_len(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	}
	return 0;
}

/*
 * Keeps the addresses.  This comes before the state is CONNECTING: from then on incoming links may
 * bring the group up, and another thread may submit an operation that needs the addresses.
 */
static int connect_learn(struct coll_member *member, const struct sockaddr_storage *peers)
{
	bool reads = coll_local_hub_reads_all(member->net.hub, peers);
	bool board = reads && member->net.hub->board;
	struct coll_peer_addr *kept;
	u32 i;

	for (i = 0; reads && i < member->id.nlanes; i++)
		if (coll_lane_expose(&member->lanes[i]))
			return -ENOMEM;
	kept = kvcalloc(member->id.nranks, sizeof(*kept), GFP_KERNEL_ACCOUNT);
	if (!kept)
		return -ENOMEM;
	if (board && coll_lane_open_board(&member->lanes[0])) {
		kvfree(kept);
		return -ENOMEM;
	}
	for (i = 0; i < member->id.nranks; i++)
		coll_peer_addr_set(&kept[i], &peers[i]);
	/* Complete: a listing of links reads them meanwhile. */
	smp_store_release(&member->net.peers, kept);
	member->id.reads = reads;
	member->id.board = board;
	return 0;
}

/* Begins the connections to neighbours with a higher rank. */
static int connect_links(struct coll_member *member)
{
	struct coll_link *link;
	int err = 0;

	mutex_lock(&member->net.link_mutex);
	coll_for_each_link(link, &member->net) {
		if (link->required)
			err = coll_link_connect(link);
		if (err)
			break;
	}
	coll_net_unlock_links(&member->net);
	return err;
}

/* Half of the time of CONNECT at most is left to RDMA where TCP would do. */
static u64 connect_try_ns(u32 timeout_ms)
{
	u32 ms = timeout_ms ? timeout_ms : COLL_DEFAULT_CONNECT_MS;

	return min(ms / 2, COLL_TRY_MS) * (u64)NSEC_PER_MSEC;
}

/* A neighbour with a link that is not complete. */
static u32 connect_missing(struct coll_member *member)
{
	struct coll_link *link;

	coll_for_each_link(link, &member->net)
		if (link->required && READ_ONCE(link->nr_open) < 1 + member->id.nlanes)
			return link->peer;
	return COLLECTIVE_RANK_NONE;
}

static bool connect_done(const struct coll_member *member)
{
	return READ_ONCE(member->state.value) != COLLECTIVE_STATE_CONNECTING;
}

static unsigned long connect_deadline(u32 timeout_ms)
{
	u32 ms = timeout_ms ? timeout_ms : COLL_DEFAULT_CONNECT_MS;

	return (jiffies + msecs_to_jiffies(ms)) | 1;
}

static void connect_fail(struct coll_member *member)
{
	coll_state_fail_kind(&member->state, COLLECTIVE_REASON_DEADLINE, member->id.rank,
			     connect_missing(member));
}

/**
 * coll_connect_expire() - fail a CONNECT that is late, if no thread waits for it
 * @member: CONNECT may have been called without waiting
 *
 * Context: control runner.
 */
void coll_connect_expire(struct coll_member *member)
{
	if (READ_ONCE(member->state.value) == COLLECTIVE_STATE_CONNECTING &&
	    member->connect_deadline &&
	    time_after(jiffies, member->connect_deadline + COLL_CONNECT_LATE))
		connect_fail(member);
}

/* Return: the result of CONNECT, which returns success once. */
static int connect_result(struct coll_member *member)
{
	int err;

	/* The state may be ABORTED while reason_record() still holds the lock. */
	spin_lock(&member->state.lock);
	err = member->state.aborted;
	if (!err && member->connect_done)
		err = -EISCONN;
	if (!err)
		WRITE_ONCE(member->connect_done, true);
	spin_unlock(&member->state.lock);
	return err;
}

/**
 * coll_connect_wait() - wait until the group is up or has failed
 * @member: coll_member_connect() has returned 0, and LEAVE cannot end the rank meanwhile
 * @nonblock: true to return -EINPROGRESS instead
 *
 * The limit was set by the first CONNECT, so an interrupted one continues with the rest of it.
 *
 * Context: the process that joined; the member's mutex is not held, so that LEAVE can fail the
 * group, which ends the wait; may sleep.
 * Return: 0, -EINPROGRESS, -ERESTARTSYS, or another negative errno.
 */
int coll_connect_wait(struct coll_member *member, bool nonblock)
{
	long left = MAX_SCHEDULE_TIMEOUT;

	if (nonblock && !connect_done(member))
		return -EINPROGRESS;
	if (member->connect_deadline)
		left = max_t(long, member->connect_deadline - jiffies, 0);
	left = wait_event_interruptible_timeout(member->state.wait, connect_done(member),
						left);
	if (left < 0)
		return left;
	if (!left)
		connect_fail(member);
	return connect_result(member);
}

/**
 * coll_member_connect() - connect to the other ranks
 * @member: one that has joined; or that connects already, to wait for it
 * @peers: listening addresses by rank
 * @timeout_ms: as in struct collective_connect
 *
 * Context: the process that joined; the member's mutex is held; may sleep.
 * Return: 0: coll_connect_wait() tells the result; or a negative errno.  After an error for lack of
 * memory or ports the member still connects, and the same call continues with the links that were
 * not begun.
 */
int coll_member_connect(struct coll_member *member, const struct sockaddr_storage *peers,
			u32 timeout_ms)
{
	u32 rank;
	int err;

	if (READ_ONCE(member->connect_done))
		return -EISCONN;
	for (rank = 0; rank < member->id.nranks; rank++)
		if (!coll_addr_len(&peers[rank]))
			return -EINVAL;
	if (member->state.value == COLLECTIVE_STATE_JOINED) {
		err = connect_learn(member, peers);
		if (err)
			return err;
		member->net.try_ns = connect_try_ns(timeout_ms);
		if (timeout_ms != U32_MAX)
			member->connect_deadline = connect_deadline(timeout_ms);
		spin_lock(&member->state.lock);
		if (member->state.value == COLLECTIVE_STATE_JOINED)
			coll_state_set(&member->state, COLLECTIVE_STATE_CONNECTING);
		spin_unlock(&member->state.lock);
		coll_control_queue_tick(&member->control);
		if (member->id.reads)
			coll_control_post(&member->control, COLL_MEMBER_ALL_LOCAL);
	}
	if (READ_ONCE(member->state.value) == COLLECTIVE_STATE_CONNECTING) {
		err = connect_links(member);
		if (err) {
			if (!coll_link_can_retry(err))
				coll_state_fail_kind(&member->state, COLLECTIVE_REASON_RESET,
						     member->id.rank,
						      connect_missing(member));
			return err;
		}
		coll_net_try_up(&member->net);
	}
	return 0;
}
