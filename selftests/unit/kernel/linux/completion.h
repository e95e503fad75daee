/* SPDX-License-Identifier: GPL-2.0-only */
/* Completions: the test looks at @done, no thread waits. */
#ifndef COLL_KERNEL_COMPLETION_H
#define COLL_KERNEL_COMPLETION_H

#include "env.h"

struct completion {
	u32 done;
};

static inline void init_completion(struct completion *completion)
{
	completion->done = 0;
}

static inline void complete(struct completion *completion)
{
	completion->done++;
}

#endif /* COLL_KERNEL_COMPLETION_H */
