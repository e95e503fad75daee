/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libcollective-admin - see and change groups of the module collective, and hear what happens
 *
 *	struct coll_admin *admin;
 *	int err = coll_admin_open(&admin);
 *	if (!err)
 *		err = coll_admin_members(admin, NULL, COLL_ADMIN_ALL, print_member, NULL);
 *	if (err < 0)
 *		fprintf(stderr, "%s\n", admin ? coll_admin_error(admin) : strerror(-err));
 *	coll_admin_close(admin);
 *
 * It speaks the generic netlink family "collective" of the network namespace in which the handle
 * was opened.  A user sees and changes groups of its own; CAP_NET_ADMIN in the namespace reaches
 * all.  Programs that take part in operations need libcollective instead.
 *
 * Functions that return int return 0 or a negative errno unless they say otherwise.  A handle is
 * for one thread at a time.
 */
#ifndef COLLECTIVE_ADMIN_H
#define COLLECTIVE_ADMIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct coll_admin - handle: the sockets to the module */
struct coll_admin;

/* No rank, no instance, no deadline; where a rank is asked for: all ranks. */
#define COLL_ADMIN_NONE		0xffffffffU
#define COLL_ADMIN_ALL		COLL_ADMIN_NONE
#define COLL_ADMIN_NO_INSTANCE	UINT64_MAX
#define COLL_ADMIN_NO_DEADLINE	UINT64_MAX

/* Ranks, calls, connections, buckets and waits that one object has at most. */
#define COLL_ADMIN_WAITS	16
#define COLL_ADMIN_CALLS	2
#define COLL_ADMIN_CONNECTIONS	9
#define COLL_ADMIN_BUCKETS	64
#define COLL_ADMIN_WAITED	16

/* Ranks of which an answer says how long they were waited for. */
#define COLL_ADMIN_LONGEST	4

/** enum coll_admin_state - state of a member */
enum coll_admin_state {
	COLL_ADMIN_STATE_NEW,
	COLL_ADMIN_STATE_JOINED,
	COLL_ADMIN_STATE_CONNECTING,
	COLL_ADMIN_STATE_UP,
	COLL_ADMIN_STATE_ABORTED,
	COLL_ADMIN_STATE_LEFT,
};

/** enum coll_admin_reason_kind - cause of a failure */
enum coll_admin_reason_kind {
	COLL_ADMIN_REASON_NONE,
	COLL_ADMIN_REASON_DEATH,
	COLL_ADMIN_REASON_LEFT,
	COLL_ADMIN_REASON_MISMATCH,
	COLL_ADMIN_REASON_PROTOCOL,
	COLL_ADMIN_REASON_RESET,
	COLL_ADMIN_REASON_SILENCE,
	COLL_ADMIN_REASON_DEADLINE,
	COLL_ADMIN_REASON_CANCELLED,
	COLL_ADMIN_REASON_RESOURCES,
};

/** enum coll_admin_request_state - state of a request in flight */
enum coll_admin_request_state {
	COLL_ADMIN_REQUEST_QUEUED,	/* waits for an earlier one of the same key */
	COLL_ADMIN_REQUEST_MATCHING,	/* waits for the calls of other ranks */
	COLL_ADMIN_REQUEST_MOVING,
	COLL_ADMIN_REQUEST_FAILING,	/* has failed, and its memory is still in use */
};

/** enum coll_admin_record_kind - kind of a record */
enum coll_admin_record_kind {
	COLL_ADMIN_RECORD_STATE,
	COLL_ADMIN_RECORD_SUBMIT,
	COLL_ADMIN_RECORD_BEGIN,
	COLL_ADMIN_RECORD_AGREED,
	COLL_ADMIN_RECORD_FAIL,
	COLL_ADMIN_RECORD_ABSENT,
	COLL_ADMIN_RECORD_DONE,
	COLL_ADMIN_RECORD_LINK,
	COLL_ADMIN_RECORD_ABORT,
	COLL_ADMIN_RECORD_GONE,
};

/** enum coll_admin_event_kind - kind of an event */
enum coll_admin_event_kind {
	COLL_ADMIN_EVENT_JOINED,
	COLL_ADMIN_EVENT_UP,
	COLL_ADMIN_EVENT_SLOW,
	COLL_ADMIN_EVENT_MISMATCH,
	COLL_ADMIN_EVENT_ABORTED,
	COLL_ADMIN_EVENT_LEFT,
};

