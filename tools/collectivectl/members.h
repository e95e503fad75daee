/* SPDX-License-Identifier: GPL-2.0-only */
/* What sysfs says of a group: every file of every member, whatever its name. */
#ifndef MEMBERS_H
#define MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct value - one file
 * @directory: "" or the subdirectory it is in
 * @name: of the file
 * @text: its first line; NULL when it could not be read
 */
struct value {
	char *directory;
	char *name;
	char *text;
};

/**
 * struct member - one rank
 * @rank: its number
 * @values: the files, by name, those of subdirectories last
 * @n: how many
 */
struct member {
	unsigned int rank;
	struct value *values;
	size_t n;
};

/**
 * struct members - those of a group that are on this host
 * @members: by rank
 * @n: how many
 */
struct members {
	struct member *members;
	size_t n;
};

/* Read @path (groups/NAME); false when it is not there. */
bool members_read(const char *path, struct members *members);
void members_free(struct members *members);

/* The member's value like @value, or NULL. */
const struct value *member_find(const struct member *member,
				const struct value *value);

#endif /* MEMBERS_H */
