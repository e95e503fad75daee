// SPDX-License-Identifier: GPL-2.0-only
/* One engine in operations that succeed: what it sends and stores, and when a task completes. */
#include "engine_fixture.h"
#include "core/engine/task.h"
#include "tap.h"

#define LARGE	(64 * 1024U)	/* bytes: sent without a copy */
#define HALF	(LARGE / 2)

#define EAGER		COLL_DATA_EAGER
#define ZEROCOPY	COLL_DATA_ZEROCOPY

/*
 * The allreduce of two ranks on rank 0: step 0 sends the first half and reduces the second;
 * step 1 forwards the second half and receives the first.
 */

static void test_alone(void)
{
	struct fixture *f = fixture_new(0, 1);

	tap_ok(!submit(f, 0, 1000) && !f->completed && coll_engine_move(&f->engine, 600) &&
	       !f->completed && coll_engine_move(&f->engine, 600) &&
	       !coll_engine_move(&f->engine, 600) && f->completed == 1 && !f->error &&
	       result(f, 0, 1000, 1) && result(f, 1000, 50, 0x99),
	       "a group of one rank: the input is copied");
	tap_ok(!submit_barrier(f, 1) && f->completed == 2 && !f->controls,
	       "a group of one rank: a barrier completes");
	fixture_free(f);

	f = fixture_new(0, 2);
	tap_ok(!submit(f, 0, 0) && f->completed == 1 && !f->error && !f->controls &&
	       !depart(f, 1), "an operation without elements is complete");
	fixture_free(f);
}

static void test_grant(void)
{
	struct fixture *f = fixture_new(0, 2);
	struct coll_data data;
	struct coll_out out;

	tap_ok(!submit(f, 0, LARGE) && controls_sent(f, 1, COLL_CONTROL_GRANT, NULL) == 1 &&
	       f->control[0].instance == 0 && f->control[0].lane == LANE,
	       "a large operation grants its source at once");
	tap_ok(!coll_stream_next(&f->stream[1], &out) && f->stream[1].tx_stalls == 1,
	       "a large operation sends nothing before it has a grant, and that is a stall");
	f->kicks[1] = 0;
	tap_ok(!grant(f, 1, 0, COLL_GRANT_ALL) && f->kicks[1] &&
	       next_header(f, 1, &data) && data.flags == ZEROCOPY && data.lane == LANE &&
	       data.step == 0 && data.offset == 0 && data.length == HALF,
	       "a grant kicks the stream, which sends a zero-copy frame");
	tap_ok(coll_stream_next(&f->stream[1], &out) && out.ptr && !out.copy &&
	       f->stream[1].tx_stalls == 1 && out.more == HALF && out.mem == &f->send.mem &&
	       out.off == 0,
	       "the header is taken together with its payload");
	coll_stream_sent(&f->stream[1], COLL_DATA_SIZE);
	tap_ok(coll_stream_next(&f->stream[1], &out) && !out.copy && out.mem == &f->send.mem &&
	       out.off == 0 && out.len == HALF, "the payload is taken without a copy");
	coll_stream_sent(&f->stream[1], 100);
	tap_ok(coll_stream_next(&f->stream[1], &out) && out.off == 100 && out.len == HALF - 100,
	       "a transport may take a part of the payload");
	fixture_free(f);

	f = fixture_new(0, 2);
	tap_ok(!grant(f, 1, 1000, COLL_GRANT_ALL) &&
	       !submit(f, 1000, LARGE) && depart(f, 1) == 1,
	       "a grant may arrive before its operation is submitted");
	tap_ok(!submit(f, 1000 + SLOTS - 1, LARGE) && !depart(f, 1),
	       "a grant is used for its own instance only");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, LARGE);
	tap_ok(!grant(f, 1, 0, 0) && !depart(f, 1), "a grant of 0 bytes sends nothing");
	tap_ok(!grant(f, 1, 0, 1000) && depart(f, 1) == 1 &&
	       f->stream[1].tx_position == 1000 && !depart(f, 1),
	       "no more is sent than is granted");
	tap_ok(!grant(f, 1, 0, 1001) && depart(f, 1) == 1 &&
	       f->stream[1].tx_position == 1001, "a grant of one more byte sends one more byte");
	arrive_frame(f, 1, 0, 0, 0, HALF, ZEROCOPY, 2);
	tap_ok(!grant(f, 1, 0, HALF + 5) && depart(f, 1) == 2 &&
	       f->stream[1].tx_position == HALF + 5,
	       "a grant counts the bytes of all steps with a peer");
	tap_ok(grant(f, 1, 0, HALF + 4) == -EPROTO,
	       "a smaller grant is refused");
	fixture_free(f);
}

