// SPDX-License-Identifier: LGPL-2.1-or-later
/* Votes: see vote.h. */
#include <errno.h>
#include <stdint.h>

#include "common/group.h"
#include "common/progress.h"
#include "common/task.h"
#include "common/vote.h"

/* Most calls that are left without a vote after one that has failed */
#define PAUSE_MAX	1024

/**
 * struct vote - what a rank says of a call before it; the ranks get the least of each number
 * @able: 1: it can do the call; 0: it cannot
 * @call: digest of the call
 * @other: the same with the other sign, of which the least is the greatest digest
 */
struct vote {
	long long able;
	long long call;
	long long other;
};

/*
 * The ranks vote on a call, by an operation in the region, which pins nothing.  It has its place
 * among the blocking ones.  No call of MPI has its algorithm, so that it fails if another rank
 * makes a call that needs no vote.
 *
 * Return: 0 or a negative errno; -EBADMSG: they make different calls.
 */
static int run_vote(struct cm_group *group, const struct cm_call *call, struct vote *vote)
{
	const long long digest = cm_call_digest(group, call);
	struct cm_call allreduce = {
		.function = CM_ALLREDUCE,
		.send = { .addr = MPI_IN_PLACE, .count = 3, .type = MPI_LONG_LONG },
		.recv = { .addr = vote, .count = 3, .type = MPI_LONG_LONG },
		.op = MPI_MIN,
	};
	struct cm_task task;
	int err = cm_task_build(&task, group, &allreduce, CM_BLOCKING);

	vote->call = digest;
	vote->other = -digest;
	task.op.algorithm = COLLECTIVE_ALGORITHM_TREE;
	/* What its failure names. */
	task.function = call->function;
	if (!err)
		err = cm_task_run(&task);
	cm_task_end(&task);
	return err ?: vote->call != digest || vote->other != -digest ? -EBADMSG : 0;
}

/* Calls of which not every rank knows the size say nothing about others. */
static struct cm_votes *votes_on(struct cm_group *group, size_t bytes)
{
	return &group->votes[bytes == SIZE_MAX];
}

bool cm_vote_is_due(struct cm_group *group, const struct cm_call *call)
{
	const size_t bytes = cm_call_room(group, call);
	struct cm_votes *votes = votes_on(group, bytes);

	if (!votes->left || bytes < votes->bytes)
		return true;
	votes->left--;
	return false;
}

static void note_failed(struct cm_votes *votes, size_t bytes)
{
	if (!votes->pause || bytes < votes->bytes)
		votes->bytes = bytes;
	votes->pause = !votes->pause ? 1 : votes->pause < PAUSE_MAX ? 2 * votes->pause : PAUSE_MAX;
	votes->left = votes->pause;
}

static void note_result(struct cm_group *group, const struct cm_call *call, bool able)
{
	const size_t bytes = cm_call_room(group, call);
	struct cm_votes *votes = votes_on(group, bytes);

	if (!able)
		note_failed(votes, bytes);
	else if (bytes >= votes->bytes)
		*votes = (struct cm_votes){ 0 };
}

/*
 * Each rank pins the buffers before it says so.  A rank that does not know the result of the vote
 * is out of step with the others, unless their calls differ, which all of them hear.
 */
enum cm_reason cm_vote_run(struct cm_task *task, const struct cm_call *call, bool built, int *err)
{
	struct vote vote = { .able = built && !cm_task_pin(task) };

	*err = run_vote(task->group, call, &vote);
	if (*err && *err != -EBADMSG)
		cm_group_failed(task->group, *err, cm_function_name(call->function), true);
	if (!*err) {
		note_result(task->group, call, vote.able);
		if (vote.able)
			*err = cm_task_run(task);
	}
	cm_task_unpin(task);
	return *err || vote.able ? CM_TAKEN : CM_LOCKED_MEMORY;
}
