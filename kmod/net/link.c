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
static u32 link_outbox(const struct coll_member *member)
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
	u32 bytes = sizeof(struct coll_link) + link_outbox(member) +
		    member->nlanes * sizeof(struct coll_mail);
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
	link->out_size = link_outbox(member);
	link->out = kvmalloc(link->out_size, GFP_KERNEL_ACCOUNT);
	link->mail = kvcalloc(member->nlanes, sizeof(*link->mail), GFP_KERNEL_ACCOUNT);
	if (!link->out || !link->mail)
		goto free;
	for (i = 0; i < member->nlanes; i++)
		spin_lock_init(&link->mail[i].lock);
	spin_lock_init(&link->out_lock);
	link->member = member;
	link->peer = peer;
	link->ring = ring;
	member->nring += ring;
	list_add_tail_rcu(&link->node, &member->linked);
	smp_store_release(&member->links[peer], link);	/* complete */
	return 0;

free:
	kvfree(link->mail);
	kvfree(link->out);
	kfree(link);
uncharge:
	coll_uncharge(&member->charges, bytes);
	return -ENOMEM;
}

/* All connections that are this rank's to begin have been begun. */
static bool link_called(const struct coll_link *link)
{
	return link->peer < link->member->rank ||
	       READ_ONCE(link->ncalled) == 1 + link->member->nlanes;
}

/**
 * coll_link_call() - begin to connect a link; the lower rank does
 * @link: the link
 *
 * When this fails, for want of memory or of a port, it may be called again: it goes on with
 * the connection that could not be begun.
 *
 * Context: the process that joined; the demand mutex is held, or CONNECT has not
 * let anybody else in yet.
 * Return: 0 or a negative errno.
 */
int coll_link_call(struct coll_link *link)
{
	const struct sockaddr_storage *addr = &link->member->peers[link->peer];
	int err = 0;

	while (!err && !link_called(link)) {
		err = link->ncalled ?
		      coll_conn_connect(link, COLL_CONN_DATA, link->ncalled - 1, addr) :
		      coll_conn_connect(link, COLL_CONN_CONTROL, 0, addr);
		if (!err)
			WRITE_ONCE(link->ncalled, link->ncalled + 1);
	}
	return err;
}

/**
 * coll_link_demand() - an operation needs the link to a peer
 * @member: one that is up
 * @peer: rank, not ours
 *
 * It need not be complete when this returns.  Of two ranks the lower one calls:
 * both need the link for the same operation.
 *
 * Context: the process that joined.
 * Return: 0 or a negative errno; the next operation that needs it tries again.
 */
int coll_link_demand(struct coll_member *member, u32 peer)
{
	struct coll_link *link = coll_link_get(member, peer);
	int err;

	if (link && link_called(link))
		return 0;
	mutex_lock(&member->demand);
	err = coll_link_new(member, peer, false);
	if (!err)
		err = coll_link_call(member->links[peer]);
	mutex_unlock(&member->demand);
	return err;
}

/**
 * coll_link_finish() - nothing more is sent, and what was shall arrive
 * @link: the link, all of whose runners are stopped
 * @until: or be given up, in jiffies
 *
 * Context: may sleep; coll_link_free() and coll_lane_cleanup() wait for it.
 */
void coll_link_finish(struct coll_link *link, unsigned long until)
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
	kvfree(link->mail);
	kvfree(link->out);
	kfree(link);
}

/**
 * coll_link_admit() - a connection has introduced itself
 * @link: that it belongs to
 * @conn: the connection; ours when this succeeds
 *
 * Context: control runner.
 * Return: 0, -EBUSY when there is one already, or -ENOMEM.
 */
int coll_link_admit(struct coll_link *link, struct coll_conn *conn)
{
	struct coll_member *member = link->member;
	int err;

	link->quiet = 0;
	WRITE_ONCE(link->lease, ktime_get_ns() + coll_member_beats(member, COLL_LEASE_BEATS));

	if (conn->kind == COLL_CONN_CONTROL) {
		if (link->control)
			return -EBUSY;
		link->control = conn;
		set_bit(COLL_EVENT_READABLE, &conn->events);
		coll_runner_kick(&member->control);
	} else {
		if (link->data[conn->lane])
			return -EBUSY;
		err = coll_lane_attach(&member->lanes[conn->lane], conn);
		if (err)
			return err;
	}

	if (++link->open < 1 + member->nlanes)
		return 0;
	coll_record_link(link, COLL_LINK_UP, 0);
	if (link->ring) {
		spin_lock(&member->lock);
		member->nopen++;
		spin_unlock(&member->lock);
		coll_member_open(member);
	}
	return 0;
}

