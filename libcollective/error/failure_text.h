/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_FAILURE_TEXT_H
#define COLL_FAILURE_TEXT_H

#include <stddef.h>

#include <linux/collective.h>

/* Format a reason of the kernel; empty if there is none. */
void coll_failure_format(const struct collective_reason *reason, char *text,
			 size_t size);

/*
 * Format the calls of two ranks, as far as they are known; empty if neither is.  Return: length
 * of the text.
 */
size_t coll_calls_format(const struct collective_call calls[2], char *string,
			 size_t size);

#endif /* COLL_FAILURE_TEXT_H */
