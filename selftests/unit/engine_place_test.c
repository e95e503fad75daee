// SPDX-License-Identifier: GPL-2.0-only
/* One engine whose transport stores payload itself. */
#include "engine_fixture.h"
#include "tap.h"

#define LARGE	(64 * 1024U)
#define HALF	(LARGE / 2)

/* Of two ranks that reduce: the second half of the result is reduced, then the first is copied. */
static struct fixture *fixture_begun(u32 step)
{
	struct coll_data data = { .lane = LANE, .step = step, .length = HALF };
	struct fixture *f = fixture_new(0, 2);

	submit(f, 0, LARGE);
	if (step)
		arrive_frame(f, 1, 0, 0, 0, HALF, 0, 2);
	arrive_head(f, 1, &data);
	return f;
}

static bool place(struct fixture *f, u64 ahead, int want, u64 off, u64 len)
{
	struct coll_place place = { 0 };
	int got = coll_stream_place(&f->stream[1], ahead, &place);

	if (got != want || got <= 0)
		return got == want;
	return place.len == len && place.off == off && place.mem == &f->recv.mem;
}

static bool dropped(struct fixture *f, u64 ahead)
{
	struct coll_place place;

	return coll_stream_place(&f->stream[1], ahead, &place) == 1 && !place.mem;
}

static void placed(struct fixture *f, u32 len)
{
	coll_stream_placed(&f->stream[1], len);
	coll_stream_pause(&f->stream[1]);
}

static void test_place(void)
{
	struct fixture *f = fixture_begun(0);

	tap_ok(place(f, 0, 0, 0, 0), "what is reduced is not placed");
	fixture_free(f);

	f = fixture_begun(1);
	grant(f, 1, 0, COLL_GRANT_ALL);
	depart(f, 1);
	coll_stream_consumed(&f->stream[1], LARGE);
	tap_ok(place(f, 0, 1, 0, HALF) && place(f, 1000, 1, 1000, HALF - 1000),
	       "what is copied has a place, behind what is to come");
	tap_ok(place(f, HALF, -EPROTO, 0, 0), "nothing is placed beyond the frame");
	placed(f, 1000);
	tap_ok(place(f, 0, 1, 1000, HALF - 1000) && f->engine.stats.placed == 1000 &&
	       f->stream[1].rx_placed == 1000 && f->engine.stats.received == HALF + 1000,
	       "placed bytes are received");
	arrive_bytes(f, 1, 2, 1000);
	tap_ok(place(f, 0, 1, 2000, HALF - 2000) && result(f, 1000, 1000, 2),
	       "a part of them may be copied");
	/* Elements have one byte here. */
	f->stream[1].sink.carried = 3;
	tap_ok(place(f, 0, 0, 0, 0), "nothing is placed behind a part of an element");
	f->stream[1].sink.carried = 0;
	tap_ok(!f->completed, "not complete before the last byte");
	placed(f, HALF - 2000);
	tap_ok(f->completed == 1 && !f->error, "complete after it");
	tap_ok(place(f, 0, -EPROTO, 0, 0), "no frame, no place");
	fixture_free(f);
}

static void test_abort_placing(void)
{
	struct fixture *f = fixture_begun(1);

	tap_ok(place(f, 0, 1, 0, HALF), "a device may store in the result");
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	tap_ok(!f->completed, "aborted: not complete while it may");
	tap_ok(dropped(f, 5000), "aborted: the rest has no place");
	placed(f, 5000);
	tap_ok(!f->completed, "aborted: not complete before the end of the frame");
	placed(f, HALF - 5000);
	tap_ok(f->completed == 1 && f->error == -ECANCELED && result(f, 0, HALF, 0x99),
	       "aborted: complete after it");
	fixture_free(f);

	f = fixture_begun(1);
	place(f, 0, 1, 0, HALF);
	coll_engine_abort(&f->engine, COLL_INSTANCE_GROUP, -ECONNRESET);
	tap_ok(!f->completed, "group failed: not complete while a device may store in the result");
	coll_stream_release(&f->stream[1]);
	tap_ok(f->completed == 1 && f->error == -ECONNRESET,
	       "complete when the stream is released");
	fixture_free(f);

	f = fixture_begun(1);
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	tap_ok(f->completed == 1 && dropped(f, 0), "aborted before: complete, and all is dropped");
	placed(f, HALF);
	tap_ok(coll_stream_idle(&f->stream[1]), "what is dropped ends the frame");
	fixture_free(f);
}

int main(void)
{
	tap_plan(0);
	test_place();
	test_abort_placing();
	return tap_exit();
}
