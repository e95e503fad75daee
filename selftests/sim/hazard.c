// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks the hazard of every step: why it may overwrite memory that a peer may still read.
 *
 * NEVER_SENT: the memory was never sent.  COVERED: all peers to which it was sent have
 * consumed it.  Both are checked for each byte when received bytes are stored.  A check of
 * results alone would find a wrong hazard only when a peer happens to read too late.
 * See enum coll_hazard in core/schedule/step.h.
 */
#include "sim.h"

/* The stream that is receiving; NULL: none. */
static struct coll_stream *watched;

/**
 * hazard_watch() - check what a stream stores from now on
 * @stream: the stream; NULL: stop checking
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

	/* A scratch window is written again when what was sent from it has left. */
	if (!len || !memory_has_ref(memory, off, len, never && !memory->window))
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
