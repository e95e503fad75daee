// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Bytes travel as hexadecimal digits, since PMI-1 separates its words by blanks and equal signs,
 * and in pieces, since every interface has a longest value.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exchange/kvs.h"

static size_t piece_size(const struct kvs *kvs)
{
	size_t most = kvs->value_max < KVS_VALUE_MAX ? kvs->value_max : KVS_VALUE_MAX;

	return most ? (most - 1) / 2 : 0;
}

void kvs_name(char key[KVS_KEY_SIZE], unsigned int generation, int rank, size_t piece)
{
	snprintf(key, KVS_KEY_SIZE, "coll-%u-%d-%zu", generation, rank, piece);
}

static int put_piece(struct kvs *kvs, const char *key, const uint8_t *from, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	char value[KVS_VALUE_MAX];
	size_t i;
	int err;

	for (i = 0; i < size; i++) {
		value[2 * i] = digits[from[i] >> 4];
		value[2 * i + 1] = digits[from[i] & 15];
	}
	value[2 * size] = '\0';
	err = kvs->put(kvs, key, value);
	explicit_bzero(value, sizeof(value));
	return err;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int get_piece(struct kvs *kvs, int rank, const char *key, uint8_t *to, size_t size)
{
	char value[KVS_VALUE_MAX] = "";
	int err = kvs->get(kvs, rank, key, value, sizeof(value));
	size_t i;

	if (!err && strnlen(value, sizeof(value)) != 2 * size)
		err = -EPROTO;
	for (i = 0; !err && i < size; i++) {
		const int high = digit(value[2 * i]), low = digit(value[2 * i + 1]);

		if (high < 0 || low < 0)
			err = -EPROTO;
		else
			to[i] = high << 4 | low;
	}
	explicit_bzero(value, sizeof(value));
	return err == -EPROTO ?
	       coll_fail(kvs->detail, err, "the launcher's value %s of rank %d is malformed", key,
			 rank) : err;
}

int kvs_gather(struct kvs *kvs, unsigned int generation, const void *mine, size_t size, void *all)
{
	const size_t piece = piece_size(kvs);
	char key[KVS_KEY_SIZE];
	size_t at, length;
	int rank, fenced, err = 0;

	if (!piece)
		return coll_fail(kvs->detail, -EPROTO, "the launcher's values are too short");
	for (at = 0; !err && at < size; at += piece) {
		length = size - at < piece ? size - at : piece;
		kvs_name(key, generation, kvs->rank, at / piece);
		err = put_piece(kvs, key, (const uint8_t *)mine + at, length);
	}
	/* Also for a rank that has given nothing, so that the others learn of it. */
	fenced = kvs->fence(kvs);
	err = err ?: fenced;
	for (rank = 0; !err && rank < kvs->nranks; rank++) {
		uint8_t *to = (uint8_t *)all + rank * size;

		if (rank == kvs->rank) {
			memcpy(to, mine, size);
			continue;
		}
		for (at = 0; !err && at < size; at += piece) {
			length = size - at < piece ? size - at : piece;
			kvs_name(key, generation, rank, at / piece);
			err = get_piece(kvs, rank, key, to + at, length);
		}
	}
	return err;
}
