/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that pipe.c takes from its surroundings beside core/env.h: ordered accesses.  The unit tests
 * put another file of the same include guard in front.
 */
#ifndef COLL_PIPE_ENV_H
#define COLL_PIPE_ENV_H

#include <linux/atomic.h>
#include <linux/cache.h>

#include <asm/barrier.h>

/* The two ends write different cache lines. */
#define COLL_PIPE_LINE	____cacheline_aligned_in_smp

#endif /* COLL_PIPE_ENV_H */
