// SPDX-License-Identifier: LGPL-2.1-or-later
/* The kernel's group of a communicator. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collective.h"
#include "common/group.h"
#include "common/memory.h"
#include "common/profile.h"
#include "common/ring.h"
#include "common/settings.h"
#include "common/task.h"

#define DEVICE	"/dev/collective"

/* Longest distance of two blocking collectives in which the ranks agree about nonblocking ones. */
#define PLACE_STEP_MAX	1600

/* Most ranks whose processes execute small calls. */
#define SMALL_RANKS	64

/* Values on which the ranks agree when they make a group: the minimum of each. */
enum {
	ABLE,			/* 1: this rank can make a group */
	STARTED_NEGATED,	/* number of nonblocking collectives */
	REGION,			/* bytes of the region; LLONG_MAX: none is needed */
	AGREED_COUNT
};

void cm_group_init(struct cm_group *group, int rank, int size)
{
	*group = (struct cm_group){ .state = CM_GROUP_NEW, .rank = rank, .size = size };
	pthread_mutex_init(&group->lock, NULL);
	pthread_rwlock_init(&group->looks, NULL);
}

/* With reproducible, the bits of a sum would change in the call that makes a group later. */
static int calls_before(void)
{
	return cm_settings.reproducible || cm_settings.calls < 1 ? 1 : cm_settings.calls;
}

/* Say once why no communicator of this process that is used like this one gets a group. */
static void say_unused(const struct cm_group *group)
{
	static atomic_bool said_waiting, said_small;
	/* Before the first blocking one it is not known which a group would have taken. */
	const long long waiting = group->state == CM_GROUP_NEW ? (long long)group->started :
								 (long long)group->waiting;

	if (group->state != CM_GROUP_NEW && group->state != CM_GROUP_COUNTING)
		return;
	if (waiting >= calls_before() && !atomic_exchange(&said_waiting, true))
		cm_say(1, "a communicator of %d ranks has had %lld nonblocking collectives, and too few blocking ones, of any size, to make a group in: all were left to MPI",
		       group->size, waiting);
	else if (group->blocking >= (unsigned int)calls_before() && !group->calls &&
		 !atomic_exchange(&said_small, true))
		cm_say(1, "a communicator of %d ranks has had %llu blocking collectives, all below min_bytes: all were left to MPI",
		       group->size, group->blocking);
}

void cm_group_leave(struct cm_group *group)
{
	say_unused(group);
	cm_memory_remove(group);
	group->state = CM_GROUP_NEVER;
	coll_finalize(group->comm);
	group->comm = NULL;
	cm_region_free(&group->region);
}

void cm_group_destroy(struct cm_group *group)
{
	cm_group_leave(group);
	pthread_rwlock_destroy(&group->looks);
	pthread_mutex_destroy(&group->lock);
}

static bool able(void)
{
	static atomic_bool said;

	if (!access(DEVICE, R_OK | W_OK))
		return true;
	if (!atomic_exchange(&said, true))
		cm_say(1, "%s: %s: MPI goes on without it", DEVICE, strerror(errno));
	return false;
}

/* All ranks agree whether each can make a group, and on common values. */
static bool agree(struct cm_group *group, const struct cm_peers *peers)
{
	long long values[AGREED_COUNT] = {
		[ABLE]			= able() && cm_memory_allows(group->size, peers->local),
		[STARTED_NEGATED]	= -(long long)group->started,
		[REGION]		= cm_region_reserve(&group->region, peers->local),
	};

	if (peers->min(peers->context, values, AGREED_COUNT))
		return false;
	group->first = -values[STARTED_NEGATED];
	group->region.bytes = values[REGION] == LLONG_MAX ? 0 : values[REGION];
	return values[ABLE];
}

static int exchange(void *context, const void *mine, size_t size, void *all)
{
	const struct cm_peers *peers = context;

	return peers->gather(peers->context, mine, size, all) ? -EIO : 0;
}

/* Pin the region, if there is one, and make a first operation, in the region. */
static int begin(struct cm_group *group)
{
	int values[2], *first = values, err;

	if (group->region.bytes) {
		err = cm_region_make(&group->region, group->comm);
		if (err)
			return err;
		first = (int *)group->region.addr;
	}
	first[0] = 1;
	return coll_allreduce(group->comm, &first[0], &first[1], 1, COLL_INT32, COLL_SUM);
}

