// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members: from JOIN to the end of the file, or of the process.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "exec/closing.h"
#include "coll.h"

/**
 * coll_member_new() - what an open file begins with
 *
 * Return: a member of no group, or NULL.
 */
struct coll_member *coll_member_new(void)
{
	struct coll_member *member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);

	if (!member)
		return NULL;
	kobject_init(&member->kobj, &coll_member_ktype);
	mutex_init(&member->mutex);
	mutex_init(&member->link_mutex);
	spin_lock_init(&member->lock);
	INIT_LIST_HEAD(&member->node);
	INIT_LIST_HEAD(&member->handshakes);
	INIT_LIST_HEAD(&member->new_conns);
	INIT_LIST_HEAD(&member->link_list);
	INIT_LIST_HEAD(&member->requests);
	INIT_LIST_HEAD(&member->counted);
	member->last_instance = COLL_INSTANCE_GROUP;
	member->calls[0].rank = COLLECTIVE_RANK_NONE;
	member->calls[1].rank = COLLECTIVE_RANK_NONE;
	coll_registry_init(&member->registry);
	init_waitqueue_head(&member->state_wait);
	INIT_DELAYED_WORK(&member->tick, coll_control_tick);
	INIT_DELAYED_WORK(&member->expiry, coll_timer_work);
	coll_runner_init(&member->control_runner, coll_control_run, raw_smp_processor_id());
	return member;
}

/* Bytes of an address; 0: of no family that we know. */
static u32 addr_len(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	}
	return 0;
}

/*
 * Joining
 */

/* Tables by rank and by request, lanes, and what is known of calls. */
static int join_charge(struct coll_member *member)
{
	u64 lane = sizeof(*member->lanes) + sizeof(struct coll_copy_helper) +
		   COLL_INFLIGHT * sizeof(struct coll_task *);
	u64 rank = sizeof(*member->links) + sizeof(*member->peers);
	u64 request = sizeof(*member->table) + sizeof(*member->named);
	u64 bytes = COLL_CHARGE_SYSFS + sizeof(*member->memos) + COLL_INFLIGHT * request +
		    member->nlanes * lane + member->nranks * rank;
	int err = coll_charges_begin(&member->charges);

	if (err)
		return err;
	err = coll_charge(&member->charges, bytes);
	if (err) {
		coll_charges_end(&member->charges);
		return err;
	}
	member->charged = bytes;
	return 0;
}

static void leave_charge(struct coll_member *member)
{
	coll_uncharge(&member->charges, member->charged);
	member->charged = 0;
}

static int join_check(const struct collective_join *join)
{
	const u8 *c = join->name;
	size_t len = strnlen(join->name, sizeof(join->name));
	u32 i;

	if (!len || len > COLLECTIVE_NAME_MAX || !strcmp(join->name, ".") ||
	    !strcmp(join->name, ".."))
		return -EINVAL;
	for (; *c; c++)
		if (!isalnum(*c) && !strchr("._-", *c))
			return -EINVAL;
	if (memchr_inv(join->name + len, 0, sizeof(join->name) - len) ||
	    join->flags || join->reserved)
		return -EINVAL;
	if (!join->nranks || join->nranks > COLLECTIVE_RANKS_MAX ||
	    join->rank >= join->nranks || join->lanes > COLLECTIVE_LANES_MAX ||
	    join->transport >= COLLECTIVE_TRANSPORT_COUNT ||
	    join->heartbeat_ms > COLL_HEARTBEAT_MAX_MS)
		return -EINVAL;
	for (i = 0; i < COLLECTIVE_OPCODES_MAX; i++)
		if (join->algorithm[i] >= COLLECTIVE_ALGORITHM_COUNT ||
		    (i >= COLLECTIVE_OPCODE_COUNT && join->algorithm[i]))
			return -EINVAL;
	return join->transport == COLLECTIVE_TRANSPORT_TCP ? 0 : -EOPNOTSUPP;
}

