// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pipes: publish, consume, revoke and end.  See pipe.h.
 *
 * Each pair of accesses that orders the two ends is named at both of them.
 */
#include "transport/local/pipe.h"

/* Records begin at multiples of this. */
#define RECORD_ALIGN	8U

/*
 * A write of bytes begins if a record of so many bytes fits, or of half of the ring, or all bytes
 * do.
 */
#define BYTES_LEAST	256U

static u32 record_space(u32 len)
{
	return sizeof(struct coll_pipe_record) + round_up(len, RECORD_ALIGN);
}

/* A record that the writer writes. */
static struct coll_pipe_record *record_at(const struct coll_pipe *pipe, u32 at)
{
	return (struct coll_pipe_record *)(pipe->ring + (at & (pipe->size - 1)));
}

/* A record that was written, perhaps before the pipe grew. */
static struct coll_pipe_record *record_written(const struct coll_pipe *pipe, u32 at)
{
	if (pipe->old_used && (s32)(at - pipe->moved_at) < 0)
		return (struct coll_pipe_record *)(pipe->old_ring + (at & (pipe->old_size - 1)));
	return record_at(pipe, at);
}

/* The record at @tail, for the reader. */
static struct coll_pipe_record *record_read(const struct coll_pipe *pipe)
{
	return (struct coll_pipe_record *)(pipe->read_ring +
					   (pipe->tail & (pipe->read_size - 1)));
}

/* Bytes in the ring that a record occupies. */
static u32 record_size(const struct coll_pipe_record *record)
{
	if (record->kind == COLL_PIPE_REFERENCE)
		return sizeof(struct coll_reference);
	return record_space(record->len);
}

/**
 * coll_pipe_init() - an empty pipe
 * @pipe: the pipe
 * @ring: memory for the records, at a multiple of 8
 * @size: bytes of @ring; a power of two, at least 256
 */
void coll_pipe_init(struct coll_pipe *pipe, void *ring, u32 size)
{
	*pipe = (struct coll_pipe){
		.ring = ring,
		.size = size,
		.read_ring = ring,
		.read_size = size,
	};
}

/*
 * The writer
 */

static u32 pipe_space(struct coll_pipe *pipe)
{
	/* The reader's last accesses to the space come before: pairs with pipe_release(). */
	pipe->tail_seen = smp_load_acquire(&pipe->tail);
	/*
	 * No record is left in the old ring.  This is seen before @size more bytes are written, so
	 * positions have not wrapped.
	 */
	if (pipe->old_used && (s32)(pipe->tail_seen - pipe->moved_at) >= 0)
		pipe->old_used = 0;
	return pipe->size - (pipe->head - pipe->tail_seen);
}

/* Return: bytes of space, at least @need; or 0, and an event follows when there is space. */
static u32 pipe_reserve(struct coll_pipe *pipe, u32 need)
{
	u32 space = pipe->size - (pipe->head - pipe->tail_seen);

	if (space < need)
		space = pipe_space(pipe);
	if (space >= need)
		return space;
	WRITE_ONCE(pipe->writer_waits, 1);
	/* @writer_waits before @tail: pairs with pipe_release(). */
	smp_mb();
	space = pipe_space(pipe);
	return space >= need ? space : 0;
}

static void pipe_publish(struct coll_pipe *pipe, u32 bytes)
{
	/* The record before @head: pairs with coll_pipe_next(). */
	smp_store_release(&pipe->head, pipe->head + bytes);
}

/* Copy bytes into the ring, which may wrap. */
static void ring_store(struct coll_pipe *pipe, u32 at, const void *ptr, u32 len)
{
	u32 first = min(len, pipe->size - (at & (pipe->size - 1)));

	memcpy(pipe->ring + (at & (pipe->size - 1)), ptr, first);
	memcpy(pipe->ring, ptr + first, len - first);
}

