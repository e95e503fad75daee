/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM collective

#if !defined(COLL_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define COLL_EVENTS_H

#include <linux/tracepoint.h>

#include "core/wire/wire.h"
#include "ident.h"

/* A member changes its state; @from and @to: enum collective_state. */
TRACE_EVENT(collective_state,
	TP_PROTO(const struct coll_ident *id, u32 from, u32 to),
	TP_ARGS(id, from, to),
	TP_STRUCT__entry(
		__string(group, id->group_name)
		__field(u32, rank)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		__assign_str(group);
		__entry->rank = id->rank;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("group=%s rank=%u from=%u to=%u", __get_str(group),
		  __entry->rank, __entry->from, __entry->to)
);

/* A member has a new reason why the group has failed, stronger than those before. */
TRACE_EVENT(collective_abort,
	TP_PROTO(const struct coll_ident *id, const struct coll_reason *reason),
	TP_ARGS(id, reason),
	TP_STRUCT__entry(
		__string(group, id->group_name)
		__field(u32, rank)
		__field(u32, kind)
		__field(u32, rank_a)
		__field(u32, rank_b)
	),
	TP_fast_assign(
		__assign_str(group);
		__entry->rank = id->rank;
		__entry->kind = reason->kind;
		__entry->rank_a = reason->rank_a;
		__entry->rank_b = reason->rank_b;
	),
	TP_printk("group=%s rank=%u kind=%u rank_a=%d rank_b=%d", __get_str(group),
		  __entry->rank, __entry->kind, (int)__entry->rank_a, (int)__entry->rank_b)
);

/* An operation was submitted. */
TRACE_EVENT(collective_begin,
	TP_PROTO(const struct coll_ident *id, u64 instance, u32 opcode, u64 bytes, u32 lanes),
	TP_ARGS(id, instance, opcode, bytes, lanes),
	TP_STRUCT__entry(
		__string(group, id->group_name)
		__field(u32, rank)
		__field(u64, instance)
		__field(u32, opcode)
		__field(u64, bytes)
		__field(u32, lanes)
	),
	TP_fast_assign(
		__assign_str(group);
		__entry->rank = id->rank;
		__entry->instance = instance;
		__entry->opcode = opcode;
		__entry->bytes = bytes;
		__entry->lanes = lanes;
	),
	TP_printk("group=%s rank=%u instance=%llu opcode=%u bytes=%llu lanes=%u",
		  __get_str(group), __entry->rank, __entry->instance,
		  __entry->opcode, __entry->bytes, __entry->lanes)
);

/* An operation is complete; @ns is the time since it was submitted. */
TRACE_EVENT(collective_end,
	TP_PROTO(const struct coll_ident *id, u64 instance, int error, u64 ns),
	TP_ARGS(id, instance, error, ns),
	TP_STRUCT__entry(
		__string(group, id->group_name)
		__field(u32, rank)
		__field(u64, instance)
		__field(int, error)
		__field(u64, ns)
	),
	TP_fast_assign(
		__assign_str(group);
		__entry->rank = id->rank;
		__entry->instance = instance;
		__entry->error = error;
		__entry->ns = ns;
	),
	TP_printk("group=%s rank=%u instance=%llu error=%d ns=%llu", __get_str(group),
		  __entry->rank, __entry->instance, __entry->error, __entry->ns)
);

#endif /* COLL_EVENTS_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH trace
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE events
#include <trace/define_trace.h>
