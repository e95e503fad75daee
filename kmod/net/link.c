// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links: what two ranks tell each other besides payload.
 */
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "coll.h"

/* Bytes taken from a control connection before others have their turn. */
#define COLL_CONTROL_BUDGET	(64 * 1024)

/*
 * Room for all that the requests in flight may have to tell before the peer reads
 * any of it.  The positions are u32 that wrap: a power of two.
 */
static u32 link_tx_space(const struct coll_member *member)
{
	u32 frames = COLL_FRAMES_REQUEST + COLL_FRAMES_LANE * member->nlanes;

	return roundup_pow_of_two(COLL_INFLIGHT * frames * COLL_CONTROL_SIZE);
}

/**
 * coll_link_get() - the link to a peer
 * @member: the member
 * @peer: rank
 *
 * Return: the link, or NULL.
 */
struct coll_link *coll_link_get(struct coll_member *member, u32 peer)
{
	return READ_ONCE(member->links[peer]);	/* then what it points to: an address dependency */
}

/**
 * coll_link_new() - make the link to a peer
 * @member: the member
 * @peer: rank; there may be a link already
 * @ring: it is a neighbour on the ring
 *
 * Context: process, or the control runner, which charges memory to the member's cgroup; no
 * other thread makes links of this member meanwhile.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_link_new(struct coll_member *member, u32 peer, bool ring)
{
	u32 bytes = sizeof(struct coll_link) + link_tx_space(member) +
		    member->nlanes * sizeof(struct coll_mailbox);
	struct coll_link *link;
	u32 i;
	int err;

	if (peer == member->rank || member->links[peer])
		return 0;
	err = coll_charge(&member->charges, bytes);
	if (err)
		return err;
	link = kzalloc(sizeof(*link), GFP_KERNEL_ACCOUNT);
	if (!link)
		goto uncharge;
	link->charged = bytes;
	link->tx_size = link_tx_space(member);
	link->tx_ring = kvmalloc(link->tx_size, GFP_KERNEL_ACCOUNT);
	link->mailboxes = kvcalloc(member->nlanes, sizeof(*link->mailboxes), GFP_KERNEL_ACCOUNT);
	if (!link->tx_ring || !link->mailboxes)
		goto free;
	for (i = 0; i < member->nlanes; i++)
		spin_lock_init(&link->mailboxes[i].lock);
	spin_lock_init(&link->out_lock);
	link->member = member;
	link->peer = peer;
	link->required = ring;
	member->nr_required += ring;
	list_add_tail_rcu(&link->node, &member->link_list);
	smp_store_release(&member->links[peer], link);	/* complete */
	return 0;

free:
	kvfree(link->mailboxes);
	kvfree(link->tx_ring);
	kfree(link);
uncharge:
	coll_uncharge(&member->charges, bytes);
	return -ENOMEM;
}

/* All connections that are this rank's to begin have been begun. */
static bool link_called(const struct coll_link *link)
{
	return link->peer < link->member->rank ||
	       READ_ONCE(link->nr_connecting) == 1 + link->member->nlanes;
}

/**
 * coll_link_connect() - begin to connect a link; the lower rank does
 * @link: the link
 *
 * When this fails, for want of memory or of a port, it may be called again: it goes on with
 * the connection that could not be begun.
 *
 * Context: the process that joined; the demand mutex is held, or CONNECT has not
 * let anybody else in yet.
 * Return: 0 or a negative errno.
 */
int coll_link_connect(struct coll_link *link)
{
	const struct sockaddr_storage *addr = &link->member->peers[link->peer];
	int err = 0;

	while (!err && !link_called(link)) {
		err = link->nr_connecting ?
		      coll_conn_connect(link, COLL_CONN_DATA, link->nr_connecting - 1, addr) :
		      coll_conn_connect(link, COLL_CONN_CONTROL, 0, addr);
		if (!err)
			WRITE_ONCE(link->nr_connecting, link->nr_connecting + 1);
	}
	return err;
}