static void ring_store_mem(struct coll_pipe *pipe, u32 at, const struct coll_mem *mem, u64 off,
			   u32 len)
{
	while (len) {
		size_t n;
		const void *ptr = mem->at(mem, off, &n);

		n = min_t(size_t, n, len);
		ring_store(pipe, at, ptr, n);
		at += n;
		off += n;
		len -= n;
	}
}

/* Write a header and payload as bytes.  Return: number of bytes; 0: no space. */
static u32 put_bytes(struct coll_pipe *pipe, const struct coll_out *out, u32 head, u32 payload)
{
	u32 least = min3(head + payload, BYTES_LEAST, pipe->size / 2);
	u32 space = pipe_reserve(pipe, record_space(least));
	u32 at = pipe->head + sizeof(struct coll_pipe_record);
	u32 len;

	if (!space)
		return 0;
	len = min(head + payload, space - (u32)sizeof(struct coll_pipe_record));
	head = min(head, len);
	*record_at(pipe, pipe->head) = (struct coll_pipe_record){ COLL_PIPE_BYTES, len };
	if (head)
		ring_store(pipe, at, out->ptr, head);
	ring_store_mem(pipe, at + head, out->mem, out->off, len - head);
	pipe_publish(pipe, record_space(len));
	return len;
}

/*
 * Space that a record without gaps needs at @at, with padding before it.  *@pad: bytes of padding.
 */
static u32 whole_space(const struct coll_pipe *pipe, u32 at, u32 bytes, u32 *pad)
{
	u32 end = pipe->size - (at & (pipe->size - 1));

	*pad = end < bytes ? end : 0;
	return *pad + bytes;
}

static void put_pad(struct coll_pipe *pipe, u32 at, u32 pad)
{
	if (pad)
		*record_at(pipe, at) = (struct coll_pipe_record){
			COLL_PIPE_PAD, pad - sizeof(struct coll_pipe_record)
		};
}

/* Write a header as bytes, and a reference to payload.  Return: number of bytes; 0: no space. */
static u32 put_reference(struct coll_pipe *pipe, const struct coll_out *out, u32 head, u32 payload)
{
	u32 used = head ? record_space(head) : 0;
	u32 pad, need = whole_space(pipe, pipe->head + used, sizeof(struct coll_reference), &pad);

	if (!pipe_reserve(pipe, used + need))
		return 0;
	if (head) {
		*record_at(pipe, pipe->head) = (struct coll_pipe_record){ COLL_PIPE_BYTES, head };
		ring_store(pipe, pipe->head + sizeof(struct coll_pipe_record), out->ptr, head);
	}
	put_pad(pipe, pipe->head + used, pad);
	used += pad;
	*coll_pipe_reference(record_at(pipe, pipe->head + used)) = (struct coll_reference){
		.record = { COLL_PIPE_REFERENCE, payload },
		.state = COLL_REFERENCE_READY,
		.mem = out->mem,
		.off = out->off,
		.position = out->position,
		.owner = out->owner,
	};
	pipe_publish(pipe, used + sizeof(struct coll_reference));
	return head + payload;
}

/**
 * coll_pipe_put() - write a header and its payload
 * @pipe: the pipe
 * @out: the bytes, at least one; with @copy the payload is copied, else a reference to it is
 *	written.  A header before a reference takes at most half of the ring
 *
 * The reader needs an event if anything was written.
 *
 * Return: number of bytes written, header and payload; -EAGAIN: there is no space, and the reader
 * asks for an event when there is; -ECONNRESET: the reader reads nothing more.
 */
int coll_pipe_put(struct coll_pipe *pipe, const struct coll_out *out)
{
	u32 head = out->ptr ? out->len : 0;
	u32 payload = out->ptr ? out->more : out->len;
	u32 n;

	if (READ_ONCE(pipe->reader_gone))
		return -ECONNRESET;
	if (out->copy || !payload)
		n = put_bytes(pipe, out, head, payload);
	else
		n = put_reference(pipe, out, head, payload);
	return n ? (int)n : -EAGAIN;
}