static void test_consumed(void)
{
	struct fixture *f = fixture_new(0, 2);
	u64 position = 0;

	submit(f, 0, LARGE);
	grant(f, 1, 0, COLL_GRANT_ALL);
	depart(f, 1);
	f->kicks[1] = 0;
	arrive_frame(f, 1, 0, 0, 0, 1000, ZEROCOPY, 2);
	tap_ok(result(f, HALF, 1000, 3) && result(f, HALF + 1000, 8, 0x99) && f->kicks[1],
	       "received bytes are reduced at once");
	tap_ok(!depart(f, 1), "fewer than COLL_DATA_MIN bytes are not forwarded");
	arrive_frame(f, 1, 0, 0, 1000, COLL_DATA_MIN - 1000, ZEROCOPY, 2);
	tap_ok(depart(f, 1) == 1 && f->stream[1].tx_position == HALF + COLL_DATA_MIN,
	       "more bytes are forwarded before the step ends");
	arrive_frame(f, 1, 0, 0, COLL_DATA_MIN, HALF - COLL_DATA_MIN, ZEROCOPY, 2);
	depart(f, 1);
	tap_ok(!controls_sent(f, 1, COLL_CONTROL_CONSUMED, NULL),
	       "CONSUMED is not sent in the middle of a task");
	arrive_frame(f, 1, 0, 1, 0, HALF, ZEROCOPY, 3);
	tap_ok(controls_sent(f, 1, COLL_CONTROL_CONSUMED, &position) == 1 && position == LARGE,
	       "CONSUMED covers the whole task at its end");
	tap_ok(!f->completed && f->stream[1].tx_position == LARGE,
	       "a task is not complete before the peer's CONSUMED");
	tap_ok(!coll_stream_consumed(&f->stream[1], LARGE - 1) && !f->completed,
	       "a task is not complete with one byte not consumed");
	tap_ok(!coll_stream_consumed(&f->stream[1], LARGE) && f->completed == 1 && !f->error &&
	       result(f, 0, LARGE, 3), "a task is complete when all is consumed");
	tap_ok(f->engine.stats.sent == LARGE &&
	       f->engine.stats.received == LARGE && f->engine.stats.reduced == HALF,
	       "sent, received and reduced bytes are counted");
	fixture_free(f);
}

static void test_eager(void)
{
	struct fixture *f = fixture_new(0, 2);
	struct coll_data data;
	struct coll_out out;

	submit(f, 0, 8192);
	tap_ok(!f->controls && next_header(f, 1, &data) && data.flags == EAGER &&
	       data.length == 4096, "a small operation is sent at once");
	coll_stream_sent(&f->stream[1], COLL_DATA_SIZE);
	tap_ok(coll_stream_next(&f->stream[1], &out) && out.copy,
	       "a small operation is sent by copy");
	depart(f, 1);
	arrive_frame(f, 1, 0, 0, 0, 4096, EAGER, 2);
	arrive_frame(f, 1, 0, 1, 0, 4096, EAGER, 3);
	tap_ok(!f->completed, "an eager task is not complete before its last frame is sent");
	depart(f, 1);
	tap_ok(f->completed == 1 && !f->error && result(f, 0, 8192, 3) &&
	       !controls_sent(f, 1, COLL_CONTROL_CONSUMED, NULL),
	       "an eager task completes without CONSUMED");
	fixture_free(f);
}

static void test_unexpected(void)
{
	struct fixture *f = fixture_new(0, 2);
	struct coll_data data = {
		.lane = LANE, .flags = EAGER, .step = 1, .instance = 0, .length = 4096,
	};

	arrive_frame(f, 1, 0, 0, 0, 4096, EAGER, 2);
	tap_ok(f->stream[1].unexp_len == 4096 + COLL_DATA_SIZE && result(f, 0, 8192, 0x99),
	       "an early frame is kept in the unexpected buffer");
	arrive_head(f, 1, &data);
	arrive_bytes(f, 1, 3, 4000);
	submit(f, 0, 8192);
	tap_ok(!f->stream[1].unexp_len && result(f, 4096, 4096, 3) && result(f, 0, 4096, 0x99) &&
	       !f->fpu, "it is delivered when its operation is submitted");
	arrive_bytes(f, 1, 3, 96);
	tap_ok(result(f, 0, 8192, 3) && !f->stream[1].unexp_len,
	       "the rest of a partial early frame goes to its operation");
	depart(f, 1);
	tap_ok(f->completed == 1, "the operation with early frames completes");
	fixture_free(f);
}

