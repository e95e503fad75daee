/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator: all engines of a group run in one thread of user space.
 *
 * A world is one simulated group.  Each rank has one engine for each lane.  Two ranks have one
 * data connection for each lane and one control connection; all are queues in memory.
 * An actor is one thing that can happen next: a rank submits, a stream sends, bytes or a
 * control frame arrive.  The world picks actors at random; one seed gives one order of events.
 *
 * A send with zero copy queues a reference, which is read when the receiver consumes it.  When an
 * operation completes on a rank, its result is checked at once and its buffers are overwritten.
 * A byte that is read or written too late is therefore a wrong bit.
 */
#ifndef COLL_SIM_H
#define COLL_SIM_H

/*
 * The files:
 *
 *	sim.c		the world: picks actors, keeps the time, checks the end state
 *	member.c	a rank: submits operations, answers the engines, checks results
 *	match.c		operations of which two ranks have different counts
 *	link.c		data and control connections
 *	fault.c		aborts, failed groups, leases and fences, dead ranks
 *	distance.c	how far a rank may be ahead, and which operations have failed
 *	memory.c	memory in pieces, as user pages are
 *	expose.c		memory that other ranks read
 *	board.c		the board
 *	hazard.c	checks the hazard that a step states for its writes
 *	reference.c	the input and the expected result of each operation
 *	programs.c	random worlds
 *	scale.c		large worlds, and counters that start near their limits
 *	sweep.c		one operation at a time, for every size of group
 *	deaths.c	small worlds in which a rank dies before each event
 *	cost.c		the exact bytes, steps and copies of an operation
 *	mutation.c	rules broken on purpose, which the simulator must notice
 *	jobs.c		runs independent worlds on all CPUs
 *	main.c		the command line
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/engine/task.h"
#include "core/match/balance.h"
#include "core/match/distance.h"
#include "../unit/engine_drive.h"
#include "rng.h"

#include <linux/collective.h>

#define SIM_LANES_MAX	4
#define SIM_RANKS_MAX	1024

/* Times in units of sim->now; used only if sim_timed() (see fault.c). */
#define SIM_LEASE	20000ULL	/* a lease, from the ping that was answered */
#define SIM_FENCE	30000ULL	/* from the failure of a group to its fence */
#define SIM_SILENCE	90000ULL	/* a peer without answers for so long is given up */
#define SIM_PING	4000ULL		/* between two heartbeats */

struct sim;
struct member;

/* Rules that the simulator breaks on purpose, to show that its checks notice. */
enum mutation {
	MUTATION_NONE,
	MUTATION_CONSUMED,	/* payload counts as consumed as soon as it is sent */
	MUTATION_CUT_THROUGH,	/* bytes are forwarded before they have arrived */
	MUTATION_LEASE,		/* leases never end */
	MUTATION_KICK,		/* one kick in 50 is lost */
	MUTATION_CONTROL,	/* control frames overtake each other */
	MUTATION_GRANT,		/* a grant is kept after the run that it was for */
	MUTATION_REQUEST,	/* request frames are not answered with a grant */
	MUTATION_WINDOW,	/* more is granted than a scratch window can take */
	MUTATION_FREED,		/* bytes in a scratch window are freed too early */
	MUTATION_SAVED_INPUT,	/* input that an operation in place overwrites is not saved */
	MUTATION_CAPACITY,	/* one element more than the capacity is stored */
	MUTATION_WIDE,		/* wide sums are rounded at every step */
	MUTATION_EXCHANGE,	/* a block to be exchanged is granted before it is copied */
	MUTATION_HAZARD,	/* memory that was sent is overwritten as if never sent */
	MUTATION_OPEN_FRAMES,	/* the open frames of a task are counted in 8 bits */
	MUTATION_FAILED_OPS,	/* only the latest failed keys and messages are remembered */
	MUTATION_UNEXPECTED,	/* unexpected frames of a failed operation are kept */
	MUTATION_DISTANCE,	/* a rank may be any distance ahead of the others */
	MUTATION_LATE,		/* an abort of an operation far ahead of a rank is dropped */
	MUTATION_STEPS,		/* steps are counted in 8 bits */
	MUTATION_UNGRANTED,	/* payload that was not granted is accepted */
	MUTATION_POSITION,	/* positions of CONSUMED and CREDIT are cut to 32 bits */
	MUTATION_INSTANCE,	/* instances of GRANT are cut to 32 bits */
	MUTATION_DROPPED,	/* requests that were dropped are not asked for again */
	MUTATION_BLOCKED,	/* a sender that lacks credit gets no answer */
	MUTATION_LATE_GRANT,	/* what was requested is sent on credit that comes meanwhile */
	MUTATION_BALANCE,	/* different counts are taken for equal */
	MUTATION_REVOKED,	/* payload that was revoked counts as stored */
	MUTATION_SCRATCH_REF,	/* scratch sent by reference counts as freed when it is sent */
	MUTATION_FINAL,		/* other ranks' results are read before they are final */
	MUTATION_EXPOSED,		/* memory is used again while other ranks may read it */
	MUTATION_WITHDRAW,	/* memory is read although it is withdrawn */
	MUTATION_SIGNAL,	/* the count that a signal tells is not compared */
	MUTATION_WAKE,		/* one wake-up in 10 by the board is lost */
	MUTATION_SLOT,		/* a slot of the board is used again while a rank may read it */
	MUTATION_DIGEST,	/* digests on the board are not compared */
	MUTATION_NEEDS,		/* a rank that need not synchronize does not wait for rank 0 */
	MUTATION_COUNT
};

