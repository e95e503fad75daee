// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A group of the ranks that are left of another one.
 *
 * The old group is of no use: it has failed.  All that the ranks have of one another
 * is where to call (lifeline.h); and a connection that is refused, which says that a
 * process has ended.  This can be relied on, and so the ranks can agree, whoever dies
 * when.  One leads, the others follow:
 *
 *	seek	the leader is the lowest rank that has not ended: call 0, 1, ...
 *		until one answers; if none does it is we.  SURVIVOR, HERE
 *	gather	it waits until each rank follows it or has ended
 *	form	BEGIN: who is in; every one opens the device and JOINs, PLACE;
 *		PLACES; CONNECT, READY
 *	decide	DECIDED: all are connected; NOTED
 *	commit	COMMIT: close the door and return
 *
 * Somebody who dies before DECIDED makes the leader begin again from "gather".  When
 * the leader dies the others seek again, and say how far they have come:
 *
 *  - Nobody has heard DECIDED: nobody has returned, since the leader says COMMIT
 *    only when all that live have NOTED that.  The new leader begins again.
 *  - One has: then all are connected, and the new leader goes on from there, with
 *    the same group.  Who has returned already has closed its door, so that nobody
 *    waits for it; it has the same group, too.
 *
 * So all who return a group return the same one.  The dead leader, and whoever died
 * after READY, is a rank of it: then it fails with its first operation and may be
 * shrunk in turn.  A rank that returns an error may call again.
 *
 * Time.  A rank that is frozen, or does not call, does not answer either.  Such a
 * one is not waited for as a leader longer than for a quarter of the time, nor as one
 * who follows for more than half of it; it is left out.  It finds out when it comes:
 * the others' doors are closed, while their lives are open.  Then two may lead: the
 * lower gives in to the higher, unless it has begun to form a group.  A leader that
 * freezes while others follow it makes them fail when their time is over; when they
 * call again it does not answer any more.
 *
 * Whoever is cut off by the network looks like a rank that is frozen, and each part may
 * form a group of its own.
 *
 * Nothing that arrives is believed: messages have a fixed size or a bound, who does
 * not name this group, and itself, is sent away.  The sockets are at the addresses
 * of the members, to which the rules of the rendezvous have been applied.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cancellation.h"
#include "deadline.h"
#include "device.h"
#include "lifeline.h"
#include "shrink.h"

#define GRACE_MS	2000	/* for the leader's word after the deadline */

/*
 * Seeking
 */

/* The rank that is to lead, as far as we know. */
static int candidate(struct coll_shrink *shrink)
{
	const struct coll_survivor *survivors = shrink->survivors;
	int rank;

	if (shrink->toward >= 0 && shrink->toward != shrink->comm->rank &&
	    (survivors[shrink->toward].state >= SURVIVOR_SHUT ||
	     survivors[shrink->toward].suspected))
		shrink->toward = -1;
	if (shrink->toward >= 0)
		return shrink->toward;
	for (rank = 0; rank < shrink->comm->rank; rank++)
		if (!survivors[rank].suspected && survivors[rank].state != SURVIVOR_DEAD &&
		    (shrink->phase != PHASE_DECIDED || survivors[rank].state < SURVIVOR_SHUT))
			break;
	return rank;
}

/* Somebody who says that it leads; -1: nobody does. */
static int find_leader(const struct coll_shrink *shrink)
{
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++) {
		const struct coll_survivor *survivor = &shrink->survivors[rank];

		if (survivor->state == SURVIVOR_REACHED &&
		    (survivor->out.mail || (survivor->answered && survivor->leader == rank)))
			return rank;
	}
	return -1;
}

static int seek(struct coll_shrink *shrink)
{
	const unsigned int left = coll_deadline_left(shrink->deadline);
	const uint64_t patience = coll_deadline_in(left / 4);
	struct coll_survivor *survivor;
	int rank, leader;

	shrink->leader = -1;
	shrink->forming = false;
	while (coll_deadline_left(shrink->deadline)) {
		uint64_t now = coll_deadline_now();

		leader = find_leader(shrink);
		if (leader >= 0)
			return leader;
		leader = candidate(shrink);
		if (leader == shrink->comm->rank)
			return leader;
		survivor = &shrink->survivors[leader];
		survivor->wanted = true;
		if (survivor->answered && survivor->leader >= 0) {
			shrink->toward = survivor->leader;
			continue;
		}
		/* Those behind it have had no time yet: call all at once. */
		for (rank = 0; now >= patience && rank < shrink->comm->rank; rank++)
			shrink->survivors[rank].wanted = true;
		if (now >= patience && survivor->dialed && !survivor->answered &&
		    now >= survivor->dialed + left / 16) {
			if (survivor->state == SURVIVOR_GONE)
				return coll_shrink_left_out(shrink, leader);
			survivor->suspected = true;
			continue;
		}
		coll_shrink_pump(shrink, now < patience ? patience : coll_deadline_in(left / 16));
	}
	return coll_fail(&shrink->detail, -ETIMEDOUT, "rank %d does not answer",
			 candidate(shrink));
}

