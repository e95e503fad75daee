// SPDX-License-Identifier: LGPL-2.1-or-later
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "comm/deadline.h"
#include "comm/interrupt.h"
#include "comm/process.h"
#include "exchange/library.h"
#include "exchange/reserve.h"

/* Launchers' libraries load others in the thread; musl's default is 128 KiB.  Bytes. */
#define STACK_SIZE	(8UL << 20)

/* A thread that is abandoned keeps it. */
static _Alignas(max_align_t) uint8_t room[sizeof(struct library_task) +
					  EXCHANGE_SIZE_MAX * (COLLECTIVE_RANKS_MAX + 1)];
static struct reserve reserve = { room, sizeof(room), false };

static size_t task_size(const struct exchange *exchange, size_t size)
{
	return sizeof(struct library_task) + size * (exchange->nranks + 1);
}

static struct library_task *task_new(int (*run)(struct library_task *task),
				     const struct exchange *exchange, size_t size,
				     uint64_t deadline)
{
	struct library_task *task = reserve_calloc(&reserve, task_size(exchange, size));
	pthread_condattr_t monotonic;

	if (!task)
		return NULL;
	task->run = run;
	task->exchange = *exchange;
	task->size = size;
	task->deadline = deadline;
	task->detail = (struct coll_detail) { task->text, sizeof(task->text) };
	task->refs = 1;
	pthread_mutex_init(&task->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&task->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return task;
}

/* Put a reference; @task->lock is held, and released. */
static void task_put(struct library_task *task)
{
	const bool last = !--task->refs;

	pthread_mutex_unlock(&task->lock);
	if (!last)
		return;
	explicit_bzero(task->bytes, task->size * (task->exchange.nranks + 1));
	pthread_cond_destroy(&task->ended);
	pthread_mutex_destroy(&task->lock);
	reserve_free(&reserve, task, task_size(&task->exchange, task->size));
}

static void *task_thread(void *arg)
{
	struct library_task *task = arg;
	int err = task->run(task);

	pthread_mutex_lock(&task->lock);
	task->err = err;
	task->done = true;
	pthread_cond_signal(&task->ended);
	task_put(task);
	return NULL;
}

/* All signals are blocked in the thread: they are for the threads of the program. */
static int task_start(struct library_task *task)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	size_t stack;
	int err;

	coll_process_keep_library();
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (!pthread_attr_getstacksize(&attr, &stack) && stack < STACK_SIZE)
		pthread_attr_setstacksize(&attr, STACK_SIZE);
	sigfillset(&all);
	task->refs++;
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, task_thread, task);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		task->refs--;
	return -err;
}

/*
 * There is no memory for a thread.  The other ranks would wait for this one, so it does without the
 * deadline.
 */
static int task_run_here(struct library_task *task)
{
	task->refs++;
	task_thread(task);
	return 0;
}

/* Wait for the end of the task.  Return: true if it came before the deadline. */
static bool task_wait(struct library_task *task)
{
	while (!task->done && coll_interrupt_wait(&task->ended, &task->lock, task->deadline))
		;
	return task->done;
}

/* The deadline has passed: say which ranks are missing, if that can be known. */
static int timed_out(const struct library *library, const struct exchange *exchange, size_t size,
		     struct coll_detail *detail)
{
	char ranks[200] = "";

	if (coll_interrupt_wanted())
		return coll_fail(detail, -ETIMEDOUT, "rank %d was interrupted in %s",
				 exchange->rank, library->title);
	if (!size)
		return coll_fail(detail, -ETIMEDOUT, "%s did not start before the deadline",
				 library->title);
	if (library->find_missing && library->find_missing(exchange, library->session.generation,
							   ranks, sizeof(ranks)))
		return coll_fail(detail, -ETIMEDOUT,
				 "rank %d waited in %s until the deadline: of the %d ranks, %s gave nothing",
				 exchange->rank, library->title, exchange->nranks, ranks);
	return coll_fail(detail, -ETIMEDOUT,
			 "rank %d waited in %s until the deadline: not all %d ranks have called coll_init(), and %s cannot tell which are missing",
			 exchange->rank, library->title, exchange->nranks, library->title);
}

/* Run the library; with the session.  Return: the result of @run, or -ETIMEDOUT. */
static int run(struct library *library, const struct exchange *exchange, const void *mine,
	       size_t size, void *all, uint64_t deadline, struct coll_detail *detail)
{
	struct library_task *task = task_new(library->run, exchange, size, deadline);
	int err;

	if (!task)
		return coll_fail(detail, -ENOMEM, "no memory");
	task->generation = library->session.generation;
	memcpy(task->bytes, mine, size);
	err = task_start(task);
	if (err == -EAGAIN || err == -ENOMEM)
		err = task_run_here(task);
	if (err)
		coll_fail(detail, err, "cannot start a thread for %s: %s", library->title,
			  coll_errno_text(-err));
	pthread_mutex_lock(&task->lock);
	if (!err && !task_wait(task)) {
		err = timed_out(library, exchange, size, detail);
	} else if (!err) {
		err = task->err;
		if (err)
			coll_fail(detail, err, "%s", task->text);
		else if (size)
			memcpy(all, task->bytes + size, size * exchange->nranks);
	}
	task_put(task);
	return err;
}

int library_open(struct library *library, const struct exchange *exchange, uint64_t deadline,
		 struct coll_detail *detail)
{
	int err = session_begin(&library->session, library->title, deadline, detail);
	bool lost;

	if (err)
		return err;
	err = run(library, exchange, "", 0, NULL, deadline, detail);
	/* The thread is still inside the library. */
	lost = err == -ETIMEDOUT;
	session_end(&library->session, lost ? err : 0, detail);
	return err;
}

int library_gather(struct library *library, const struct exchange *exchange, const void *mine,
		   size_t size, void *all, uint64_t deadline, struct coll_detail *detail)
{
	int err = session_begin(&library->session, library->title, deadline, detail);

	if (err)
		return err;
	err = run(library, exchange, mine, size, all, deadline, detail);
	library->session.generation++;
	return session_end(&library->session, err, detail);
}

static void (*called)(void);

static int run_called(struct library_task *task)
{
	(void)task;
	called();
	return 0;
}

void library_call(void (*function)(void), unsigned int ms)
{
	const struct exchange none = { .nranks = 0 };
	struct library_task *task = task_new(run_called, &none, 0, coll_deadline_in(ms));

	if (!task)
		return;
	called = function;
	pthread_mutex_lock(&task->lock);
	if (!task_start(task))
		task_wait(task);
	task_put(task);
}

void *library_load(const char *const *names, bool plugins, struct coll_detail *detail)
{
	const char *first = names[0];
	void *library = NULL;

	for (; *names && !library; names++)
		library = dlopen(*names, RTLD_NOW | (plugins ? RTLD_GLOBAL : RTLD_LOCAL));
	if (!library)
		coll_fail(detail, -ENOENT, "%s cannot be loaded: is it installed?", first);
	return library;
}