/*
 * All structs below are made by the library and may grow at their ends.  They are valid until the
 * function that was given them returns.  The name of a group is NAME if the group belongs to the
 * user of the program, and NAME@UID if to another one, whose group may have the same NAME; the
 * functions take either.  NAME without a number is the user's own group, or else the only one of
 * that name.  Enumerations without a type here are numbers of
 * <linux/collective.h> and <linux/collective_netlink.h>; coll_admin_name() has all names.
 */

/**
 * struct coll_admin_reason - why an operation or a group failed
 * @kind: enum coll_admin_reason_kind
 * @error: positive errno
 * @rank_a: the rank at fault, or one end of the link; COLL_ADMIN_NONE: not known
 * @rank_b: the other end, or the rank that saw the fault; COLL_ADMIN_NONE: not known
 * @instance: the operation; COLL_ADMIN_NO_INSTANCE: the whole group
 */
struct coll_admin_reason {
	unsigned int kind;
	unsigned int error;
	unsigned int rank_a;
	unsigned int rank_b;
	uint64_t instance;
};

/**
 * struct coll_admin_call - the call of a rank
 * @rank: the rank; COLL_ADMIN_NONE: there is no call
 * @opcode: the collective
 * @type: element type
 * @reduction: operator
 * @algorithm: algorithm
 * @flags: COLLECTIVE_F_*
 * @root: root rank; of a message the other end
 * @count: elements
 * @layout: digest of the counts of blocks; 0: none
 */
struct coll_admin_call {
	unsigned int rank;
	unsigned int opcode;
	unsigned int type;
	unsigned int reduction;
	unsigned int algorithm;
	unsigned int flags;
	unsigned int root;
	uint64_t count;
	uint64_t layout;
};

/**
 * struct coll_admin_traffic - counters of lanes; bytes
 * @sent: handed to the transport
 * @received: taken from the transport
 * @reduced: part of @received that was reduced into memory
 * @read: read from the memory of other ranks
 * @read_own: read from this rank's memory, with that of other ranks
 * @stored: results that were stored from such reads
 * @zero_copy: part of @sent that was not copied
 * @nontemporal: stored by non-temporal stores
 */
struct coll_admin_traffic {
	uint64_t sent;
	uint64_t received;
	uint64_t reduced;
	uint64_t read;
	uint64_t read_own;
	uint64_t stored;
	uint64_t zero_copy;
	uint64_t nontemporal;
};

/**
 * struct coll_admin_group - a group
 * @name: its name
 * @id: number of this incarnation, with which a program could enter a group without a secret; 0
 *	unless @has_id
 * @size: number of ranks
 * @lanes: lanes of each rank
 * @members: ranks on this host
 * @owner: user id of its owner, in the user namespace of the network namespace
 * @secured: true if it has a secret
 * @timeout_ms: deadline of operations that name none; COLL_ADMIN_NONE: none; 0: as each rank's
 *	JOIN says
 * @slow_percent: part of its deadline after which an operation is slow; 0: never
 * @has_id: true if @id is known, which the module tells the owner and administrators only
 */
struct coll_admin_group {
	const char *name;
	uint64_t id;
	unsigned int size;
	unsigned int lanes;
	unsigned int members;
	unsigned int owner;
	bool secured;
	unsigned int timeout_ms;
	unsigned int slow_percent;
	bool has_id;
};

/**
 * struct coll_admin_member - a rank of this host
 * @group: name of the group
 * @rank: the rank
 * @state: enum coll_admin_state
 * @pid: process that joined, in the initial PID namespace
 * @transport: choice of a transport
 * @address: address that it listens on; family 0: none, or it is another user's
 * @inflight: requests that are not complete
 * @submitted: operations submitted
 * @completed: operations completed, with any result
 * @failed: operations completed without success
 * @errors: of these, by kind of the reason
 * @traffic: of all lanes
 * @pinned_bytes: user memory that is pinned
 * @memory_bytes: kernel memory that is charged
 * @refused_connections: connections that did not identify themselves as a rank
 * @timeout_ms: deadline of operations that name none; COLL_ADMIN_NONE: none
 * @heartbeat_ms: time between two probes of a link
 * @reason: why the group has failed
 * @last: why the latest operation failed that did
 * @events_lost: events of this rank that were not sent
 * @placed_bytes: part of what was received that a device has stored in the process's memory
 */