enum actor_kind {
	ACTOR_MEMBER,		/* a rank submits an operation */
	ACTOR_SEND,		/* a stream sends */
	ACTOR_RECEIVE,		/* bytes arrive on a data connection */
	ACTOR_CONTROL,		/* a control frame arrives */
	ACTOR_COPY,		/* an engine does local copies */
	ACTOR_CONNECT,		/* one end of a data connection becomes usable */
	ACTOR_PING,		/* a heartbeat */
	ACTOR_KINDS
};

/**
 * struct actor - something that may happen next
 * @kind: enum actor_kind
 * @rank: rank on which it happens
 * @owner: the struct member, endpoint or queue that it belongs to; by @kind
 * @ready: true if it is in sim->ready, from which the world picks
 * @at: index in sim->ready, if @ready
 * @slow: average number of picks for each time that it acts; 0: acts at every pick
 * @lazy: true if it acts only when all actors in sim->ready are lazy
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
 * @mem: the memory as the engine sees it
 * @page: size of a page in bytes; a piece has a whole number of pages
 * @npages: number of pages
 * @at: by page: its address
 * @run: by page: bytes that follow one another in memory from its address on
 * @heap: by page: the allocation that starts there, or NULL
 * @referenced_bytes: bytes sent with zero copy and not consumed, with repetitions
 * @refs: by byte: number of references in flight; REF_ONCE is set if there ever was one
 * @window: true if offsets wrap at the end, as in a scratch window
 */
struct sim_mem {
	struct coll_mem mem;
	size_t page;
	size_t npages;
	u8 **at;
	size_t *run;
	u8 **heap;
	u64 referenced_bytes;
	u8 *refs;
	bool window;
};

#define REF_ONCE	0x80

/* The values that input elements have. */
enum values {
	VALUES_SMALL,		/* -3 to 3: floats add up exactly */
	VALUES_FINITE,		/* finite floats, of which rounding matters */
	VALUES_ANY,		/* all bit patterns, with infinities and NaNs */
	VALUES_COUNT
};

