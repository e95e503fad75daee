/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside coll_shrink(): see shrink.c. */
#ifndef COLL_SHRINK_H
#define COLL_SHRINK_H

#include <poll.h>

#include "comm.h"
#include "shrink_message.h"

/**
 * struct coll_line - a connection between two survivors
 * @fd: non-blocking; -1: none
 * @have: bytes in @in
 * @room: bytes of @in
 * @mail: a whole message is in @in, which somebody is to take; its kind
 * @asked: the other end has asked for our proof, and has it
 * @proved: the other end has given its own, or the group has no secret
 * @word: our nonce, of a line through our door; of one that we called, the proof that
 *	we want
 * @in: what has been read of a message
 */
struct coll_line {
	int fd;
	size_t have;
	size_t room;
	int mail;
	bool asked;
	bool proved;
	uint8_t word[COLL_NONCE_SIZE];
	uint8_t *in;
};

/* How far we have come in finding a rank; from SURVIVOR_SHUT on its door is closed. */
enum coll_survivor_state {
	SURVIVOR_UNKNOWN,
	SURVIVOR_DIALED,	/* connecting to its door */
	SURVIVOR_REACHED,	/* connected: it may call, if it has not */
	SURVIVOR_SHUT,		/* its door is closed; connecting to its life */
	SURVIVOR_GONE,		/* ... which it has: it is of another group now */
	SURVIVOR_DEAD,
};

/**
 * struct coll_survivor - a rank of the old group, as we see it
 * @state: by our own connection to it
 * @out: this connection
 * @wanted: connect, and connect again when it breaks
 * @suspected: it has been silent for too long: do not wait for its lead
 * @late: it did not answer in a round: do not wait for it
 * @dialed: when we connected first; 0: never
 * @again: not before this time
 * @answered: it has said HERE on @out
 * @forming: with this
 * @leader: likewise; -1: it does not know
 * @in: its own connection to us, on which it has said SURVIVOR
 * @follows: likewise, with what it said of itself:
 * @phase: how far it had come
 * @round: in which round
 * @place: a leader's: where it listens in the round
 * @told: a leader's: it was told that the round is decided
 * @said: a leader's: its latest message of the round; 0: none in this step
 * @error: that of UNABLE
 */
struct coll_survivor {
	enum coll_survivor_state state;
	struct coll_line out;
	bool wanted;
	bool suspected;
	bool late;
	uint64_t dialed;
	uint64_t again;
	bool answered;
	bool forming;
	int leader;

	struct coll_line in;
	bool follows;
	enum coll_shrink_phase phase;
	uint64_t round;
	struct sockaddr_storage place;
	bool told;
	int said;
	int error;
};

#define COLL_STRANGERS	32

/* The door, two connections with each rank, strangers, and CONNECT. */
#define COLL_SHRINK_POLLS(nranks)	(1 + 2 * (nranks) + COLL_STRANGERS + 1)

/**
 * struct coll_shrink - one call of coll_shrink()
 * @comm: the old communicator
 * @detail: texts
 * @deadline: of it all; an earlier one of a rank that follows holds, but for
 * @half: when half of our own time is over
 * @leader: whom we follow, or we ourselves; -1: not known yet
 * @toward: who is said to lead; -1: nobody
 * @forming: we lead, and who is in is settled
 * @phase: how far we have come in @round
 * @round: number of the group that is being formed
 * @child: our member of it, or NULL
 * @fates: enum coll_shrink_fate of all ranks, in @round
 * @connect_ms: time for CONNECT
 * @connecting: it is under way; its file is polled, too
 * @connected: how it ended
 * @survivors: by rank; our own is not used
 * @strangers: who has come through the door and not said who it is
 * @polls: room for all of these
 * @message: room for the longest that we send
 */
struct coll_shrink {
	struct coll_comm *comm;
	struct coll_detail detail;
	uint64_t deadline;
	uint64_t half;
	int leader;
	int toward;
	bool forming;
	enum coll_shrink_phase phase;
	uint64_t round;
	struct coll_comm *child;
	uint8_t *fates;
	uint32_t connect_ms;
	bool connecting;
	int connected;
	struct coll_survivor *survivors;
	struct coll_line strangers[COLL_STRANGERS];
	struct pollfd *polls;
	uint8_t *message;
};

/*
 * shrink_line.c: connections
 */

/* Close everything. */
void coll_shrink_hang_up(struct coll_shrink *shrink);

/* Let something happen, until @until at most. */
void coll_shrink_pump(struct coll_shrink *shrink, uint64_t until);

/* Send; what cannot be sent breaks the line, which its end notices. */
void coll_line_send(struct coll_line *line, const uint8_t *message, size_t size);
void coll_line_close(struct coll_line *line);

/* The message that is there, of @length bytes behind its head. */
const uint8_t *coll_line_body(const struct coll_line *line, size_t *length);

/* It has been dealt with. */
void coll_line_taken(struct coll_line *line);

/* Give up our connection to a rank; another one is made when it is wanted. */
void coll_shrink_drop(struct coll_survivor *survivor);

/* Tell all who follow us, or might, who leads. */
void coll_shrink_tell_leader(struct coll_shrink *shrink, int leader);

/*
 * shrink_round.c: our own part in forming a group, which leaders and others have
 */

/* Begin @round: open the device and JOIN.  -errno with a text. */
int coll_shrink_join(struct coll_shrink *shrink, uint64_t round);

/*
 * CONNECT to the others, whose entries are at @entries, without waiting; and look
 * whether that is over, where @connected tells how.
 */
void coll_shrink_connect(struct coll_shrink *shrink, const uint8_t *entries, size_t length);
void coll_shrink_look(struct coll_shrink *shrink);

/* How many are in the round. */
int coll_shrink_members(const struct coll_shrink *shrink);

/* Forget the round. */
void coll_shrink_abandon(struct coll_shrink *shrink);

/*
 * shrink_lead.c: until the group is there (0), it is to be sought again (-EAGAIN), or
 * an error that has a text
 */
int coll_shrink_lead(struct coll_shrink *shrink);

/* The others have a group without us. */
int coll_shrink_left_out(struct coll_shrink *shrink, int rank);

#endif /* COLL_SHRINK_H */
