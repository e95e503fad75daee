// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every step names what keeps its write from being seen by a peer that still reads
 * older contents (core/schedule.h).  Here it is held to its word, byte by byte, as
 * arriving bytes are stored: memory that was never sent, or that all who were sent it
 * have consumed.  A wrong result would need the race to be lost, too.
 */
#include "sim.h"

static struct coll_stream *watched;

/**
 * hazard_watch() - judge what is stored next
 * @stream: on which it arrives; NULL: nothing more
 */
void hazard_watch(struct coll_stream *stream)
{
	watched = stream;
}

static void hazard_check(struct coll_stream *stream, const struct coll_mem *mem, u64 off,
			 u64 len, bool never)
{
	struct member *member = member_of(stream->engine);
	const struct sim_mem *memory = container_of(mem, struct sim_mem, mem);

	/* What goes through a window is sent by copy. */
	if (!len || memory->window || !memory_lent(memory, off, len, never))
		return;
	sim_fail(member->sim, "rank %u from %u: step %llu writes %llu bytes that %s", member->rank,
		 stream->peer, (unsigned long long)stream->rx_task->rx_step,
		 (unsigned long long)len,
		 never ? "were sent" : "a peer has not consumed");
}

size_t __real_coll_sink(struct coll_sink *sink, const void *ptr, size_t len);
size_t __wrap_coll_sink(struct coll_sink *sink, const void *ptr, size_t len);

size_t __wrap_coll_sink(struct coll_sink *sink, const void *ptr, size_t len)
{
	struct coll_stream *stream = watched;
	struct coll_sink before = *sink;
	bool never;
	size_t n;

	if (!stream || sink != &stream->sink || !stream->rx_task ||
	    (sink->kind != COLL_SINK_COPY && sink->kind != COLL_SINK_REDUCE))
		return __real_coll_sink(sink, ptr, len);

	never = stream->rx_task->rx.hazard == COLL_HAZARD_NEVER_SENT ||
		member_of(stream->engine)->sim->config.mutation == MUTATION_HAZARD;
	n = __real_coll_sink(sink, ptr, len);
	hazard_check(stream, before.dst, before.dst_off, sink->dst_off - before.dst_off, never);
	if (before.tee)
		hazard_check(stream, before.tee, before.tee_off,
			     sink->tee_off - before.tee_off, true);
	return n;
}
