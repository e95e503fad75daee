/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The objects, who owns them, and what protects what.
 *
 *	group		from its first member to its last
 *	  member	one open file that has joined
 *	    link	the way to one peer: one control and some data connections
 *	    lane	an engine and the data connections that it serves
 *	    request	one operation, from submit to exactly one completion
 *
 * Runners (runner.h): a member has one for its connections (listener,
 * handshakes, control connections) and one for each lane.  What a runner owns is
 * touched by its owner only and needs no lock.  Fields are marked
 *
 *	[c]	const after JOIN
 *	[C]	owned by the member's control runner
 *	[L]	owned by the lane's runner
 *	[l]	protected by coll_member.lock
 *	[m]	protected by coll_member.mutex
 *	[g]	protected by the mutex of group.c
 *	[a]	atomic, or read and written once
 *
 * Order: coll_member.mutex, coll_member.demand, the mutex of group.c,
 * coll_member.lock; the small locks of a lane's inbox, a connection's mailbox,
 * a link's outgoing queue and a recorder are innermost and are never held together, and
 * so is that of death.c, which is taken with interrupts off.  Other spinlocks are not
 * taken in interrupts: socket callbacks only set bits and kick.
 *
 * Teardown (coll_member_stop): the control runner says goodbye, then all runners
 * are stopped, lanes first, so that nobody is left who could touch a connection;
 * sockets are closed, which waits for their callbacks; what requests are left
 * give their pages back.
 */
#ifndef COLL_H
#define COLL_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <linux/collective.h>

#include "blocks.h"
#include "core/engine.h"
#include "mem.h"
#include "runner.h"
#include "transport.h"
#include "vector.h"

/* Requests a member may have in flight, a power of two. */
#define COLL_INFLIGHT		512

/* Bytes of an operation whose waiting thread polls, and runs its lanes meanwhile. */
#define COLL_LEND_MAX		(64 * 1024)

#define COLL_BUFFERS_MAX	4096
#define COLL_HALF_OPEN_MAX	64

/* Control frames that one request may have to tell one peer: ANNOUNCE, EVIDENCE, ABORT... */
#define COLL_FRAMES_REQUEST	4
/*
 * ...and for each lane CREDIT, CONSUMED, and GRANT: five, for a grant within a window
 * is a quarter of it at least, and further ones wait until the peer has used the
 * first ones.
 */
#define COLL_FRAMES_LANE	7

#define COLL_DEFAULT_LANES		1
#define COLL_DEFAULT_TIMEOUT_MS		300000
#define COLL_DEFAULT_CONNECT_MS		60000
#define COLL_DEFAULT_HEARTBEAT_MS	1000
#define COLL_HEARTBEAT_MAX_MS		60000

#define COLL_REFUSED_CONTROL	COLLECTIVE_LANES_MAX

/* In heartbeats; the order matters (mem.c). */
#define COLL_LEASE_BEATS	4
#define COLL_FENCE_BEATS	5
#define COLL_SILENCE_BEATS	6

/* How long reasons are collected before requests fail with the best, ms. */
#define COLL_SETTLE_MS		25

struct coll_member;
struct coll_recorder;
struct dentry;

/**
 * struct coll_group - a named set of ranks in a network namespace
 * @kobj: in sysfs
 * @node: in the list of all groups [g]
 * @net: its network namespace [c]
 * @owner: user whose processes may join [c]
 * @name: [c]
 * @id: of this incarnation [c]
 * @nranks: [c]
 * @lanes: [c]
 * @members: those of this host [g]
 * @recorders: of those that are or were members of this host [g]
 * @recorded: where they can be read, in debugfs; or an error pointer [c]
 */
struct coll_group {
	struct kobject kobj;
	struct list_head node;
	struct net *net;
	kuid_t owner;
	char name[40];
	u64 id;
	u32 nranks;
	u32 lanes;
	struct list_head members;
	struct list_head recorders;
	struct dentry *recorded;
};

/**
 * struct coll_mail - what the control runner has for a data connection's lane
 *
 * It is the link's, for the control connection may be open, and the peer busy,
 * before the data connection is.
 *
 * @lock: protects the rest
 * @posted: there is something
 * @consumed: see coll_stream_consumed()
 * @credited: see coll_stream_credited()
 * @ngrants: how many
 * @grants: see coll_stream_granted(), each for another name, the latest limit
 */
