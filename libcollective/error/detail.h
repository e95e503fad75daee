/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text that a failing function leaves for its callers. */
#ifndef COLL_DETAIL_H
#define COLL_DETAIL_H

#include <stdarg.h>
#include <stddef.h>

/**
 * struct coll_detail - buffer for the text of a failure
 * @text: buffer of the caller; NULL: no text is wanted
 * @size: size of @text in bytes
 */
struct coll_detail {
	char *text;
	size_t size;
};

/**
 * coll_fail - write the text of a failure and return its errno
 * @detail: buffer; a text that is there already is kept, since the first one is nearest to the
 *	cause
 * @err: negative errno
 * @format: as in printf()
 *
 * Return: @err.
 */
int coll_fail(struct coll_detail *detail, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The text of an errno, in English whatever the locale is; safe in threads.  For an unknown one it
 * is valid until the next call of the thread.
 */
const char *coll_errno_text(int err);

#endif /* COLL_DETAIL_H */
