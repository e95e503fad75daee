/* SPDX-License-Identifier: GPL-2.0-only */
/* What protects a field, [c] and so on: coll.h. */
#ifndef COLL_LANE_H
#define COLL_LANE_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>

#include "core/engine/engine.h"
#include "exec/runner.h"
#include "exec/fpu.h"

struct coll_conn;
struct coll_copy_helper;
struct coll_mailbox;
struct coll_member;
struct coll_part;

/**
 * struct coll_lane - an independent slice of the payload
 * @runner: who runs it
 * @cpu_node: among those that run on its CPU (exec/cpu.c)
 * @member: [c]
 * @engine: [L]
 * @copier: how it copies what is much; see copier.c
 * @nt_policies: what it knows for that [L]
 * @copy_helper: who helps it copy [c]
 * @conns: data connections [L]
 * @fpu: [L]
 * @zerocopy_bytes: bytes sent without a copy [L]
 * @helper_bytes: bytes that others have copied for it [L]
 * @nontemporal_bytes: bytes that were stored past the caches [L]
 * @done_parts: parts to be completed when the engine has returned [L]
 * @ack_pending: what has been taken is not acknowledged [L]
 * @ack_deferred: nor is it before the control runner has had its turn [L]
 * @group_failed: the engine was told that the group failed [L]
 * @mismatch_pending: a frame has come that does not fit: see struct coll_part [L]
 * @submitted: parts submitted, the last one first
 * @lock: protects @new_conns
 * @new_conns: connections handed over
 * @running: a run has begun and will look at what has come [a]
 * @quiescent: nobody here waits for anything that could come; between runs only [a]
 * @rx_deferred: something has come all the same, and waits [a]
 * @had_abort: an operation was aborted: its senders may wait until what comes is dropped [L]
 * @abort_check_pending: some operation was aborted [a]
 * @failures: the names that have failed, as far as the engine was told [L]
 */
struct coll_lane {
	struct coll_runner runner;
	struct hlist_node cpu_node;
	struct coll_member *member;
	struct coll_engine engine;
	struct coll_copier copier;
	struct coll_nt_policies nt_policies;
	struct coll_copy_helper *copy_helper;
	struct list_head conns;
	struct coll_fpu fpu;
	u64 zerocopy_bytes;
	u64 helper_bytes;
	u64 nontemporal_bytes;
	struct list_head done_parts;
	bool ack_pending;
	bool ack_deferred;
	bool group_failed;
	bool mismatch_pending;
	struct llist_head submitted;
	spinlock_t lock;
	struct list_head new_conns;
	bool running;
	bool quiescent;
	bool rx_deferred;
	bool had_abort;
	bool abort_check_pending;
	struct coll_failures failures;
};

/* lane.c */
int coll_lane_setup(struct coll_lane *lane, struct coll_member *member, u32 index);
void coll_lane_cleanup(struct coll_lane *lane, bool reset);
void coll_lane_submit(struct coll_lane *lane, struct coll_part *part);
void coll_lane_check_aborts(struct coll_lane *lane);
bool coll_lane_may_defer_rx(struct coll_lane *lane, const struct coll_conn *conn);
int coll_lane_attach(struct coll_lane *lane, struct coll_conn *conn);
void coll_lane_detach(struct coll_conn *conn);
int coll_lane_post(struct coll_lane *lane, struct coll_mailbox *mail,
		   const struct coll_control *control);

/* progress.c */
int coll_progress_receive_frame_bytes(struct coll_conn *conn, const void *ptr, u32 len);
void coll_progress_release_fpu(struct coll_conn *conn);
void coll_progress_conn_down(struct coll_conn *conn, int err);
struct coll_conn *coll_progress_poll_begin(struct coll_lane *lane);
bool coll_progress_poll_pending(const struct coll_conn *conn);
void coll_progress_poll_end(struct coll_conn *conn);
void coll_progress_send_submitted(struct coll_lane *lane);
void coll_progress_update_leases(struct coll_lane *lane);
void coll_progress_send_acks(struct coll_lane *lane);
bool coll_lane_progress(struct coll_lane *lane);

/* copier.c */
void coll_copier_setup(struct coll_lane *lane);

/* exec/cpu.c */
void coll_cpu_enter(struct coll_lane *lane, int cpu);
void coll_cpu_leave(struct coll_lane *lane);
bool coll_cpu_exclusive(const struct coll_lane *lane);
void coll_cpu_waiter_running(int cpu);
void coll_cpu_waiter_idle(int cpu);

#endif /* COLL_LANE_H */
