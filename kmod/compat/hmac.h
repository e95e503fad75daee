/* SPDX-License-Identifier: GPL-2.0-only */
/* HMAC-SHA256, by the kernel's crypto library or, in older kernels, by its crypto API. */
#ifndef COLL_COMPAT_HMAC_H
#define COLL_COMPAT_HMAC_H

#include <linux/types.h>

#ifdef COLL_HAS_HMAC_SHA256
#include <crypto/sha2.h>

static inline int coll_hmac(const u8 *key, size_t key_len, const u8 *data, size_t len, u8 *mac)
{
	hmac_sha256_usingrawkey(key, key_len, data, len, mac);
	return 0;
}
#else
#include <crypto/hash.h>

static inline int coll_hmac(const u8 *key, size_t key_len, const u8 *data, size_t len, u8 *mac)
{
	struct crypto_shash *tfm = crypto_alloc_shash("hmac(sha256)", 0, 0);
	int err;

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	err = crypto_shash_setkey(tfm, key, key_len);
	if (!err)
		err = crypto_shash_tfm_digest(tfm, data, len, mac);
	crypto_free_shash(tfm);
	return err;
}
#endif

#endif /* COLL_COMPAT_HMAC_H */
