/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's group of a communicator.
 *
 * A group is made at a place that all ranks share: inside the blocking collective that is the N-th
 * by count.  What counts depends on settings and on the ranks' hosts, which each rank knows of all
 * others by their profiles; if one has told none, or has other settings, none of them says
 * anything.  In the N-th one all ranks agree that each can make a group; then they make it; then
 * they agree that each has it.  If one of them cannot, the
 * communicator never tries again.  Nothing that only one rank knows decides anything.
 *
 * A nonblocking collective cannot wait for other ranks.  So the ranks agree in some of the blocking
 * ones, of any size, whether there have been enough nonblocking ones for a group.  The call that
 * makes a persistent collective may wait, and the first one makes the group.
 *
 * Nonblocking collectives are numbered for themselves, and those that are called after the group
 * was made go to the kernel, by a key.  What MPI itself calls out of its progress, at times that
 * differ by rank (MPI_Comm_idup), is left to it by the binding, and has no number.
 */
#ifndef CM_GROUP_H
#define CM_GROUP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/functions.h"
#include "common/queue.h"
#include "common/region.h"
#include "common/vote.h"

struct coll_comm;
struct cm_call;
struct cm_profile;

#define CM_TEXT_SIZE	512

/**
 * enum cm_group_state - state of the group of a communicator
 *
 * It only moves down this list, but for CM_GROUP_MAKING, after which collectives may be counted on.
 */
enum cm_group_state {
	CM_GROUP_NEW,		/* no collective yet */
	CM_GROUP_COUNTING,	/* collectives are counted */
	CM_GROUP_MAKING,	/* MPI's own path, and what it calls, makes it or agrees about it */
	CM_GROUP_UP,
	CM_GROUP_NEVER,		/* a rank cannot: all calls are left to MPI */
};

/**
 * struct cm_peers - the ranks of the communicator, reached by MPI's own path
 * @context: first argument of the functions
 * @min: set each of @count values to the minimum of all ranks; 0 or an error of MPI
 * @gather: collect @size bytes of each rank, in the order of ranks; 0 or an error of MPI
 * @profile: profile of a rank; NULL: it has told none.  Waits for no message of MPI
 * @local: number of processes of this program on this host
 */
struct cm_peers {
	void *context;
	const struct cm_profile *(*profile)(void *context, int rank);
	int (*min)(void *context, long long *values, int count);
	int (*gather)(void *context, const void *mine, size_t size, void *all);
	int local;
};

/**
 * struct cm_group - the group of a communicator
 * @state: enum cm_group_state
 * @rank: rank of this process
 * @size: number of ranks
 * @comm: communicator of the library, while @state is CM_GROUP_UP
 * @failed: 0, or the negative errno with which all further calls fail
 * @calls: number of blocking collectives, of those that count, before the group was made
 * @blocking: number of all blocking collectives before that
 * @place: number of the blocking collective in which the ranks agree about nonblocking ones
 * @waiting: number of nonblocking collectives that a group would have taken
 * @started: number of nonblocking collectives, without those of MPI itself
 * @first: number of the first nonblocking collective that goes to the kernel
 * @persistent: number of persistent collectives that went to the kernel
 * @bits_left: by form: a reduction of floating point numbers was left because there was no group
 *	yet, so that all are, with the setting that keeps their bits
 * @one_host: all ranks are on one host; known from CM_GROUP_COUNTING on
 * @sharing: how many ranks share a CPU of that host: cm_limits_sharing(); likewise
 * @small: bytes a rank of blocking calls that are taken because processes execute them without the
 *	kernel; 0: no such calls
 * @region: memory on which operations work instead of the program's
 * @votes: on blocking calls that do not fit it; on those of which not every rank knows the size
 * @persistent_room: number of bytes of it that all persistent collectives have
 * @counted: its kernel memory is accounted for (memory.c)
 * @queues: nonblocking and persistent tasks, by form
 * @error_code: code of MPI that stands for failures of this group; 0: none yet
 * @lock: protects @comm against cm_group_failed(), and @text
 * @looks: held to read while a request of @comm is looked at, and to write while @comm is ended:
 *	threads look at the requests of all groups.  Taken after all other locks
 * @text: why the latest operation failed
 */
