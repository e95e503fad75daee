/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Points in time on the monotonic clock, in ms. */
#ifndef COLL_DEADLINE_H
#define COLL_DEADLINE_H

#include <limits.h>
#include <stdint.h>
#include <time.h>

#include "comm/interrupt.h"

static inline uint64_t coll_deadline_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline uint64_t coll_deadline_in(unsigned int ms)
{
	return coll_deadline_now() + ms;
}

/*
 * Time until @deadline in ms, 0 if it has passed or the caller wants the end; at most INT_MAX, as
 * poll() takes.
 */
static inline unsigned int coll_deadline_left(uint64_t deadline)
{
	uint64_t now = coll_deadline_now();

	if (now >= deadline || coll_interrupt_wanted())
		return 0;
	return deadline - now < INT_MAX ? deadline - now : INT_MAX;
}

#endif /* COLL_DEADLINE_H */
