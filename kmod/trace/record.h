/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_RECORD_H
#define COLL_RECORD_H

#include <linux/seq_file.h>
#include <linux/types.h>

/* The kinds of records; recorder.c describes each at the function that makes it. */
enum coll_record_kind {
	COLL_RECORD_STATE,
	COLL_RECORD_SUBMIT,
	COLL_RECORD_BEGIN,
	COLL_RECORD_AGREED,
	COLL_RECORD_FAIL,
	COLL_RECORD_ABSENT,
	COLL_RECORD_DONE,
	COLL_RECORD_LINK,
	COLL_RECORD_ABORT,
	COLL_RECORD_GONE,
};

/**
 * struct coll_record - one entry of a flight recorder
 * @ns: time of the record, CLOCK_MONOTONIC ns
 * @instance: the operation; of all kinds but STATE, LINK, ABORT and GONE
 * @count: SUBMIT: number of elements
 * @bytes: SUBMIT: size of the vector, or of the longest block
 * @error: FAIL, DONE, LINK, ABORT: positive errno; 0: none
 * @rank_a: FAIL, DONE, ABORT: first rank of the reason; SUBMIT: the root; ABSENT: the absent rank;
 *	LINK: the peer
 * @rank_b: FAIL, DONE, ABORT: second rank of the reason
 * @flags: SUBMIT: COLLECTIVE_F_*
 * @kind: enum coll_record_kind
 * @opcode: SUBMIT: enum collective_opcode
 * @type: SUBMIT: enum collective_type
 * @reduction: SUBMIT: enum collective_reduction
 * @reason: FAIL, DONE, ABORT: enum collective_reason_kind
 * @state: STATE: enum collective_state; LINK: enum coll_link_event
 *
 * The other fields of a kind are 0.
 */
struct coll_record {
	u64 ns;
	u64 instance;
	u64 count;
	u64 bytes;
	u32 error;
	u32 rank_a;
	u32 rank_b;
	u16 flags;
	u8 kind;
	u8 opcode;
	u8 type;
	u8 reduction;
	u8 reason;
	u8 state;
};

void coll_record_show(struct seq_file *seq, const struct coll_record *record, u64 now);

#endif /* COLL_RECORD_H */
