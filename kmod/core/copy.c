// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying, as the implementations of the reductions have it done.  See reduce.h.
 */
#include "reduce.h"

/**
 * coll_copy_words() - copy as the environment does
 * @dst: where to
 * @src: where from; the two do not overlap
 * @len: bytes
 */
void coll_copy_words(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
}

#if defined(__x86_64__)
#define COPY_STRING_MIN	512	/* bytes; fewer are not worth the beginning */

/**
 * coll_copy_string() - copy with one instruction
 * @dst: where to
 * @src: where from; the two do not overlap
 * @len: bytes
 *
 * What is copied was stored by another CPU, or long ago.  All CPUs with AVX-512 move such
 * bytes by themselves in half the time that it takes to do it word by word, as the
 * kernel's memcpy() does unless it knows that they are quick with few bytes too.
 * Sanitizers see memcpy() only.
 */
void coll_copy_string(void *dst, const void *src, size_t len)
{
#if !defined(__SANITIZE_ADDRESS__)
	if (len >= COPY_STRING_MIN) {
		__asm__ volatile("rep movsb" : "+D" (dst), "+S" (src), "+c" (len) : : "memory");
		return;
	}
#endif
	memcpy(dst, src, len);
}
#endif