struct coll_admin_member {
	const char *group;
	unsigned int rank;
	unsigned int state;
	unsigned int pid;
	unsigned int transport;
	struct sockaddr_storage address;
	unsigned int inflight;
	uint64_t submitted;
	uint64_t completed;
	uint64_t failed;
	uint64_t errors[16];
	struct coll_admin_traffic traffic;
	uint64_t pinned_bytes;
	uint64_t memory_bytes;
	uint64_t refused_connections;
	unsigned int timeout_ms;
	unsigned int heartbeat_ms;
	struct coll_admin_reason reason;
	struct coll_admin_reason last;
	uint64_t events_lost;
	uint64_t placed_bytes;
};

/**
 * struct coll_admin_lane - a lane of a rank
 * @group: name of the group
 * @rank: the rank
 * @lane: number of the lane
 * @cpu: CPU of its work item
 * @traffic: its counters
 * @placed_bytes: part of what was received that a device has stored in the process's memory
 */
struct coll_admin_lane {
	const char *group;
	unsigned int rank;
	unsigned int lane;
	unsigned int cpu;
	struct coll_admin_traffic traffic;
	uint64_t placed_bytes;
};

/**
 * struct coll_admin_connection - a connection of a link
 * @lane: its lane; COLL_ADMIN_NONE: it is the control connection
 * @state: its state
 * @outgoing: true if this rank has made it
 * @has_tcp: true if the next five fields are known
 * @local: address of this end
 * @peer: address of the other end
 * @rtt_us: smoothed round-trip time
 * @retransmits: segments that were sent again
 * @unsent_bytes: queued in the socket and not sent
 * @bytes_sent: payload; of the control connection frames
 * @bytes_received: payload
 * @credit: bytes of eager frames that may be sent
 * @stalls: times that bytes were ready, and neither credit nor a grant was there
 */
struct coll_admin_connection {
	unsigned int lane;
	unsigned int state;
	bool outgoing;
	bool has_tcp;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
	unsigned int rtt_us;
	unsigned int retransmits;
	unsigned int unsent_bytes;
	uint64_t bytes_sent;
	uint64_t bytes_received;
	unsigned int credit;
	uint64_t stalls;
};

/**
 * struct coll_admin_link - the link of a rank to a peer
 * @group: name of the group
 * @rank: the rank
 * @peer: the peer
 * @transport: its transport; COLL_ADMIN_NONE: no connection has begun
 * @open: connections that have been opened, of one more than lanes
 * @peer_left: true if the peer has left in order
 * @peer_fenced: true if the peer reports no success any more
 * @missed_heartbeats: since the last frame of the peer
 * @queued_bytes: control frames that are not sent
 * @n: entries of @connection
 * @connection: the control connection first
 * @choice: enum collective_link_choice: why it has this transport; COLL_ADMIN_NONE: it has none, or
 *	the module does not say
 * @placed_bytes: of each @connection, part of @bytes_received that a device has stored in the
 *	process's memory
 * @unanswered: of each @connection, times that the latest bytes were sent again, or the peer was
 *	asked, without an answer; by TCP
 * @address: where the peer listens, and is called until a connection stands; its family is 0 if the
 *	module does not say
 */
struct coll_admin_link {
	const char *group;
	unsigned int rank;
	unsigned int peer;
	unsigned int transport;
	unsigned int open;
	bool peer_left;
	bool peer_fenced;
	unsigned int missed_heartbeats;
	unsigned int queued_bytes;
	unsigned int n;
	const struct coll_admin_connection *connection;
	unsigned int choice;
	const uint64_t *placed_bytes;
	const unsigned int *unanswered;
	struct sockaddr_storage address;
};

/**
 * struct coll_admin_request - a request in flight
 * @group: name of the group
 * @rank: the rank that has submitted it
 * @id: its number, for coll_admin_cancel()
 * @instance: identity of the operation, the same on all ranks
 * @call: the call
 * @bytes: size of the vector, or of the longest block that is known
 * @lanes: lanes that take part
 * @state: enum coll_admin_request_state
 * @age_ns: time since the submission
 * @left_ms: time until the deadline; COLL_ADMIN_NO_DEADLINE: none
 * @nwaits: entries of @waits
 * @waits: ranks that it waits for just now, as far as this rank knows
 * @reason: why it fails
 */
