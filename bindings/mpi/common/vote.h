/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Votes: may the ranks run a blocking call that does not fit the region of their group?
 *
 * A vote that fails takes as long as a small operation, and the next one fails, too, as long as the
 * memory of the users is what it is.  So after one that has failed, the next call of as many bytes
 * is left to MPI without a vote; after another one the next two, four and so on.  All ranks hear
 * the same result, and count the same calls.
 */
#ifndef CM_VOTE_H
#define CM_VOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/functions.h"

struct cm_call;
struct cm_group;
struct cm_task;

/**
 * struct cm_votes - what the votes of a group have decided
 * @bytes: least bytes of the calls that could not be run: cm_call_room()
 * @pause: calls of so many bytes or more that were left without a vote after the latest one that
 *	failed; 0: none has failed since one of them could be run
 * @left: how many of them are still to come
 */
struct cm_votes {
	size_t bytes;
	unsigned int pause;
	unsigned int left;
};

/**
 * cm_vote_is_due - do the ranks vote on a call?
 * @group: group of the call
 * @call: blocking call that does not fit the region
 *
 * Return: false: it is left to MPI, and counted as such.
 */
bool cm_vote_is_due(struct cm_group *group, const struct cm_call *call);

/**
 * cm_vote_run - run a task if all ranks can pin its buffers
 * @task: task of a call on which the ranks vote
 * @call: the call
 * @built: this rank has built the task
 * @err: set to 0 or the negative errno of the vote or of the operation
 *
 * Return: CM_TAKEN, or CM_LOCKED_MEMORY: a rank cannot, and the call is left to MPI.
 */
enum cm_reason cm_vote_run(struct cm_task *task, const struct cm_call *call, bool built, int *err);

#endif /* CM_VOTE_H */
