// SPDX-License-Identifier: LGPL-2.1-or-later
/* The kernel's group of a communicator. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "collective.h"
#include "common/group.h"
#include "common/memory.h"
#include "common/ring.h"
#include "common/settings.h"

#define DEVICE	"/dev/collective"

/* Values on which the ranks agree: the minimum of each. */
enum {
	ABLE,		/* 1: this rank can make a group */
	DIGEST,		/* of the settings */
	DIGEST_NEGATED,	/* so that the minimum shows a difference */
	STARTED_NEGATED,	/* number of nonblocking collectives */
	LOCKABLE,	/* bytes that an operation may pin */
	ONE_HOST,	/* 1: no rank of this communicator is on another host */
	AGREED_COUNT
};

void cm_group_init(struct cm_group *group, int rank, int size)
{
	*group = (struct cm_group){ .state = CM_GROUP_NEW, .rank = rank, .size = size };
	pthread_mutex_init(&group->lock, NULL);
}

void cm_group_leave(struct cm_group *group)
{
	cm_memory_remove(group);
	group->state = CM_GROUP_NEVER;
	coll_finalize(group->comm);
	group->comm = NULL;
}

void cm_group_destroy(struct cm_group *group)
{
	cm_group_leave(group);
	pthread_mutex_destroy(&group->lock);
}

/*
 * Has this process CAP_IPC_LOCK for the kernel?  A capability in a user namespace of its own does
 * not count.
 */
static bool may_lock_all(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	unsigned long inside, outside, length;
	FILE *file;
	int fields;

	if (syscall(SYS_capget, &header, data) ||
	    !(data[0].effective & 1U << CAP_IPC_LOCK))
		return false;
	file = fopen("/proc/self/uid_map", "re");
	if (!file)
		return false;
	fields = fscanf(file, "%lu %lu %lu", &inside, &outside, &length);
	fclose(file);
	return fields == 3 && !inside && !outside && length == UINT_MAX;
}

/*
 * Number of bytes that one operation may pin.  Processes of one user share the limit; half of it
 * is left to the other things that they lock.
 */
static long long lockable(int local)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur > LLONG_MAX || may_lock_all())
		return LLONG_MAX;
	return limit.rlim_cur / 2 / (local > 0 ? local : 1);
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
	const long long digest = cm_settings_digest();
	long long values[AGREED_COUNT] = {
		[ABLE]			= able() && cm_memory_allows(group->size, peers->local),
		[DIGEST]		= digest,
		[DIGEST_NEGATED]	= -digest,
		[STARTED_NEGATED]	= -(long long)group->started,
		[LOCKABLE]		= lockable(peers->local),
		[ONE_HOST]		= !peers->several_hosts,
	};

	if (peers->min(peers->context, values, AGREED_COUNT))
		return false;
	if (values[DIGEST] != -values[DIGEST_NEGATED]) {
		cm_say(0, "the ranks have different settings: MPI goes on without %s", DEVICE);
		return false;
	}
	group->first = -values[STARTED_NEGATED] + cm_settings.margin;
	group->lockable = values[LOCKABLE] == LLONG_MAX ? SIZE_MAX : (size_t)values[LOCKABLE];
	group->one_host = values[ONE_HOST];
	return values[ABLE];
}

static int exchange(void *context, const void *mine, size_t size, void *all)
{
	const struct cm_peers *peers = context;

	return peers->gather(peers->context, mine, size, all) ? -EIO : 0;
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

	if (err)
		cm_say(1, "%s: MPI goes on without it: %s", DEVICE, detail);
	return err;
}

/*
 * Nonblocking collectives that started since the ranks have agreed are below @first on every rank,
 * or no rank uses the group.  Half of the margin is for those that start during this agreement.
 */
static bool agree_again(struct cm_group *group, const struct cm_peers *peers, int err)
{
	long long able = !err && group->started + cm_settings.margin / 2 <= group->first;

	return !peers->min(peers->context, &able, 1) && able;
}

static void make(struct cm_group *group, const struct cm_peers *peers)
{
	int err;

	group->state = CM_GROUP_MAKING;
	if (!agree(group, peers)) {
		group->state = CM_GROUP_NEVER;
		return;
	}
	err = join(group, peers);
	if (agree_again(group, peers, err)) {
		if (cm_settings.ring && cm_ring_open())
			cm_say(2, "no io_uring: each look at completion is a system call");
		cm_say(2, "rank %d of %d joined group %s", group->rank, group->size,
		       coll_name(group->comm));
		cm_memory_add(group);
		group->state = CM_GROUP_UP;
		return;
	}
	coll_finalize(group->comm);
	group->comm = NULL;
	group->state = CM_GROUP_NEVER;
}

bool cm_group_blocking(struct cm_group *group, const struct cm_peers *peers)
{
	const int state = group->state;

	if (state == CM_GROUP_UP)
		return true;
	if (state == CM_GROUP_NEW && ++group->calls == cm_settings.calls)
		make(group, peers);
	return group->state == CM_GROUP_UP;
}

bool cm_group_nonblocking(struct cm_group *group, unsigned long long *key)
{
	const unsigned long long number = group->started++;

	/* Keys of nonblocking and persistent collectives are even and odd. */
	*key = 2 * number;
	return group->state == CM_GROUP_UP && number >= group->first;
}

bool cm_group_persistent(struct cm_group *group, unsigned long long *key)
{
	if (group->state != CM_GROUP_UP)
		return false;
	*key = 2 * group->persistent++ + 1;
	return true;
}

enum cm_reason cm_group_reason(const struct cm_group *group)
{
	return group->state == CM_GROUP_NEVER ? CM_NO_GROUP : CM_EARLY;
}

/* Do all ranks see this failure of an operation? */
static bool is_common(int err)
{
	return err == -EBADMSG || err == -EMSGSIZE || err == -ECANCELED || err == -ETIMEDOUT ||
	       err == -ECONNRESET || err == -EPROTO;
}

void cm_group_failed(struct cm_group *group, int err, const char *function)
{
	char detail[COLL_DETAIL_SIZE] = "";
	struct coll_comm *left = NULL;

	pthread_mutex_lock(&group->lock);
	if (!group->comm)
		goto unlock;
	coll_error_detail_r(group->comm, detail, sizeof(detail));
	if (!is_common(err)) {
		left = group->comm;
		group->comm = NULL;
		group->failed = err;
	}
	snprintf(group->text, sizeof(group->text), "%s on rank %d: %s%s%s", function, group->rank,
		 detail[0] ? detail : coll_strerror(err), left ? ", so that it left the group" : "",
		 err == -EDQUOT ? " (see ulimit -l)" : "");
unlock:
	pthread_mutex_unlock(&group->lock);
	coll_finalize(left);
}

void cm_group_text(struct cm_group *group, char *text, size_t size)
{
	pthread_mutex_lock(&group->lock);
	snprintf(text, size, "%s", group->text);
	pthread_mutex_unlock(&group->lock);
}