struct coll_admin_request {
	const char *group;
	unsigned int rank;
	uint64_t id;
	uint64_t instance;
	struct coll_admin_call call;
	uint64_t bytes;
	unsigned int lanes;
	unsigned int state;
	uint64_t age_ns;
	uint64_t left_ms;
	unsigned int nwaits;
	unsigned int waits[COLL_ADMIN_WAITS];
	struct coll_admin_reason reason;
};

/**
 * struct coll_admin_operation - an operation in an answer
 * @instance: identity of the operation, the same on all ranks; COLL_ADMIN_NO_INSTANCE: none
 * @opcode: the collective
 * @age_ms: time since its submission; of one that is complete 0
 * @state: of one in flight: enum coll_admin_request_state
 * @kind: of one that is complete: enum coll_admin_reason_kind
 * @nwaits: entries of @waits; 4 at most
 * @waits: of one in flight: ranks that it waits for just now, as far as the rank knows
 */
struct coll_admin_operation {
	uint64_t instance;
	unsigned int opcode;
	uint64_t age_ms;
	unsigned int state;
	unsigned int kind;
	unsigned int nwaits;
	unsigned int waits[COLL_ADMIN_WAITS];
};

/**
 * struct coll_admin_wait - a rank that was waited for
 * @peer: the rank
 * @ns: how long
 */
struct coll_admin_wait {
	unsigned int peer;
	uint64_t ns;
};

/**
 * struct coll_admin_slow_links - what a rank says of its slow links
 * @far: the peer with the longest way there and back; COLL_ADMIN_NONE: no way is known
 * @far_us: that way, the median of the latest eight times
 * @near_us: the shortest way of all links of the rank
 * @lossy: the peer to which most segments were lost; COLL_ADMIN_NONE: none was
 * @lost: how many
 * @narrow: the peer to which the bytes took longest by TCP, at the rate of the link;
 *	COLL_ADMIN_NONE: no rate is known
 * @narrow_ms: how long
 * @narrow_kib: that rate, the highest that was measured; KiB/s
 * @wide_kib: the highest rate of all links of the rank; KiB/s
 */
struct coll_admin_slow_links {
	unsigned int far;
	unsigned int far_us;
	unsigned int near_us;
	unsigned int lossy;
	unsigned int lost;
	unsigned int narrow;
	unsigned int narrow_ms;
	unsigned int narrow_kib;
	unsigned int wide_kib;
};

/**
 * struct coll_admin_answer - what a rank of a group, on any host, says of itself
 * @group: name of the group
 * @asker: rank of this host that has asked
 * @rank: the rank that is asked
 * @answered: true if it has answered; if not, all that follows is 0 or empty
 * @age_ns: time since the answer; all other times are those of the moment of the answer
 * @pid: process that joined, in the initial PID namespace of its host
 * @own_pid: the same process in its own PID namespace
 * @node: name of the host as the process saw it when it joined
 * @state: enum coll_admin_state
 * @stopped: true if the process is stopped by a signal
 * @inflight: requests that are not complete
 * @counted: collectives without a key that it has submitted
 * @submitted: the operation that it submitted last
 * @completed: the operation that it completed last
 * @oldest: its oldest operation in flight that has not failed
 * @reason: why the group has failed
 * @reason_age_ms: time since then
 * @last: why the latest operation failed that did
 * @failure_age_ms: time since then
 * @waited_ns: how long it has waited for other ranks; each moment counts once
 * @nlongest: entries of @longest
 * @longest: the ranks that it has waited for longest, the longest first
 * @called_ms: how long its operations took that have succeeded, together, without the longest
 *	one of each collective
 * @span_ms: time from the first call of a collective to its latest completion, without that
 *	operation; the most of all collectives
 * @links: its slow links
 */
struct coll_admin_answer {
	const char *group;
	unsigned int asker;
	unsigned int rank;
	bool answered;
	uint64_t age_ns;
	unsigned int pid;
	unsigned int own_pid;
	const char *node;
	unsigned int state;
	bool stopped;
	unsigned int inflight;
	uint64_t counted;
	struct coll_admin_operation submitted;
	struct coll_admin_operation completed;
	struct coll_admin_operation oldest;
	struct coll_admin_reason reason;
	uint64_t reason_age_ms;
	struct coll_admin_reason last;
	uint64_t failure_age_ms;
	uint64_t waited_ns;
	unsigned int nlongest;
	struct coll_admin_wait longest[COLL_ADMIN_LONGEST];
	unsigned int called_ms;
	unsigned int span_ms;
	struct coll_admin_slow_links links;
};