/**
 * struct sim_op - one operation of the program, the same on every rank
 * @collective: enum collective_opcode; a message is COLLECTIVE_SEND on both of its ranks
 * @type: type of the elements
 * @reduction: the reduction, of those that reduce
 * @values: enum values of the input
 * @algorithm: enum collective_algorithm
 * @reproducible: true if a reduction goes in the order of ranks
 * @wide: true if sums of 16-bit floats are rounded only once
 * @vector: true if blocks have different lengths; see reference_block_count()
 * @varlen: true if the sender decides the length; see reference_capacity()
 * @instance: instance of the operation; of a counted one, config->origin.name plus the number of
 *	counted operations before it
 * @root: root of a rooted operation; sender of a message
 * @to: receiver of a message
 * @count: elements of the vector, or of one rank's block (the most, with @vector)
 * @seed: seed of its input
 * @input: by rank: the input; NULL until reference_input() makes it
 * @expected: by rank: the result; NULL until reference_result() makes it; ranks may share one
 * @before: number of the last operation before it with the same @instance, or OP_NONE
 * @submitted: number of ranks that have submitted it
 * @mismatched: true if the two ranks of one block have different counts of it
 * @wrong_sender: with @mismatched: true if the sender has @wrong_count, false if the receiver has
 * @wrong_from: with @mismatched: sender of that block
 * @wrong_to: with @mismatched: receiver of that block
 * @wrong_count: with @mismatched: the wrong count of that block, in elements
 * @odd_count: count with which @odd_rank calls it, unless 0
 * @odd_rank: a rank that calls something else than the others; with @odd_count
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
	u64 instance;
	u32 root;
	u32 to;
	u64 count;
	u64 seed;
	u8 **input;
	u8 **expected;
	u32 before;
	u32 submitted;
	bool mismatched;
	bool wrong_sender;
	u32 wrong_from;
	u32 wrong_to;
	u64 wrong_count;
	u64 odd_count;
	u32 odd_rank;
};

#define OP_NONE		0xffffffffU

/**
 * struct sim_part - an operation on one rank
 * @number: index of the operation in the program
 * @plan: the plan of lane 0; valid when @submitted
 * @signature: of the call, as grants tell it; likewise
 * @send: memory that contains the input; may be @recv
 * @recv: memory that contains the result
 * @send_off: offset of the input in @send; bytes
 * @recv_off: offset of the result in @recv; bytes
 * @send_len: bytes of the input; 0: this rank has none
 * @recv_len: bytes of the result buffer; 0: this rank has none
 * @own: offset of the input in the result buffer if the operation is in place; bytes
 * @in_place: true if the input is in the result buffer, or if one of the two is empty
 * @scratch: by lane: scratch memory, or NULL
 * @send_first: by rank: first element of the block for it, if blocks differ; else NULL
 * @recv_first: by rank: first element of the block from it, if blocks differ; else NULL
 * @lanes_left: lanes on which it is not complete; one more until matching is over
 * @balance: this rank's contribution to the balance
 * @balances: by round: the balance that was received
 * @rounds_heard: one bit for each round of matching in which an ANNOUNCE has arrived
 * @rounds_sent: number of rounds of matching in which this rank has announced
 * @matched: true if matching is over: all rounds were received, or the operation was aborted
 * @received: bytes that the sender said it would send; with VARLEN
 * @error: error of the first lane that failed, or of matching; 0: none
 * @differs: true if the engine has found that a peer has called something else
 * @exposed: by lane, a bit: true if other ranks may read the input and the result
 * @withdrawing: by lane, a bit: true if the engine waits until they are not read any more
 * @readers: number of ranks that are reading
 * @submitted: true if this rank has submitted it
 * @done: true if it is complete here, or if this rank takes no part in it
 * @aborted: true if an abort had arrived before it was submitted
 * @failure: number of its abort among those of this rank, from 1; 0: not aborted; not of
 *	counted operations
 */
struct sim_part {
	u32 number;
	struct coll_plan plan;
	struct coll_signature signature;
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
	bool differs;
	u8 exposed;
	u8 withdrawing;
	u32 readers;
	u64 received;
	int error;
	bool submitted;
	bool done;
	bool aborted;
	u32 failure;
};

/**
 * struct ref - bytes in flight on a data connection
 * @next: the bytes sent after them
 * @mem: memory that is read when the bytes are consumed; NULL: they are in @copy
 * @off: offset of the bytes in @mem
 * @len: number of bytes
 * @copy: copied bytes, or NULL
 * @position: by reference: see struct coll_out
 * @owner: likewise
 * @read_started: true if a part of a reference has been read
 * @revoking: true if a piece of it is being read, and no other piece will be
 * @revoked: true if no more of it is read
 */
struct ref {
	struct ref *next;
	struct sim_mem *mem;
	u64 off;
	u32 len;
	u8 *copy;
	u64 position;
	const void *owner;
	bool read_started;
	bool revoking;
	bool revoked;
};

/**
 * struct endpoint - one end of a data connection
 * @member: rank at this end
 * @stream: the engine's stream
 * @other: the other end
 * @first: oldest bytes that were sent from here and have not arrived at @other
 * @last: where the next ones are linked
 * @queued: number of these bytes
 * @capacity: most bytes that the connection holds in this direction
 * @up: true if the engine may use the stream
 * @refused: true if the engine has refused received bytes; no more are delivered
 * @consumed: position up to which @other has consumed what was sent by reference
 * @mismatched: true if a received frame did not match a task of a world with FAULT_UNGRANTED
 * @connect: ready until @up
 * @send: ready if there may be bytes to send
 * @receive: ready if bytes of @other may be in flight
 * @grants: memory of the grants of @stream
 */
