/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pthread_cancel() ends a thread inside open(), poll(), close() and similar functions; locks,
 * files and memory that the library holds then would leak.  So no function of the library is a
 * cancellation point: functions that call these turn cancellation off, and the thread ends at
 * its next cancellation point after they have returned.
 */
#ifndef COLL_CANCELLATION_H
#define COLL_CANCELLATION_H

#include <pthread.h>

/* Return: the state, for coll_cancellation_restore(). */
static inline int coll_cancellation_off(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void coll_cancellation_restore(int state)
{
	pthread_setcancelstate(state, NULL);
}

#endif /* COLL_CANCELLATION_H */
