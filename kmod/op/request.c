// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests before their submission: the call is checked, the buffers are pinned or looked up,
 * scratch memory is allocated, and links to the ranks that the schedule needs are ensured.
 * submit.c then gives the request its place among the others.
 */
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "core/data/nt_policy.h"
#include "lane/lane.h"
#include "limits.h"
#include "mem/account.h"
#include "mem/pin.h"
#include "mem/registry.h"
#include "net/link.h"
#include "op/immediate.h"
#include "op/match.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/times.h"
#include "trace/recorder.h"
#include "transport/board.h"

static u32 request_bytes(u32 nparts)
{
	return struct_size_t(struct coll_request, part, nparts);
}

/*
 * Allocate a request, charged to its member.  Return: a request, zeroed but for @reqs and @nparts;
 * or -EDQUOT or -ENOMEM as a pointer.
 */
static struct coll_request *request_alloc(struct coll_requests *reqs, u32 nparts)
{
	struct coll_request *request;
	int err = coll_charge(reqs->charges, request_bytes(nparts));

	if (err)
		return ERR_PTR(err);
	request = kzalloc(request_bytes(nparts), GFP_KERNEL_ACCOUNT);
	if (!request) {
		coll_uncharge(reqs->charges, request_bytes(nparts));
		return ERR_PTR(-ENOMEM);
	}
	request->reqs = reqs;
	request->nparts = nparts;
	return request;
}

/**
 * coll_request_bounce() - memory of the kernel that an operation works on, not on the process's
 * @request: the request
 *
 * Return: its input, and the result that coll_immediate_store() copies; NULL: there is none.
 */
void *coll_request_bounce(const struct coll_request *request)
{
	if (request->mem[COLL_AREA_SEND] != &coll_immediate_mem)
		return NULL;
	return (void *)(uintptr_t)request->off[COLL_AREA_SEND];
}

/**
 * coll_request_free() - release the memory of a request
 * @request: has no id, or was removed from the member's table
 *
 * Context: may sleep.
 */
void coll_request_free(struct coll_request *request)
{
	u32 i;

	/*
	 * Most requests have neither scratch memory nor a layout; the checks avoid calls of
	 * kvfree().
	 */
	for (i = 0; i < request->nparts; i++)
		if (request->part[i].scratch.bytes)
			kvfree(request->part[i].scratch.bytes);
	if (request->layout)
		coll_block_layout_free(request->layout);
	coll_buffer_put(request->buffer[COLL_AREA_SEND]);
	coll_buffer_put(request->buffer[COLL_AREA_RECV]);
	kfree(coll_request_bounce(request));
	coll_uncharge(request->reqs->charges, request->charged + request_bytes(request->nparts));
	kfree(request);
}

/*
 * Memory
 */

static int request_registered(struct coll_request *request, enum coll_area area,
			      u32 id, u64 addr, u64 bytes, bool writable)
{
	struct coll_buffer *buffer = coll_registry_get(request->reqs->registry, id);

	if (!buffer)
		return -ENOENT;
	request->buffer[area] = buffer;	/* put by coll_request_free(), also on error */
	if (addr < buffer->addr || addr - buffer->addr > buffer->mem.length ||
	    bytes > buffer->mem.length - (addr - buffer->addr))
		return -EINVAL;
	if (writable && !buffer->writable)
		return -EFAULT;
	request->off[area] = addr - buffer->addr;
	return 0;
}

static int request_buffer(struct coll_request *request, enum coll_area area,
			  u32 id, u64 addr, bool writable)
{
	const struct coll_byte_range *range = &request->footprint.range[area];
	const struct coll_mem *view;
	struct coll_buffer *buffer;
	int err;

	if (!range->bytes)
		return 0;
	if (check_add_overflow(addr, range->skip, &addr))
		return -EOVERFLOW;
	if (id) {
		err = request_registered(request, area, id, addr, range->bytes, writable);
		if (err)
			return err;
	} else {
		buffer = request->completion_ops && request->completion_ops->import ?
			 request->completion_ops->import(request, addr, range->bytes, writable) :
			 coll_buffer_pin(request->reqs->charges, request->reqs->pinned, addr,
					 range->bytes, writable);
		if (IS_ERR(buffer))
			return PTR_ERR(buffer);
		request->buffer[area] = buffer;
	}

	request->mem[area] = &request->buffer[area]->mem;
	view = coll_block_layout_over(request->layout, area, request->mem[area],
				      request->off[area]);
	if (view) {
		request->mem[area] = view;
		request->off[area] = 0;
	}
	return 0;
}

