/* SPDX-License-Identifier: GPL-2.0-only */
/* The test sets the time. */
#ifndef COLL_KERNEL_JIFFIES_H
#define COLL_KERNEL_JIFFIES_H

#include "env.h"

#define HZ			1000
#define MAX_JIFFY_OFFSET	((LONG_MAX >> 1) - 1)

static unsigned long jiffies __maybe_unused;

#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	time_after(b, a)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before_eq(a, b)	time_after_eq(b, a)

/* As the kernel's with this HZ: what is negative as an int never ends. */
static inline unsigned long msecs_to_jiffies(u32 ms)
{
	return (int)ms < 0 ? MAX_JIFFY_OFFSET : ms;
}

#define jiffies_to_msecs(n)	((u32)(n))
#define nsecs_to_jiffies(ns)	((unsigned long)((ns) / 1000000))

#endif /* COLL_KERNEL_JIFFIES_H */
