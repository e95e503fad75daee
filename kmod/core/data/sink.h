/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The sink: destination of received bytes.
 *
 * Bytes come in fragments of any length and alignment from a socket buffer, and are stored as
 * whole elements in the user's memory.  An element that is split between two fragments waits in
 * @carry, and counts only when it is stored.
 */
#ifndef COLL_SINK_H
#define COLL_SINK_H

#include "core/data/copier.h"
#include "core/data/mem.h"
#include "core/reduce/reduce.h"

#define COLL_ELEMENT_MAX	8	/* bytes of the largest element */

enum coll_sink_kind {
	COLL_SINK_DISCARD,	/* the bytes are dropped */
	COLL_SINK_COPY,		/* dst = received */
	COLL_SINK_REDUCE,	/* dst = own (op) received */
	COLL_SINK_UNEXP,	/* unexpected: the bytes are kept at @unexp */
};

/**
 * struct coll_sink - destination of the payload of one frame
 * @kind: enum coll_sink_kind
 * @type: enum collective_type, of REDUCE
 * @reduction: enum collective_reduction, of REDUCE
 * @own_first: true if the own element is the first operand, false if the received one is
 * @size: bytes of a received element, of COPY and REDUCE
 * @carried: number of bytes in @carry
 * @stored: of a wide REDUCE (coll_reduce_wide_valid()): bytes of an element in @dst; own
 *	elements have the size of @type; 0: not wide, all have @size
 * @divisor: number to divide the result by (AVG, last step); 0: none
 * @dst: memory of the result
 * @own: memory of the own operand, of REDUCE; may be @dst, at the same offset or after it,
 *	if the elements of both have the same size
 * @tee: memory that gets the received elements unreduced, of COPY and REDUCE; may be @own,
 *	at the same offset or before it, if the elements of both have the same size; NULL: none
 * @dst_off: offset of the next byte to store in @dst
 * @own_off: offset of the next byte to read in @own
 * @tee_off: offset of the next byte to store in @tee
 * @left: bytes still to arrive
 * @cost: cost of the bytes taken last, for a budget: see coll_piece_cost()
 * @hint: operation that the bytes belong to, of COPY
 * @excess: of COPY and REDUCE: bytes at the end of the payload, in whole elements, that
 *	exceed the capacity and are dropped
 * @impl: functions that copy and reduce
 * @copier: copier for large results, of COPY; or NULL
 * @unexp: address of the next byte to store, of UNEXP
 * @carry: the received part of an element
 *
 * Three features cost other sinks nothing:
 *
 *  - wide sums (@stored): a sum of 16-bit floats is passed on as binary32, so elements arrive
 *    and are stored in different sizes;
 *  - a second destination (@tee): the prefix of an exclusive scan is the result, and the input
 *    of what the next rank receives;
 *  - a result in the same memory as the own operand and less than a fragment before it (a
 *    reduce-scatter in place): only as many bytes as lie between the two are reduced at a time.
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
 * Return: bytes still to arrive plus the bytes in @carry, in the format that arrives.
 */
static inline u64 coll_sink_pending(const struct coll_sink *sink)
{
	return sink->left + sink->carried;
}

/**
 * coll_sink_computes() - does the sink need the FPU registers?
 * @sink: the sink
 */
static inline bool coll_sink_computes(const struct coll_sink *sink)
{
	return sink->kind == COLL_SINK_REDUCE;
}

#endif /* COLL_SINK_H */
