/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef COLL_COPY_H
#define COLL_COPY_H

#include "core/env.h"

/**
 * typedef coll_copy_fn - copy bytes
 * @dst: destination
 * @src: source; must not overlap @dst
 * @len: number of bytes
 *
 * Context: any; uses no FPU registers.
 */
typedef void (*coll_copy_fn)(void *dst, const void *src, size_t len);

void coll_copy_words(void *dst, const void *src, size_t len);
void coll_copy_nontemporal(void *dst, const void *src, size_t len);
#if defined(__x86_64__)
void coll_copy_string(void *dst, const void *src, size_t len);
#endif

#endif /* COLL_COPY_H */
