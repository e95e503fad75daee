/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_FAILURE_TEXT_H
#define COLL_FAILURE_TEXT_H

#include <stddef.h>

#include <linux/collective.h>

/* The kernel's reason in words; empty when there is none. */
void coll_failure_format(const struct collective_reason *reason, char *text,
			 size_t size);

/*
 * What two ranks called, as far as known, in words; empty when neither is.
 * Returns the length.
 */
size_t coll_calls_format(const struct collective_call calls[2], char *string,
			 size_t size);

#endif /* COLL_FAILURE_TEXT_H */
