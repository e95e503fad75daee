/* SPDX-License-Identifier: GPL-2.0-only */
/* Wait queues: how often they were woken. */
#ifndef COLL_KERNEL_WAIT_H
#define COLL_KERNEL_WAIT_H

#include "env.h"

typedef struct wait_queue_head {
	u32 wakes;
} wait_queue_head_t;

struct wait_queue_entry {
	u8 unused;
};

#define init_waitqueue_head(head)	((head)->wakes = 0)
#define wake_up_all(head)		((head)->wakes++)

#endif /* COLL_KERNEL_WAIT_H */