/**
 * coll_link_ensure() - an operation needs the link to a peer
 * @member: one that is up
 * @peer: rank, not ours
 *
 * It need not be complete when this returns.  Of two ranks the lower one calls:
 * both need the link for the same operation.
 *
 * Context: the process that joined.
 * Return: 0 or a negative errno; the next operation that needs it tries again.
 */
int coll_link_ensure(struct coll_member *member, u32 peer)
{
	struct coll_link *link = coll_link_get(member, peer);
	int err;

	if (link && link_called(link))
		return 0;
	mutex_lock(&member->link_mutex);
	err = coll_link_new(member, peer, false);
	if (!err)
		err = coll_link_connect(member->links[peer]);
	mutex_unlock(&member->link_mutex);
	return err;
}

/**
 * coll_link_flush_until() - nothing more is sent, and what was shall arrive
 * @link: the link, all of whose runners are stopped
 * @until: or be given up, in jiffies
 *
 * Context: may sleep; coll_link_free() and coll_lane_cleanup() wait for it.
 */
void coll_link_flush_until(struct coll_link *link, unsigned long until)
{
	u32 i;

	if (link->control)
		coll_conn_finish(link->control, until);
	for (i = 0; i < link->member->nlanes; i++)
		if (link->data[i])
			coll_conn_finish(link->data[i], until);
}

/**
 * coll_link_free() - end a link
 * @link: the link; its data connections are its lanes'
 * @reset: drop what is queued
 */
void coll_link_free(struct coll_link *link, bool reset)
{
	list_del(&link->node);
	link->member->links[link->peer] = NULL;
	if (link->control)
		coll_conn_free(link->control, reset);
	coll_uncharge(&link->member->charges, link->charged);
	kvfree(link->mailboxes);
	kvfree(link->tx_ring);
	kfree(link);
}

/**
 * coll_link_attach_conn() - a connection has introduced itself
 * @link: that it belongs to
 * @conn: the connection; ours when this succeeds
 *
 * Context: control runner.
 * Return: 0, -EBUSY when there is one already, or -ENOMEM.
 */
int coll_link_attach_conn(struct coll_link *link, struct coll_conn *conn)
{
	struct coll_member *member = link->member;
	int err;

	link->missed_heartbeats = 0;
	WRITE_ONCE(link->lease, ktime_get_ns() + coll_fail_heartbeats_ns(member, COLL_LEASE_BEATS));

	if (conn->kind == COLL_CONN_CONTROL) {
		if (link->control)
			return -EBUSY;
		link->control = conn;
		set_bit(COLL_EVENT_READABLE, &conn->events);
		coll_runner_kick(&member->control_runner);
	} else {
		if (link->data[conn->lane])
			return -EBUSY;
		err = coll_lane_attach(&member->lanes[conn->lane], conn);
		if (err)
			return err;
	}

	if (++link->nr_open < 1 + member->nlanes)
		return 0;
	coll_record_link(link, COLL_LINK_UP, 0);
	if (link->required) {
		spin_lock(&member->lock);
		member->nr_required_open++;
		spin_unlock(&member->lock);
		coll_fail_try_up(member);
	}
	return 0;
}

/**
 * coll_link_queue_frame() - queue a control frame
 * @link: the link
 * @control: the frame
 *
 * The caller sees to it that the control runner runs afterwards.
 *
 * Context: any but interrupts.
 */
