/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Proofs in the cards of an exchange: do all ranks have the same secret? */
#ifndef COLL_PROOF_H
#define COLL_PROOF_H

#include "bootstrap/card.h"
#include "comm/config.h"

/* Make the proof of @rank.  Those of two ranks differ, so that none can send back another's. */
void bootstrap_make_proof(const struct coll_settings *settings, int rank,
			  uint8_t proof[COLL_PROOF_SIZE]);

/**
 * bootstrap_check_proofs - compare the secrets of all ranks with this rank's
 * @cards: cards of round 2, by rank
 * @settings: settings of this rank
 * @detail: text of a failure: the ranks that have another secret, and their hosts
 *
 * Return: 0, or -EACCES.
 */
int bootstrap_check_proofs(const struct bootstrap_card *cards,
			   const struct coll_settings *settings, struct coll_detail *detail);

#endif /* COLL_PROOF_H */
