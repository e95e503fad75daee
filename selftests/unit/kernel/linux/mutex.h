/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_MUTEX_H
#define COLL_KERNEL_MUTEX_H

#include "env.h"

struct mutex {
	bool held;
};

#define DEFINE_MUTEX(name)	struct mutex name

static inline void mutex_lock(struct mutex *mutex)
{
	assert(!mutex->held);
	mutex->held = true;
}

static inline bool mutex_trylock(struct mutex *mutex)
{
	bool was = mutex->held;

	mutex->held = true;
	return !was;
}

static inline void mutex_unlock(struct mutex *mutex)
{
	assert(mutex->held);
	mutex->held = false;
}

#endif /* COLL_KERNEL_MUTEX_H */
