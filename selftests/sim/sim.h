/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator: whole groups of engines in one thread.
 *
 * A world is a group.  Every rank has an engine a lane; between two ranks there
 * are a data connection a lane and one for control frames, all of them queues
 * in memory.  Whatever can happen next is an actor (a rank submits, a stream
 * sends, bytes or a control frame arrive), and the world picks one at random,
 * over and over: a seed is a schedule.
 *
 * Payload that the engine sends without a copy is queued as a reference, and
 * read when the receiver consumes it.  As an operation completes on a rank, its
 * result is compared with the reference at once and its buffers are filled with
 * rubbish, so that a byte that is read or written too late is a wrong bit.
 *
 *	sim.c		the world: actors, time, checks at the end
 *	member.c	a rank: submits, answers the engines, checks results
 *	link.c		connections
 *	fault.c		aborts, leases when a rank falls silent, ranks that die
 *	distance.c		how far a rank may be ahead of the others, and what has failed there
 *	memory.c	memory in pieces
 *	hazard.c	is what a step says of its writes true?
 *	reference.c	operations, what goes in and what must come out
 *	programs.c	random worlds
 *	scale.c		larger ones, and numbers near those that fields end at
 *	sweep.c		worlds of every size
 *	deaths.c	small worlds in which a rank dies, at every event
 *	cost.c		what an operation costs, and what it may
 *	mutation.c	the simulator must notice what is broken on purpose
 *	main.c		the command line
 */
#ifndef COLL_SIM_H
#define COLL_SIM_H

#include <stdio.h>
#include <stdlib.h>

#include "core/engine/task.h"
#include "core/match/balance.h"
#include "core/match/distance.h"
#include "rng.h"

#include <linux/collective.h>

#define SIM_LANES_MAX	4
#define SIM_RANKS_MAX	1024

/* Time, when it matters; see fault.c. */
#define SIM_LEASE	20000ULL
#define SIM_FENCE	30000ULL
#define SIM_SILENCE	90000ULL
#define SIM_PING	4000ULL

struct sim;
struct member;

/* What the simulator breaks on purpose, to show that it notices. */
enum mutation {
	MUTATION_NONE,
	MUTATION_CONSUMED,	/* what was sent counts as consumed */
	MUTATION_FORWARD,	/* what has not arrived is forwarded */
	MUTATION_LEASE,		/* leases never end */
	MUTATION_KICK,		/* a kick is lost now and then */
	MUTATION_CONTROL,	/* control frames overtake each other */
	MUTATION_GRANT,		/* a grant stays when its run has left */
	MUTATION_REQUEST,	/* who asks for a grant is not answered */
	MUTATION_WINDOW,	/* more is granted than a window can take */
	MUTATION_LEFT,		/* what is in a window counts as gone too early */
	MUTATION_ASIDE,		/* nothing is set aside of what is overwritten */
	MUTATION_ROOM,		/* what there is no room for is stored */
	MUTATION_WIDE,		/* wide sums are rounded on the way */
	MUTATION_SWAP,		/* what is swapped is granted before it is copied */
	MUTATION_HAZARD,	/* what was sent is overwritten as if it never had been */
	MUTATION_FRAMING,	/* open frames of an operation are counted in 8 bits */
	MUTATION_FORGET,	/* of names that have failed only the latest are remembered */
	MUTATION_SIFT,		/* what is staged for a name that has failed stays */
	MUTATION_AHEAD,		/* a rank may be ahead of the others as far as it likes */
	MUTATION_LATE,		/* aborts of what is far ahead of a rank are dropped there */
	MUTATION_STEPS,		/* steps are counted in 8 bits */
	MUTATION_ENFORCE,	/* what was not granted is taken */
	MUTATION_POSITION,	/* positions are told in 32 bits */
	MUTATION_NAME,		/* names are told in 32 bits */
	MUTATION_BALANCE,	/* counts that differ are taken for the same */
	MUTATION_COUNT
};

enum actor_kind {
	ACTOR_MEMBER,
	ACTOR_SEND,
	ACTOR_RECEIVE,
	ACTOR_CONTROL,
	ACTOR_COPY,
	ACTOR_CONNECT,
	ACTOR_PING,
	ACTOR_KINDS
};

/**
 * struct actor - something that may happen next
 * @kind: enum actor_kind
 * @rank: whose
 * @owner: a member, endpoint or queue, by @kind
 * @ready: it is among those that are picked from...
 * @at: ...there
 * @slow: it acts once in so many times that it is picked
 * @lazy: it acts when only such ones can
 */
