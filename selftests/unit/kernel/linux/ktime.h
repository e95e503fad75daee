/* SPDX-License-Identifier: GPL-2.0-only */
/* The test sets the time. */
#ifndef COLL_KERNEL_KTIME_H
#define COLL_KERNEL_KTIME_H

#include "env.h"

#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L
#define NSEC_PER_SEC		1000000000L
#define MSEC_PER_SEC		1000L

static u64 kernel_ns __maybe_unused;

#define ktime_get_ns()		kernel_ns

#endif /* COLL_KERNEL_KTIME_H */
