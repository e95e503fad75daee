/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <collective_admin.h>

/* What is to be said of a group, the worst last; an exit status. */
enum verdict {
	VERDICT_OK = 0,
	VERDICT_SLOW = 10,
	VERDICT_INCOMPLETE,
	VERDICT_MISMATCH,
	VERDICT_DEAD,
};

/* An operation that is younger is no reason to say anything; longer than a query. */
#define JUDGE_PATIENCE_MS	1000

#define RANKS_MAX		1024

/**
 * struct known - what stays true of a rank after its answer
 * @answered: true if it has answered any query
 * @pid: its process, in its own PID namespace
 * @node: name of its host
 * @reason: why its group has failed
 * @reason_ns: when; CLOCK_MONOTONIC ns
 */
struct known {
	bool answered;
	unsigned int pid;
	char node[80];
	struct coll_admin_reason reason;
	uint64_t reason_ns;
};

/* Times that bytes are sent again without an answer before it is said: loss takes one or two. */
#define JUDGE_UNANSWERED	3

/**
 * struct silence - the connection of this host that has been without an answer for longest
 * @times: times that its latest bytes were sent again; 0: there is none
 * @rank: rank at this end
 * @peer: rank at the other end
 * @control: true if it is the control connection
 * @local: address of this end
 * @remote: address of the other end
 */
struct silence {
	unsigned int times;
	unsigned int rank;
	unsigned int peer;
	bool control;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
};

/**
 * struct state - what is known of a group
 * @size: number of ranks
 * @connected: true if the rank that asks has all its links
 * @known: by rank
 * @answer: by rank, to the query that is judged
 * @answers: number of ranks that have answered it
 * @next: by rank, to the query in progress
 * @nnext: number of ranks that have answered it
 * @missing: ranks that have answered no query
 * @oldest: the oldest operation in flight; NULL: there is none
 * @oldest_ms: its age
 * @oldest_rank: rank that has it in flight for longest
 * @waiting: ranks that have it in flight
 * @silence: of its connections on this host
 * @text: the sentence
 * @culprit: the rank that it names first; COLL_ADMIN_NONE: none
 */
struct state {
	unsigned int size;
	bool connected;
	struct known known[RANKS_MAX];
	struct coll_admin_answer answer[RANKS_MAX];
	unsigned int answers;
	struct coll_admin_answer next[RANKS_MAX];
	unsigned int nnext;
	unsigned int missing;
	const struct coll_admin_operation *oldest;
	uint64_t oldest_ms;
	unsigned int oldest_rank;
	unsigned int waiting;
	struct silence silence;
	char text[1024];
	unsigned int culprit;
};

int judge_ask(struct state *state, const char *group,
	      int (*query)(const char *group, struct state *state, unsigned int nth));
void judge_query_begin(struct state *state);
int judge_take_link(const struct coll_admin_link *link, void *arg);
int judge_take(const struct coll_admin_answer *answer, void *arg);
bool judge_query_end(struct state *state);
enum verdict judge(struct state *state);

#endif /* JUDGE_H */
