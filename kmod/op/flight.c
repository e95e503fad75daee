// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests in flight: from submit to exactly one completion.
 *
 * A request belongs to the member's table from the moment it has its numbers until
 * somebody has collected it, or the member is torn down: see wait.c.  Its lanes hold
 * no reference: each reports its part once, as does whoever finds that all ranks
 * agree or that they never will (match.c), and the last report completes it, after
 * which none of them looks at it again.
 *
 * Numbers are given and parts are queued under one lock, so that every lane sees
 * requests in the order of their instances.  The id is another number, for those who
 * wait: what the ranks call an operation among themselves is their affair.
 *
 * A name is used by one request at a time.  Those with the same key, or messages with
 * the same tag, begin one after the other: each as the one before it is complete.
 */
#include <linux/ktime.h>

#include "coll.h"

/*
 * Beginning
 */

static void start_lanes(struct coll_request *request)
{
	struct coll_member *member = request->member;
	u32 i, area;

	for (i = 0; i < request->nparts; i++) {
		struct coll_part *part = &request->part[i];
		struct coll_task_args *call = &part->inst.args;

		part->request = request;
		part->mismatch_peer = COLL_NOBODY;
		call->plan = request->plan;
		call->eager = request->eager;
		call->instance = request->instance;
		call->digest = request->digest;
		call->user = part;
		for (area = 0; area < COLL_AREA_SCRATCH; area++) {
			call->area[area] = request->mem[area];
			call->area_off[area] = request->off[area];
		}
		if (part->scratch.bytes)
			call->area[COLL_AREA_SCRATCH] = &part->scratch.mem;
		coll_lane_submit(&member->lanes[request->first_lane + i], part);
	}
}

/*
 * What has no key is remembered by the low bits of its number: not only the count
 * of those in flight is limited, but how far they are apart.  Then there are those
 * that nobody has collected.
 */
static bool table_full(struct coll_member *member)
{
	const struct coll_request *oldest;

	if (member->nrequests == COLL_INFLIGHT)
		return true;
	oldest = list_first_entry_or_null(&member->counted, struct coll_request, counted);
	return oldest && member->next_instance - oldest->instance >= COLL_INFLIGHT;
}

/*
 * Is this rank so far ahead of another one that what it would submit has no place there?  What
 * fails completes without all ranks, so only the others can tell.
 */
static bool request_ahead(const struct coll_member *member)
{
	const struct coll_distance *distance = &member->memos->distance;

	return member->next_instance - distance->succeeded >= COLL_AHEAD_MAX &&
	       member->next_instance - coll_distance_known(distance, member->next_instance) >=
	       COLL_AHEAD_MAX;
}

/* Return: 0 when there is room for what an operation may leave behind, or why not. */
static int request_room(const struct coll_request *request)
{
	struct coll_member *member = request->member;
	bool pair = coll_plan_is_p2p(&request->plan);

	if (table_full(member))
		return -EAGAIN;
	if (pair || request->signature.flags & COLLECTIVE_F_KEYED)
		return coll_unexpected_full(member) ? -ENOSPC : 0;
	return request_ahead(member) ? -EAGAIN : 0;
}

/* What it is called on all ranks. */
static u64 make_instance(const struct coll_request *request)
{
	bool keyed = request->signature.flags & COLLECTIVE_F_KEYED;
	const struct coll_plan *plan = &request->plan;
	const struct coll_link *link;

	if (!coll_plan_is_p2p(plan))
		return keyed ?
			coll_instance_keyed(request->op.key) : request->member->next_instance;
	link = coll_link_get(request->member, plan->root);
	if (plan->collective == COLLECTIVE_SEND)
		return coll_instance_p2p(plan->rank, plan->root,
					 keyed ? request->op.key : link->next_tx_msg, keyed);
	return coll_instance_p2p(plan->root, plan->rank,
				 keyed ? request->op.key : link->next_rx_msg, keyed);
}

