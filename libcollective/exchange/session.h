/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process keeps of an exchange between its groups.  A launcher's interface is opened
 * once, and every gather has a number of its own, which is the same on all ranks because all of
 * them make the same gathers.  A gather that fails in the middle leaves the ranks out of step,
 * so the session then serves no group of this process any more.
 */
#ifndef COLL_EXCHANGE_SESSION_H
#define COLL_EXCHANGE_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collective.h"
#include "error/detail.h"

/**
 * struct session - state of one exchange in this process
 * @lock: held during a gather
 * @opened: true if the interface is open
 * @generation: number of the next gather
 * @broken: true if a gather failed
 * @why: text of that failure
 */
struct session {
	pthread_mutex_t lock;
	bool opened;
	unsigned int generation;
	bool broken;
	char why[COLL_DETAIL_SIZE];
};

/*
 * Begin to use the interface @name.  Return: 0; -ECONNABORTED: it is broken; -ETIMEDOUT:
 * another thread uses it until @deadline.
 */
int session_begin(struct session *session, const char *name, uint64_t deadline,
		  struct coll_detail *detail);

/* End the use.  @err is not 0 if the ranks may now be out of step.  Return: @err. */
int session_end(struct session *session, int err, const struct coll_detail *detail);

#define SESSION_INITIALIZER	{ .lock = PTHREAD_MUTEX_INITIALIZER }

#endif /* COLL_EXCHANGE_SESSION_H */
