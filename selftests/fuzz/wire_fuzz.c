// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a frame.  The fields of an accepted frame are within the bounds that
 * core/wire/wire.h states, and encoding them gives the same bytes.
 */
#include <stdlib.h>

#include "core/wire/wire.h"
#include "require.h"

#include <linux/collective.h>

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size);

/* Copy to memory of exactly @size bytes, so that the sanitizer notices a read beyond them. */
static u8 *exactly(const u8 *bytes, size_t size)
{
	return memcpy(malloc(size), bytes, size);
}

static void check_hello(const u8 *frame)
{
	struct coll_hello hello;
	u8 again[COLL_HELLO_SIZE];

	if (coll_wire_get_hello(frame, &hello))
		return;
	require(hello.kind < COLL_CONN_KINDS);
	require(hello.nranks <= COLLECTIVE_RANKS_MAX);
	require(hello.from < hello.nranks && hello.to < hello.nranks);
	require(hello.lanes <= COLLECTIVE_LANES_MAX && hello.lane < hello.lanes);
	require(!hello.name[sizeof(hello.name) - 1]);
	coll_wire_put_hello(again, &hello);
	require(!memcmp(frame, again, sizeof(again)));
}

static void check_signature(const struct coll_signature *signature)
{
	require(signature->collective < COLLECTIVE_OPCODE_COUNT);
	require(signature->type < COLLECTIVE_TYPE_COUNT);
	require(signature->reduction < COLLECTIVE_REDUCTION_COUNT);
	require(signature->algorithm && signature->algorithm < COLLECTIVE_ALGORITHM_COUNT);
	require(!(signature->flags & ~COLLECTIVE_F_ALL));
	require(signature->root < COLLECTIVE_RANKS_MAX);
}

static bool rank_or_none(u32 rank)
{
	return rank < COLLECTIVE_RANKS_MAX || rank == COLLECTIVE_RANK_NONE;
}

static void check_reason(const struct coll_reason *reason)
{
	require(reason->kind > COLLECTIVE_REASON_NONE && reason->kind < COLLECTIVE_REASON_COUNT);
	require(reason->error > 0 && reason->error < 4096);
	require(rank_or_none(reason->rank_a) && rank_or_none(reason->rank_b));
}

/* The part is taken apart and put together again. */
static void check_answer(const struct coll_answer_frame *frame)
{
	struct coll_answer answer = { 0 };
	u8 again[COLL_ANSWER_SIZE];
	u32 i;

	require(frame->origin < COLLECTIVE_RANKS_MAX && frame->rank < COLLECTIVE_RANKS_MAX);
	require(frame->part < COLL_ANSWER_PARTS);
	require(!coll_answer_get(frame->body, &answer, frame->part));
	require(answer.nwaits <= COLL_ANSWER_WAITS);
	for (i = 0; i < answer.nwaits; i++)
		require(answer.waits[i] < COLLECTIVE_RANKS_MAX);
	require(!answer.node[sizeof(answer.node) - 1]);
	coll_answer_put(again, &answer, frame->part);
	require(!memcmp(frame->body, again, sizeof(again)));
}

/* In control and data frames bytes 4 to 7 are the incarnation. */
static u32 frame_incarnation(const u8 *frame)
{
	return get_unaligned_le32(frame + 4);
}

static void check_control(const u8 *frame)
{
	u32 incarnation = frame_incarnation(frame);
	struct coll_control control;
	u8 again[COLL_CONTROL_SIZE];

	require(coll_wire_get_control(frame, &control, ~incarnation) == -EPROTO);
	if (coll_wire_get_control(frame, &control, incarnation))
		return;
	require(control.kind && control.kind < COLL_CONTROL_KINDS);
	require(control.lane < COLLECTIVE_LANES_MAX);
	switch (control.kind) {
	case COLL_CONTROL_MISMATCH_CALL:
		require(control.lane < 2 && control.position < COLLECTIVE_RANKS_MAX);
		check_signature(&control.signature);
		break;
	case COLL_CONTROL_ANNOUNCE:
		check_signature(&control.signature);
		break;
	case COLL_CONTROL_ABORT:
		check_reason(&control.reason);
		break;
	case COLL_CONTROL_QUERY:
		require(control.query.origin < COLLECTIVE_RANKS_MAX);
		require(control.query.hops && control.query.hops <= COLL_QUERY_HOPS);
		break;
	case COLL_CONTROL_ANSWER:
		check_answer(&control.answer);
		break;
	}
	coll_wire_put_control(again, &control, incarnation);
	require(!memcmp(frame, again, sizeof(again)));
}

static void check_data(const u8 *frame)
{
	u32 incarnation = frame_incarnation(frame);
	struct coll_data data;
	u8 again[COLL_DATA_SIZE];

	require(coll_wire_get_data(frame, &data, ~incarnation) == -EPROTO);
	if (coll_wire_get_data(frame, &data, incarnation))
		return;
	require(data.length <= COLL_DATA_MAX);
	require(!(data.flags & ~COLL_DATA_FLAGS));
	if (data.flags & COLL_DATA_REQUEST)
		require(data.flags & COLL_DATA_EAGER && !data.length);
	coll_wire_put_data(again, &data, incarnation);
	require(!memcmp(frame, again, sizeof(again)));
}

static void check_frame(void (*check)(const u8 *frame), const u8 *bytes, size_t size,
			size_t length)
{
	u8 *frame;

	if (size < length)
		return;
	frame = exactly(bytes, length);
	check(frame);
	free(frame);
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
	check_frame(check_hello, bytes, size, COLL_HELLO_SIZE);
	check_frame(check_control, bytes, size, COLL_CONTROL_SIZE);
	check_frame(check_data, bytes, size, COLL_DATA_SIZE);
	return 0;
}
