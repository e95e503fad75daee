/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queries: any rank asks all ranks of its group what they do.
 *
 * A QUERY is passed on to every link.  The link by which it comes first leads to the asking rank,
 * so the ranks form a tree, and each passes the answers of others up.  Nothing is repeated or
 * waited for: what is lost makes an answer incomplete.  Documentation/design/query.rst.
 */
#ifndef COLL_QUERY_H
#define COLL_QUERY_H

#include "core/env.h"
#include "core/wire/wire.h"

/*
 * Queries that a rank takes part in at a time.  Each has its place for COLL_QUERY_NS, whatever
 * becomes of it.  So a rank takes part in eight queries a second at most, one of each asking rank.
 */
#define COLL_QUERY_PLACES	8
#define COLL_QUERY_NS		(900 * 1000000ULL)

/* Time from one query of a rank to its next one.  It exceeds COLL_QUERY_NS, because delays vary. */
#define COLL_QUERY_PAUSE_NS	(1000 * 1000000ULL)

/* Bytes of queued frames beyond which a link of a small group takes no frame of a query. */
#define COLL_QUERY_SPACE	8192U

/* Frames that may be queued for each rank of a larger group: half of the parts of its answer. */
#define COLL_QUERY_FRAMES	(COLL_ANSWER_PARTS / 2)

/**
 * coll_query_space() - how much may be queued on a link for a frame of a query to be taken
 * @nranks: ranks of the group
 *
 * The links next to the asking rank carry the answers of many ranks.  Where all ranks run in any
 * order, the longest queue has about two frames for each rank of a large group whose answers have
 * all parts (query_test.c).  On a host with fewer CPUs than ranks it has more.
 *
 * Return: bytes, with that frame.
 */
static inline u32 coll_query_space(u32 nranks)
{
	return max_t(u32, COLL_QUERY_SPACE, COLL_QUERY_FRAMES * nranks * COLL_CONTROL_SIZE);
}

/**
 * struct coll_query_place - a query of another rank
 * @until: time at which the place is free; ns; 0: it never was taken
 * @origin: the rank that asks
 * @number: of the query
 * @parent: rank from which it came first, and to which answers go
 * @left: ANSWER frames that may still be sent to it; at most COLL_ANSWER_PARTS for each rank
 */
struct coll_query_place {
	u64 until;
	u32 origin;
	u32 number;
	u32 parent;
	u32 left;
};

/**
 * struct coll_query_relay - the queries of other ranks that a rank takes part in
 * @places: one for each
 */
struct coll_query_relay {
	struct coll_query_place places[COLL_QUERY_PLACES];
};

/**
 * struct coll_survey_entry - the parts that came from a rank
 * @at: time of the first part; ns; 0: none has come
 * @answer: the answer
 */
struct coll_survey_entry {
	u64 at;
	struct coll_answer answer;
};

/**
 * struct coll_survey - the latest query of this rank
 * @number: of the query; 0: there was none
 * @begun: time at which it began; ns
 * @nranks: ranks of the group; entries of @entries
 * @nanswers: ranks whose answers are complete
 * @entries: by rank
 */
struct coll_survey {
	u32 number;
	u64 begun;
	u32 nranks;
	u32 nanswers;
	struct coll_survey_entry *entries;
};

bool coll_relay_take(struct coll_query_relay *relay, const struct coll_query *query, u32 peer,
		     u32 nranks, u64 now);
bool coll_relay_parent(struct coll_query_relay *relay, u32 origin, u32 number, u64 now,
		       u32 *parent);

void coll_survey_begin(struct coll_survey *survey, u64 now);
bool coll_survey_may_begin(const struct coll_survey *survey, u64 now);
bool coll_survey_pending(const struct coll_survey *survey, u64 now);
void coll_survey_receive(struct coll_survey *survey, const struct coll_answer_frame *frame,
			 u64 now);

#endif /* COLL_QUERY_H */
