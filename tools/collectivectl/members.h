/* SPDX-License-Identifier: GPL-2.0-only */
/* The sysfs files of a group: every file of every member, whatever its name. */
#ifndef MEMBERS_H
#define MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct value - one file
 * @directory: name of its subdirectory; "": none
 * @name: name of the file
 * @text: its first line; NULL: it could not be read
 */
struct value {
	char *directory;
	char *name;
	char *text;
};

/**
 * struct member - one rank of the group
 * @rank: number of the rank
 * @values: files in the order of their names, those of subdirectories last
 * @n: number of files
 */
struct member {
	unsigned int rank;
	struct value *values;
	size_t n;
};

/**
 * struct members - the members of a group on this host
 * @members: members in the order of their ranks
 * @n: number of members
 */
struct members {
	struct member *members;
	size_t n;
};

/* Reads @path (groups/NAME).  Return: false if it does not exist. */
bool members_read(const char *path, struct members *members);
void members_free(struct members *members);

/* Returns the member's value of the same directory and name as @value, or NULL. */
const struct value *member_find(const struct member *member,
				const struct value *value);

#endif /* MEMBERS_H */
