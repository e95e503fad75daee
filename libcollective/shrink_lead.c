// SPDX-License-Identifier: LGPL-2.1-or-later
/* The leader's part of coll_shrink(): see shrink.c. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include "deadline.h"
#include "shrink.h"

#define TRIES		6	/* to connect, when nobody has died */
#define PAUSE_MS	50	/* before the next, and twice that before the one after it */

/* Is @rank one that follows us? */
static bool guest(const struct coll_shrink *shrink, int rank)
{
	const struct coll_survivor *survivor = &shrink->survivors[rank];

	return rank != shrink->comm->rank && survivor->in.fd >= 0 && survivor->follows;
}

static bool member(const struct coll_shrink *shrink, int rank)
{
	return rank != shrink->comm->rank && shrink->fates[rank] == FATE_MEMBER;
}

/* A guest who knows that a round is decided; -1: there is none. */
static int decided(const struct coll_shrink *shrink)
{
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++)
		if (guest(shrink, rank) && shrink->survivors[rank].phase == PHASE_DECIDED)
			return rank;
	return -1;
}

/* The next part of what time there is. */
static uint64_t share(const struct coll_shrink *shrink, unsigned int parts)
{
	return coll_deadline_in(coll_deadline_left(shrink->deadline) / parts);
}

int coll_shrink_left_out(struct coll_shrink *shrink, int rank)
{
	return coll_fail(&shrink->detail, -ETIMEDOUT,
			 "rank %d came too late: rank %d and others have formed a group without it",
			 shrink->comm->rank, rank);
}

/*
 * Who comes
 */

/* Another leader to whom we give in: of two the higher, but for one that has its ranks. */
static int better_leader(const struct coll_shrink *shrink)
{
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++) {
		const struct coll_survivor *survivor = &shrink->survivors[rank];

		if (survivor->state == SURVIVOR_REACHED && survivor->answered &&
		    survivor->leader == rank &&
		    (survivor->forming || rank > shrink->comm->rank))
			return rank;
	}
	return -1;
}

/* Is there somebody who may still come? */
static bool missing(struct coll_shrink *shrink)
{
	bool finishing = shrink->phase == PHASE_DECIDED || decided(shrink) >= 0;
	bool missing = false;
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++) {
		struct coll_survivor *survivor = &shrink->survivors[rank];

		if (rank == shrink->comm->rank)
			continue;
		survivor->wanted = !guest(shrink, rank);
		if (!survivor->wanted || survivor->late || survivor->state == SURVIVOR_DEAD)
			continue;
		/* Of a round that is decided whoever has closed its door is through. */
		if (!finishing || survivor->state < SURVIVOR_SHUT)
			missing = true;
	}
	return missing;
}

static int gather(struct coll_shrink *shrink)
{
	uint64_t until = share(shrink, 2);
	int rank;

	while (missing(shrink) && coll_deadline_left(until)) {
		rank = better_leader(shrink);
		if (rank >= 0 && shrink->phase != PHASE_DECIDED) {
			shrink->toward = rank;
			coll_shrink_tell_leader(shrink, rank);
			return -EAGAIN;
		}
		coll_shrink_pump(shrink, until);
	}
	return 0;
}

static int settle(struct coll_shrink *shrink)
{
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++) {
		const struct coll_survivor *survivor = &shrink->survivors[rank];

		shrink->fates[rank] = FATE_LATE;
		if (rank == shrink->comm->rank || guest(shrink, rank))
			shrink->fates[rank] = FATE_MEMBER;
		else if (survivor->state == SURVIVOR_DEAD)
			shrink->fates[rank] = FATE_DEAD;
		else if (survivor->state == SURVIVOR_GONE)
			return coll_shrink_left_out(shrink, rank);
	}
	return 0;
}

/*
 * A round
 */

static void tell_members(struct coll_shrink *shrink, size_t size)
{
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++) {
		if (!member(shrink, rank))
			continue;
		shrink->survivors[rank].said = 0;
		coll_line_send(&shrink->survivors[rank].in, shrink->message, size);
	}
}

