/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stands in for a header of Open MPI 5 that its development package does not have, but that others
 * of its headers include.
 */
#ifndef OPAL_THREADS_PTHREADS_THREADS_H
#define OPAL_THREADS_PTHREADS_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void)
{
	sched_yield();
}

#endif /* OPAL_THREADS_PTHREADS_THREADS_H */
