// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both ends of a connection prove that they know the group's secret.
 *
 *	call		who calls whom, of which group; a nonce
 *	answer		likewise, and another; HMAC(secret, ANSWER, call, answer)
 *	confirmation	the call again, and HMAC(secret, CONFIRM, call, answer)
 *
 * HMAC is HMAC-SHA256 of one byte that says which proof it is, and of the call and
 * the answer as they were sent, the place of the answer's own proof left zero.  So a
 * proof is of this group, these ranks, this lane and these two nonces: it cannot be
 * replayed, sent back, or used for another connection.  Who is called proves it
 * first, and learns nothing by that of who calls; nothing of the caller is believed
 * before the confirmation.  Each proof is good for one attempt, with a nonce of the
 * one who checks it: how long comparing it takes tells nothing that is of use later.
 */
#include "compat/hmac.h"
#include "core/wire/wire.h"
#include "net/conn.h"
#include "net/net.h"

#define PROOF_AT	(COLL_HELLO_SIZE - COLL_HELLO_TAIL - COLL_PROOF_SIZE)

static int auth_prove(const struct coll_net *net, u8 stage, const u8 *call,
		      const u8 *answer, u8 *proof)
{
	u8 said[1 + 2 * COLL_HELLO_SIZE];

	said[0] = stage;
	memcpy(said + 1, call, COLL_HELLO_SIZE);
	memcpy(said + 1 + COLL_HELLO_SIZE, answer, COLL_HELLO_SIZE);
	memset(said + 1 + COLL_HELLO_SIZE + PROOF_AT, 0, COLL_PROOF_SIZE);
	return coll_hmac(net->secret, sizeof(net->secret), said, sizeof(said), proof);
}

/**
 * coll_auth_answer() - put the proof into an answer
 * @net: who answers
 * @call: COLL_HELLO_SIZE bytes, as they came
 * @answer: COLL_HELLO_SIZE bytes, complete but for the proof
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int coll_auth_answer(const struct coll_net *net, const u8 *call, u8 *answer)
{
	return auth_prove(net, COLL_HELLO_ANSWER, call, answer, answer + PROOF_AT);
}

/**
 * coll_auth_check_answer() - see whether who has answered knows the secret
 * @net: who has called
 * @call: COLL_HELLO_SIZE bytes, as they were sent
 * @answer: COLL_HELLO_SIZE bytes, as they came
 *
 * Context: may sleep.
 * Return: 0, -EACCES, or another negative errno.
 */
int coll_auth_check_answer(const struct coll_net *net, const u8 *call, const u8 *answer)
{
	u8 proof[COLL_PROOF_SIZE];
	int err = auth_prove(net, COLL_HELLO_ANSWER, call, answer, proof);

	if (!err && memcmp(proof, answer + PROOF_AT, sizeof(proof)))
		err = -EACCES;
	return err;
}

/**
 * coll_auth_confirm() - write the confirmation: what the caller sends, or has to
 * @net: either side
 * @call: COLL_HELLO_SIZE bytes
 * @answer: COLL_HELLO_SIZE bytes
 * @confirm: COLL_HELLO_SIZE bytes, filled in; may be either of them
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int coll_auth_confirm(const struct coll_net *net, const u8 *call, const u8 *answer,
		      u8 *confirm)
{
	u8 proof[COLL_PROOF_SIZE];
	int err = auth_prove(net, COLL_HELLO_CONFIRM, call, answer, proof);

	if (!err)
		coll_wire_put_confirm(confirm, call, proof);
	return err;
}