struct cm_group {
	atomic_int state;
	int rank;
	int size;
	struct coll_comm *comm;
	atomic_int failed;
	int calls;
	unsigned long long blocking;
	unsigned long long place;
	atomic_llong waiting;
	atomic_ullong started;
	unsigned long long first;
	unsigned long long persistent;
	bool bits_left[CM_FORM_COUNT];
	bool one_host;
	unsigned int sharing;
	size_t small;
	struct cm_region region;
	struct cm_votes votes[2];
	size_t persistent_room;
	bool counted;
	struct cm_queue queues[CM_FORM_COUNT];
	int error_code;
	pthread_mutex_t lock;
	pthread_rwlock_t looks;
	char text[CM_TEXT_SIZE];
};

/** cm_group_init - initialize the group of a communicator; it is not made yet */
void cm_group_init(struct cm_group *group, int rank, int size);

/** cm_group_leave - leave the group for ever; no task is under way */
void cm_group_leave(struct cm_group *group);

/** cm_group_destroy - leave the group; no task is under way */
void cm_group_destroy(struct cm_group *group);

/**
 * cm_group_blocking - account for a blocking collective, and make the group if it is time
 * @group: group
 * @peers: ranks of the communicator
 * @call: the collective; it counts if it can be taken
 *
 * Context: inside a blocking collective that MPI has not begun.
 * Return: true if the group is up.
 */
bool cm_group_blocking(struct cm_group *group, const struct cm_peers *peers,
		       const struct cm_call *call);

/**
 * cm_group_nonblocking - account for a nonblocking collective
 * @group: group
 * @call: the collective
 * @key: set to its key
 *
 * Return: true if it goes to the kernel.
 */
bool cm_group_nonblocking(struct cm_group *group, const struct cm_call *call,
			  unsigned long long *key);

/**
 * cm_group_initializing - make the group for a persistent collective that it can take
 * @group: group
 * @peers: ranks of the communicator
 * @call: the collective
 *
 * Context: inside the call that makes the persistent collective, which may wait for other ranks.
 * Return: true if the group is up.
 */
bool cm_group_initializing(struct cm_group *group, const struct cm_peers *peers,
			   const struct cm_call *call);

/**
 * cm_group_persistent - account for a persistent collective that goes to the kernel
 * @group: group that is up
 * @call: the collective, which cm_call_reason() takes
 *
 * Return: its key.
 */
unsigned long long cm_group_persistent(struct cm_group *group, const struct cm_call *call);

/** cm_group_busy - does this process use MPI's own path for the group? */
static inline bool cm_group_busy(const struct cm_group *group)
{
	return group->state == CM_GROUP_MAKING;
}

/** cm_group_reason - why does a call find no group? */
enum cm_reason cm_group_reason(const struct cm_group *group);

/**
 * cm_group_failed - note that an operation has failed
 * @group: group that is up
 * @err: its negative errno
 * @function: name of the function of MPI
 * @here: this process has found it, not the kernel
 *
 * Keeps the text.  If only this rank cannot do its part, it leaves the group, so that the others
 * do not wait for it, and all its further calls fail.
 */
void cm_group_failed(struct cm_group *group, int err, const char *function, bool here);

/**
 * cm_group_hold - use the communicator of a group
 * @group: group that is up
 * @comm: set to the communicator, which does not end before cm_group_release()
 *
 * Return: 0, or why the group failed: a negative errno, and there is no communicator.
 */
int cm_group_hold(struct cm_group *group, struct coll_comm **comm);

/** cm_group_release - end what cm_group_hold() began */
void cm_group_release(struct cm_group *group);

/** cm_group_text - copy the text of the latest failure to @text, of @size bytes */
void cm_group_text(struct cm_group *group, char *text, size_t size);

/**
 * cm_error_class - class of error codes that have a string of their own
 * @class: what MPI calls such an error
 *
 * The binding of each library implements it.
 */
int cm_error_class(int class);

/**
 * cm_group_error - error code of MPI for a failed operation
 * @group: its group
 * @err: negative errno
 *
 * The string of the code is the reason, with the rank at fault.
 */
int cm_group_error(struct cm_group *group, int err);

#endif /* CM_GROUP_H */
