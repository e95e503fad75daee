// SPDX-License-Identifier: GPL-2.0-only
/* Operations that the process executes itself: see process_ops.h. */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "core/board/order.h"
#include "core/engine/instance.h"
#include "fail/failed_ops.h"
#include "fail/member_state.h"
#include "lane/lane.h"
#include "op/match.h"
#include "op/process_ops.h"
#include "op/request.h"
#include "op/requests.h"
#include "trace/recorder.h"

static_assert(COLLECTIVE_OPCODE_COUNT <= COLL_BOARD_CALLS);

/*
 * Tell the process whether it is to enter the kernel; the member is locked.  A reason that is gone
 * is found to be when the process has entered.
 */
static void process_set_attention(struct coll_requests *reqs)
{
	struct coll_process_ops *process = &reqs->process;
	bool attention = process->waiters || reqs->next_instance < process->alarm_until ||
			 reqs->ahead.failed || coll_request_too_far_ahead(reqs);

	WRITE_ONCE(process->attention, attention);
	WRITE_ONCE(process->words->attention, attention);
}

static void process_open(struct coll_requests *reqs, struct coll_board_words *words)
{
	struct coll_process_ops *process = &reqs->process;

	if (process->words)
		return;
	WRITE_ONCE(words->order, coll_order_word(reqs->next_instance, process->requests ?
						 COLL_ORDER_KERNEL : COLL_ORDER_FREE));
	process->words = words;
	process_set_attention(reqs);
}

/**
 * coll_process_open() - from now on the process takes part in the order of the operations
 * @reqs: of the member, which is up; not locked
 * @words: of the rank; they last until coll_process_close()
 *
 * Return: 0, also if it did before; or -ENOTCONN.
 */
int coll_process_open(struct coll_requests *reqs, struct coll_board_words *words)
{
	int err = 0;

	spin_lock(&reqs->state->lock);
	if (reqs->state->value != COLLECTIVE_STATE_UP)
		err = -ENOTCONN;
	else
		process_open(reqs, words);
	spin_unlock(&reqs->state->lock);
	return err;
}

/**
 * coll_process_close() - the words are about to go
 * @reqs: of a member without calls, not locked
 */
void coll_process_close(struct coll_requests *reqs)
{
	spin_lock(&reqs->state->lock);
	coll_process_sync(reqs);
	reqs->process.calls = coll_process_calls(reqs);
	reqs->process.words = NULL;
	spin_unlock(&reqs->state->lock);
}

/**
 * coll_process_is_at() - is the process at an operation?
 * @reqs: of the member, locked
 * @instance: out: which one, if it is
 */
bool coll_process_is_at(const struct coll_requests *reqs, u64 *instance)
{
	const struct coll_process_ops *process = &reqs->process;
	u64 word;

	lockdep_assert_held(&reqs->state->lock);
	if (process->immediate) {
		*instance = process->immediate - 1;
		return true;
	}
	if (!process->words || !coll_order_read(process->words, reqs->next_instance, &word) ||
	    coll_order_owner(word) != COLL_ORDER_PROCESS)
		return false;
	*instance = coll_order_count(word) - 1;
	return true;
}

/* Note the latest operation for queries, and the time at which it is known to be over; ns. */
static void process_note(struct coll_requests *reqs, u8 opcode, u64 now)
{
	reqs->last_submit_ns = now;
	reqs->last_ops = (struct coll_last_ops){
		.has_submitted = true,
		.submitted_opcode = opcode,
		.submitted = reqs->next_instance - 1,
		.submitted_at = now,
		.has_completed = true,
		.completed_opcode = opcode,
		.completed_kind = COLLECTIVE_REASON_NONE,
		.completed = reqs->next_instance - 1,
	};
}

/**
 * coll_process_called() - number of collectives without a key that the process has called
 * @reqs: of the member, locked
 *
 * Return: @next_instance, or one more if the process is at an operation.
 */
