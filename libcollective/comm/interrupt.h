/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The function of the caller's that may end coll_init(), coll_split() and coll_shrink().
 * Each wait in these asks it twenty times a second, and after a signal.  From the first time on
 * that it wants the end, every deadline of this thread has passed (comm/deadline.h), so that all
 * ends as it does after the time limit.
 */
#ifndef COLL_INTERRUPT_H
#define COLL_INTERRUPT_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "error/detail.h"

#define COLL_INTERRUPT_MS	50	/* between two times that it is asked */

/**
 * struct coll_interrupt - a call of this thread that can be ended
 * @function: the caller's, or NULL
 * @context: its argument
 * @wanted: true if it has wanted the end
 * @next: time when it is asked again, unless a signal comes
 */
struct coll_interrupt {
	int (*function)(void *context);
	void *context;
	bool wanted;
	uint64_t next;
};

void coll_interrupt_begin(struct coll_interrupt *interrupt, int (*function)(void *context),
			  void *context);

/* Return: true if the function has wanted the end. */
bool coll_interrupt_end(struct coll_interrupt *interrupt);

/*
 * Suspend it while a function of the caller's runs, which may use other communicators, or while the
 * end is told to other ranks.  Return: for coll_interrupt_resume().
 */
struct coll_interrupt *coll_interrupt_suspend(void);
void coll_interrupt_resume(struct coll_interrupt *suspended);

/* Is there a function that may want the end? */
bool coll_interrupt_can(void);

/* Has the function wanted the end? */
bool coll_interrupt_wanted(void);

/*
 * Ask the function, if it is time or @signalled.  Return: true if it wants the end, or has wanted
 * it.
 */
bool coll_interrupt_ask(bool signalled);

/*
 * What other ranks are told: if the end was wanted, that is the cause of any error.  Return: @err,
 * or -ECANCELED with a text.
 */
int coll_interrupt_explain(int err, int rank, struct coll_detail *detail);

/*
 * As pthread_cond_timedwait(), but for a while only; the condition has the monotonic clock.
 * Return: false: it does not wait, since the deadline has passed or the end is wanted.
 */
bool coll_interrupt_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline);

/* Take a lock.  Return: false: the deadline passed, or the end is wanted. */
bool coll_interrupt_lock(pthread_mutex_t *lock, uint64_t deadline);

/* The same without a deadline.  Return: false: the end is wanted. */
bool coll_interrupt_lock_any_time(pthread_mutex_t *lock);

/* As poll(), and 0 as soon as the end is wanted. */
int coll_interrupt_poll(struct pollfd *polls, nfds_t n, unsigned int ms);

/* Sleep.  A signal or the end that is wanted cuts it short. */
static inline void coll_interrupt_pause(unsigned int ms)
{
	(void)coll_interrupt_poll(NULL, 0, ms);
}

#endif /* COLL_INTERRUPT_H */