struct actor {
	u8 kind;
	u32 rank;
	void *owner;
	bool ready;
	u32 at;
	u32 slow;
	bool lazy;
};

/**
 * struct sim_mem - memory in pieces
 * @mem: as the engine sees it
 * @page: pieces are multiples of it
 * @at: address of every page
 * @run: bytes that follow there without a break
 * @heap: what to free, @npages at most
 * @borrowed: bytes on their way by reference
 * @lent: by byte: how often it is on its way by reference; it was: LENT_ONCE
 * @window: offsets go around
 */
struct sim_mem {
	struct coll_mem mem;
	size_t page;
	size_t npages;
	u8 **at;
	size_t *run;
	u8 **heap;
	u64 borrowed;
	u8 *lent;
	bool window;
};

#define LENT_ONCE	0x80

/* What an element may be. */
enum values {
	VALUES_SMALL,		/* integers that add up exactly */
	VALUES_FINITE,		/* rounding matters */
	VALUES_ANY,		/* all bit patterns */
	VALUES_COUNT
};

/**
 * struct sim_op - one operation of the program, the same on every rank
 * @seed: of its input
 * @algorithm: enum collective_algorithm
 * @reproducible: the order of ranks decides
 * @wide: sums are rounded once
 * @vector: blocks differ: see reference_block_count()
 * @varlen: who receives is told how much: see reference_room()
 * @name: of it; its place in the program, unless it has a key
 * @count: elements: of the vector, or of a rank's block
 * @root: rank, of rooted ones; who sends a message
 * @to: who receives it
 * @input: of every rank, once somebody needed it
 * @expected: the result of every rank, likewise; often the same one
 * @before: the operation before it that has its name, or OP_NONE
 * @submitted: ranks that have
 * @odd: two ranks have different counts of one block: who sends...
 * @odd_from: ...that is this one...
 * @odd_to: ...to this one...
 * @odd_sender: ...or else who receives it...
 * @odd_count: ...has this one
 */
struct sim_op {
	u8 collective;
	u8 type;
	u8 reduction;
	u8 values;
	u8 algorithm;
	bool reproducible;
	bool wide;
	bool vector;
	bool varlen;
	u64 name;
	u32 root;
	u32 to;
	u64 count;
	u64 seed;
	u8 **input;
	u8 **expected;
	u32 before;
	u32 submitted;
	bool odd;
	bool odd_sender;
	u32 odd_from;
	u32 odd_to;
	u64 odd_count;
};

#define OP_NONE		0xffffffffU

/**
 * struct sim_part - an operation on one rank
 * @number: of the operation
 * @plan: of lane 0, once it was submitted
 * @send: memory of the input
 * @recv: memory of the result
 * @send_off: where it begins there
 * @recv_off: likewise
 * @send_len: bytes of the input, 0: this rank has none
 * @recv_len: bytes of the result
 * @own: where in the result the input is, when it is in place
 * @in_place: it is, or there is none
 * @scratch: memory of what goes through, by lane
 * @send_first: where the blocks begin, if they differ; else NULL
 * @recv_first: likewise
 * @lanes_left: lanes on which it is not complete; one more until all ranks agree
 * @balance: what we add to the sum of counts...
 * @balances: ...what was heard of it...
 * @rounds_heard: rounds in which it was received; one bit each
 * @rounds_sent: number of rounds in which this rank has announced
 * @matched: all ranks were heard
 * @received: bytes that were told to come, where the length is told
 * @error: of the first lane that failed
 * @aborted: the abort came before it was submitted
 * @failure: with a key, or of a message: the abort was the one of that number here; 0: none was
 */
struct sim_part {
	u32 number;
	struct coll_plan plan;
	struct sim_mem *send;
	struct sim_mem *recv;
	u64 send_off;
	u64 recv_off;
	u64 send_len;
	u64 recv_len;
	u64 own;
	bool in_place;
	struct sim_mem *scratch[SIM_LANES_MAX];
	u64 *send_first;
	u64 *recv_first;
	u32 lanes_left;
	u64 balance;
	struct coll_balance balances[COLL_ROUNDS_MAX];
	u32 rounds_heard;
	u32 rounds_sent;
	bool matched;
	u64 received;
	int error;
	bool submitted;
	bool done;
	bool aborted;
	u32 failure;
};

