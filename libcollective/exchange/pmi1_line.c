// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/pmi1_line.h"

/* Find the value of a key; its end is a blank or the end of the line. */
static const char *find(const char *line, const char *key, size_t *length)
{
	const size_t size = strlen(key);

	for (;;) {
		line += strspn(line, " ");
		if (!*line)
			return NULL;
		if (!strncmp(line, key, size) && line[size] == '=') {
			line += size + 1;
			*length = strcspn(line, " ");
			return line;
		}
		line += strcspn(line, " ");
	}
}

bool pmi1_line_is(const char *line, const char *command)
{
	size_t length;
	const char *value = find(line, "cmd", &length);

	return value && length == strlen(command) && !strncmp(value, command, length);
}

int pmi1_line_get(const char *line, const char *key, char *value, size_t size)
{
	size_t length;
	const char *at = find(line, key, &length);

	if (!at || length >= size)
		return -EPROTO;
	memcpy(value, at, length);
	value[length] = '\0';
	return length;
}

int pmi1_line_number(const char *line, const char *key, int max)
{
	char value[12], *end;
	long number;

	if (pmi1_line_get(line, key, value, sizeof(value)) < 1 || value[0] < '0' || value[0] > '9')
		return -EPROTO;
	number = strtol(value, &end, 10);
	return *end || number > max ? -EPROTO : number;
}

int pmi1_line_result(const char *line)
{
	char value[12];

	if (pmi1_line_get(line, "rc", value, sizeof(value)) < 0) {
		size_t length;

		return find(line, "rc", &length) ? -EPROTO : 0;
	}
	return strcmp(value, "0") ? -EPROTO : 0;
}
