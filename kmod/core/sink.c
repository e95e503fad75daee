// SPDX-License-Identifier: GPL-2.0-only
#include "sink.h"

static void sink_reduce(struct coll_sink *sink, const u8 *ptr, size_t len)
{
	while (len) {
		size_t n, room;
		void *dst = sink->dst->at(sink->dst, sink->dst_off, &n);
		const void *own = sink->own->at(sink->own, sink->own_off, &room);

		n = min(min(n, room), len);
		coll_reduce(sink->impl, sink->type, sink->reduction, dst,
			    sink->own_first ? own : ptr,
			    sink->own_first ? ptr : own,
			    n / sink->size, sink->divisor);
		sink->dst_off += n;
		sink->own_off += n;
		ptr += n;
		len -= n;
	}
}

static void sink_copy(struct coll_sink *sink, const u8 *ptr, size_t len)
{
	while (len) {
		size_t n;
		void *dst = sink->dst->at(sink->dst, sink->dst_off, &n);

		n = min(n, len);
		memcpy(dst, ptr, n);
		sink->dst_off += n;
		ptr += n;
		len -= n;
	}
}

static void sink_store(struct coll_sink *sink, const u8 *ptr, size_t len)
{
	if (sink->kind == COLL_SINK_REDUCE)
		sink_reduce(sink, ptr, len);
	else
		sink_copy(sink, ptr, len);
}

/* Whole elements go to memory; the rest of one waits for its other half. */
static void sink_elements(struct coll_sink *sink, const u8 *ptr, size_t len)
{
	size_t whole;

	if (sink->carried) {
		size_t n = min_t(size_t, sink->size - sink->carried, len);

		memcpy(sink->carry + sink->carried, ptr, n);
		sink->carried += n;
		ptr += n;
		len -= n;
		if (sink->carried < sink->size)
			return;
		sink_store(sink, sink->carry, sink->size);
		sink->carried = 0;
	}

	whole = len & ~(size_t)(sink->size - 1);
	sink_store(sink, ptr, whole);

	sink->carried = len - whole;
	memcpy(sink->carry, ptr + whole, sink->carried);
}

/**
 * coll_sink() - take arriving bytes
 * @sink: of the frame they belong to
 * @ptr: the bytes, aligned to nothing
 * @len: how many there are
 *
 * Context: any; a REDUCE sink needs the vector registers (kernel_fpu_begin).
 * Return: how many were taken: @len, or fewer when the frame ends first.
 */
size_t coll_sink(struct coll_sink *sink, const void *ptr, size_t len)
{
	len = min_t(u64, len, sink->left);
	sink->left -= len;

	switch (sink->kind) {
	case COLL_SINK_DISCARD:
		break;
	case COLL_SINK_STAGE:
		memcpy(sink->stage, ptr, len);
		sink->stage += len;
		break;
	default:
		sink_elements(sink, ptr, len);
	}
	return len;
}
