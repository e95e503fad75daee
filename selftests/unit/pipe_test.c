// SPDX-License-Identifier: GPL-2.0-only
/* Pipes of the local transport, both ends in one thread.  pipe_threads_test has two threads. */
#include "pipe_env.h"
#include "transport/local/pipe.c"
#include "pipe_fixture.h"
#include "tap.h"

#define SIZE	512U	/* the least */

static struct memory memory;
static bool right;

#define check(cond) do {						\
	if (!(cond)) {							\
		tap_note("line %d: %s", __LINE__, #cond);		\
		right = false;						\
	}								\
} while (0)

static int put_bytes_of(struct coll_pipe *pipe, u32 head, u32 payload)
{
	u8 ptr[64];

	fill(ptr, 0, 0, head);
	fill(memory.bytes, 0, head, payload);
	return coll_pipe_put(pipe, &(struct coll_out){
		.ptr = head ? ptr : NULL, .mem = &memory.mem, .len = head ? head : payload,
		.more = head ? payload : 0, .copy = true });
}

static int put_reference_of(struct coll_pipe *pipe, u32 head, u32 payload, u64 position,
			    const void *owner)
{
	u8 ptr[64];

	fill(ptr, 0, 0, head);
	fill(memory.bytes, 0, head, payload);
	return coll_pipe_put(pipe, &(struct coll_out){
		.ptr = head ? ptr : NULL, .mem = &memory.mem, .len = head ? head : payload,
		.more = head ? payload : 0, .position = position, .owner = owner });
}

/* The ring is never over-full, and records stay aligned. */
static void check_bounds(const struct coll_pipe *pipe)
{
	check(pipe->head - pipe->tail <= pipe->size);
	check(pipe->head % 8 == 0 && pipe->tail % 8 == 0);
}

/* Return: the reference at the front. */
static struct coll_reference *front(struct coll_pipe *pipe)
{
	return coll_pipe_reference(coll_pipe_next(pipe));
}

/*
 * Read all records, at most @step bytes at once.  Return: number of bytes; -1: they are wrong.
 * @events: out: number of events for the writer.
 */
static int drain(struct coll_pipe *pipe, u32 step, u32 *events)
{
	u32 done = 0, len;

	*events = 0;
	while (coll_pipe_readable(pipe)) {
		__auto_type record = coll_pipe_next(pipe);
		const u8 *ptr;
		u32 n;

		if (!record)
			break;
		if (record->kind == COLL_PIPE_REFERENCE) {
			struct coll_reference *reference = coll_pipe_reference(record);
			size_t piece;

			if (!coll_reference_begin(reference))
				return -1;
			ptr = reference->mem->at(reference->mem,
						 reference->off + pipe->record_done, &piece);
			len = min_t(size_t, piece, record->len - pipe->record_done);
		} else {
			ptr = coll_pipe_bytes(pipe, &len);
		}
		n = min(step, len);
		if (!verify(ptr, 0, done, n))
			return -1;
		done += n;
		if (record->kind == COLL_PIPE_REFERENCE &&
		    !coll_reference_end(coll_pipe_reference(record)))
			return -1;
		*events += coll_pipe_consume(pipe, n);
		check_bounds(pipe);
	}
	check(!coll_pipe_next(pipe));
	return done;
}

/* Offsets of the ring, from the first one and up to the wrap of the 32-bit counters. */
#define for_each_start(at)						\
	for (u32 __i = 0, at; at = (__i < SIZE / 8 ? 0 : -SIZE - 8) + __i % (SIZE / 8 + 2) * 8, \
	     __i < 2 * (SIZE / 8) + 4; __i++)

static void test_wrap(void)
{
	static const u32 heads[] = { 0, 1, 24, 64 }, payloads[] = { 0, 1, 7, 8, 97, 255, 400, 440 };
	struct coll_pipe pipe;
	u32 h, p, events;

	right = true;
	for_each_start(at)
		for (h = 0; h < ARRAY_SIZE(heads); h++)
			for (p = !heads[h]; p < ARRAY_SIZE(payloads); p++) {
				int n;

				pipe_open(&pipe, SIZE, at);
				n = put_bytes_of(&pipe, heads[h], payloads[p]);
				check(n == (int)min(heads[h] + payloads[p], SIZE - 8));
				check_bounds(&pipe);
				check(drain(&pipe, 1 + p * 11, &events) == n);
				check(!events);
				pipe_free(&pipe);
			}
	tap_ok(right, "bytes at every offset of the ring");
}

