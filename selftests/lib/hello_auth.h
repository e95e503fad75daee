/* SPDX-License-Identifier: GPL-2.0-only */
/* HELLO and its proofs, implemented from Documentation/wire.rst independently of the module. */
#ifndef COLL_HELLO_AUTH_H
#define COLL_HELLO_AUTH_H

#include <linux/types.h>
#include <nettle/hmac.h>
#include <string.h>

#define HELLO_SIZE		192
#define HELLO_VERSION	4
#define HELLO_STAGE	6
#define HELLO_SECURED	9
#define HELLO_ERROR	12
#define HELLO_ID	16
#define HELLO_NONCE	88
#define HELLO_PROOF	120
#define PROOF_SIZE		32

/**
 * hello_prove() - compute the proof that a sender knows the secret
 * @call: the call, HELLO_SIZE bytes, as sent
 * @answer: the answer, HELLO_SIZE bytes, as sent
 * @stage: 1: proof of the answer; 2: proof of the confirmation
 * @secret: secret of the group
 * @proof: PROOF_SIZE bytes, filled in
 */
static inline void hello_prove(const __u8 *call, const __u8 *answer, __u8 stage,
			       const __u8 *secret, __u8 *proof)
{
	struct hmac_sha256_ctx ctx;
	__u8 said[HELLO_SIZE];

	memcpy(said, answer, HELLO_SIZE);
	memset(said + HELLO_PROOF, 0, PROOF_SIZE);
	hmac_sha256_set_key(&ctx, PROOF_SIZE, secret);
	hmac_sha256_update(&ctx, 1, &stage);
	hmac_sha256_update(&ctx, HELLO_SIZE, call);
	hmac_sha256_update(&ctx, HELLO_SIZE, said);
	hmac_sha256_digest(&ctx, PROOF_SIZE, proof);
}

/**
 * hello_confirm() - make the confirmation, the third HELLO of a handshake
 * @call: the call, HELLO_SIZE bytes, as sent
 * @answer: the answer, HELLO_SIZE bytes, as received
 * @secret: secret of the group
 * @confirm: HELLO_SIZE bytes, filled in
 */
static inline void hello_confirm(const __u8 *call, const __u8 *answer, const __u8 *secret,
				 __u8 *confirm)
{
	memcpy(confirm, call, HELLO_SIZE);
	confirm[HELLO_STAGE] = 2;
	hello_prove(call, answer, 2, secret, confirm + HELLO_PROOF);
}

#endif /* COLL_HELLO_AUTH_H */
