// SPDX-License-Identifier: GPL-2.0-only
/*
 * The unexpected buffer of a stream: eager frames that came before their turn.
 *
 * Frames are stored in their order of arrival, each behind a header of the size that it has on
 * the wire.  Frames of instances with the same hash are linked, so that the frames of one
 * instance are found without a look at all others.  A frame that is removed leaves a gap.  Gaps
 * are closed when there is no space at the end: then an eighth of the credit is in gaps, and at
 * most the credit moves, which is eight bytes for each byte that arrived.
 */
#include "core/engine/task.h"

/**
 * struct unexp_frame - header of a frame in the buffer; unaligned
 * @instance: see struct coll_data
 * @offset: likewise
 * @length: likewise
 * @next: offset of the next frame of the same hash plus one; 0: none
 * @step: see struct coll_data
 * @call: likewise
 * @flags: likewise
 * @gone: true if the frame was removed
 */
struct unexp_frame {
	u64 instance;
	u64 offset;
	u32 length;
	u32 next;
	u16 step;
	u16 call;
	u8 flags;
	bool gone;
};

static_assert(sizeof(struct unexp_frame) <= COLL_DATA_SIZE);

static void frame_read(const struct coll_stream *stream, u32 at, struct unexp_frame *frame)
{
	memcpy(frame, stream->unexp_buf + at, sizeof(*frame));
}

static void frame_write(struct coll_stream *stream, u32 at, const struct unexp_frame *frame)
{
	memcpy(stream->unexp_buf + at, frame, sizeof(*frame));
}

static u32 unexp_bucket(u64 instance)
{
	return coll_instance_hash(instance, COLL_UNEXP_HASH);
}

/* Append the frame at @at to the list of its hash. */
static void unexp_link(struct coll_stream *stream, u32 at, struct unexp_frame *frame)
{
	u32 bucket = unexp_bucket(frame->instance), tail = stream->unexp_tail[bucket];

	frame->next = 0;
	frame_write(stream, at, frame);
	stream->unexp_tail[bucket] = at + 1;
	if (!stream->unexp_head[bucket]) {
		stream->unexp_head[bucket] = at + 1;
	} else {
		struct unexp_frame last;

		frame_read(stream, tail - 1, &last);
		last.next = at + 1;
		frame_write(stream, tail - 1, &last);
	}
}

/* Close the gaps. */
static void unexp_compact(struct coll_stream *stream)
{
	u32 from = 0, to = 0, end = stream->unexp_end;

	memset(stream->unexp_head, 0, sizeof(stream->unexp_head));
	while (from < end) {
		struct unexp_frame frame;
		u32 cost;

		frame_read(stream, from, &frame);
		cost = COLL_DATA_SIZE + frame.length;
		if (!frame.gone) {
			memmove(stream->unexp_buf + to, stream->unexp_buf + from, cost);
			unexp_link(stream, to, &frame);
			to += cost;
		}
		from += cost;
	}
	stream->unexp_end = to;
}

/**
 * coll_unexp_space() - reserve space for the payload of the next frame
 * @stream: the stream; the frames in its buffer and this one are within its @rx_credit
 * @length: bytes of payload
 *
 * Return: the memory for the payload, valid until coll_unexp_add().
 */
u8 *coll_unexp_space(struct coll_stream *stream, u32 length)
{
	if (!stream->unexp_len)
		stream->unexp_end = 0;
	if (stream->unexp_end + COLL_DATA_SIZE + length > coll_unexp_bytes(stream->rx_credit))
		unexp_compact(stream);
	return stream->unexp_buf + stream->unexp_end + COLL_DATA_SIZE;
}

/**
 * coll_unexp_move() - give an unexpected buffer other memory
 * @stream: the stream
 * @buf: larger memory
 *
 * Return: the old memory.
 */
u8 *coll_unexp_move(struct coll_stream *stream, u8 *buf)
{
	u8 *old = stream->unexp_buf;

	/* Frames are found by their offsets.  One may be on its way behind them. */
	memcpy(buf, old, coll_unexp_bytes(stream->rx_credit));
	if (stream->rx_open && stream->sink.kind == COLL_SINK_UNEXP)
		stream->sink.unexp = buf + (stream->sink.unexp - old);
	stream->unexp_buf = buf;
	return old;
}

/**
 * coll_unexp_add() - add a complete frame
 * @stream: the stream
 * @data: header of the frame; its payload is at the address from coll_unexp_space()
 */
void coll_unexp_add(struct coll_stream *stream, const struct coll_data *data)
{
	struct unexp_frame frame = {
		.instance = data->instance,
		.offset = data->offset,
		.length = data->length,
		.step = data->step,
		.call = data->call,
		.flags = data->flags,
	};

	unexp_link(stream, stream->unexp_end, &frame);
	stream->unexp_end += COLL_DATA_SIZE + data->length;
	stream->unexp_len += COLL_DATA_SIZE + data->length;
}

/**
 * coll_unexp_next() - find the next frame of an instance
 * @stream: the stream
 * @instance: the instance
 * @place: zeroed, or the position of the previous frame; set to the position of this frame
 * @data: filled in with the header
 *
 * Takes time by the number of frames of instances with the same hash; there may be COLL_CREDIT
 * / COLL_DATA_SIZE of them.
 *
 * Return: the payload, or NULL if there are no more frames.
 */
const u8 *coll_unexp_next(const struct coll_stream *stream, u64 instance,
			  struct coll_unexp_place *place, struct coll_data *data)
{
	struct unexp_frame frame;

	do {
		if (place->at) {
			frame_read(stream, place->at - 1, &frame);
			place->before = place->at;
			place->at = frame.next;
		} else {
			place->at = stream->unexp_head[unexp_bucket(instance)];
		}
		if (!place->at)
			return NULL;
		frame_read(stream, place->at - 1, &frame);
	} while (frame.instance != instance);

	*data = (struct coll_data){
		.lane = stream->engine->lane,
		.flags = frame.flags,
		.call = frame.call,
		.step = frame.step,
		.length = frame.length,
		.instance = instance,
		.offset = frame.offset,
	};
	return stream->unexp_buf + place->at - 1 + COLL_DATA_SIZE;
}

/**
 * coll_unexp_remove() - remove a frame
 * @stream: the stream
 * @place: position of the frame from coll_unexp_next(); no frame was removed since
 */
void coll_unexp_remove(struct coll_stream *stream, const struct coll_unexp_place *place)
{
	struct unexp_frame frame, before;
	u32 bucket;

	frame_read(stream, place->at - 1, &frame);
	bucket = unexp_bucket(frame.instance);
	if (place->before) {
		frame_read(stream, place->before - 1, &before);
		before.next = frame.next;
		frame_write(stream, place->before - 1, &before);
	} else {
		stream->unexp_head[bucket] = frame.next;
	}
	if (!frame.next)
		stream->unexp_tail[bucket] = place->before;
	frame.gone = true;
	frame_write(stream, place->at - 1, &frame);
	stream->unexp_len -= COLL_DATA_SIZE + frame.length;
}

/**
 * coll_unexp_holds() - may there be frames of an instance?
 * @stream: the stream
 * @instance: the instance
 *
 * Return: false if there are none.
 */
bool coll_unexp_holds(const struct coll_stream *stream, u64 instance)
{
	return stream->unexp_head[unexp_bucket(instance)];
}