static void test_pad(void)
{
	static const u32 heads[] = { 0, 1, 24, 64 };
	struct coll_pipe pipe;
	u32 h, events;

	right = true;
	for_each_start(at)
		for (h = 0; h < ARRAY_SIZE(heads); h++) {
			u32 last;

			pipe_open(&pipe, SIZE, at);
			check(put_reference_of(&pipe, heads[h], 500, 500, NULL) ==
			      (int)heads[h] + 500);
			check_bounds(&pipe);
			last = (pipe.head - sizeof(struct coll_reference)) % SIZE;
			check(last + sizeof(struct coll_reference) <= SIZE);
			check(drain(&pipe, 200, &events) == (int)heads[h] + 500);
			check(events == 1 && pipe.consumed == 500);
			pipe_free(&pipe);
		}
	tap_ok(right, "references at every offset, which never wrap");
}

static void test_full(void)
{
	struct coll_pipe pipe;
	u32 len;

	right = true;
	for_each_start(at) {
		pipe_open(&pipe, SIZE, at);
		check(put_bytes_of(&pipe, 0, 232) == 232);
		check(put_bytes_of(&pipe, 0, 8) == 8);
		check(!pipe.writer_waits);
		/* 256 bytes are left: less than a long write begins with. */
		check(put_bytes_of(&pipe, 0, 300) == -EAGAIN && pipe.writer_waits);
		check(put_bytes_of(&pipe, 0, 248) == 248);
		check(pipe.head - pipe.tail == SIZE);
		check(put_bytes_of(&pipe, 1, 0) == -EAGAIN && pipe.writer_waits);
		check(put_reference_of(&pipe, 0, 8, 8, NULL) == -EAGAIN);
		coll_pipe_bytes(&pipe, &len);
		check(!coll_pipe_consume(&pipe, 1));
		check(put_bytes_of(&pipe, 1, 0) == -EAGAIN);
		/* One event for all the calls that failed. */
		check(coll_pipe_consume(&pipe, 231) && !pipe.writer_waits);
		check(!coll_pipe_consume(&pipe, 8));
		check(put_bytes_of(&pipe, 0, 200) == 200);
		check(pipe.head - pipe.tail <= SIZE);
		pipe_free(&pipe);
	}
	tap_ok(right, "a full ring: -EAGAIN, and one event when there is space");
}

static void test_partial(void)
{
	struct coll_pipe pipe;
	u32 events;

	right = true;
	for_each_start(at) {
		pipe_open(&pipe, SIZE, at);
		check(put_bytes_of(&pipe, 64, 1000 - 64) == (int)SIZE - 8);
		check(put_bytes_of(&pipe, 0, 1) == -EAGAIN);
		check(drain(&pipe, 100, &events) == (int)SIZE - 8 && events == 1);
		/* A header is not cut off from its reference. */
		check(put_bytes_of(&pipe, 0, SIZE - 72) == (int)SIZE - 72);
		check(put_reference_of(&pipe, 24, 9, 9, NULL) == -EAGAIN);
		check(pipe.head - pipe.tail == SIZE - 64);
		pipe_free(&pipe);
	}
	tap_ok(right, "as many bytes as there is space for, and references as a whole");
}

static void test_positions(void)
{
	struct coll_pipe pipe;

	right = true;
	pipe_open(&pipe, SIZE, -64);
	check(put_reference_of(&pipe, 0, 10, 10, NULL) == 10);
	check(put_bytes_of(&pipe, 8, 0) == 8);
	check(put_reference_of(&pipe, 0, 20, (1ULL << 40) + 30, NULL) == 20);
	check(front(&pipe)->record.len == 10 && !coll_pipe_consume(&pipe, 9) && !pipe.consumed);
	check(coll_pipe_consume(&pipe, 1) && pipe.consumed == 10);
	coll_pipe_next(&pipe);
	check(!coll_pipe_consume(&pipe, 8) && pipe.consumed == 10);
	check(front(&pipe)->record.len == 20);
	check(coll_pipe_consume(&pipe, 20) && pipe.consumed == (1ULL << 40) + 30);
	pipe_free(&pipe);
	tap_ok(right, "the position advances with the last byte of a reference, with an event");
}