/**
 * coll_link_post() - queue a control frame
 * @link: the link
 * @control: the frame
 *
 * The caller sees to it that the control runner runs afterwards.
 *
 * Context: any but interrupts.
 */
void coll_link_post(struct coll_link *link, const struct coll_control *control)
{
	struct coll_member *member = link->member;

	spin_lock(&link->out_lock);
	if (link->head - link->tail <= link->out_size - COLL_CONTROL_SIZE) {
		u8 frame[COLL_CONTROL_SIZE];
		u32 at = link->head & (link->out_size - 1);
		u32 n = min_t(u32, COLL_CONTROL_SIZE, link->out_size - at);

		coll_wire_put_control(frame, control, member->incarnation);
		memcpy(link->out + at, frame, n);
		memcpy(link->out, frame + n, COLL_CONTROL_SIZE - n);
		link->head += COLL_CONTROL_SIZE;
	} else {
		WRITE_ONCE(link->lost, true);
	}
	spin_unlock(&link->out_lock);
	WRITE_ONCE(member->posted, true);
}

/**
 * coll_link_roomy() - is there room for what need not be told?
 * @link: the link
 *
 * Return: true when half of it is free.
 */
bool coll_link_roomy(struct coll_link *link)
{
	bool roomy;

	spin_lock(&link->out_lock);
	roomy = link->head - link->tail <= link->out_size / 2;
	spin_unlock(&link->out_lock);
	return roomy;
}

/**
 * coll_link_evidence() - queue what two ranks have called
 * @link: the link; an ABORT of that instance follows
 * @instance: number of the operation
 * @calls: the two
 *
 * Context: any but interrupts.
 */
void coll_link_evidence(struct coll_link *link, u64 instance,
			const struct coll_evidence *calls)
{
	u8 i;

	for (i = 0; i < 2; i++)
		if (calls[i].rank != COLLECTIVE_RANK_NONE)
			coll_link_post(link, &(struct coll_control) {
				.kind = COLL_CONTROL_EVIDENCE,
				.lane = i,
				.instance = instance,
				.position = calls[i].rank,
				.signature = calls[i].signature,
			});
}