/**
 * struct coll_admin_buffer - a registered buffer
 * @group: name of the group
 * @rank: the rank
 * @number: number of the buffer
 * @address: address in the process
 * @length: bytes
 * @pages: pages that are pinned
 * @users: requests that use it
 * @writable: true if results may be stored in it
 */
struct coll_admin_buffer {
	const char *group;
	unsigned int rank;
	unsigned int number;
	uint64_t address;
	uint64_t length;
	uint64_t pages;
	unsigned int users;
	bool writable;
};

/**
 * struct coll_admin_record - a record of a flight recorder
 * @group: name of the group
 * @rank: the rank, which may be no member any more
 * @number: from 0; the latest 256 of a rank are kept
 * @kind: enum coll_admin_record_kind
 * @time_ns: time; CLOCK_MONOTONIC
 * @instance: the operation; COLL_ADMIN_NO_INSTANCE: it is about none
 * @state: of kind state: the new state
 * @call: of kind submit: the call
 * @bytes: of kind submit: size of the vector
 * @reason: of kinds fail, done and abort
 * @peer: of kind link: the peer; of kind absent: the absent rank
 * @change: of kind link: how it has changed
 * @error: of kinds done and link: positive errno; 0: none
 */
struct coll_admin_record {
	const char *group;
	unsigned int rank;
	uint64_t number;
	unsigned int kind;
	uint64_t time_ns;
	uint64_t instance;
	unsigned int state;
	struct coll_admin_call call;
	uint64_t bytes;
	struct coll_admin_reason reason;
	unsigned int peer;
	unsigned int change;
	unsigned int error;
};

/**
 * struct coll_admin_bucket - operations that took about as long
 * @limit_ns: they took at most so long, and longer than the limit of the bucket before; UINT64_MAX:
 *	there is no limit
 * @count: number of them
 */
struct coll_admin_bucket {
	uint64_t limit_ns;
	uint64_t count;
};

/**
 * struct coll_admin_histogram - how long operations took
 * @count: number of operations
 * @sum_ns: how long they took together
 * @n: entries of @bucket
 * @bucket: in the order of their limits, which are powers of two; a bucket without operations may
 *	be missing
 */
struct coll_admin_histogram {
	uint64_t count;
	uint64_t sum_ns;
	unsigned int n;
	struct coll_admin_bucket bucket[COLL_ADMIN_BUCKETS];
};

/**
 * struct coll_admin_time - times of a collective of a rank
 * @group: name of the group
 * @rank: the rank
 * @opcode: the collective
 * @latency: of operations that succeeded, from the submission to the completion
 * @waiting: part of it in which nothing could be moved, because other ranks had to
 * @moving: the rest of it, without the time behind an operation of the same key
 * @waited_ns: how long the rank has waited for other ranks; each moment counts once
 * @nwaited: entries of @waited
 * @waited: the ranks that it has waited for longest, the longest first
 * @span_ns: time from its first call to its latest completion
 * @longest_ns: the longest latency
 */
struct coll_admin_time {
	const char *group;
	unsigned int rank;
	unsigned int opcode;
	const struct coll_admin_histogram *latency;
	const struct coll_admin_histogram *waiting;
	const struct coll_admin_histogram *moving;
	uint64_t waited_ns;
	unsigned int nwaited;
	const struct coll_admin_wait *waited;
	uint64_t span_ns;
	uint64_t longest_ns;
};

/**
 * struct coll_admin_pair - how long a rank has waited for another one in a collective
 * @group: name of the group
 * @rank: the rank that has waited
 * @opcode: the collective
 * @waited: for which rank, and how long
 */
struct coll_admin_pair {
	const char *group;
	unsigned int rank;
	unsigned int opcode;
	struct coll_admin_wait waited;
};

