/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CALL_H
#define COLL_CALL_H

#include "core/match/balance.h"
#include "core/wire/signature.h"

/**
 * struct coll_call - a call of an operation, and the rounds in which ranks have announced it
 * @instance: of the operation; the same on all its ranks [c]
 * @signature: of the call [c]
 * @balances: sums of counts that only two ranks know, for the rounds in @rounds_heard [l]
 * @rounds_heard: bit (1 << round) for each round in which it was announced to this rank [l]
 * @rounds_sent: rounds in which this rank has announced it [l]
 * @is_own: true if this rank has called it; false if only other ranks have, and announced it [c]
 */
struct coll_call {
	u64 instance;
	struct coll_signature signature;
	struct coll_balance balances[COLL_ROUNDS_MAX];
	u16 rounds_heard;
	u8 rounds_sent;
	bool is_own;
};

static_assert(COLL_ROUNDS_MAX <= 16);

#endif /* COLL_CALL_H */
