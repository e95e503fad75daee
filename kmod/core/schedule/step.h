/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One step of one rank.
 *
 * Every step that writes memory says what keeps the write from being seen by a
 * peer that still reads older contents of it out of a socket buffer:
 *
 *	NEVER_SENT	we have not sent that span before
 *	COVERED		the new value depends, byte by byte, on our neighbour
 *			having consumed what we sent
 *
 * (A third kind, to wait until the peers have said that they consumed it, is
 * needed by no schedule here yet, and the engine has no gate for it.)
 */
#ifndef COLL_STEP_H
#define COLL_STEP_H

#include "core/env.h"

#define COLL_NOBODY	0xffffffffU

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
 * struct coll_span - some bytes of an area
 * @area: enum coll_area
 * @off: from the beginning of the operation's buffer
 * @len: may be 0
 */
struct coll_span {
	u32 area;
	u64 off;
	u64 len;
};

/**
 * struct coll_step - one step of one rank
 * @to: who is sent @out, or COLL_NOBODY
 * @from: who sends us @in, or COLL_NOBODY
 * @out: what is sent
 * @in: where what arrives is stored; its length is that of what arrives
 * @tee: where it is stored as it arrives besides, if it has a length
 * @reduce: store own (op) arriving, else just arriving
 * @own: area of our own operand...
 * @own_off: ...and where in it
 * @wide_in: binary32 sums arrive, twice as long as our own operand
 * @wide_out: binary32 sums are stored
 * @last: the reduction is complete after this step (an average divides here)
 * @depends_on: so many steps must be received before @out may be sent
 * @cut_through: @out is what the last of these receives: it may be sent as it comes
 * @tag: its number on the wire, the same for who sends and who receives; what
 *	belongs to another step, or has another root, in a call that does not match
 *	has another one.  At first the number of the step; 16 bits of it are sent
 * @signal: this step is a signal and has no payload
 * @exchange: @out is in windowed scratch and as long as @in.  What @in has is copied there
 *	first: the other may send as far as that has been done, and so may we
 * @clear: all that still arrives comes from @from, and goes nowhere else than to the result:
 *	no room has to be waited for
 * @single_frame: the two have not agreed how long it is: what is eager is all in one frame,
 *	and for what is not a grant is asked, telling the length
 * @length_from_sender: the sender of this @single_frame step decides its length; @in is the
 *	capacity, and bytes beyond it are dropped.  A plan has one such step at most, and its
 *	@signal means a capacity of zero
 * @hazard: enum coll_hazard of the write to @in
 */
struct coll_step {
	u32 to;
	u32 from;
	struct coll_span out;
	struct coll_span in;
	struct coll_span tee;
	bool reduce;
	u8 own;
	u64 own_off;
	bool wide_in;
	bool wide_out;
	bool last;
	u64 depends_on;
	bool cut_through;
	u32 tag;
	bool signal;
	bool exchange;
	bool clear;
	bool single_frame;
	bool length_from_sender;
	u8 hazard;
};

/* Bytes that a half of a step moves; a token counts for one. */
static inline u64 coll_half_moves(const struct coll_step *step, u32 peer,
				  const struct coll_span *span)
{
	if (peer == COLL_NOBODY)
		return 0;
	return step->signal ? 1 : span->len;
}

/**
 * struct coll_local_copy - what a rank copies from its input to its result
 * @from: offset in COLL_AREA_SEND, bytes
 * @to: offset in COLL_AREA_RECV
 * @len: bytes, may be 0
 */
struct coll_local_copy {
	u64 from;
	u64 to;
	u64 len;
};

#endif /* COLL_STEP_H */