static void test_credit(void)
{
	const u32 cost = 4096 + COLL_DATA_SIZE, unit = COLL_CREDIT_UNIT;
	const u32 once = cost / unit;
	struct fixture *f = fixture_new(0, 2);
	const u32 most = (COLL_CREDIT - COLL_CREDIT_KEPT) / cost;
	struct coll_data data;
	u32 i, frames = 0;
	u64 position = 0;

	for (i = 0; i < most; i++) {
		submit(f, i, 8192);
		frames += depart(f, 1);
	}
	tap_ok(frames == most && f->stream[1].tx_eager == most * cost, "eager frames use credit");
	submit(f, most, 8192);
	tap_ok(next_header(f, 1, &data) && data.flags == (EAGER | COLL_DATA_REQUEST) &&
	       !data.length && data.instance == most && depart(f, 1) == 1 && !depart(f, 1),
	       "without credit a task sends one request frame");
	for (i = 1; i < SLOTS; i++) {
		submit(f, most + i, 8192);
		frames += depart(f, 1);
	}
	tap_ok(frames == most + SLOTS - 1 && f->stream[1].tx_eager <= COLL_CREDIT,
	       "the credit suffices for a request frame of every task");
	f->kicks[1] = 0;
	submit(f, 1000, 8192);
	tap_ok(!coll_stream_credited(&f->stream[1], 2 * cost, COLL_CREDIT_UNASKED) &&
	       f->kicks[1] && depart(f, 1) == 1 &&
	       f->stream[1].tx_position == (most + 1) * 4096,
	       "returned credit is used by another task");
	tap_ok(!grant(f, 1, most, COLL_GRANT_ALL) && depart(f, 1) == 1 &&
	       f->stream[1].tx_eager == (most + 1) * cost + SLOTS * COLL_DATA_SIZE,
	       "granted bytes use no credit");
	arrive_frame(f, 1, most, 0, 0, 4096, EAGER, 2);
	tap_ok(f->stream[1].grants.count == 1 && depart(f, 1) == 1 && !f->stream[1].grants.count,
	       "a grant is removed when its task has sent everything");

	for (i = 0; i <= COLL_CREDIT_UNTOLD(COLL_CREDIT) / cost; i++)
		arrive_frame(f, 1, i, 0, 0, 4096, EAGER, 2);
	tap_ok(controls_sent(f, 1, COLL_CONTROL_CREDIT, &position) == 1 &&
	       position == (i + 1) * cost - once * unit,
	       "credit is returned in portions");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, 8192);
	depart(f, 1);
	arrive_frame(f, 1, 0, 0, 0, 4096, EAGER, 2);
	tap_ok(next_header(f, 1, &data) && data.credit == once &&
	       !controls_sent(f, 1, COLL_CONTROL_CREDIT, NULL) &&
	       f->stream[1].rx_returned == once * unit, "a data frame returns credit");
	depart(f, 1);
	submit(f, 1, 8192);
	tap_ok(next_header(f, 1, &data) && !data.credit, "the same credit is not returned twice");
	depart(f, 1);
	tap_ok(!arrive_credit(f, 1, 1, once) && f->stream[1].tx_credit == COLL_CREDIT + once * unit,
	       "a received data frame adds its credit");
	tap_ok(!coll_stream_credited(&f->stream[1], unit, COLL_CREDIT_UNASKED) &&
	       f->stream[1].tx_credit == COLL_CREDIT + (once + 1) * unit,
	       "CREDIT that overtakes a data frame adds to it");
	f->stream[1].tx_eager += 1 << 20;
	f->stream[1].tx_credit += 1 << 20;
	tap_ok(!coll_stream_credited(&f->stream[1], unit, COLL_CREDIT_UNASKED) &&
	       !arrive_credit(f, 1, 2, 0) &&
	       f->stream[1].tx_credit == (1 << 20) + COLL_CREDIT + (once + 1) * unit,
	       "however far the control frame is ahead");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, 8192);
	arrive_frame(f, 1, 0, 0, 0, 0, EAGER | COLL_DATA_REQUEST, 0);
	tap_ok(controls_sent(f, 1, COLL_CONTROL_GRANT, NULL) == 1 && f->control[0].instance == 0 &&
	       controls_sent(f, 1, COLL_CONTROL_CREDIT, &position) == 1 &&
	       position == COLL_DATA_SIZE,
	       "a request frame of a task in progress is granted");
	arrive_frame(f, 1, 1, 0, 0, 0, EAGER | COLL_DATA_REQUEST, 0);
	tap_ok(controls_sent(f, 1, COLL_CONTROL_GRANT, NULL) == 1 && !submit(f, 1, 8192) &&
	       controls_sent(f, 1, COLL_CONTROL_GRANT, NULL) == 2 && f->control[2].instance == 1,
	       "a request frame of a later task is granted when it is submitted");
	tap_ok(!arrive_frame(f, 1, 0, 0, 0, 4096, 0, 2) && result(f, 4096, 4096, 3),
	       "a granted frame arrives without credit");
	fixture_free(f);
}

/* Return: a rank whose connections have as much credit as at first. */
static struct fixture *little_credit(void)
{
	struct fixture *f = fixture_new(0, 2);

	fixture_set_credit(&f->stream[1], COLL_CREDIT_FIRST);
	return f;
}

static void test_first_credit(void)
{
	/* Chunks are multiples of a cache line. */
	const u32 least = (COLL_CREDIT_FIRST - COLL_CREDIT_UNTOLD(COLL_CREDIT_FIRST) -
			   COLL_CREDIT_KEPT - COLL_DATA_SIZE) & ~63U;
	struct fixture *f = little_credit();
	struct coll_data data;
	u8 *old;

	submit(f, 0, 2 * least);
	tap_ok(next_header(f, 1, &data) && data.length == least && depart(f, 1) == 1,
	       "%u bytes are sent on the first credit", least);
	tap_ok(coll_stream_credited(&f->stream[1], COLL_CREDIT + f->stream[1].tx_eager,
				    COLL_CREDIT_UNASKED) == -EPROTO,
	       "there is no more credit than COLL_CREDIT");
	fixture_free(f);

	f = little_credit();
	arrive_frame(f, 1, 5, 0, 0, 400, EAGER, 7);
	tap_ok(!f->engine.credit_wanted, "no credit is wanted for a short early frame");
	/* In the middle of a frame that is kept */
	data = (struct coll_data){ .lane = LANE, .flags = EAGER, .length = 800, .instance = 6 };
	arrive_head(f, 1, &data);
	arrive_bytes(f, 1, 8, 300);
	f->controls = 0;
	old = f->stream[1].unexp_buf;
	tap_ok(coll_stream_raise_credit(&f->stream[1], malloc(coll_unexp_bytes(32 * 1024)),
					32 * 1024) == old &&
	       f->controls == 1 && f->control[0].kind == COLL_CONTROL_CREDIT &&
	       f->control[0].position == 30 * 1024 && !f->control[0].credit_reply,
	       "the peer is told of the credit");
	memset(old, 0, coll_unexp_bytes(COLL_CREDIT_FIRST));
	free(old);
	arrive_bytes(f, 1, 8, 500);
	tap_ok(f->stream[1].unexp_len == 1200 + 2 * COLL_DATA_SIZE &&
	       f->stream[1].unexp_buf[COLL_DATA_SIZE] == 7 &&
	       f->stream[1].unexp_buf[400 + 2 * COLL_DATA_SIZE] == 8 &&
	       f->stream[1].unexp_buf[400 + 2 * COLL_DATA_SIZE + 799] == 8,
	       "early frames move to the larger buffer, and one that has arrived in part");
	tap_ok(!arrive_frame(f, 1, 9, 0, 0, 8192, EAGER, 2) &&
	       f->stream[1].rx_wanted == 64 * 1024, "more may come, and more credit is wanted");
	fixture_free(f);
}