u64 coll_process_called(const struct coll_requests *reqs)
{
	u64 instance;

	return coll_process_is_at(reqs, &instance) ? instance + 1 : reqs->next_instance;
}

/* The operations below @count have succeeded; @opcode: the latest. */
static void process_count(struct coll_requests *reqs, u64 count, u8 opcode, u64 now)
{
	/* After a failure the process executes none but the one that it is at. */
	u64 instance = max(reqs->next_instance, count - min(count, COLL_BOARD_SLOTS));

	reqs->next_instance = count;
	for (; instance < count; instance++)
		coll_ahead_succeeded(reqs, instance);
	coll_unexpected_forget(reqs);
	process_set_attention(reqs);
	process_note(reqs, opcode, now);
}

/**
 * coll_process_sync() - count the operations that the process has executed since the last look
 * @reqs: of the member, locked
 *
 * They have succeeded, so all ranks have called them, or may be behind: ahead.h.
 */
void coll_process_sync(struct coll_requests *reqs)
{
	struct coll_process_ops *process = &reqs->process;
	u64 word, count, latest;

	lockdep_assert_held(&reqs->state->lock);
	if (!process->words || process->immediate)
		return;
	if (!coll_order_read(process->words, reqs->next_instance, &word)) {
		process->broken = true;
		return;
	}
	count = coll_order_count(word) - (coll_order_owner(word) == COLL_ORDER_PROCESS);
	if (count == reqs->next_instance)
		return;
	latest = READ_ONCE(process->words->latest);
	process_count(reqs, count, latest < COLLECTIVE_OPCODE_COUNT ? latest : COLLECTIVE_BARRIER,
		      ktime_get_ns());
}

/* May a thread of SUBMIT begin what a request can take over?  The member is locked. */
static bool may_begin(struct coll_requests *reqs)
{
	const struct coll_process_ops *process = &reqs->process;
	const struct coll_board *board = READ_ONCE(reqs->lanes->engine.board);

	if (reqs->state->aborted || reqs->state->value != COLLECTIVE_STATE_UP || !board)
		return false;
	process_open(reqs, board->part[board->rank]->words);
	coll_process_sync(reqs);
	return !process->broken && !process->requests && !process->immediate &&
	       !process->attention && reqs->spare && coll_request_has_space(reqs);
}

/**
 * coll_process_begin() - begin an operation in a thread of SUBMIT
 * @reqs: of the member, locked
 * @now: the time; ns
 * @instance: out: its number
 *
 * Until coll_process_end(), or until a request takes the operation over, the thread is the only one
 * in the kernel that executes anything on the board.
 *
 * Return: false if it is to be a request, which may have to wait for its turn.
 */
bool coll_process_begin(struct coll_requests *reqs, u64 now, u64 *instance)
{
	struct coll_process_ops *process = &reqs->process;

	lockdep_assert_held(&reqs->state->lock);
	if (!may_begin(reqs) || !coll_order_begin(process->words, reqs->next_instance))
		return false;
	*instance = reqs->next_instance;
	process->immediate = *instance + 1;
	process->immediate_ns = now;
	return true;
}

/**
 * coll_process_end() - end such an operation, which has succeeded
 * @reqs: of the member, locked
 * @instance: its number
 * @opcode: enum collective_opcode
 * @now: the time; ns
 */
void coll_process_end(struct coll_requests *reqs, u64 instance, u8 opcode, u64 now)
{
	struct coll_process_ops *process = &reqs->process;

	lockdep_assert_held(&reqs->state->lock);
	process->immediate = 0;
	/* The number rises whatever the process has stored: nothing is executed twice. */
	if (!coll_order_complete(process->words, instance))
		process->broken = true;
	process_count(reqs, instance + 1, opcode, now);
	if (process->waiters || reqs->state->stopped)
		wake_up_all(&reqs->state->wait);
}