static int join_lanes(struct coll_member *member)
{
	u32 i;
	int err;

	member->lanes = kvcalloc(member->nlanes, sizeof(*member->lanes), GFP_KERNEL_ACCOUNT);
	if (!member->lanes)
		return -ENOMEM;
	for (i = 0; i < member->nlanes; i++) {
		err = coll_lane_setup(&member->lanes[i], member, i);
		if (err)
			goto cleanup;
	}
	member->control_runner.cpu = member->lanes[0].runner.cpu;
	return 0;

cleanup:
	while (i--)
		coll_lane_cleanup(&member->lanes[i], true);
	kvfree(member->lanes);
	member->lanes = NULL;
	return err;
}

static void leave_lanes(struct coll_member *member, bool reset)
{
	u32 i;

	for (i = 0; i < member->nlanes; i++)
		coll_lane_cleanup(&member->lanes[i], reset);
	kvfree(member->lanes);
	member->lanes = NULL;
	member->nlanes = 0;
}

static void leave_links(struct coll_member *member, bool reset)
{
	struct coll_link *link, *next;

	list_for_each_entry_safe(link, next, &member->link_list, node)
		coll_link_free(link, reset);
	kvfree(member->links);
	member->links = NULL;
	kvfree(member->peers);
	member->peers = NULL;
	member->same_host = false;
	coll_unexpected_cleanup(member);
	kvfree(member->named);
	member->named = NULL;
	kvfree(member->table);
	member->table = NULL;
}

/* The neighbours on the ring, and who is told and tells what was called. */
static int join_links(struct coll_member *member)
{
	u32 rounds = coll_match_rounds(member->nranks);
	int err = coll_unexpected_setup(member);
	u32 i;

	member->links = kvcalloc(member->nranks, sizeof(*member->links), GFP_KERNEL_ACCOUNT);
	member->table = kvcalloc(COLL_INFLIGHT, sizeof(*member->table), GFP_KERNEL_ACCOUNT);
	member->named = kvcalloc(COLL_INFLIGHT, sizeof(*member->named), GFP_KERNEL_ACCOUNT);
	if (!member->links || !member->table || !member->named)
		err = -ENOMEM;
	for (i = 0; !err && i < rounds; i++) {
		err = coll_link_new(member, coll_match_next_peer(member, i), true);
		if (!err)
			err = coll_link_new(member, coll_match_prev_peer(member, i), true);
	}
	if (err)
		leave_links(member, true);
	return err;
}

static void join_identity(struct coll_member *member, const struct collective_join *join)
{
	member->rank = join->rank;
	member->nranks = join->nranks;
	member->nlanes = join->lanes ? join->lanes : COLL_DEFAULT_LANES;
	member->incarnation = coll_wire_incarnation(join->id);
	member->timeout = msecs_to_jiffies(join->timeout_ms ? join->timeout_ms :
							      COLL_DEFAULT_TIMEOUT_MS);
	member->heartbeat_ms = join->heartbeat_ms ? join->heartbeat_ms :
						    COLL_DEFAULT_HEARTBEAT_MS;
	memcpy(member->algorithm, join->algorithm, sizeof(member->algorithm));
	memcpy(member->secret, join->secret, sizeof(member->secret));
	member->secured = memchr_inv(join->secret, 0, sizeof(join->secret));
	member->transport = &coll_tcp;
	member->mm = current->mm;
	member->cred = get_current_cred();
	member->memcg = get_mem_cgroup_from_mm(current->mm);
	member->pid = task_tgid_nr(current);
}

static void leave_identity(struct coll_member *member)
{
	memzero_explicit(member->secret, sizeof(member->secret));
	put_cred(member->cred);
	mem_cgroup_put(member->memcg);
	member->cred = NULL;
	member->memcg = NULL;
}

/* JOIN has failed: nothing of it stays, so that the file is as it was when it was opened. */
static void join_forget(struct coll_member *member)
{
	leave_identity(member);
	member->rank = 0;
	member->nranks = 0;
	member->nlanes = 0;
	member->nr_required = 0;
	member->incarnation = 0;
	member->timeout = 0;
	member->heartbeat_ms = 0;
	memset(member->algorithm, 0, sizeof(member->algorithm));
	memset(&member->addr, 0, sizeof(member->addr));
	member->secured = false;
	member->transport = NULL;
	member->mm = NULL;
	member->pid = 0;
}