/*
 * Following
 */

/* What a round asks of us; how it went is sent. */
static void answer(struct coll_shrink *shrink, struct coll_line *line, uint64_t round, int err,
		   enum coll_message_kind kind)
{
	size_t size;

	if (err)
		size = coll_message_unable(shrink->message, round, err, shrink->detail.text);
	else if (kind == COLL_MESSAGE_PLACE)
		size = coll_message_place(shrink->message, round, &shrink->child->addr);
	else
		size = coll_message_round(shrink->message, kind, round);
	coll_line_send(line, shrink->message, size);
	/* The others are to learn it, too, and at once; the text is the leader's now. */
	if (err)
		coll_shrink_abandon(shrink);
}

static int begin(struct coll_shrink *shrink, struct coll_line *line, const uint8_t *body,
		 size_t length)
{
	const uint64_t round = coll_message_read_round(body);

	coll_shrink_abandon(shrink);
	if (coll_message_read_fates(body, length, &shrink->connect_ms, shrink->fates,
				    shrink->comm->nranks) ||
	    shrink->fates[shrink->comm->rank] != FATE_MEMBER)
		return -EPROTO;
	answer(shrink, line, round, coll_shrink_join(shrink, round), COLL_MESSAGE_PLACE);
	return 0;
}

/* CONNECT is over. */
static void connected(struct coll_shrink *shrink, struct coll_line *line)
{
	if (!shrink->connected)
		shrink->phase = PHASE_READY;
	answer(shrink, line, shrink->round, shrink->connected, COLL_MESSAGE_READY);
}

/* A message of the leader; 1: go on. */
static int obey(struct coll_shrink *shrink, struct coll_line *line)
{
	char text[COLL_DETAIL_SIZE] = "";
	const uint8_t *body;
	size_t length;
	int err;

	body = coll_line_body(line, &length);
	if (line->mail == COLL_MESSAGE_FAIL) {
		err = coll_message_read_fail(body, length, text, sizeof(text));
		return coll_fail(&shrink->detail, err, "%s", text);
	}
	if (length < COLL_ROUND_SIZE)
		return -EPROTO;
	if (line->mail == COLL_MESSAGE_BEGIN)
		return begin(shrink, line, body, length) ?: 1;
	if (!shrink->child)
		return 1;	/* we are no more in this round */
	if (coll_message_read_round(body) != shrink->round)
		return -EPROTO;
	switch (line->mail) {
	case COLL_MESSAGE_PLACES:
		if (shrink->child->peers)
			return -EPROTO;
		coll_shrink_connect(shrink, body + COLL_ROUND_SIZE, length - COLL_ROUND_SIZE);
		if (!shrink->connecting)
			connected(shrink, line);
		return 1;
	case COLL_MESSAGE_DECIDED:
		if (shrink->phase == PHASE_NONE)
			return -EPROTO;
		shrink->phase = PHASE_DECIDED;
		answer(shrink, line, shrink->round, 0, COLL_MESSAGE_NOTED);
		return 1;
	case COLL_MESSAGE_COMMIT:
		return shrink->phase == PHASE_DECIDED ? 0 : -EPROTO;
	}
	return -EPROTO;
}

/* Nobody else: to follow one is to have given up all others. */
static void follow_only(struct coll_shrink *shrink, int leader)
{
	int rank;

	shrink->leader = leader;
	shrink->toward = -1;
	for (rank = 0; rank < shrink->comm->nranks; rank++) {
		struct coll_survivor *other = &shrink->survivors[rank];

		if (rank == leader)
			continue;
		other->wanted = false;
		if (other->state < SURVIVOR_SHUT)
			coll_shrink_drop(other);
	}
	coll_shrink_tell_leader(shrink, leader);
}

static int follow(struct coll_shrink *shrink, int leader)
{
	struct coll_survivor *survivor = &shrink->survivors[leader];
	int err = 1;

	follow_only(shrink, leader);
	while (err > 0) {
		const uint64_t deadline = shrink->deadline + GRACE_MS;

		if (survivor->out.mail) {
			err = obey(shrink, &survivor->out);
			coll_line_taken(&survivor->out);
		} else if (survivor->state != SURVIVOR_REACHED) {
			err = -EAGAIN;
		} else if (survivor->answered && survivor->leader >= 0 &&
			   survivor->leader != leader) {
			shrink->toward = survivor->leader;
			err = -EAGAIN;
		} else if (!coll_deadline_left(deadline)) {
			err = coll_fail(&shrink->detail, -ETIMEDOUT,
					"rank %d was silent until the deadline", leader);
		} else {
			coll_shrink_pump(shrink, deadline);
			if (!shrink->connecting)
				continue;
			coll_shrink_look(shrink);
			if (!shrink->connecting)
				connected(shrink, &survivor->out);
		}
	}
	/* Where we are not READY the round cannot go on. */
	if (err == -EAGAIN && shrink->phase == PHASE_NONE)
		coll_shrink_abandon(shrink);
	return err && err != -EAGAIN ?
	       coll_fail(&shrink->detail, err, "rank %d broke the protocol", leader) : err;
}

