/* SPDX-License-Identifier: GPL-2.0-only */
/* Comparison of secrets, in the same time wherever they differ. */
#ifndef COLL_COMPAT_MEMNEQ_H
#define COLL_COMPAT_MEMNEQ_H

#include <linux/compiler.h>
#include <linux/kconfig.h>
#include <linux/types.h>

#if IS_REACHABLE(CONFIG_CRYPTO_LIB_UTILS)
#include <crypto/utils.h>

static inline bool coll_memneq(const void *a, const void *b, size_t size)
{
	return crypto_memneq(a, b, size);
}
#else
/* A kernel without the crypto API, such as that of the test machine, does not have it. */
static inline bool coll_memneq(const void *a, const void *b, size_t size)
{
	const u8 *p = a, *q = b;
	u8 different = 0;
	size_t i;

	for (i = 0; i < size; i++) {
		different |= p[i] ^ q[i];
		OPTIMIZER_HIDE_VAR(different);
	}
	return different;
}
#endif

#endif /* COLL_COMPAT_MEMNEQ_H */