/**
 * coll_member_join() - become a rank of a group
 * @member: a new one
 * @join: checked by the caller for size only; the bound address is put in
 *
 * Context: the process that joins; the member's mutex is held.
 * Return: 0 or a negative errno; nothing has changed then.
 */
int coll_member_join(struct coll_member *member, struct collective_join *join)
{
	struct sockaddr_storage *addr = &member->addr;
	int err;

	if (member->state != COLLECTIVE_STATE_NEW)
		return -EISCONN;
	err = join_check(join);
	if (err)
		return err;
	if (join->addr_len < sizeof(addr->ss_family) || join->addr_len > sizeof(*addr))
		return -EINVAL;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, join->addr, join->addr_len);
	if (join->addr_len < addr_len(addr))
		return -EINVAL;

	join_identity(member, join);
	err = join_charge(member);
	if (err)
		goto identity;
	err = join_links(member);
	if (err)
		goto charge;
	err = join_lanes(member);
	if (err)
		goto links;
	err = coll_group_join(member, join);
	if (err)
		goto lanes;
	err = coll_exit_watch_begin(member);
	if (err)
		goto group;
	err = coll_conn_listen(member, addr);
	if (err)
		goto watch;

	memcpy(join->addr, addr, sizeof(*addr));
	join->addr_len = addr_len(addr);
	join->lanes = member->nlanes;
	spin_lock(&member->lock);
	member->last_submit_ns = ktime_get_ns();
	coll_fail_set_state(member, COLLECTIVE_STATE_JOINED);
	spin_unlock(&member->lock);
	/* Last: a signal fails the member, and a JOIN that fails could not take that back. */
	coll_exit_trace(member);
	return 0;

watch:
	coll_exit_watch_end(member);
group:
	coll_group_leave(member);
lanes:
	leave_lanes(member, true);
links:
	leave_links(member, true);
charge:
	leave_charge(member);
	coll_charges_end(&member->charges);
identity:
	join_forget(member);
	return err;
}

/*
 * Connecting
 */

static bool addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

/* The same on every rank: all have the same addresses. */
static bool connect_near(const struct coll_member *member)
{
	u32 rank;

	for (rank = 1; rank < member->nranks; rank++)
		if (!addr_same_host(&member->peers[rank], &member->peers[0]))
			return false;
	return true;
}

/*
 * Where all of them are.  Before the state says that they are called: from then on those who
 * call us may have the group up, and another thread may submit what needs to know it.
 */
static int connect_learn(struct coll_member *member, const struct sockaddr_storage *peers)
{
	member->peers = kvmemdup(peers, array_size(member->nranks, sizeof(*peers)),
				 GFP_KERNEL_ACCOUNT);
	if (!member->peers)
		return -ENOMEM;
	member->same_host = connect_near(member);
	return 0;
}

/* Call those of the neighbours that have a higher rank. */
static int connect_call(struct coll_member *member)
{
	struct coll_link *link;
	int err = 0;

	coll_for_each_link(link, member) {
		if (link->required)
			err = coll_link_connect(link);
		if (err)
			return err;
	}
	return 0;
}

/* Of memory and of ports there may be enough a moment later. */
static bool connect_may_pass(int err)
{
	return err == -ENOMEM || err == -EDQUOT || err == -ENOBUFS || err == -ENFILE ||
	       err == -EADDRINUSE || err == -EADDRNOTAVAIL;
}

/* Some neighbour whose link is not complete. */
static u32 connect_missing(struct coll_member *member)
{
	struct coll_link *link;

	coll_for_each_link(link, member)
		if (link->required && READ_ONCE(link->nr_open) < 1 + member->nlanes)
			return link->peer;
	return COLLECTIVE_RANK_NONE;
}

