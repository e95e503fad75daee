// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/address.h"
#include "bootstrap/bytes.h"
#include "bootstrap/card.h"
#include "bootstrap/message.h"

#define NAME_AT		40
#define SECRET_AT	80
#define HOST_AT		112
#define ADDRS_AT	128
#define TEXT_AT		(ADDRS_AT + BOOTSTRAP_CARD_ADDRS_MAX * BOOTSTRAP_ENTRY_SIZE)

#define FLAGS	(BOOTSTRAP_CARD_SECURED | BOOTSTRAP_CARD_MADE | BOOTSTRAP_CARD_FIXED | \
		 BOOTSTRAP_CARD_RDMA)

#define LIBRARY_AT	764

/* First version that has the library's. */
#define TELLS_LIBRARY	4

_Static_assert(TEXT_AT + BOOTSTRAP_CARD_TEXT == LIBRARY_AT &&
	       LIBRARY_AT + sizeof(uint32_t) == BOOTSTRAP_CARD_SIZE, "card");

static const uint8_t magic[4] = { 'C', 'O', 'L', 'X' };

void bootstrap_name_card(const struct bootstrap_card *card, int rank,
			 char text[BOOTSTRAP_CARD_NAME])
{
	char host[COLL_ADDRESS_TEXT];

	if (!card->naddrs) {
		snprintf(text, BOOTSTRAP_CARD_NAME, "rank %d", rank);
		return;
	}
	coll_address_format_host(&card->addrs[0].addr, host);
	snprintf(text, BOOTSTRAP_CARD_NAME, "rank %d (at %s)", rank, host);
}

void bootstrap_write_card(uint8_t to[BOOTSTRAP_CARD_SIZE], const struct bootstrap_card *card)
{
	unsigned int i;
	uint8_t *at;

	memset(to, 0, BOOTSTRAP_CARD_SIZE);
	memcpy(to, magic, sizeof(magic));
	to[4] = BOOTSTRAP_CARD_VERSION;
	to[5] = card->round;
	put16(to + 6, card->flags);
	put32(to + 8, card->rank);
	put32(to + 12, card->nranks);
	put32(to + 16, -card->err);
	put32(to + 20, card->lanes);
	put64(to + 24, card->number);
	put32(to + 32, card->naddrs);
	put32(to + 36, card->left_ms);
	memcpy(to + NAME_AT, card->name, strlen(card->name));
	memcpy(to + SECRET_AT, card->secret, sizeof(card->secret));
	memcpy(to + HOST_AT, card->host, sizeof(card->host));
	for (i = 0; i < card->naddrs; i++) {
		at = to + ADDRS_AT + i * BOOTSTRAP_ENTRY_SIZE;
		bootstrap_write_entry(at, &card->addrs[i].addr);
		at[1] = card->addrs[i].prefix;
	}
	memcpy(to + TEXT_AT, card->text, strlen(card->text));
	put32(to + LIBRARY_AT, bootstrap_library_version());
}

/* Read an address; in round 1 it has no port yet. */
static int read_place(const uint8_t *from, unsigned int round, struct bootstrap_place *place)
{
	uint8_t entry[BOOTSTRAP_ENTRY_SIZE];
	int err;

	memcpy(entry, from, sizeof(entry));
	if (round == BOOTSTRAP_ROUND_INTRODUCE)
		put16(entry + 2, 1);
	err = bootstrap_read_entry(entry, &place->addr);
	place->prefix = from[1];
	if (err || place->prefix > (entry[0] == 4 ? 32 : 128))
		return -EPROTO;
	return 0;
}

static void read_text(const uint8_t *from, char text[BOOTSTRAP_CARD_TEXT + 1])
{
	size_t i;

	for (i = 0; i < BOOTSTRAP_CARD_TEXT && from[i]; i++)
		text[i] = from[i] < ' ' || from[i] > '~' ? '?' : from[i];
	text[i] = '\0';
}

int bootstrap_read_card(const uint8_t from[BOOTSTRAP_CARD_SIZE], unsigned int round,
			struct bootstrap_card *card)
{
	uint32_t err = get32(from + 16);
	unsigned int i;

	memset(card, 0, sizeof(*card));
	if (memcmp(from, magic, sizeof(magic)))
		return -EPROTO;
	card->version.format = from[4];
	if (from[4] >= TELLS_LIBRARY)
		card->version.library = get32(from + LIBRARY_AT);
	if (!bootstrap_version_is_own(&card->version, BOOTSTRAP_CARD_VERSION))
		return -EPROTONOSUPPORT;
	if (from[5] != round)
		return -EPROTO;
	card->round = round;
	card->flags = get16(from + 6);
	card->rank = get32(from + 8);
	card->nranks = get32(from + 12);
	card->lanes = get32(from + 20);
	card->number = get64(from + 24);
	card->naddrs = get32(from + 32);
	card->left_ms = get32(from + 36);
	if (card->flags & ~FLAGS || err >= 4096 || card->lanes > COLLECTIVE_LANES_MAX ||
	    card->naddrs > BOOTSTRAP_CARD_ADDRS_MAX)
		return -EPROTO;
	card->err = -(int)err;
	memcpy(card->name, from + NAME_AT, COLLECTIVE_NAME_MAX);
	if (card->name[0] && !coll_config_name_valid(card->name))
		return -EPROTO;
	memcpy(card->secret, from + SECRET_AT, sizeof(card->secret));
	memcpy(card->host, from + HOST_AT, sizeof(card->host));
	for (i = 0; i < card->naddrs; i++)
		if (read_place(from + ADDRS_AT + i * BOOTSTRAP_ENTRY_SIZE, round, &card->addrs[i]))
			return -EPROTO;
	read_text(from + TEXT_AT, card->text);
	return 0;
}
