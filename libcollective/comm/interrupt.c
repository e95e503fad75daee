// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stddef.h>

#include "comm/deadline.h"
#include "comm/interrupt.h"

#define ASK_MS	50

static __thread struct coll_interrupt *current;

void coll_interrupt_begin(struct coll_interrupt *interrupt, int (*function)(void *context),
			  void *context)
{
	*interrupt = (struct coll_interrupt) {
		.function = function,
		.context = context,
		.outer = current,
	};
	current = interrupt;
}

bool coll_interrupt_end(struct coll_interrupt *interrupt)
{
	current = interrupt->outer;
	return interrupt->wanted;
}

bool coll_interrupt_wanted(void)
{
	return current && current->wanted;
}

bool coll_interrupt_ask(bool signalled)
{
	struct coll_interrupt *asked = current;

	if (!asked || !asked->function || asked->wanted ||
	    (!signalled && coll_deadline_now() < asked->next))
		return coll_interrupt_wanted();
	asked->wanted = asked->function(asked->context);
	asked->next = coll_deadline_in(ASK_MS);
	return asked->wanted;
}

uint64_t coll_interrupt_next(uint64_t deadline)
{
	const uint64_t next = coll_deadline_in(ASK_MS);

	return current && current->function && next < deadline ? next : deadline;
}

int coll_interrupt_poll(struct pollfd *polls, nfds_t n, unsigned int ms)
{
	unsigned int part;
	int ready, err;

	do {
		part = current && current->function && ms > ASK_MS ? ASK_MS : ms;
		ready = poll(polls, n, part);
		err = errno;
		if (coll_interrupt_ask(ready < 0 && err == EINTR))
			return 0;
		errno = err;
		ms -= part;
	} while (!ready && ms);
	return ready;
}