struct coll_mail {
	spinlock_t lock;
	bool posted;
	u64 consumed;
	u64 credited;
	u32 ngrants;
	struct coll_grant grants[2 * COLL_INFLIGHT];
};

enum coll_conn_state {
	COLL_CONN_CONNECTING,	/* the transport is */
	COLL_CONN_GREETING,	/* our HELLO is leaving or theirs is awaited */
	COLL_CONN_PROVING,	/* the caller's confirmation is on its way */
	COLL_CONN_OPEN,
	COLL_CONN_DOWN,
};

/**
 * struct coll_conn - a connection
 * @ep: its end of it
 * @member: [c]
 * @link: once it is known whose it is
 * @runner: who serves it: first the control runner, then perhaps a lane's
 * @node: in the member's list of greeting ones [C], or the lane's list [L]
 * @state: enum coll_conn_state, owned by @runner
 * @kind: enum coll_conn_kind
 * @lane: of a data connection
 * @outgoing: we called
 * @peer: rank, once known
 * @events: bit (1 << enum coll_event) [a]
 * @since: when it was made, ns
 * @buf: HELLO or control frame that is arriving
 * @got: bytes of it
 * @hello: HELLO that is leaving; while PROVING, of who is called: that has to come
 * @hello_left: bytes of it that have not left
 * @replied: of who is called: our answer is in @hello
 * @blocked: the transport takes no more for now
 * @want: of a data connection: there is something to send
 * @stream: of a data connection [L]
 * @mail: of a data connection: its link's
 * @down: of a data connection: it is [a]
 * @deserted: its peer had left when this run of the lane began [L]
 */
struct coll_conn {
	struct coll_endpoint ep;
	struct coll_member *member;
	struct coll_link *link;
	struct coll_runner *runner;
	struct list_head node;
	enum coll_conn_state state;
	u8 kind;
	u8 lane;
	bool outgoing;
	u32 peer;
	unsigned long events;
	u64 since;
	u8 buf[COLL_HELLO_SIZE];
	u32 got;
	u8 hello[COLL_HELLO_SIZE];
	u32 hello_left;
	bool replied;
	bool blocked;
	bool want;
	struct coll_stream *stream;
	struct coll_mail *mail;
	bool down;
	bool deserted;
};

/**
 * struct coll_evidence - what a rank has called
 * @rank: which one; COLLECTIVE_RANK_NONE: it is not known
 * @signature: of its call
 */
struct coll_evidence {
	u32 rank;
	struct coll_signature signature;
};

/**
 * struct coll_failure - why an operation fails
 * @cause: the reason
 * @calls: of a mismatch: of @rank_a and @rank_b of the reason, as far as known
 */
struct coll_failure {
	struct coll_cause cause;
	struct coll_evidence calls[2];
};

/**
 * struct coll_link - the way to one peer
 * @node: in the member's list [c]
 * @member: [c]
 * @peer: rank [c]
 * @control: its control connection [C]
 * @ring: to a neighbour on the ring, or to a rank that is told or tells what was
 *	called: made by JOIN, and CONNECT waits for it [c]
 * @called: we have begun to connect it, protected by the member's demand mutex
 * @data: its data connections, by lane; set once [a]
 * @refused: bit (1 << lane), and COLL_REFUSED_CONTROL, of connections made on
 *	demand that could not be opened [a]
 * @mail: for them, by lane
 * @open: connections that are open [C]
 * @quiet: heartbeats since the peer was heard [C]
 * @lease: until when the peer waits for us, ns [a]
 * @sent: messages without a key to this peer, protected by the member's lock
 * @received: likewise, from it
 * @left: the peer said goodbye [a]
 * @gone: and that long ago that its connections should have ended [a]
 * @safe: the peer completes nothing with success any more [a]
 * @broken: heartbeats since a data connection was found down [C]
 * @flooded: kind of the reason that was told last [C]
 * @evidence_of: instance that @evidence is of, plus one [C]
 * @evidence: what two ranks called, of a mismatch that is to be told [C]
 * @out_lock: protects @out, @head and @tail
 * @out: control frames that have not left, a ring
 * @out_size: its bytes, a power of two [c]
 * @head: bytes put into it so far
 * @tail: bytes that have left so far; moved by the control runner only
 * @lost: frames did not fit [a]
 */