/* Whether the operation is to be the next one, or that which the process is at. */
static enum coll_order_found process_place(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_board_words *words = reqs->process.words;

	if (request->origin != COLL_FROM_CALL)
		return request->call.instance == reqs->next_instance ?
		       coll_order_resume(words, reqs->next_instance, request->call.instance) :
		       COLL_ORDER_BROKEN;
	return coll_order_admit(words, reqs->next_instance, request->plan.schedule->board,
				&request->call.instance);
}

/**
 * coll_process_place() - give a collective without a key its place in the order of the operations
 * @request: that starts; its member is locked, and coll_process_sync() was called
 *
 * Return: 0; -EBUSY: coll_process_await() is needed first; -EINVAL: the process is not at the
 * operation that it hands over; or -EPROTO: it has stored what it must not.
 */
int coll_process_place(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_process_ops *process = &reqs->process;
	const bool begun = request->origin != COLL_FROM_CALL;

	lockdep_assert_held(&reqs->state->lock);
	if (process->broken)
		return -EPROTO;
	if (process->immediate && request->origin != COLL_FROM_THREAD)
		return -EBUSY;
	if (begun && !request->plan.schedule->board)
		return -EINVAL;
	if (!process->words) {
		if (begun)
			return -EINVAL;
		request->call.instance = reqs->next_instance;
	} else {
		switch (process_place(request)) {
		case COLL_ORDER_READY:
			break;
		case COLL_ORDER_BUSY:
			return -EBUSY;
		default:
			return request->origin == COLL_FROM_PROCESS ? -EINVAL : -EPROTO;
		}
		process->immediate = 0;
		if (begun && process->waiters)
			wake_up_all(&reqs->state->wait);
	}
	process->requests += request->plan.schedule->board;
	return 0;
}

/**
 * coll_process_notice() - tell the process whether it is to enter the kernel
 * @reqs: of the member, locked; what that depends on has changed
 */
void coll_process_notice(struct coll_requests *reqs)
{
	if (reqs->process.words)
		process_set_attention(reqs);
}

/**
 * coll_process_done() - a request is complete
 * @request: the request; its member is locked.  Nothing of it is on the board any more
 */
void coll_process_done(const struct coll_request *request)
{
	struct coll_process_ops *process = &request->reqs->process;

	lockdep_assert_held(&request->reqs->state->lock);
	if (!request->plan.schedule->board || --process->requests || !process->words)
		return;
	coll_order_end(process->words, COLL_ORDER_KERNEL);
}

static bool process_is_busy(struct coll_requests *reqs)
{
	u64 instance;
	bool busy;

	spin_lock(&reqs->state->lock);
	busy = !reqs->state->aborted && !reqs->state->stopped &&
	       coll_process_is_at(reqs, &instance);
	spin_unlock(&reqs->state->lock);
	return busy;
}

static void process_count_waiter(struct coll_requests *reqs, int change)
{
	spin_lock(&reqs->state->lock);
	reqs->process.waiters += change;
	coll_process_notice(reqs);
	spin_unlock(&reqs->state->lock);
}

/* Sleep until the process is at no operation.  Return: 0, -EAGAIN or -ERESTARTSYS. */
static int sleep_while_busy(struct coll_requests *reqs, unsigned int state, long left)
{
	DEFINE_WAIT(wait);
	int err = 0;

	for (;;) {
		prepare_to_wait(&reqs->state->wait, &wait, state);
		if (signal_pending_state(state, current))
			err = -ERESTARTSYS;
		else if (process_is_busy(reqs) && !left)
			err = -EAGAIN;
		if (err || !process_is_busy(reqs))
			break;
		left = schedule_timeout(left);
	}
	finish_wait(&reqs->state->wait, &wait);
	return err;
}

