// SPDX-License-Identifier: GPL-2.0-only
#include "core/query/query.h"

static bool place_taken(const struct coll_query_place *place, u64 now)
{
	return now < place->until;
}

/**
 * coll_relay_take() - a QUERY has come: does this rank take part?
 * @relay: of this rank
 * @query: the QUERY; its origin is another rank of the group
 * @peer: rank from which it came
 * @nranks: ranks of the group
 * @now: ns
 *
 * Return: true if the rank is to answer, and to pass the QUERY on; false if it has done so, has
 * taken part in another query of the same origin just now, or has no place.
 */
bool coll_relay_take(struct coll_query_relay *relay, const struct coll_query *query, u32 peer,
		     u32 nranks, u64 now)
{
	struct coll_query_place *place, *free = NULL;

	for (place = relay->places; place < relay->places + COLL_QUERY_PLACES; place++) {
		if (!place_taken(place, now))
			free = place;
		else if (place->origin == query->origin)
			return false;
	}
	if (!free)
		return false;
	*free = (struct coll_query_place){
		.until = now + COLL_QUERY_NS,
		.origin = query->origin,
		.number = query->number,
		.parent = peer,
		.left = nranks * COLL_ANSWER_PARTS,
	};
	return true;
}

/**
 * coll_relay_parent() - where does an ANSWER go?
 * @relay: of this rank
 * @origin: the rank that asks
 * @number: of its query
 * @now: ns
 * @parent: out: the next rank on the way to @origin; one frame is counted
 *
 * Return: false if the frame is to be dropped, because the query is over, or has had all frames
 * that its ranks may send.
 */
bool coll_relay_parent(struct coll_query_relay *relay, u32 origin, u32 number, u64 now,
		       u32 *parent)
{
	struct coll_query_place *place;

	for (place = relay->places; place < relay->places + COLL_QUERY_PLACES; place++) {
		if (!place_taken(place, now) || place->origin != origin ||
		    place->number != number)
			continue;
		if (!place->left)
			return false;
		place->left--;
		*parent = place->parent;
		return true;
	}
	return false;
}

/**
 * coll_survey_may_begin() - may this rank ask again?
 * @survey: its latest query
 * @now: ns
 */
bool coll_survey_may_begin(const struct coll_survey *survey, u64 now)
{
	return !survey->number || now - survey->begun >= COLL_QUERY_PAUSE_NS;
}

/**
 * coll_survey_begin() - begin a query
 * @survey: its @nranks and @entries are set; what it has is dropped
 * @now: ns
 */
void coll_survey_begin(struct coll_survey *survey, u64 now)
{
	survey->number++;
	/* Frames carry 32 bits; 0 is no query. */
	if (!survey->number)
		survey->number++;
	survey->begun = now;
	survey->nanswers = 0;
	memset(survey->entries, 0, survey->nranks * sizeof(*survey->entries));
}

/**
 * coll_survey_pending() - can more answers come?
 * @survey: the latest query
 * @now: ns
 */
bool coll_survey_pending(const struct coll_survey *survey, u64 now)
{
	return survey->number && survey->nanswers < survey->nranks &&
	       now - survey->begun < COLL_QUERY_NS;
}

/* A rank of the group, in what a peer has sent. */
static bool answer_in_group(const struct coll_answer *answer, u32 nranks)
{
	u32 i;

	for (i = 0; i < answer->nwaits; i++)
		if (answer->waits[i] >= nranks)
			return false;
	for (i = 0; i < COLL_ANSWER_WAITS; i++)
		if (answer->longest[i].rank >= nranks)
			return false;
	return answer->links.far < nranks && answer->links.lossy < nranks &&
	       answer->links.narrow < nranks;
}

/**
 * coll_survey_receive() - an ANSWER to a query of this rank has come
 * @survey: the latest query
 * @frame: the frame, as coll_wire_get_control() gives it; a part that has come already, of a query
 *	that is over, or of a rank that does not exist changes nothing
 * @now: ns
 */
void coll_survey_receive(struct coll_survey *survey, const struct coll_answer_frame *frame,
			 u64 now)
{
	struct coll_survey_entry *entry;
	struct coll_answer answer;

	if (!survey->number || frame->number != survey->number ||
	    frame->rank >= survey->nranks || now - survey->begun >= COLL_QUERY_NS)
		return;
	entry = &survey->entries[frame->rank];
	if (coll_answer_complete(&entry->answer) || entry->answer.heard & 1U << frame->part)
		return;
	answer = entry->answer;
	if (coll_answer_get(frame->body, &answer, frame->part) ||
	    !answer_in_group(&answer, survey->nranks))
		return;
	if (!entry->at)
		entry->at = now;
	entry->answer = answer;
	if (coll_answer_complete(&answer))
		survey->nanswers++;
}
