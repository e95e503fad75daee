/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A member is one rank of a group: one open file that has joined.
 *
 * Its parts belong to one room each, and lower rooms are handed the parts that they need, never
 * the member.
 *
 * The marks at fields ([c], [l] and so on) say what protects them, in every room.  They, the lock
 * order, context rules and the teardown: Documentation/design/objects.rst.
 */
#ifndef COLL_MEMBER_H
#define COLL_MEMBER_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <linux/collective.h>

#include "fail/member_state.h"
#include "ident.h"
#include "mem/account.h"
#include "mem/registry.h"
#include "member/control.h"
#include "member/exit.h"
#include "net/net.h"
#include "op/requests.h"

struct coll_cpu_process;
struct coll_group;
struct coll_lane;

/**
 * struct coll_member - one rank
 * @kobj: in sysfs, and the reference count
 * @mutex: serialises JOIN, UNREGISTER, LEAVE and the beginning of CONNECT
 * @group: NULL: none [c]
 * @group_node: in coll_group.members [g]
 * @serial: rises in the order of that list [c]
 * @id: what the rank is in its group
 * @owner: the process that joined
 * @state: state and failure; holds the member's spinlock
 * @net: connections to the other ranks
 * @control: the control runner
 * @process: counts of the lanes of its process [c]
 * @lanes: engines and their data connections; @id.nlanes of them [c]
 * @requests: operations
 * @registry: registered buffers
 * @pinned: bytes of user memory that are pinned [a]
 * @charges: kernel memory is charged to it, from JOIN until the file is released
 * @charged: bytes charged for what JOIN and CONNECT allocate, but links and the lanes'
 *	connections; returned with that memory
 * @connect_deadline: CONNECT fails then; jiffies, 0: none [m]
 * @connect_done: true if CONNECT has returned success [l]
 * @ended: true if the teardown is complete: the file has no rank any more [m]
 * @active_calls: calls in progress that do not hold @mutex; the teardown waits for them [a]
 * @leave_by: a LEAVE waits for ranks behind until then at the latest; jiffies; 0: none has [m]
 * @close_by: a file that was released ends its rank then at the latest; jiffies
 * @close_work: ends the rank, and frees the member, after another one than its process has
 *	released the file
 * @close_wake: queues @close_work early; in @state.wait
 */
struct coll_member {
	struct kobject kobj;
	struct mutex mutex;
	struct coll_group *group;
	struct list_head group_node;
	u64 serial;
	struct coll_ident id;
	struct coll_owner owner;
	struct coll_member_state state;
	struct coll_net net;
	struct coll_member_control control;
	struct coll_cpu_process *process;
	struct coll_lane *lanes;
	struct coll_requests requests;
	struct coll_registry registry;
	atomic64_t pinned;
	struct coll_charges charges;
	u64 charged;
	unsigned long connect_deadline;
	bool connect_done;
	bool ended;
	atomic_t active_calls;
	unsigned long leave_by;
	unsigned long close_by;
	struct delayed_work close_work;
	struct wait_queue_entry close_wake;
};

/* member.c */
struct coll_member *coll_member_new(void);
int coll_member_use(struct coll_member *member, enum collective_state least);
void coll_member_unuse(struct coll_member *member);
int coll_member_hold(struct coll_member *member);
void coll_member_drop(struct coll_member *member);
int coll_member_leave(struct coll_member *member);
void coll_member_close(struct coll_member *member);

/* join.c */
int coll_member_join(struct coll_member *member, struct collective_join *join);
void coll_member_free_lanes(struct coll_member *member);
void coll_member_free_links(struct coll_member *member, bool reset);
void coll_member_forget_owner(struct coll_member *member);
void coll_member_uncharge(struct coll_member *member);

/* connect.c */
int coll_member_connect(struct coll_member *member, const struct sockaddr_storage *peers,
			u32 timeout_ms);
int coll_connect_wait(struct coll_member *member, bool nonblock);
void coll_connect_expire(struct coll_member *member);
u32 coll_addr_len(const struct sockaddr_storage *addr);

/* status.c */
void coll_member_status(struct coll_member *member, struct collective_status *status);

#endif /* COLL_MEMBER_H */