static bool connect_done(const struct coll_member *member)
{
	return READ_ONCE(member->state) != COLLECTIVE_STATE_CONNECTING;
}

static unsigned long connect_deadline(u32 timeout_ms)
{
	u32 ms = timeout_ms ? timeout_ms : COLL_DEFAULT_CONNECT_MS;

	return (jiffies + msecs_to_jiffies(ms)) | 1;
}

static void connect_fail(struct coll_member *member)
{
	coll_fail_report_kind(member, COLLECTIVE_REASON_DEADLINE, member->rank,
			      connect_missing(member));
}

/**
 * coll_member_expire() - see whether a deadline has passed that nobody waits for
 * @member: the member; CONNECT may have been called without waiting
 *
 * Context: control runner.
 */
void coll_member_expire(struct coll_member *member)
{
	if (READ_ONCE(member->state) == COLLECTIVE_STATE_CONNECTING &&
	    member->connect_deadline && time_after(jiffies, member->connect_deadline + HZ / 10))
		connect_fail(member);
}

static int connect_wait(struct coll_member *member)
{
	long left = MAX_SCHEDULE_TIMEOUT;
	int err;

	if (member->connect_deadline)
		left = max_t(long, member->connect_deadline - jiffies, 0);
	left = wait_event_interruptible_timeout(member->state_wait, connect_done(member), left);
	if (left < 0)
		return left;
	if (!left)
		connect_fail(member);
	/* Who is just aborting has entered the state before the rest. */
	spin_lock(&member->lock);
	err = member->aborted;
	spin_unlock(&member->lock);
	member->connect_done = !err;
	return err;
}

/**
 * coll_member_connect() - meet the other ranks
 * @member: one that has joined; or that is connecting, to wait for that
 * @peers: addresses by rank
 * @timeout_ms: as in struct collective_connect
 * @wait: until the group is up
 *
 * Context: the process that joined; the member's mutex is held.
 * Return: 0, -EINPROGRESS, or another negative errno.  After a want of memory or of ports the
 * member is connecting, and the same call goes on with the links that were not called.
 */
int coll_member_connect(struct coll_member *member, const struct sockaddr_storage *peers,
			u32 timeout_ms, bool wait)
{
	u32 rank;
	int err;

	if (member->connect_done)
		return -EISCONN;
	for (rank = 0; rank < member->nranks; rank++)
		if (!addr_len(&peers[rank]))
			return -EINVAL;
	if (member->state == COLLECTIVE_STATE_JOINED) {
		err = connect_learn(member, peers);
		if (err)
			return err;
		if (timeout_ms != U32_MAX)
			member->connect_deadline = connect_deadline(timeout_ms);
		spin_lock(&member->lock);
		if (member->state == COLLECTIVE_STATE_JOINED)
			coll_fail_set_state(member, COLLECTIVE_STATE_CONNECTING);
		spin_unlock(&member->lock);
		queue_delayed_work(coll_wq, &member->tick,
				   msecs_to_jiffies(member->heartbeat_ms));
	}
	if (READ_ONCE(member->state) == COLLECTIVE_STATE_CONNECTING) {
		err = connect_call(member);
		if (err) {
			if (!connect_may_pass(err))
				coll_fail_report_kind(member, COLLECTIVE_REASON_RESET, member->rank,
						      connect_missing(member));
			return err;
		}
		coll_fail_try_up(member);
	}
	if (!wait && READ_ONCE(member->state) == COLLECTIVE_STATE_CONNECTING)
		return -EINPROGRESS;
	return connect_wait(member);
}

/*
 * Leaving
 */

/* After so many jiffies without a word nobody is there. */
static unsigned long member_silence(const struct coll_member *member)
{
	return nsecs_to_jiffies(coll_fail_heartbeats_ns(member, COLL_SILENCE_BEATS));
}

/* What the peers were told last is to arrive there, if they are there. */
static void member_finish(struct coll_member *member)
{
	unsigned long until = jiffies + member_silence(member);
	struct coll_link *link;

	coll_for_each_link(link, member)
		coll_link_flush_until(link, until);
}

