// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: from submit to exactly one completion.
 *
 * A request belongs to the member's list from the moment it has a number until
 * its waiter has collected it, or the member is torn down.  Its lanes hold no
 * reference: each reports its part once, as does whoever finds that all ranks agree
 * or that they never will (agree.c), and the last report completes it, after which
 * none of them looks at it again.
 *
 * Numbers are given and parts are queued under one lock, so that every lane sees
 * requests in the order of their numbers.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "coll.h"
#include "trace.h"

static void request_free(struct coll_request *request)
{
	coll_buffer_put(request->buffer[COLL_AREA_SEND]);
	coll_buffer_put(request->buffer[COLL_AREA_RECV]);
	kfree(request);
}

/*
 * Memory
 */

static int request_registered(struct coll_request *request, enum coll_area area,
			      u32 id, u64 addr, u64 bytes, bool writable)
{
	struct coll_member *member = request->member;
	struct coll_buffer *buffer;
	int err = 0;

	xa_lock(&member->buffers);
	buffer = xa_load(&member->buffers, id);
	if (!buffer)
		err = -ENOENT;
	else if (addr < buffer->addr || addr - buffer->addr > buffer->mem.length ||
		 bytes > buffer->mem.length - (addr - buffer->addr))
		err = -EINVAL;
	else if (writable && !buffer->writable)
		err = -EFAULT;
	else
		refcount_inc(&buffer->refs);
	xa_unlock(&member->buffers);
	if (err)
		return err;

	request->buffer[area] = buffer;
	request->off[area] = addr - buffer->addr;
	return 0;
}

static int request_buffer(struct coll_request *request, enum coll_area area,
			  u32 id, u64 addr, u64 bytes, bool writable)
{
	struct coll_buffer *buffer;

	if (!bytes)
		return 0;
	if (id)
		return request_registered(request, area, id, addr, bytes, writable);
	buffer = coll_buffer_pin(addr, bytes, writable, &request->member->pinned);
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	request->buffer[area] = buffer;
	return 0;
}

/* One area lies in the memory of another. */
static void request_share(struct coll_request *request, enum coll_area area,
			  enum coll_area other, u64 off)
{
	refcount_inc(&request->buffer[other]->refs);
	request->buffer[area] = request->buffer[other];
	request->off[area] = request->off[other] + off;
}

static int request_pin(struct coll_request *request, const struct collective_op *op)
{
	const struct coll_extent *extent = &request->extent;
	int err;

	err = request_buffer(request, COLL_AREA_RECV, op->recv_buffer, op->recv,
			     extent->recv, true);
	if (err)
		return err;
	if (!extent->send)
		return 0;
	if (op->send == op->recv && extent->recv >= extent->send) {
		request_share(request, COLL_AREA_SEND, COLL_AREA_RECV, extent->own);
		return 0;
	}
	err = request_buffer(request, COLL_AREA_SEND, op->send_buffer, op->send,
			     extent->send, false);
	/* The root of a scatter in place leaves its block where it is. */
	if (!err && !extent->recv)
		request_share(request, COLL_AREA_RECV, COLL_AREA_SEND, extent->own);
	return err;
}

/*
 * From submit ...
 */

static struct coll_request *request_new(struct coll_member *member,
					const struct collective_op *op,
					const struct coll_plan *plan,
					const struct coll_extent *extent)
{
	u32 nparts = coll_layout_lanes(extent->block, member->nlanes);
	u32 timeout = op->timeout_ms ? op->timeout_ms : member->timeout_ms;
	struct coll_request *request;

	request = kzalloc(struct_size(request, part, nparts), GFP_KERNEL_ACCOUNT);
	if (!request)
		return NULL;
	request->member = member;
	request->plan = *plan;
	request->extent = *extent;
	request->key = op->key;
	request->nparts = nparts;
	request->begun = ktime_get_ns();
	if (timeout != U32_MAX)
		request->deadline = (jiffies + msecs_to_jiffies(timeout)) | 1;
	request->signature = (struct coll_signature){
		.collective = op->opcode,
		.type = op->type,
		.reduction = op->reduction,
		.algorithm = plan->algorithm,
		.flags = op->flags,
		.root = op->root,
		.count = op->count,
	};
	/* What one rank calls is agreed. */
	atomic_set(&request->left, nparts + (member->nranks > 1));
	init_completion(&request->done);
	return request;
}

