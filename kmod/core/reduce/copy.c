// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying, as the implementations of the reductions have it done.  See reduce.h.
 */
#include "core/reduce/reduce.h"

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

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
/* Fewer bytes than this are not worth it. */
#define COPY_PAST_MIN	1024
#define COPY_LINE	64U
/* So many places are copied to at once, and read so far ahead, bytes. */
#define COPY_PLACES	4
#define COPY_AHEAD	512

/* At any byte. */
struct copy_word {
	u64 bits;
} __packed;

/* Store one cache line without reading it and without keeping it in the caches. */
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
	/* Complete the nontemporal stores before the copy is reported as done. */
	__asm__ volatile("sfence" : : : "memory");
}
#endif

/**
 * coll_copy_nontemporal() - copy with nontemporal stores
 * @dst: destination
 * @src: source; the two do not overlap
 * @len: bytes
 *
 * A CPU that copies data which is in no cache mostly waits for memory, and its prefetcher stays
 * within a page.  So the copy works in several places at once.
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
