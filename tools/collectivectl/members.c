// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl.h"
#include "members.h"

char *ctl_read(const char *directory, const char *name)
{
	char *path, *line = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *file;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		err(2, "memory");
	file = fopen(path, "re");
	free(path);
	if (!file)
		return NULL;
	length = getline(&line, &room, file);
	fclose(file);
	if (length < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* The driver core adds these to the attributes of a device. */
static bool is_foreign(const char *name)
{
	return name[0] == '.' || !strcmp(name, "uevent") ||
	       !strcmp(name, "power") || !strcmp(name, "subsystem");
}

static void add(struct member *member, const char *path, const char *directory,
		const char *name)
{
	struct value *value;

	member->values = reallocarray(member->values, member->n + 1,
				      sizeof(*value));
	if (!member->values)
		err(2, "memory");
	value = &member->values[member->n++];
	value->directory = strdup(directory);
	value->name = strdup(name);
	value->text = ctl_read(path, name);
	if (!value->directory || !value->name)
		err(2, "memory");
}

/* Adds the files of @path, and of its subdirectories if @path is not one itself. */
static void scan(struct member *member, const char *path, const char *directory)
{
	struct dirent **entries;
	struct stat info;
	char *below;
	int i, n;

	n = scandir(path, &entries, NULL, alphasort);
	/* The member may have left meanwhile. */
	if (n < 0 && errno != ENOENT)
		err(2, "%s", path);
	for (i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (asprintf(&below, "%s/%s", path, name) < 0)
			err(2, "memory");
		if (!is_foreign(name) && !lstat(below, &info)) {
			if (S_ISREG(info.st_mode))
				add(member, path, directory, name);
			else if (S_ISDIR(info.st_mode) && !*directory)
				scan(member, below, name);
		}
		free(below);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static int by_rank(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_place(const void *a, const void *b)
{
	const struct value *x = a, *y = b;
	int order = strcmp(x->directory, y->directory);

	return order ? order : strcmp(x->name, y->name);
}

bool members_read(const char *path, struct members *members)
{
	const struct dirent *entry;
	struct member *member;
	char *below, *end;
	unsigned long rank;
	DIR *directory;

	memset(members, 0, sizeof(*members));
	directory = opendir(path);
	if (!directory && errno != ENOENT && errno != ENOTDIR)
		err(2, "%s", path);
	if (!directory)
		return false;
	while (errno = 0, (entry = readdir(directory))) {
		rank = strtoul(entry->d_name, &end, 10);
		if (*end || entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		members->members = reallocarray(members->members,
						members->n + 1,
						sizeof(*member));
		if (!members->members ||
		    asprintf(&below, "%s/%s", path, entry->d_name) < 0)
			err(2, "memory");
		member = &members->members[members->n++];
		memset(member, 0, sizeof(*member));
		member->rank = rank;
		scan(member, below, "");
		free(below);
		if (member->n)
			qsort(member->values, member->n,
			      sizeof(*member->values), by_place);
	}
	if (errno && errno != ENOENT)
		err(2, "%s", path);
	closedir(directory);
	if (members->n)
		qsort(members->members, members->n, sizeof(*members->members),
		      by_rank);
	return true;
}

void members_free(struct members *members)
{
	size_t i, j;

	for (i = 0; i < members->n; i++) {
		struct member *member = &members->members[i];

		for (j = 0; j < member->n; j++) {
			free(member->values[j].directory);
			free(member->values[j].name);
			free(member->values[j].text);
		}
		free(member->values);
	}
	free(members->members);
}

const struct value *member_find(const struct member *member,
				const struct value *value)
{
	size_t i;

	for (i = 0; i < member->n; i++)
		if (!by_place(&member->values[i], value))
			return &member->values[i];
	return NULL;
}