void coll_link_queue_frame(struct coll_link *link, const struct coll_control *control)
{
	struct coll_member *member = link->member;

	spin_lock(&link->out_lock);
	if (link->tx_head - link->tx_tail <= link->tx_size - COLL_CONTROL_SIZE) {
		u8 frame[COLL_CONTROL_SIZE];
		u32 at = link->tx_head & (link->tx_size - 1);
		u32 n = min_t(u32, COLL_CONTROL_SIZE, link->tx_size - at);

		coll_wire_put_control(frame, control, member->incarnation);
		memcpy(link->tx_ring + at, frame, n);
		memcpy(link->tx_ring, frame + n, COLL_CONTROL_SIZE - n);
		link->tx_head += COLL_CONTROL_SIZE;
	} else {
		WRITE_ONCE(link->tx_overflow, true);
	}
	spin_unlock(&link->out_lock);
	WRITE_ONCE(member->control_tx_pending, true);
}

/**
 * coll_link_has_space() - is there room for what need not be told?
 * @link: the link
 *
 * Return: true when half of it is free.
 */
bool coll_link_has_space(struct coll_link *link)
{
	bool roomy;

	spin_lock(&link->out_lock);
	roomy = link->tx_head - link->tx_tail <= link->tx_size / 2;
	spin_unlock(&link->out_lock);
	return roomy;
}

/**
 * coll_link_queue_calls() - queue what two ranks have called
 * @link: the link; an ABORT of that instance follows
 * @instance: number of the operation
 * @calls: the two
 *
 * Context: any but interrupts.
 */
void coll_link_queue_calls(struct coll_link *link, u64 instance,
			   const struct coll_rank_call *calls)
{
	u8 i;

	for (i = 0; i < 2; i++)
		if (calls[i].rank != COLLECTIVE_RANK_NONE)
			coll_link_queue_frame(link, &(struct coll_control) {
				.kind = COLL_CONTROL_EVIDENCE,
				.lane = i,
				.instance = instance,
				.position = calls[i].rank,
				.signature = calls[i].signature,
			});
}

static int link_calls(struct coll_link *link, const struct coll_control *control)
{
	if (control->position >= link->member->nranks)
		return -EPROTO;
	if (link->calls_instance != control->instance + 1) {
		link->calls_instance = control->instance + 1;
		link->calls[0].rank = COLLECTIVE_RANK_NONE;
		link->calls[1].rank = COLLECTIVE_RANK_NONE;
	}
	link->calls[control->lane] = (struct coll_rank_call){
		.rank = control->position,
		.signature = control->signature,
	};
	return 0;
}

/* A reason names ranks that there are, or none. */
static bool link_names(const struct coll_link *link, u32 rank)
{
	return rank < link->member->nranks || rank == COLLECTIVE_RANK_NONE;
}

static void link_abort(struct coll_link *link, u64 instance, const struct coll_reason *cause)
{
	struct coll_failure failure = {
		.cause = *cause,
		.calls = {
			{ .rank = COLLECTIVE_RANK_NONE },
			{ .rank = COLLECTIVE_RANK_NONE },
		},
	};

	if (link->calls_instance == instance + 1)
		memcpy(failure.calls, link->calls, sizeof(failure.calls));
	link->calls_instance = 0;
	coll_match_abort(link->member, instance, &failure);
}

static int link_post_lane(struct coll_link *link, const struct coll_control *control)
{
	if (control->lane >= link->member->nlanes)
		return -EPROTO;
	return coll_lane_post(&link->member->lanes[control->lane],
			      &link->mailboxes[control->lane], control);
}

