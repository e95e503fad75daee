/* SPDX-License-Identifier: GPL-2.0-only */
/* What protects a field, [c] and so on: coll.h. */
#ifndef COLL_MEMBER_H
#define COLL_MEMBER_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <linux/collective.h>

#include "mem/account.h"
#include "op/match.h"
#include "core/engine/engine.h"
#include "mem/registry.h"
#include "exec/runner.h"
#include "op/request_cache.h"
#include "transport/transport.h"

struct coll_group;
struct coll_lane;
struct coll_link;
struct coll_recorder;
struct coll_request;

/* What the control runner has to do besides its connections. */
enum coll_control_event {
	COLL_CHORE_TICK,
	COLL_CHORE_FLOOD,
	COLL_CHORE_LEAVE,
	COLL_CHORE_SUBMITTED,	/* tell others how many operations: coll_match_send_submitted() */
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
 * @state: enum collective_state, changed by coll_fail_set_state() [l]
 * @group: [c]
 * @node: in the group's list [g]
 * @recorder: of what happens to it; NULL: there is none (trace/recorder.c) [c]
 * @mm: that joined [c]
 * @notifier: of its end
 * @watch: of the process (exit.c); NULL: what @notifier says of its end is not told [a]
 * @watched: with the other members of @watch
 * @cred: that joined [c]
 * @memcg: memory cgroup that joined [c]
 * @charges: what kernel memory is charged to, from JOIN until the file is released
 * @charged: bytes charged for what JOIN and CONNECT allocate, but links and lanes'
 *	connections; returned with that memory
 * @closing: releases it when the file is released by a kernel thread
 * @pid: that joined, for people [c]
 * @rank: [c]
 * @nranks: [c]
 * @nlanes: [c]
 * @incarnation: [c]
 * @secured: the group has a secret [c]
 * @secret: it, until the member leaves [c]
 * @timeout: of an operation that says none, jiffies; MAX_JIFFY_OFFSET: none [c]
 * @heartbeat_ms: [c]
 * @algorithm: by enum collective_opcode, what AUTO means [c]
 * @transport: [c]
 * @addr: that is listened on [c]
 * @listener: [C]
 * @listener_events: [a]
 * @control_runner: the control runner
 * @handshakes: connections that have not introduced themselves [C]
 * @ngreeting: how many [C]
 * @link_mutex: protects the making of links [first of all but @mutex]
 * @links: by rank, each set once [a]; those to the neighbours are made by JOIN
 * @link_list: the same, as a list; it only grows, at its end, until the teardown
 * @nr_required: links to neighbours [c]
 * @nr_required_open: of these, complete [l]
 * @peers: where all ranks listen, by rank; set once, by CONNECT [a]
 * @same_host: these are all of one host [a]
 * @new_conns: connections that CONNECT has begun [l]
 * @connect_deadline: deadline of CONNECT, jiffies; 0: none
 * @connect_done: CONNECT has returned success [m]
 * @any_refused: a link is: see struct coll_link.refused [a]
 * @control_tx_pending: control frames wait for the control runner [a]
 * @lanes: [c]
 * @control_events: bit (1 << enum coll_control_event) [a]
 * @tick: heartbeat
 * @reason: why the group failed [l]
 * @aborted: it did; a negative errno [a]
 * @aborted_at: when, ns [l]
 * @settled_at: from when on its cause is the last word, ns [a]
 * @next_instance: operations numbered so far [l]
 * @last_submit_ns: when the last of these was submitted, or JOIN was done, ns [l]
 * @last_id: the latest request's [l]
 * @table: requests that nobody has collected, by the low bits of their id [l]
 * @nrequests: how many [l]
 * @nwaiting: threads that have claimed some of them [l]
 * @request_cache: requests that are over, or NULL (op/request_cache.c) [a]
 * @requests: those of them that are in flight, in the order of instances [l]
 * @named: of these, those that have begun, by the hash of their names [l]
 * @counted: of these, those without a key, in the order of instances [l]
 * @inflight: how many [l]
 * @bulk: it has moved much: small operations until that is over; changed under @lock [a]
 * @expiry: deadlines
 * @expire_by: when @expiry runs, jiffies; 0: not before the next request [l]
 * @last: why the latest failed operation did [l]
 * @last_instance: which, COLL_INSTANCE_GROUP: none yet [l]
 * @last_at: when that was, ns [l]
 * @calls: of the latest mismatch [l]
 * @absents: of the latest operation that was late [l]
 * @memos: of operations that have not been submitted here [l]
 * @registry: registered buffers
 * @pinned: bytes [a]
 * @counters: [a]
 * @state_wait: for a change of @state, for the end of @inflight in a failed group or of
 *	@users in a stopped member, for something to be collected
 * @users: calls in progress that may have requests; nothing goes away before [a]
 * @mm_released: the process that joined has ended [a]
 * @stopped: member_stop() runs or has run; set under @mutex and @lock [a]
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
	struct coll_exit_watch *watch;
	struct list_head watched;
	const struct cred *cred;
	struct mem_cgroup *memcg;
	struct coll_charges charges;
	u64 charged;
	struct work_struct closing;
	pid_t pid;
	u32 rank;
	u32 nranks;
	u32 nlanes;
	u32 incarnation;
	bool secured;
	u8 secret[COLLECTIVE_SECRET_SIZE];
	unsigned long timeout;
	u32 heartbeat_ms;
	u8 algorithm[COLLECTIVE_OPCODES_MAX];
	const struct coll_transport *transport;
	struct sockaddr_storage addr;

