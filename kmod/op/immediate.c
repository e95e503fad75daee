// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that the thread of SUBMIT executes itself: see immediate.h.
 *
 * Nothing of the user's memory is accessed while the operation has its place in the order, so that
 * a page fault keeps no other thread of the process waiting, and no other rank: the input is copied
 * before, and the result afterwards.
 */
#include <linux/ktime.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/board/board.h"
#include "exec/fpu.h"
#include "fail/member_state.h"
#include "lane/lane.h"
#include "op/busy_poll.h"
#include "op/immediate.h"
#include "op/footprint.h"
#include "op/layout.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/times.h"
#include "op/wait.h"
#include "trace/recorder.h"

/* Most bytes of a result: those that a rank publishes at most. */
#define RESULT_MAX	COLL_BOARD_PUBLISHED

/* Flags of operations that the thread executes. */
#define IMMEDIATE_FLAGS	(COLLECTIVE_F_REPRODUCIBLE | COLLECTIVE_F_WIDE | COLLECTIVE_F_NOSYNC)

/* Input and result of the smallest operations are on the stack. */
#define SMALL_BYTES	128U

/**
 * struct coll_immediate - an operation that its thread executes
 * @reqs: of the member
 * @op: the call
 * @plan: the call as the schedules see it
 * @footprint: bytes of the buffers that it touches
 * @signature: part of the call that must be the same on all ranks
 * @digest: of @signature
 * @instance: its number
 * @submit_ns: time of its beginning; ns
 * @waited_ns: how long it has waited for other ranks; ns
 * @needs: the ranks without which it cannot complete
 * @published: it is on the board
 * @next: the rank that the next scan begins with
 * @awaited: the rank that was missing last
 * @found: what the latest scan has found
 * @input: copy of the input
 * @result: the result, until it is copied
 * @small: memory of both
 */
struct coll_immediate {
	struct coll_requests *reqs;
	const struct collective_op *op;
	struct coll_plan plan;
	struct coll_footprint footprint;
	struct coll_signature signature;
	u64 digest;
	u64 instance;
	u64 submit_ns;
	u64 waited_ns;
	u64 needs;
	bool published;
	u32 next;
	u32 awaited;
	enum coll_board_found found;
	u8 *input;
	u8 *result;
	u8 small[SMALL_BYTES] __aligned(8);
};

static struct coll_board *board_of(const struct coll_immediate *immediate)
{
	return READ_ONCE(immediate->reqs->lanes[0].engine.board);
}

static u64 input_bytes(const struct coll_immediate *immediate)
{
	return coll_board_published(&immediate->plan, immediate->plan.rank);
}

static u64 result_bytes(const struct coll_immediate *immediate)
{
	return coll_request_result_bytes(&immediate->footprint);
}

static const void __user *input_of(const struct coll_immediate *immediate)
{
	const struct coll_footprint *footprint = &immediate->footprint;

	if (footprint->in_place && footprint->range[COLL_AREA_RECV].bytes)
		return u64_to_user_ptr(immediate->op->recv + footprint->own);
	return u64_to_user_ptr(immediate->op->send);
}

/*
 * May the thread execute a call, so far as that is seen before it is checked?  Registered memory
 * may be of another process, or not be mapped any more.
 */
static bool is_candidate(const struct coll_requests *reqs, const struct collective_op *op)
{
	return IS_ENABLED(CONFIG_64BIT) && reqs->id->board && !op->layout && !op->send_buffer &&
	       !op->recv_buffer && op->count <= COLL_BOARD_PUBLISHED &&
	       !(op->flags & ~IMMEDIATE_FLAGS);
}

/* Describe a call.  Return: false if it is not one of the board, or wrong. */
static bool immediate_describe(struct coll_immediate *immediate)
{
	struct coll_block_layout *layout;

	if (coll_validate(immediate->op, immediate->reqs, &immediate->plan, &immediate->footprint,
			  &layout))
		return false;
	if (!immediate->plan.schedule->board || !board_of(immediate) ||
	    result_bytes(immediate) > RESULT_MAX)
		return false;
	immediate->signature =
		coll_request_signature(immediate->op, &immediate->plan, &immediate->footprint);
	immediate->digest = coll_signature_digest(&immediate->signature);
	immediate->needs = coll_board_needs(&immediate->plan);
	return true;
}

/*
 * Have memory for input and result, for a request, and for what is counted.  Return: false if there
 * is none.
 */
static bool immediate_allocate(struct coll_immediate *immediate)
{
	const u64 input = ALIGN(input_bytes(immediate), 8), result = result_bytes(immediate);

	if (coll_request_board(immediate->reqs, &immediate->plan) ||
	    coll_request_reserve(immediate->reqs))
		return false;
	coll_request_reserve_times(immediate->reqs, immediate->plan.collective);
	immediate->input = immediate->small;
	if (input + result > SMALL_BYTES)
		immediate->input = kmalloc(input + result, GFP_KERNEL_ACCOUNT);
	if (!immediate->input)
		return false;
	immediate->result = immediate->input + input;
	return true;
}