static int link_handle(struct coll_link *link, const struct coll_control *control)
{
	struct coll_member *member = link->member;
	struct coll_reason cause = control->cause;
	u64 now = ktime_get_ns();

	link->missed_heartbeats = 0;
	switch (control->kind) {
	case COLL_CONTROL_ANNOUNCE:
		return coll_match_receive_announce(member, link->peer, control);
	case COLL_CONTROL_EVIDENCE:
		return link_calls(link, control);
	case COLL_CONTROL_GRANT:
	case COLL_CONTROL_CREDIT:
	case COLL_CONTROL_CONSUMED:
		return link_post_lane(link, control);
	case COLL_CONTROL_PING:
		coll_match_hear_submitted(member, link->peer, control->submitted);
		coll_link_queue_frame(link, &(struct coll_control) {
			.kind = COLL_CONTROL_PONG,
			.position = control->position,
			.submitted = coll_match_submitted(member, link->peer),
		});
		return 0;
	case COLL_CONTROL_PONG:
		if (control->position > now)
			return -EPROTO;
		coll_match_hear_submitted(member, link->peer, control->submitted);
		/* Counted from when we asked: they cannot have counted less. */
		WRITE_ONCE(link->lease, max(link->lease, control->position +
					    coll_fail_heartbeats_ns(member, COLL_LEASE_BEATS)));
		return 0;
	case COLL_CONTROL_ABORT:
		if (!link_names(link, cause.rank_a) || !link_names(link, cause.rank_b))
			return -EPROTO;
		/* The number is ours to choose, not the peer's. */
		cause.error = -coll_reason_error(cause.kind);
		if (control->instance != COLL_INSTANCE_GROUP) {
			if (control->instance & COLL_INSTANCE_P2P &&
			    !coll_instance_is_between(control->instance, link->peer, member->rank))
				return -EPROTO;
			link_abort(link, control->instance, &cause);
			coll_absent_receive(member, control);
			return 0;
		}
		WRITE_ONCE(link->peer_fenced, true);
		coll_fail_report(member, &cause);
		return 0;
	case COLL_CONTROL_LEAVE:
		/* After the mail that came before it: pairs with lane_run(). */
		smp_store_release(&link->peer_left, true);
		coll_record_link(link, COLL_LINK_LEFT, 0);
		coll_match_peer_left(member);
		coll_fail_peer_left(member);
		return 0;
	}
	return -EPROTO;
}

/**
 * coll_link_receive() - bytes have come on a control connection
 * @conn: the connection
 * @ptr: the bytes
 * @len: how many
 *
 * Return: how many were taken, or -EPROTO.
 */
int coll_link_receive(struct coll_conn *conn, const void *ptr, u32 len)
{
	u32 n = min_t(u32, len, COLL_CONTROL_SIZE - conn->rx_len);
	struct coll_control control;
	int err;

	memcpy(conn->buf + conn->rx_len, ptr, n);
	conn->rx_len += n;
	if (conn->rx_len < COLL_CONTROL_SIZE)
		return n;
	conn->rx_len = 0;
	err = coll_wire_get_control(conn->buf, &control, conn->member->incarnation);
	if (!err)
		err = link_handle(conn->link, &control);
	return err ? err : n;
}

static void link_notify_lanes(struct coll_link *link)
{
	struct coll_member *member = link->member;
	u32 i;

	for (i = 0; i < member->nlanes; i++)
		coll_runner_kick(&member->lanes[i].runner);
}

/* The control connection has ended: nothing more will be heard. */
static void link_down(struct coll_link *link, int err)
{
	struct coll_member *member = link->member;
	bool expected = link->peer_left || link->peer_fenced;	/* it said so, or why it failed */

	link->control->state = COLL_CONN_DOWN;
	coll_record_link(link, COLL_LINK_DOWN, err);
	/* An orderly end comes after everything that could succeed. */
	if (!err)
		WRITE_ONCE(link->peer_fenced, true);

	if (err == -EPROTO)
		coll_fail_report_kind(member, COLLECTIVE_REASON_PROTOCOL, link->peer, member->rank);
	else if (!expected)
		coll_fail_report_kind(member, COLLECTIVE_REASON_RESET,
				      min(link->peer, member->rank), max(link->peer, member->rank));
	link_notify_lanes(link);
}

static void link_receive(struct coll_link *link)
{
	struct coll_conn *conn = link->control;
	int n;

	if (!test_and_clear_bit(COLL_EVENT_READABLE, &conn->events))
		return;
	n = conn->ep.transport->receive(&conn->ep, COLL_CONTROL_BUDGET);
	if (n >= COLL_CONTROL_BUDGET) {
		/* There may be more; others have their turn first. */
		set_bit(COLL_EVENT_READABLE, &conn->events);
		WRITE_ONCE(link->member->control_tx_pending, true);
	}
	if (n <= 0 && n != -EAGAIN)
		link_down(link, n);
}

