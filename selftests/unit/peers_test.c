// SPDX-License-Identifier: GPL-2.0-only
/* One rank with more peers than eight bits can count, whose sockets take parts of frames. */
#include "tap.h"

#define PEERS	1024
#include "engine_fixture.h"

#define BLOCK	1000

static int submit_root(struct fixture *f, u8 collective, u32 nranks)
{
	struct coll_task_args call = {
		.plan = {
			.collective = collective,
			.type = COLLECTIVE_UINT8,
			.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
			.size = 1,
			.nranks = nranks,
			.nlanes = 1,
			.count = BLOCK,
		},
		.eager = true,
		.area = { &f->send.mem, &f->recv.mem },
	};

	return submit_call(f, &call);
}

/* Send up to @len bytes to every peer.  Return: the number of peers that got some. */
static u32 leave(struct fixture *f, u32 nranks, u32 len)
{
	struct coll_out out;
	u32 peer, n = 0;

	for (peer = 1; peer < nranks; peer++) {
		if (!coll_stream_next(&f->stream[peer], &out))
			continue;
		coll_stream_sent(&f->stream[peer], min(len, out.len + out.more));
		n++;
	}
	return n;
}

/*
 * A frame to every peer is open at the same time.  The operation is not complete, and its
 * memory is not freed, before the last of these frames is sent, whatever their number.
 */
static void test_scatter(u32 nranks)
{
	struct fixture *f = fixture_new(0, nranks);
	u32 peer, open, early = 0;
	struct coll_out out;

	submit_root(f, COLLECTIVE_SCATTER, nranks);
	coll_engine_move(&f->engine, BLOCK);
	open = leave(f, nranks, COLL_DATA_SIZE + 1);
	early = f->completed;
	for (peer = 1; peer < nranks && !early; peer++) {
		early = f->completed;
		while (coll_stream_next(&f->stream[peer], &out))
			coll_stream_sent(&f->stream[peer], out.len);
	}
	tap_ok(open == nranks - 1 && !early && f->completed == 1 && !f->error,
	       "a scatter of %u ranks completes with the last of %u open frames", nranks, open);
	fixture_free(f);
}

/* The same scatter fails in the middle: frames that have begun are finished. */
static void test_abort(u32 nranks)
{
	struct fixture *f = fixture_new(0, nranks);
	u32 open, early;

	submit_root(f, COLLECTIVE_SCATTER, nranks);
	open = leave(f, nranks, COLL_DATA_SIZE + 1);
	coll_engine_abort(&f->engine, 0, -ETIME);
	early = f->completed;
	leave(f, nranks, BLOCK - 1);
	tap_ok(open == nranks - 1 && !early && f->completed == 1 && f->error == -ETIME,
	       "an aborted scatter of %u ranks completes with its last open frame", nranks);
	fixture_free(f);
}

int main(void)
{
	static const u32 ranks[] = { 2, 256, 257, 258, 300, 513, PEERS };
	unsigned int i;

	tap_plan(2 * ARRAY_SIZE(ranks));
	for (i = 0; i < ARRAY_SIZE(ranks); i++) {
		test_scatter(ranks[i]);
		test_abort(ranks[i]);
	}
	return tap_exit();
}
