/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small group in which every schedule is possible: the real state machine on each rank, and a
 * network that may deliver any message that was ever sent, in any order, any number of times, or
 * never. At any time ranks propose, time out, die, learn of deaths, are told of refusals, end
 * their calls and call again.
 */
#ifndef COLL_SHRINK_WORLD_H
#define COLL_SHRINK_WORLD_H

#include "shrink/agree.h"

#define RANKS_MAX	5
#define SENT_MAX	240
#define EVENTS_MAX	400
#define QUEUE_MAX	64

enum mutation {
	MUTATION_NONE,
	MUTATION_ONE,		/* any rank is a quorum */
	MUTATION_SHRUNK,	/* ranks that are not waited for do not count for a quorum */
	MUTATION_PROMISE,	/* lower ballots are promised, too */
	MUTATION_ACCEPT,	/* values are accepted without a promise */
	MUTATION_FORGET,	/* an accepted value is not reported */
	MUTATION_STAY,		/* the old group is not left */
	MUTATION_UNSEALED,	/* a rank that was ready in a group of all may be left out */
	MUTATION_LOSABLE,	/* promises of ranks that may still be lost count */
	MUTATION_REFUSED,	/* a rank that refuses, living or not, is taken for lost */
	MUTATIONS
};

extern enum mutation mutation;
extern const char * const mutation_names[MUTATIONS];

/**
 * struct node - a rank
 * @agree: state machine under test
 * @alive: true if it has not died
 * @calling: true if it is in coll_shrink()
 * @connecting: true if coll_agree_connected() is due
 * @over: true if its old group has failed, or was left: its death is not reported
 * @blamed: true if its death is the reason why the old group failed
 * @calls: number of its calls
 * @returned: number of the group with which it has returned; 0: none
 */
struct node {
	struct coll_agree agree;
	bool alive;
	bool calling;
	bool connecting;
	bool over;
	bool blamed;
	unsigned int calls;
	uint64_t returned;
};

/**
 * struct bounds - bounds of a world
 * @nranks: number of ranks
 * @ballots: most ballots
 * @deaths: most deaths of ranks whose old group has not failed; that of another rank is a silence
 * @calls: most calls of each rank
 * @healthy: true if the old group has not failed at first
 * @gone: mask of ranks that are dead at first; the modules know of them
 * @direct: true to explore fewer schedules, but all of these: messages that form groups and end
 *   calls are delivered at once, others at most once; a proposer waits for all or for a quorum
 * @proposers: mask of ranks that propose; 0: all
 * @mortal: mask of ranks that may die; 0: all
 * @quorum_only: true if no proposer waits for more than a quorum
 * @refusals: true if any rank may be reported to refuse
 * @reach: masks of ranks that the ballots of each rank reach; 0: all
 */
struct bounds {
	unsigned int nranks;
	unsigned int ballots;
	unsigned int deaths;
	unsigned int calls;
	bool healthy;
	unsigned int gone;
	bool direct;
	unsigned int proposers;
	unsigned int mortal;
	bool quorum_only;
	bool refusals;
	unsigned int reach[RANKS_MAX];
};

/**
 * struct world - the complete state; can be copied
 * @bounds: its bounds
 * @node: the ranks
 * @deaths: number of deaths
 * @ballots: number of ballots that began
 * @nsent: number of messages sent
 * @sent: their indices, in ascending order
 * @seen: messages that were delivered
 * @wrong: true if two ranks have, or had before they died, different groups
 */
struct world {
	const struct bounds *bounds;
	struct node node[RANKS_MAX];
	unsigned int deaths;
	unsigned int ballots;
	unsigned int nsent;
	uint32_t sent[SENT_MAX];
	bool seen[SENT_MAX];
	bool wrong;
};

enum event_kind {
	EVENT_DELIVER,
	EVENT_PROPOSE,
	EVENT_SLOW,
	EVENT_STOP_TELLING,
	EVENT_DIE,
	EVENT_REFUSED,		/* a rank is told that another one, living or not, refuses */
	EVENT_LOST,		/* or that another one died and never accepted a value */
	EVENT_END,
	EVENT_CALL,
	EVENT_KINDS
};

struct event {
	enum event_kind kind;
	uint32_t a;
	uint32_t b;
};

void world_begin(struct world *world, const struct bounds *bounds);
unsigned int world_events(struct world *world, struct event *events);
void world_apply(struct world *world, const struct event *event);
uint64_t world_hash(const struct world *world);
void world_say(const struct event *event);

/* True if this message was delivered; its direction. */
bool world_seen(const struct world *world, const struct event *event);
unsigned int world_way(const struct event *event);

/* The rules of the quorum, and the mutated rules in their place. */
bool __real_coll_agree_promised(const struct coll_agree *agree);
bool __wrap_coll_agree_promised(const struct coll_agree *agree);
bool __real_coll_agree_quorum(const struct coll_agree *agree, const struct coll_ranks *set);
bool __wrap_coll_agree_quorum(const struct coll_agree *agree, const struct coll_ranks *set);
bool __real_coll_agree_may_promise(const struct coll_agree *agree, uint64_t ballot);
bool __wrap_coll_agree_may_promise(const struct coll_agree *agree, uint64_t ballot);
bool __real_coll_agree_may_accept(const struct coll_agree *agree, uint64_t ballot);
bool __wrap_coll_agree_may_accept(const struct coll_agree *agree, uint64_t ballot);

#endif /* COLL_SHRINK_WORLD_H */
