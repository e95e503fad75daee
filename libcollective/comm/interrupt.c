// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stddef.h>

#include "comm/deadline.h"
#include "comm/interrupt.h"

#define LOCK_PAUSE_MS	5

static __thread struct coll_interrupt *current;

void coll_interrupt_begin(struct coll_interrupt *interrupt, int (*function)(void *context),
			  void *context)
{
	*interrupt = (struct coll_interrupt) {
		.function = function,
		.context = context,
	};
	current = interrupt;
}

bool coll_interrupt_end(struct coll_interrupt *interrupt)
{
	current = NULL;
	return interrupt->wanted;
}

bool coll_interrupt_wanted(void)
{
	return current && current->wanted;
}

struct coll_interrupt *coll_interrupt_suspend(void)
{
	struct coll_interrupt *suspended = current;

	current = NULL;
	return suspended;
}

void coll_interrupt_resume(struct coll_interrupt *suspended)
{
	current = suspended;
}

bool coll_interrupt_can(void)
{
	return current && current->function;
}

bool coll_interrupt_ask(bool signalled)
{
	struct coll_interrupt *asked = current;

	if (!coll_interrupt_can() || asked->wanted ||
	    (!signalled && coll_deadline_now() < asked->next))
		return coll_interrupt_wanted();
	coll_interrupt_suspend();
	asked->wanted = asked->function(asked->context);
	coll_interrupt_resume(asked);
	asked->next = coll_deadline_in(COLL_INTERRUPT_MS);
	return asked->wanted;
}

int coll_interrupt_explain(int err, int rank, struct coll_detail *detail)
{
	if (!coll_interrupt_wanted())
		return err;
	if (detail->text)
		detail->text[0] = '\0';
	return coll_fail(detail, -ECANCELED, "rank %d was interrupted", rank);
}

/* The time until which a thread may sleep before it asks; at most @deadline. */
static uint64_t next_ask(uint64_t deadline)
{
	const uint64_t next = coll_deadline_in(COLL_INTERRUPT_MS);

	return coll_interrupt_can() && next < deadline ? next : deadline;
}

int coll_interrupt_poll(struct pollfd *polls, nfds_t n, unsigned int ms)
{
	const uint64_t until = coll_deadline_in(ms);
	int ready, err;

	do {
		/* The function takes time, too. */
		ready = poll(polls, n, coll_deadline_left(next_ask(until)));
		err = errno;
		if (coll_interrupt_ask(ready < 0 && err == EINTR))
			return 0;
		errno = err;
	} while (!ready && coll_deadline_now() < until);
	return ready;
}

bool coll_interrupt_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline)
{
	struct timespec at;
	uint64_t until;

	if (coll_interrupt_ask(false) || !coll_deadline_left(deadline))
		return false;
	until = next_ask(deadline);
	at.tv_sec = until / 1000;
	at.tv_nsec = until % 1000 * 1000000;
	(void)pthread_cond_timedwait(cond, lock, &at);
	return true;
}

/*
 * pthread_mutex_clocklock() does the same, in glibc 2.30 and newer only.  Every other lock with a
 * limit has one of the clock that an administrator may set.
 */
bool coll_interrupt_lock(pthread_mutex_t *lock, uint64_t deadline)
{
	while (pthread_mutex_trylock(lock)) {
		if (!coll_deadline_left(deadline))
			return false;
		coll_interrupt_pause(LOCK_PAUSE_MS);
	}
	return true;
}

bool coll_interrupt_lock_any_time(pthread_mutex_t *lock)
{
	if (coll_interrupt_can())
		return coll_interrupt_lock(lock, UINT64_MAX);
	pthread_mutex_lock(lock);
	return true;
}