/* What has no key is counted: all of it, or what goes one way between two ranks. */
static void advance_counters(struct coll_request *request)
{
	struct coll_link *link;

	if (request->signature.flags & COLLECTIVE_F_KEYED)
		return;
	if (!coll_plan_is_p2p(&request->plan)) {
		request->member->next_instance++;
		request->member->last_submit_ns = request->submit_ns;
		coll_unexpected_submitted(request->member);
		return;
	}
	link = coll_link_get(request->member, request->plan.root);
	if (request->plan.collective == COLLECTIVE_SEND)
		link->next_tx_msg++;
	else
		link->next_rx_msg++;
}

/* Does this rank move much?  A small operation now and then, as between large ones, is forgiven. */
static void update_recent_bulk(const struct coll_request *request)
{
	u32 *bulk = &request->member->bulk;

	if (!request->eager)
		WRITE_ONCE(*bulk, COLL_BULK_LASTS);
	else if (*bulk)
		WRITE_ONCE(*bulk, *bulk - 1);
}

/* A number whose place in the table is free; none is used again. */
static void assign_id(struct coll_request *request)
{
	struct coll_member *member = request->member;
	struct coll_request **slot;

	do {
		request->id = ++member->last_id;
		slot = &member->table[request->id & (COLL_INFLIGHT - 1)];
	} while (*slot);
	*slot = request;
	member->nrequests++;
}

/*
 * A key that has failed must not begin again on a lane: a peer that has not heard of
 * the failure would take its grant for one of the use that failed.  Nor need what
 * differs from what others have called.  What is counted goes there to be aborted, so
 * that lanes know its number to be over.
 */
static bool never_starts(const struct coll_request *request,
			 const struct coll_failure *doom)
{
	return !coll_instance_is_counted(request->instance) &&
	       doom->cause.kind != COLLECTIVE_REASON_NONE &&
	       doom->cause.kind != COLLECTIVE_REASON_LEFT;
}

static struct hlist_head *request_bucket(struct coll_member *member, u64 instance)
{
	return &member->named[coll_instance_hash(instance, COLL_INFLIGHT)];
}

/* The oldest of a name that is in flight: the one that has begun. */
static struct coll_request *find_oldest(struct coll_member *member, u64 instance)
{
	struct coll_request *request;

	hlist_for_each_entry(request, request_bucket(member, instance), named)
		if (request->instance == instance)
			return request;
	return NULL;
}

/* In flight from now on: found by its name, or behind the one that is. */
static void request_enter(struct coll_request *request)
{
	struct coll_member *member = request->member;
	struct coll_request *first = find_oldest(member, request->instance);

	request->waits_for_instance = first;
	INIT_LIST_HEAD(&request->same);
	INIT_LIST_HEAD(&request->counted);
	list_add_tail(&request->node, &member->requests);
	if (coll_instance_is_counted(request->instance))
		list_add_tail(&request->counted, &member->counted);
	if (first)
		list_add_tail(&request->same, &first->same);
	else
		hlist_add_head(&request->named, request_bucket(member, request->instance));
	WRITE_ONCE(member->inflight, member->inflight + 1);
}

/* Not any more.  Return: the next one of its name, which is to begin, or NULL. */
static struct coll_request *request_leave(struct coll_request *request)
{
	struct coll_member *member = request->member;
	struct coll_request *next = NULL;

	if (!list_empty(&request->same))
		next = list_first_entry(&request->same, struct coll_request, same);
	/* Those that remain are behind that one. */
	list_del_init(&request->same);
	hlist_del(&request->named);
	if (next)
		hlist_add_head(&next->named, request_bucket(member, next->instance));
	list_del(&request->counted);
	list_del_init(&request->node);
	WRITE_ONCE(member->inflight, member->inflight - 1);
	return next;
}

/**
 * struct turn - what remains to be done when a request has begun, without the lock
 * @instance: its name
 * @ended: parts of it that ended at once, to be reported
 * @doom: why it is to fail, if its cause is of a kind; else nothing of it is set
 */
