// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * getaddrinfo() has no time limit and cannot be interrupted.  So a thread of its own looks up
 * the name.  The caller and the thread share a struct lookup; the second to leave frees it.  If
 * the deadline passes, the caller leaves the thread behind, which ends when the resolver
 * answers.  getaddrinfo() cannot be cancelled without leaving the resolver's locks taken.  A
 * numeric address needs no thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/resolve.h"
#include "comm/deadline.h"
#include "comm/interrupt.h"
#include "comm/process.h"
#include "error/detail.h"

/**
 * struct answer - result of getaddrinfo()
 * @complete: true if getaddrinfo() has returned
 * @result: EAI_ number or 0
 * @error: errno if @result is EAI_SYSTEM
 * @where: the addresses
 */
struct answer {
	bool complete;
	int result;
	int error;
	struct addrinfo *where;
};

/**
 * struct lookup - call of getaddrinfo() in a thread
 * @lock: protects the fields below
 * @answered: signalled when @answer is complete
 * @answer: the result; the caller takes its addresses
 * @one_left: true if either the caller or the thread has left
 * @port: port as text
 * @host: name
 */
struct lookup {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct answer answer;
	bool one_left;
	char port[12];
	char host[];
};

static struct lookup *lookup_new(const char *host, int port)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup) + strlen(host) + 1);
	pthread_condattr_t attr;

	if (!lookup)
		return NULL;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&lookup->lock, NULL);
	pthread_cond_init(&lookup->answered, &attr);
	pthread_condattr_destroy(&attr);
	snprintf(lookup->port, sizeof(lookup->port), "%d", port);
	strcpy(lookup->host, host);
	return lookup;
}

static void lookup_free(struct lookup *lookup)
{
	if (lookup->answer.where)
		freeaddrinfo(lookup->answer.where);
	pthread_cond_destroy(&lookup->answered);
	pthread_mutex_destroy(&lookup->lock);
	free(lookup);
}

/* Leave; the second to leave frees @lookup.  Called with the lock, which is released. */
static void lookup_leave(struct lookup *lookup)
{
	bool last = lookup->one_left;

	lookup->one_left = true;
	pthread_mutex_unlock(&lookup->lock);
	if (last)
		lookup_free(lookup);
}

static struct answer look_up(const char *host, const char *port, int flags)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICSERV | flags,
		.ai_socktype = SOCK_STREAM,
	};
	struct answer answer = { .complete = true };

	answer.result = getaddrinfo(host, port, &hints, &answer.where);
	answer.error = errno;
	if (answer.result)
		answer.where = NULL;
	return answer;
}

static void *lookup_run(void *arg)
{
	struct lookup *lookup = arg;
	struct answer answer = look_up(lookup->host, lookup->port, 0);

	pthread_mutex_lock(&lookup->lock);
	lookup->answer = answer;
	pthread_cond_signal(&lookup->answered);
	lookup_leave(lookup);
	return NULL;
}

/* All signals are blocked in the thread: they are for the threads of the program. */
static int lookup_start(struct lookup *lookup)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	coll_process_keep_library();
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, lookup_run, lookup);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

/* Wait for the answer until @deadline, and take it. */
static struct answer lookup_collect(struct lookup *lookup, uint64_t deadline)
{
	struct answer answer;

	pthread_mutex_lock(&lookup->lock);
	while (!lookup->answer.complete &&
	       coll_interrupt_wait(&lookup->answered, &lookup->lock, deadline))
		;
	answer = lookup->answer;
	lookup->answer.where = NULL;
	lookup_leave(lookup);
	return answer;
}

/*
 * A resolver that cannot open files may report any error; find out whether files are missing.
 * Return: 0, -EMFILE or -ENFILE.
 */
static int lack_of_files(const struct answer *answer)
{
	int fd, err = 0;

	if (answer->result == EAI_SYSTEM && (answer->error == EMFILE || answer->error == ENFILE))
		return -answer->error;
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err = errno == EMFILE || errno == ENFILE ? -errno : 0;
	else
		close(fd);
	return err;
}

static int answer_error(const struct answer *answer, char *text)
{
	int err;
	const char *why = answer->result == EAI_SYSTEM ? coll_errno_text(answer->error) :
			  gai_strerror(answer->result);

	if (!answer->complete) {
		snprintf(text, COLL_RESOLVE_TEXT, "the resolver does not answer");
		return -ETIMEDOUT;
	}
	if (!answer->result)
		return 0;
	err = lack_of_files(answer);
	snprintf(text, COLL_RESOLVE_TEXT, "%s", err ? coll_errno_text(-err) : why);
	return err ? err : -EAGAIN;
}

int coll_resolve(const char *host, int port, uint64_t deadline, struct addrinfo **where,
		 char *text)
{
	struct lookup *lookup;
	struct answer answer;
	char number[12];
	int err;

	snprintf(number, sizeof(number), "%d", port);
	answer = look_up(host, number, AI_NUMERICHOST);
	*where = answer.where;
	if (!answer.result)
		return 0;
	lookup = lookup_new(host, port);
	if (!lookup) {
		snprintf(text, COLL_RESOLVE_TEXT, "no memory");
		return -EAGAIN;
	}
	err = lookup_start(lookup);
	if (err) {
		snprintf(text, COLL_RESOLVE_TEXT, "cannot start a thread to resolve the name: %s",
			 coll_errno_text(-err));
		lookup_free(lookup);
		return -EAGAIN;
	}
	answer = lookup_collect(lookup, deadline);
	*where = answer.where;
	return answer_error(&answer, text);
}
