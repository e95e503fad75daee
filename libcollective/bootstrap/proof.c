// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <nettle/memops.h>
#include <stdio.h>

#include "bootstrap/address.h"
#include "bootstrap/bytes.h"
#include "bootstrap/proof.h"
#include "error/ranks_text.h"

/* Number of hosts in a text; the text of a longer list says that there are more. */
#define HOSTS_MAX	4

/**
 * struct proofs - proofs of all ranks
 * @cards: cards with the proofs, by rank
 * @settings: settings of this rank
 */
struct proofs {
	const struct bootstrap_card *cards;
	const struct coll_settings *settings;
};

void bootstrap_make_proof(const struct coll_settings *settings, int rank,
			  uint8_t proof[COLL_PROOF_SIZE])
{
	uint8_t message[12], nonce[COLL_NONCE_SIZE] = { 0 };

	put64(message, settings->id);
	put32(message + 8, rank);
	coll_secret_prove(settings, COLL_SIDE_CARD, message, sizeof(message), nonce, proof);
}

static bool has_other_secret(const void *arg, int rank)
{
	const struct proofs *proofs = arg;
	uint8_t proof[COLL_PROOF_SIZE];

	bootstrap_make_proof(proofs->settings, rank, proof);
	return !memeql_sec(proof, proofs->cards[rank].secret, sizeof(proof));
}

/* Is no rank before @rank of this list on its host? */
static bool is_first_of_host(const struct proofs *proofs, int rank)
{
	int i;

	for (i = 0; i < rank; i++)
		if (coll_address_same_host(&proofs->cards[i].addrs[0].addr,
					   &proofs->cards[rank].addrs[0].addr) &&
		    has_other_secret(proofs, i))
			return false;
	return true;
}

/* List the hosts of these ranks. */
static void format_hosts(const struct proofs *proofs, char *text, size_t size)
{
	char host[COLL_ADDRESS_TEXT];
	int rank, n = 0;
	size_t at = 0;

	text[0] = '\0';
	for (rank = 0; rank < proofs->settings->nranks && n <= HOSTS_MAX; rank++) {
		if (!proofs->cards[rank].naddrs || !has_other_secret(proofs, rank) ||
		    !is_first_of_host(proofs, rank))
			continue;
		coll_address_format_host(&proofs->cards[rank].addrs[0].addr, host);
		at += snprintf(text + at, size - at, "%s%s", at ? ", " : "",
			       n++ < HOSTS_MAX ? host : "...");
	}
}

int bootstrap_check_proofs(const struct bootstrap_card *cards,
			   const struct coll_settings *settings, struct coll_detail *detail)
{
	const struct proofs proofs = { cards, settings };
	char own[BOOTSTRAP_CARD_NAME], others[120], hosts[(HOSTS_MAX + 1) * COLL_ADDRESS_TEXT];
	int n;

	if (!settings->secured)
		return 0;
	n = coll_ranks_text(others, sizeof(others), settings->nranks, has_other_secret, &proofs);
	if (!n)
		return 0;
	bootstrap_name_card(&cards[settings->rank], settings->rank, own);
	format_hosts(&proofs, hosts, sizeof(hosts));
	return coll_fail(detail, -EACCES,
			 "%s (at %s) %s another secret than %s: give all ranks the same (see COLL_SECRET; compare the files of COLL_SECRET_FILE on these hosts)",
			 others, hosts, n > 1 ? "have" : "has", own);
}
