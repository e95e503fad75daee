// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descendants.h"

#define TICK_MS	20

/**
 * struct entry - a process of this host
 * @pid: pid of the process
 * @parent: pid of its parent
 * @ours: true if it descends from this process
 */
struct entry {
	pid_t pid;
	pid_t parent;
	bool ours;
};

/* Return: false if the process has ended. */
static bool read_entry(const char *pid, struct entry *entry)
{
	char path[64], text[512], *at;
	ssize_t length;
	int fd, parent;
	char state;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	/* The name may contain any byte.  It ends at the last parenthesis. */
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %c %d", &state, &parent) != 2 || state == 'Z' || state == 'X')
		return false;
	*entry = (struct entry) { .pid = atoi(pid), .parent = parent };
	return true;
}

/* Reads all processes.  Return: their number, or -1. */
static int read_all(struct entry **all)
{
	const struct dirent *at;
	struct entry *more;
	int n = 0, room = 0;
	DIR *folder;

	*all = NULL;
	folder = opendir("/proc");
	if (!folder)
		return -1;
	while ((at = readdir(folder))) {
		if (!isdigit((unsigned char)at->d_name[0]))
			continue;
		if (n == room) {
			room = 2 * room + 64;
			more = reallocarray(*all, room, sizeof(*more));
			if (!more) {
				n = -1;
				break;
			}
			*all = more;
		}
		n += read_entry(at->d_name, &(*all)[n]);
	}
	closedir(folder);
	return n;
}

static bool descends(const struct entry *all, int n, const struct entry *entry, pid_t self)
{
	int i;

	if (entry->parent == self)
		return true;
	for (i = 0; i < n; i++)
		if (all[i].pid == entry->parent)
			return all[i].ours;
	return false;
}

int descendants_signal(int sig, pid_t except)
{
	const pid_t self = getpid();
	int i, n, found, count = 0;
	struct entry *all;

	n = read_all(&all);
	do {
		found = 0;
		for (i = 0; i < n; i++)
			if (!all[i].ours && all[i].pid != except &&
			    descends(all, n, &all[i], self)) {
				all[i].ours = true;
				found++;
			}
	} while (found);
	for (i = 0; i < n; i++) {
		if (!all[i].ours)
			continue;
		count++;
		/* Fails for a process that has just ended or changed its user. */
		if (sig)
			(void)kill(all[i].pid, sig);
	}
	free(all);
	return n < 0 ? -1 : count;
}

void descendants_kill(unsigned int ms)
{
	unsigned int waited;

	for (waited = 0; waited <= ms; waited += TICK_MS) {
		if (descendants_signal(SIGKILL, 0) <= 0)
			break;
		usleep(1000 * TICK_MS);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}