struct endpoint {
	struct member *member;
	struct coll_stream stream;
	struct endpoint *other;
	struct ref *first;
	struct ref **last;
	u64 queued;
	u64 capacity;
	u64 consumed;
	bool up;
	bool refused;
	bool mismatched;
	struct actor connect;
	struct actor send;
	struct actor receive;
	struct coll_grant *grants;
};

/**
 * struct frame - a control frame in flight
 * @next: the frame sent after it
 * @end: true if it is no frame, but marks the end of the connection
 * @wire: the encoded frame
 */
struct frame {
	struct frame *next;
	bool end;
	u8 wire[COLL_CONTROL_SIZE];
};

/**
 * struct queue - a control connection in one direction
 * @from: sender
 * @to: receiver
 * @first: oldest frame in flight
 * @last: where the next one is linked
 * @length: number of frames in flight
 * @actor: ready if a frame may be in flight
 */
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
 * @sim: the world
 * @rank: its rank
 * @zerocopy_bytes: by lane: payload bytes sent with zero copy
 * @engine: by lane: the engine
 * @board: the board of the world as this rank sees it
 * @ntasks: by lane: number of tasks in progress
 * @ep: by lane and peer: this end of the data connection; made on demand
 * @queue: by peer: control frames to it; made on demand
 * @parts: by number: the operations of the program, as this rank sees them
 * @inflight: number of operations submitted and not done
 * @oldest: number of the first operation that is not done
 * @counted: instance of the next counted operation to be submitted
 * @next_counted: number of that operation in the program
 * @distance: how far other ranks are, in counted operations
 * @failed_counted: by the low bits of the instance: the largest failed one of a counted
 *	operation, plus one
 * @failures: number of aborts of operations that are not counted
 * @fpu: true between the two calls of the FPU callback
 * @part: partial results of reductions
 * @failed: negative errno with which the group has failed here; 0: it has not
 * @reason: strongest reason of that failure known here
 * @failed_at: time at which the group failed here
 * @pinged_at: time of the last heartbeat
 * @answered_ping: by peer: sending time of the last PING that was answered
 * @actor: ready if an operation may be submitted
 * @copy: ready if there may be local copies to do
 * @ping: the heartbeat; always ready if sim_timed()
 */
struct member {
	struct sim *sim;
	u32 rank;
	u64 zerocopy_bytes[SIM_LANES_MAX];
	struct coll_engine engine[SIM_LANES_MAX];
	struct coll_board board;
	u32 ntasks[SIM_LANES_MAX];
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
	bool fpu;
	u8 part[COLL_REDUCE_PART];
	int failed;
	struct coll_reason reason;
	u64 failed_at;
	u64 pinged_at;
	u64 answered_ping[SIM_RANKS_MAX];
	struct actor actor;
	struct actor copy;
	struct actor ping;
};

enum fault_kind {
	FAULT_NONE,
	FAULT_INSTANCE,		/* some operations are aborted */
	FAULT_COUNTS,		/* two ranks have different counts of one block */
	FAULT_CALLS,		/* a rank calls something fused, or on the board, otherwise */
	FAULT_GROUP,		/* the group is aborted */
	FAULT_SILENCE,		/* a rank is cut off, aborts and reuses its memory */
	FAULT_DEATH,		/* a rank dies, and its host tells the others */
	FAULT_LOSS,		/* a rank dies together with its host */
	FAULT_UNGRANTED,	/* a rank sends bytes that it was not granted */
	FAULT_COUNT
};

/* How large a random world is. */
enum scale {
	SCALE_SMALL,		/* few ranks, operations and faults */
	SCALE_DEEP,		/* many slots, operations and faults; few ranks */
	SCALE_WIDE,		/* many ranks; few operations */
	SCALE_BOTH,		/* many of all: a world takes seconds and 1 GB of memory */
	SCALE_TREE,		/* ranks of three digits to the base of four; fused reductions */
	SCALE_COUNT
};

/**
 * struct origin - the values at which the counters of a world start
 * @instance: instance of the first counted operation
 * @key: first key, and number of the first message
 * @position: payload bytes that each stream has carried before
 * @eager: bytes of eager frames that each stream has carried before
 * @time: start of sim->now
 */
struct origin {
	u64 instance;
	u64 key;
	u64 position;
	u64 eager;
	u64 time;
};