struct coll_link {
	struct list_head node;
	struct coll_member *member;
	u32 peer;
	bool ring;
	bool called;
	struct coll_conn *control;
	struct coll_conn *data[COLLECTIVE_LANES_MAX];
	unsigned long refused;
	struct coll_mail *mail;
	u32 open;
	u32 quiet;
	u64 lease;
	u64 sent;
	u64 received;
	bool left;
	bool gone;
	bool safe;
	u32 broken;
	u32 flooded;
	u64 evidence_of;
	struct coll_evidence evidence[2];
	spinlock_t out_lock;
	u8 *out;
	u32 out_size;
	u32 head;
	u32 tail;
	bool lost;
};

/*
 * Links are added while others look at them, and never taken out before all
 * runners have stopped.
 */
#define coll_for_each_link(link, member)					\
	list_for_each_entry_lockless(link, &(member)->linked, node)

/**
 * struct coll_lane - an independent slice of the payload
 * @runner: who runs it
 * @member: [c]
 * @engine: [L]
 * @conns: data connections [L]
 * @vector: [L]
 * @taking: in the middle of a socket buffer [L]
 * @borrowed: bytes sent without a copy [L]
 * @finished: parts to be completed when the engine has returned [L]
 * @failed: the engine was told that the group failed [L]
 * @hurt: a frame has come that does not fit: see struct coll_part [L]
 * @lock: protects @inbox and @arrivals
 * @inbox: parts submitted
 * @arrivals: connections handed over
 * @recheck: some operation was aborted [a]
 * @buried: so many of the names that have failed were told to the engine [L]
 */
struct coll_lane {
	struct coll_runner runner;
	struct coll_member *member;
	struct coll_engine engine;
	struct list_head conns;
	struct coll_vector vector;
	bool taking;
	u64 borrowed;
	struct list_head finished;
	bool failed;
	bool hurt;
	spinlock_t lock;
	struct list_head inbox;
	struct list_head arrivals;
	bool recheck;
	u64 buried;
};

/**
 * struct coll_scratch - memory for partial results on their way
 * @mem: as the engine sees it
 * @bytes: its bytes, by kvmalloc(); NULL: there is none
 */
struct coll_scratch {
	struct coll_mem mem;
	u8 *bytes;
};

/**
 * struct coll_part - what of a request one lane does
 * @node: in the lane's inbox, then in its list of finished ones
 * @request: that it is a part of
 * @call: for the engine
 * @inst: the engine's
 * @scratch: of the call
 * @odd: peer whose frame does not fit and is to be told of, or COLL_NOBODY [L]
 * @error: how it ended
 */
struct coll_part {
	struct list_head node;
	struct coll_request *request;
	struct coll_call call;
	struct coll_inst inst;
	struct coll_scratch scratch;
	u32 odd;
	int error;
};

/**
 * struct coll_touch - what is touched of a buffer
 * @skip: bytes from its address to the first one touched
 * @bytes: from there to behind the last one; 0: nothing
 */
struct coll_touch {
	u64 skip;
	u64 bytes;
};

/**
 * struct coll_extent - what an operation does with its two buffers
 * @touch: what it reads of its input and writes of its result, by enum coll_area
 * @block: bytes of the vector, or of the longest block that we know of
 * @total: elements of the vector or of a block, on which ranks must agree; where
 *	blocks differ, of all of them, or 0 when some are known to some ranks only
 * @digest: of blocks that differ and are known to all ranks; else 0
 * @own: where our input is in the result when it is in place (or our result in the
 *	input); bytes, the blocks one after the other
 * @in_place: it is
 */
struct coll_extent {
	struct coll_touch touch[COLL_AREA_COUNT];
	u64 block;
	u64 total;
	u64 digest;
	u64 own;
	bool in_place;
};

/**
 * struct coll_source - where requests come from, if nobody waits for them
 * @done: the request is complete: its member is locked, and somebody else has to call
 *	coll_wait_collect() soon
 * @lend: give the memory of a buffer that is not registered, or NULL when it is the
 *	process's own
 */
