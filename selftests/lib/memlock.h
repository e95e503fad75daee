/* SPDX-License-Identifier: GPL-2.0-only */
/* The limit of memory that a process may lock. */
#ifndef COLL_MEMLOCK_H
#define COLL_MEMLOCK_H

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool memlock_limit(size_t bytes)
{
	const struct rlimit limit = { bytes, bytes };

	return !setrlimit(RLIMIT_MEMLOCK, &limit);
}

/* Drop CAP_IPC_LOCK: from now on RLIMIT_MEMLOCK applies. */
static inline bool drop_ipc_lock(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return false;
	data[0].effective &= ~(1U << CAP_IPC_LOCK);
	return !syscall(SYS_capset, &header, data);
}

#endif /* COLL_MEMLOCK_H */
