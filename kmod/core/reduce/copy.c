// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Copy functions of the reduction implementations (struct coll_reduce_impl).
 */
#include "core/reduce/reduce.h"

/**
 * coll_copy_words() - copy with memcpy()
 * @dst: destination
 * @src: source; must not overlap @dst
 * @len: number of bytes
 *
 * Context: any.
 */
void coll_copy_words(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
/* Bytes; shorter copies use memcpy(), because non-temporal stores gain nothing. */
#define COPY_PAST_MIN	1024
#define COPY_LINE	64U
#define COPY_PLACES	4	/* parts that are copied in turn, a line of each */
#define COPY_AHEAD	512	/* bytes; the distance of prefetching */

/* A word of the source, which need not be aligned */
struct copy_word {
	u64 bits;
} __packed;

/* Store one cache line without reading its old contents and without keeping it in the caches. */
static inline void copy_line(u64 *dst, const struct copy_word *src)
{
	u32 i;

#pragma GCC unroll 8
	for (i = 0; i < COPY_LINE / sizeof(u64); i++)
		__asm__ volatile("movnti %1, %0" : "=m" (dst[i]) : "r" (src[i].bits));
}

static void copy_lines(void *dst, const void *src, size_t len)
{
	size_t off;
	u32 i;

	for (off = 0; off < len; off += COPY_LINE) {
#pragma GCC unroll 4
		for (i = 0; i < COPY_PLACES; i++) {
			size_t at = i * len + off;

			__builtin_prefetch(src + at + COPY_AHEAD);
			copy_line(dst + at, src + at);
		}
	}
	/* Complete the non-temporal stores before the copy is reported as done. */
	__asm__ volatile("sfence" : : : "memory");
}
#endif

/**
 * coll_copy_nontemporal() - copy with non-temporal stores
 * @dst: destination
 * @src: source; must not overlap @dst
 * @len: number of bytes
 *
 * A CPU that copies bytes which no cache holds mostly waits for memory, and its prefetcher does
 * not cross a page.  Therefore the copy alternates between COPY_PLACES parts.
 *
 * Context: any; uses no FPU registers.  On return its stores are ordered before later ones.
 */
void coll_copy_nontemporal(void *dst, const void *src, size_t len)
{
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
	if (len >= COPY_PAST_MIN) {
		size_t head = -(uintptr_t)dst % COPY_LINE;
		size_t each = (len - head) / COPY_PLACES / COPY_LINE * COPY_LINE;

		memcpy(dst, src, head);
		copy_lines(dst + head, src + head, each);
		head += COPY_PLACES * each;
		dst += head;
		src += head;
		len -= head;
	}
#endif
	memcpy(dst, src, len);
}

#if defined(__x86_64__)
#define COPY_STRING_MIN	512	/* bytes; below, "rep movsb" costs more to start than it saves */

/**
 * coll_copy_string() - copy with "rep movsb"
 * @dst: destination
 * @src: source; must not overlap @dst
 * @len: number of bytes
 *
 * The source was stored by another CPU or long ago, so it is not in the nearest caches.  On all
 * CPUs with AVX-512 "rep movsb" copies such bytes in half the time of a loop over words.  The
 * kernel's memcpy() is such a loop unless the CPU has fast short "rep movsb" (FSRM).
 * AddressSanitizer checks memcpy() only, so its builds call that.
 *
 * Context: any.
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
