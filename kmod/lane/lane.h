/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_LANE_H
#define COLL_LANE_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>

#include "core/engine/engine.h"
#include "exec/cpu.h"
#include "exec/fpu.h"
#include "exec/runner.h"
#include "fail/failed_ops.h"
#include "lane/part.h"
#include "lane/wait_time.h"
#include "transport/hub.h"

struct coll_conn;
struct coll_ident;
struct coll_net;
struct coll_times;
struct mem_cgroup;
struct mm_struct;

/**
 * struct coll_lane_ops - what the operations do with what happens to their parts
 * @part_done: a part has ended; its @error says how.  The part may be freed
 * @mismatch: a frame of @peer did not match the part
 *
 * Called by the lane's runner, with no FPU section and no lock held; may sleep.
 */
struct coll_lane_ops {
	void (*part_done)(struct coll_part *part);
	void (*mismatch)(struct coll_part *part, u32 peer);
};

/* What a lane does with an event of a data connection. */
enum coll_lane_activity {
	COLL_LANE_IDLE,		/* it is to be kicked */
	COLL_LANE_RUNNING,	/* a run has begun, and will look at all events */
	COLL_LANE_QUIESCENT,	/* no task is active, and none was aborted: a frame may wait */
};

/**
 * struct coll_lane - an independent slice of the payload: an engine and its data connections
 * @runner: runs it
 * @cpu_user: it among the lanes of its CPU
 * @home: on which CPUs it runs
 * @id: of the member [c]
 * @state: of the member [c]
 * @net: of the member [c]
 * @process: counts of the process that joined [c]
 * @owner: the process that joined, for its CPUs [c]
 * @memcg: memory cgroup of the process that joined; charged whatever thread runs the lane [c]
 * @ops: of the operations [c]
 * @engine: its engine [L]
 * @copier: how it copies large pieces; see copier.c
 * @nt_policies: what @copier has measured; NULL: no operation was large enough; set once [a]
 * @conns: data connections [L]
 * @exposer: through which its tasks expose memory to other ranks; NULL: no rank can read it.
 *	Set by CONNECT, before any task
 * @reads: by rank: what this lane reads of it just now [L]
 * @reads_ended: true if other ranks have ended their reads of memory that was withdrawn [a]
 * @fpu: its FPU section [L]
 * @zerocopy_bytes: bytes sent without a copy [L]
 * @nontemporal_bytes: bytes stored with non-temporal stores [L]
 * @waiting: how long it has waited for other ranks
 * @times: tables of the member by enum collective_opcode; an entry is NULL until it is set once [c]
 * @done_parts: parts to be reported when the engine has returned [L]
 * @kicked: true if a stream was kicked since the last round of sends began [L]
 * @mismatch_pending: true if a received frame did not match its step; lane_report_mismatches()
 *	must run [L]
 * @submitted: parts submitted, the latest first
 * @lock: protects @new_conns
 * @new_conns: data connections handed over by the control runner
 * @activity: enum coll_lane_activity; written by its runs, read by socket callbacks [a]
 * @rx_deferred: true if an early frame stays in its socket until the next run [a]
 * @had_abort: true if a task was ever aborted on this lane.  Late frames must be read and
 *	discarded, because their senders may wait for CONSUMED [L]
 * @abort_check_pending: true if some operation is to be aborted [a]
 * @failed: position in the list of failed operations up to which the engine knows them [L]
 */
struct coll_lane {
	struct coll_runner runner;
	struct coll_cpu_user cpu_user;
	struct coll_cpu_home home;
	const struct coll_ident *id;
	struct coll_member_state *state;
	struct coll_net *net;
	struct coll_cpu_process *process;
	const struct coll_cpu_owner *owner;
	struct mem_cgroup *memcg;
	const struct coll_lane_ops *ops;
	struct coll_engine engine;
	struct coll_copier copier;
	struct coll_nt_policies *nt_policies;
	struct list_head conns;
	struct coll_exposer *exposer;
	struct coll_exposure *reads[COLL_LOCAL_READERS_MAX];
	bool reads_ended;
	struct coll_fpu fpu;
	u64 zerocopy_bytes;
	u64 nontemporal_bytes;
	struct coll_waiting waiting;
	struct coll_times *const *times;
	struct list_head done_parts;
	bool kicked;
	bool mismatch_pending;
	struct llist_head submitted;
	spinlock_t lock;
	struct list_head new_conns;
	enum coll_lane_activity activity;
	bool rx_deferred;
	bool had_abort;
	bool abort_check_pending;
	struct coll_failed_ops_cursor failed;
};

/* lane.c */
void coll_lane_home(const struct coll_ident *id, u32 index,
		    const struct coll_cpu_owner *owner, struct coll_cpu_home *home);
void coll_lane_setup(struct coll_lane *lane, u32 index);
int coll_lane_expose(struct coll_lane *lane);
int coll_lane_open_board(struct coll_lane *lane);
void coll_lane_wake_board(const struct coll_lane *lane);
void coll_lane_close(struct coll_lane *lane, bool reset);
void coll_lane_close_board(struct coll_lane *lane);
void coll_lane_cleanup(struct coll_lane *lane);
void coll_lane_submit(struct coll_lane *lane, struct coll_part *part);
void coll_lane_check_aborts(struct coll_lane *lane);
bool coll_lane_may_defer_rx(struct coll_lane *lane, const struct coll_conn *conn);
void coll_lane_attach(struct coll_lane *lane, struct coll_conn *conn);

/* copier.c */
void coll_copier_setup(struct coll_lane *lane);
void coll_copier_reserve(struct coll_lane *lane, u64 volume);
void coll_copier_cleanup(struct coll_lane *lane);

#endif /* COLL_LANE_H */
