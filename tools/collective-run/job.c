// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "launch.h"

#define VERSION		1
#define NUMBERS		9
#define TEXTS		3

/* The head: version, the numbers of struct job, and the numbers of variables and arguments. */
struct head {
	char magic[8];
	uint32_t version;
	uint32_t numbers[NUMBERS];
	uint32_t bytes;		/* of all texts, each with its NUL */
};

static const char magic[8] = "collrun";

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

static int write_all(int fd, const void *from, size_t size)
{
	while (size) {
		ssize_t put = write(fd, from, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		from = (const char *)from + put;
		size -= put;
	}
	return 0;
}

static int read_all(int fd, void *to, size_t size)
{
	while (size) {
		ssize_t got = read(fd, to, size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		to = (char *)to + got;
		size -= got;
	}
	return 0;
}

static char *add(char *at, const char *text)
{
	return stpcpy(at, text) + 1;
}

static size_t size_of(char *const *list)
{
	size_t size = 0;

	for (; *list; list++)
		size += strlen(*list) + 1;
	return size;
}

int job_write(int fd, const struct job *job)
{
	const size_t bytes = strlen(job->rendezvous) + strlen(job->secret) + strlen(job->folder) +
			     TEXTS + size_of(job->environment) + size_of(job->argv);
	struct head head = {
		.version = VERSION,
		.numbers = {
			job->first, job->n, job->total, job->grace_s, job->label, job->unbound,
			count(job->environment), count(job->argv),
		},
		.bytes = bytes,
	};
	char *texts, *at, *const *one;
	int err;

	if (bytes > JOB_BYTES_MAX) {
		errno = E2BIG;
		return -1;
	}
	texts = malloc(bytes);
	if (!texts)
		return -1;
	memcpy(head.magic, magic, sizeof(magic));
	at = add(add(add(texts, job->rendezvous), job->secret), job->folder);
	for (one = job->environment; *one; one++)
		at = add(at, *one);
	for (one = job->argv; *one; one++)
		at = add(at, *one);
	err = write_all(fd, &head, sizeof(head)) || write_all(fd, texts, bytes) ? -1 : 0;
	explicit_bzero(texts, bytes);
	free(texts);
	return err;
}

/* Take the next text.  Return: NULL if there is none. */
static char *take(char **at, const char *end)
{
	char *text = *at;

	if (text == end)
		return NULL;
	*at += strlen(text) + 1;
	return text;
}

static char **take_list(char **at, const char *end, size_t n)
{
	char **list = calloc(n + 1, sizeof(*list));
	size_t i;

	for (i = 0; list && i < n; i++) {
		list[i] = take(at, end);
		if (!list[i])
			return NULL;
	}
	return list;
}

int job_read(int fd, struct job *job)
{
	struct head head;
	char *texts, *at;

	if (read_all(fd, &head, sizeof(head)) || memcmp(head.magic, magic, sizeof(magic)) ||
	    head.version != VERSION || head.bytes > JOB_BYTES_MAX || !head.bytes) {
		fprintf(stderr,
			"collective-run: standard input has no job of a collective-run of this version\n");
		return -1;
	}
	texts = malloc(head.bytes);
	if (!texts || read_all(fd, texts, head.bytes) || texts[head.bytes - 1]) {
		fprintf(stderr, "collective-run: the job on standard input is incomplete\n");
		return -1;
	}
	at = texts;
	*job = (struct job) {
		.first = head.numbers[0],
		.n = head.numbers[1],
		.total = head.numbers[2],
		.grace_s = head.numbers[3],
		.label = head.numbers[4],
		.unbound = head.numbers[5],
		.rendezvous = take(&at, texts + head.bytes),
		.secret = take(&at, texts + head.bytes),
		.folder = take(&at, texts + head.bytes),
	};
	if (head.numbers[6] < head.bytes && head.numbers[7] < head.bytes) {
		job->environment = take_list(&at, texts + head.bytes, head.numbers[6]);
		job->argv = take_list(&at, texts + head.bytes, head.numbers[7]);
	}
	if (job->environment && job->argv && job->argv[0] && job->n > 0 && job->n <= LAUNCH_MAX &&
	    job->total <= LAUNCH_MAX && job->first >= 0 && job->first <= job->total - job->n &&
	    job->grace_s >= 0 && job->grace_s <= 1000000)
		return 0;
	fprintf(stderr, "collective-run: the job on standard input is malformed\n");
	return -1;
}