/* @area lies in the memory of @other, at an offset. */
static void request_alias(struct coll_request *request, enum coll_area area,
			  enum coll_area other, u64 off)
{
	refcount_inc(&request->buffer[other]->refs);
	request->buffer[area] = request->buffer[other];
	request->mem[area] = request->mem[other];
	request->off[area] = request->off[other] + off;
}

static int request_pin(struct coll_request *request)
{
	const struct coll_footprint *footprint = &request->footprint;
	const struct collective_op *op = &request->op;
	int err;

	err = request_buffer(request, COLL_AREA_RECV, op->recv_buffer, op->recv, true);
	if (err)
		return err;
	if (footprint->in_place && request->buffer[COLL_AREA_RECV]) {
		request_alias(request, COLL_AREA_SEND, COLL_AREA_RECV, footprint->own);
		return 0;
	}
	err = request_buffer(request, COLL_AREA_SEND, op->send_buffer, op->send, false);
	/* In place, the root of a scatter leaves its block where it is. */
	if (!err && footprint->in_place)
		request_alias(request, COLL_AREA_RECV, COLL_AREA_SEND, footprint->own);
	return err;
}

/**
 * coll_request_result_bytes() - bytes that an operation on the board may store in its result
 * @footprint: of the operation
 *
 * A root in place has its result already, and the process's memory is only read.
 */
u64 coll_request_result_bytes(const struct coll_footprint *footprint)
{
	return max(footprint->range[COLL_AREA_RECV].bytes, footprint->block);
}

/*
 * Work on memory of the kernel: the process's cannot be pinned everywhere, and its user may not.
 * What a thread has published must go on, so its bounce is not charged; a member has one of these
 * at a time.
 */
static int request_bounce(struct coll_request *request, const void *input)
{
	const u64 len = coll_board_published(&request->plan, request->plan.rank);
	const u64 result = ALIGN(len, 8);
	const u64 bytes = result + coll_request_result_bytes(&request->footprint);
	u8 *bounce;
	int err;

	if (request->origin != COLL_FROM_THREAD) {
		err = coll_charge(request->reqs->charges, bytes);
		if (err)
			return err;
		request->charged += bytes;
	}
	bounce = kmalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!bounce)
		return -ENOMEM;
	memcpy(bounce, input, len);
	request->mem[COLL_AREA_SEND] = &coll_immediate_mem;
	request->mem[COLL_AREA_RECV] = &coll_immediate_mem;
	request->off[COLL_AREA_SEND] = (uintptr_t)bounce;
	request->off[COLL_AREA_RECV] = (uintptr_t)bounce + result;
	return 0;
}

static void *scratch_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct coll_scratch *scratch = container_of(mem, struct coll_scratch, mem);

	*len = mem->length - off;
	return scratch->bytes + off;
}

/* The size of a window is a power of two. */
static void *scratch_window_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	return scratch_at(mem, off & (mem->length - 1), len);
}

/* Scratch memory of each lane: some kilobytes, or a window. */
static int request_scratch(struct coll_request *request)
{
	bool windowed = request->plan.schedule->windowed;
	struct coll_plan plan;
	int err;

	if (!request->plan.schedule->scratch)
		return 0;
	plan = request->plan;
	for (plan.lane = 0; plan.lane < request->nparts; plan.lane++) {
		struct coll_scratch *scratch = &request->part[plan.lane].scratch;
		u64 bytes = coll_plan_scratch(&plan);

		if (!bytes)
			continue;
		err = coll_charge(request->reqs->charges, bytes);
		if (err)
			return err;
		request->charged += bytes;
		scratch->bytes = kvmalloc(bytes, GFP_KERNEL_ACCOUNT);
		if (!scratch->bytes)
			return -ENOMEM;
		scratch->mem.length = bytes;
		scratch->mem.at = windowed ? scratch_window_at : scratch_at;
	}
	return 0;
}

/* Construction */

/**
 * coll_request_signature() - the part of a call that must be the same on all ranks
 * @op: the call, from which coll_validate() has made the others
 * @plan: the call as the schedules see it
 * @footprint: bytes of the buffers that it touches
 */
struct coll_signature coll_request_signature(const struct collective_op *op,
					     const struct coll_plan *plan,
					     const struct coll_footprint *footprint)
{
	return (struct coll_signature){
		.collective = op->opcode,
		.type = op->type,
		.reduction = op->reduction,
		.algorithm = plan->algorithm,
		.flags = op->flags & ~COLLECTIVE_F_NOSYNC,
		.root = op->root,
		.count = footprint->total,
		.layout = footprint->digest,
	};
}

