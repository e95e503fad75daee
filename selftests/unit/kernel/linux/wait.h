/* SPDX-License-Identifier: GPL-2.0-only */
/* Wait queues: how often they were woken, and how many threads wait. */
#ifndef COLL_KERNEL_WAIT_H
#define COLL_KERNEL_WAIT_H

#include "env.h"

typedef struct wait_queue_head {
	u32 wakes;
	u32 waiters;
} wait_queue_head_t;

struct wait_queue_entry {
	u8 unused;
};

#define init_waitqueue_head(head)	((head)->wakes = 0)
#define wake_up_all(head)		((head)->wakes++)

#define DEFINE_WAIT(name)		struct wait_queue_entry name = { 0 }

/* It may be called again before finish_wait(). */
static inline void prepare_to_wait(wait_queue_head_t *head, const struct wait_queue_entry *entry,
				   unsigned int state)
{
	(void)entry;
	(void)state;
	head->waiters = 1;
}

static inline void finish_wait(wait_queue_head_t *head, const struct wait_queue_entry *entry)
{
	(void)entry;
	head->waiters = 0;
}

#endif /* COLL_KERNEL_WAIT_H */