/* The same to everybody who is not of the round, or to all. */
static void refuse(struct coll_shrink *shrink, int err, const char *text, bool all)
{
	const size_t size = coll_message_fail(shrink->message, err, text);
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++)
		if (guest(shrink, rank) &&
		    (all || shrink->survivors[rank].round != shrink->round))
			coll_line_send(&shrink->survivors[rank].in, shrink->message, size);
}

/* May another round succeed where this one failed so? */
static bool passing(int err)
{
	return err == -ECONNRESET || err == -ETIMEDOUT;
}

/* What a member, or we ourselves, failed with; best what is not just a consequence. */
static int failure(const struct coll_shrink *shrink)
{
	int rank, err = shrink->connecting ? 0 : shrink->connected;

	for (rank = 0; rank < shrink->comm->nranks; rank++) {
		const struct coll_survivor *survivor = &shrink->survivors[rank];

		if (member(shrink, rank) && survivor->said == COLL_MESSAGE_UNABLE &&
		    (!err || passing(err)))
			err = survivor->error;
	}
	return err;
}

/* Members who have not said this, nor that they cannot; with @over they are given up. */
static int silent(struct coll_shrink *shrink, int kind, bool over)
{
	int rank, n = 0;

	for (rank = 0; rank < shrink->comm->nranks; rank++) {
		struct coll_survivor *survivor = &shrink->survivors[rank];

		if (!member(shrink, rank) || survivor->said == kind ||
		    survivor->said == COLL_MESSAGE_UNABLE)
			continue;
		n++;
		if (over && guest(shrink, rank)) {
			coll_line_close(&survivor->in);
			survivor->late = true;
		}
	}
	return n;
}

static bool lost(const struct coll_shrink *shrink)
{
	int rank;

	for (rank = 0; rank < shrink->comm->nranks; rank++)
		if (member(shrink, rank) && !guest(shrink, rank))
			return true;
	return false;
}

/*
 * Wait for this word of every member, and for our own CONNECT.  -EAGAIN: somebody is
 * lost, who has died or is given up; else what a member failed with.
 */
static int expect(struct coll_shrink *shrink, int kind, uint64_t until)
{
	uint64_t grace = 0;
	int waiting, err;

	for (;;) {
		bool over = !coll_deadline_left(until);

		coll_shrink_look(shrink);
		waiting = silent(shrink, kind, over);
		if (lost(shrink))
			return -EAGAIN;
		err = failure(shrink);
		if ((!waiting && !shrink->connecting) || (err && !passing(err)))
			return err;
		if (over)
			return -ETIMEDOUT;
		/* Who is the cause, of another's failure, is to tell yet, or dies. */
		if (err && !grace)
			grace = coll_deadline_in(PAUSE_MS);
		if (err && !coll_deadline_left(grace))
			return err;
		coll_shrink_pump(shrink, err && grace < until ? grace : until);
	}
}

/* Everybody's place, in the order of new ranks. */
static size_t write_places(struct coll_shrink *shrink)
{
	uint8_t *at = shrink->message + COLL_HEAD_SIZE + COLL_ROUND_SIZE;
	int rank, n = 0;

	for (rank = 0; rank < shrink->comm->nranks; rank++)
		if (shrink->fates[rank] == FATE_MEMBER)
			coll_message_entry(at + n++ * COLL_ENTRY_SIZE,
					   rank == shrink->comm->rank ? &shrink->child->addr :
					   &shrink->survivors[rank].place);
	return coll_message_places(shrink->message, shrink->round, n);
}