/**
 * struct config - the parameters of a world
 * @seed: seed of the order of events
 * @nranks: size of the group
 * @lanes: number of lanes
 * @nslots: operations that a rank may have in progress; a power of two
 * @window: most operations that a rank has in flight, up to @nslots; also how far it goes
 *	ahead of its oldest operation that is not done
 * @keys: number of keys that operations choose from; 0: all ranks submit in the same order
 * @segment: segment of struct coll_plan; bytes
 * @local: 0: no link sends by reference, 1: all do, 2: about half of them
 * @reads: reads of struct coll_plan
 * @board: true if the ranks have a board, where they have no more than it may have
 * @nops: number of operations
 * @faults: number of faults
 * @fault: enum fault_kind
 * @fault_event: number of the event before which the only fault happens; 0: at random times
 * @victim: with @fault_event: the rank that dies
 * @scale: enum scale
 * @origin: start of the counters
 * @slow_rank: 1 + a rank that submits slowly while faults are still to come; 0: none
 * @narrow_rank: 1 + a rank of which a connection holds only a part of a frame, and is read only
 *	when nothing else can happen; 0: none
 * @mutation: enum mutation
 * @verbose: true if the world is described on standard output
 */
struct config {
	u64 seed;
	u32 nranks;
	u32 lanes;
	u32 nslots;
	u32 window;
	u32 keys;
	u32 segment;
	u8 local;
	bool reads;
	bool board;
	u32 nops;
	u32 faults;
	u8 fault;
	u64 fault_event;
	u32 victim;
	u8 scale;
	struct origin origin;
	u32 slow_rank;
	u32 narrow_rank;
	u8 mutation;
	bool verbose;
};

/**
 * struct sim - a world
 * @config: its parameters
 * @rng: source of random numbers
 * @ops: the program, config.nops operations
 * @members: the ranks
 * @board: memory of the board, or NULL
 * @ready: actors that may act
 * @nready: number of actors in @ready
 * @nlazy: number of lazy actors in @ready
 * @ready_max: allocated length of @ready
 * @bytes: sum of the vectors or blocks of all operations
 * @steps: picks so far
 * @acts: events so far: picks in which an actor acted, heartbeats excepted
 * @now: time; see sim_timed()
 * @next_fault: @steps from which on the next fault happens
 * @faults_left: number of faults to come
 * @cut: rank whose control frames are lost, or COLL_NO_RANK
 * @victim: rank that will be cut off, or NULL
 * @ungranted: rank that sends bytes that it was not granted, or COLL_NO_RANK
 * @ended_early: tasks that completed too early; kept until the world is freed
 * @dead: rank that is dead, or COLL_NO_RANK
 * @frozen: rank that does not act until @frozen_until, or COLL_NO_RANK
 * @frozen_until: @steps from which on @frozen acts again
 * @queue_max: most control frames that were in flight on one connection
 * @successes: operations that have succeeded, counted on each rank
 * @errors: operations that have failed, counted on each rank
 * @broken: true if a check has failed
 * @why: description of the first check that failed
 */
struct sim {
	struct config config;
	struct rng rng;
	struct sim_op *ops;
	struct member *members;
	struct sim_board *board;
	struct actor **ready;
	u32 nready;
	u32 nlazy;
	u32 ready_max;
	u64 bytes;
	u64 steps;
	u64 acts;
	u64 now;
	u64 next_fault;
	u32 faults_left;
	u32 cut;
	struct member *victim;
	u32 ungranted;
	struct list_head ended_early;
	u32 dead;
	u32 frozen;
	u64 frozen_until;
	u32 queue_max;
	u32 successes;
	u32 errors;
	bool broken;
	char why[400];
};

/* The ctx of an engine is the engine itself, so that every callback knows the lane. */
static inline struct member *member_of(const struct coll_engine *engine)
{
	return container_of(engine - engine->lane, struct member, engine[0]);
}

/* Return: true if leases, fences and heartbeats are simulated. */
static inline bool sim_timed(const struct sim *sim)
{
	return sim->config.fault == FAULT_SILENCE || sim->config.fault == FAULT_LOSS;
}

/* board.c */
void board_init(struct sim *sim);
void board_free(struct sim *sim);
void board_wake(void *ctx, u32 latest);
void board_look(struct member *member);

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
void member_wake_copy(struct member *member);
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
bool endpoint_revoke(struct endpoint *ep, const void *owner);
bool endpoint_opens(const struct member *member, u32 lane, const struct coll_task *task);
void endpoint_reset(struct endpoint *ep);
void endpoint_die(struct endpoint *ep);
void endpoint_free(struct endpoint *ep);
void control_send(struct member *from, u32 to, const struct coll_control *control);
bool control_receive(struct queue *queue);
void queue_die(struct queue *queue);
void queue_free(struct queue *queue);