static int link_evidence(struct coll_link *link, const struct coll_control *control)
{
	if (control->position >= link->member->nranks)
		return -EPROTO;
	if (link->evidence_of != control->instance + 1) {
		link->evidence_of = control->instance + 1;
		link->evidence[0].rank = COLLECTIVE_RANK_NONE;
		link->evidence[1].rank = COLLECTIVE_RANK_NONE;
	}
	link->evidence[control->lane] = (struct coll_evidence){
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

static void link_abort(struct coll_link *link, u64 instance, const struct coll_cause *cause)
{
	struct coll_failure failure = {
		.cause = *cause,
		.calls = {
			{ .rank = COLLECTIVE_RANK_NONE },
			{ .rank = COLLECTIVE_RANK_NONE },
		},
	};

	if (link->evidence_of == instance + 1)
		memcpy(failure.calls, link->evidence, sizeof(failure.calls));
	link->evidence_of = 0;
	coll_agree_abort(link->member, instance, &failure);
}

static int link_mail(struct coll_link *link, const struct coll_control *control)
{
	if (control->lane >= link->member->nlanes)
		return -EPROTO;
	return coll_lane_mail(&link->member->lanes[control->lane],
			      &link->mail[control->lane], control);
}

static int link_handle(struct coll_link *link, const struct coll_control *control)
{
	struct coll_member *member = link->member;
	struct coll_cause cause = control->cause;
	u64 now = ktime_get_ns();

	link->quiet = 0;
	switch (control->kind) {
	case COLL_CONTROL_ANNOUNCE:
		return coll_agree_heard(member, link->peer, control);
	case COLL_CONTROL_EVIDENCE:
		return link_evidence(link, control);
	case COLL_CONTROL_GRANT:
	case COLL_CONTROL_CREDIT:
	case COLL_CONTROL_CONSUMED:
		return link_mail(link, control);
	case COLL_CONTROL_PING:
		coll_agree_hear_submitted(member, link->peer, control->submitted);
		coll_link_post(link, &(struct coll_control) {
			.kind = COLL_CONTROL_PONG,
			.position = control->position,
			.submitted = coll_agree_submitted(member, link->peer),
		});
		return 0;
	case COLL_CONTROL_PONG:
		if (control->position > now)
			return -EPROTO;
		coll_agree_hear_submitted(member, link->peer, control->submitted);
		/* Counted from when we asked: they cannot have counted less. */
		WRITE_ONCE(link->lease, max(link->lease, control->position +
					    coll_member_beats(member, COLL_LEASE_BEATS)));
		return 0;
	case COLL_CONTROL_ABORT:
		if (!link_names(link, cause.rank_a) || !link_names(link, cause.rank_b))
			return -EPROTO;
		/* The number is ours to choose, not the peer's. */
		cause.error = -coll_cause_error(cause.kind);
		if (control->instance != COLL_INSTANCE_GROUP) {
			if (control->instance & COLL_NAME_PAIR &&
			    !coll_name_between(control->instance, link->peer, member->rank))
				return -EPROTO;
			link_abort(link, control->instance, &cause);
			coll_absent_heard(member, control);
			return 0;
		}
		WRITE_ONCE(link->safe, true);
		coll_member_abort(member, &cause);
		return 0;
	case COLL_CONTROL_LEAVE:
		/* After the mail that came before it: pairs with lane_run(). */
		smp_store_release(&link->left, true);
		coll_record_link(link, COLL_LINK_LEFT, 0);
		coll_agree_left(member);
		coll_member_left(member);
		return 0;
	}
	return -EPROTO;
}

/**
 * coll_link_take() - bytes have come on a control connection
 * @conn: the connection
 * @ptr: the bytes
 * @len: how many
 *
 * Return: how many were taken, or -EPROTO.
 */
int coll_link_take(struct coll_conn *conn, const void *ptr, u32 len)
{
	u32 n = min_t(u32, len, COLL_CONTROL_SIZE - conn->got);
	struct coll_control control;
	int err;

	memcpy(conn->buf + conn->got, ptr, n);
	conn->got += n;
	if (conn->got < COLL_CONTROL_SIZE)
		return n;
	conn->got = 0;
	err = coll_wire_get_control(conn->buf, &control, conn->member->incarnation);
	if (!err)
		err = link_handle(conn->link, &control);
	return err ? err : n;
}

static void link_tell_lanes(struct coll_link *link)
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
	bool expected = link->left || link->safe;	/* it said so, or why it failed */

	link->control->state = COLL_CONN_DOWN;
	coll_record_link(link, COLL_LINK_DOWN, err);
	/* An orderly end comes after everything that could succeed. */
	if (!err)
		WRITE_ONCE(link->safe, true);

	if (err == -EPROTO)
		coll_member_fail(member, COLLECTIVE_REASON_PROTOCOL, link->peer, member->rank);
	else if (!expected)
		coll_member_fail(member, COLLECTIVE_REASON_RESET,
				 min(link->peer, member->rank), max(link->peer, member->rank));
	link_tell_lanes(link);
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
		WRITE_ONCE(link->member->posted, true);
	}
	if (n <= 0 && n != -EAGAIN)
		link_down(link, n);
}

static void link_send(struct coll_link *link)
{
	struct coll_conn *conn = link->control;
	u32 done = 0;

	if (test_and_clear_bit(COLL_EVENT_WRITABLE, &conn->events))
		conn->blocked = false;
	/* What is posted meanwhile has another run. */
	while (!conn->blocked && done < link->out_size) {
		u32 at = link->tail & (link->out_size - 1);
		u32 left, n;
		int ret;

		spin_lock(&link->out_lock);
		left = link->head - link->tail;
		spin_unlock(&link->out_lock);
		if (!left)
			return;
		n = min(left, link->out_size - at);
		ret = conn->ep.transport->send(&conn->ep, link->out + at, n);
		if (ret == -EAGAIN)
			conn->blocked = true;
		if (ret <= 0)
			return;
		spin_lock(&link->out_lock);
		link->tail += ret;
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
	if (READ_ONCE(link->lost))
		coll_member_fail(link->member, COLLECTIVE_REASON_SILENCE,
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
			return ++link->broken > 2;
	return false;
}

/* Right after LEAVE the connections end; if they do not, nobody is there any more. */
static void link_leaving(struct coll_link *link)
{
	if (link->gone || ++link->quiet <= COLL_SILENCE_BEATS)
		return;
	WRITE_ONCE(link->gone, true);
	link_tell_lanes(link);
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
	coll_link_post(link, &(struct coll_control) {
		.kind = COLL_CONTROL_PING,
		.position = now,
		.submitted = coll_agree_submitted(link->member, link->peer),
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
	if (link->left) {
		link_leaving(link);
		return;
	}
	if (!link->control || link->control->state != COLL_CONN_OPEN)
		return;
	/* Counted, not timed: a host that was stopped for a while missed them too. */
	if (++link->quiet > COLL_SILENCE_BEATS)
		coll_member_fail(member, COLLECTIVE_REASON_SILENCE, low, high);
	else if (link_broken(link))
		coll_member_fail(member, COLLECTIVE_REASON_RESET, low, high);
	else
		coll_link_ping(link, now);
}