/**
 * struct coll_admin_event - something has happened to a rank of this host
 * @group: name of the group
 * @rank: the rank
 * @kind: enum coll_admin_event_kind
 * @time_ns: time; CLOCK_MONOTONIC
 * @id: number of this incarnation of the group
 * @size: number of ranks
 * @owner: user id of the owner, in the user namespace of the network namespace
 * @pid: process that joined, in the initial PID namespace
 * @state: state of the rank
 * @reason: of kinds aborted, mismatch and left
 * @request: of kind slow: number of the request
 * @instance: of kinds slow and mismatch: the operation; else COLL_ADMIN_NO_INSTANCE
 * @calls: of kind slow: the call; of kind mismatch: those of two ranks, as far as known
 * @age_ns: of kind slow: time since the submission
 * @left_ms: of kind slow: time until the deadline
 * @nwaits: entries of @waits
 * @waits: of kind slow: ranks that it waits for
 * @lost: earlier events of this rank that were not sent
 */
struct coll_admin_event {
	const char *group;
	unsigned int rank;
	unsigned int kind;
	uint64_t time_ns;
	uint64_t id;
	unsigned int size;
	unsigned int owner;
	unsigned int pid;
	unsigned int state;
	struct coll_admin_reason reason;
	uint64_t request;
	uint64_t instance;
	struct coll_admin_call calls[COLL_ADMIN_CALLS];
	uint64_t age_ns;
	uint64_t left_ms;
	unsigned int nwaits;
	unsigned int waits[COLL_ADMIN_WAITS];
	unsigned int lost;
};

/**
 * struct coll_admin_features - what the module offers
 * @abi_version: version of the interface
 * @lanes_max: most lanes of a group
 * @ranks_max: most ranks of a group
 * @inflight_max: most requests of a member that may be in flight or not collected
 * @eager_limit: bytes; larger operations are not copied
 * @transports: bit (1 << transport) for each that JOIN accepts
 * @opcodes: bit (1 << opcode) for each collective
 * @types: bit (1 << type) for each element type
 * @reductions: bit (1 << reduction) for each operator
 */
struct coll_admin_features {
	unsigned int abi_version;
	unsigned int lanes_max;
	unsigned int ranks_max;
	unsigned int inflight_max;
	unsigned int eager_limit;
	uint64_t transports;
	uint64_t opcodes;
	uint64_t types;
	uint64_t reductions;
};

/** enum coll_admin_names - the enumerations that coll_admin_name() knows */
enum coll_admin_names {
	COLL_ADMIN_STATE,
	COLL_ADMIN_OPCODE,
	COLL_ADMIN_TYPE,
	COLL_ADMIN_REDUCTION,
	COLL_ADMIN_ALGORITHM,
	COLL_ADMIN_TRANSPORT,
	COLL_ADMIN_REASON,
	COLL_ADMIN_CONNECTION_STATE,
	COLL_ADMIN_REQUEST_STATE,
	COLL_ADMIN_RECORD_KIND,
	COLL_ADMIN_LINK_CHANGE,
	COLL_ADMIN_EVENT_KIND,
	COLL_ADMIN_LINK_CHOICE,
};

/*
 * coll_admin_open() - open a handle
 *
 * Errors: ENOENT (the module is not loaded), ENOMEM, and those of socket().
 */
int coll_admin_open(struct coll_admin **admin);

/* coll_admin_close() - close a handle, or NULL */
void coll_admin_close(struct coll_admin *admin);

/* coll_admin_error() - text of the latest error of a handle, valid until its next call */
const char *coll_admin_error(const struct coll_admin *admin);

/* coll_admin_name() - name of a value of an enumeration; "?" if it is not known */
const char *coll_admin_name(enum coll_admin_names names, unsigned int value);

/*
 * coll_admin_features() - get what the module offers; needs no handle
 *
 * Errors: those of opening /dev/collective, or the file that COLL_DEVICE names.
 */
int coll_admin_features(struct coll_admin_features *features);

/*
 * The following call @each for every object, in the order of groups and ranks, until it returns
 * something else than 0.  @group: name of a group, or NULL: all that the user may see; @rank: a
 * rank, or COLL_ADMIN_ALL.
 *
 * Return: 0; 1: groups or ranks came or went meanwhile; what @each returned; or a negative errno:
 * ENOENT (no such group), EACCES (it belongs to another user), ENOMEM.
 */
int coll_admin_groups(struct coll_admin *admin, const char *group,
		      int (*each)(const struct coll_admin_group *group, void *arg), void *arg);
int coll_admin_members(struct coll_admin *admin, const char *group, unsigned int rank,
		       int (*each)(const struct coll_admin_member *member, void *arg), void *arg);