/**
 * coll_pipe_may_grow() - has the reader left the ring before the present one?
 * @pipe: the pipe
 *
 * Return: true if there is none, or if its memory may be freed: coll_pipe_take_old().
 */
bool coll_pipe_may_grow(struct coll_pipe *pipe)
{
	pipe_space(pipe);
	return !pipe->old_used;
}

/**
 * coll_pipe_take_old() - take the memory of the ring before the present one
 * @pipe: the pipe; coll_pipe_may_grow()
 *
 * Return: the memory, of @old_size bytes; or NULL.
 */
void *coll_pipe_take_old(struct coll_pipe *pipe)
{
	void *ring = pipe->old_ring;

	pipe->old_ring = NULL;
	return ring;
}

/**
 * coll_pipe_grow() - go on in a larger ring
 * @pipe: the pipe; coll_pipe_may_grow(), and the old ring has been taken
 * @ring: memory for the records, at a multiple of 8; exists as long as the old one
 * @size: bytes of @ring; a power of two
 *
 * The reader needs no event until a record follows.
 *
 * Return: false if there is no space in the old ring just now.
 */
bool coll_pipe_grow(struct coll_pipe *pipe, void *ring, u32 size)
{
	u32 pad, need = whole_space(pipe, pipe->head, sizeof(struct coll_pipe_move), &pad);
	struct coll_pipe_move *move;

	if (pipe_space(pipe) < need)
		return false;
	put_pad(pipe, pipe->head, pad);
	move = container_of(record_at(pipe, pipe->head + pad), struct coll_pipe_move, record);
	*move = (struct coll_pipe_move){
		.record = { COLL_PIPE_MOVE,
			    sizeof(*move) - sizeof(struct coll_pipe_record) },
		.size = size,
		.ring = ring,
	};
	pipe_publish(pipe, need);
	pipe->old_ring = pipe->ring;
	pipe->old_size = pipe->size;
	pipe->old_used = 1;
	pipe->moved_at = pipe->head;
	pipe->ring = ring;
	pipe->size = size;
	return true;
}

/* Return: true if no piece is being read. */
static bool reference_revoke(struct coll_reference *reference)
{
	u32 seen = COLL_REFERENCE_READY, state;

	/* The reader begins and ends pieces meanwhile: a piece is at most one try. */
	do {
		state = seen;
		if (state != COLL_REFERENCE_READY && state != COLL_REFERENCE_READING)
			return state != COLL_REFERENCE_REVOKING;
		/* Pairs with coll_reference_begin() and coll_reference_end(). */
		seen = cmpxchg(&reference->state, state,
			       state == COLL_REFERENCE_READY ? COLL_REFERENCE_REVOKED :
							       COLL_REFERENCE_REVOKING);
	} while (seen != state);
	return state != COLL_REFERENCE_READING;
}

/**
 * coll_pipe_revoke() - let nothing be read any more that an owner refers to
 * @pipe: the pipe
 * @owner: see struct coll_out; NULL: of all owners
 *
 * Return: true if no piece is being read.  False: when it has been read, the reader asks for an
 * event, and coll_pipe_is_read() is false.
 */
bool coll_pipe_revoke(struct coll_pipe *pipe, const void *owner)
{
	u32 at = smp_load_acquire(&pipe->tail);		/* pairs with pipe_release() */
	bool unread = true;

	/*
	 * At most @size / 8 records.  The reader may release some of them meanwhile, but only this
	 * end overwrites them.
	 */
	while (at != pipe->head) {
		struct coll_pipe_record *record = record_written(pipe, at);
		struct coll_reference *reference = coll_pipe_reference(record);

		if (record->kind == COLL_PIPE_REFERENCE &&
		    (!owner || reference->owner == owner))
			unread &= reference_revoke(reference);
		at += record_size(record);
	}
	return unread;
}