/* Return: true if BLOCKED was sent @times in all, the last time for a frame of @len bytes. */
static bool blocked(const struct fixture *f, u32 times, u32 len)
{
	u64 position = 0;

	return controls_sent(f, 1, COLL_CONTROL_BLOCKED, &position) == times &&
	       position == f->stream[1].tx_eager + len + COLL_DATA_SIZE + COLL_CREDIT_KEPT;
}

/* Return: true if the next frame is a request for a grant, which is sent. */
static bool requests(struct fixture *f)
{
	struct coll_data data;
	struct coll_out out;

	if (!next_header(f, 1, &data) || data.flags != (EAGER | COLL_DATA_REQUEST))
		return false;
	coll_stream_next(&f->stream[1], &out);
	coll_stream_sent(&f->stream[1], out.len);
	return true;
}

/* Return: true if the next frame has @len bytes of payload and is eager; it is sent. */
static bool sends_eager(struct fixture *f, u32 len)
{
	struct coll_data data;

	return next_header(f, 1, &data) && data.flags == EAGER && data.length == len &&
	       depart(f, 1);
}

static void test_blocked(void)
{
	const u32 len = 4096, cost = len + COLL_DATA_SIZE;
	struct fixture *f = little_credit();
	struct coll_stream *stream = &f->stream[1];
	u64 credit;

	submit(f, 0, 2 * len);
	submit(f, 1, 2 * len);
	tap_ok(!depart(f, 1) && !depart(f, 1) && blocked(f, 1, len),
	       "one BLOCKED is sent if credit does not suffice");
	credit = cost + COLL_CREDIT_KEPT - COLL_CREDIT_FIRST;
	tap_ok(!coll_stream_credited(stream, credit, COLL_CREDIT_RAISED) &&
	       depart(f, 1) == 1 && blocked(f, 2, len),
	       "one frame is sent on the new credit, and the next one is asked for");
	credit += cost;
	tap_ok(!coll_stream_credited(stream, credit, COLL_CREDIT_UNASKED) && sends_eager(f, len),
	       "credit that comes meanwhile is used");
	submit(f, 2, 2 * len);
	submit(f, 3, 2 * len);
	tap_ok(!depart(f, 1) && !coll_stream_credited(stream, credit, COLL_CREDIT_REFUSED) &&
	       requests(f) && requests(f) && !depart(f, 1) &&
	       controls_sent(f, 1, COLL_CONTROL_BLOCKED, NULL) == 2,
	       "a peer that refuses is sent requests");
	credit += 100 * 1024;
	tap_ok(!coll_stream_credited(stream, credit, COLL_CREDIT_UNASKED) && !depart(f, 1) &&
	       !grant(f, 1, 2, 0) && requests(f) && !depart(f, 1),
	       "a request is repeated, if the peer asks for that, whatever credit there is now");
	tap_ok(!grant(f, 1, 0, 0) && !grant(f, 1, 7, 0) && !depart(f, 1),
	       "but only if there was one");
	tap_ok(coll_stream_credited(stream, credit, COLL_CREDIT_RAISED) == -EPROTO,
	       "an answer that was not asked for is refused");
	fixture_free(f);

	f = little_credit();
	stream = &f->stream[1];
	submit(f, 0, 2 * len);
	submit(f, 1, 2 * len);
	tap_ok(!depart(f, 1) && !coll_stream_credited(stream, 8192, COLL_CREDIT_MOST) &&
	       sends_eager(f, len), "a frame is sent on the most credit there is");
	submit(f, 2, 2 * len);
	tap_ok(requests(f) && controls_sent(f, 1, COLL_CONTROL_BLOCKED, NULL) == 1,
	       "a peer that gives no more is not asked again");
	fixture_free(f);
}

/* Return: true if the last control frame answers BLOCKED with @answer, and all of @credit. */
static bool answered(const struct fixture *f, u8 answer, u32 credit)
{
	const struct coll_control *last = &f->control[f->controls - 1];

	return f->controls && last->kind == COLL_CONTROL_CREDIT && last->credit_reply == answer &&
	       last->position == credit - COLL_CREDIT_FIRST && f->stream[1].rx_credit == credit;
}

/* Raise the credit as the owner of the stream does. */
static void raise_credit(struct fixture *f)
{
	u32 credit = f->stream[1].rx_wanted;

	free(coll_stream_raise_credit(&f->stream[1], malloc(coll_unexp_bytes(credit)), credit));
}