static void request_parts(struct coll_request *request)
{
	struct coll_member *member = request->member;
	u32 i, area;

	for (i = 0; i < request->nparts; i++) {
		struct coll_part *part = &request->part[i];

		part->request = request;
		part->call = (struct coll_call){
			.plan = request->plan,
			.eager = request->extent.block <= COLLECTIVE_EAGER_LIMIT,
			.instance = request->instance,
			.user = part,
		};
		for (area = 0; area < COLL_AREA_COUNT; area++) {
			if (!request->buffer[area])
				continue;
			part->call.area[area] = &request->buffer[area]->mem;
			part->call.area_off[area] = request->off[area];
		}
		coll_lane_submit(&member->lanes[i], part);
	}
}

/*
 * What has no key is remembered by the low bits of its number: not only the count
 * of those in flight is limited, but how far they are apart.
 */
static bool request_crowded(struct coll_member *member)
{
	const struct coll_request *request;

	if (member->inflight >= COLL_INFLIGHT)
		return true;
	list_for_each_entry(request, &member->requests, node)
		if (coll_name_counted(request->instance))
			return member->instances - request->instance >= COLL_INFLIGHT;
	return false;
}

/* What it is called on all ranks. */
static u64 request_name(const struct coll_request *request)
{
	if (request->signature.flags & COLLECTIVE_F_KEYED)
		return coll_name_keyed(request->key);
	return request->member->instances;
}

/* Give it a number and to its lanes; what is known of it already may doom it. */
static int request_number(struct coll_request *request, struct coll_failure *doom)
{
	struct coll_member *member = request->member;
	bool agreed;
	int err = 0;
	u64 name;

	spin_lock(&member->lock);
	name = request_name(request);
	if (member->aborted)
		err = member->aborted;
	else if (member->state != COLLECTIVE_STATE_UP)
		err = -ENOTCONN;
	else if (request_crowded(member))
		err = -EAGAIN;
	else if (coll_request_find(member, name))
		err = -EEXIST;
	if (err) {
		spin_unlock(&member->lock);
		return err;
	}

	request->instance = name;
	member->instances += coll_name_counted(name);
	list_add_tail(&request->node, &member->requests);
	WRITE_ONCE(member->inflight, member->inflight + 1);
	request->waited = true;
	agreed = coll_agree_begin(request, doom);
	request_parts(request);
	spin_unlock(&member->lock);

	atomic64_inc(&member->counters.submitted);
	trace_collective_begin(request);
	if (agreed)
		coll_request_report(request, 0);
	return 0;
}

/* Links to all that it sends to or receives from. */
static int request_links(struct coll_request *request)
{
	const struct coll_plan *plan = &request->plan;
	struct coll_member *member = request->member;
	const struct coll_schedule *schedule = coll_schedule_find(plan);
	struct coll_step step;
	int err = 0;
	u32 i, n;

	if (schedule->ring || READ_ONCE(member->state) != COLLECTIVE_STATE_UP)
		return 0;
	n = schedule->steps(plan);
	for (i = 0; !err && i < n; i++) {
		coll_schedule_step(schedule, plan, i, &step);
		if (step.to != COLL_NOBODY)
			err = coll_link_demand(member, step.to);
		if (!err && step.from != COLL_NOBODY)
			err = coll_link_demand(member, step.from);
	}
	return err;
}

/* Run what it needs, as far as nobody else does. */
static void request_help(struct coll_request *request)
{
	struct coll_member *member = request->member;
	u32 i, nparts = request->nparts;

	for (i = 0; i < nparts; i++)
		coll_runner_poke(&member->lanes[i].runner);
	if (READ_ONCE(member->posted))
		coll_runner_poke(&member->control);
}

static int request_collect(struct coll_request *request)
{
	struct coll_member *member = request->member;
	int error = request->error;

	spin_lock(&member->lock);
	list_del(&request->node);
	WRITE_ONCE(member->inflight, member->inflight - 1);
	spin_unlock(&member->lock);
	request_free(request);
	return error;
}

/* The deadline has passed: fail it everywhere, and wait for its memory. */
static int request_expire(struct coll_request *request)
{
	struct coll_member *member = request->member;
	unsigned long patience = nsecs_to_jiffies(coll_member_beats(member, COLL_FENCE_BEATS));
	struct coll_failure failure = {
		.cause = {
			.kind = COLLECTIVE_REASON_DEADLINE,
			.error = ETIMEDOUT,
			.rank_a = member->rank,
			.rank_b = READ_ONCE(request->heard) & 1 ? COLLECTIVE_RANK_NONE :
								  coll_agree_before(member, 0),
		},
	};

	coll_agree_abort(member, request->instance, &failure);
	if (wait_for_completion_killable_timeout(&request->done, patience) > 0)
		return 0;
	if (!completion_done(&request->done))
		coll_member_abort(member, &failure.cause);
	return wait_for_completion_killable(&request->done);
}