/* fault.c */
void fault_inject(struct sim *sim);
void fault_mismatch(struct member *member, u32 number);
bool fault_ping(struct member *member);
void fault_control(struct member *member, u32 from, const struct coll_control *control);
void fault_end(struct member *member, u32 from);
bool fault_explained(const struct member *member);
void fault_refused(struct member *member, u32 peer);
void member_abort(struct member *member, u64 instance);

/* distance.c */
void distance_init(struct member *member);
bool distance_may(const struct member *member, u64 instance);
void distance_submitted(struct member *member, u32 number);
void distance_receive(struct member *member, u32 from, u64 count);
void distance_fail(struct member *member, u64 instance);
bool distance_failed(const struct member *member, u64 instance);
bool distance_remembers(const struct member *member, u64 instance);

/* memory.c */
struct sim_mem *memory_new(struct rng *rng, u64 length);
void memory_free(struct sim_mem *memory);
void memory_read(const struct sim_mem *memory, u64 off, void *buf, u64 len);
void memory_write(struct sim_mem *memory, u64 off, const void *buf, u64 len);
void memory_fill(struct sim_mem *memory, u8 byte, u64 from, u64 to);
bool memory_differs(const struct sim_mem *memory, u8 byte, u64 from, u64 to);
void memory_ref_add(struct sim_mem *memory, u64 off, u64 len);
void memory_ref_remove(struct sim_mem *memory, u64 off, u64 len);
bool memory_has_ref(const struct sim_mem *memory, u64 off, u64 len, bool ever);

/* hazard.c */
void hazard_watch(struct coll_stream *stream);

/* reference.c */
const u8 *reference_input(struct sim_op *op, u32 rank, u32 nranks);
u64 reference_block_count(const struct sim_op *op, u32 from, u32 to);
u64 reference_seen_count(const struct sim_op *op, u32 by, u32 from, u32 to);
u64 reference_capacity(const struct sim_op *op, u32 rank);
u64 reference_before(const struct sim_op *op, u32 rank, u32 to);
u64 reference_behind(const struct sim_op *op, u32 rank, u32 from);
bool reference_wide(const struct sim_op *op);
bool reference_along_ring(const struct sim_op *op);
bool reference_direct(const struct sim_op *op);
bool reference_ordered(const struct sim_op *op);
bool reference_fused(const struct sim *sim, const struct sim_op *op);
bool reference_board(const struct sim *sim, const struct sim_op *op);
bool reference_tree(const struct sim_op *op, u32 nranks);
const u8 *reference_result(const struct sim *sim, struct sim_op *op, u32 rank);
void reference_init(struct sim_op *op, u32 nranks);
void reference_free(struct sim_op *op, u32 nranks);

/* programs.c */
typedef void (*inspect_fn)(struct sim *sim);
const struct coll_schedule *program_schedule(const struct sim_op *op, u32 nranks);
bool program_run(const struct config *config, const struct sim_op *ops, inspect_fn inspect);
void program_random(struct config *config, struct sim_op *ops, u64 seed);
bool program_fuse(const struct config *config, struct sim_op *op, u32 more);
void program_odd(struct rng *rng, const struct config *config, struct sim_op *op);
bool program_concurrent(const struct config *config, const struct sim_op *ops);
bool program_seed(u64 seed, u8 fault, u8 scale, u8 mutation, bool verbose);
void program_op(struct rng *rng, struct sim_op *op, u32 nranks, u64 bytes);
void program_fit(struct sim_op *op, u32 nranks);
void program_instances(struct rng *rng, struct config *config, struct sim_op *ops);
extern const char * const fault_names[FAULT_COUNT];
extern const char * const mutation_names[MUTATION_COUNT];

/* mutation.c */
const struct coll_schedule *mutation_schedule(const struct sim *sim, const struct coll_plan *plan);

/* scale.c */
extern const char * const scale_names[SCALE_COUNT];
void scale_numbers(struct config *config);
bool scale_allows(const struct sim_op *op, u32 nranks);
void scale_random(struct config *config, struct sim_op *ops, u64 seed);

/* cost.c */
void cost_inspect(struct sim *sim);

/* sweep.c */
bool sweep(u32 nranks);

/* deaths.c */
#define DEATHS_RANKS	4	/* up to so many ranks, each one dies before each event */
#define DEATHS_RANKS_MAX	300
bool deaths(u32 nranks, u8 fault, u64 *worlds);

#define OPS_FEW		40	/* most operations of a small world */
#define OPS_MAX		600	/* most operations of any world */

#endif /* COLL_SIM_H */
