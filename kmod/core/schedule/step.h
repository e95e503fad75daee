/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * One step of one rank: what it sends and what it receives.
 *
 * A step that writes memory must not change bytes that a peer still reads from a socket buffer.
 * Its hazard says why it does not:
 *
 *	NEVER_SENT	this rank has not sent the old value before
 *	COVERED		the new value depends, byte by byte, on the peer having consumed it
 *
 * No schedule needs a third kind, to wait until the peers report that they have consumed the
 * bytes, and the engine has no support for it.
 */
#ifndef COLL_STEP_H
#define COLL_STEP_H

#include "core/env.h"

#define COLL_NO_RANK	0xffffffffU

enum coll_area {
	COLL_AREA_SEND,		/* the user's input, never written */
	COLL_AREA_RECV,		/* the user's result */
	COLL_AREA_SCRATCH,	/* ours: partial results on their way */
	COLL_AREA_COUNT
};

enum coll_hazard {
	COLL_HAZARD_NEVER_SENT,
	COLL_HAZARD_COVERED,
};

/**
 * struct coll_span - bytes of an area
 * @area: enum coll_area
 * @off: offset from the beginning of the operation's buffer; bytes
 * @len: length in bytes; may be 0
 */
struct coll_span {
	u32 area;
	u64 off;
	u64 len;
};

/**
 * struct coll_step - one step of one rank
 * @to: rank that @out is sent to, or COLL_NO_RANK
 * @from: rank that @in is received from, or COLL_NO_RANK
 * @out: bytes to send
 * @in: destination of the received bytes; its length is the length received
 * @tee: second destination of the received bytes, unreduced; unused if its length is 0
 * @own_off: offset of this rank's operand in its area @own; bytes
 * @depends_on: number of steps that must be received before @out may be sent
 * @tag: number of the step on the wire, equal at the sender and the receiver.  It differs
 *	for other steps and other roots, so that calls that do not match are found.  At first the
 *	number of the step; 16 bits are sent
 * @first: of a reduction with @read: rank of the first operand; those of the next ranks follow
 * @own: area of this rank's operand; enum coll_area
 * @hazard: enum coll_hazard of the write to @in
 * @reduce: true if the result is own (op) received, false if it is the received bytes
 * @wide_in: true if binary32 sums arrive, which are twice as long as the own operand
 * @wide_out: true if binary32 sums are stored
 * @last: true if the reduction is complete after this step; an average divides here
 * @cut_through: true if @out is what the last of these steps receives, so that it may be
 *	sent while it arrives
 * @signal: true if the step carries no payload
 * @exchange: true if @out is in windowed scratch and as long as @in.  The bytes at @in are
 *	first copied there; both ranks may send as far as that has been done
 * @clear: true if all that is still to be received comes from @from and goes to the result
 *	only, so that no space in scratch is needed for it
 * @single_frame: true if the two ranks have not agreed on the length.  An eager payload is
 *	sent in one frame; otherwise the sender requests a grant, which tells the length
 * @length_from_sender: true if the sender of this @single_frame step decides its length;
 *	@in is the capacity, and bytes beyond it are dropped.  A plan has one such step at most,
 *	and its @signal means a capacity of zero
 * @read: true if the bytes of @in come in no frame: this rank reads them from the memory of other
 *	ranks.  With @reduce, it reduces the inputs of all ranks at @own_off; otherwise it copies
 *	the result of @from at the offset of @in
 * @own_first: of such a reduction: true if this rank's operand comes before all others
 */
struct coll_step {
	u32 to;
	u32 from;
	struct coll_span out;
	struct coll_span in;
	struct coll_span tee;
	u64 own_off;
	u64 depends_on;
	u32 tag;
	u32 first;
	u8 own;
	u8 hazard;
	bool reduce;
	bool wide_in;
	bool wide_out;
	bool last;
	bool cut_through;
	bool signal;
	bool exchange;
	bool clear;
	bool single_frame;
	bool length_from_sender;
	bool read;
	bool own_first;
};

/* Bytes that one half of a step moves; a signal counts as one. */
static inline u64 coll_half_moves(const struct coll_step *step, u32 peer,
				  const struct coll_span *span)
{
	if (peer == COLL_NO_RANK)
		return 0;
	return step->signal ? 1 : span->len;
}

/**
 * struct coll_local_copy - bytes that a rank copies from its input to its result
 * @from: offset in COLL_AREA_SEND; bytes
 * @to: offset in COLL_AREA_RECV; bytes
 * @len: length in bytes; may be 0
 */
struct coll_local_copy {
	u64 from;
	u64 to;
	u64 len;
};

#endif /* COLL_STEP_H */
