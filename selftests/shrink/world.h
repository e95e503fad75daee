/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small group in which every schedule is possible: the real agree.c on each rank, and a
 * network that may deliver whatever was ever sent, in any order, any number of times, or
 * never.  Ranks propose, lose patience, die, learn of deaths, end their calls and call
 * again at any moment.
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
	MUTATION_SHRUNK,	/* dead ranks do not count, whatever they accepted */
	MUTATION_LATEST,	/* a rank that dies during a ballot counts as dead in it */
	MUTATION_PROMISE,	/* lower ballots are promised, too */
	MUTATION_ACCEPT,	/* and accepted, without a promise */
	MUTATION_FENCE,		/* messages of the dead are heard */
	MUTATION_FORGET,	/* an accepted value is not told */
	MUTATION_STAY,		/* the old group is not left */
	MUTATION_UNSEALED,	/* a rank that was ready in a group of all may be lost */
	MUTATION_SILENT,	/* silence is taken for death */
	MUTATIONS
};

extern enum mutation mutation;
extern const char * const mutation_names[MUTATIONS];

/**
 * struct node - a rank
 * @agree: under test
 * @alive: has not died
 * @calling: is in coll_shrink()
 * @connecting: coll_agree_connected() is due
 * @over: its old group has failed, or has been left
 * @blamed: its death is the reason why the old group failed
 * @calls: how often it has called
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
 * struct bounds - of a world
 * @nranks: ranks
 * @ballots: how many there may be
 * @deaths: likewise
 * @calls: of each rank
 * @healthy: the old group has not failed at first
 * @gone: ranks that are dead at first, bit by bit; known to the modules
 * @direct: fewer schedules, but all of these: what makes groups and ends calls is delivered
 *	at once, other messages once at most; a proposer waits for all or for a quorum
 * @proposers: ranks that propose, bit by bit; 0: all
 * @mortal: ranks that may die; 0: all
 * @hasty: no proposer waits for more than a quorum
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
	bool hasty;
};

/**
 * struct world - all of it; can be copied
 * @bounds: of it
 * @node: ranks
 * @deaths: how many have died
 * @ballots: how many have begun
 * @nsent: messages sent
 * @sent: their numbers, in ascending order
 * @seen: those that have been delivered
 * @wrong: two ranks that live have different groups
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
	EVENT_DEAD,		/* a rank learns that another one is dead */
	EVENT_LOST,		/* or that it has never accepted anything */
	EVENT_FAIL,		/* its old group fails */
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

/* Has this message been delivered?  And which way does it go? */
bool world_seen(const struct world *world, const struct event *event);
unsigned int world_way(const struct event *event);

/* The rules of agree_quorum.c, and what mutation.c puts in their place. */
bool __real_coll_agree_quorum(const struct coll_agree *agree, const struct coll_ranks *set);
bool __wrap_coll_agree_quorum(const struct coll_agree *agree, const struct coll_ranks *set);
bool __real_coll_agree_may_promise(const struct coll_agree *agree, uint64_t ballot);
bool __wrap_coll_agree_may_promise(const struct coll_agree *agree, uint64_t ballot);
bool __real_coll_agree_may_accept(const struct coll_agree *agree, uint64_t ballot);
bool __wrap_coll_agree_may_accept(const struct coll_agree *agree, uint64_t ballot);
bool __real_coll_agree_fenced(const struct coll_agree *agree, unsigned int rank);
bool __wrap_coll_agree_fenced(const struct coll_agree *agree, unsigned int rank);

#endif /* COLL_SHRINK_WORLD_H */
