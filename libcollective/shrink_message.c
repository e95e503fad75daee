// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "shrink_message.h"

uint64_t coll_message_read_round(const uint8_t *from)
{
	return get64(from);
}

size_t coll_message_survivor(uint8_t *to, const struct coll_survivor_hello *hello)
{
	uint8_t *body = to + COLL_HEAD_SIZE;

	put64(body, hello->id);
	put32(body + 8, hello->rank);
	put32(body + 12, hello->nranks);
	put32(body + 16, hello->left_ms);
	put32(body + 20, hello->phase);
	put64(body + 24, hello->round);
	put32(body + 32, hello->follows);
	put32(body + 36, 0);
	memcpy(body + 40, hello->nonce, COLL_NONCE_SIZE);
	memset(body + COLL_SURVIVOR_SAID, 0, COLL_PROOF_SIZE);
	return coll_message_begin(to, COLL_MESSAGE_SURVIVOR, COLL_SURVIVOR_SIZE);
}

int coll_message_read_survivor(const uint8_t *from, size_t length,
			       struct coll_survivor_hello *hello)
{
	if (length != COLL_SURVIVOR_SIZE)
		return -EPROTO;
	hello->id = get64(from);
	hello->rank = get32(from + 8);
	hello->nranks = get32(from + 12);
	hello->left_ms = get32(from + 16);
	hello->phase = get32(from + 20);
	hello->round = get64(from + 24);
	hello->follows = get32(from + 32);
	return hello->nranks <= COLLECTIVE_RANKS_MAX && hello->rank < hello->nranks &&
	       hello->phase < PHASE_COUNT && get32(from + 32) <= 1 ? 0 : -EPROTO;
}

size_t coll_message_here(uint8_t *to, uint32_t leader, bool forming)
{
	put32(to + COLL_HEAD_SIZE, leader);
	put32(to + COLL_HEAD_SIZE + 4, forming);
	return coll_message_begin(to, COLL_MESSAGE_HERE, COLL_HERE_SIZE);
}

int coll_message_read_here(const uint8_t *from, size_t length, uint32_t *leader, bool *forming)
{
	if (length != COLL_HERE_SIZE || get32(from + 4) > 1)
		return -EPROTO;
	*leader = get32(from);
	*forming = get32(from + 4);
	return 0;
}

size_t coll_message_fates(uint8_t *to, uint64_t round, uint32_t connect_ms,
			  const uint8_t *fates, uint32_t nranks)
{
	uint8_t *body = to + COLL_HEAD_SIZE;

	put64(body, round);
	put32(body + 8, connect_ms);
	put32(body + 12, nranks);
	memcpy(body + COLL_BEGIN_SIZE, fates, nranks);
	return coll_message_begin(to, COLL_MESSAGE_BEGIN, COLL_BEGIN_SIZE + nranks);
}

int coll_message_read_fates(const uint8_t *from, size_t length, uint32_t *connect_ms,
			    uint8_t *fates, uint32_t nranks)
{
	uint32_t i;

	if (length != COLL_BEGIN_SIZE + nranks || get32(from + 12) != nranks)
		return -EPROTO;
	*connect_ms = get32(from + 8);
	memcpy(fates, from + COLL_BEGIN_SIZE, nranks);
	for (i = 0; i < nranks; i++)
		if (fates[i] >= FATE_COUNT)
			return -EPROTO;
	return 0;
}

size_t coll_message_round(uint8_t *to, enum coll_message_kind kind, uint64_t round)
{
	put64(to + COLL_HEAD_SIZE, round);
	return coll_message_begin(to, kind, COLL_ROUND_SIZE);
}

size_t coll_message_place(uint8_t *to, uint64_t round, const struct sockaddr_storage *addr)
{
	put64(to + COLL_HEAD_SIZE, round);
	coll_message_entry(to + COLL_HEAD_SIZE + COLL_ROUND_SIZE, addr);
	return coll_message_begin(to, COLL_MESSAGE_PLACE, COLL_ROUND_SIZE + COLL_ENTRY_SIZE);
}

size_t coll_message_places(uint8_t *to, uint64_t round, unsigned int n)
{
	put64(to + COLL_HEAD_SIZE, round);
	return coll_message_begin(to, COLL_MESSAGE_PLACES,
				  COLL_ROUND_SIZE + (size_t)n * COLL_ENTRY_SIZE);
}

/* As a FAIL behind the round. */
size_t coll_message_unable(uint8_t *to, uint64_t round, int err, const char *text)
{
	uint8_t *body = to + COLL_HEAD_SIZE;
	size_t length = strnlen(text, COLL_UNABLE_MAX - COLL_ROUND_SIZE - 4);

	put64(body, round);
	put32(body + COLL_ROUND_SIZE, -err);
	memcpy(body + COLL_ROUND_SIZE + 4, text, length);
	return coll_message_begin(to, COLL_MESSAGE_UNABLE, COLL_ROUND_SIZE + 4 + length);
}
