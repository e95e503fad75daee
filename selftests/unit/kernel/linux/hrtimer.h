/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_HRTIMER_H
#define COLL_KERNEL_HRTIMER_H

struct hrtimer {
	int armed;
};

#endif /* COLL_KERNEL_HRTIMER_H */