struct coll_source {
	void (*done)(struct coll_request *request);
	struct coll_buffer *(*lend)(const struct coll_request *request, u64 addr, u64 length,
				    bool writable);
};

/**
 * struct coll_request - one operation of one member
 * @node: in the member's list, until it is complete [l]
 * @member: [c]
 * @id: for those who wait, counted from 1 by the member [c]
 * @instance: its name, the same on all ranks [c]
 * @key: that names it, with COLLECTIVE_F_KEYED [c]
 * @signature: what the ranks must agree on [c]
 * @plan: the same for the schedules, on any lane [c]
 * @extent: of its buffers [c]
 * @blocks: where the blocks are in them; NULL: one after the other [c]
 * @buffer: by enum coll_area; the same twice when in place; NULL: not used [c]
 * @mem: the same as the schedules see them: blocks one after the other [c]
 * @off: where in @mem it begins [c]
 * @begun: when, ns [c]
 * @deadline: jiffies, 0: none [c]
 * @aborted: it is to fail: a negative errno [a]
 * @failure: why [l]
 * @error: how it ended, once complete
 * @received: elements that came, once complete; with VARLEN perhaps more than there
 *	was room for, by which it fails on this rank alone
 * @queued: it has not begun: one of the same name is before it [l]
 * @cancelled: it is to fail when it begins [l]
 * @doomed: it began knowing why it fails; who began it sees to it that it does, and
 *	nobody is missed for it [l, then the lane's]
 * @complete: it is; no lane looks at it any more [l]
 * @waiter: of the one thread that waits for it, or NULL [l]
 * @source: whom else it is for: see struct coll_source; or NULL [c]
 * @command: of @source [c]
 * @user_data: by which @source knows it [c]
 * @quiet: its payload tells others of it, as yet [l]
 * @agreeing: it is not known yet whether all ranks have called the same, and
 *	whoever learns it reports it [l]
 * @asking: it has failed, and one more part of it is to learn who was absent [l]
 * @told: rounds in which we have told our call [l]
 * @heard: bit (1 << round) in which the same was heard [l]
 * @odd: whose payload does not fit, or COLL_NOBODY [l]
 * @odd_since: when that was seen, ns [l]
 * @left: parts that are not complete, of them the agreement [a]
 * @first: lane of the first part [c]
 * @nparts: how many
 * @part: one a lane
 */
struct coll_request {
	struct list_head node;
	struct coll_member *member;
	u64 id;
	u64 instance;
	u64 key;
	struct coll_signature signature;
	struct coll_plan plan;
	struct coll_extent extent;
	struct coll_blocks *blocks;
	struct coll_buffer *buffer[COLL_AREA_COUNT];
	const struct coll_mem *mem[COLL_AREA_COUNT];
	u64 off[COLL_AREA_COUNT];
	u64 begun;
	unsigned long deadline;
	int aborted;
	struct coll_failure failure;
	int error;
	u64 received;
	bool queued;
	bool cancelled;
	bool doomed;
	bool complete;
	struct completion *waiter;
	const struct coll_source *source;
	void *command;
	u64 user_data;
	bool quiet;
	bool agreeing;
	bool asking;
	u32 told;
	u32 heard;
	u32 odd;
	u64 odd_since;
	atomic_t left;
	u32 first;
	u32 nparts;
	struct coll_part part[];
};

/**
 * struct coll_memo - what others have called and this rank has not
 * @node: with a key: among those of the same hash
 * @name: of the operation
 * @heard: bit (1 << round) in which they said so
 * @signature: what they called
 */
struct coll_memo {
	struct hlist_node node;
	u64 name;
	u32 heard;
	struct coll_signature signature;
};

/**
 * struct coll_memos - what is known of operations not submitted here (memo.c)
 * @counted: without a key, by the low bits of their number
 * @keyed: with one, by the hash of their name
 * @nkeyed: how many of these
 * @failed: names of what has failed: all with a key, others before they began here
 * @failure: why
 */
struct coll_memos {
	struct coll_memo counted[COLL_INFLIGHT];
	struct hlist_head keyed[COLL_INFLIGHT];
	u32 nkeyed;
	struct coll_failed failed;
	struct coll_failure failure[COLL_FAILED_MAX];
};

