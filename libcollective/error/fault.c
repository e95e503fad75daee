// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "error/fault.h"

/**
 * struct mapping - line of /proc/self/maps
 * @from: first byte
 * @to: end, exclusive
 * @offset: offset of @from in the file
 * @rights: permissions, as in "rw-p"
 * @path: path of the file; empty: none
 */
struct mapping {
	uintptr_t from;
	uintptr_t to;
	unsigned long long offset;
	char rights[5];
	char path[128];
};

static bool mapping_next(FILE *maps, struct mapping *mapping)
{
	char line[512];
	int end = 0, c;

	if (!fgets(line, sizeof(line), maps))
		return false;
	if (!strchr(line, '\n'))
		while ((c = getc(maps)) != '\n' && c != EOF)
			;
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %4s %llx %*s %*s %n", &mapping->from, &mapping->to,
		   mapping->rights, &mapping->offset, &end) < 4)
		return false;
	snprintf(mapping->path, sizeof(mapping->path), "%.*s", (int)sizeof(mapping->path) - 1,
		 line + end);
	return true;
}

/* Is the file on a file system without a disk, so that its pages can be pinned?  -1: unknown. */
static int in_memory(const char *path)
{
	struct statfs fs;

	if (!strncmp(path, "/memfd:", 7) || !strncmp(path, "/SYSV", 5) ||
	    !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/dev/shm/", 9))
		return 1;
	if (statfs(path, &fs))
		return -1;
	return fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC;
}

/* Reason why the memory cannot be used; NULL: none found. */
static const char *mapping_fault(const struct mapping *mapping, bool write, uintptr_t *at)
{
	const bool shared = mapping->rights[3] == 's';
	struct stat status;

	if (write && mapping->rights[1] != 'w')
		return "may not be written";
	if (!write && mapping->rights[0] != 'r')
		return "may not be read";
	if (mapping->path[0] == '[' && strncmp(mapping->path, "[heap]", 6) &&
	    strncmp(mapping->path, "[stack", 6) && strncmp(mapping->path, "[anon", 5))
		return "is of a kind that cannot be pinned: memory of the kernel";
	if (mapping->path[0] != '/')
		return NULL;
	if (!strncmp(mapping->path, "/secretmem", 10))
		return "is of a kind that cannot be pinned: memory of memfd_secret()";
	if (!stat(mapping->path, &status)) {
		const unsigned long long first = mapping->offset + (*at - mapping->from);
		const unsigned long long page = 4096, size = status.st_size;

		if (S_ISCHR(status.st_mode) && strcmp(mapping->path, "/dev/zero") &&
		    strcmp(mapping->path, "/dev/collective"))
			return "is of a kind that cannot be pinned: a device's";
		if (S_ISREG(status.st_mode) && first >= (size + page - 1) / page * page)
			return "is behind the end of its file";
	}
	if (write && shared && !in_memory(mapping->path))
		return "is of a kind that cannot be pinned: it writes through to a file";
	return NULL;
}

void coll_fault_format(uintptr_t at, size_t size, bool write, char *text, size_t text_size)
{
	const uintptr_t end = at + size;
	struct mapping mapping;
	const char *fault = NULL;
	FILE *maps;

	text[0] = '\0';
	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return;
	while (!fault && at < end && mapping_next(maps, &mapping)) {
		if (mapping.to <= at)
			continue;
		if (mapping.from > at)
			break;
		fault = mapping_fault(&mapping, write, &at);
		if (!fault)
			at = mapping.to;
	}
	fclose(maps);
	if (!fault && at < end)
		fault = "is not mapped";
	if (fault)
		snprintf(text, text_size, "memory at %#lx %s", (unsigned long)at, fault);
}
