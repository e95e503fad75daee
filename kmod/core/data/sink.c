// SPDX-License-Identifier: GPL-2.0-only
/* Where received bytes go: they are stored, or reduced, as they come. */
#include "core/data/sink.h"

static void sink_put(const struct coll_sink *sink, const struct coll_mem *mem, u64 *off,
		     const u8 *ptr, size_t len)
{
	coll_mem_store(sink->impl->copy, mem, *off, ptr, len);
	*off += len;
}

static void sink_copy(const struct coll_sink *sink, const struct coll_mem *mem, u64 *off,
		      const u8 *ptr, size_t len)
{
	coll_copier_store(sink->copier, sink->impl->copy, mem, *off, ptr, len, &sink->hint);
	*off += len;
}

/*
 * How many of @len bytes can be reduced at once: at most the distance from @dst to the own
 * operand after it, which is then overwritten.  One element is always possible, because it is
 * read before it is stored.
 */
static size_t sink_apart(const void *dst, const void *own, size_t len, size_t size)
{
	const size_t ahead = (uintptr_t)own - (uintptr_t)dst;

	if (likely(!ahead || ahead >= len))
		return len;
	return ahead < size ? size : ahead - ahead % size;
}

static void sink_reduce(struct coll_sink *sink, const u8 *ptr, size_t len)
{
	while (len) {
		size_t n, space;
		void *dst = sink->dst->at(sink->dst, sink->dst_off, &n);
		const void *own = sink->own->at(sink->own, sink->own_off, &space);

		n = sink_apart(dst, own, min(min(n, space), len), sink->size);
		coll_reduce(sink->impl, sink->type, sink->reduction, dst,
			    sink->own_first ? own : ptr,
			    sink->own_first ? ptr : own,
			    n / sink->size, sink->divisor);
		/* Only now, because the own operand may be at the same place. */
		if (sink->tee)
			sink_put(sink, sink->tee, &sink->tee_off, ptr, n);
		sink->dst_off += n;
		sink->own_off += n;
		ptr += n;
		len -= n;
	}
}

static void sink_reduce_wide(struct coll_sink *sink, const u8 *ptr, size_t len)
{
	const u32 divisor = sink->reduction == COLLECTIVE_AVG ? sink->divisor : 0;
	const size_t size = coll_type_size(sink->type);
	size_t left = len / sink->size;

	while (left) {
		size_t n, space;
		void *dst = sink->dst->at(sink->dst, sink->dst_off, &n);
		const void *own = sink->own->at(sink->own, sink->own_off, &space);

		n = min(min(n / sink->stored, space / size), left);
		if (sink->stored == size)
			n = sink_apart(dst, own, n * size, size) / size;
		coll_reduce_wide(sink->impl, sink->type, dst, sink->stored != size,
				 own, ptr, sink->size != size, n, divisor);
		if (sink->tee)
			sink_put(sink, sink->tee, &sink->tee_off, ptr, n * sink->size);
		sink->dst_off += n * sink->stored;
		sink->own_off += n * size;
		ptr += n * sink->size;
		left -= n;
	}
}

static void sink_store(struct coll_sink *sink, const u8 *ptr, size_t len)
{
	if (sink->kind == COLL_SINK_REDUCE) {
		if (sink->stored)
			sink_reduce_wide(sink, ptr, len);
		else
			sink_reduce(sink, ptr, len);
		return;
	}
	sink_copy(sink, sink->dst, &sink->dst_off, ptr, len);
	if (sink->tee)
		sink_copy(sink, sink->tee, &sink->tee_off, ptr, len);
}

/* Whole elements are stored; the part of an element at the end waits in @carry. */
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

/* Received bytes that are contiguous in every memory involved. */
static u64 sink_piece(const struct coll_sink *sink)
{
	const size_t stored = sink->stored ? sink->stored : sink->size;
	u64 elements = coll_mem_piece(sink->dst, sink->dst_off) / stored;
	size_t own = sink->size;

	if (sink->tee)
		elements = min(elements, coll_mem_piece(sink->tee, sink->tee_off) / sink->size);
	if (sink->kind == COLL_SINK_REDUCE) {
		size_t space;
		const void *dst = sink->dst->at(sink->dst, sink->dst_off, &space);
		const void *ours = sink->own->at(sink->own, sink->own_off, &space);

		if (sink->stored)
			own = coll_type_size(sink->type);
		elements = min(elements, coll_mem_piece(sink->own, sink->own_off) / own);
		if (stored == own)
			elements = sink_apart(dst, ours, elements * own, own) / own;
	}
	return elements * sink->size;
}

/**
 * coll_sink() - store received bytes
 * @sink: sink of their frame
 * @ptr: the bytes, at any alignment
 * @len: number of bytes
 *
 * Context: any; between kernel_fpu_begin() and kernel_fpu_end() if coll_sink_computes().
 * Return: number of bytes taken, at least one: @len, or fewer if the frame ends, or if they go to
 * many short pieces of memory.
 */
size_t coll_sink(struct coll_sink *sink, const void *ptr, size_t len)
{
	u64 space = sink->left > sink->excess ? sink->left - sink->excess : 0;

	len = min_t(u64, len, sink->left);
	sink->cost = len;
	if (len && space && (sink->kind == COLL_SINK_COPY || sink->kind == COLL_SINK_REDUCE)) {
		u64 piece = sink_piece(sink);

		len = coll_piece_bound(piece, len);
		sink->cost = coll_piece_cost(piece, len);
	}
	sink->left -= len;

	switch (sink->kind) {
	case COLL_SINK_DISCARD:
		break;
	case COLL_SINK_UNEXP:
		memcpy(sink->unexp, ptr, len);
		sink->unexp += len;
		break;
	default:
		sink_elements(sink, ptr, min_t(u64, len, space));
	}
	return len;
}