static void test_blocked_peer(void)
{
	const u32 most = COLLECTIVE_EAGER_LIMIT + COLL_DATA_SIZE + COLL_CREDIT_KEPT;
	struct fixture *f = little_credit();
	struct coll_stream *stream = &f->stream[1];
	u32 i;

	tap_ok(!coll_stream_blocked(stream, 100) && f->engine.credit_wanted &&
	       stream->rx_wanted == 2 * COLL_CREDIT_FIRST && !f->controls,
	       "a peer that is blocked should have twice the credit");
	tap_ok(coll_stream_blocked(stream, 100) == -EPROTO, "it waits for the answer");
	coll_stream_refuse_credit(stream);
	tap_ok(answered(f, COLL_CREDIT_REFUSED, COLL_CREDIT_FIRST) && !stream->rx_wanted,
	       "it is told that there is no memory");
	tap_ok(coll_stream_blocked(stream, COLL_CREDIT_FIRST + most + 1) == -EPROTO &&
	       coll_stream_blocked(stream, ~0ULL) == -EPROTO && !stream->rx_wanted,
	       "no peer wants more than one frame");
	tap_ok(!coll_stream_blocked(stream, COLL_CREDIT_FIRST + most) &&
	       stream->rx_wanted == 64 * 1024, "but a peer gets credit for that");
	raise_credit(f);
	tap_ok(answered(f, COLL_CREDIT_RAISED, 64 * 1024), "and is told so");
	coll_stream_blocked(stream, 0);
	raise_credit(f);
	tap_ok(answered(f, COLL_CREDIT_MOST, COLL_CREDIT), "it is told if that is the most");
	f->controls = 0;
	coll_stream_blocked(stream, COLL_CREDIT + most);
	coll_stream_refuse_credit(stream);
	tap_ok(answered(f, COLL_CREDIT_MOST, COLL_CREDIT) && f->controls == 1,
	       "and again if it asks again");
	fixture_free(f);

	f = little_credit();
	stream = &f->stream[1];
	for (i = 0; !f->controls; i++) {
		submit(f, i, 2 * 64);
		arrive_frame(f, 1, i, 0, 0, 64, EAGER, 2);
	}
	tap_ok(f->control[0].kind == COLL_CONTROL_CREDIT && !f->control[0].credit_reply &&
	       stream->rx_wanted == 2 * COLL_CREDIT_FIRST,
	       "credit that comes back in a frame of its own should be more");
	fixture_free(f);
}

static void test_dropped_requests(void)
{
	const u32 most = (COLL_CREDIT_FIRST - COLL_CREDIT_KEPT / 2) / COLL_DATA_SIZE;
	struct fixture *f = little_credit();
	u64 position = 1;
	u32 i, credits;
	bool good = true;

	for (i = 0; i < most; i++)
		good &= !arrive_frame(f, 1, coll_instance_keyed(i), 0, 0, 0,
				      EAGER | COLL_DATA_REQUEST, 0);
	tap_ok(good && f->stream[1].unexp_len == most * COLL_DATA_SIZE && !f->controls,
	       "%u early requests are kept", most);
	for (; i < 3 * most && f->controls < 60; i++)
		good &= !arrive_frame(f, 1, coll_instance_keyed(i), 0, 0, 0,
				      EAGER | COLL_DATA_REQUEST, 0);
	credits = controls_sent(f, 1, COLL_CONTROL_CREDIT, &position);
	tap_ok(good && f->stream[1].unexp_len == most * COLL_DATA_SIZE && credits == i - most &&
	       position == credits * COLL_DATA_SIZE, "others are dropped, and return their credit");
	f->controls = 0;
	submit(f, coll_instance_keyed(most + 1), 8192);
	tap_ok(controls_sent(f, 1, COLL_CONTROL_GRANT, &position) == 1 && !position,
	       "the sender is asked to repeat its request when the run starts");
	f->controls = 0;
	arrive_frame(f, 1, coll_instance_keyed(most + 1), 0, 0, 0, EAGER | COLL_DATA_REQUEST, 0);
	tap_ok(controls_sent(f, 1, COLL_CONTROL_GRANT, &position) == 1 &&
	       position == COLL_GRANT_ALL, "and gets its grant");
	f->controls = 0;
	submit(f, coll_instance_keyed(0), 8192);
	tap_ok(controls_sent(f, 1, COLL_CONTROL_GRANT, &position) == 2 &&
	       position == COLL_GRANT_ALL, "so does one whose request was kept");
	fixture_free(f);
}

/* Early requests of which the last @n are dropped; @first: instance of the first one. */
static struct fixture *drop_requests(u64 first, u32 n)
{
	const u32 most = (COLL_CREDIT_FIRST - COLL_CREDIT_KEPT / 2) / COLL_DATA_SIZE;
	struct fixture *f = little_credit();
	u32 i;

	for (i = 0; i < most + n; i++)
		arrive_frame(f, 1, first + i, 0, 0, 0, EAGER | COLL_DATA_REQUEST, 0);
	tap_ok(controls_sent(f, 1, COLL_CONTROL_CREDIT, NULL) == n &&
	       f->stream[1].unexp_len == most * COLL_DATA_SIZE, "%u requests are dropped", n);
	f->controls = 0;
	return f;
}

/* Return: number of times that the peer is asked for a request again when an operation starts. */
static u32 asks_again(struct fixture *f, u64 instance)
{
	u32 i, n = 0;

	f->controls = 0;
	submit(f, instance, 8192);
	for (i = 0; i < f->controls; i++)
		n += f->control[i].kind == COLL_CONTROL_GRANT && !f->control[i].position;
	return n;
}

