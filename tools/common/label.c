// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "label.h"
#include "output.h"

#define CHUNK		65536
#define LINE_MAX_SIZE	(1 << 20)
#define LAST_CHUNKS	32	/* together more than a pipe holds */

/**
 * struct source - the output of a rank
 * @rank: the rank
 * @fd: pipe; -1: at its end
 * @line: beginning of a line without its end
 * @have: length of @line; bytes
 * @room: size of the memory of @line; bytes
 */
struct source {
	int rank;
	int fd;
	char *line;
	size_t have;
	size_t room;
};

/* Lines may contain any byte, also zero. */
static void print(const struct source *source, const char *rest, size_t length)
{
	printf("[%d] ", source->rank);
	fwrite(source->line, 1, source->have, stdout);
	fwrite(rest, 1, length, stdout);
	putchar('\n');
}

static void keep(struct source *source, const char *from, size_t length)
{
	size_t room = source->have + length;
	char *line;

	if (room > source->room) {
		room *= 2;
		line = realloc(source->line, room);
		if (!line) {
			perror("output");
			_exit(1);
		}
		source->line = line;
		source->room = room;
	}
	memcpy(source->line + source->have, from, length);
	source->have += length;
}

static void take(struct source *source, const char *from, size_t length)
{
	const char *end;
	size_t part;

	while (length) {
		end = memchr(from, '\n', length);
		part = end ? (size_t)(end - from) : length;
		if (end || source->have + part >= LINE_MAX_SIZE) {
			print(source, from, part);
			source->have = 0;
		} else {
			keep(source, from, part);
		}
		part += !!end;
		from += part;
		length -= part;
	}
}

/* Return: true if more bytes may be ready. */
static bool copy(struct source *source)
{
	static char chunk[CHUNK];
	ssize_t got = read(source->fd, chunk, sizeof(chunk));

	if (got > 0) {
		take(source, chunk, got);
		return true;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (got < 0)
		fprintf(stderr, "%s: output of rank %d: %s\n", program_invocation_short_name,
			source->rank, strerror(errno));
	if (source->have)
		print(source, NULL, 0);
	close(source->fd);
	source->fd = -1;
	source->have = 0;
	return false;
}

static void drain(struct source *source, int chunks)
{
	while (chunks-- && copy(source))
		;
}

/* Copies until all pipes have ended, or the other end of @end is closed. */
static int copy_all(struct source *sources, int n, int end)
{
	struct pollfd *polls = calloc(n + 1, sizeof(*polls));
	int i, open, lost = 0;
	bool over = false;

	if (!polls) {
		perror("output");
		return 1;
	}
	do {
		for (open = i = 0; i < n; i++) {
			open += sources[i].fd >= 0;
			polls[i] = (struct pollfd) { .fd = sources[i].fd, .events = POLLIN };
		}
		polls[n] = (struct pollfd) { .fd = end, .events = POLLIN };
		if (!open)
			break;
		if (poll(polls, n + 1, -1) < 0 && errno != EINTR) {
			perror("output: poll");
			lost = 1;
			break;
		}
		over = polls[n].revents;
		for (i = 0; i < n; i++)
			if (sources[i].fd >= 0 && (polls[i].revents || over))
				drain(&sources[i], over ? LAST_CHUNKS : 1);
		lost |= !!output_flush();
	} while (!over);
	for (i = 0; i < n; i++)
		if (sources[i].have)
			print(&sources[i], NULL, 0);
	free(polls);
	return lost | !!output_flush();
}

static int run(const int *from, int first, int n, int end)
{
	struct source *sources = calloc(n, sizeof(*sources));
	int i, flags;

	if (!sources) {
		perror("output");
		return 1;
	}
	for (i = 0; i < n; i++) {
		sources[i].rank = first + i;
		sources[i].fd = from[i];
		/* The flag applies to the reading end only. */
		flags = fcntl(from[i], F_GETFL);
		if (flags < 0 || fcntl(from[i], F_SETFL, flags | O_NONBLOCK)) {
			perror("output");
			return 1;
		}
	}
	return copy_all(sources, n, end);
}

pid_t label_start(const int *from, int first, int n, int *end)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC)) {
		perror("pipe");
		return -1;
	}
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit(run(from, first, n, ends[0]));
	}
	close(ends[0]);
	if (pid < 0) {
		perror("fork");
		close(ends[1]);
		return -1;
	}
	*end = ends[1];
	return pid;
}