static void test_revoke(void)
{
	int mine, other;
	struct coll_reference *reference;
	struct coll_pipe pipe;

	right = true;
	for_each_start(at) {
		pipe_open(&pipe, SIZE, at);
		check(coll_pipe_revoke(&pipe, &mine) && !coll_pipe_is_read(&pipe));
		put_reference_of(&pipe, 24, 100, 100, &mine);
		put_reference_of(&pipe, 24, 100, 200, &other);
		put_reference_of(&pipe, 0, 100, 300, &mine);
		coll_pipe_next(&pipe);
		coll_pipe_consume(&pipe, 24);
		reference = front(&pipe);
		/* Being read */
		check(coll_reference_begin(reference) && !coll_pipe_is_read(&pipe));
		check(!coll_pipe_revoke(&pipe, &mine) && coll_pipe_is_read(&pipe));
		check(!coll_pipe_revoke(&pipe, &mine) && coll_pipe_is_read(&pipe));
		check(reference->state == COLL_REFERENCE_REVOKING);
		check(!coll_reference_end(reference) && !coll_pipe_is_read(&pipe));
		check(reference->state == COLL_REFERENCE_REVOKED &&
		      !coll_reference_begin(reference));
		/* Revoked */
		check(coll_pipe_revoke(&pipe, &mine));
		check(coll_pipe_consume(&pipe, 100) && pipe.consumed == 100);
		coll_pipe_next(&pipe);
		coll_pipe_consume(&pipe, 24);
		/* Of another owner; ready, between two pieces */
		reference = front(&pipe);
		check(coll_reference_begin(reference) && coll_reference_end(reference));
		check(!coll_pipe_consume(&pipe, 50));
		check(coll_pipe_revoke(&pipe, NULL) && !coll_reference_begin(reference));
		check(coll_pipe_consume(&pipe, 50));
		/* The last one was revoked with the first one. */
		check(!coll_reference_begin(front(&pipe)));
		check(coll_pipe_consume(&pipe, 100) && pipe.consumed == 300);
		/* Consumed */
		check(coll_pipe_revoke(&pipe, NULL) && !coll_pipe_is_read(&pipe));
		pipe_free(&pipe);
	}
	tap_ok(right, "revoke: ready, being read, revoked, consumed; by owner");
}

/* Positions wrap: what is written long after a pipe has grown is not sought in the old ring. */
static void test_grow_wrap(void)
{
	struct coll_pipe pipe;
	u32 events, i;
	int mine, n;

	right = true;
	for_each_start(at) {
		pipe_open(&pipe, SIZE, at);
		check(pipe_grow(&pipe, 4 * SIZE));
		for (i = 0; i < 8; i++) {
			n = put_bytes_of(&pipe, 0, SIZE);
			check(n > 0 && drain(&pipe, 7, &events) == n);
		}
		/* As after 2 GiB more. */
		pipe.head += 0x80000000U;
		pipe.tail += 0x80000000U;
		pipe.tail_seen += 0x80000000U;
		memset(pipe.old_ring, 0xff, SIZE);
		put_reference_of(&pipe, 0, 100, 100, &mine);
		check(coll_pipe_revoke(&pipe, &mine) && !coll_pipe_is_read(&pipe));
		coll_pipe_next(&pipe);
		check(!coll_reference_begin(front(&pipe)));
		pipe_free(&pipe);
	}
	tap_ok(right, "references are revoked 2 GiB after a pipe has grown");
}

static void test_grow(void)
{
	struct coll_pipe pipe;
	int mine, other;
	u32 events;

	right = true;
	for_each_start(at) {
		pipe_open(&pipe, SIZE, at);
		check(pipe_grow(&pipe, 4 * SIZE) && drain(&pipe, 7, &events) == 0 && !events);
		check(put_bytes_of(&pipe, 0, 2 * SIZE) == 2 * SIZE);
		check(drain(&pipe, 7, &events) == 2 * SIZE);
		pipe_free(&pipe);

		/* What is in the old ring is read, and revoked, as before. */
		pipe_open(&pipe, SIZE, at);
		put_reference_of(&pipe, 24, 100, 100, &mine);
		check(pipe_grow(&pipe, 4 * SIZE));
		put_reference_of(&pipe, 0, 100, 200, &other);
		put_reference_of(&pipe, 0, 100, 300, &mine);
		coll_pipe_next(&pipe);
		coll_pipe_consume(&pipe, 24);
		check(coll_reference_begin(front(&pipe)) && !coll_pipe_revoke(&pipe, &mine));
		check(coll_pipe_is_read(&pipe) && !coll_reference_end(front(&pipe)));
		check(!coll_pipe_is_read(&pipe) && coll_pipe_consume(&pipe, 100));
		check(coll_reference_begin(front(&pipe)) && coll_reference_end(front(&pipe)));
		check(coll_pipe_consume(&pipe, 100) && pipe.consumed == 200);
		check(!coll_reference_begin(front(&pipe)) && coll_pipe_consume(&pipe, 100));
		pipe_free(&pipe);

		/* A full ring has no space for the record; a writer that waits gets its event. */
		pipe_open(&pipe, SIZE, at);
		check(put_bytes_of(&pipe, 0, SIZE - 8) == SIZE - 8);
		check(put_bytes_of(&pipe, 0, 100) == -EAGAIN && !pipe_grow(&pipe, 4 * SIZE));
		check(drain(&pipe, SIZE, &events) == SIZE - 8 && events == 1);
		check(pipe_grow(&pipe, 4 * SIZE) && put_bytes_of(&pipe, 0, 2 * SIZE) == 2 * SIZE);
		while (put_bytes_of(&pipe, 0, SIZE) > 0)
			;
		coll_pipe_next(&pipe);
		check(coll_pipe_bytes(&pipe, &events) && !coll_pipe_consume(&pipe, SIZE));
		check(coll_pipe_consume(&pipe, SIZE));
		pipe_free(&pipe);
	}
	tap_ok(right, "a pipe grows: what is in the old ring comes first");
}

