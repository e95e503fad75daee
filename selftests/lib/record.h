/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the flight recorder shows the record of a rank. */
#ifndef COLL_RECORD_H
#define COLL_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

#endif /* COLL_RECORD_H */
