/* SPDX-License-Identifier: GPL-2.0-only */
/* A high-resolution timer of CLOCK_MONOTONIC, which is set by one call or, before, in two parts. */
#ifndef COLL_COMPAT_TIMER_H
#define COLL_COMPAT_TIMER_H

#include <linux/hrtimer.h>

static inline void coll_timer_setup(struct hrtimer *timer,
				    enum hrtimer_restart (*function)(struct hrtimer *timer))
{
#ifdef COLL_HAS_HRTIMER_SETUP
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = function;
#endif
}

#endif /* COLL_COMPAT_TIMER_H */