struct turn {
	u64 instance;
	u32 ended;
	struct coll_failure doom;
};

static void turn_init(struct turn *turn)
{
	turn->ended = 0;
	turn->doom.cause.kind = COLLECTIVE_REASON_NONE;
}

static struct coll_failure failure_cancelled(const struct coll_member *member)
{
	return (struct coll_failure){
		.cause = {
			.kind = COLLECTIVE_REASON_CANCELLED,
			.error = ECANCELED,
			.rank_a = member->rank,
			.rank_b = COLLECTIVE_RANK_NONE,
		},
	};
}

/* Have all parts of it done; its member is locked. */
static void request_begin(struct coll_request *request, struct turn *turn)
{
	request->waits_for_instance = false;
	coll_timer_arm(request);
	turn->instance = request->instance;
	turn->ended = coll_match_start(request, &turn->doom);
	if (request->cancelled)
		turn->doom = failure_cancelled(request->member);
	request->fail_at_start = turn->doom.cause.kind != COLLECTIVE_REASON_NONE;
	if (never_starts(request, &turn->doom)) {
		turn->ended += request->nparts;
		return;
	}
	/* Its lanes may be done with it before it is known there that it has failed. */
	if (turn->doom.cause.kind != COLLECTIVE_REASON_NONE && !turn->ended &&
	    !request->match_pending) {
		atomic_inc(&request->parts_pending);
		turn->ended++;
	}
	start_lanes(request);
}

/* The request may be gone by now, unless parts of it have ended. */
static void turn_finish(const struct turn *turn, struct coll_member *member)
{
	if (turn->doom.cause.kind != COLLECTIVE_REASON_NONE)
		coll_match_fail_started(member, turn->instance, &turn->doom);
}

/* Have done what it needs, by others. */
static noinline void kick_lanes(struct coll_request *request)
{
	struct coll_member *member = request->member;
	u32 i;

	for (i = 0; i < request->nparts; i++)
		coll_runner_kick(&member->lanes[request->first_lane + i].runner);
	if (READ_ONCE(member->control_tx_pending))
		coll_runner_kick(&member->control_runner);
}

/*
 * Give it its numbers and, unless one of the same name is in flight, to its lanes.
 * It is the caller's until he lets others wait for it; without @wait, its source's.
 */
static int admit(struct coll_request *request, struct coll_wait *wait,
		 struct turn *turn)
{
	struct coll_member *member = request->member;
	int err = 0;

	spin_lock(&member->lock);
	if (member->aborted)
		err = member->aborted;
	else if (member->state != COLLECTIVE_STATE_UP || !request->links_ready)
		err = -ENOTCONN;
	else
		err = request_room(request);
	if (err) {
		spin_unlock(&member->lock);
		return err;
	}

	request->instance = make_instance(request);
	advance_counters(request);
	update_recent_bulk(request);
	if (coll_plan_is_p2p(&request->plan))
		request->first_lane = request->instance % member->nlanes;
	turn_init(turn);
	atomic64_inc(&member->counters.submitted);
	coll_record_submit(request);
	request_enter(request);
	assign_id(request);
	if (wait)
		coll_wait_claim(wait, request);
	else
		member->nwaiting++;
	if (!request->waits_for_instance)
		request_begin(request, turn);
	if (!wait)
		kick_lanes(request);
	spin_unlock(&member->lock);

	return 0;
}

/*
 * Completion
 */

/* Elements that came, of what tells its length; those of a root are its own. */
static u64 request_received(const struct coll_request *request)
{
	const struct coll_plan *plan = &request->plan;

	if (!plan->varlen)
		return 0;
	if (plan->rank != plan->root)
		return div_u64(request->part[0].inst.received, plan->size);
	return coll_plan_first(plan, plan->send_first, plan->rank + 1) -
	       coll_plan_first(plan, plan->send_first, plan->rank);
}