/**
 * struct coll_absent - what a rank submitted that has not submitted an operation
 * @rank: which
 * @before: how many before that operation the last one was; 0: there was none
 * @since: when that was, ns
 */
struct coll_absent {
	u32 rank;
	u32 before;
	u64 since;
};

/**
 * struct coll_absents - who has not submitted an operation that was late (absent.c)
 * @instance: its name
 * @n: how many; 0: nothing is known
 * @ranks: who
 * @last: of the first ones that were heard of
 */
struct coll_absents {
	u64 instance;
	u32 n;
	DECLARE_BITMAP(ranks, COLLECTIVE_RANKS_MAX);
	struct coll_absent last[COLLECTIVE_ABSENT_MAX];
};

/**
 * struct coll_wait - a thread that waits for one request, or one of several
 * @ids: their numbers; 0: none
 * @n: how many
 * @timeout: jiffies, 0: only look
 * @news: one of them is complete
 * @nparts: lanes that they use, at most
 * @bytes: the largest one's
 * @index: out: which one was collected; @n: none
 * @received: out: see struct coll_request
 */
struct coll_wait {
	const u64 *ids;
	u32 n;
	long timeout;
	struct completion news;
	u32 nparts;
	u64 bytes;
	u32 index;
	u64 received;
};

/* What the control runner has to do besides its connections. */
enum coll_chore {
	COLL_CHORE_TICK,
	COLL_CHORE_FLOOD,
	COLL_CHORE_LEAVE,
	COLL_CHORE_DEATH,
};

/**
 * struct coll_counters - of a member, for sysfs
 * @submitted: operations
 * @completed: operations, with success or not
 * @failed: of these, without, by enum collective_reason_kind
 * @refused: connections of whom could not say that he belongs to the group
 */
struct coll_counters {
	atomic64_t submitted;
	atomic64_t completed;
	atomic64_t failed[COLLECTIVE_REASON_COUNT];
	atomic64_t refused;
};

/**
 * struct coll_member - one rank
 * @kobj: in sysfs, and the reference count
 * @mutex: one JOIN, CONNECT, REGISTER, UNREGISTER or LEAVE at a time
 * @lock: see [l]
 * @state: enum collective_state, changed by coll_member_enter() [l]
 * @group: [c]
 * @node: in the group's list [g]
 * @recorder: of what happens to it; NULL: there is none (recorder.c) [c]
 * @mm: that joined [c]
 * @notifier: of its end
 * @watched: for a signal that ends the process (death.c)
 * @cred: that joined [c]
 * @memcg: memory cgroup that joined [c]
 * @pid: that joined, for people [c]
 * @rank: [c]
 * @nranks: [c]
 * @nlanes: [c]
 * @incarnation: [c]
 * @secured: the group has a secret [c]
 * @secret: it, until the member leaves [c]
 * @timeout_ms: [c]
 * @heartbeat_ms: [c]
 * @algorithm: by enum collective_opcode, what AUTO means [c]
 * @transport: [c]
 * @addr: that is listened on [c]
 * @listener: [C]
 * @listener_events: [a]
 * @control: the control runner
 * @greeting: connections that have not introduced themselves [C]
 * @ngreeting: how many [C]
 * @demand: protects the making of links [first of all but @mutex]
 * @links: by rank, each set once [a]; those to the neighbours are made by JOIN
 * @linked: the same, as a list; it only grows, at its end, until the teardown
 * @nring: links to neighbours [c]
 * @nopen: of these, complete [l]
 * @peers: where all ranks listen, by rank; set once, by CONNECT [a]
 * @arrivals: connections that CONNECT has begun [l]
 * @connect_by: deadline of CONNECT, jiffies; 0: none
 * @met: CONNECT has returned success [m]
 * @posted: control frames wait for the control runner [a]
 * @lanes: [c]
 * @chores: bit (1 << enum coll_chore) [a]
 * @tick: heartbeat
 * @cause: why the group failed [l]
 * @aborted: it did; a negative errno [a]
 * @aborted_at: when, ns [l]
 * @instances: operations numbered so far [l]
 * @counted_at: when the last of these was submitted, or JOIN was done, ns [l]
 * @ids: the latest request's [l]
 * @table: requests that nobody has collected, by the low bits of their id [l]
 * @nrequests: how many [l]
 * @nwaiting: threads that have claimed some of them [l]
 * @requests: those of them that are in flight, in the order of instances [l]
 * @inflight: how many [l]
 * @expiry: deadlines
 * @expire_by: when @expiry runs, jiffies; 0: not before the next request [l]
 * @last: why the latest failed operation did [l]
 * @last_instance: which, COLL_INSTANCE_GROUP: none yet [l]
 * @last_at: when that was, ns [l]
 * @calls: of the latest mismatch [l]
 * @absents: of the latest operation that was late [l]
 * @memos: of operations that have not been submitted here [l]
 * @buffers: registered ones [m]
 * @pinned: bytes [a]
 * @counters: [a]
 * @wait: for a change of @state, for the end of @inflight in a failed group or of
 *	@users in a stopped member, for something to be collected
 * @users: calls in progress that may have requests; nothing goes away before [l]
 * @mm_gone: the process that joined has ended [a]
 * @stopped: member_stop() runs or has run; set under @mutex and @lock
 */
