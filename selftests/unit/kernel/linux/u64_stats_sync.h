/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_U64_STATS_SYNC_H
#define COLL_KERNEL_U64_STATS_SYNC_H

#include "env.h"

typedef struct {
	u64 value;
} u64_stats_t;

#define u64_stats_read(p)	((p)->value)
#define u64_stats_add(p, n)	((p)->value += (n))
#define u64_stats_inc(p)	((p)->value++)

#endif /* COLL_KERNEL_U64_STATS_SYNC_H */