/*
 * The call
 */

/* A death that the old group knows of need not be looked for. */
static void take_hint(struct coll_shrink *shrink, const struct collective_status *status)
{
	const struct collective_reason *reason = &status->group;

	if (reason->kind == COLLECTIVE_REASON_DEATH &&
	    reason->rank_a < (__u32)shrink->comm->nranks &&
	    reason->rank_a != (__u32)shrink->comm->rank)
		shrink->survivors[reason->rank_a].state = SURVIVOR_DEAD;
}

/* Say who was left out although it may live. */
static void note_late(const struct coll_shrink *shrink)
{
	char text[COLL_DETAIL_SIZE] = "";
	size_t at = 0;
	int rank;

	for (rank = 0; rank < shrink->comm->nranks && at < sizeof(text) - 60; rank++)
		if (shrink->fates[rank] == FATE_LATE)
			at += sprintf(text + at, at ? ", rank %d" : "rank %d", rank);
	if (!at)
		return;
	sprintf(text + at, " of group %.32s did not come and was left out",
		shrink->comm->setup.name);
	coll_comm_note(shrink->child, text);
}

static int prepare(struct coll_shrink *shrink)
{
	const int n = shrink->comm->nranks;
	int i;

	for (i = 0; i < COLL_STRANGERS; i++)
		shrink->strangers[i].fd = -1;
	shrink->survivors = calloc(n, sizeof(*shrink->survivors));
	shrink->fates = calloc(n, sizeof(*shrink->fates));
	shrink->polls = calloc(COLL_SHRINK_POLLS(n), sizeof(*shrink->polls));
	shrink->message = malloc(COLL_MESSAGE_MAX + COLL_ROUND_SIZE +
				 (size_t)n * COLL_ENTRY_SIZE);
	if (!shrink->survivors || !shrink->fates || !shrink->polls || !shrink->message)
		return coll_fail(&shrink->detail, -ENOMEM, "no memory");
	for (i = 0; i < n; i++) {
		shrink->survivors[i].in.fd = -1;
		shrink->survivors[i].out.fd = -1;
		shrink->survivors[i].leader = -1;
	}
	return 0;
}

static int run(struct coll_shrink *shrink)
{
	struct coll_comm *comm = shrink->comm;
	struct collective_status status;
	int err;

	if (comm->pid != getpid())
		return -EPERM;
	err = coll_device_status(comm->fd, &status);
	if (err)
		return err;
	if (comm->nranks > 1 && comm->setup.door < 0)
		return coll_fail(&shrink->detail, -EINVAL, "group %s has been shrunk before",
				 comm->setup.name);
	err = prepare(shrink);
	if (err)
		return err;
	take_hint(shrink, &status);
	do {
		err = seek(shrink);
		if (err >= 0)
			err = err == comm->rank ? coll_shrink_lead(shrink) : follow(shrink, err);
	} while (err == -EAGAIN && coll_deadline_left(shrink->deadline));
	if (err == -EAGAIN)
		err = coll_fail(&shrink->detail, -ETIMEDOUT,
				"no group was formed before the deadline");
	if (!err)
		note_late(shrink);
	coll_shrink_hang_up(shrink);
	return err;
}

int coll_shrink(struct coll_comm *comm, struct coll_comm **new)
{
	const unsigned int ms = comm->setup.init_timeout_ms;
	char text[COLL_DETAIL_SIZE] = "";
	struct coll_shrink shrink = {
		.comm = comm,
		.detail = { text, sizeof(text) },
		.deadline = coll_deadline_in(ms),
		.half = coll_deadline_in(ms / 2),
		.leader = -1,
		.toward = -1,
	};
	int state, err;

	*new = NULL;
	if (coll_comm_foreign(comm))
		return -EPERM;
	state = coll_cancellation_off();
	pthread_mutex_lock(&comm->order);
	err = run(&shrink);
	if (!err) {
		*new = shrink.child;
		coll_lifeline_close_door(&comm->setup);
	} else {
		coll_comm_free(shrink.child);
	}
	pthread_mutex_unlock(&comm->order);
	coll_comm_note(comm, err ? text : "");
	free(shrink.message);
	free(shrink.polls);
	free(shrink.fates);
	free(shrink.survivors);
	coll_cancellation_restore(state);
	return err;
}
