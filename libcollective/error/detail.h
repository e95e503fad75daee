/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_DETAIL_H
#define COLL_DETAIL_H

#include <stdarg.h>
#include <stddef.h>

/**
 * struct coll_detail - where the reason of a failure is written in words
 * @text: the caller's buffer, or NULL when nobody wants to know
 * @size: bytes of it
 */
struct coll_detail {
	char *text;
	size_t size;
};

/**
 * coll_fail - write the text, unless one is there already, and return @err
 * @detail: where
 * @err: negative errno
 * @format: as printf()
 *
 * The first reason is the one nearest to the cause, so later ones are dropped.
 */
int coll_fail(struct coll_detail *detail, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* COLL_DETAIL_H */
