/* SPDX-License-Identifier: GPL-2.0-only */
/* One call of a collective, and the input of a rank. */
#ifndef COLL_CALL_H
#define COLL_CALL_H

#include "lib/group.h"
#include "lib/values.h"

#define EAGER	COLLECTIVE_EAGER_LIMIT

/* Elements: 1 MiB of four-byte elements, and one more. */
#define LARGE	(262144 + 1)

/**
 * struct call - one collective, as all ranks call it
 * @opcode: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction, of a collective that reduces
 * @root: root rank of a broadcast
 * @count: elements
 * @in_place: true if the result replaces the input
 * @shift: offset of the buffers in their page; bytes
 */
struct call {
	int opcode;
	int type;
	int reduction;
	u32 root;
	size_t count;
	bool in_place;
	u32 shift;
};

/* The elements of one rank; they repeat after PERIOD. */
struct period {
	__u8 byte[PERIOD * 8];
};

static inline void period_input(struct period *period, const struct call *c, u32 rank)
{
	const int size = reference_types[c->type].size;
	u32 i;

	for (i = 0; i < PERIOD; i++) {
		u64 v = input(c->type, c->reduction, rank, i);

		memcpy(period->byte + i * size, &v, size);
	}
}

static inline int call_submit(const struct rank *r, const struct call *c, u32 flags,
			      const void *send, void *recv)
{
	struct collective_op op = {
		.opcode = c->opcode,
		.type = c->type,
		.reduction = c->reduction,
		.flags = flags,
		.root = c->root,
		.count = c->count,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};

	return member_submit(r->fd, &op);
}

#endif /* COLL_CALL_H */
