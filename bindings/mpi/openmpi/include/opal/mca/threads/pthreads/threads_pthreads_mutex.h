/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stands in for a header of Open MPI 5 that its development package does not have, but that others
 * of its headers include: locks and conditions are those of pthreads.
 */
#ifndef OPAL_THREADS_PTHREADS_MUTEX_H
#define OPAL_THREADS_PTHREADS_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

#define OPAL_THREAD_INTERNAL_MUTEX_INITIALIZER			PTHREAD_MUTEX_INITIALIZER
#define OPAL_THREAD_INTERNAL_RECURSIVE_MUTEX_INITIALIZER	\
	PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
#define OPAL_THREAD_INTERNAL_COND_INITIALIZER			PTHREAD_COND_INITIALIZER

#define opal_thread_internal_mutex_lock(mutex)		((void)pthread_mutex_lock(mutex))
#define opal_thread_internal_mutex_trylock(mutex)	(pthread_mutex_trylock(mutex) != 0)
#define opal_thread_internal_mutex_unlock(mutex)	((void)pthread_mutex_unlock(mutex))
#define opal_thread_internal_mutex_destroy(mutex)	((void)pthread_mutex_destroy(mutex))
#define opal_thread_internal_cond_init(cond)		pthread_cond_init(cond, NULL)
#define opal_thread_internal_cond_wait(cond, mutex)	((void)pthread_cond_wait(cond, mutex))
#define opal_thread_internal_cond_signal(cond)		((void)pthread_cond_signal(cond))
#define opal_thread_internal_cond_broadcast(cond)	((void)pthread_cond_broadcast(cond))
#define opal_thread_internal_cond_destroy(cond)		((void)pthread_cond_destroy(cond))

static inline int opal_thread_internal_mutex_init(pthread_mutex_t *mutex, bool recursive)
{
	pthread_mutexattr_t attributes;
	int err;

	if (!recursive)
		return pthread_mutex_init(mutex, NULL);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	err = pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return err;
}

#endif /* OPAL_THREADS_PTHREADS_MUTEX_H */
