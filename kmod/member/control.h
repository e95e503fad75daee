/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CONTROL_H
#define COLL_CONTROL_H

#include <linux/hrtimer.h>
#include <linux/workqueue.h>

#include "exec/cpu.h"
#include "exec/runner.h"

struct coll_member_state;
struct coll_net_ops;

/* What the control runner has to do besides its connections. */
enum coll_member_event {
	COLL_MEMBER_HEARTBEAT,		/* a heartbeat interval has passed */
	COLL_MEMBER_SEND_ABORT,	/* tell the neighbours the reason of the failure */
	COLL_MEMBER_SEND_LEAVE,	/* tell the neighbours that this rank leaves */
	COLL_MEMBER_SEND_QUERY,	/* ask the ranks of the group */
	COLL_MEMBER_ALL_LOCAL,	/* no rank will connect by TCP */
};

/**
 * struct coll_member_control - the control runner of a member
 * @runner: manages all connections of the member, one thing at a time
 * @home: on which CPUs it runs: those of the first lane
 * @events: bit (1 << enum coll_member_event) [a]
 * @tick: work item that sets COLL_MEMBER_HEARTBEAT; not queued while the member rests
 * @handshake_tick: work item that runs @runner each COLL_HANDSHAKE_TICK_MS while connections have
 *	time limits
 * @idle_beats: heartbeats since something was in flight; of @tick
 * @settle: runs @tick when the reason of a failure is final.  A tick of the scheduler, which may be
 *	10 ms, is too coarse for that
 */
struct coll_member_control {
	struct coll_runner runner;
	struct coll_cpu_home home;
	unsigned long events;
	struct delayed_work tick;
	struct delayed_work handshake_tick;
	u32 idle_beats;
	struct hrtimer settle;
};

extern const struct coll_net_ops coll_control_net_ops;

void coll_control_init(struct coll_member_control *control);
void coll_control_post(struct coll_member_control *control, enum coll_member_event event);
void coll_control_queue_tick(struct coll_member_control *control);
void coll_control_stop(struct coll_member_control *control);
void coll_control_notify(struct coll_member_state *state);

#endif /* COLL_CONTROL_H */
