/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_RECORD_H
#define COLL_RECORD_H

#include <linux/seq_file.h>
#include <linux/types.h>

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
 * struct coll_record - something that has happened to a rank
 * @ns: when, CLOCK_MONOTONIC
 * @instance: the operation's name
 * @count: elements, of an operation submitted
 * @bytes: of the vector or of the longest block, likewise
 * @error: positive errno
 * @rank_a: of the reason; of a link: the peer; of an operation: the root; who is absent
 * @rank_b: of the reason
 * @flags: of an operation: COLLECTIVE_F_*
 * @kind: enum coll_record_kind
 * @opcode: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @reason: enum collective_reason_kind
 * @state: enum collective_state, or enum coll_link_news
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