struct coll_member {
	struct kobject kobj;
	struct mutex mutex;
	spinlock_t lock;
	enum collective_state state;

	struct coll_group *group;
	struct list_head node;
	struct coll_recorder *recorder;
	struct mm_struct *mm;
	struct mmu_notifier notifier;
	struct list_head watched;
	const struct cred *cred;
	struct mem_cgroup *memcg;
	pid_t pid;
	u32 rank;
	u32 nranks;
	u32 nlanes;
	u32 incarnation;
	bool secured;
	u8 secret[COLLECTIVE_SECRET_SIZE];
	u32 timeout_ms;
	u32 heartbeat_ms;
	u8 algorithm[COLLECTIVE_OPCODES_MAX];
	const struct coll_transport *transport;
	struct sockaddr_storage addr;

	struct coll_endpoint listener;
	unsigned long listener_events;
	struct coll_runner control;
	struct list_head greeting;
	u32 ngreeting;
	struct mutex demand;
	struct coll_link **links;
	struct list_head linked;
	u32 nring;
	u32 nopen;
	struct sockaddr_storage *peers;
	struct list_head arrivals;
	unsigned long connect_by;
	bool met;
	bool posted;
	struct coll_lane *lanes;
	unsigned long chores;
	struct delayed_work tick;

	struct coll_cause cause;
	int aborted;
	u64 aborted_at;

	u64 instances;
	u64 counted_at;
	u64 ids;
	struct coll_request **table;
	u32 nrequests;
	u32 nwaiting;
	struct list_head requests;
	u32 inflight;
	struct delayed_work expiry;
	unsigned long expire_by;
	struct coll_cause last;
	u64 last_instance;
	u64 last_at;
	struct coll_evidence calls[2];
	struct coll_absents absents;
	struct coll_memos *memos;

	struct xarray buffers;
	atomic64_t pinned;
	struct coll_counters counters;
	wait_queue_head_t wait;
	u32 users;
	bool mm_gone;
	bool stopped;
};

/* group.c */
int coll_group_join(struct coll_member *member, const struct collective_join *join);
void coll_group_leave(struct coll_member *member);
int coll_group_setup(struct kobject *parent);
void coll_group_cleanup(void);

/* member.c */
struct coll_member *coll_member_new(void);
int coll_member_join(struct coll_member *member, struct collective_join *join);
int coll_member_connect(struct coll_member *member, const struct sockaddr_storage *peers,
			u32 timeout_ms, bool wait);
int coll_member_use(struct coll_member *member);
void coll_member_unuse(struct coll_member *member);
int coll_member_leave(struct coll_member *member);
void coll_member_close(struct coll_member *member);
void coll_member_expire(struct coll_member *member);
void coll_member_status(struct coll_member *member, struct collective_status *status);

/* death.c */
int coll_death_watch(struct coll_member *member);
void coll_death_unwatch(struct coll_member *member);
void coll_death_tell(struct coll_member *member);
void coll_death_setup(void);
void coll_death_cleanup(void);