static void test_requests_asked_again(void)
{
	const u32 most = (COLL_CREDIT_FIRST - COLL_CREDIT_KEPT / 2) / COLL_DATA_SIZE;
	struct fixture *f = drop_requests(0, 1);
	u32 i;

	tap_ok(asks_again(f, most) == 1, "the sender of a dropped request is asked for it again");
	tap_ok(!asks_again(f, most + 1) && !asks_again(f, most + 2),
	       "and not for requests of later operations");
	fixture_free(f);

	f = drop_requests(coll_instance_keyed(0), 2);
	tap_ok(!asks_again(f, coll_instance_keyed(0)) &&
	       !asks_again(f, coll_instance_keyed(most + 2)),
	       "with keys, senders of other requests are not asked");
	tap_ok(asks_again(f, coll_instance_keyed(most + 1)) == 1 &&
	       asks_again(f, coll_instance_keyed(most)) == 1, "those of dropped ones are, once");
	fixture_free(f);

	f = drop_requests(coll_instance_keyed(0), COLL_DROPPED_KEYED);
	for (i = 0; i < COLL_DROPPED_KEYED; i++)
		fail(f, coll_instance_keyed(most + i));
	tap_ok(!f->stream[1].dropped.nkeyed, "operations that fail are not listed any more");
	arrive_frame(f, 1, coll_instance_keyed(100), 0, 0, 0, EAGER | COLL_DATA_REQUEST, 0);
	tap_ok(!asks_again(f, coll_instance_keyed(101)) &&
	       asks_again(f, coll_instance_keyed(100)) == 1,
	       "so there is a place for the next one, and no other sender is asked");
	fixture_free(f);

	f = drop_requests(coll_instance_keyed(0), COLL_DROPPED_KEYED + 1);
	tap_ok(asks_again(f, coll_instance_keyed(most + COLL_DROPPED_KEYED)) == 1,
	       "if there are too many, all are asked");
	fixture_free(f);
}

static void test_barrier(void)
{
	struct fixture *f = fixture_new(1, 3);
	struct coll_data data;

	submit_barrier(f, 0);
	tap_ok(next_header(f, 2, &data) && !data.length && data.step == 0 && data.flags == EAGER &&
	       depart(f, 2) == 1, "a barrier sends a signal");
	tap_ok(!depart(f, 2), "a barrier sends one signal for a step");
	arrive_frame(f, 0, 0, 0, 0, 0, EAGER, 0);
	tap_ok(depart(f, 2) == 1 && !f->completed,
	       "a barrier answers a received signal with the next step");
	arrive_frame(f, 0, 0, 1, 0, 0, EAGER, 0);
	tap_ok(f->completed == 1 && !f->error && !depart(f, 2),
	       "a barrier completes when all signals are received");
	fixture_free(f);
}

static void test_instances(void)
{
	struct fixture *f = fixture_new(0, 2);
	u64 key = coll_instance_keyed(SLOTS);
	bool passed = true;
	u32 i;

	for (i = 0; i < 2 * SLOTS; i++)
		passed &= !submit(f, i, LARGE);
	tap_ok(passed && !submit(f, key, LARGE), "twice as many tasks as slots are in progress");
	for (i = 0; i < 2 * SLOTS; i++)
		passed &= coll_task_find(&f->engine, i)->args.instance == i;
	tap_ok(passed && coll_task_find(&f->engine, key)->args.instance == key,
	       "each task is found by its instance");
	tap_ok(submit(f, key, LARGE) == -EEXIST, "a second task of the same instance is refused");
	for (i = 0; i < 2 * SLOTS; i += 2)
		coll_engine_abort(&f->engine, i, -ECANCELED);
	for (i = 0; i < 2 * SLOTS; i++)
		passed &= !coll_task_find(&f->engine, i) == !(i & 1);
	tap_ok(passed && f->completed == SLOTS && coll_task_find(&f->engine, key),
	       "aborted tasks are not found any more");
	tap_ok(!coll_engine_expects(&f->engine, 2 * SLOTS - 1) &&
	       coll_engine_expects(&f->engine, 2 * SLOTS), "only later numbers are expected");
	fixture_free(f);
}

/*
 * Frames of a second operation with the same key arrive while the first is in progress.  The
 * engine tells them apart by the steps that the first one still expects.
 */
static void test_key(void)
{
	struct fixture *f = fixture_new(0, 2);
	u64 key = coll_instance_keyed(5);

	submit(f, key, 8192);
	depart(f, 1);
	arrive_frame(f, 1, key, 0, 0, 4096, EAGER, 2);
	arrive_frame(f, 1, key, 1, 0, 4096, EAGER, 3);
	arrive_frame(f, 1, key, 0, 0, 4096, EAGER, 5);
	tap_ok(!f->completed && !f->mismatches && f->stream[1].unexp_len == 4096 + COLL_DATA_SIZE,
	       "a frame after a task's last step is kept for the next task of the key");
	depart(f, 1);
	tap_ok(f->completed == 1 && result(f, 0, 4096, 3) == result(f, 4096, 4096, 3) &&
	       f->stream[1].unexp_len, "it is kept when the first task completes");
	submit(f, key, 8192);
	arrive_frame(f, 1, key, 1, 0, 4096, EAGER, 4);
	depart(f, 1);
	tap_ok(f->completed == 2 && !f->error && !f->stream[1].unexp_len, "the next task gets it");

	arrive_frame(f, 1, key, 0, 0, 4096, EAGER, 5);
	grant(f, 1, key, COLL_GRANT_ALL);
	fail(f, key);
	tap_ok(!f->stream[1].unexp_len && f->completed == 2 &&
	       f->stream[1].rx_consumed == f->stream[1].rx_eager,
	       "early frames of an operation that failed elsewhere are dropped");
	arrive_frame(f, 1, key, 0, 0, 4096, EAGER, 5);
	tap_ok(!grant(f, 1, key, COLL_GRANT_ALL) && !f->stream[1].unexp_len && !f->mismatches &&
	       f->stream[1].rx_consumed == f->stream[1].rx_eager,
	       "later frames of a failed operation are dropped");
	fixture_free(f);
}

