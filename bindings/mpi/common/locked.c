// SPDX-License-Identifier: LGPL-2.1-or-later
/* Memory that operations of this process pin, where it may lock a limited amount. */
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <pthread.h>

#include "common/locked.h"

/* Bytes that are reserved for all groups; @lock protects it. */
static struct {
	pthread_mutex_t lock;
	long long reserved;
} locked = { .lock = PTHREAD_MUTEX_INITIALIZER };

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
 * Number of bytes that operations of this process may pin.  Processes of one user share the limit;
 * half of it is left to the other things that they lock.
 */
static long long limit_of(int local)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur > LLONG_MAX || may_lock_all())
		return LLONG_MAX;
	return limit.rlim_cur / 2 / (local > 0 ? local : 1);
}

/* Half of what is left, so that a later group gets something, too. */
static long long reserve_half(long long limit)
{
	long long bytes;

	pthread_mutex_lock(&locked.lock);
	bytes = locked.reserved < limit ? (limit - locked.reserved) / 2 : 0;
	locked.reserved += bytes;
	pthread_mutex_unlock(&locked.lock);
	return bytes;
}

size_t cm_locked_reserve(int local, bool threads, long long bytes[CM_FORM_COUNT])
{
	const long long limit = limit_of(local);
	long long reserved;
	int form;

	if (limit == LLONG_MAX) {
		for (form = 0; form < CM_FORM_COUNT; form++)
			bytes[form] = LLONG_MAX;
		return 0;
	}
	/* One thread waits in one blocking operation, whatever its group. */
	reserved = reserve_half(threads ? limit : limit / 2);
	bytes[CM_BLOCKING] = threads ? reserved / 2 : limit / 2;
	bytes[CM_NONBLOCKING] = (threads ? reserved / 2 : reserved) / 2;
	bytes[CM_PERSISTENT] = bytes[CM_NONBLOCKING];
	return reserved;
}

void cm_locked_release(size_t reserved)
{
	pthread_mutex_lock(&locked.lock);
	locked.reserved -= reserved;
	pthread_mutex_unlock(&locked.lock);
}
