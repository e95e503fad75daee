// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutations: rules that are broken on purpose, to prove that the checks of the simulator notice.
 *
 * Rules of the core are broken here, by wrappers of its functions (the linker's --wrap).  Rules
 * that the simulator itself follows are broken where it follows them.
 */
#include "sim.h"

const char * const mutation_names[MUTATION_COUNT] = {
	[MUTATION_NONE]		= "none",
	[MUTATION_CONSUMED]	= "payload counts as consumed as soon as it is sent",
	[MUTATION_CUT_THROUGH]	= "bytes are forwarded before they have arrived",
	[MUTATION_LEASE]	= "leases never end",
	[MUTATION_KICK]		= "one kick in 50 is lost",
	[MUTATION_CONTROL]	= "control frames overtake each other",
	[MUTATION_GRANT]	= "a grant is kept after the run that it was for",
	[MUTATION_REQUEST]	= "request frames are not answered with a grant",
	[MUTATION_WINDOW]	= "more is granted than a scratch window can take",
	[MUTATION_FREED]	= "bytes in a scratch window are freed too early",
	[MUTATION_SAVED_INPUT]	= "input that an operation in place overwrites is not saved",
	[MUTATION_CAPACITY]	= "one element more than the capacity is stored",
	[MUTATION_WIDE]		= "wide sums are rounded at every step",
	[MUTATION_EXCHANGE]	= "a block to be exchanged is granted before it is copied",
	[MUTATION_HAZARD]	= "memory that was sent is overwritten as if never sent",
	[MUTATION_OPEN_FRAMES]	= "the open frames of a task are counted in 8 bits",
	[MUTATION_FAILED_OPS]	= "only the latest failed keys and messages are remembered",
	[MUTATION_UNEXPECTED]	= "unexpected frames of a failed operation are kept",
	[MUTATION_DISTANCE]	= "a rank may be any distance ahead of the others",
	[MUTATION_LATE]		= "an abort of an operation far ahead of a rank is dropped",
	[MUTATION_STEPS]	= "steps are counted in 8 bits",
	[MUTATION_UNGRANTED]	= "payload that was not granted is accepted",
	[MUTATION_POSITION]	= "positions of CONSUMED and CREDIT are cut to 32 bits",
	[MUTATION_INSTANCE]	= "instances of GRANT are cut to 32 bits",
	[MUTATION_DROPPED]	= "requests that were dropped are not asked for again",
	[MUTATION_BLOCKED]	= "a sender that lacks credit gets no answer",
	[MUTATION_LATE_GRANT]	= "what was requested is sent on credit that comes meanwhile",
	[MUTATION_BALANCE]	= "different counts are taken for equal",
	[MUTATION_REVOKED]	= "payload that was revoked counts as stored",
	[MUTATION_SCRATCH_REF]	= "scratch sent by reference counts as freed when it is sent",
	[MUTATION_FINAL]	= "other ranks' results are read before they are final",
	[MUTATION_EXPOSED]		= "memory is used again while other ranks may read it",
	[MUTATION_WITHDRAW]	= "memory is read although it is withdrawn",
	[MUTATION_SIGNAL]	= "the count that a signal tells is not compared",
	[MUTATION_WAKE]		= "one wake-up in 10 by the board is lost",
	[MUTATION_SLOT]		= "a slot of the board is used again while a rank may read it",
	[MUTATION_DIGEST]	= "digests on the board are not compared",
	[MUTATION_NEEDS]	= "a rank that need not synchronize does not wait for rank 0",
};

static u8 board_mutation(const struct coll_board *board)
{
	return container_of(board, struct member, board)->sim->config.mutation;
}

bool __real_coll_board_finish(struct coll_board *board, u64 instance);
bool __wrap_coll_board_finish(struct coll_board *board, u64 instance);

bool __wrap_coll_board_finish(struct coll_board *board, u64 instance)
{
	return __real_coll_board_finish(board, instance + (board_mutation(board) == MUTATION_SLOT));
}

void __real_coll_board_take(const struct coll_board *board, const struct coll_plan *plan,
			    u64 instance, const struct coll_board_out *out);
void __wrap_coll_board_take(const struct coll_board *board, const struct coll_plan *plan,
			    u64 instance, const struct coll_board_out *out);

/* No rule is broken here: what reduces has the vector registers. */
void __wrap_coll_board_take(const struct coll_board *board, const struct coll_plan *plan,
			    u64 instance, const struct coll_board_out *out)
{
	struct member *member = container_of(board, struct member, board);

	if (member->fpu != coll_plan_reduces(plan))
		sim_fail(member->sim, "rank %u: takes a result with %s vector registers",
			 member->rank, member->fpu ? "needless" : "no");
	__real_coll_board_take(board, plan, instance, out);
}

enum coll_board_found __real_coll_board_scan(const struct coll_board *board, u64 instance,
					     u64 digest, u64 needs, u32 *rank);
enum coll_board_found __wrap_coll_board_scan(const struct coll_board *board, u64 instance,
					     u64 digest, u64 needs, u32 *rank);

enum coll_board_found __wrap_coll_board_scan(const struct coll_board *board, u64 instance,
					     u64 digest, u64 needs, u32 *rank)
{
	enum coll_board_found found;

	if (needs != COLL_BOARD_ALL && board_mutation(board) == MUTATION_NEEDS)
		needs &= ~BIT_ULL(0);
	found = __real_coll_board_scan(board, instance, digest, needs, rank);
	while (found == COLL_BOARD_DIFFERS && board_mutation(board) == MUTATION_DIGEST) {
		++*rank;
		found = __real_coll_board_scan(board, instance, digest, needs, rank);
	}
	return found;
}

u64 __real_coll_task_sendable(const struct coll_task *task);
u64 __wrap_coll_task_sendable(const struct coll_task *task);

u64 __wrap_coll_task_sendable(const struct coll_task *task)
{
	const struct member *member = member_of(task->engine);
	u64 honest = __real_coll_task_sendable(task);

	if (task->state != COLL_TASK_RUNNING || task->tx_step == task->nsteps)
		return honest;
	if (member->sim->config.mutation != MUTATION_CUT_THROUGH &&
	    (member->sim->config.mutation != MUTATION_FINAL || !task->schedule->reads))
		return honest;
	return (task->tx.signal ? 1 : task->tx.out.len) - task->tx_off;
}

void __real_coll_grants_drop(struct coll_grants *grants, u64 instance);
void __wrap_coll_grants_drop(struct coll_grants *grants, u64 instance);

void __wrap_coll_grants_drop(struct coll_grants *grants, u64 instance)
{
	const struct coll_stream *stream = container_of(grants, struct coll_stream, grants);

	if (member_of(stream->engine)->sim->config.mutation != MUTATION_GRANT)
		__real_coll_grants_drop(grants, instance);
}

/* Only calls from other files are wrapped: those of streams, for a request frame. */
void __real_coll_task_grant(struct coll_task *task);
void __wrap_coll_task_grant(struct coll_task *task);

void __wrap_coll_task_grant(struct coll_task *task)
{
	if (member_of(task->engine)->sim->config.mutation != MUTATION_REQUEST)
		__real_coll_task_grant(task);
}

bool __real_coll_task_expects(const struct coll_task *task, const struct coll_data *data);
bool __wrap_coll_task_expects(const struct coll_task *task, const struct coll_data *data);

bool __wrap_coll_task_expects(const struct coll_task *task, const struct coll_data *data)
{
	const struct member *member = member_of(task->engine);
	struct coll_data same = *data;

	if (member->sim->config.mutation == MUTATION_SIGNAL && task->schedule->reads)
		same.offset = task->args.plan.count;
	return __real_coll_task_expects(task, &same);
}

void __real_coll_task_set_length(struct coll_task *task, const struct coll_data *data);
void __wrap_coll_task_set_length(struct coll_task *task, const struct coll_data *data);

void __wrap_coll_task_set_length(struct coll_task *task, const struct coll_data *data)
{
	bool first = task->rx.length_from_sender && !task->length_known;

	__real_coll_task_set_length(task, data);
	/* Only one element more, because only a margin follows the buffer. */
	if (first && member_of(task->engine)->sim->config.mutation == MUTATION_CAPACITY)
		task->capacity += task->args.plan.size;
}

void __real_coll_task_scratch_freed(struct coll_task *task, u64 left);
void __wrap_coll_task_scratch_freed(struct coll_task *task, u64 left);

void __wrap_coll_task_scratch_freed(struct coll_task *task, u64 left)
{
	const struct member *member = member_of(task->engine);

	if (member->sim->config.mutation == MUTATION_FREED)
		left += task->args.area[COLL_AREA_SCRATCH]->length / 2;
	__real_coll_task_scratch_freed(task, left);
}

/* Streams call coll_task_tx_advance() when a frame begins, after open_frames has counted it. */
void __real_coll_task_tx_advance(struct coll_task *task, struct coll_stream *stream, u32 len);
void __wrap_coll_task_tx_advance(struct coll_task *task, struct coll_stream *stream, u32 len);

void __wrap_coll_task_tx_advance(struct coll_task *task, struct coll_stream *stream, u32 len)
{
	if (member_of(task->engine)->sim->config.mutation == MUTATION_OPEN_FRAMES)
		task->open_frames = (u8)task->open_frames;
	__real_coll_task_tx_advance(task, stream, len);
}

void __real_coll_task_frame_sent(struct coll_task *task);
void __wrap_coll_task_frame_sent(struct coll_task *task);

void __wrap_coll_task_frame_sent(struct coll_task *task)
{
	if (member_of(task->engine)->sim->config.mutation == MUTATION_OPEN_FRAMES &&
	    !task->open_frames)
		task->open_frames = U8_MAX + 1;
	__real_coll_task_frame_sent(task);
}

u64 __real_coll_stream_deliver_unexpected(struct coll_stream *stream, u64 instance);
u64 __wrap_coll_stream_deliver_unexpected(struct coll_stream *stream, u64 instance);

u64 __wrap_coll_stream_deliver_unexpected(struct coll_stream *stream, u64 instance)
{
	const struct member *member = member_of(stream->engine);

	if (member->sim->config.mutation == MUTATION_UNEXPECTED &&
	    distance_failed(member, instance))
		return 0;
	return __real_coll_stream_deliver_unexpected(stream, instance);
}

bool __real_coll_task_is_granted(const struct coll_task *task, const struct coll_data *data);
bool __wrap_coll_task_is_granted(const struct coll_task *task, const struct coll_data *data);

bool __wrap_coll_task_is_granted(const struct coll_task *task, const struct coll_data *data)
{
	return member_of(task->engine)->sim->config.mutation == MUTATION_UNGRANTED ||
	       __real_coll_task_is_granted(task, data);
}

int __real_coll_stream_credited(struct coll_stream *stream, u64 position, u8 answer);
int __wrap_coll_stream_credited(struct coll_stream *stream, u64 position, u8 answer);

int __wrap_coll_stream_credited(struct coll_stream *stream, u64 position, u8 answer)
{
	int err = __real_coll_stream_credited(stream, position, answer);
	struct coll_task *task, *next;

	if (member_of(stream->engine)->sim->config.mutation != MUTATION_LATE_GRANT)
		return err;
	list_for_each_entry_safe(task, next, &stream->waiting, tx_node) {
		if (task->tx_run_state != COLL_TASK_TX_ASKED || !task->args.eager)
			continue;
		task->tx_run_state = COLL_TASK_TX_CREDIT;
		coll_task_ready(task);
	}
	return err;
}

/* The number of steps, cut to 8 bits. */
static u64 narrow_steps(const struct coll_plan *plan)
{
	return (u8)coll_schedule_find(plan)->steps(plan);
}

/* Without the last signals, which say that a rank's memory is not read any more. */
static u64 short_steps(const struct coll_plan *plan)
{
	u64 steps = coll_schedule_find(plan)->steps(plan), n = plan->nranks;

	/* 3 log2(n) + n steps: the last third of the signals */
	return plan->collective == COLLECTIVE_ALLREDUCE ? steps - (steps - n) / 3 : steps;
}

/**
 * mutation_schedule() - get a false schedule for MUTATION_STEPS and MUTATION_EXPOSED
 * @sim: the world
 * @plan: plan of the operation
 *
 * Return: a schedule of which the number of steps is cut to 8 bits, or lacks the last signals; NULL
 * otherwise: the engine finds the right one.
 */
const struct coll_schedule *mutation_schedule(const struct sim *sim, const struct coll_plan *plan)
{
	static struct coll_schedule narrow[64];
	const struct coll_schedule *schedule;
	u32 i = 0;

	schedule = coll_schedule_find(plan);
	if (sim->config.mutation != MUTATION_STEPS &&
	    (sim->config.mutation != MUTATION_EXPOSED || !schedule->reads ||
	     !schedule->steps(plan)))
		return NULL;
	while (narrow[i].name && strcmp(narrow[i].name, schedule->name))
		i++;
	narrow[i] = *schedule;
	narrow[i].steps = sim->config.mutation == MUTATION_STEPS ? narrow_steps : short_steps;
	if (sim->config.mutation == MUTATION_EXPOSED)
		narrow[i].last_from = NULL;
	return &narrow[i];
}