static void link_send(struct coll_link *link)
{
	struct coll_conn *conn = link->control;
	u32 done = 0;

	if (test_and_clear_bit(COLL_EVENT_WRITABLE, &conn->events))
		conn->tx_blocked = false;
	/* What is posted meanwhile has another run. */
	while (!conn->tx_blocked && done < link->tx_size) {
		u32 at = link->tx_tail & (link->tx_size - 1);
		u32 left, n;
		int ret;

		spin_lock(&link->out_lock);
		left = link->tx_head - link->tx_tail;
		spin_unlock(&link->out_lock);
		if (!left)
			return;
		n = min(left, link->tx_size - at);
		ret = conn->ep.transport->send(&conn->ep, link->tx_ring + at, n);
		if (ret == -EAGAIN)
			conn->tx_blocked = true;
		if (ret <= 0)
			return;
		spin_lock(&link->out_lock);
		link->tx_tail += ret;
		spin_unlock(&link->out_lock);
		done += ret;
	}
}

/**
 * coll_link_run() - send and receive what there is
 * @link: the link
 *
 * Context: control runner.
 */
void coll_link_run(struct coll_link *link)
{
	if (!link->control || link->control->state != COLL_CONN_OPEN)
		return;
	if (READ_ONCE(link->tx_overflow))
		coll_fail_report_kind(link->member, COLLECTIVE_REASON_SILENCE,
				      min(link->peer, link->member->rank),
				      max(link->peer, link->member->rank));
	/* Somebody waits for what has been posted. */
	link_send(link);
	link_receive(link);
}

/* A data connection that is down names nobody, until control has had time to. */
static bool link_broken(struct coll_link *link)
{
	u32 i;

	for (i = 0; i < link->member->nlanes; i++)
		if (link->data[i] && READ_ONCE(link->data[i]->down))
			return ++link->down_heartbeats > 2;
	return false;
}

/* Right after LEAVE the connections end; if they do not, nobody is there any more. */
static void link_leaving(struct coll_link *link)
{
	if (link->leave_timed_out || ++link->missed_heartbeats <= COLL_SILENCE_BEATS)
		return;
	WRITE_ONCE(link->leave_timed_out, true);
	link_notify_lanes(link);
}

/**
 * coll_link_ping() - ask whether the peer is there, and tell it how far this rank is
 * @link: the link
 * @now: ns
 *
 * Context: control runner.
 */
void coll_link_ping(struct coll_link *link, u64 now)
{
	coll_link_queue_frame(link, &(struct coll_control) {
		.kind = COLL_CONTROL_PING,
		.position = now,
		.submitted = coll_match_submitted(link->member, link->peer),
	});
}

/**
 * coll_link_tick() - a heartbeat
 * @link: the link
 * @now: ns
 *
 * Context: control runner.
 */
void coll_link_tick(struct coll_link *link, u64 now)
{
	struct coll_member *member = link->member;
	u32 low = min(link->peer, member->rank), high = max(link->peer, member->rank);

	if (READ_ONCE(member->aborted))
		return;
	if (link->peer_left) {
		link_leaving(link);
		return;
	}
	if (!link->control || link->control->state != COLL_CONN_OPEN)
		return;
	/* Counted, not timed: a host that was stopped for a while missed them too. */
	if (++link->missed_heartbeats > COLL_SILENCE_BEATS)
		coll_fail_report_kind(member, COLLECTIVE_REASON_SILENCE, low, high);
	else if (link_broken(link))
		coll_fail_report_kind(member, COLLECTIVE_REASON_RESET, low, high);
	else
		coll_link_ping(link, now);
}
