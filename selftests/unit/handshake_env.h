/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What handshakes take from the module: a transport whose bytes come in pieces that the test
 * chooses, and links that only note what is done with them.
 */
#ifndef COLL_HANDSHAKE_ENV_H
#define COLL_HANDSHAKE_ENV_H

#include <linux/slab.h>

#include "charges_env.h"
#include "random.h"

/* A keyed hash of 32 bytes in place of HMAC-SHA256: each byte of both inputs changes it. */
#define COLL_COMPAT_HMAC_H

static int coll_hmac(const u8 *key, size_t key_len, const u8 *data, size_t len, u8 *mac)
{
	u64 state[4] = { 1, 2, 3, 4 };
	size_t i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < key_len + len; i++) {
			u8 byte = i < key_len ? key[i] : data[i - key_len];

			state[i % 4] = (state[i % 4] + byte + 1) * 0x9e3779b97f4a7c15ULL;
			state[(i + 1) % 4] ^= state[i % 4] >> 29;
		}
	}
	memcpy(mac, state, sizeof(state));
	return 0;
}

#define OPTIMIZER_HIDE_VAR(x)		((void)(x))
#define IS_REACHABLE(...)		0
#define scnprintf			snprintf

static void get_random_bytes(void *to, size_t n)
{
	u8 *byte = to;

	while (n--)
		*byte++ = 1 + random_below(255);
}

#endif /* COLL_HANDSHAKE_ENV_H */