/**
 * coll_process_await() - wait until the process is at no operation
 * @request: that has no place yet; its member is not locked
 * @limit: longest time; jiffies
 *
 * Its thread looks for attention all the time, and hands its operation over, or ends it and calls
 * WAKE.  One that does neither, because a debugger holds it, has its own process wait.  An SQE is
 * issued once, and io_uring interrupts its threads for work of its own.
 *
 * Context: process of the mm that joined; may sleep.
 * Return: 0, -EAGAIN: the time is over; or -ERESTARTSYS.
 */
int coll_process_await(const struct coll_request *request, long limit)
{
	const unsigned int state = (request->completion_ops ? TASK_KILLABLE : TASK_INTERRUPTIBLE) |
				   TASK_FREEZABLE;
	struct coll_requests *reqs = request->reqs;
	int err;

	if (request->deadline)
		limit = clamp_t(long, request->deadline - jiffies, 1, limit);
	process_count_waiter(reqs, 1);
	/* @attention before the word: pairs with coll_order_release(). */
	smp_mb();
	err = sleep_while_busy(reqs, state, limit);
	process_count_waiter(reqs, -1);
	return err;
}

/* May the process go on with an operation that could not be handed over? */
static bool may_go_on(const struct coll_requests *reqs, u64 instance, int err)
{
	return (err == -ENOMEM || err == -EDQUOT || err == -EAGAIN) && !reqs->state->aborted &&
	       !coll_failed_ops_has(reqs->state->failed_ops, instance);
}

/* Count and record an operation that a thread of SUBMIT gives up. */
static void count_failure(struct coll_requests *reqs, u64 instance, int err,
			  const struct coll_reason *reason)
{
	atomic64_inc(&reqs->counters.completed);
	if (reason)
		atomic64_inc(&reqs->counters.failed[reason->kind]);
	coll_record_done(&reqs->state->trace, instance, err, reason, reqs->process.immediate_ns);
}

/*
 * Give the operation up that the process, or a thread of SUBMIT, is at.  Other ranks go on with
 * what this one has published, or have failed the operation, so that it has its place in the order;
 * and else none.
 */
static void give_up(struct coll_requests *reqs, u64 instance)
{
	struct coll_process_ops *process = &reqs->process;
	struct coll_board *board = reqs->lanes->engine.board;
	struct coll_board_words *words = process->words;

	process->refused = 0;
	if (coll_board_has(board, board->rank, instance) ||
	    coll_failed_ops_has(reqs->state->failed_ops, instance)) {
		if (process->immediate)
			coll_board_finish(board, instance);
		else
			/* What the process still reads of the others is its affair. */
			smp_store_release(&words->done, instance + 1);
		reqs->next_instance = max(reqs->next_instance, instance + 1);
		coll_unexpected_submitted(reqs);
		coll_unexpected_forget(reqs);
		coll_order_end(words, COLL_ORDER_PROCESS);
	} else {
		coll_order_cancel(words, instance);
	}
	process->immediate = 0;
	process_set_attention(reqs);
	wake_up_all(&reqs->state->wait);
}

/*
 * The process goes on with an operation for which there is no request, and so no deadline.  Return:
 * true if the time of the operation is over.
 */
static bool is_overdue(struct coll_requests *reqs, const struct collective_op *op, u64 instance)
{
	const unsigned long timeout = op->timeout_ms ? msecs_to_jiffies(op->timeout_ms) :
						       READ_ONCE(reqs->id->timeout);
	struct coll_process_ops *process = &reqs->process;

	if (process->refused != instance + 1) {
		process->refused = instance + 1;
		process->refused_until = timeout == MAX_JIFFY_OFFSET ? 0 : (jiffies + timeout) | 1;
	}
	return process->refused_until && time_after(jiffies, process->refused_until);
}

/* The other ranks are told, and so is the process when it tries again. */
static void fail_overdue(struct coll_requests *reqs, u64 instance)
{
	const struct coll_failure failure = {
		.reason = {
			.kind = COLLECTIVE_REASON_DEADLINE,
			.error = ETIMEDOUT,
			.rank_a = reqs->id->rank,
			.rank_b = COLLECTIVE_RANK_NONE,
		},
	};

	coll_match_abort(reqs, instance, &failure);
}