/* state.c */
void coll_member_enter(struct coll_member *member, enum collective_state state);
void coll_member_open(struct coll_member *member);
void coll_member_abort(struct coll_member *member, const struct coll_cause *cause);
void coll_member_fail(struct coll_member *member, u32 kind, u32 rank_a, u32 rank_b);
bool coll_member_settled(struct coll_member *member, u64 now);
bool coll_member_fenced(struct coll_member *member, u64 now);
u64 coll_member_beats(const struct coll_member *member, u32 beats);
int coll_cause_error(u32 kind);
int coll_cause_here(const struct coll_member *member, const struct coll_cause *cause);

/* How a request is told from others. */
enum coll_by {
	COLL_BY_ID,
	COLL_BY_USER_DATA,	/* what its source knows it by */
	COLL_BY_COMMAND,	/* the address of the source's command */
};

/* request.c */
struct coll_request *coll_request_new(struct coll_member *member,
				      const struct collective_op *op,
				      const struct coll_source *source, void *command);
int coll_request_start(struct coll_request *request, struct coll_wait *wait);
int coll_request_submit(struct coll_member *member, const struct collective_op *op,
			bool nowait, u64 *id, u64 *received);
int coll_request_cancel(struct coll_member *member, enum coll_by by, u64 number);
void coll_request_free(struct coll_request *request);
void coll_request_part_done(struct coll_part *part);
void coll_request_report(struct coll_request *request, int error);
struct coll_request *coll_request_find(struct coll_member *member, u64 instance);

/* wait.c */
void coll_wait_claim(struct coll_wait *wait, struct coll_request *request);
void coll_wait_release(struct coll_wait *wait, struct coll_member *member);
int coll_wait_finish(struct coll_wait *wait, struct coll_member *member);
int coll_wait(struct coll_wait *wait, struct coll_member *member);
int coll_wait_collect(struct coll_request *request, u64 *received);
bool coll_wait_ready(struct coll_member *member);
void coll_wait_drain(struct coll_member *member, unsigned long patience);
void coll_wait_reap(struct coll_member *member);

/* map.c */
int coll_map(struct vm_area_struct *vma);

/* deadline.c */
void coll_deadline_arm(struct coll_request *request);
void coll_deadline_work(struct work_struct *work);

/* memo.c */
int coll_memo_setup(struct coll_member *member);
void coll_memo_cleanup(struct coll_member *member);
struct coll_memo *coll_memo_find(struct coll_member *member, u64 name);
struct coll_memo *coll_memo_get(struct coll_member *member, u64 name);
void coll_memo_drop(struct coll_member *member, u64 name);
const struct coll_failure *coll_memo_failure(struct coll_member *member, u64 name);
bool coll_memo_fail(struct coll_member *member, u64 name, const struct coll_failure *failure);
int coll_memo_failures(struct coll_member *member, u64 *next, u64 *name);

/* agree.c */
bool coll_agree_waits(const struct coll_request *request);
u32 coll_agree_rounds(u32 nranks);
u32 coll_agree_before(const struct coll_member *member, u32 round);
u32 coll_agree_after(const struct coll_member *member, u32 round);
bool coll_agree_begin(struct coll_request *request, struct coll_failure *failure);
void coll_agree_doom(struct coll_member *member, u64 instance,
		     const struct coll_failure *failure);
int coll_agree_heard(struct coll_member *member, u32 peer, const struct coll_control *control);
struct coll_failure coll_agree_odd_failure(const struct coll_request *request);
void coll_agree_odd(struct coll_member *member, u64 instance, u32 peer);
void coll_agree_left(struct coll_member *member);
void coll_agree_tick(struct coll_member *member, u64 now);
void coll_agree_fail(struct coll_member *member, struct coll_request *request, u64 instance,
		     const struct coll_failure *failure) __releases(&member->lock);
void coll_agree_abort(struct coll_member *member, u64 instance,
		      const struct coll_failure *failure);

/* absent.c */
void coll_absent_blame(struct coll_member *member);
void coll_absent_ask(struct coll_request *request);
bool coll_absent_answered(struct coll_request *request);
bool coll_absent_found(struct coll_member *member, u64 instance,
		       const struct coll_cause *cause, struct coll_control *control);
void coll_absent_tell(struct coll_member *member, const struct coll_control *control);
void coll_absent_heard(struct coll_member *member, const struct coll_control *control);
void coll_absent_status(const struct coll_member *member, struct collective_status *status);