/*
 * The region may exceed what the user may lock, and the first operation takes memory of the kernel
 * that a rank may not have.  Such a rank leaves, and the others are told.
 */
static int try_out(struct cm_group *group, char *detail, size_t size)
{
	int err = begin(group);

	if (!err)
		return 0;
	coll_error_detail_r(group->comm, detail, size);
	coll_finalize(group->comm);
	group->comm = NULL;
	return err;
}

static int join(struct cm_group *group, const struct cm_peers *peers)
{
	char detail[COLL_DETAIL_SIZE] = "";
	struct coll_config config = {
		.size = sizeof(config),
		.detail = detail,
		.detail_size = sizeof(detail),
		.rank = group->rank,
		.nranks = group->size,
		.timeout_ms = cm_settings.timeout_ms,
		.transport = cm_settings.transport,
		.exchange = exchange,
		.exchange_context = (void *)peers,
	};
	int err = coll_init(&group->comm, &config);

	if (!err)
		err = try_out(group, detail, sizeof(detail));
	if (err)
		cm_say(1, "%s: MPI goes on without it: %s", DEVICE, detail);
	return err;
}

/*
 * All ranks have started as many nonblocking collectives as when they have agreed, since the
 * program's have their place among the blocking ones; or no rank uses the group.  Ranks may differ
 * in what their processes execute.
 */
static bool agree_again(struct cm_group *group, const struct cm_peers *peers, int err)
{
	long long values[] = {
		!err && group->started == group->first,
		err || !cm_settings.wait_ms ? 0 : (long long)coll_small_bytes(group->comm),
	};

	if (peers->min(peers->context, values, 2))
		return false;
	if (values[1] < (long long)group->small)
		group->small = values[1];
	return values[0];
}

static void make(struct cm_group *group, const struct cm_peers *peers)
{
	int err;

	group->state = CM_GROUP_MAKING;
	if (!agree(group, peers)) {
		cm_group_leave(group);
		return;
	}
	err = join(group, peers);
	if (!agree_again(group, peers, err)) {
		cm_group_leave(group);
		return;
	}
	if (cm_settings.ring && cm_ring_open())
		cm_say(2, "no io_uring: each look at completion is a system call");
	cm_say(2, "rank %d of %d joined group %s", group->rank, group->size,
	       coll_name(group->comm));
	cm_memory_add(group);
	group->state = CM_GROUP_UP;
}

static void say_left(int rank, const char *why)
{
	static atomic_bool said;

	if (!atomic_exchange(&said, true))
		cm_say(why ? 0 : 1, "rank %d of a communicator %s: MPI goes on without %s", rank,
		       why ?: "has told no settings (other installation, or started separately)",
		       DEVICE);
}

/*
 * Compare what decides which calls count.  All ranks compare the same profiles, and come to the
 * same result.
 */
static void compare(struct cm_group *group, const struct cm_peers *peers)
{
	const struct cm_profile *own = cm_profile_own(), *profile;
	long long cpus = own->cpus;
	bool one_host = true;
	int rank;

	for (rank = 0; rank < group->size; rank++) {
		profile = rank == group->rank ? own : peers->profile(peers->context, rank);
		if (!profile || profile->digest != own->digest) {
			group->state = CM_GROUP_NEVER;
			say_left(rank, profile ?
				 "has different settings, or another version" : NULL);
			return;
		}
		one_host = one_host && profile->host == own->host;
		cpus = profile->cpus > cpus ? profile->cpus : cpus;
	}
	group->one_host = one_host;
	group->sharing = one_host ? cm_limits_sharing(group->size, cpus) : 0;
	/* Ranks that share CPUs enter the kernel to wait, as do more ranks than have a board. */
	group->small = one_host && group->size <= cpus && group->size <= SMALL_RANKS ?
		       cm_settings.small_bytes : 0;
	group->place = calls_before();
	group->state = CM_GROUP_COUNTING;
}

/*
 * Have there been enough nonblocking collectives for a group, on all ranks?  Each rank counts its
 * own, among them some of MPI's own, so they agree: in the N-th blocking collective, in another one
 * after as many again, and so on.  If a rank can make no group, or they cannot agree, none does so
 * again.
 */
