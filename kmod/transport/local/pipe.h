/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pipe: one direction of a local connection.  One end writes records into a ring, and the other
 * end reads them.
 *
 * A record holds bytes, or a *reference* to memory of the writer, which the reader reads in pieces.
 * Each piece is bracketed by coll_reference_begin() and coll_reference_end().  The writer may
 * *revoke* a reference: the reader begins no further piece, and nothing waits but for a piece that
 * has begun.
 *
 * This file takes no lock, allocates nothing and wakes nothing: two threads of user space run the
 * same code under ThreadSanitizer.  The caller delivers the events that the functions ask for.
 */
#ifndef COLL_PIPE_H
#define COLL_PIPE_H

#include "core/data/mem.h"
#include "transport/local/pipe_env.h"

enum coll_pipe_record_kind {
	COLL_PIPE_BYTES,	/* bytes follow in the ring, and may wrap */
	COLL_PIPE_REFERENCE,	/* struct coll_reference */
	COLL_PIPE_PAD,		/* unused space up to the end of the ring */
	COLL_PIPE_MOVE,		/* struct coll_pipe_move */
};

enum coll_reference_state {
	COLL_REFERENCE_READY,		/* the reader may begin a piece */
	COLL_REFERENCE_READING,		/* the reader reads a piece */
	COLL_REFERENCE_REVOKING,	/* the same, and it is the last piece */
	COLL_REFERENCE_REVOKED,		/* the reader begins no further piece */
};

/**
 * struct coll_pipe_record - header of a record; at a multiple of 8 in the ring
 * @kind: enum coll_pipe_record_kind
 * @len: number of bytes, without this header and without padding
 */
struct coll_pipe_record {
	u32 kind;
	u32 len;
};

/**
 * struct coll_reference - a record that refers to memory of the writer
 * @record: header; its @len is the number of bytes referred to
 * @state: enum coll_reference_state; changed by compare-and-exchange of both ends [a]
 * @mem: the memory; exists while a piece is read
 * @off: offset of the first byte in @mem
 * @position: see struct coll_out
 * @owner: see struct coll_out
 */
struct coll_reference {
	struct coll_pipe_record record;
	u32 state;
	const struct coll_mem *mem;
	u64 off;
	u64 position;
	const void *owner;
};

/**
 * struct coll_pipe_move - a record that says where the following records are
 * @record: header
 * @size: bytes of @ring; a power of two
 * @ring: a larger ring
 */
struct coll_pipe_move {
	struct coll_pipe_record record;
	u32 size;
	u8 *ring;
};

/**
 * struct coll_pipe - a ring of records
 * @ring: memory of the records, at a multiple of 8; of the writer
 * @size: bytes of @ring; a power of two; of the writer
 * @old_ring: memory of the records before the pipe grew; NULL: none; of the writer
 * @old_size: bytes of @old_ring; of the writer
 * @old_used: true if a record may be left in @old_ring; of the writer
 * @moved_at: position of the first record in @ring; of the writer
 * @head: bytes written so far, modulo 2^32; at most @size more than @tail; of the writer [a]
 * @tail_seen: @tail as the writer has seen it last; of the writer
 * @writer_waits: true if the writer needs an event when there is space; set by the writer, cleared
 *	by the reader [a]
 * @ended: 0, or 1 + positive errno of the end, once the writer writes nothing more [a]
 * @rest: a ring with bytes that follow what is in @ring; NULL: none.  Written before @ended, then
 *	of the reader
 * @rest_size: bytes of @rest; a power of two
 * @rest_at: offset of the next byte in @rest, modulo @rest_size
 * @rest_len: number of bytes that are left in @rest
 * @read_ring: memory of the record at @tail; of the reader
 * @read_size: bytes of @read_ring; of the reader [a]
 * @tail: bytes released so far, modulo 2^32; written by the reader [a]
 * @record_done: bytes of the record at @tail that are consumed; of the reader
 * @reader_gone: true if the reader reads nothing more; written by the reader [a]
 * @consumed: position up to which references are consumed; written by the reader [a]
 *
 * The writer has the memory allocated to which a pipe grows, and its last record in the old ring
 * takes the reader to the new one.  Positions go on, so space is at most underestimated meanwhile.
 * A pipe may grow again when the reader has left the old ring, which may be freed then.
 */
struct coll_pipe {
	u8 *ring COLL_PIPE_LINE;
	u32 size;
	u32 head;
	u32 tail_seen;
	u32 writer_waits;
	u32 ended;
	u8 *rest;
	u32 rest_size;
	u32 rest_at;
	u32 rest_len;
	u8 *old_ring;
	u32 old_size;
	u32 old_used;
	u32 moved_at;

	u8 *read_ring COLL_PIPE_LINE;
	u32 read_size;
	u32 tail;
	u32 record_done;
	u32 reader_gone;
	u64 consumed;
};

void coll_pipe_init(struct coll_pipe *pipe, void *ring, u32 size);

/* The writer. */
int coll_pipe_put(struct coll_pipe *pipe, const struct coll_out *out);
bool coll_pipe_may_grow(struct coll_pipe *pipe);
bool coll_pipe_grow(struct coll_pipe *pipe, void *ring, u32 size);
void *coll_pipe_take_old(struct coll_pipe *pipe);
bool coll_pipe_revoke(struct coll_pipe *pipe, const void *owner);
bool coll_pipe_is_read(const struct coll_pipe *pipe);
void coll_pipe_set_rest(struct coll_pipe *pipe, void *ring, u32 size, u32 at, u32 len);
void coll_pipe_end(struct coll_pipe *pipe, int error);

/* The reader. */
struct coll_pipe_record *coll_pipe_next(struct coll_pipe *pipe);
bool coll_pipe_readable(const struct coll_pipe *pipe);
const void *coll_pipe_bytes(const struct coll_pipe *pipe, u32 *len);
bool coll_pipe_consume(struct coll_pipe *pipe, u32 len);
const void *coll_pipe_rest(const struct coll_pipe *pipe, u32 *len);
void coll_pipe_consume_rest(struct coll_pipe *pipe, u32 len);
void coll_pipe_leave(struct coll_pipe *pipe);
bool coll_reference_begin(struct coll_reference *reference);
bool coll_reference_end(struct coll_reference *reference);

/**
 * coll_pipe_reference() - a record as a reference
 * @record: from coll_pipe_next(), of kind COLL_PIPE_REFERENCE
 */
static inline struct coll_reference *coll_pipe_reference(struct coll_pipe_record *record)
{
	return container_of(record, struct coll_reference, record);
}

/**
 * coll_pipe_ended() - why the writer writes nothing more
 * @pipe: the pipe
 * @error: out: 0: it ended in order; or a negative errno
 *
 * Return: true if it has ended; all of its records can be seen then.
 */
static inline bool coll_pipe_ended(const struct coll_pipe *pipe, int *error)
{
	u32 ended = smp_load_acquire(&pipe->ended);	/* pairs with coll_pipe_end() */

	*error = ended ? 1 - (int)ended : 0;
	return ended;
}

#endif /* COLL_PIPE_H */
