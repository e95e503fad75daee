// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Profiles of the processes of this job, by the launcher of MPICH (Hydra).
 *
 * Each process has a connection to the launcher, by which MPICH puts and gets values that have a
 * key (PMI-1: lines of text, an answer to each).  MPI_Init() puts addresses there, and has a
 * barrier before it gets those of others.  So what this library puts before that is known to all
 * after it, and a process without this library puts nothing.
 *
 * Other launchers may not take a connection that is begun twice.  With these, none tells anything.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mpich.h"

#define LINE_SIZE	2048
#define NAME_SIZE	257
/* Name of the process at the other end of the connection, as /proc has it. */
#define LAUNCHER	"hydra_pmi_proxy\n"

/**
 * struct known - what is known of a process
 * @is_told: it has told @profile
 * @profile: its profile
 */
struct known {
	bool is_told;
	struct cm_profile profile;
};

/* @known is by rank in MPI_COMM_WORLD; NULL: this process has told nothing. */
static struct {
	int fd;
	char values[NAME_SIZE];
	int rank;
	int count;
	struct known *known;
} profiles;

/* ---- the connection ---- */

static int number(const char *variable)
{
	const char *text = getenv(variable);

	return text ? atoi(text) : -1;
}

/* Is the process at the other end that of Hydra? */
static bool is_launcher(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	char path[64], name[32] = "";
	FILE *file;
	bool is;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/comm", peer.pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	is = fgets(name, sizeof(name), file) && !strcmp(name, LAUNCHER);
	fclose(file);
	return is;
}

static bool send_line(const char *line)
{
	size_t done = 0, size = strlen(line);
	ssize_t n;

	while (done < size) {
		n = send(profiles.fd, line + done, size - done, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? n : 0;
	}
	return true;
}

static bool receive_line(char line[LINE_SIZE])
{
	size_t length = 0;
	ssize_t n;

	while (length < LINE_SIZE - 1) {
		n = read(profiles.fd, line + length, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != 1)
			return false;
		if (line[length] == '\n') {
			line[length] = 0;
			return true;
		}
		length++;
	}
	return false;
}

/* Send @line, and find the word after @name in the answer.  Return: whether it is there. */
static bool ask(const char *line, const char *name, char *value, size_t size)
{
	char answer[LINE_SIZE];
	const char *found;
	size_t length;

	if (!send_line(line) || !receive_line(answer))
		return false;
	found = strstr(answer, name);
	if (!found)
		return false;
	found += strlen(name);
	length = strcspn(found, " ");
	if (length >= size)
		return false;
	memcpy(value, found, length);
	value[length] = 0;
	return true;
}

/* ---- profiles ---- */

static bool put_own(void)
{
	char line[LINE_SIZE], text[CM_PROFILE_SIZE], rc[16];

	cm_profile_write(text);
	if (!ask("cmd=init pmi_version=1 pmi_subversion=1\n", " rc=", rc, sizeof(rc)) ||
	    strcmp(rc, "0") ||
	    !ask("cmd=get_my_kvsname\n", " kvsname=", profiles.values, sizeof(profiles.values)))
		return false;
	snprintf(line, sizeof(line), "cmd=put kvsname=%s key=collective-%d value=%s\n",
		 profiles.values, profiles.rank, text);
	return ask(line, " rc=", rc, sizeof(rc)) && !strcmp(rc, "0");
}

void profile_tell(void)
{
	profiles.fd = number("PMI_FD");
	profiles.rank = number("PMI_RANK");
	profiles.count = number("PMI_SIZE");
	if (profiles.rank < 0 || profiles.rank >= profiles.count || !is_launcher(profiles.fd))
		return;
	profiles.known = calloc(profiles.count, sizeof(*profiles.known));
	if (!profiles.known || put_own())
		return;
	free(profiles.known);
	profiles.known = NULL;
}

static void get_of(int rank)
{
	struct known *known = &profiles.known[rank];
	char line[LINE_SIZE], text[CM_PROFILE_SIZE];

	snprintf(line, sizeof(line), "cmd=get kvsname=%s key=collective-%d\n", profiles.values,
		 rank);
	known->is_told = ask(line, " value=", text, sizeof(text)) &&
			 cm_profile_read(text, &known->profile);
}

void profile_learn(void)
{
	int rank;

	for (rank = 0; profiles.known && rank < profiles.count; rank++)
		get_of(rank);
}

const struct cm_profile *profile_of(int rank)
{
	if (!profiles.known || rank < 0 || rank >= profiles.count ||
	    !profiles.known[rank].is_told)
		return NULL;
	return &profiles.known[rank].profile;
}