/**
 * coll_request_reserve() - have memory for the request that takes an immediate operation over
 * @reqs: of the member
 *
 * Context: process of the mm that joined; may sleep; several threads at a time.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_request_reserve(struct coll_requests *reqs)
{
	struct coll_request *request;

	if (READ_ONCE(reqs->spare))
		return 0;
	request = request_alloc(reqs, 1);
	if (IS_ERR(request))
		return PTR_ERR(request);
	if (cmpxchg(&reqs->spare, NULL, request))
		coll_request_free(request);
	return 0;
}

/*
 * Allocate a request, unless there is a @spare, and set the fields that depend on the call only.
 * After an error the spare is freed.
 */
static struct coll_request *request_build(struct coll_requests *reqs,
					  const struct collective_op *op,
					  struct coll_request *spare)
{
	struct coll_request *request;
	struct coll_block_layout *layout;
	struct coll_footprint footprint;
	struct coll_plan plan;
	int err;

	err = coll_validate(op, reqs, &plan, &footprint, &layout);
	if (err) {
		if (spare)
			coll_request_free(spare);
		return ERR_PTR(err);
	}
	request = spare ?: request_alloc(reqs, coll_plan_lanes(&plan));
	if (IS_ERR(request)) {
		coll_block_layout_free(layout);
		return request;
	}
	request->op = *op;
	request->plan = plan;
	request->footprint = footprint;
	request->layout = layout;
	request->eager = coll_plan_eager(&plan);
	request->implicit_match = coll_plan_implicit_match(&plan);
	request->call.is_own = true;
	request->call.signature = coll_request_signature(op, &plan, &footprint);
	if (coll_signature_paired(&request->call.signature))
		request->balance = coll_balance_own(&request->plan);
	return request;
}

/**
 * coll_request_reserve_times() - have memory for what is measured and recorded
 * @reqs: of the member
 * @collective: enum collective_opcode
 *
 * An operation goes on without.
 *
 * Context: process of the mm that joined; may sleep.
 */
void coll_request_reserve_times(struct coll_requests *reqs, u32 collective)
{
	if (!READ_ONCE(reqs->times[collective]))
		coll_times_new(reqs, collective);
	coll_recorder_reserve(&reqs->state->trace, reqs->charges);
}

/* Have the memory that copies of large results are measured with, likewise. */
static void request_reserve_copiers(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	u64 volume;
	u32 i;

	volume = max(coll_plan_result(&request->plan), request->footprint.block);
	if (volume < COLL_NT_MIN)
		return;
	for (i = 0; i < reqs->id->nlanes; i++)
		coll_copier_reserve(&reqs->lanes[i], volume);
}

/* Set the fields of this one operation. */
static void request_prepare(struct coll_request *request)
{
	const struct collective_op *op = &request->op;
	unsigned long timeout = op->timeout_ms ? msecs_to_jiffies(op->timeout_ms) :
						 READ_ONCE(request->reqs->id->timeout);
	u32 slow = READ_ONCE(request->reqs->id->slow_percent);

	request->mismatch_peer = COLL_NO_RANK;
	request->waits_vary = request->nparts > 1;
	coll_request_reserve_times(request->reqs, request->plan.collective);
	request_reserve_copiers(request);
	request->submit_ns = ktime_get_ns();
	if (timeout != MAX_JIFFY_OFFSET) {
		request->deadline = (jiffies + timeout) | 1;
		if (slow)
			request->slow_at = (jiffies + timeout * slow / 100) | 1;
	}
	atomic_set(&request->parts_pending, request->nparts + coll_match_waits(request));
}

/**
 * coll_request_board() - have pages on the board for payload that has no place in a slot
 * @reqs: of the member
 * @plan: the operation
 *
 * Context: process of the mm that joined; may sleep.
 * Return: 0, also if none are needed; -ENOTCONN, -EDQUOT or -ENOMEM.
 */
int coll_request_board(struct coll_requests *reqs, const struct coll_plan *plan)
{
	const enum coll_board_place place = coll_board_place(plan, plan->rank);
	struct coll_board *board;

	if (!plan->schedule->board || place == COLL_BOARD_SLOT)
		return 0;
	board = READ_ONCE(reqs->lanes->engine.board);
	/* The group has failed while it connected. */
	if (!board)
		return -ENOTCONN;
	return coll_local_board_extend(board, place, reqs->charges, &reqs->board_charged);
}

/* The number of steps may grow with the bytes, but the peers are few. */
static int ensure_links_by_peer(struct coll_requests *reqs, const struct coll_plan *plan)
{
	u32 peer;
	int err = 0;

	for (peer = 0; !err && peer < plan->nranks; peer++)
		if (peer != plan->rank && plan->schedule->has_peer(plan, peer))
			err = coll_link_ensure(reqs->net, peer);
	return err;
}

