// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
#include "core/wire/signature.h"
#include "core/wire/fnv.h"

#include <linux/collective.h>

/**
 * coll_signature_pack() - a signature as numbers
 * @signature: the signature
 * @words: out: COLL_SIGNATURE_WORDS numbers
 */
void coll_signature_pack(const struct coll_signature *signature, u64 *words)
{
	words[0] = signature->collective | signature->type << 8 | signature->reduction << 16 |
		   (u64)signature->algorithm << 24 | (u64)signature->flags << 32;
	words[1] = signature->root;
	words[2] = signature->count;
	words[3] = signature->layout;
}

/**
 * coll_signature_unpack() - undo coll_signature_pack()
 * @words: COLL_SIGNATURE_WORDS numbers
 * @signature: out
 */
void coll_signature_unpack(const u64 *words, struct coll_signature *signature)
{
	*signature = (struct coll_signature){
		.collective = words[0],
		.type = words[0] >> 8,
		.reduction = words[0] >> 16,
		.algorithm = words[0] >> 24,
		.flags = words[0] >> 32,
		.root = words[1],
		.count = words[2],
		.layout = words[3],
	};
}

/**
 * coll_signature_valid() - are the fields of a signature in range?
 * @signature: from a peer, or from memory of a process
 */
bool coll_signature_valid(const struct coll_signature *signature)
{
	return signature->collective < COLLECTIVE_OPCODE_COUNT &&
	       signature->type < COLLECTIVE_TYPE_COUNT &&
	       signature->reduction < COLLECTIVE_REDUCTION_COUNT &&
	       signature->algorithm > COLLECTIVE_ALGORITHM_AUTO &&
	       signature->algorithm < COLLECTIVE_ALGORITHM_COUNT &&
	       !(signature->flags & ~COLLECTIVE_F_ALL) &&
	       signature->root < COLLECTIVE_RANKS_MAX;
}

/**
 * coll_signatures_differ() - are two calls different?
 * @a: signature of one
 * @b: signature of the other
 */
bool coll_signatures_differ(const struct coll_signature *a, const struct coll_signature *b)
{
	return a->collective != b->collective || a->type != b->type ||
	       a->reduction != b->reduction || a->algorithm != b->algorithm ||
	       a->flags != b->flags || a->root != b->root || a->count != b->count ||
	       a->layout != b->layout;
}

/**
 * coll_signature_digest() - digest of a signature
 * @signature: the signature
 *
 * Return: the digest, never 0.
 */
u64 coll_signature_digest(const struct coll_signature *signature)
{
	u64 words[COLL_SIGNATURE_WORDS];

	coll_signature_pack(signature, words);
	return coll_fnv(words, ARRAY_SIZE(words));
}