static bool agree_on_waiting(struct cm_group *group, const struct cm_peers *peers)
{
	long long waiting = group->waiting;

	if (++group->blocking < group->place)
		return false;
	if (!able())
		waiting = -1;
	group->place += group->place < PLACE_STEP_MAX ? group->place : PLACE_STEP_MAX;
	group->state = CM_GROUP_MAKING;
	if (peers->min(peers->context, &waiting, 1) || waiting < 0) {
		cm_group_leave(group);
		return false;
	}
	group->state = CM_GROUP_COUNTING;
	return waiting >= calls_before();
}

/* Is it time to make the group?  A communicator whose calls are all left needs none. */
static bool is_time(struct cm_group *group, const struct cm_peers *peers,
		    const struct cm_call *call)
{
	if ((cm_call_is_small(group, call) || cm_call_large_enough(group, call)) &&
	    ++group->calls >= calls_before())
		return true;
	return agree_on_waiting(group, peers);
}

bool cm_group_blocking(struct cm_group *group, const struct cm_peers *peers,
		       const struct cm_call *call)
{
	if (group->state == CM_GROUP_NEW)
		compare(group, peers);
	if (group->state == CM_GROUP_COUNTING && is_time(group, peers, call))
		make(group, peers);
	return group->state == CM_GROUP_UP;
}

bool cm_group_initializing(struct cm_group *group, const struct cm_peers *peers,
			   const struct cm_call *call)
{
	if (group->state == CM_GROUP_NEW)
		compare(group, peers);
	if (group->state == CM_GROUP_COUNTING && cm_call_is_wanted(group, call))
		make(group, peers);
	return group->state == CM_GROUP_UP;
}

bool cm_group_nonblocking(struct cm_group *group, const struct cm_call *call,
			  unsigned long long *key)
{
	const unsigned long long number = group->started++;

	/* To compare the ranks may wait for their processes, which this call may not. */
	if (group->state == CM_GROUP_COUNTING && cm_call_is_wanted(group, call))
		group->waiting++;
	/* Keys of nonblocking and persistent collectives are even and odd. */
	*key = 2 * number;
	return group->state == CM_GROUP_UP && number >= group->first;
}

unsigned long long cm_group_persistent(struct cm_group *group, const struct cm_call *call)
{
	/* For ever: ranks may free requests at different places. */
	if (group->region.addr)
		group->persistent_room += cm_call_room(group, call);
	return 2 * group->persistent++ + 1;
}

enum cm_reason cm_group_reason(const struct cm_group *group)
{
	return group->state == CM_GROUP_NEVER ? CM_NO_GROUP : CM_EARLY;
}

/* Is it certain that no rank waits for this one?  EMSGSIZE comes after its part (task.c). */
static bool is_common(int err)
{
	return err == -EBADMSG || err == -ECANCELED || err == -ETIMEDOUT || err == -ECONNRESET ||
	       err == -EPROTO || err == -EMSGSIZE;
}

void cm_group_failed(struct cm_group *group, int err, const char *function, bool here)
{
	char detail[COLL_DETAIL_SIZE] = "";
	struct coll_comm *left = NULL;

	pthread_mutex_lock(&group->lock);
	if (!group->comm)
		goto unlock;
	if (!here)
		coll_error_detail_r(group->comm, detail, sizeof(detail));
	if (!is_common(err)) {
		left = group->comm;
		group->comm = NULL;
		group->failed = err;
	}
	snprintf(group->text, sizeof(group->text), "%s on rank %d: %s%s%s", function, group->rank,
		 detail[0] ? detail : coll_strerror(err), left ? ", so that it left the group" : "",
		 err == -EDQUOT ? " (see ulimit -l and user_memory_mib)" : "");
unlock:
	pthread_mutex_unlock(&group->lock);
	if (!left)
		return;
	pthread_rwlock_wrlock(&group->looks);
	coll_finalize(left);
	pthread_rwlock_unlock(&group->looks);
}

int cm_group_hold(struct cm_group *group, struct coll_comm **comm)
{
	int err;

	/* Threads that fail the group meanwhile do not wait, but end @comm only after the hold. */
	pthread_mutex_lock(&group->lock);
	*comm = group->comm;
	err = group->failed;
	if (!err)
		pthread_rwlock_rdlock(&group->looks);
	pthread_mutex_unlock(&group->lock);
	return err;
}

void cm_group_release(struct cm_group *group)
{
	pthread_rwlock_unlock(&group->looks);
}

void cm_group_text(struct cm_group *group, char *text, size_t size)
{
	pthread_mutex_lock(&group->lock);
	snprintf(text, size, "%s", group->text);
	pthread_mutex_unlock(&group->lock);
}
