/* SPDX-License-Identifier: GPL-2.0-only */
/* What Documentation/wire.rst says of HELLO and its proofs, made here once more. */
#ifndef COLL_PROOF_H
#define COLL_PROOF_H

#include <linux/types.h>
#include <nettle/hmac.h>
#include <string.h>

#define HELLO		192
#define STAGE_AT	6
#define SECURED_AT	9
#define ERROR_AT	12
#define NONCE_AT	88
#define PROOF_AT	120
#define PROOF		32

/**
 * hello_prove() - that somebody knows the secret
 * @call: HELLO bytes, as they were sent
 * @answer: likewise
 * @stage: 1: of the answer; 2: of the confirmation
 * @secret: of the group
 * @proof: PROOF bytes, filled in
 */
static inline void hello_prove(const __u8 *call, const __u8 *answer, __u8 stage,
			       const __u8 *secret, __u8 *proof)
{
	struct hmac_sha256_ctx ctx;
	__u8 said[HELLO];

	memcpy(said, answer, HELLO);
	memset(said + PROOF_AT, 0, PROOF);
	hmac_sha256_set_key(&ctx, PROOF, secret);
	hmac_sha256_update(&ctx, 1, &stage);
	hmac_sha256_update(&ctx, HELLO, call);
	hmac_sha256_update(&ctx, HELLO, said);
	hmac_sha256_digest(&ctx, PROOF, proof);
}

/**
 * hello_confirm() - the third HELLO
 * @call: HELLO bytes, as they were sent
 * @answer: HELLO bytes, as they came
 * @secret: of the group
 * @confirm: HELLO bytes, filled in
 */
static inline void hello_confirm(const __u8 *call, const __u8 *answer, const __u8 *secret,
				 __u8 *confirm)
{
	memcpy(confirm, call, HELLO);
	confirm[STAGE_AT] = 2;
	hello_prove(call, answer, 2, secret, confirm + PROOF_AT);
}

#endif /* COLL_PROOF_H */
