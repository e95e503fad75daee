/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lines of PMI-1: "cmd=NAME key=value ..." and a line end.  Whatever the launcher sends is
 * untrusted: the reader never looks beyond the line, and a line has a maximum length.
 */
#ifndef COLL_PMI1_LINE_H
#define COLL_PMI1_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define PMI1_LINE_MAX	4096	/* of a line, with its end */

/* Does the line, which ends with NUL, have this command? */
bool pmi1_line_is(const char *line, const char *command);

/**
 * pmi1_line_get - copy the value of a key
 * @line: line, which ends with NUL
 * @key: key
 * @value: receives the value, which ends with NUL
 * @size: size of @value in bytes
 *
 * Return: length of the value, or -EPROTO: there is no such key, or its value is too long.
 */
int pmi1_line_get(const char *line, const char *key, char *value, size_t size);

/* Get a number, 0 to @max.  Return: the number, or -EPROTO. */
int pmi1_line_number(const char *line, const char *key, int max);

/*
 * Return: 0 if the line has no rc, or rc=0; otherwise -EPROTO.
 */
int pmi1_line_result(const char *line);

#endif /* COLL_PMI1_LINE_H */