int coll_admin_lanes(struct coll_admin *admin, const char *group, unsigned int rank,
		     int (*each)(const struct coll_admin_lane *lane, void *arg), void *arg);
int coll_admin_links(struct coll_admin *admin, const char *group, unsigned int rank,
		     int (*each)(const struct coll_admin_link *link, void *arg), void *arg);
int coll_admin_requests(struct coll_admin *admin, const char *group, unsigned int rank,
			int (*each)(const struct coll_admin_request *request, void *arg),
			void *arg);
int coll_admin_buffers(struct coll_admin *admin, const char *group, unsigned int rank,
		       int (*each)(const struct coll_admin_buffer *buffer, void *arg), void *arg);
int coll_admin_records(struct coll_admin *admin, const char *group, unsigned int rank,
		       int (*each)(const struct coll_admin_record *record, void *arg), void *arg);
int coll_admin_times(struct coll_admin *admin, const char *group, unsigned int rank,
		     int (*each)(const struct coll_admin_time *time, void *arg), void *arg);

/* All pairs of ranks of which one has waited for the other, in the order of the latter. */
int coll_admin_waits(struct coll_admin *admin, const char *group, unsigned int rank,
		     int (*each)(const struct coll_admin_pair *pair, void *arg), void *arg);

/* Time in which all ranks that can answer a query have done so; ms. */
#define COLL_ADMIN_QUERY_MS	1000U

/*
 * coll_admin_query() - ask all ranks of a group, on all hosts, what they do
 *
 * Waits for answers, at most @timeout_ms, then calls @each for every rank in order, also those that
 * have not answered, until it returns something else than 0.  A rank of this host asks.  A group is
 * asked once a second at most: a call within that time gets the answers to the query before.  If
 * another program has the rank ask again before the answers have been read, or if the rank has
 * gone, the call begins again, twice at most.
 *
 * Return: 0: all ranks have answered; 1: some have not; what @each returned; or a negative errno:
 * ENOENT (no such group), EPERM (it belongs to another user), ENOTCONN (no rank of this host is
 * connected, or those that have asked are gone), EBUSY (other programs ask all the time), EDQUOT,
 * ENOMEM.
 */
int coll_admin_query(struct coll_admin *admin, const char *group, unsigned int timeout_ms,
		     int (*each)(const struct coll_admin_answer *answer, void *arg), void *arg);

/* Values of coll_admin_set_group() that leave a default as it is. */
#define COLL_ADMIN_KEEP_TIMEOUT	0U
#define COLL_ADMIN_KEEP_SLOW	COLL_ADMIN_NONE

/*
 * coll_admin_set_group() - set the defaults of a group on this host
 *
 * @timeout_ms: deadline of operations that name none; COLL_ADMIN_NONE: none;
 * COLL_ADMIN_KEEP_TIMEOUT: as it is.  @slow_percent: 0 to 100; COLL_ADMIN_KEEP_SLOW: as it is.
 */
int coll_admin_set_group(struct coll_admin *admin, const char *group, unsigned int timeout_ms,
			 unsigned int slow_percent);

/* coll_admin_set_cpu() - have a lane of a rank run on a CPU */
int coll_admin_set_cpu(struct coll_admin *admin, const char *group, unsigned int rank,
		       unsigned int lane, unsigned int cpu);

/* coll_admin_cancel() - fail an operation on every rank; the group lives */
int coll_admin_cancel(struct coll_admin *admin, const char *group, unsigned int rank,
		      uint64_t request);

/* coll_admin_abort() - fail a group on every rank */
int coll_admin_abort(struct coll_admin *admin, const char *group);

/* coll_admin_listen() - receive events from now on, also of a module that replaces this one */
int coll_admin_listen(struct coll_admin *admin);

/* coll_admin_fd() - descriptor that is readable when events have come, or -1 */
int coll_admin_fd(const struct coll_admin *admin);

/*
 * coll_admin_events() - call @each for the events that have come
 *
 * Does not sleep.  Return: 0; what @each returned, if that is not 0; or a negative errno: EAGAIN
 * (none has come), ENOBUFS (some were lost, because the program was too slow or because the module
 * has just been loaded again), ENODEV (the module was unloaded; call again for the next one).  An
 * errno that comes together with what @each returned is returned by the next call.
 */
int coll_admin_events(struct coll_admin *admin,
		      int (*each)(const struct coll_admin_event *event, void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif /* COLLECTIVE_ADMIN_H */
