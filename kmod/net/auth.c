// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both ends of a connection prove that they know the group's secret.
 *
 *	call		ranks, group, lane; a nonce
 *	reply		the same, and another nonce; HMAC(secret, ANSWER, call, reply)
 *	confirmation	the call again, and HMAC(secret, CONFIRM, call, reply)
 *
 * HMAC-SHA256 is over a byte that names the proof, and the call and the reply as sent, with zeros
 * for the reply's own proof.  So a proof cannot be replayed, reflected, or used for another
 * connection.  The accepting side proves first; it trusts nothing before the confirmation.  A
 * comparison with a proof takes the same time wherever the two differ.
 */
#include <linux/string.h>

#include "compat/hmac.h"
#include "compat/memneq.h"
#include "core/wire/wire.h"
#include "net/conn.h"
#include "net/net.h"

#define PROOF_AT	(COLL_HELLO_SIZE - COLL_HELLO_TAIL - COLL_PROOF_SIZE)

static int auth_prove(const struct coll_net *net, u8 stage, const u8 *call,
		      const u8 *reply, u8 *proof)
{
	u8 message[1 + 2 * COLL_HELLO_SIZE];

	message[0] = stage;
	memcpy(message + 1, call, COLL_HELLO_SIZE);
	memcpy(message + 1 + COLL_HELLO_SIZE, reply, COLL_HELLO_SIZE);
	memset(message + 1 + COLL_HELLO_SIZE + PROOF_AT, 0, COLL_PROOF_SIZE);
	return coll_hmac(net->secret, sizeof(net->secret), message, sizeof(message), proof);
}

/**
 * coll_auth_reply() - put the proof into a reply
 * @net: of the member that answers
 * @call: as received; COLL_HELLO_SIZE bytes
 * @reply: complete but for the proof, which is filled in; COLL_HELLO_SIZE bytes
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int coll_auth_reply(const struct coll_net *net, const u8 *call, u8 *reply)
{
	return auth_prove(net, COLL_HELLO_REPLY, call, reply, reply + PROOF_AT);
}

/**
 * coll_auth_check_reply() - check the proof of a reply
 * @net: of the member that has called
 * @call: as sent; COLL_HELLO_SIZE bytes
 * @reply: as received; COLL_HELLO_SIZE bytes
 *
 * Context: may sleep.
 * Return: 0, -EACCES, or another negative errno.
 */
int coll_auth_check_reply(const struct coll_net *net, const u8 *call, const u8 *reply)
{
	u8 proof[COLL_PROOF_SIZE];
	int err = auth_prove(net, COLL_HELLO_REPLY, call, reply, proof);

	if (!err && coll_memneq(proof, reply + PROOF_AT, sizeof(proof)))
		err = -EACCES;
	memzero_explicit(proof, sizeof(proof));
	return err;
}

/**
 * coll_auth_confirm() - build the confirmation that the caller sends, and the other side expects
 * @net: of the member on either side
 * @call: COLL_HELLO_SIZE bytes
 * @reply: COLL_HELLO_SIZE bytes
 * @confirm: filled in, COLL_HELLO_SIZE bytes; may be @call or @reply
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int coll_auth_confirm(const struct coll_net *net, const u8 *call, const u8 *reply,
		      u8 *confirm)
{
	u8 proof[COLL_PROOF_SIZE];
	int err = auth_prove(net, COLL_HELLO_CONFIRM, call, reply, proof);

	if (!err)
		coll_wire_put_confirm(confirm, call, proof);
	memzero_explicit(proof, sizeof(proof));
	return err;
}