static noinline void request_failed(struct coll_request *request)
{
	struct coll_member *member = request->member;

	lockdep_assert_held(&member->lock);
	member->last = request->abort_error ? request->failure.cause : member->reason;
	member->last_instance = request->instance;
	coll_absent_attribute(member);
	member->last_at = ktime_get_ns();
	if (member->last.kind == COLLECTIVE_REASON_MISMATCH)
		memcpy(member->calls, request->failure.calls, sizeof(member->calls));
	atomic64_inc(&member->counters.failed[member->last.kind]);
}

/* Under the member's lock: it is over, and the next one of its name may begin. */
static struct coll_request *request_complete(struct coll_request *request)
{
	struct coll_member *member = request->member;
	struct coll_request *next;

	request->received = request_received(request);
	if (!request->error)
		coll_unexpected_succeeded(member, request->instance);
	if (request->error)
		request_failed(request);
	else if (request->received > request->plan.count)
		request->error = -EMSGSIZE;
	coll_record_done(request);
	next = request_leave(request);
	request->complete = true;
	if (request->completion_ops)
		request->completion_ops->done(request);
	else if (request->waiter)
		coll_wait_notify(request);
	else
		wake_up_all(&member->state_wait);
	if (!member->inflight && member->aborted)
		wake_up_all(&member->state_wait);
	return next;
}

/* Return: how many parts of it end at once, all of them when the group has failed. */
static noinline u32 start_next(struct coll_request *request, struct turn *turn)
{
	struct coll_member *member = request->member;

	turn_init(turn);
	if (member->aborted && coll_fail_reason_final(member, ktime_get_ns())) {
		request->waits_for_instance = false;
		turn->ended = atomic_read(&request->parts_pending);
	} else {
		coll_record_begin(request);
		request_begin(request, turn);
		kick_lanes(request);
	}
	return turn->ended;
}

/*
 * Parts of a request are done.  If that completes it then it is gone, and one of the
 * same name that was queued begins; what is doomed from the beginning completes, too.
 */
static void request_report(struct coll_request *request, u32 parts, int error)
{
	struct coll_member *member = request->member;
	struct coll_request *next;
	struct turn turn __uninitialized;

	while (parts) {
		if (error)
			WRITE_ONCE(request->error, error);
		if (!atomic_sub_and_test(parts, &request->parts_pending))
			return;
		atomic64_inc(&member->counters.completed);

		spin_lock(&member->lock);
		next = request_complete(request);
		parts = next ? start_next(next, &turn) : 0;
		spin_unlock(&member->lock);
		if (!next)
			return;
		turn_finish(&turn, member);
		request = next;
		error = parts ? READ_ONCE(next->abort_error) ?: member->aborted : 0;
	}
}

/**
 * coll_request_report() - one of the parts of a request is done
 * @request: the request; gone afterwards
 * @error: how that part ended
 *
 * Context: process or work item.
 */
void coll_request_report(struct coll_request *request, int error)
{
	request_report(request, 1, error);
}

/*
 * From outside
 */

/**
 * coll_request_start() - give a request its place in the order of operations
 * @request: a new one
 * @wait: who waits for it; its @news is initialised.  NULL: its source is told, and
 *	it may be gone when this returns 0
 *
 * Context: process; may sleep.
 * Return: 0 or a negative errno.
 */
int coll_request_start(struct coll_request *request, struct coll_wait *wait)
{
	struct coll_member *member = request->member;
	struct turn turn __uninitialized;
	int err;

	err = admit(request, wait, &turn);
	if (err)
		return err;
	turn_finish(&turn, member);
	if (turn.ended)
		request_report(request, turn.ended, READ_ONCE(request->abort_error));
	return 0;
}

