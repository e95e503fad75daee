// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string.h>

#include "shrink/pace.h"

#define INTERVAL_MIN_MS	20	/* first interval between repetitions, which doubles */
#define INTERVAL_PART	32	/* maximum: time limit / 32, plus 1 ms for each 4 ranks */
#define HELLO_MS	20	/* between two HELLOs to a rank that does not know this call */
#define SILENT_MIN_MS	1000	/* minimum silence after which a rank counts as slow */
#define LINGER_MS	1000	/* how long the decision is announced to silent ranks */
#define PAUSE_MS	50	/* pause before another ballot, which doubles */
#define TRIES		6

void coll_pace_begin(struct coll_pace *pace, uint64_t now, unsigned int timeout)
{
	memset(pace->peers, 0, pace->agree->nranks * sizeof(*pace->peers));
	pace->session++;
	pace->timeout = timeout;
	pace->started = now;
	pace->deadline = now + timeout;
	memset(&pace->suspected, 0, sizeof(pace->suspected));
	memset(&pace->refused, 0, sizeof(pace->refused));
	pace->target = pace->agree->nranks;
	pace->target_since = now;
	pace->propose_at = now;
	pace->failed_ballots = 0;
	pace->step = COLL_STEP_IDLE;
	pace->ballot = pace->agree->ballot;
	pace->leaving = false;
	pace->step_since = now;
	pace->resend_at = now;
	pace->interval = INTERVAL_MIN_MS;
	pace->decided_at = 0;
}

void coll_pace_stamp(const struct coll_pace *pace, uint64_t now,
		     struct coll_agree_message *message)
{
	message->session = pace->session;
	message->echo = pace->peers[message->to].session;
	message->left_ms = now < pace->deadline ? pace->deadline - now : 0;
}

static void send_hello(struct coll_pace *pace, uint64_t now, unsigned int rank)
{
	struct coll_agree_message message = { .kind = COLL_AGREE_HELLO };

	pace->peers[rank].hello_at = now;
	coll_agree_send(pace->agree, &message, rank);
}

/* Do both ranks mean each other with their present calls? */
static bool is_current(struct coll_pace *pace, uint64_t now,
		       const struct coll_agree_message *message)
{
	struct coll_pace_peer *peer = &pace->peers[message->from];
	const bool news = message->session > peer->session;

	if (message->session < peer->session)
		return false;
	peer->session = message->session;
	if (message->echo == pace->session)
		return true;
	/* Tell the rank of this call. */
	if (news || now >= peer->hello_at + HELLO_MS)
		send_hello(pace, now, message->from);
	return false;
}

void coll_pace_receive(struct coll_pace *pace, uint64_t now,
		       const struct coll_agree_message *message)
{
	struct coll_pace_peer *peer = &pace->peers[message->from];
	/* A decision is valid however old the message is. */
	const bool lasting = message->kind == COLL_AGREE_DECIDED ||
			     message->kind == COLL_AGREE_DONE;

	if (coll_agree_fenced(pace->agree, message->from))
		return;
	if (is_current(pace, now, message)) {
		peer->heard_at = now;
		peer->ends_at = now + message->left_ms;
		coll_ranks_remove(&pace->suspected, message->from);
		coll_ranks_remove(&pace->refused, message->from);
		coll_ranks_remove(&pace->agree->slow, message->from);
	} else if (!lasting) {
		return;
	}
	coll_agree_receive(pace->agree, message);
}

void coll_pace_refused(struct coll_pace *pace, unsigned int rank)
{
	coll_ranks_add(&pace->refused, rank);
	/* Each time: the rank may have promised before, and be a member of the proposal now. */
	coll_agree_slow(pace->agree, rank);
}

/* The leader */

static bool may_lead(const struct coll_pace *pace, unsigned int rank)
{
	return !coll_agree_fenced(pace->agree, rank) &&
	       !coll_ranks_has(&pace->suspected, rank) && !coll_ranks_has(&pace->refused, rank);
}

static unsigned int lowest_candidate(const struct coll_pace *pace)
{
	unsigned int rank = 0;

	while (rank != pace->agree->rank && !may_lead(pace, rank))
		rank++;
	return rank;
}

/*
 * The proposer of the highest known ballot, if it may lead; otherwise the lowest rank that may.
 */
static unsigned int find_leader(const struct coll_pace *pace)
{
	const struct coll_agree *agree = pace->agree;
	const uint64_t ballot = agree->promised > agree->highest ? agree->promised :
				agree->highest;
	const unsigned int rank = coll_ballot_rank(ballot);

	if (ballot && may_lead(pace, rank))
		return rank;
	return lowest_candidate(pace);
}

/* The first leader gets more time; the ranks after it have been silent as long. */
static unsigned int leader_timeout(const struct coll_pace *pace)
{
	return pace->timeout / (coll_ranks_none(&pace->suspected) ? 4 : 16);
}

/* Choose the leader.  Return: time at which its silence is too long. */
static uint64_t choose_leader(struct coll_pace *pace, uint64_t now)
{
	for (;;) {
		const unsigned int target = find_leader(pace);
		uint64_t since;

		if (target != pace->target) {
			pace->target = target;
			pace->target_since = now;
			pace->resend_at = now;
			pace->interval = INTERVAL_MIN_MS;
		}
		if (target == pace->agree->rank)
			return ~0ULL;
		since = pace->target_since;
		if (since < pace->peers[target].heard_at)
			since = pace->peers[target].heard_at;
		if (now < since + leader_timeout(pace))
			return since + leader_timeout(pace);
		coll_ranks_add(&pace->suspected, target);
	}
}

