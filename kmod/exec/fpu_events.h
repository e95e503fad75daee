/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM collective

#if !defined(COLL_FPU_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define COLL_FPU_EVENTS_H

#include <linux/tracepoint.h>

/* An FPU section has ended.  The CPU was not preempted for @ns; @cost: see coll_fpu_used(). */
TRACE_EVENT(collective_vector,
	TP_PROTO(u64 cost, u64 ns),
	TP_ARGS(cost, ns),
	TP_STRUCT__entry(
		__field(u64, cost)
		__field(u64, ns)
	),
	TP_fast_assign(
		__entry->cost = cost;
		__entry->ns = ns;
	),
	TP_printk("cost=%llu ns=%llu", __entry->cost, __entry->ns)
);

#endif /* COLL_FPU_EVENTS_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH exec
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE fpu_events
#include <trace/define_trace.h>
