/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Timing of coll_shrink(): when a rank sends, which rank leads, and how long ranks are waited
 * for.  Time is an argument: ms of a monotonic clock.  Nothing here affects what is decided
 * (agree.h), only when.
 *
 * A message counts as an answer only if its @echo is the number of the present call.  So left
 * over or replayed messages of former calls make no rank look alive.
 */
#ifndef COLL_PACE_H
#define COLL_PACE_H

#include "shrink/agree.h"

/**
 * struct coll_pace_peer - timing of another rank
 * @session: number of its latest call that this rank has heard of
 * @heard_at: time of its last answer to this call; 0: none
 * @hello_at: time of the last HELLO that was sent because it did not know this call
 * @ends_at: end of its call, by its own account
 */
struct coll_pace_peer {
	uint64_t session;
	uint64_t heard_at;
	uint64_t hello_at;
	uint64_t ends_at;
};

/**
 * struct coll_pace - timing of this rank
 * @agree: the agreement
 * @peers: other ranks, by rank
 * @session: number of this call; lasts over calls
 * @timeout: time limit of a call in ms
 * @started: beginning of this call
 * @deadline: end of this call
 * @suspected: ranks that have been silent for too long to lead
 * @refused: ranks whose hosts refuse datagrams, and that have not been heard since
 * @target: rank that this rank takes for the leader
 * @target_since: time from which it has been
 * @propose_at: time from which this rank proposes, if it leads
 * @failed_ballots: number of ballots that failed although no member had died
 * @step: step of @agree when it was last looked at
 * @ballot: ballot of @agree then
 * @leaving: @leaving of @agree then
 * @step_since: time from which it has been that step of that ballot
 * @resend_at: time of the next repetition
 * @interval: interval to the repetition after it, in ms
 * @decided_at: time at which the decision became known; 0: it is not
 */
struct coll_pace {
	struct coll_agree *agree;
	struct coll_pace_peer *peers;
	uint64_t session;
	unsigned int timeout;
	uint64_t started;
	uint64_t deadline;
	struct coll_ranks suspected;
	struct coll_ranks refused;
	unsigned int target;
	uint64_t target_since;
	uint64_t propose_at;
	unsigned int failed_ballots;
	enum coll_agree_step step;
	uint64_t ballot;
	bool leaving;
	uint64_t step_since;
	uint64_t resend_at;
	unsigned int interval;
	uint64_t decided_at;
};

/* Begin a call; @peers and @agree are set. */
void coll_pace_begin(struct coll_pace *pace, uint64_t now, unsigned int timeout);

/* Fill in the calls and the time left of a message before it is sent. */
void coll_pace_stamp(const struct coll_pace *pace, uint64_t now,
		     struct coll_agree_message *message);

/* Handle a message. */
void coll_pace_receive(struct coll_pace *pace, uint64_t now,
		       const struct coll_agree_message *message);

/*
 * Do not wait for a rank whose host refuses datagrams: it has ended, or a packet filter rejects
 * them.  Nothing proves which, so the rank counts in quorums.
 */
void coll_pace_refused(struct coll_pace *pace, unsigned int rank);

/* Do what is due.  Return: the time at which more is due; the deadline is not considered. */
uint64_t coll_pace_run(struct coll_pace *pace, uint64_t now);

#endif /* COLL_PACE_H */
