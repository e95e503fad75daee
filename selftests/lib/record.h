/* SPDX-License-Identifier: GPL-2.0-only */
/* The record of a rank, which the flight recorder shows. */
#ifndef COLL_RECORD_H
#define COLL_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/group.h"

#define RECORDERS	"/sys/kernel/debug/collective"

#define UNREADABLE	"cannot read " RECORDERS ": needs root, and debugfs mounted"

static inline bool unreadable(void)
{
	return access(RECORDERS, R_OK | X_OK);
}

static inline void folder_path(char *path, size_t size, const char *group)
{
	struct stat info = { 0 };

	stat("/proc/self/ns/net", &info);
	snprintf(path, size, RECORDERS "/%s@%ju", group, (uintmax_t)info.st_ino);
}

static inline void file_path(char *path, size_t size, const char *group, unsigned int rank)
{
	folder_path(path, size - 12, group);
	snprintf(path + strlen(path), 12, "/%u", rank);
}

/* Does the record of a rank have a line with @words? */
static inline bool record_has(const char *group, unsigned int rank, const char *words)
{
	char path[256], line[512];
	bool found = false;
	FILE *file;

	file_path(path, sizeof(path), group, rank);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, words);
	if (file)
		fclose(file);
	return found;
}

/*
 * Wait until a rank has been told that an operation (NULL: any) has failed, which it has not
 * submitted.  If it submitted the operation before, it might have all that a success needs.
 * Return: true, or false after 20 s.
 */
static inline bool record_await_failure(const char *group, unsigned int rank,
					const char *operation)
{
	const __u64 end = now_ms() + 20000;
	char words[64];

	/* Where nothing can tell, it is told within this time, but on a busy machine. */
	if (unreadable())
		sleep_ms(1000);
	snprintf(words, sizeof(words), operation ? " fail op=%s " : " fail op=", operation);
	while (!unreadable() && !record_has(group, rank, words)) {
		if (now_ms() > end)
			return false;
		sleep_ms(5);
	}
	return true;
}

#endif /* COLL_RECORD_H */
