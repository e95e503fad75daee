// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stage of a stream: eager frames that came before their turn.
 *
 * Frames lie in the order in which they came, each behind a header of as many bytes as on the
 * wire, and those whose names have the same hash are linked.  So a name's frames are found
 * without a look at all others, and what has been taken leaves a hole.  Holes are closed when
 * there is no room at the end: there are COLL_UNEXP_SIZE - COLL_CREDIT bytes of them then, and
 * at most COLL_CREDIT bytes are moved, so that it costs eight bytes for each that came.
 */
#include "core/engine/task.h"

/**
 * struct unexp_frame - what precedes a frame's payload, at any byte
 * @instance: see struct coll_data
 * @offset: likewise
 * @length: likewise
 * @next: the next one of the same hash: where it is, plus one; 0: none
 * @step: see struct coll_data
 * @call: likewise
 * @flags: likewise
 * @gone: it has been taken
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

/* Link the frame at @at, the last one so far. */
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

/* Close the holes. */
static noinline void unexp_compact(struct coll_stream *stream)
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
 * coll_unexp_room() - where the payload of the next frame goes
 * @stream: the stream; what is in its stage and the frame are within COLL_CREDIT
 * @length: bytes of it
 *
 * Return: the memory, until coll_unexp_add().
 */
u8 *coll_unexp_room(struct coll_stream *stream, u32 length)
{
	if (!stream->unexp_len)
		stream->unexp_end = 0;
	if (stream->unexp_end + COLL_DATA_SIZE + length > COLL_UNEXP_SIZE)
		unexp_compact(stream);
	return stream->unexp_buf + stream->unexp_end + COLL_DATA_SIZE;
}

/**
 * coll_unexp_add() - a frame is complete
 * @stream: the stream
 * @data: its header; its payload is where coll_unexp_room() has said
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
 * coll_unexp_next() - the next frame of a name
 * @stream: the stream
 * @instance: the name
 * @place: in: zeroed, or the frame before it; out: where it is
 * @data: filled in
 *
 * Takes time by the frames whose names have the same hash, of which there may be
 * COLL_CREDIT / COLL_DATA_SIZE.
 *
 * Return: its payload, or NULL when there is no more.
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
 * coll_unexp_remove() - a frame has been taken
 * @stream: the stream
 * @place: of the frame, as it was found; nothing was removed since
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
 * coll_unexp_holds() - may there be frames of a name?
 * @stream: the stream
 * @instance: the name
 *
 * Return: false: there are none.
 */
bool coll_unexp_holds(const struct coll_stream *stream, u64 instance)
{
	return stream->unexp_head[unexp_bucket(instance)];
}
