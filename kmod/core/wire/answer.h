/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a rank says of itself in answer to a QUERY, and its parts as ANSWER frames carry them.
 * Documentation/design/query.rst describes queries.
 */
#ifndef COLL_ANSWER_H
#define COLL_ANSWER_H

#include "core/env.h"

/* Bytes of a part on the wire. */
#define COLL_ANSWER_SIZE	24

/* Most characters of the name of a host. */
#define COLL_NODE_MAX		64

/* Ranks that an answer names as waited for. */
#define COLL_ANSWER_WAITS	4

/* Longest sum of waits in an answer; those of COLLECTIVE_RANKS_MAX ranks can be added; ns. */
#define COLL_ANSWER_WAITED_MAX	((1ULL << 54) - 1)

/* A part is one ANSWER frame.  STATE is always sent; the others if there is something to say. */
enum coll_answer_part {
	COLL_ANSWER_STATE,	/* the rank and its process */
	COLL_ANSWER_LAST,	/* the operations submitted and completed last */
	COLL_ANSWER_OLDEST,	/* the oldest operation in flight */
	COLL_ANSWER_GROUP,	/* why the group has failed */
	COLL_ANSWER_FAILED,	/* why the latest operation failed that did */
	COLL_ANSWER_WAITED,	/* how long the rank has waited, and for which ranks longest */
	COLL_ANSWER_NODE_0,	/* name of the host, 24 characters a part */
	COLL_ANSWER_NODE_1,
	COLL_ANSWER_NODE_2,
	COLL_ANSWER_TIMES,	/* how long the rank was in operations, and its slow links */
	COLL_ANSWER_RATES,	/* rates of its links */
	COLL_ANSWER_PARTS
};

#define COLL_ANSWER_NODES	(COLL_ANSWER_TIMES - COLL_ANSWER_NODE_0)

/**
 * struct coll_answer_failure - a reason in an answer
 * @instance: of the operation; COLL_INSTANCE_GROUP: the whole group
 * @kind: enum collective_reason_kind
 * @error: positive errno
 * @rank_a: see struct collective_reason
 * @rank_b: likewise
 * @age_ms: time since the failure
 */
struct coll_answer_failure {
	u64 instance;
	u32 kind;
	u32 error;
	u32 rank_a;
	u32 rank_b;
	u32 age_ms;
};

/**
 * struct coll_answer_wait - a rank that was waited for
 * @rank: the rank
 * @ns: how long; 0: there is no such rank
 */
struct coll_answer_wait {
	u32 rank;
	u64 ns;
};

/**
 * struct coll_answer_links - what a rank says of its slow links
 * @far: the peer with the longest way there and back
 * @lossy: the peer to which most segments were lost
 * @far_us: the way there and back of @far; 0: it is not known of any link
 * @near_us: the shortest way of all links of the rank; 0 like @far_us
 * @lost: how many were lost; 0: none by any link
 * @narrow_ms: how long the bytes took that went to @narrow, at the rate of that link; of RATES
 * @narrow_kib: that rate, the highest that was measured; KiB/s; 0: none is known of any link
 * @wide_kib: the highest rate of all links; 0 like @narrow_kib
 * @narrow: the peer for which @narrow_ms is longest
 */
struct coll_answer_links {
	u16 far;
	u16 lossy;
	u32 far_us;
	u32 near_us;
	u32 lost;
	u32 narrow_ms;
	u32 narrow_kib;
	u32 wide_kib;
	u32 narrow;
};

/**
 * struct coll_answer - what a rank says of itself
 * @parts: bit (1 << enum coll_answer_part) for each part that the rank sends; of STATE
 * @heard: likewise for each part that has come
 * @pid: process that joined, in the initial PID namespace of its host; of STATE
 * @own_pid: the same in the PID namespace of the process; likewise
 * @state: enum collective_state; likewise
 * @stopped: true if the process is stopped by a signal; likewise
 * @inflight: requests that are not complete; likewise
 * @counted: number of collectives without a key that were submitted; likewise
 * @has_submitted: true if the next two fields are valid; of LAST
 * @submitted_opcode: collective that was submitted last; likewise
 * @submitted: its instance; likewise
 * @submit_age_ms: time since; likewise
 * @has_completed: true if the next three fields are valid; likewise
 * @completed_opcode: collective that was completed last; likewise
 * @completed_kind: kind of the reason for which it failed; likewise
 * @completed: its instance; likewise
 * @oldest_opcode: collective of the oldest request; of OLDEST
 * @oldest_state: enum collective_request_state; likewise
 * @oldest: its instance; likewise
 * @oldest_age_ms: time since its submission; likewise
 * @nwaits: entries of @waits; likewise
 * @waits: ranks that it waits for; likewise
 * @group: why the group has failed; of GROUP
 * @failed: why the latest operation failed that did; of FAILED
 * @waited_ns: how long the rank has waited for other ranks; of WAITED
 * @longest: those that it has waited for longest, the longest first; likewise
 * @node: name of the host, ended by NUL; of NODE_0 and the following
 * @called_ms: how long operations took that have succeeded, together, without the longest one of
 *	each collective; of TIMES
 * @span_ms: time from the first call of a collective to its latest completion, without that
 *	operation; the most of all collectives; likewise
 * @links: its slow links; of TIMES and RATES
 */
struct coll_answer {
	u32 parts;
	u32 heard;
	u32 pid;
	u32 own_pid;
	u8 state;
	bool stopped;
	u16 inflight;
	u64 counted;
	bool has_submitted;
	u8 submitted_opcode;
	u64 submitted;
	u32 submit_age_ms;
	bool has_completed;
	u8 completed_opcode;
	u8 completed_kind;
	u64 completed;
	u8 oldest_opcode;
	u8 oldest_state;
	u64 oldest;
	u32 oldest_age_ms;
	u32 nwaits;
	u32 waits[COLL_ANSWER_WAITS];
	struct coll_answer_failure group;
	struct coll_answer_failure failed;
	u64 waited_ns;
	struct coll_answer_wait longest[COLL_ANSWER_WAITS];
	char node[COLL_ANSWER_NODES * COLL_ANSWER_SIZE + 1];
	u32 called_ms;
	u32 span_ms;
	struct coll_answer_links links;
};

/**
 * coll_answer_complete() - has all of an answer come?
 * @answer: the answer; zeroed if no part has come
 */
static inline bool coll_answer_complete(const struct coll_answer *answer)
{
	return answer->heard & 1U << COLL_ANSWER_STATE &&
	       (answer->heard & answer->parts) == answer->parts;
}

void coll_answer_add_wait(struct coll_answer *answer, u32 rank, u64 ns);
void coll_answer_set_node(struct coll_answer *answer, const char *name);
void coll_answer_put(u8 *buf, const struct coll_answer *answer, enum coll_answer_part part);
int coll_answer_get(const u8 *buf, struct coll_answer *answer, enum coll_answer_part part);

#endif /* COLL_ANSWER_H */
