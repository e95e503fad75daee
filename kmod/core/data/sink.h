/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where arriving bytes go.
 *
 * Bytes come in fragments of any length and alignment, straight from a socket
 * buffer; what they become is whole elements in the user's memory.  An element
 * that straddles two fragments waits in @carry, and counts only when stored.
 *
 * Three things are asked of few sinks only, and cost the others nothing:
 *
 *  - wide sums (@stored): the sum of 16-bit floats is passed on as binary32, so
 *    elements arrive, and are stored, as the one or the other,
 *  - a second copy of what arrives (@tee): the prefix that an exclusive scan
 *    wants is what the next rank's is made of,
 *  - results that go to the same memory, closer before our own operand than the
 *    fragment is long (a reduce-scatter in place): the reductions do not work
 *    that way, so no more than lies between them is done at a time.
 */
#ifndef COLL_SINK_H
#define COLL_SINK_H

#include "core/data/copier.h"
#include "core/data/mem.h"
#include "core/reduce/reduce.h"

#define COLL_ELEMENT_MAX	8	/* bytes of the largest element */

enum coll_sink_kind {
	COLL_SINK_DISCARD,	/* nobody wants them */
	COLL_SINK_COPY,		/* dst = arriving */
	COLL_SINK_REDUCE,	/* dst = own (op) arriving */
	COLL_SINK_UNEXP,	/* bytes to be kept for later, at @stage */
};

/**
 * struct coll_sink - what becomes of the payload of one frame
 * @kind: enum coll_sink_kind
 * @type: element type, of REDUCE
 * @reduction: of REDUCE
 * @own_first: our own element is the first operand, else the arriving one
 * @size: bytes of an arriving element, of COPY and REDUCE
 * @carried: bytes in @carry
 * @stored: of a wide REDUCE (coll_reduce_wide_valid()): bytes of an element in
 *	@dst, while our own has those of @type; 0: not wide, all have @size
 * @divisor: what the result is divided by (AVG, last step), 0: nothing
 * @dst: memory written
 * @own: memory of our own operand, of REDUCE; may be @dst, at the same offset or
 *	further on, if elements of both are as large
 * @tee: memory that gets the arriving elements as they are, of COPY and REDUCE;
 *	may be @own, at the same offset or before, if elements of both are as
 *	large; NULL: none
 * @dst_off: next byte to store, in @dst
 * @own_off: next byte to read, in @own
 * @tee_off: next byte to store, in @tee
 * @left: bytes still to arrive
 * @cost: of the bytes taken last, of a budget: see coll_piece_cost()
 * @hint: what they are part of, of COPY; how many follow is said then
 * @excess: of COPY and REDUCE: of these the last ones, whole elements, for which
 *	there is no room: nobody wants them
 * @impl: how to copy and to reduce
 * @copier: of COPY: who copies what is much, or NULL
 * @unexp: next byte to store, of STAGE
 * @carry: the beginning of an element
 */
struct coll_sink {
	u8 kind;
	u8 type;
	u8 reduction;
	bool own_first;
	u8 size;
	u8 carried;
	u8 stored;
	u32 divisor;
	const struct coll_mem *dst;
	const struct coll_mem *own;
	const struct coll_mem *tee;
	u64 dst_off;
	u64 own_off;
	u64 tee_off;
	u64 left;
	u64 cost;
	struct coll_copy_hint hint;
	u64 excess;
	const struct coll_reduce_impl *impl;
	struct coll_copier *copier;
	u8 *unexp;
	u8 carry[COLL_ELEMENT_MAX] __aligned(8);
};

size_t coll_sink(struct coll_sink *sink, const void *ptr, size_t len);

/**
 * coll_sink_pending() - bytes of the frame that are not stored as elements yet
 * @sink: the sink
 *
 * Return: bytes that have not arrived, plus those of a part of an element, all as
 * they arrive.
 */
static inline u64 coll_sink_pending(const struct coll_sink *sink)
{
	return sink->left + sink->carried;
}

/**
 * coll_sink_computes() - does it need the vector registers?
 * @sink: the sink
 */
static inline bool coll_sink_computes(const struct coll_sink *sink)
{
	return sink->kind == COLL_SINK_REDUCE && sink->impl->registers;
}

#endif /* COLL_SINK_H */
