/* SPDX-License-Identifier: GPL-2.0-only */
/* Nothing is logged. */
#ifndef COLL_KERNEL_RATELIMIT_H
#define COLL_KERNEL_RATELIMIT_H

#include <linux/jiffies.h>
#include <linux/printk.h>

#define DEFINE_RATELIMIT_STATE(name, interval, burst)	bool name = !(interval) && !(burst)
#define __ratelimit(state)				(*(state))

#endif /* COLL_KERNEL_RATELIMIT_H */