/* Everything goes, in the order that coll.h gives. */
static void member_stop(struct coll_member *member, bool reset)
{
	struct coll_conn *conn, *next;
	u32 i;

	spin_lock(&member->lock);
	WRITE_ONCE(member->stopped, true);
	spin_unlock(&member->lock);
	smp_mb();	/* then who uses it still: pairs with coll_member_use() */
	wait_event(member->state_wait, !atomic_read(&member->users));
	/* The last word is ours: whoever else would say it may be stopped before. */
	coll_runner_stop(&member->control_runner);
	coll_control_run(&member->control_runner);

	for (i = 0; i < member->nlanes; i++)
		coll_runner_stop(&member->lanes[i].runner);
	coll_exit_watch_end(member);
	cancel_delayed_work_sync(&member->tick);
	cancel_delayed_work_sync(&member->expiry);

	if (member->listener.transport)
		member->transport->close(&member->listener, false);
	list_splice_init(&member->new_conns, &member->handshakes);
	list_for_each_entry_safe(conn, next, &member->handshakes, node) {
		list_del(&conn->node);
		coll_conn_free(conn, true);
	}
	coll_wait_free_uncollected(member);
	coll_group_leave(member);
	if (!reset)
		member_finish(member);
	leave_lanes(member, reset);
	leave_links(member, false);
	coll_registry_clear(&member->registry);
	leave_charge(member);
	leave_identity(member);
}

/**
 * coll_member_use() - a call of the process that joined, which may have requests
 * @member: the member
 *
 * Nothing of the member goes away before coll_member_unuse().
 *
 * Return: 0, -ENOTCONN or -EPERM.
 */
int coll_member_use(struct coll_member *member)
{
	if (READ_ONCE(member->state) <= COLLECTIVE_STATE_CONNECTING)
		return -ENOTCONN;
	if (member->mm != current->mm)
		return -EPERM;
	/* Who comes too late must not keep member_stop() waiting, however often. */
	if (READ_ONCE(member->stopped))
		return -ENOTCONN;
	atomic_inc(&member->users);
	smp_mb__after_atomic();	/* then whether it is too late: pairs with member_stop() */
	if (READ_ONCE(member->stopped)) {
		coll_member_unuse(member);
		return -ENOTCONN;
	}
	return 0;
}

/**
 * coll_member_unuse() - such a call is over
 * @member: the member
 */
void coll_member_unuse(struct coll_member *member)
{
	if (atomic_dec_and_test(&member->users) && READ_ONCE(member->stopped))
		wake_up_all(&member->state_wait);
}

/**
 * coll_member_leave() - leave in good order
 * @member: the member
 *
 * Context: the member's mutex is held.
 * Return: 0 or -ENOTCONN.
 */
int coll_member_leave(struct coll_member *member)
{
	bool busy, early;

	if (member->state == COLLECTIVE_STATE_NEW || member->stopped)
		return -ENOTCONN;

	spin_lock(&member->lock);
	busy = member->inflight || member->nwaiting;
	early = member->state < COLLECTIVE_STATE_UP;
	/* Nobody begins to wait any more. */
	WRITE_ONCE(member->stopped, !busy && !early);
	if (!busy && !early && !member->aborted) {
		coll_fail_set_state(member, COLLECTIVE_STATE_LEFT);
		set_bit(COLL_CHORE_LEAVE, &member->control_events);
	}
	spin_unlock(&member->lock);

	/*
	 * Others still wait for us; so do our own threads.  What is in flight may
	 * still be collected, until the file is closed.
	 */
	if (busy || early)
		coll_fail_report_kind(member, COLLECTIVE_REASON_LEFT, member->rank,
				      COLLECTIVE_RANK_NONE);
	if (busy)
		return 0;
	member_stop(member, member->aborted);
	spin_lock(&member->lock);
	if (member->state != COLLECTIVE_STATE_LEFT)
		coll_fail_set_state(member, COLLECTIVE_STATE_LEFT);
	spin_unlock(&member->lock);
	return 0;
}