static int request_submit(struct coll_wait *wait, struct coll_member *member,
			  const struct collective_op *op, bool nowait, u64 *id)
{
	struct coll_request *request = coll_request_new(member, op, NULL, NULL);
	int err;

	if (IS_ERR(request))
		return PTR_ERR(request);
	err = coll_request_start(request, wait);
	if (err) {
		coll_request_free(request);
		return err;
	}
	*id = request->id;
	if (nowait) {
		kick_lanes(request);
		coll_wait_unclaim_all(wait, member);
		return 0;
	}
	err = coll_wait_sleep_and_collect(wait, member);
	if (err != -ERESTARTSYS)
		*id = 0;
	return err;
}

/**
 * coll_request_submit() - begin an operation, and wait until it is complete
 * @member: the member
 * @op: what to do
 * @nowait: do not wait
 * @id: out: its number for coll_wait(), when it goes on: @nowait, or a signal; else 0
 * @received: out: see struct coll_request
 *
 * Context: process of the mm that joined.
 * Return: 0, a negative errno, or -ERESTARTSYS when a signal came first and the
 * operation goes on.
 */
int coll_request_submit(struct coll_member *member, const struct collective_op *op,
			bool nowait, u64 *id, u64 *received)
{
	struct coll_wait wait = { .ids = id, .n = 1, .timeout = MAX_SCHEDULE_TIMEOUT };
	int err;

	*id = 0;
	coll_wait_init(&wait, member);
	err = request_submit(&wait, member, op, nowait, id);
	coll_wait_idle(&wait);
	*received = wait.received;
	return err;
}

static bool request_is(const struct coll_request *request, enum coll_find_by by, u64 number)
{
	switch (by) {
	case COLL_FIND_BY_USER_DATA:
		return request->completion_ops && request->user_data == number;
	case COLL_FIND_BY_COMMAND:
		return request->completion_ops && (uintptr_t)request->completion_ctx == number;
	default:
		return request->id == number;
	}
}

static struct coll_request *request_by(struct coll_member *member, enum coll_find_by by, u64 number)
{
	struct coll_request *request;

	/* COLL_INFLIGHT of them at most. */
	list_for_each_entry(request, &member->requests, node)
		if (request_is(request, by, number))
			return request;
	return NULL;
}

/**
 * coll_request_cancel() - have an operation fail, here and on every other rank
 * @member: the member
 * @by: which, ...
 * @number: ... by that; the oldest of them
 *
 * Context: any that does not hold a lock of ours.
 * Return: 0, -ENOENT when it is not in flight, -EALREADY when it fails already.
 */
int coll_request_cancel(struct coll_member *member, enum coll_find_by by, u64 number)
{
	struct coll_failure failure = failure_cancelled(member);
	struct coll_request *request;
	int err = 0;

	spin_lock(&member->lock);
	request = request_by(member, by, number);
	if (!request || !atomic_read(&request->parts_pending)) {
		err = -ENOENT;
	} else if (member->aborted || request->abort_error || request->cancelled) {
		/* Of a failed group all operations fail, and for its reason. */
		err = -EALREADY;
	} else {
		u64 instance = request->instance;

		request->cancelled = true;
		/* The end of a ring does not wait for what is before it. */
		if (request->waits_for_instance && by == COLL_FIND_BY_COMMAND)
			request = coll_request_find(member, instance);
		if (request && !request->waits_for_instance) {
			coll_match_fail(member, request, instance, &failure);
			return 0;
		}
	}
	spin_unlock(&member->lock);
	return err;
}

/**
 * coll_request_find() - an operation in progress
 * @member: the member, locked
 * @instance: its name
 *
 * Return: the request, or NULL.  What has been reported by all is not in progress.
 */
struct coll_request *coll_request_find(struct coll_member *member, u64 instance)
{
	struct coll_request *request;

	lockdep_assert_held(&member->lock);
	request = find_oldest(member, instance);
	return request && !request->waits_for_instance &&
		atomic_read(&request->parts_pending) ? request : NULL;
}

/**
 * coll_request_part_done() - a lane has done its part
 * @part: the part; gone afterwards
 *
 * Context: the lane's runner.
 */
void coll_request_part_done(struct coll_part *part)
{
	coll_request_report(part->request, part->error);
}