/**
 * struct ref - bytes on a data connection
 * @mem: read there when they are consumed; NULL: they are in @copy
 */
struct ref {
	struct ref *next;
	struct sim_mem *mem;
	u64 off;
	u32 len;
	u8 *copy;
};

/**
 * struct endpoint - one end of a data connection
 * @stream: the engine's
 * @other: the other end
 * @first: what was sent from here and has not been consumed there
 * @queued: bytes of it
 * @capacity: how many of them there may be
 * @up: it can be used
 * @connect: acts when it cannot
 * @send: acts when there may be something to send
 * @receive: acts when there is something to receive, from the other end
 * @odd: what has arrived here does not match
 * @refused: what arrives here was refused: nothing more is taken
 */
struct endpoint {
	struct member *member;
	struct coll_stream stream;
	struct endpoint *other;
	struct ref *first;
	struct ref **last;
	u64 queued;
	u64 capacity;
	bool up;
	bool refused;
	bool odd;
	struct actor connect;
	struct actor send;
	struct actor receive;
	u8 *stage;
	struct coll_grant *grants;
};

/**
 * struct frame - a control frame on its way
 * @end: none, but the end of the connection
 */
struct frame {
	struct frame *next;
	bool end;
	u8 wire[COLL_CONTROL_SIZE];
};

/** struct queue - control frames from one rank to another, in order */
struct queue {
	struct member *from;
	struct member *to;
	struct frame *first;
	struct frame **last;
	u32 length;
	struct actor actor;
};

/**
 * struct member - one rank
 * @lent: bytes sent without a copy, by lane
 * @instances: of the engines, by lane
 * @hash: of the engines, by lane
 * @ep: data connections by lane and peer, made on demand
 * @queue: control connections to each peer, made on demand
 * @parts: its side of the operations
 * @inflight: operations submitted and not done
 * @oldest: first operation that is not done
 * @counted: name of the next operation that is to be submitted and has no key...
 * @next_counted: ...and its place in the program
 * @distance: how far the others are, in these
 * @failed_counted: by the low bits of their names: the latest that has failed, plus one
 * @failures: how many others have
 * @vector: the vector registers are in use
 * @failed: the group has failed here (a negative errno)...
 * @cause: ...for this reason...
 * @failed_at: ...at that time
 * @pinged_at: last time that the peers were pinged
 * @heard: last ping of each peer that was answered
 */
struct member {
	struct sim *sim;
	u32 rank;
	u64 lent[SIM_LANES_MAX];
	struct coll_engine engine[SIM_LANES_MAX];
	u32 instances[SIM_LANES_MAX];
	struct coll_task **hash[SIM_LANES_MAX];
	struct endpoint *ep[SIM_LANES_MAX][SIM_RANKS_MAX];
	struct queue *queue[SIM_RANKS_MAX];
	struct sim_part *parts;
	u32 inflight;
	u32 oldest;
	u64 counted;
	u32 next_counted;
	struct coll_distance distance;
	u64 *failed_counted;
	u32 failures;
	bool vector;
	int failed;
	struct coll_reason cause;
	u64 failed_at;
	u64 pinged_at;
	u64 heard[SIM_RANKS_MAX];
	struct actor actor;
	struct actor copy;
	struct actor ping;
};

enum fault_kind {
	FAULT_NONE,
	FAULT_INSTANCE,		/* some operations are aborted */
	FAULT_COUNTS,		/* two ranks have different counts for one another */
	FAULT_GROUP,		/* the group is aborted */
	FAULT_SILENCE,		/* a rank is cut off, aborts and moves on */
	FAULT_DEATH,		/* a rank dies, and its host says so */
	FAULT_LOSS,		/* a rank dies with its host */
	FAULT_GREED,		/* a rank sends what it was not granted */
	FAULT_COUNT
};

/* How large a random world is. */
enum scale {
	SCALE_SMALL,		/* in nothing */
	SCALE_DEEP,		/* in slots, operations and faults, of few ranks */
	SCALE_WIDE,		/* in ranks */
	SCALE_BOTH,		/* in all of these: seconds, and a gigabyte */
	SCALE_COUNT
};

/**
 * struct origin - where a world begins to count
 * @name: of the first operation without a key
 * @key: the first key, and number of a message
 * @position: payload bytes that each stream has carried before
 * @eager: likewise, of eager frames
 * @time: sim->now
 */
