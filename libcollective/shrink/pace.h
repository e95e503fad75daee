/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When a rank of coll_shrink() speaks, which one leads, and how long ranks are waited for.
 * Time is an argument here: milliseconds of a clock that only goes forward.  None of this
 * matters for what is decided (agree.h), only for when.
 *
 * A message counts only if it answers the present call: @echo must be the number of it.
 * So what is left of former calls, or is played back, makes no rank alive.
 */
#ifndef COLL_PACE_H
#define COLL_PACE_H

#include "shrink/agree.h"

/**
 * struct coll_pace_peer - another rank, as far as this call knows
 * @session: its call, the latest heard of
 * @heard_at: when it last answered this call; 0: never
 * @hello_at: when it was last sent HELLO because it did not know this call
 * @ends_at: when its call is over, by what it said
 */
struct coll_pace_peer {
	uint64_t session;
	uint64_t heard_at;
	uint64_t hello_at;
	uint64_t ends_at;
};

/**
 * struct coll_pace - one rank
 * @agree: what it paces
 * @peers: by rank
 * @session: number of this call; lasts over calls
 * @timeout: of a call
 * @started: when this call began
 * @deadline: when it is over
 * @suspected: ranks that have been silent for too long to lead
 * @target: rank that leads as far as this one knows
 * @target_since: since when
 * @propose_at: when to propose, if this rank leads
 * @failed_ballots: ballots that failed although no member had died
 * @step: the step of @agree, and
 * @ballot: its ballot, when looked at last
 * @step_since: since when it has been that step of that ballot
 * @resend_at: when to say it again
 * @interval: after how long next
 * @decided_at: when the decision was known; 0: it is not
 */
struct coll_pace {
	struct coll_agree *agree;
	struct coll_pace_peer *peers;
	uint64_t session;
	unsigned int timeout;
	uint64_t started;
	uint64_t deadline;
	struct coll_ranks suspected;
	unsigned int target;
	uint64_t target_since;
	uint64_t propose_at;
	unsigned int failed_ballots;
	enum coll_agree_step step;
	uint64_t ballot;
	uint64_t step_since;
	uint64_t resend_at;
	unsigned int interval;
	uint64_t decided_at;
};

/* A call begins; @peers and @agree are set. */
void coll_pace_begin(struct coll_pace *pace, uint64_t now, unsigned int timeout);

/* A message is about to be sent: say of which call it is. */
void coll_pace_stamp(const struct coll_pace *pace, uint64_t now,
		     struct coll_agree_message *message);

/* A message has come. */
void coll_pace_receive(struct coll_pace *pace, uint64_t now,
		       const struct coll_agree_message *message);

/* Do what is due.  Return: when there is more to do; the deadline is none of it. */
uint64_t coll_pace_run(struct coll_pace *pace, uint64_t now);

#endif /* COLL_PACE_H */
