/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Exchanges through a library of the launcher, whose calls wait without a deadline.  They run in a
 * thread, which is abandoned at the deadline of the group.  Without memory for a thread they run in
 * the caller, and may wait for ever.  Memory that the thread uses is its task's, which lives as
 * long as the thread.
 */
#ifndef COLL_EXCHANGE_LIBRARY_H
#define COLL_EXCHANGE_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>

#include "collective.h"
#include "exchange/exchange.h"
#include "exchange/session.h"

/* Time for the library's own farewell at exit, in ms. */
#define LIBRARY_FINALIZE_MS	2000

/**
 * struct library_task - calls of a library
 * @run: makes the calls; returns 0, or a negative errno with a text in @detail
 * @exchange: rank and number of ranks
 * @generation: number of the gather
 * @size: number of bytes of one rank; 0: the library is only opened
 * @deadline: end of the wait for this task
 * @detail: buffer for the text of a failure
 * @text: memory of @detail
 * @lock: protects the fields below
 * @ended: signalled when @done is set
 * @refs: its creator and, once it has begun, the thread; the last one frees the task
 * @done: true if @err is valid
 * @err: result of @run
 * @bytes: @size bytes to give, and @size bytes of each rank
 */
struct library_task {
	int (*run)(struct library_task *task);
	struct exchange exchange;
	unsigned int generation;
	size_t size;
	uint64_t deadline;
	struct coll_detail detail;
	char text[COLL_DETAIL_SIZE];

	pthread_mutex_t lock;
	pthread_cond_t ended;
	int refs;
	bool done;
	int err;
	uint8_t bytes[];
};

/**
 * struct library - a library of the launcher
 * @session: state in this process
 * @title: name in messages
 * @run: as in struct library_task
 * @find_missing: after the deadline: say which ranks have given nothing to the gather
 *	@generation, as in coll_ranks_text(), within about a second; return false if this cannot
 *	be known; NULL: it never can
 */
struct library {
	struct session session;
	const char *title;
	int (*run)(struct library_task *task);
	bool (*find_missing)(const struct exchange *exchange, unsigned int generation, char *text,
			     size_t size);
};

int library_open(struct library *library, const struct exchange *exchange, uint64_t deadline,
		 struct coll_detail *detail);
int library_gather(struct library *library, const struct exchange *exchange, const void *mine,
		   size_t size, void *all, uint64_t deadline, struct coll_detail *detail);

/* Call a function in a thread, for @ms at most. */
void library_call(void (*function)(void), unsigned int ms);

/*
 * Load the first of some libraries.  @plugins: its plug-ins use its symbols without being
 * linked with it.  Return: its handle, or NULL, with a text in @detail.
 */
void *library_load(const char *const *names, bool plugins, struct coll_detail *detail);

#endif /* COLL_EXCHANGE_LIBRARY_H */