struct origin {
	u64 name;
	u64 key;
	u64 position;
	u64 eager;
	u64 time;
};

/**
 * struct config - what world it is
 * @window: operations a rank may have in flight, at most @nslots, and how far it
 *	goes ahead of the oldest that is not done
 * @keys: so many keys are used; 0: all ranks submit in the same order
 * @segment: see struct coll_plan
 * @near: likewise
 * @faults: how many
 * @fault: of what kind
 * @strike: the only one comes when there have been so many events but one; 0: at any
 *	time
 * @victim: then it is this rank that dies
 * @scale: enum scale
 * @origin: see there
 * @packet: so many bytes are sent and arrive at a time, or what there is; 0: any number
 * @laggard: one more than a rank that is slow to submit as long as there are faults to come
 * @stingy: one more than a rank whose sockets take a part of a frame, of which nothing is
 *	received as long as anything else can happen
 */
struct config {
	u64 seed;
	u32 nranks;
	u32 lanes;
	u32 nslots;
	u32 window;
	u32 keys;
	u32 segment;
	bool near;
	u32 nops;
	u32 faults;
	u8 fault;
	u64 strike;
	u32 victim;
	u8 scale;
	struct origin origin;
	u32 packet;
	u32 laggard;
	u32 stingy;
	u8 mutation;
	bool verbose;
};

struct sim {
	struct config config;
	struct rng rng;
	struct sim_op *ops;
	struct member *members;
	struct actor **ready;
	u32 nready;
	u32 nlazy;		/* of these, lazy ones */
	u32 ready_max;
	u64 bytes;		/* of all operations */
	u64 steps;
	u64 acts;		/* steps in which something happened */
	u64 now;
	u64 next_fault;
	u32 faults_left;
	u32 cut;		/* rank that is cut off, or COLL_NOBODY */
	struct member *victim;	/* that will be */
	u32 greedy;		/* rank that sends what it was not granted, or COLL_NOBODY */
	struct list_head wrecks;	/* instances that completed too early */
	u32 dead;		/* rank that is, or COLL_NOBODY */
	u32 frozen;		/* rank that does nothing... */
	u64 frozen_until;	/* ...until then, in steps */
	u32 queue_max;		/* longest queue of control frames seen */
	u32 successes;
	u32 errors;
	bool broken;
	char why[400];
};

/* The engine's ctx is itself, so that every callback knows the lane. */
static inline struct member *member_of(const struct coll_engine *engine)
{
	return container_of(engine - engine->lane, struct member, engine[0]);
}

/* Does the time matter? */
static inline bool sim_timed(const struct sim *sim)
{
	return sim->config.fault == FAULT_SILENCE || sim->config.fault == FAULT_LOSS;
}

/* sim.c */
bool sim_run(struct sim *sim);
void sim_fail(struct sim *sim, const char *format, ...) __printf(2, 3);
void sim_wake(struct sim *sim, struct actor *actor);
bool sim_takes_part(const struct sim_op *op, u32 rank);
struct coll_plan sim_plan(const struct sim *sim, const struct sim_op *op, u32 rank);
void sim_actor_init(struct sim *sim, struct actor *actor, u8 kind, u32 rank, void *owner);

/* member.c */
extern const struct coll_engine_ops member_ops;
void member_init(struct sim *sim, u32 rank);
void member_free(struct member *member);
bool member_act(struct member *member);
bool member_copy(struct member *member);
void member_tick(struct member *member);
void member_done(struct member *member, u32 number);
void member_part_done(struct member *member, u32 number, int error);

/* match.c */
bool match_waits(const struct sim *sim, const struct sim_op *op);
void match_begin(struct member *member, u32 number);
void match_abort(struct member *member, u32 number);
void match_receive(struct member *member, const struct coll_control *control);
bool match_explained(const struct sim *sim, u32 number);

/* link.c */
struct endpoint *endpoint_get(struct member *member, u32 lane, u32 peer);
bool endpoint_send(struct endpoint *ep);
bool endpoint_receive(struct endpoint *ep);
bool endpoint_connect(struct endpoint *ep);
bool endpoint_opens(const struct member *member, u32 lane, const struct coll_task *task);
void endpoint_reset(struct endpoint *ep);
void endpoint_die(struct endpoint *ep);
void endpoint_free(struct endpoint *ep);
void control_send(struct member *from, u32 to, const struct coll_control *control);
bool control_receive(struct queue *queue);
void queue_die(struct queue *queue);
void queue_free(struct queue *queue);