static void immediate_free(const struct coll_immediate *immediate)
{
	if (immediate->input != immediate->small)
		kfree(immediate->input);
}

/*
 * Copy the input, and look whether the result can be stored: a wrong address is found before the
 * operation has its place in the order.  Return: false if it is one.
 */
static bool immediate_load(const struct coll_immediate *immediate)
{
	const u64 bytes = immediate->footprint.range[COLL_AREA_RECV].bytes;

	if (copy_from_user(immediate->input, input_of(immediate), input_bytes(immediate)))
		return false;
	return !bytes || !fault_in_safe_writeable(u64_to_user_ptr(immediate->op->recv), bytes);
}

/* Return: false if a rank is so far behind that there is no place. */
static bool immediate_publish(const struct coll_immediate *immediate)
{
	const struct coll_plan *plan = &immediate->plan;
	const enum coll_board_place place = coll_board_place(plan, plan->rank);
	struct coll_board *board = board_of(immediate);

	if (!coll_board_reserve(board, immediate->instance, place))
		return false;
	memcpy(coll_board_payload(board, board->rank, immediate->instance, place), immediate->input,
	       input_bytes(immediate));
	coll_board_publish_call(board, plan, immediate->instance, &immediate->signature,
				immediate->digest);
	return true;
}

/* Return: false while a rank is missing or too far behind, and the kernel asks for no attention. */
static bool immediate_look(void *ctx)
{
	struct coll_immediate *immediate = ctx;
	const struct coll_board *board = board_of(immediate);

	immediate->published = immediate->published || immediate_publish(immediate);
	if (immediate->published)
		immediate->found = coll_board_scan(board, immediate->instance, immediate->digest,
						   immediate->needs, &immediate->next);
	if (immediate->found != COLL_BOARD_MISSING)
		return true;
	immediate->awaited = immediate->published ? immediate->next : coll_board_slowest(board);
	return READ_ONCE(immediate->reqs->process.attention);
}

/* Publish the operation, and wait.  Return: true if all ranks that are needed have published it. */
static bool immediate_wait(struct coll_immediate *immediate)
{
	u64 since;

	immediate->next = 0;
	immediate->found = COLL_BOARD_MISSING;
	if (!immediate_look(immediate)) {
		since = ktime_get_ns();
		if (immediate->published && coll_board_wakes(board_of(immediate)))
			coll_lane_wake_board(&immediate->reqs->lanes[0]);
		coll_poll_until(immediate->reqs, immediate->footprint.block, immediate_look,
				immediate);
		immediate->waited_ns += ktime_get_ns() - since;
	}
	return immediate->found == COLL_BOARD_COMPLETE;
}

static void *kernel_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	*len = mem->length;
	return (void *)(uintptr_t)off;
}

/* Memory of the kernel: offsets are addresses. */
const struct coll_mem coll_immediate_mem = { .at = kernel_at, .length = SIZE_MAX };

static void immediate_take(struct coll_immediate *immediate)
{
	struct coll_requests *reqs = immediate->reqs;
	struct coll_board_out out = {
		.mem = &coll_immediate_mem,
		.off = (uintptr_t)immediate->result,
		.input = &coll_immediate_mem,
		.input_off = (uintptr_t)immediate->input,
		.impl = reqs->lanes[0].engine.impl,
		.stats = &reqs->process.stats,
	};
	struct coll_fpu fpu = { 0 };

	if (!coll_plan_reduces(&immediate->plan)) {
		coll_board_take(board_of(immediate), &immediate->plan, immediate->instance, &out);
		return;
	}
	/* For coll_fpu_part(). */
	preempt_disable();
	coll_fpu_begin(&fpu);
	out.part = coll_fpu_part();
	coll_board_take(board_of(immediate), &immediate->plan, immediate->instance, &out);
	coll_fpu_end(&fpu);
	preempt_enable();
}

/* Count and record the operation, which is complete, and give up its place. */
static void immediate_end(const struct coll_immediate *immediate)
{
	struct coll_requests *reqs = immediate->reqs;
	const struct coll_trace *trace = &reqs->state->trace;
	bool sleepers = coll_board_finish(board_of(immediate), immediate->instance);
	u64 now;

	spin_lock(&reqs->state->lock);
	atomic64_inc(&reqs->counters.completed);
	now = coll_record_done(trace, immediate->instance, 0, NULL, immediate->submit_ns);
	coll_times_add_immediate(reqs, immediate->plan.collective, now - immediate->submit_ns,
				 immediate->waited_ns, immediate->awaited, now);
	coll_process_end(reqs, immediate->instance, immediate->plan.collective, now);
	spin_unlock(&reqs->state->lock);
	if (sleepers)
		coll_lane_wake_board(&reqs->lanes[0]);
}