	struct coll_endpoint listener;
	unsigned long listener_events;
	struct coll_runner control_runner;
	struct list_head handshakes;
	u32 ngreeting;
	struct mutex link_mutex;
	struct coll_link **links;
	struct list_head link_list;
	u32 nr_required;
	u32 nr_required_open;
	struct sockaddr_storage *peers;
	bool same_host;
	struct list_head new_conns;
	unsigned long connect_deadline;
	bool connect_done;
	bool any_refused;
	bool control_tx_pending;
	struct coll_lane *lanes;
	unsigned long control_events;
	struct delayed_work tick;

	struct coll_reason reason;
	int aborted;
	u64 aborted_at;
	u64 settled_at;

	u64 next_instance;
	u64 last_submit_ns;
	u64 last_id;
	struct coll_request **table;
	u32 nrequests;
	u32 nwaiting;
	struct coll_request *request_cache[COLL_SPARES];
	struct list_head requests;
	struct hlist_head *named;
	struct list_head counted;
	u32 inflight;
	u32 bulk;
	struct delayed_work expiry;
	unsigned long expire_by;
	struct coll_reason last;
	u64 last_instance;
	u64 last_at;
	struct coll_rank_call calls[2];
	struct coll_absents absents;
	struct coll_unexpected *memos;

	struct coll_registry registry;
	atomic64_t pinned;
	struct coll_counters counters;
	wait_queue_head_t state_wait;
	atomic_t users;
	bool mm_released;
	bool stopped;
};

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

/* fail/failure.c */
void coll_fail_set_state(struct coll_member *member, enum collective_state state);
void coll_fail_try_up(struct coll_member *member);
void coll_fail_report(struct coll_member *member, const struct coll_reason *cause);
void coll_fail_peer_left(struct coll_member *member);
void coll_fail_report_kind(struct coll_member *member, u32 kind, u32 rank_a, u32 rank_b);
bool coll_fail_reason_final(const struct coll_member *member, u64 now);
bool coll_fail_leases_expired(struct coll_member *member, u64 now);
u64 coll_fail_heartbeats_ns(const struct coll_member *member, u32 beats);
int coll_reason_error(u32 kind);
int coll_errno_for_rank(const struct coll_member *member, const struct coll_reason *cause);

/* exit.c */
int coll_exit_watch_begin(struct coll_member *member);
void coll_exit_trace(struct coll_member *member);
void coll_exit_watch_end(struct coll_member *member);
void coll_exit_report(struct coll_member *member);
bool coll_exit_of(const struct coll_member *member);
void coll_exit_setup(void);
void coll_exit_cleanup(void);

/* control.c */
bool coll_control_run(struct coll_runner *runner);
void coll_control_tick(struct work_struct *work);

#endif /* COLL_MEMBER_H */