/* call.c */
int coll_call_check(const struct collective_op *op, const struct coll_member *member,
		    struct coll_plan *plan, struct coll_extent *extent,
		    struct coll_blocks **blocks);

/* lane.c */
int coll_lane_setup(struct coll_lane *lane, struct coll_member *member, u32 index);
void coll_lane_cleanup(struct coll_lane *lane, bool reset);
void coll_lane_submit(struct coll_lane *lane, struct coll_part *part);
void coll_lane_recheck(struct coll_lane *lane);
int coll_lane_take(struct coll_conn *conn, const void *ptr, u32 len);
void coll_lane_pause(struct coll_conn *conn);
int coll_lane_attach(struct coll_lane *lane, struct coll_conn *conn);
void coll_lane_detach(struct coll_conn *conn);
int coll_lane_mail(struct coll_lane *lane, struct coll_mail *mail,
		   const struct coll_control *control);

/* auth.c */
int coll_auth_answer(const struct coll_member *member, const u8 *call, u8 *answer);
int coll_auth_check_answer(const struct coll_member *member, const u8 *call, const u8 *answer);
int coll_auth_confirm(const struct coll_member *member, const u8 *call, const u8 *answer,
		      u8 *confirm);

/* conn.c */
int coll_conn_listen(struct coll_member *member, struct sockaddr_storage *addr);
int coll_conn_connect(struct coll_link *link, u8 kind, u8 lane,
		      const struct sockaddr_storage *addr);
void coll_conn_accept(struct coll_member *member);
void coll_conn_greet(struct coll_conn *conn, u64 now);
void coll_conn_free(struct coll_conn *conn, bool reset);

/* link.c */
int coll_link_new(struct coll_member *member, u32 peer, bool ring);
struct coll_link *coll_link_get(struct coll_member *member, u32 peer);
int coll_link_call(struct coll_link *link);
int coll_link_demand(struct coll_member *member, u32 peer);
void coll_link_free(struct coll_link *link, bool reset);
int coll_link_admit(struct coll_link *link, struct coll_conn *conn);
void coll_link_post(struct coll_link *link, const struct coll_control *control);
bool coll_link_roomy(struct coll_link *link);
void coll_link_evidence(struct coll_link *link, u64 instance,
			const struct coll_evidence *calls);
void coll_link_run(struct coll_link *link);
void coll_link_tick(struct coll_link *link, u64 now);
int coll_link_take(struct coll_conn *conn, const void *ptr, u32 len);

/* control.c */
bool coll_control_run(struct coll_runner *runner);
void coll_control_tick(struct work_struct *work);

/* What happens to a link. */
enum coll_link_news {
	COLL_LINK_UP,		/* control and all lanes are open */
	COLL_LINK_LEFT,		/* the peer said goodbye */
	COLL_LINK_DOWN,		/* control has ended */
};

/* recorder.c */
void coll_record_state(const struct coll_member *member, enum collective_state state);
void coll_record_abort(const struct coll_member *member, const struct coll_cause *cause);
void coll_record_submit(const struct coll_request *request);
void coll_record_begin(const struct coll_request *request);
void coll_record_agreed(const struct coll_request *request);
void coll_record_fail(const struct coll_member *member, u64 instance,
		      const struct coll_cause *cause);
void coll_record_absent(const struct coll_member *member, u64 instance, u32 rank);
void coll_record_done(const struct coll_request *request);
void coll_record_link(const struct coll_link *link, enum coll_link_news news, int error);
int coll_recorder_enter(struct coll_member *member);
void coll_recorder_leave(struct coll_member *member);
void coll_recorder_begin(struct coll_group *group);
void coll_recorder_end(struct coll_group *group);
void coll_recorder_setup(void);
void coll_recorder_cleanup(void);

/* cpus.c */
extern struct kobj_attribute coll_cpus_attr;

/* stats.c */
extern const char * const coll_state_names[COLLECTIVE_STATE_COUNT];
extern const struct kobj_type coll_group_ktype;
extern const struct kobj_type coll_member_ktype;
extern const struct kobj_type coll_groups_ktype;

#endif /* COLL_H */