/*
 * Copy a result to the process.  It was writable when the operation began, so that another thread
 * has unmapped it if it is not.  Return: 0 or -EFAULT.
 */
static int store(const struct collective_op *op, const struct coll_footprint *footprint,
		 const void *result)
{
	const u64 bytes = footprint->range[COLL_AREA_RECV].bytes;

	return copy_to_user(u64_to_user_ptr(op->recv), result, bytes) ? -EFAULT : 0;
}

/**
 * coll_immediate_store() - copy the result of a request to the process
 * @request: has succeeded, and has a coll_request_bounce()
 *
 * Context: process of the mm that joined; may sleep.
 * Return: 0 or -EFAULT.
 */
int coll_immediate_store(const struct coll_request *request)
{
	return store(&request->op, &request->footprint,
		     (void *)(uintptr_t)request->off[COLL_AREA_RECV]);
}

/* Take the result, for which all ranks have published.  Return: 0 or -EFAULT. */
static int immediate_complete(struct coll_immediate *immediate)
{
	immediate_take(immediate);
	immediate_end(immediate);
	return store(immediate->op, &immediate->footprint, immediate->result);
}

/*
 * Execute an operation that has its place in the order.  If there is no memory even to start the
 * request that is reserved, the thread goes on itself, until the time of the operation is over.
 */
static int immediate_execute(struct coll_immediate *immediate, const struct coll_begun *begun,
			     u64 *id, struct coll_wait *wait)
{
	struct coll_requests *reqs = immediate->reqs;
	int err;

	for (;;) {
		if (immediate_wait(immediate))
			return immediate_complete(immediate);
		err = coll_request_submit_begun(reqs, immediate->op, begun, id, wait);
		if (err != -EBUSY)
			return err;
		__set_current_state(TASK_KILLABLE | TASK_FREEZABLE);
		schedule_timeout(1);
		if (fatal_signal_pending(current))
			return coll_process_failed(reqs, immediate->op, COLL_FROM_THREAD,
						   immediate->instance, -EINTR);
	}
}

/* Return: false if the operation is to be a request from its beginning on. */
static bool immediate_begin(struct coll_immediate *immediate)
{
	struct coll_requests *reqs = immediate->reqs;
	bool begun;

	spin_lock(&reqs->state->lock);
	begun = coll_process_begin(reqs, immediate->submit_ns, &immediate->instance);
	if (begun) {
		atomic64_inc(&reqs->counters.submitted);
		coll_record_submit(&reqs->state->trace, immediate->instance,
				   &immediate->signature, immediate->footprint.block, 1,
				   immediate->submit_ns);
	}
	spin_unlock(&reqs->state->lock);
	return begun;
}

/* Submit an operation whose input is copied, and wait until it is complete. */
static int immediate_submit(struct coll_immediate *immediate, u64 *id, struct coll_wait *wait)
{
	struct coll_begun begun = { .input = immediate->input };

	immediate->submit_ns = ktime_get_ns();
	if (!immediate_begin(immediate))
		return coll_request_submit_begun(immediate->reqs, immediate->op, &begun, id,
						 wait);
	begun.origin = COLL_FROM_THREAD;
	begun.instance = immediate->instance;
	begun.submit_ns = immediate->submit_ns;
	return immediate_execute(immediate, &begun, id, wait);
}

/**
 * coll_immediate_submit() - submit an operation, and wait until it is complete
 * @reqs: of the member
 * @op: the call
 * @id: see coll_request_submit()
 * @wait: likewise
 *
 * Context: process of the mm that joined; may sleep.
 * Return: as coll_request_submit().
 */
int coll_immediate_submit(struct coll_requests *reqs, const struct collective_op *op, u64 *id,
			  struct coll_wait *wait)
{
	struct coll_immediate immediate;
	int err;

	if (!wait->timeout || !is_candidate(reqs, op))
		return coll_request_submit(reqs, op, id, wait);
	immediate.reqs = reqs;
	immediate.op = op;
	immediate.waited_ns = 0;
	immediate.published = false;
	immediate.awaited = COLL_NO_RANK;
	if (!immediate_describe(&immediate) || !immediate_allocate(&immediate))
		return coll_request_submit(reqs, op, id, wait);
	*id = 0;
	wait->index = 0;
	err = immediate_load(&immediate) ? immediate_submit(&immediate, id, wait) : -EFAULT;
	immediate_free(&immediate);
	return err;
}
