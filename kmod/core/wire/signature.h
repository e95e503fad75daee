/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/* The signature of a call: what its ranks compare. */
#ifndef COLL_SIGNATURE_H
#define COLL_SIGNATURE_H

#include "core/env.h"

/**
 * struct coll_signature - arguments of a call that must be equal on all ranks
 * @collective: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @algorithm: enum collective_algorithm
 * @flags: COLLECTIVE_F_*
 * @root: rank of the root
 * @count: number of elements
 * @layout: digest of the layout; 0: contiguous
 */
struct coll_signature {
	u8 collective;
	u8 type;
	u8 reduction;
	u8 algorithm;
	u16 flags;
	u32 root;
	u64 count;
	u64 layout;
};

/* Numbers of 64 bits that a signature is packed into. */
#define COLL_SIGNATURE_WORDS	4

void coll_signature_pack(const struct coll_signature *signature, u64 *words);
void coll_signature_unpack(const u64 *words, struct coll_signature *signature);
bool coll_signature_valid(const struct coll_signature *signature);
bool coll_signatures_differ(const struct coll_signature *a, const struct coll_signature *b);
u64 coll_signature_digest(const struct coll_signature *signature);

#endif /* COLL_SIGNATURE_H */
