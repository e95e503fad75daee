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
struct coll_crew;
struct coll_mail;
struct coll_member;
struct coll_part;

/**
 * struct coll_lane - an independent slice of the payload
 * @runner: who runs it
 * @beside: among those that run on its CPU (exec/cpu.c)
 * @member: [c]
 * @engine: [L]
 * @copier: how it copies what is much; see copier.c
 * @cachings: what it knows for that [L]
 * @crew: who helps it copy [c]
 * @conns: data connections [L]
 * @vector: [L]
 * @borrowed: bytes sent without a copy [L]
 * @helped: bytes that others have copied for it [L]
 * @past: bytes that were stored past the caches [L]
 * @finished: parts to be completed when the engine has returned [L]
 * @owes: what has been taken is not acknowledged [L]
 * @waits: nor is it before the control runner has had its turn [L]
 * @failed: the engine was told that the group failed [L]
 * @hurt: a frame has come that does not fit: see struct coll_part [L]
 * @inbox: parts submitted, the last one first
 * @lock: protects @arrivals
 * @arrivals: connections handed over
 * @running: a run has begun and will look at what has come [a]
 * @calm: nobody here waits for anything that could come; between runs only [a]
 * @early: something has come all the same, and waits [a]
 * @upset: an operation was aborted: its senders may wait until what comes is dropped [L]
 * @recheck: some operation was aborted [a]
 * @failures: the names that have failed, as far as the engine was told [L]
 */
struct coll_lane {
	struct coll_runner runner;
	struct hlist_node beside;
	struct coll_member *member;
	struct coll_engine engine;
	struct coll_copier copier;
	struct coll_cachings cachings;
	struct coll_crew *crew;
	struct list_head conns;
	struct coll_vector vector;
	u64 borrowed;
	u64 helped;
	u64 past;
	struct list_head finished;
	bool owes;
	bool waits;
	bool failed;
	bool hurt;
	struct llist_head inbox;
	spinlock_t lock;
	struct list_head arrivals;
	bool running;
	bool calm;
	bool early;
	bool upset;
	bool recheck;
	struct coll_failures failures;
};

/* lane.c */
int coll_lane_setup(struct coll_lane *lane, struct coll_member *member, u32 index);
void coll_lane_cleanup(struct coll_lane *lane, bool reset);
void coll_lane_submit(struct coll_lane *lane, struct coll_part *part);
void coll_lane_recheck(struct coll_lane *lane);
bool coll_lane_lets_wait(struct coll_lane *lane, const struct coll_conn *conn);
int coll_lane_attach(struct coll_lane *lane, struct coll_conn *conn);
void coll_lane_detach(struct coll_conn *conn);
int coll_lane_mail(struct coll_lane *lane, struct coll_mail *mail,
		   const struct coll_control *control);

/* progress.c */
int coll_move_take(struct coll_conn *conn, const void *ptr, u32 len);
void coll_move_pause(struct coll_conn *conn);
void coll_move_down(struct coll_conn *conn, int err);
struct coll_conn *coll_move_watch(struct coll_lane *lane);
bool coll_move_stirs(const struct coll_conn *conn);
void coll_move_unwatch(struct coll_conn *conn);
void coll_move_first(struct coll_lane *lane);
void coll_move_tick(struct coll_lane *lane);
void coll_move_acknowledge(struct coll_lane *lane);
bool coll_move(struct coll_lane *lane);

/* copier.c */
void coll_copier_setup(struct coll_lane *lane);

/* exec/cpu.c */
void coll_cpus_enter(struct coll_lane *lane, int cpu);
void coll_cpus_leave(struct coll_lane *lane);
bool coll_cpus_exclusive(const struct coll_lane *lane);
void coll_cpus_rise(int cpu);
void coll_cpus_rest(int cpu);

#endif /* COLL_LANE_H */