/* All are connected: the round cannot fail any more, whoever dies. */
static int decide(struct coll_shrink *shrink)
{
	uint64_t until = share(shrink, 2);
	uint8_t message[COLL_HEAD_SIZE + COLL_ROUND_SIZE];
	int rank, waiting;

	shrink->phase = PHASE_DECIDED;
	do {
		for (waiting = 0, rank = 0; rank < shrink->comm->nranks; rank++) {
			struct coll_survivor *survivor = &shrink->survivors[rank];

			if (!guest(shrink, rank) || survivor->round != shrink->round)
				continue;
			if (!survivor->told) {
				survivor->told = true;
				survivor->said = 0;
				coll_line_send(&survivor->in, message,
					       coll_message_round(message, COLL_MESSAGE_DECIDED,
								  shrink->round));
			}
			waiting += survivor->said != COLL_MESSAGE_NOTED;
		}
		if (waiting)
			coll_shrink_pump(shrink, until);
	} while (waiting && coll_deadline_left(until));

	for (rank = 0; rank < shrink->comm->nranks; rank++)
		if (guest(shrink, rank) && shrink->survivors[rank].round == shrink->round)
			coll_line_send(&shrink->survivors[rank].in, message,
				       coll_message_round(message, COLL_MESSAGE_COMMIT,
							  shrink->round));
	refuse(shrink, -ETIMEDOUT,
	       "this rank came too late: the others have formed a group without it", false);
	return 0;
}

/* One round, from BEGIN to COMMIT. */
static int form(struct coll_shrink *shrink)
{
	size_t length;
	uint64_t round;
	int rank, err;

	if (getrandom(&round, sizeof(round), 0) != sizeof(round))
		return coll_fail(&shrink->detail, -EIO, "no random numbers");
	coll_shrink_abandon(shrink);
	shrink->forming = true;
	shrink->round = round;
	shrink->connect_ms = coll_deadline_left(shrink->deadline) / 4;
	tell_members(shrink, coll_message_fates(shrink->message, round, shrink->connect_ms,
						shrink->fates, shrink->comm->nranks));
	err = coll_shrink_join(shrink, round);
	if (err)
		return err;
	err = expect(shrink, COLL_MESSAGE_PLACE, share(shrink, 2));
	if (err)
		return err;

	length = write_places(shrink);
	tell_members(shrink, length);
	coll_shrink_connect(shrink, shrink->message + COLL_HEAD_SIZE + COLL_ROUND_SIZE,
			    length - COLL_HEAD_SIZE - COLL_ROUND_SIZE);
	err = expect(shrink, COLL_MESSAGE_READY,
		     coll_deadline_in(shrink->connect_ms + shrink->connect_ms / 2));
	if (err)
		return err;
	for (rank = 0; rank < shrink->comm->nranks; rank++)
		if (member(shrink, rank)) {
			shrink->survivors[rank].phase = PHASE_READY;
			shrink->survivors[rank].round = round;
		}
	return decide(shrink);
}

/*
 * A leader before us got as far as this.  Without the group, which we have not if
 * we were left out of it, we cannot: then one that has it leads.
 */
static int finish(struct coll_shrink *shrink)
{
	int rank = decided(shrink);

	if (rank >= 0 && (shrink->phase == PHASE_NONE ||
			  shrink->round != shrink->survivors[rank].round)) {
		coll_shrink_tell_leader(shrink, rank);
		return coll_shrink_left_out(shrink, rank);
	}
	return decide(shrink);
}

int coll_shrink_lead(struct coll_shrink *shrink)
{
	unsigned int tries = 0;
	int rank, err;

	/* To whom we said that we would follow we do not any more. */
	shrink->leader = shrink->comm->rank;
	for (rank = 0; rank < shrink->comm->nranks; rank++)
		if (shrink->survivors[rank].state < SURVIVOR_SHUT)
			coll_shrink_drop(&shrink->survivors[rank]);
	coll_shrink_tell_leader(shrink, shrink->leader);
	do {
		shrink->forming = false;
		err = gather(shrink);
		if (err)
			return err;
		if (shrink->phase == PHASE_DECIDED || decided(shrink) >= 0)
			return finish(shrink);
		err = settle(shrink) ?: form(shrink);
		if (passing(err) && tries < TRIES) {
			poll(NULL, 0, PAUSE_MS << tries++);
			err = -EAGAIN;
		}
	} while (err == -EAGAIN && coll_deadline_left(shrink->deadline));
	if (err == -EAGAIN)
		err = coll_fail(&shrink->detail, -ETIMEDOUT,
				"no group was formed before the deadline");
	if (err)
		refuse(shrink, err, shrink->detail.text[0] ? shrink->detail.text :
		       coll_strerror(err), true);
	return err;
}