static u32 reference_state(const struct coll_reference *reference)
{
	/* What was read comes before: pairs with coll_reference_end(). */
	return smp_load_acquire(&reference->state);
}

/**
 * coll_pipe_is_read() - is a piece of a revoked reference still being read?
 * @pipe: the pipe
 *
 * Only the record at @tail can be.
 *
 * Context: the writer.
 */
bool coll_pipe_is_read(const struct coll_pipe *pipe)
{
	u32 at = smp_load_acquire(&pipe->tail);		/* pairs with pipe_release() */

	while (at != pipe->head) {
		struct coll_pipe_record *record = record_written(pipe, at);
		struct coll_reference *reference = coll_pipe_reference(record);

		if (record->kind == COLL_PIPE_REFERENCE &&
		    reference_state(reference) == COLL_REFERENCE_REVOKING)
			return true;
		at += record_size(record);
	}
	return false;
}

/**
 * coll_pipe_set_rest() - let more bytes follow than the ring has space for
 * @pipe: the pipe; coll_pipe_end() is called next
 * @ring: a ring with the bytes; exists as long as the pipe
 * @size: bytes of @ring; a power of two
 * @at: offset of the first byte, modulo @size
 * @len: number of bytes
 */
void coll_pipe_set_rest(struct coll_pipe *pipe, void *ring, u32 size, u32 at, u32 len)
{
	pipe->rest = ring;
	pipe->rest_size = size;
	pipe->rest_at = at;
	pipe->rest_len = len;
}

/**
 * coll_pipe_end() - write nothing more
 * @pipe: the pipe; the reader needs an event
 * @error: 0: end in order; or a negative errno for the reader
 *
 * What is in the ring can still be read.
 */
void coll_pipe_end(struct coll_pipe *pipe, int error)
{
	/* All records before it: pairs with coll_pipe_ended(). */
	smp_store_release(&pipe->ended, 1 - error);
}

/*
 * The reader
 */

static void pipe_advance(struct coll_pipe *pipe, u32 bytes)
{
	/* The accesses to the record before @tail: pairs with pipe_space(). */
	smp_store_release(&pipe->tail, pipe->tail + bytes);
}

/* Give the space of the record at @tail back.  Return: true if the writer needs an event. */
static bool pipe_release(struct coll_pipe *pipe, u32 bytes)
{
	pipe->record_done = 0;
	pipe_advance(pipe, bytes);
	/* @tail before @writer_waits: pairs with pipe_reserve(). */
	smp_mb();
	if (!READ_ONCE(pipe->writer_waits))
		return false;
	WRITE_ONCE(pipe->writer_waits, 0);
	return true;
}

/*
 * Pass padding, or go on in a larger ring.  A writer that waits for space gets its event from a
 * record behind: there is one, or the ring is empty.
 */
static void pipe_pass(struct coll_pipe *pipe, const struct coll_pipe_record *record)
{
	u32 bytes = record_size(record);

	if (record->kind == COLL_PIPE_MOVE) {
		const struct coll_pipe_move *move =
			container_of(record, struct coll_pipe_move, record);

		pipe->read_ring = move->ring;
		WRITE_ONCE(pipe->read_size, move->size);
	}
	pipe_advance(pipe, bytes);
}

/**
 * coll_pipe_next() - the next record
 * @pipe: the pipe
 *
 * Return: bytes or a reference; or NULL: there is none, and an event follows when there is.
 */
struct coll_pipe_record *coll_pipe_next(struct coll_pipe *pipe)
{
	/* Pairs with pipe_publish(). */
	u32 head = smp_load_acquire(&pipe->head);

	/* At most a padding and a move. */
	while (pipe->tail != head) {
		struct coll_pipe_record *record = record_read(pipe);

		if (record->kind <= COLL_PIPE_REFERENCE)
			return record;
		pipe_pass(pipe, record);
	}
	return NULL;
}

