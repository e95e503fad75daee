/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Digests by which ranks compare what they have: FNV-1a. */
#ifndef CM_DIGEST_H
#define CM_DIGEST_H

#include <stddef.h>

#define CM_DIGEST_INIT	0xcbf29ce484222325ULL

/** cm_digest - digest of @digest and of @size bytes after it */
static inline unsigned long long cm_digest(unsigned long long digest, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	while (size--)
		digest = (digest ^ *bytes++) * 0x100000001b3ULL;
	return digest;
}

/** cm_digest_value - a number below 2^62 that is compared */
static inline long long cm_digest_value(unsigned long long digest)
{
	return digest >> 2;
}

#endif /* CM_DIGEST_H */
