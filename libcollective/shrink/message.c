// SPDX-License-Identifier: LGPL-2.1-or-later
#include <arpa/inet.h>
#include <errno.h>
#include <nettle/memops.h>
#include <string.h>

#include "bootstrap/bytes.h"
#include "shrink/message.h"

#define VERSION		3
#define NONCE_AT	32	/* offset: both calls and both ballots, COLL_NONCE_SIZE bytes */

static size_t set_size(unsigned int nranks)
{
	return (nranks + 63) / 64 * 8;
}

static uint8_t *put_set(uint8_t *to, const struct coll_ranks *set, unsigned int nranks)
{
	unsigned int i;

	for (i = 0; i < set_size(nranks) / 8; i++)
		put64(to + 8 * i, set->word[i]);
	return to + 8 * i;
}

static const uint8_t *get_set(const uint8_t *from, struct coll_ranks *set, unsigned int nranks)
{
	unsigned int i;

	for (i = 0; i < set_size(nranks) / 8; i++)
		set->word[i] = get64(from + 8 * i);
	return from + 8 * i;
}

/* Find the sets of ranks that a kind has, in their order.  Return: number of sets. */
static unsigned int find_sets(struct coll_agree_message *message, struct coll_ranks *sets[2])
{
	switch (message->kind) {
	case COLL_AGREE_PREPARE:
		sets[0] = &message->lost;
		return 1;
	case COLL_AGREE_PROMISE:
	case COLL_AGREE_DECIDED:
		sets[0] = &message->value.members;
		sets[1] = &message->lost;
		return 2;
	case COLL_AGREE_BEGIN:
	case COLL_AGREE_ACCEPT:
	case COLL_AGREE_DONE:
		sets[0] = &message->value.members;
		return 1;
	default:
		return 0;
	}
}

static bool has_body(enum coll_agree_kind kind)
{
	return kind == COLL_AGREE_PLACE || kind == COLL_AGREE_PLACES ||
	       kind == COLL_AGREE_UNABLE || kind == COLL_AGREE_GIVE_UP;
}

static void prove(const struct coll_settings *settings, const uint8_t *said, size_t size,
		  uint8_t *proof)
{
	if (settings->secured)
		coll_secret_prove(settings, COLL_SIDE_SHRINK, said, size, said + NONCE_AT, proof);
	else
		memset(proof, 0, COLL_PROOF_SIZE);
}

size_t coll_shrink_write(uint8_t *to, const struct coll_settings *settings,
			 const struct coll_agree_message *said, const uint8_t *body,
			 size_t length)
{
	const uint32_t magic = htonl(COLL_SHRINK_MAGIC);
	struct coll_agree_message message = *said;
	uint8_t *at = to + COLL_SHRINK_HEAD_SIZE;
	struct coll_ranks *sets[2];
	unsigned int i, n;

	memset(to, 0, COLL_SHRINK_HEAD_SIZE);
	memcpy(to, &magic, sizeof(magic));
	to[4] = VERSION;
	to[5] = message.kind;
	to[6] = message.left;
	put64(to + 8, settings->id);
	put32(to + 16, settings->nranks);
	put32(to + 20, message.from);
	put32(to + 24, message.to);
	put32(to + 28, message.left_ms);
	put64(to + 32, message.session);
	put64(to + 40, message.echo);
	put64(to + 48, message.ballot);
	put64(to + 56, message.accepted);
	put64(to + 64, message.value.id);
	put32(to + 72, -message.error);
	n = find_sets(&message, sets);
	for (i = 0; i < n; i++)
		at = put_set(at, sets[i], settings->nranks);
	if (has_body(message.kind)) {
		memcpy(at, body, length);
		at += length;
	}
	put32(to + 76, at - to - COLL_SHRINK_HEAD_SIZE);
	prove(settings, to, at - to, at);
	return at - to + COLL_PROOF_SIZE;
}

/* Are all ranks of the set ranks of the group? */
static bool set_fits(const struct coll_ranks *set, unsigned int nranks)
{
	const struct coll_ranks all = coll_ranks_first(nranks);

	return coll_ranks_within(set, &all);
}

static int read_head(const uint8_t *from, size_t size, const struct coll_settings *settings,
		     struct coll_agree_message *message)
{
	const uint32_t magic = htonl(COLL_SHRINK_MAGIC);

	if (size < COLL_SHRINK_HEAD_SIZE + COLL_PROOF_SIZE ||
	    memcmp(from, &magic, sizeof(magic)) || from[4] != VERSION || from[6] > 1 || from[7] ||
	    !from[5] || from[5] >= COLL_AGREE_KINDS || get64(from + 8) != settings->id ||
	    get32(from + 16) != (uint32_t)settings->nranks ||
	    get32(from + 20) >= (uint32_t)settings->nranks ||
	    get32(from + 20) == (uint32_t)settings->rank ||
	    get32(from + 24) != (uint32_t)settings->rank || get32(from + 72) >= 4096 ||
	    get32(from + 76) != size - COLL_SHRINK_HEAD_SIZE - COLL_PROOF_SIZE)
		return -EPROTO;
	*message = (struct coll_agree_message){
		.kind = from[5],
		.from = get32(from + 20),
		.to = get32(from + 24),
		.left_ms = get32(from + 28),
		.session = get64(from + 32),
		.echo = get64(from + 40),
		.ballot = get64(from + 48),
		.accepted = get64(from + 56),
		.value.id = get64(from + 64),
		.left = from[6],
		.error = -(int)get32(from + 72),
	};
	return coll_ballot_rank(message->ballot) < (uint32_t)settings->nranks &&
	       coll_ballot_rank(message->accepted) < (uint32_t)settings->nranks ? 0 : -EPROTO;
}

/* Does the message have the fields that its kind requires? */
static bool is_consistent(const struct coll_agree_message *message)
{
	switch (message->kind) {
	case COLL_AGREE_BEGIN:
	case COLL_AGREE_PLACES:
	case COLL_AGREE_ACCEPT:
	case COLL_AGREE_DECIDED:
	case COLL_AGREE_DONE:
		return message->value.id;
	case COLL_AGREE_PROMISE:
		return !message->accepted || message->value.id;
	case COLL_AGREE_UNABLE:
	case COLL_AGREE_GIVE_UP:
		return message->error;
	default:
		return true;
	}
}

int coll_shrink_read(const uint8_t *from, size_t size, const struct coll_settings *settings,
		     struct coll_agree_message *message, const uint8_t **body, size_t *length)
{
	const uint8_t *at = from + COLL_SHRINK_HEAD_SIZE, *end;
	uint8_t proof[COLL_PROOF_SIZE];
	struct coll_ranks *sets[2];
	unsigned int i, n;

	if (read_head(from, size, settings, message))
		return -EPROTO;
	end = from + size - COLL_PROOF_SIZE;
	prove(settings, from, end - from, proof);
	if (!memeql_sec(proof, end, sizeof(proof)))
		return -EPROTO;
	n = find_sets(message, sets);
	if ((size_t)(end - at) < n * set_size(settings->nranks))
		return -EPROTO;
	for (i = 0; i < n; i++) {
		at = get_set(at, sets[i], settings->nranks);
		if (!set_fits(sets[i], settings->nranks))
			return -EPROTO;
	}
	*body = at;
	*length = end - at;
	return is_consistent(message) && (has_body(message->kind) || !*length) ? 0 : -EPROTO;
}