static void test_grants(void)
{
	struct coll_grant entry[16] = { 0 };
	struct coll_grants grants = { .entry = entry, .size = 16 };
	bool passed = true;
	u64 i;

	for (i = 0; i < 15; i++)
		passed &= !coll_grants_raise(&grants, i * 7, i, i);
	tap_ok(passed && coll_grants_raise(&grants, 1, 1, 1) == -ENOSPC,
	       "a full table of grants refuses another one");
	for (i = 0; i < 15; i += 2)
		coll_grants_drop(&grants, i * 7);
	for (i = 0; i < 15; i++)
		passed &= coll_grants_get(&grants, i * 7)->limit == (i & 1 ? i : 0);
	tap_ok(passed && grants.count == 7, "the other grants are found after some are dropped");
	tap_ok(coll_grants_raise(&grants, 21, 2, 3) == -EPROTO &&
	       !coll_grants_raise(&grants, 21, 4, 3) &&
	       coll_grants_get(&grants, 21)->limit == 4, "the limit of a grant only rises");
}

/* Number of failed operations; more than a table of fixed size would hold */
#define FAILURES	100000

/* Granted and eager frames of a failed operation are accepted, however late they arrive. */
static void test_failed(void)
{
	struct fixture *f = fixture_new(1, 2);
	struct coll_task_args call = {
		.plan = {
			.collective = COLLECTIVE_BROADCAST,
			.type = COLLECTIVE_UINT8,
			.algorithm = COLLECTIVE_ALGORITHM_RING,
			.size = 1,
			.rank = 1,
			.nranks = 2,
			.nlanes = 1,
			.count = LARGE,
		},
		.instance = coll_instance_keyed(7),
		.area = { &f->send.mem, &f->recv.mem },
	};
	struct coll_data data = {
		.lane = LANE, .flags = ZEROCOPY, .call = coll_plan_call(&call.plan),
		.length = 1000, .instance = call.instance,
	};
	bool passed = true;
	u64 i;

	tap_ok(coll_engine_expects(&f->engine, coll_instance_keyed(7)) &&
	       coll_engine_expects(&f->engine, coll_instance_keyed(3)),
	       "keys are expected in any order");
	submit_call(f, &call);
	tap_ok(controls_sent(f, 0, COLL_CONTROL_GRANT, NULL) == 1, "a large broadcast is granted");
	fail(f, call.instance);
	for (i = 0; i < FAILURES; i++)
		fail(f, coll_instance_keyed(1000 + i * i));
	for (i = 0; i < FAILURES; i++)
		passed &= !coll_engine_expects(&f->engine, coll_instance_keyed(1000 + i * i));
	tap_ok(passed && !coll_engine_expects(&f->engine, call.instance) &&
	       coll_engine_expects(&f->engine, coll_instance_keyed(2)),
	       "no failed operation is expected any more");

	tap_ok(!arrive_head(f, 0, &data),
	       "a frame that was granted before the failure is accepted");
	arrive_bytes(f, 0, 3, 1000);
	data.flags = EAGER;
	tap_ok(!arrive_head(f, 0, &data), "an eager frame after the failure is accepted");
	arrive_bytes(f, 0, 3, 1000);
	tap_ok(f->recv.bytes[0] == 0x99 && !f->stream[0].unexp_len && !f->mismatches &&
	       f->stream[0].rx_consumed == f->stream[0].rx_eager,
	       "both are discarded, and the credit is returned");
	fixture_free(f);
}

/* The credit of a failed operation is returned before this rank would have submitted it. */
static void test_failed_ahead(void)
{
	struct fixture *f = fixture_new(0, 2);
	bool passed = true;
	u64 i;

	for (i = 0; i < FAILURES; i++) {
		f->controls = 0;
		passed &= arrive_frame(f, 1, i, 0, 0, 8, EAGER, 1) == 0;
		if (i & 1)
			fail(f, i);
		else if (i)
			fail(f, i - 2);
	}
	tap_ok(passed && f->stream[1].unexp_len == 8 + COLL_DATA_SIZE,
	       "frames in the unexpected buffer are dropped when their operation fails");
	fixture_free(f);
}