static int ensure_links_by_step(struct coll_requests *reqs, const struct coll_plan *plan)
{
	const struct coll_schedule *schedule = plan->schedule;
	struct coll_step step;
	u64 i, n;
	int err = 0;

	if (schedule->has_peer)
		return schedule->steps(plan) ? ensure_links_by_peer(reqs, plan) : 0;
	/* COLL_STEPS_MAX() at most. */
	n = schedule->steps(plan);
	for (i = 0; !err && i < n; i++) {
		coll_schedule_step(schedule, plan, i, &step);
		if (step.to != COLL_NO_RANK && (step.signal || step.out.len))
			err = coll_link_ensure(reqs->net, step.to);
		/* Memory is read without a link. */
		if (!err && !step.read && step.from != COLL_NO_RANK &&
		    (step.signal || step.in.len))
			err = coll_link_ensure(reqs->net, step.from);
	}
	return err;
}

/* A hash of the ranks that a request sends to or receives from; it may be that of other ranks. */
static u64 request_peers(const struct coll_request *request)
{
	return ((unsigned long)request->plan.schedule + request->op.root) * GOLDEN_RATIO_64 +
	       request->op.count;
}

/*
 * Are there connections that were not used, and that the latest request did not use either?  If
 * this is wrong, the lane allocates their memory.
 */
static bool links_may_be_unused(const struct coll_request *request)
{
	const struct coll_requests *reqs = request->reqs;

	return atomic_read(&reqs->net->unused) &&
	       READ_ONCE(reqs->ensured) != request_peers(request);
}

/* Ensure the links to all ranks that the request sends to or receives from. */
static int request_links(struct coll_request *request)
{
	const struct coll_plan *plan = &request->plan;
	struct coll_requests *reqs = request->reqs;
	int err = 0;

	/* The request cannot start then, even if the group is up before its submission. */
	if (READ_ONCE(reqs->state->value) != COLLECTIVE_STATE_UP)
		return 0;
	/* CONNECT makes the links to neighbours, and in a small group all links. */
	if ((!plan->schedule->ring && reqs->net->nr_required < reqs->id->nranks - 1) ||
	    links_may_be_unused(request))
		err = ensure_links_by_step(reqs, plan);
	if (!err)
		WRITE_ONCE(reqs->ensured, request_peers(request));
	request->links_ready = !err;
	return err;
}

/*
 * Have what a request needs besides the memory of the process.  @err: of that memory.  Return: the
 * request, or a negative errno as a pointer.
 */
static struct coll_request *request_equip(struct coll_request *request, int err)
{
	if (!err)
		err = request_scratch(request);
	if (!err)
		err = coll_request_board(request->reqs, &request->plan);
	if (!err)
		err = request_links(request);
	if (!err)
		return request;
	coll_request_free(request);
	return ERR_PTR(err);
}

/**
 * coll_request_new() - make a request for a call
 * @reqs: of the member
 * @op: the call
 * @completion_ops: called when the request is complete; NULL: a thread waits for it
 * @completion_ctx: for @completion_ops
 *
 * Context: process of the mm that joined; may sleep.
 * Return: a request for coll_request_start(), or a negative errno as a pointer.
 */
struct coll_request *coll_request_new(struct coll_requests *reqs,
				      const struct collective_op *op,
				      const struct coll_completion_ops *completion_ops,
				      void *completion_ctx)
{
	struct coll_request *request = request_build(reqs, op, NULL);

	if (IS_ERR(request))
		return request;
	request_prepare(request);
	request->completion_ops = completion_ops;
	request->completion_ctx = completion_ctx;
	return request_equip(request, request_pin(request));
}

/**
 * coll_request_new_begun() - make a request for a call of which something was done before
 * @reqs: of the member
 * @op: the call; with an input: of the board
 * @begun: what was done
 *
 * Context: process of the mm that joined; may sleep.
 * Return: see coll_request_new().
 */
struct coll_request *coll_request_new_begun(struct coll_requests *reqs,
					    const struct collective_op *op,
					    const struct coll_begun *begun)
{
	struct coll_request *spare = NULL, *request;
	int err;

	if (begun->origin == COLL_FROM_THREAD)
		spare = xchg(&reqs->spare, NULL);
	request = request_build(reqs, op, spare);
	if (IS_ERR(request))
		return request;
	request_prepare(request);
	request->origin = begun->origin;
	request->call.instance = begun->instance;
	if (begun->submit_ns)
		request->submit_ns = begun->submit_ns;
	err = begun->input ? request_bounce(request, begun->input) : request_pin(request);
	return request_equip(request, err);
}
