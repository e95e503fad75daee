// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulator that cannot fail proves nothing: some rules are broken on purpose.
 * Rules of the core are broken from outside (the linker's --wrap), the others where
 * the simulator follows them.
 */
#include "sim.h"

const char * const mutation_names[MUTATION_COUNT] = {
	[MUTATION_NONE]		= "none",
	[MUTATION_CONSUMED]	= "what was sent counts as consumed",
	[MUTATION_FORWARD]	= "what has not arrived is forwarded",
	[MUTATION_LEASE]	= "leases never end",
	[MUTATION_KICK]		= "a kick is lost now and then",
	[MUTATION_CONTROL]	= "control frames overtake each other",
	[MUTATION_GRANT]	= "a grant stays when its run has left",
	[MUTATION_REQUEST]	= "who asks for a grant is not answered",
	[MUTATION_WINDOW]	= "more is granted than a window can take",
	[MUTATION_LEFT]		= "what is in a window counts as gone too early",
	[MUTATION_ASIDE]	= "nothing is set aside of what is overwritten",
	[MUTATION_ROOM]		= "what there is no room for is stored",
	[MUTATION_WIDE]		= "wide sums are rounded on the way",
	[MUTATION_SWAP]		= "what is swapped is granted before it is copied",
	[MUTATION_HAZARD]	= "what was sent is overwritten as if it never had been",
	[MUTATION_FRAMING]	= "open frames of an operation are counted in 8 bits",
	[MUTATION_FORGET]	= "of names that have failed only the latest are remembered",
	[MUTATION_SIFT]		= "what is staged for a name that has failed stays",
	[MUTATION_AHEAD]	= "a rank may be ahead of the others as far as it likes",
	[MUTATION_LATE]		= "aborts of what is far ahead of a rank are dropped there",
	[MUTATION_STEPS]	= "steps are counted in 8 bits",
	[MUTATION_ENFORCE]	= "what was not granted is taken",
	[MUTATION_POSITION]	= "positions are told in 32 bits",
	[MUTATION_NAME]		= "names are told in 32 bits",
	[MUTATION_BALANCE]	= "counts that differ are taken for the same",
};

u64 __real_coll_task_sendable(const struct coll_task *task);
u64 __wrap_coll_task_sendable(const struct coll_task *task);

u64 __wrap_coll_task_sendable(const struct coll_task *task)
{
	const struct member *member = member_of(task->engine);
	u64 honest = __real_coll_task_sendable(task);

	if (member->sim->config.mutation != MUTATION_FORWARD || task->error ||
	    task->tx_step == task->nsteps)
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

/* Called by streams only when a request has come. */
void __real_coll_task_grant(struct coll_task *task);
void __wrap_coll_task_grant(struct coll_task *task);

void __wrap_coll_task_grant(struct coll_task *task)
{
	if (member_of(task->engine)->sim->config.mutation != MUTATION_REQUEST)
		__real_coll_task_grant(task);
}

void __real_coll_task_set_length(struct coll_task *task, const struct coll_data *data);
void __wrap_coll_task_set_length(struct coll_task *task, const struct coll_data *data);

void __wrap_coll_task_set_length(struct coll_task *task, const struct coll_data *data)
{
	bool first = task->rx.length_from_sender && !task->length_known;

	__real_coll_task_set_length(task, data);
	/* By one element: behind the buffer there is a margin, but no more. */
	if (first && member_of(task->engine)->sim->config.mutation == MUTATION_ROOM)
		task->capacity += task->args.plan.size;
}

void __real_coll_task_scratch_freed(struct coll_task *task, u64 left);
void __wrap_coll_task_scratch_freed(struct coll_task *task, u64 left);

void __wrap_coll_task_scratch_freed(struct coll_task *task, u64 left)
{
	const struct member *member = member_of(task->engine);

	if (member->sim->config.mutation == MUTATION_LEFT)
		left += task->args.area[COLL_AREA_SCRATCH]->length / 2;
	__real_coll_task_scratch_freed(task, left);
}

/* Called by streams as a frame begins, when it has been counted. */
void __real_coll_task_tx_advance(struct coll_task *task, struct coll_stream *stream, u32 len);
void __wrap_coll_task_tx_advance(struct coll_task *task, struct coll_stream *stream, u32 len);

void __wrap_coll_task_tx_advance(struct coll_task *task, struct coll_stream *stream, u32 len)
{
	if (member_of(task->engine)->sim->config.mutation == MUTATION_FRAMING)
		task->open_frames = (u8)task->open_frames;
	__real_coll_task_tx_advance(task, stream, len);
}

void __real_coll_task_frame_sent(struct coll_task *task);
void __wrap_coll_task_frame_sent(struct coll_task *task);

void __wrap_coll_task_frame_sent(struct coll_task *task)
{
	if (member_of(task->engine)->sim->config.mutation == MUTATION_FRAMING && !task->open_frames)
		task->open_frames = U8_MAX + 1;
	__real_coll_task_frame_sent(task);
}

u64 __real_coll_stream_deliver_unexpected(struct coll_stream *stream, u64 instance);
u64 __wrap_coll_stream_deliver_unexpected(struct coll_stream *stream, u64 instance);

u64 __wrap_coll_stream_deliver_unexpected(struct coll_stream *stream, u64 instance)
{
	const struct member *member = member_of(stream->engine);

	if (member->sim->config.mutation == MUTATION_SIFT && distance_failed(member, instance))
		return 0;
	return __real_coll_stream_deliver_unexpected(stream, instance);
}

bool __real_coll_task_is_granted(const struct coll_task *task, const struct coll_data *data);
bool __wrap_coll_task_is_granted(const struct coll_task *task, const struct coll_data *data);

bool __wrap_coll_task_is_granted(const struct coll_task *task, const struct coll_data *data)
{
	return member_of(task->engine)->sim->config.mutation == MUTATION_ENFORCE ||
	       __real_coll_task_is_granted(task, data);
}

static u64 narrow_steps(const struct coll_plan *plan)
{
	return (u8)coll_schedule_find(plan)->steps(plan);
}

/**
 * mutation_schedule() - the schedule of an operation, if it is not to be found
 * @sim: the world
 * @plan: the operation
 *
 * Return: one with a count of steps that is cut, or NULL.
 */
const struct coll_schedule *mutation_schedule(const struct sim *sim, const struct coll_plan *plan)
{
	static struct coll_schedule narrow[64];
	const struct coll_schedule *schedule;
	u32 i = 0;

	if (sim->config.mutation != MUTATION_STEPS)
		return NULL;
	schedule = coll_schedule_find(plan);
	while (narrow[i].name && strcmp(narrow[i].name, schedule->name))
		i++;
	narrow[i] = *schedule;
	narrow[i].steps = narrow_steps;
	return &narrow[i];
}