/* fault.c */
void fault_strike(struct sim *sim);
bool fault_ping(struct member *member);
void fault_control(struct member *member, u32 from, const struct coll_control *control);
void fault_end(struct member *member, u32 from);
bool fault_explained(const struct member *member);
void fault_refused(struct member *member, u32 peer);
void member_abort(struct member *member, u64 name);

/* distance.c */
void distance_init(struct member *member);
bool distance_may(const struct member *member, u64 name);
void distance_submitted(struct member *member, u32 number);
void distance_receive(struct member *member, u32 from, u64 count);
void distance_fail(struct member *member, u64 name);
bool distance_failed(const struct member *member, u64 name);
bool distance_remembers(const struct member *member, u64 name);

/* memory.c */
struct sim_mem *memory_new(struct rng *rng, u64 length);
void memory_free(struct sim_mem *memory);
void memory_read(const struct sim_mem *memory, u64 off, void *buf, u64 len);
void memory_write(struct sim_mem *memory, u64 off, const void *buf, u64 len);
void memory_fill(struct sim_mem *memory, u8 byte, u64 from, u64 to);
bool memory_differs(const struct sim_mem *memory, u8 byte, u64 from, u64 to);
void memory_lend(struct sim_mem *memory, u64 off, u64 len);
void memory_return(struct sim_mem *memory, u64 off, u64 len);
bool memory_lent(const struct sim_mem *memory, u64 off, u64 len, bool ever);

/* hazard.c */
void hazard_watch(struct coll_stream *stream);

/* reference.c */
const u8 *reference_input(struct sim_op *op, u32 rank, u32 nranks);
u64 reference_block_count(const struct sim_op *op, u32 from, u32 to);
u64 reference_seen_count(const struct sim_op *op, u32 by, u32 from, u32 to);
u64 reference_room(const struct sim_op *op, u32 rank);
u64 reference_before(const struct sim_op *op, u32 rank, u32 to);
u64 reference_behind(const struct sim_op *op, u32 rank, u32 from);
bool reference_wide(const struct sim_op *op);
bool reference_around(const struct sim_op *op);
bool reference_direct(const struct sim_op *op, bool near, u32 nranks);
bool reference_ordered(const struct sim_op *op);
bool reference_tree(const struct sim_op *op, u32 nranks);
const u8 *reference_result(const struct sim *sim, struct sim_op *op, u32 rank);
void reference_init(struct sim_op *op, u32 nranks);
void reference_free(struct sim_op *op, u32 nranks);

/* programs.c */
typedef void (*inspect_fn)(struct sim *sim);
const struct coll_schedule *program_schedule(const struct sim_op *op, u32 nranks);
bool program_run(const struct config *config, const struct sim_op *ops, inspect_fn inspect);
void program_random(struct config *config, struct sim_op *ops, u64 seed);
bool program_concurrent(const struct config *config, const struct sim_op *ops);
bool program_seed(u64 seed, u8 fault, u8 scale, u8 mutation, bool verbose);
void program_op(struct rng *rng, struct sim_op *op, u32 nranks, u64 bytes);
void program_fit(struct sim_op *op, u32 nranks);
void program_names(struct rng *rng, struct config *config, struct sim_op *ops);
extern const char * const fault_names[FAULT_COUNT];
extern const char * const mutation_names[MUTATION_COUNT];

/* mutation.c */
const struct coll_schedule *mutation_schedule(const struct sim *sim, const struct coll_plan *plan);

/* scale.c */
extern const char * const scale_names[SCALE_COUNT];
void scale_numbers(struct config *config);
bool scale_allows(const struct sim_op *op, u32 nranks);
void scale_packets(struct config *config, const struct sim_op *ops);
void scale_random(struct config *config, struct sim_op *ops, u64 seed);

/* cost.c */
void cost_inspect(struct sim *sim);

/* sweep.c */
bool sweep(u32 nranks);

/* deaths.c */
#define DEATHS_RANKS	4	/* of these, each at each event */
#define DEATHS_RANKS_MAX	300
bool deaths(u32 nranks, u8 fault, u64 *worlds);

/* Operations of a small world, and of any. */
#define OPS_FEW		40
#define OPS_MAX		600

#endif /* COLL_SIM_H */