/* The memory before the present ring is free when the reader has left it, and no sooner. */
static void test_grow_again(void)
{
	struct coll_pipe pipe;
	u32 events, size;
	int mine;

	right = true;
	for_each_start(at) {
		pipe_open(&pipe, SIZE, at);
		for (size = 2 * SIZE; size <= 16 * SIZE; size *= 2) {
			put_reference_of(&pipe, 24, 100, size, &mine);
			check(pipe_grow(&pipe, size) && !coll_pipe_may_grow(&pipe));
			put_reference_of(&pipe, 0, 100, size, &mine);
			coll_pipe_next(&pipe);
			check(!coll_pipe_consume(&pipe, 24) && !pipe_grow(&pipe, 2 * size));
			check(coll_pipe_next(&pipe) && coll_pipe_consume(&pipe, 100));
			check(!coll_pipe_may_grow(&pipe));
			/* The reader passes to the new ring. */
			check(coll_pipe_next(&pipe) && coll_pipe_may_grow(&pipe));
			check(coll_pipe_revoke(&pipe, &mine));
			check(!coll_reference_begin(front(&pipe)));
			check(coll_pipe_consume(&pipe, 100) && pipe.consumed == size);
			check(put_bytes_of(&pipe, 0, SIZE) == SIZE);
			check(drain(&pipe, 7, &events) == SIZE);
		}
		pipe_free(&pipe);
	}
	tap_ok(right, "a pipe grows again when the reader has left the old ring");
}

static void test_end(void)
{
	static const int errors[] = { 0, -ECONNRESET, -1, -4095 };
	struct coll_pipe pipe;
	u32 i, at, len, events;
	u8 rest[64];
	int error;

	right = true;
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		pipe_open(&pipe, SIZE, 0);
		check(!coll_pipe_ended(&pipe, &error) && !error);
		put_bytes_of(&pipe, 10, 0);
		coll_pipe_end(&pipe, errors[i]);
		check(coll_pipe_ended(&pipe, &error) && error == errors[i]);
		check(drain(&pipe, 3, &events) == 10);
		coll_pipe_rest(&pipe, &len);
		check(!len);
		pipe_free(&pipe);
	}
	tap_ok(right, "an end: what is in the ring can be read");

	right = true;
	for (at = 0; at < 3 * sizeof(rest); at++)
		for (i = 0; i <= sizeof(rest); i++) {
			u32 done = 0;

			pipe_open(&pipe, SIZE, 0);
			for (len = 0; len < i; len++)
				rest[(at + len) % sizeof(rest)] = pattern(0, len);
			coll_pipe_set_rest(&pipe, rest, sizeof(rest), at, i);
			coll_pipe_end(&pipe, 0);
			while (coll_pipe_rest(&pipe, &len), len) {
				const u8 *ptr = coll_pipe_rest(&pipe, &len);

				check(ptr >= rest && ptr + len <= rest + sizeof(rest));
				len = min(len, 40U);
				check(verify(ptr, 0, done, len));
				coll_pipe_consume_rest(&pipe, len);
				done += len;
			}
			check(done == i);
			pipe_free(&pipe);
		}
	tap_ok(right, "bytes behind the ring, at every offset and of every length");
}

static void test_reader_gone(void)
{
	struct coll_pipe pipe;

	right = true;
	pipe_open(&pipe, SIZE, 0);
	check(put_bytes_of(&pipe, 8, 0) == 8);
	WRITE_ONCE(pipe.reader_gone, 1);
	check(put_bytes_of(&pipe, 8, 0) == -ECONNRESET);
	check(put_reference_of(&pipe, 8, 8, 8, NULL) == -ECONNRESET);
	check(coll_pipe_revoke(&pipe, NULL));
	pipe_free(&pipe);
	tap_ok(right, "without a reader nothing is written");
}

int main(void)
{
	tap_plan(12);
	memory_init(&memory);
	test_wrap();
	test_pad();
	test_full();
	test_partial();
	test_positions();
	test_revoke();
	test_grow();
	test_grow_wrap();
	test_grow_again();
	test_end();
	test_reader_gone();
	return tap_exit();
}
