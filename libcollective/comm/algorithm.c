// SPDX-License-Identifier: LGPL-2.1-or-later
/* How the collectives of a group are done: "tree", or "allreduce:ring,reduce:direct". */
#include <errno.h>
#include <string.h>

#include "comm/config.h"
#include "error/names.h"

#define SIZE(array) (sizeof(array) / sizeof(*(array)))

/* The place of a word, or -1. */
static int find(const char * const *names, size_t n, const char *word, size_t length)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (names[i] && strlen(names[i]) == length && !strncmp(names[i], word, length))
			return i;
	return -1;
}

static int algorithm_item(struct coll_settings *settings, const char *item, size_t length)
{
	const char *colon = memchr(item, ':', length);
	const char *word = colon ? colon + 1 : item;
	int algorithm = find(coll_names_algorithms, SIZE(coll_names_algorithms), word,
			     item + length - word);
	int opcode;

	if (algorithm < 0)
		return -EINVAL;
	if (!colon) {
		memset(settings->algorithm, algorithm, COLLECTIVE_OPCODE_COUNT);
		return 0;
	}
	opcode = find(coll_names_opcodes, SIZE(coll_names_opcodes), item, colon - item);
	if (opcode < 0)
		return -EINVAL;
	settings->algorithm[opcode] = algorithm;
	return 0;
}

int coll_config_algorithms(struct coll_settings *settings, const char *text,
			   struct coll_detail *detail)
{
	const char *item = text;
	size_t length;

	for (;; item += length + 1) {
		length = strcspn(item, ",");
		if (algorithm_item(settings, item, length))
			return coll_fail(detail, -EINVAL,
					 "algorithm %.*s is not ring, tree or direct, perhaps with a collective and a colon before it",
					 (int)length, item);
		if (!item[length])
			return 0;
	}
}