/* Steps that are due */

/*
 * Messages to a stopped rank stay in its socket, which must also hold the decision: so the
 * interval grows.
 */
static bool resend_due(struct coll_pace *pace, uint64_t now)
{
	const unsigned int max = INTERVAL_MIN_MS + pace->timeout / INTERVAL_PART +
				 pace->agree->nranks / 4;

	if (now < pace->resend_at)
		return false;
	pace->resend_at = now + pace->interval;
	pace->interval = 2 * pace->interval < max ? 2 * pace->interval : max;
	return true;
}

/*
 * Time from which slow ranks are not waited for: half of the time limit before the earliest end
 * of a call.
 */
static uint64_t slow_check_at(const struct coll_pace *pace)
{
	uint64_t until = pace->deadline;
	unsigned int rank;

	for (rank = 0; rank < pace->agree->nranks; rank++)
		if (pace->peers[rank].heard_at && pace->peers[rank].ends_at < until)
			until = pace->peers[rank].ends_at;
	return until > pace->timeout / 2 ? until - pace->timeout / 2 : 0;
}

static unsigned int silence_limit(const struct coll_pace *pace)
{
	const unsigned int max = pace->timeout / 4;

	if (pace->timeout / 8 > SILENT_MIN_MS)
		return pace->timeout / 8;
	return max < SILENT_MIN_MS ? max : SILENT_MIN_MS;
}

/* Mark ranks as slow that are silent.  Return: time at which the next one may be. */
static uint64_t find_slow(struct coll_pace *pace, uint64_t now)
{
	const struct coll_ranks waits = coll_agree_unanswered(pace->agree);
	const struct coll_ranks some = coll_ranks_without(waits, &pace->agree->slow);
	uint64_t next = ~0ULL, until;
	unsigned int rank;

	for (rank = 0; rank < pace->agree->nranks; rank++) {
		if (!coll_ranks_has(&some, rank) || rank == pace->agree->rank)
			continue;
		until = pace->peers[rank].heard_at;
		if (until < pace->step_since)
			until = pace->step_since;
		until += silence_limit(pace);
		if (now >= until) {
			coll_agree_slow(pace->agree, rank);
			return now;
		}
		next = until < next ? until : next;
	}
	return next;
}

/* Note whether another step or ballot has begun. */
static void track_step(struct coll_pace *pace, uint64_t now)
{
	if (pace->step != pace->agree->step || pace->ballot != pace->agree->ballot ||
	    pace->leaving != pace->agree->leaving) {
		pace->step_since = now;
		pace->interval = INTERVAL_MIN_MS;
		pace->resend_at = now + pace->interval;
	}
	pace->step = pace->agree->step;
	pace->ballot = pace->agree->ballot;
	pace->leaving = pace->agree->leaving;
}

static uint64_t lead(struct coll_pace *pace, uint64_t now)
{
	struct coll_agree *agree = pace->agree;
	uint64_t next;

	if (agree->step == COLL_STEP_PREPARE) {
		next = slow_check_at(pace);
		if (now >= next)
			next = find_slow(pace, now);
	} else if (agree->step == COLL_STEP_ANNOUNCE) {
		next = pace->step_since + LINGER_MS;
		if (now >= next) {
			coll_agree_stop_announcing(agree);
			return now;
		}
	} else {
		next = find_slow(pace, now);
	}
	if (next == now)
		return now;
	if (resend_due(pace, now))
		coll_agree_resend(agree);
	return next < pace->resend_at ? next : pace->resend_at;
}

static void retry_ballot(struct coll_pace *pace, uint64_t now)
{
	struct coll_agree *agree = pace->agree;

	if (!agree->setback)
		return;
	if (pace->failed_ballots == TRIES) {
		coll_agree_give_up(agree, agree->setback);
		return;
	}
	pace->propose_at = now + (PAUSE_MS << pace->failed_ballots++);
	agree->setback = 0;
}

static uint64_t follow(struct coll_pace *pace, uint64_t now)
{
	struct coll_agree *agree = pace->agree;
	uint64_t next = choose_leader(pace, now);

	if (pace->target != agree->rank) {
		if (resend_due(pace, now))
			send_hello(pace, now, pace->target);
		return next < pace->resend_at ? next : pace->resend_at;
	}
	if (now < pace->propose_at)
		return pace->propose_at;
	coll_agree_propose(agree);
	return now;
}

/*
 * The decision is known, but not DONE.  If its proposer is lost, refuses or is silent, announce
 * the decision instead of it.
 */
static uint64_t relay_decision(struct coll_pace *pace, uint64_t now)
{
	struct coll_agree *agree = pace->agree;
	const unsigned int rank = coll_ballot_rank(agree->promised);

	if (!pace->decided_at)
		pace->decided_at = now;
	if (now >= pace->decided_at + LINGER_MS || rank == agree->rank ||
	    coll_agree_fenced(agree, rank) || coll_ranks_has(&pace->refused, rank)) {
		coll_agree_propose(agree);
		return now;
	}
	if (resend_due(pace, now))
		send_hello(pace, now, rank);
	return pace->resend_at;
}

uint64_t coll_pace_run(struct coll_pace *pace, uint64_t now)
{
	struct coll_agree *agree = pace->agree;
	uint64_t next = now;

	while (!agree->finished && next <= now) {
		track_step(pace, now);
		retry_ballot(pace, now);
		if (agree->finished)
			break;
		if (agree->step != COLL_STEP_IDLE)
			next = lead(pace, now);
		else if (agree->decided)
			next = relay_decision(pace, now);
		else
			next = follow(pace, now);
	}
	return next;
}