/* A reduce goes from rank 0 through rank 1 to rank 2, in a scratch window of 1024 bytes. */
static void test_window(void)
{
	struct fixture *f = fixture_new(1, 3);
	struct coll_task_args call = {
		.plan = {
			.collective = COLLECTIVE_REDUCE,
			.type = COLLECTIVE_UINT8,
			.algorithm = COLLECTIVE_ALGORITHM_RING,
			.size = 1,
			.rank = 1,
			.nranks = 3,
			.root = 2,
			.nlanes = 1,
			.count = LARGE,
		},
	};
	struct coll_data data = {
		.lane = LANE, .flags = ZEROCOPY, .call = coll_plan_call(&call.plan),
		.step = 2, .length = 1024,
	};
	struct coll_out out;
	struct coll_task *task = malloc(sizeof(*task));
	struct flat window;
	u64 position = 0;

	flat_init(&window, 1024, 0);
	window.mem.at = window_at;
	call.area[COLL_AREA_SEND] = &f->send.mem;
	call.area[COLL_AREA_SCRATCH] = &window.mem;

	*task = (struct coll_task){ .args = call };
	engine_submit(&f->engine, task);
	tap_ok(controls_sent(f, 0, COLL_CONTROL_GRANT, &position) == 1 && position == 1024,
	       "the grant is the size of the scratch window");
	grant(f, 2, 0, COLL_GRANT_ALL);
	arrive_head(f, 0, &data);
	arrive_bytes(f, 0, 2, 1024);
	tap_ok(window.bytes[0] == 3 && window.bytes[1023] == 3 &&
	       controls_sent(f, 0, COLL_CONTROL_GRANT, NULL) == 1, "a full window grants no more");
	tap_ok(coll_stream_next(&f->stream[2], &out) && out.ptr && !out.ptr[1] && out.copy,
	       "bytes of the window are sent by copy");
	coll_stream_sent(&f->stream[2], COLL_DATA_SIZE + 255);
	tap_ok(controls_sent(f, 0, COLL_CONTROL_GRANT, NULL) == 1,
	       "less than a quarter of the window sent: no grant");
	coll_stream_sent(&f->stream[2], 1);
	tap_ok(controls_sent(f, 0, COLL_CONTROL_GRANT, &position) == 2 && position == 1024 + 256,
	       "a quarter of the window sent: a quarter is granted");
	depart(f, 2);
	data.offset = 1024;
	data.length = 256;
	arrive_head(f, 0, &data);
	arrive_bytes(f, 0, 4, 256);
	tap_ok(window.bytes[0] == 5 && window.bytes[255] == 5 && window.bytes[256] == 3 &&
	       !f->mismatches, "the granted bytes are stored at the start of the window");
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	tap_ok(f->completed == 1, "an aborted task that sent by copy completes at once");
	free(window.bytes);
	fixture_free(f);
}

/*
 * Compare the copy hints of what rank @rank of four receives, with blocks of 1 MiB.  @want has a
 * letter for each step: r: forwarded, a: received only, -: no hint, because it is not copied.
 */
static bool copy_hint_is(struct coll_plan plan, u32 rank, const char *want, u64 volume)
{
	struct fixture *f = fixture_new(rank, 4);
	struct coll_task task = { .engine = &f->engine };
	char got[16] = { 0 }, *at = got;
	bool passed = true;

	plan.type = COLLECTIVE_UINT8;
	plan.size = 1;
	plan.rank = rank;
	plan.nranks = 4;
	plan.nlanes = 1;
	plan.count = 1 << 20;
	task.args.plan = plan;
	task.schedule = coll_plan_schedule(&plan);
	task.nsteps = task.schedule->steps(&plan);
	for (; task.rx_step < task.nsteps; task.rx_step++) {
		struct coll_sink sink;

		task.rx = (struct coll_step){ 0 };
		coll_schedule_step(task.schedule, &plan, task.rx_step, &task.rx);
		if (task.rx.from == COLL_NO_RANK)
			continue;
		coll_task_sink(&task, &sink, 1000);
		*at++ = !sink.hint.volume ? '-' :
			sink.hint.source == COLL_NT_FORWARDED ? 'r' : 'a';
		passed &= !sink.hint.volume || sink.hint.volume == volume;
	}
	passed &= !strcmp(got, want);
	if (!passed)
		tap_note("%s of rank %u: %s, not %s", task.schedule->name, rank, got, want);
	fixture_free(f);
	return passed;
}

static void test_copy_hint(void)
{
	const struct coll_plan chain = {
		.collective = COLLECTIVE_BROADCAST, .algorithm = COLLECTIVE_ALGORITHM_RING,
	};
	const struct coll_plan tree = {
		.collective = COLLECTIVE_BROADCAST, .algorithm = COLLECTIVE_ALGORITHM_TREE,
	};
	const struct coll_plan gather = {
		.collective = COLLECTIVE_ALLGATHER, .algorithm = COLLECTIVE_ALGORITHM_RING,
	};
	const struct coll_plan all = {
		.collective = COLLECTIVE_ALLTOALL, .algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	};
	const struct coll_plan sum = {
		.collective = COLLECTIVE_ALLREDUCE, .reduction = COLLECTIVE_SUM,
		.algorithm = COLLECTIVE_ALGORITHM_RING,
	};
	const u64 mib = 1 << 20;

	tap_ok(copy_hint_is(chain, 1, "r", mib) && copy_hint_is(chain, 2, "r", mib) &&
	       copy_hint_is(chain, 3, "a", mib), "chain: all ranks but the last forward");
	tap_ok(copy_hint_is(tree, 1, "a", mib) && copy_hint_is(tree, 2, "r", mib) &&
	       copy_hint_is(tree, 3, "a", mib), "tree: only a rank with children forwards");
	tap_ok(copy_hint_is(gather, 0, "rra", 4 * mib) && copy_hint_is(gather, 3, "rra", 4 * mib),
	       "ring: a rank forwards all blocks but the last that it receives");
	tap_ok(copy_hint_is(all, 1, "aaa", 4 * mib), "alltoall: no rank forwards");
	tap_ok(copy_hint_is(sum, 2, "---rra", mib), "allreduce: reduced bytes have no copy hint");
}

int main(void)
{
	tap_plan(0);
	test_copy_hint();
	test_alone();
	test_grant();
	test_window();
	test_consumed();
	test_eager();
	test_unexpected();
	test_credit();
	test_first_credit();
	test_blocked();
	test_blocked_peer();
	test_dropped_requests();
	test_requests_asked_again();
	test_barrier();
	test_instances();
	test_failed();
	test_failed_ahead();
	test_key();
	test_grants();
	return tap_exit();
}