/**
 * coll_pipe_readable() - is there a record?
 * @pipe: the pipe
 *
 * Context: any.
 */
bool coll_pipe_readable(const struct coll_pipe *pipe)
{
	return READ_ONCE(pipe->head) != READ_ONCE(pipe->tail);
}

/**
 * coll_pipe_bytes() - the next bytes of a record
 * @pipe: the pipe; coll_pipe_next() has returned a record of bytes
 * @len: out: number of bytes that follow one another
 *
 * Return: their address.
 */
const void *coll_pipe_bytes(const struct coll_pipe *pipe, u32 *len)
{
	u32 at = pipe->tail + sizeof(struct coll_pipe_record) + pipe->record_done;

	at &= pipe->read_size - 1;
	*len = min(record_read(pipe)->len - pipe->record_done, pipe->read_size - at);
	return pipe->read_ring + at;
}

/**
 * coll_pipe_consume() - bytes of the record at the front have been consumed
 * @pipe: the pipe
 * @len: number of bytes, which may be all that are left of the record
 *
 * Return: true if the writer needs an event.
 */
bool coll_pipe_consume(struct coll_pipe *pipe, u32 len)
{
	struct coll_pipe_record *record = record_read(pipe);

	pipe->record_done += len;
	if (pipe->record_done < record->len)
		return false;
	if (record->kind != COLL_PIPE_REFERENCE)
		return pipe_release(pipe, record_size(record));
	/* The pieces that were read before @consumed: pairs with local_consumed(). */
	smp_store_release(&pipe->consumed, coll_pipe_reference(record)->position);
	pipe_release(pipe, record_size(record));
	return true;
}

/**
 * coll_pipe_rest() - the next bytes behind the ring
 * @pipe: the pipe; it has ended and the ring is empty
 * @len: out: number of bytes that follow one another; 0: none are left
 *
 * Return: their address.
 */
const void *coll_pipe_rest(const struct coll_pipe *pipe, u32 *len)
{
	u32 at = pipe->rest_at & (pipe->rest_size - 1);

	*len = min(pipe->rest_len, pipe->rest_size - at);
	return pipe->rest + at;
}

/**
 * coll_pipe_consume_rest() - such bytes have been consumed
 * @pipe: the pipe
 * @len: number of bytes
 */
void coll_pipe_consume_rest(struct coll_pipe *pipe, u32 len)
{
	pipe->rest_at += len;
	pipe->rest_len -= len;
}

/**
 * coll_pipe_leave() - read nothing more
 * @pipe: the pipe; the writer needs an event
 */
void coll_pipe_leave(struct coll_pipe *pipe)
{
	WRITE_ONCE(pipe->reader_gone, 1);
}

/**
 * coll_reference_begin() - begin to read a piece
 * @reference: the record at the front
 *
 * Return: true if its memory may be read until coll_reference_end(); false: it is revoked.
 */
bool coll_reference_begin(struct coll_reference *reference)
{
	/* Ordered before the reads: pairs with reference_revoke(). */
	return cmpxchg(&reference->state, COLL_REFERENCE_READY, COLL_REFERENCE_READING) ==
	       COLL_REFERENCE_READY;
}

/**
 * coll_reference_end() - a piece has been read
 * @reference: after coll_reference_begin()
 *
 * Return: false if it was revoked meanwhile: the writer needs an event, and waits for it.
 */
bool coll_reference_end(struct coll_reference *reference)
{
	/* Ordered after the reads: pairs with reference_revoke(). */
	if (cmpxchg(&reference->state, COLL_REFERENCE_READING, COLL_REFERENCE_READY) ==
	    COLL_REFERENCE_READING)
		return true;
	/* Pairs with coll_pipe_is_read(). */
	smp_store_release(&reference->state, COLL_REFERENCE_REVOKED);
	return false;
}
