/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pthread_cancel() ends a thread inside open(), poll(), close() and their like, and what the
 * library holds then, locks, files and memory, would stay held.  So no function of the library
 * is a cancellation point: those that call such functions turn cancellation off, and the thread
 * ends at its next cancellation point after they have returned.
 */
#ifndef COLL_CANCELLATION_H
#define COLL_CANCELLATION_H

#include <pthread.h>

/* Return: for coll_cancellation_restore(). */
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