/*
 * A living process that has nothing in flight leaves in good order.  One that has
 * gets its memory back behind the fence, a dying one at once.
 */
static void member_end(struct coll_member *member)
{
	bool alive = !READ_ONCE(member->mm_released);

	if (alive && member->state == COLLECTIVE_STATE_UP && !member->inflight)
		coll_member_leave(member);
	if (member->state != COLLECTIVE_STATE_NEW && !member->stopped) {
		coll_fail_report_kind(member, alive ? COLLECTIVE_REASON_LEFT :
				      COLLECTIVE_REASON_DEATH, member->rank, COLLECTIVE_RANK_NONE);
		if (alive)
			coll_wait_inflight(member, HZ + member_silence(member));
		member_stop(member, true);
	}
	coll_request_cache_clear(member);
	coll_charges_end(&member->charges);
	kobject_put(&member->kobj);
}

static void member_close_work(struct work_struct *work)
{
	member_end(container_of(work, struct coll_member, closing));
	coll_closing_end();
}

/**
 * coll_member_close() - the file is released
 * @member: the member; gone afterwards
 *
 * When this returns, rank, listener and pages are free; only sockets may linger.  The last
 * reference may be dropped by another process, or by a kernel thread that closes files of
 * others too.  That thread does not wait for operations in flight, which have their pages
 * until the fence: a work item does.
 *
 * Context: may sleep.
 */
void coll_member_close(struct coll_member *member)
{
	if (!(current->flags & PF_KTHREAD) || !member->inflight || READ_ONCE(member->mm_released)) {
		member_end(member);
		return;
	}
	coll_closing_begin();
	INIT_WORK(&member->closing, member_close_work);
	queue_work(coll_closing_wq, &member->closing);
}

static void status_reason(struct collective_reason *reason, const struct coll_reason *cause,
			  u64 instance)
{
	*reason = (struct collective_reason){
		.kind = cause->kind,
		.error = cause->error,
		.rank_a = cause->kind ? cause->rank_a : COLLECTIVE_RANK_NONE,
		.rank_b = cause->kind ? cause->rank_b : COLLECTIVE_RANK_NONE,
		.instance = instance,
	};
}

static void status_call(struct collective_call *call, const struct coll_rank_call *evidence)
{
	const struct coll_signature *signature = &evidence->signature;

	*call = (struct collective_call){
		.opcode = signature->collective,
		.type = signature->type,
		.reduction = signature->reduction,
		.algorithm = signature->algorithm,
		.flags = signature->flags,
		.root = signature->root,
		.rank = evidence->rank,
		.count = signature->count,
		.layout = signature->layout,
	};
}

/* Who is refused because the group has failed may ask at once why. */
static void status_settle(struct coll_member *member)
{
	if (smp_load_acquire(&member->aborted))	/* then until when */
		wait_event_killable_timeout(member->state_wait,
					    coll_fail_reason_final(member, ktime_get_ns()),
					    msecs_to_jiffies(COLL_SETTLE_INFERRED_MS) + 1);
}

/**
 * coll_member_status() - what there is to know of a member
 * @member: the member
 * @status: zero but for its size; filled in
 *
 * Context: may sleep: for COLL_SETTLE_INFERRED_MS after the group has failed.
 */
void coll_member_status(struct coll_member *member, struct collective_status *status)
{
	status_settle(member);
	spin_lock(&member->lock);
	status->state = member->state;
	status->rank = member->rank;
	status->nranks = member->nranks;
	status->lanes = member->nlanes;
	status->inflight = member->inflight;
	status->submitted = atomic64_read(&member->counters.submitted);
	status->completed = atomic64_read(&member->counters.completed);
	status_reason(&status->group, &member->reason, COLL_INSTANCE_GROUP);
	status_reason(&status->last, &member->last, member->last_instance);
	status_call(&status->calls[0], &member->calls[0]);
	status_call(&status->calls[1], &member->calls[1]);
	coll_absent_status(member, status);
	spin_unlock(&member->lock);
}