/* Wait for it and collect it, unless a signal comes first. */
static int request_wait(struct coll_request *request)
{
	struct coll_member *member = request->member;
	long left = MAX_SCHEDULE_TIMEOUT;
	int err = 0;

	request_help(request);
	if (request->deadline)
		left = max_t(long, request->deadline - jiffies, 0);
	left = wait_for_completion_interruptible_timeout(&request->done, left);
	if (!left && !completion_done(&request->done))
		err = request_expire(request);
	else if (left < 0)
		err = left;
	if (!err)
		return request_collect(request);

	if (fatal_signal_pending(current))
		coll_member_fail(member, COLLECTIVE_REASON_DEATH, member->rank,
				 COLLECTIVE_RANK_NONE);
	spin_lock(&member->lock);
	request->waited = false;
	spin_unlock(&member->lock);
	return -ERESTARTSYS;
}

/**
 * coll_request_submit() - begin an operation and wait until it is complete
 * @member: the member
 * @op: what to do
 * @instance: out: its number, when it goes on in spite of a signal
 *
 * Context: process of the mm that joined.
 * Return: 0, a negative errno, or -ERESTARTSYS when a signal came first and the
 * operation goes on.
 */
int coll_request_submit(struct coll_member *member, const struct collective_op *op,
			u64 *instance)
{
	struct coll_request *request;
	struct coll_extent extent;
	struct coll_failure doom;
	struct coll_plan plan;
	int err;

	err = coll_call_check(op, member, &plan, &extent);
	if (err)
		return err;
	request = request_new(member, op, &plan, &extent);
	if (!request)
		return -ENOMEM;
	err = request_pin(request, op);
	if (!err)
		err = request_links(request);
	if (!err)
		err = request_number(request, &doom);
	if (err) {
		request_free(request);
		return err;
	}
	*instance = request->instance;

	if (doom.cause.kind != COLLECTIVE_REASON_NONE)
		coll_agree_doom(member, *instance, &doom);
	return request_wait(request);
}

/**
 * coll_request_find() - an operation in progress
 * @member: the member, locked
 * @instance: its name
 *
 * Return: the request, or NULL.  What is complete is not in progress, collected or
 * not.
 */
struct coll_request *coll_request_find(struct coll_member *member, u64 instance)
{
	struct coll_request *request;

	lockdep_assert_held(&member->lock);
	list_for_each_entry(request, &member->requests, node)
		if (request->instance == instance && atomic_read(&request->left))
			return request;
	return NULL;
}

static struct coll_request *request_waiting(struct coll_member *member, u64 instance)
{
	struct coll_request *request;

	list_for_each_entry(request, &member->requests, node)
		if (request->instance == instance && !request->waited)
			return request;
	return NULL;
}

/**
 * coll_request_wait() - go on waiting after a signal
 * @member: the member
 * @instance: number of the request
 *
 * Return: as coll_request_submit(), or -ENOENT.
 */
int coll_request_wait(struct coll_member *member, u64 instance)
{
	struct coll_request *request;

	spin_lock(&member->lock);
	request = request_waiting(member, instance);
	if (request)
		request->waited = true;
	spin_unlock(&member->lock);
	return request ? request_wait(request) : -ENOENT;
}

/*
 * ... to completion
 */

static void request_failed(struct coll_request *request)
{
	struct coll_member *member = request->member;

	spin_lock(&member->lock);
	member->last = request->aborted ? request->failure.cause : member->cause;
	member->last_instance = request->instance;
	if (member->last.kind == COLLECTIVE_REASON_MISMATCH)
		memcpy(member->calls, request->failure.calls, sizeof(member->calls));
	atomic64_inc(&member->counters.failed[member->last.kind]);
	spin_unlock(&member->lock);
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
	struct coll_member *member = request->member;

	if (error)
		WRITE_ONCE(request->error, error);
	if (!atomic_dec_and_test(&request->left))
		return;
	if (request->error)
		request_failed(request);
	atomic64_inc(&member->counters.completed);
	trace_collective_end(request, ktime_get_ns() - request->begun);
	complete_all(&request->done);
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

/**
 * coll_request_reap() - give back what nobody has collected
 * @member: no lane of it runs any more, unless @patience
 * @patience: jiffies to wait for the memory of all; 0: its process is dead
 */
void coll_request_reap(struct coll_member *member, unsigned long patience)
{
	struct coll_request *request, *next;
	unsigned long end = jiffies + patience;

	/* Nobody waits or submits any more: the file is being released. */
	list_for_each_entry_safe(request, next, &member->requests, node) {
		long left = max_t(long, end - jiffies, 0);

		if (patience && !wait_for_completion_timeout(&request->done, left))
			continue;
		request_collect(request);
	}
}