/* Is the process, or the thread of SUBMIT, at the operation that it could not hand over? */
static bool is_still_at(struct coll_requests *reqs, enum coll_request_origin origin, u64 instance)
{
	u64 at;

	/* A process that names the operation of the thread is at none. */
	if (reqs->process.immediate ? origin != COLL_FROM_THREAD : origin != COLL_FROM_PROCESS)
		return false;
	coll_process_sync(reqs);
	return coll_process_is_at(reqs, &at) && at == instance;
}

/* The member is locked.  Return: see coll_process_failed(). */
static int process_failed(struct coll_requests *reqs, enum coll_request_origin origin,
			  u64 instance, int err, bool *given_up)
{
	const struct coll_reason *reason = NULL;
	const struct coll_failure *failed;

	if (!is_still_at(reqs, origin, instance))
		return err;
	if (may_go_on(reqs, instance, err))
		return -EBUSY;
	failed = coll_failed_ops_find(reqs->state->failed_ops, instance);
	if (reqs->state->aborted) {
		err = reqs->state->aborted;
		reason = &reqs->state->reason;
	} else if (failed) {
		err = coll_errno_for_rank(reqs->state, &failed->reason);
		reason = &failed->reason;
	}
	if (origin == COLL_FROM_THREAD)
		count_failure(reqs, instance, err, reason);
	give_up(reqs, instance);
	*given_up = true;
	return err;
}

/**
 * coll_process_failed() - a hand-over has failed
 * @reqs: of the member, not locked
 * @op: the operation
 * @origin: where it has begun; not COLL_FROM_CALL
 * @instance: its number, whether or not a request has taken it over
 * @err: a negative errno
 *
 * Without memory for a request the process, or the thread, goes on, unless the operation has
 * failed.
 *
 * Return: -EBUSY: it is still at the operation; or the errno of the hand-over.
 */
int coll_process_failed(struct coll_requests *reqs, const struct collective_op *op,
			enum coll_request_origin origin, u64 instance, int err)
{
	bool given_up = false, overdue;
	int result;

	spin_lock(&reqs->state->lock);
	result = process_failed(reqs, origin, instance, err, &given_up);
	overdue = result == -EBUSY && is_overdue(reqs, op, instance);
	spin_unlock(&reqs->state->lock);
	if (overdue) {
		fail_overdue(reqs, instance);
		/* It has failed now, on this rank, too. */
		spin_lock(&reqs->state->lock);
		result = process_failed(reqs, origin, instance, err, &given_up);
		spin_unlock(&reqs->state->lock);
	}
	/* Other ranks may wait for space. */
	if (given_up)
		coll_lane_wake_board(&reqs->lanes[0]);
	return result;
}

/**
 * coll_process_alarm() - have the process enter the kernel with the operations up to one
 * @reqs: of the member, locked
 * @instance: number of that operation, which has failed; COLL_INSTANCE_GROUP: with all
 */
void coll_process_alarm(struct coll_requests *reqs, u64 instance)
{
	struct coll_process_ops *process = &reqs->process;

	lockdep_assert_held(&reqs->state->lock);
	process->alarm_until = max(process->alarm_until,
				   instance == COLL_INSTANCE_GROUP ? U64_MAX : instance + 1);
	coll_process_notice(reqs);
}

/**
 * coll_process_calls() - number of operations that the process has executed, as it says
 * @reqs: of the member, locked
 */
u64 coll_process_calls(const struct coll_requests *reqs)
{
	const struct coll_board_words *words = reqs->process.words;
	u64 calls = reqs->process.calls;
	u32 i;

	lockdep_assert_held(&reqs->state->lock);
	for (i = 0; words && i < COLLECTIVE_OPCODE_COUNT; i++)
		calls += READ_ONCE(words->calls[i]);
	return calls;
}
