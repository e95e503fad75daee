// SPDX-License-Identifier: GPL-2.0-only
/*
 * A record as a line of text, as Documentation/ABI/debugfs-collective defines it.
 */
#include <linux/math64.h>
#include <linux/time64.h>

#include "core/engine/instance.h"
#include "trace/names.h"
#include "trace/record.h"
#include "trace/recorder.h"

static const char * const link_state_names[] = {
	[COLL_LINK_UP]		= "link-up",
	[COLL_LINK_LEFT]	= "link-left",
	[COLL_LINK_DOWN]	= "link-down",
};

static const char *name_in(const char * const *names, size_t n, u32 value)
{
	return value < n && names[value] ? names[value] : "?";
}

/* The instance as 17, key:5, 0>3:17 or 0>3:key:5: see core/engine/instance.h. */
static void show_operation(struct seq_file *seq, const char *kind, u64 instance)
{
	const char *key = instance & COLL_INSTANCE_KEYED ? "key:" : "";
	u64 number = instance & ~(COLL_INSTANCE_KEYED | COLL_INSTANCE_P2P);

	seq_printf(seq, "%s op=", kind);
	if (instance & COLL_INSTANCE_P2P) {
		number &= COLLECTIVE_KEY_MAX;
		seq_printf(seq, "%u>%u:", coll_instance_from(instance), coll_instance_to(instance));
	}
	seq_printf(seq, "%s%llu", key, number);
}

static void show_rank(struct seq_file *seq, const char *before, u32 rank)
{
	if (rank == COLLECTIVE_RANK_NONE)
		seq_printf(seq, "%s-", before);
	else
		seq_printf(seq, "%s%u", before, rank);
}

static void show_reason(struct seq_file *seq, const struct coll_record *record)
{
	seq_printf(seq, " error=%u", record->error);
	if (record->reason == COLLECTIVE_REASON_NONE)
		return;
	seq_printf(seq, " reason=%s",
		   name_in(coll_reason_names, COLLECTIVE_REASON_COUNT, record->reason));
	show_rank(seq, " ranks=", record->rank_a);
	show_rank(seq, ",", record->rank_b);
}

static void show_submit(struct seq_file *seq, const struct coll_record *record)
{
	show_operation(seq, "submit", record->instance);
	seq_printf(seq, " opcode=%s type=%s reduction=%s root=%u count=%llu bytes=%llu flags=%#x",
		   name_in(coll_opcode_names, COLLECTIVE_OPCODE_COUNT, record->opcode),
		   name_in(coll_type_names, COLLECTIVE_TYPE_COUNT, record->type),
		   name_in(coll_reduction_names, COLLECTIVE_REDUCTION_COUNT, record->reduction),
		   record->rank_a, record->count, record->bytes, record->flags);
}

/**
 * coll_record_show() - print a record as a line of text
 * @seq: file that is read
 * @record: the record
 * @now: time of the copy, CLOCK_MONOTONIC ns; the line has the age of the record, too
 */
void coll_record_show(struct seq_file *seq, const struct coll_record *record, u64 now)
{
	seq_printf(seq, "%llu %llu ", record->ns, now - record->ns);
	switch (record->kind) {
	case COLL_RECORD_STATE:
		seq_printf(seq, "state to=%s",
			   name_in(coll_state_names, COLLECTIVE_STATE_COUNT, record->state));
		break;
	case COLL_RECORD_SUBMIT:
		show_submit(seq, record);
		break;
	case COLL_RECORD_BEGIN:
		show_operation(seq, "begin", record->instance);
		break;
	case COLL_RECORD_AGREED:
		show_operation(seq, "agreed", record->instance);
		break;
	case COLL_RECORD_FAIL:
		show_operation(seq, "fail", record->instance);
		show_reason(seq, record);
		break;
	case COLL_RECORD_ABSENT:
		show_operation(seq, "absent", record->instance);
		seq_printf(seq, " rank=%u", record->rank_a);
		break;
	case COLL_RECORD_DONE:
		show_operation(seq, "done", record->instance);
		show_reason(seq, record);
		break;
	case COLL_RECORD_LINK:
		seq_printf(seq, "%s rank=%u",
			   name_in(link_state_names, ARRAY_SIZE(link_state_names), record->state),
			   record->rank_a);
		if (record->state == COLL_LINK_DOWN)
			seq_printf(seq, " error=%u", record->error);
		break;
	case COLL_RECORD_ABORT:
		seq_puts(seq, "abort");
		show_reason(seq, record);
		break;
	case COLL_RECORD_GONE:
		seq_puts(seq, "gone");
		break;
	}
	seq_putc(seq, '\n');
}
