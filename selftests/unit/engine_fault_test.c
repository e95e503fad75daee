// SPDX-License-Identifier: GPL-2.0-only
/* One engine in failures: aborted operations, expired leases, peers that break the protocol. */
#include "engine_fixture.h"
#include "tap.h"

#define LARGE	(64 * 1024U)
#define HALF	(LARGE / 2)

#define EAGER		COLL_DATA_EAGER
#define ZEROCOPY	COLL_DATA_ZEROCOPY

static void test_abort_sending(void)
{
	struct fixture *f = fixture_new(0, 2);
	struct coll_out out;

	submit(f, 0, LARGE);
	grant(f, 1, 0, COLL_GRANT_ALL);
	coll_stream_next(&f->stream[1], &out);
	coll_stream_sent(&f->stream[1], 5);
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	tap_ok(!f->completed && coll_stream_next(&f->stream[1], &out) &&
	       out.len == COLL_DATA_SIZE - 5,
	       "aborted operation: a frame that has begun is finished");
	depart(f, 1);
	arrive_frame(f, 1, 0, 0, 0, HALF, ZEROCOPY, 2);
	tap_ok(!coll_stream_next(&f->stream[1], &out),
	       "aborted operation: no other frame is begun");
	tap_ok(!f->completed, "aborted operation: not complete before CONSUMED");
	tap_ok(!coll_stream_consumed(&f->stream[1], HALF) && f->completed == 1 &&
	       f->error == -ECANCELED, "aborted operation: complete with its error after CONSUMED");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, LARGE);
	grant(f, 1, 0, COLL_GRANT_ALL);
	coll_stream_next(&f->stream[1], &out);
	coll_engine_abort(&f->engine, COLL_INSTANCE_GROUP, -ECONNRESET);
	tap_ok(!f->completed, "group failed in the middle of a frame: operation is not complete");
	coll_stream_release(&f->stream[1]);
	tap_ok(f->completed == 1 && f->error == -ECONNRESET && !depart(f, 1),
	       "a released stream delays no operation and sends nothing");
	fixture_free(f);
}

static void test_abort_sent(void)
{
	struct fixture *f = fixture_new(0, 2);

	submit(f, 0, LARGE);
	grant(f, 1, 0, COLL_GRANT_ALL);
	depart(f, 1);
	arrive_frame(f, 1, 0, 0, 0, HALF, ZEROCOPY, 2);
	depart(f, 1);
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	coll_engine_abort(&f->engine, 0, -EIO);
	tap_ok(!f->completed, "aborted after all was sent: not complete before CONSUMED");
	coll_stream_consumed(&f->stream[1], LARGE);
	tap_ok(f->completed == 1 && f->error == -ECANCELED,
	       "aborted twice: the first error is reported");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, 100);
	depart(f, 1);
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	tap_ok(f->completed == 1, "aborted after eager frames: complete at once");
	fixture_free(f);
}

static void test_abort_receiving(void)
{
	struct fixture *f = fixture_new(0, 2);
	struct coll_data data = {
		.lane = LANE, .flags = ZEROCOPY, .length = HALF, .instance = 0,
	};
	u64 position = 0;

	submit(f, 0, LARGE);
	arrive_head(f, 1, &data);
	arrive_bytes(f, 1, 2, 1000);
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	tap_ok(f->completed == 1 && f->error == -ECANCELED && result(f, HALF, 1000, 3),
	       "aborted in the middle of a received frame: complete at once");
	memset(f->recv.bytes, 0x77, LARGE);
	tap_ok(!arrive_bytes(f, 1, 2, HALF - 1000) && result(f, 0, LARGE, 0x77),
	       "the rest of the frame is discarded");
	tap_ok(controls_sent(f, 1, COLL_CONTROL_CONSUMED, &position) && position == HALF,
	       "the discarded frame is reported as consumed");
	tap_ok(!arrive_frame(f, 1, 0, 1, 0, 500, ZEROCOPY, 9) && result(f, 0, LARGE, 0x77) &&
	       controls_sent(f, 1, COLL_CONTROL_CONSUMED, &position) && position == HALF + 500 &&
	       !f->mismatches, "later frames are discarded and reported as consumed");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, LARGE);
	arrive_frame(f, 1, 0, 0, 0, 700, ZEROCOPY, 2);
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	tap_ok(controls_sent(f, 1, COLL_CONTROL_CONSUMED, &position) == 1 && position == 700,
	       "an abort reports the frames received before it as consumed");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, 8192);
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	submit(f, 4, 8192);
	tap_ok(!arrive_frame(f, 1, 2, 0, 0, 100, EAGER, 2) && !f->stream[1].unexp_len &&
	       f->stream[1].rx_consumed == 100 + COLL_DATA_SIZE,
	       "a frame of an instance that was skipped is discarded, its credit returned");
	fixture_free(f);
}

static struct coll_engine_ops ops;
static bool busy;

static bool on_revoke(void *ctx, struct coll_stream *stream, struct coll_task *task)
{
	(void)ctx;
	(void)stream;
	(void)task;
	return !busy;
}

/* Its first frame is sent by reference, and its second one waits. */
static struct fixture *fixture_sent(u32 *first)
{
	struct fixture *f = fixture_new(0, 2);
	struct coll_out out;

	ops = fixture_ops;
	ops.revoke = on_revoke;
	f->engine.ops = &ops;
	f->stream[1].by_reference = true;
	submit(f, 0, LARGE);
	grant(f, 1, 0, COLL_GRANT_ALL);
	coll_stream_next(&f->stream[1], &out);
	*first = out.more;
	coll_stream_sent(&f->stream[1], out.len + out.more);
	arrive_frame(f, 1, 0, 0, 0, HALF, 0, 2);
	return f;
}

static void test_abort_referring(void)
{
	struct coll_out out;
	struct fixture *f;
	u32 first;

	busy = true;
	f = fixture_sent(&first);
	tap_ok(coll_stream_next(&f->stream[1], &out) && out.ptr, "a second frame is to be sent");
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	tap_ok(!f->completed && !coll_stream_next(&f->stream[1], &out),
	       "aborted: it is dropped, and the first is still read");
	tap_ok(!coll_stream_consumed(&f->stream[1], first) && f->completed == 1,
	       "aborted: complete when the peer has consumed what was sent");
	fixture_free(f);

	busy = true;
	f = fixture_sent(&first);
	coll_stream_next(&f->stream[1], &out);
	coll_stream_sent(&f->stream[1], out.len + 100);
	coll_engine_abort(&f->engine, 0, -ECANCELED);
	tap_ok(!f->completed && coll_stream_next(&f->stream[1], &out) && !out.ptr,
	       "aborted: a frame of which a part was copied is sent to its end");
	coll_stream_consumed(&f->stream[1], first);
	tap_ok(!f->completed, "aborted: not complete before that");
	coll_stream_sent(&f->stream[1], out.len);
	coll_stream_consumed(&f->stream[1], out.position);
	tap_ok(f->completed == 1, "aborted: complete after it");
	fixture_free(f);
}

/* The second half of the result has not arrived, and the peer's lease ends at 1000 ns. */
static struct fixture *fixture_leased(void)
{
	struct fixture *f = fixture_new(0, 2);

	f->stream[1].lease = 1000;
	coll_engine_tick(&f->engine, 500);
	submit(f, 0, LARGE);
	grant(f, 1, 0, COLL_GRANT_ALL);
	depart(f, 1);
	arrive_frame(f, 1, 0, 0, 0, HALF, ZEROCOPY, 2);
	depart(f, 1);
	coll_stream_consumed(&f->stream[1], LARGE);
	return f;
}

static void test_lease(void)
{
	struct fixture *f = fixture_leased();

	coll_engine_tick(&f->engine, 1000);
	arrive_frame(f, 1, 0, 1, 0, HALF, ZEROCOPY, 3);
	tap_ok(!f->completed, "no operation succeeds after the end of the lease");
	f->stream[1].lease = 2000;
	coll_engine_tick(&f->engine, 1001);
	tap_ok(f->completed == 1 && !f->error, "the operation succeeds when the lease is renewed");
	fixture_free(f);

	f = fixture_new(0, 2);
	f->stream[1].lease = 1000;
	coll_engine_tick(&f->engine, 999);
	submit(f, 0, LARGE);
	grant(f, 1, 0, COLL_GRANT_ALL);
	depart(f, 1);
	coll_engine_tick(&f->engine, 1000);
	arrive_frame(f, 1, 0, 0, 0, HALF, ZEROCOPY, 2);
	tap_ok(!depart(f, 1), "bytes that were read after the end of the lease are not forwarded");
	f->kicks[1] = 0;
	coll_engine_tick(&f->engine, 1100);
	tap_ok(!f->kicks[1] && !depart(f, 1), "nor later, while the lease is not renewed");
	f->stream[1].lease = 2000;
	coll_engine_tick(&f->engine, 1200);
	tap_ok(f->kicks[1] == 1 && depart(f, 1) == 1, "they are when it is renewed");
	coll_engine_tick(&f->engine, 1300);
	tap_ok(f->kicks[1] == 1, "a stream with nothing to send is not kicked again");
	fixture_free(f);

	/* A zero-copy frame ends only after the time of its read is compared with the lease. */
	f = fixture_leased();
	arrive_frame(f, 1, 0, 1, 0, HALF - 1, ZEROCOPY, 3);
	arrive_head(f, 1, &(struct coll_data){
		.lane = LANE, .flags = ZEROCOPY, .step = 1, .length = 1, .offset = HALF - 1 });
	tap_ok(coll_stream_receive(&f->stream[1], "x", 1) == 1 &&
	       coll_stream_whole(&f->stream[1]) && coll_stream_reads_zerocopy(&f->stream[1]) &&
	       !f->completed, "last byte of a zero-copy frame: not complete yet");
	f->engine.now = 1000;
	coll_stream_pause(&f->stream[1]);
	tap_ok(!f->completed && !coll_stream_whole(&f->stream[1]),
	       "not complete if the read ended after the lease");
	f->stream[1].lease = 2000;
	coll_engine_tick(&f->engine, 1001);
	tap_ok(f->completed == 1 && !f->error, "complete when the lease is renewed");
	fixture_free(f);

	f = fixture_new(0, 2);
	f->stream[1].lease = 1000;
	coll_engine_tick(&f->engine, 5000);
	submit(f, 0, 100);
	depart(f, 1);
	arrive_frame(f, 1, 0, 0, 0, 50, EAGER, 2);
	depart(f, 1);
	arrive_frame(f, 1, 0, 1, 0, 50, EAGER, 3);
	tap_ok(f->completed == 1 && !f->error, "eager frames need no lease");
	fixture_free(f);
}

/* A header arrives before any operation is submitted.  Return: 0 or the error. */
static int first_frame(u64 instance, u8 flags, u8 lane, u32 incarnation)
{
	struct fixture *f = fixture_new(0, 2);
	struct coll_data data = {
		.lane = lane, .flags = flags, .instance = instance, .length = 10,
	};
	u8 head[COLL_DATA_SIZE];
	int err;

	coll_wire_put_data(head, &data, incarnation);
	err = arrive(f, 1, head, sizeof(head));
	fixture_free(f);
	return err;
}

static void test_protocol(void)
{
	struct fixture *f;
	bool passed = true;
	u32 i;

	tap_ok(!first_frame(3, EAGER, LANE, INCARNATION) &&
	       !first_frame(3000000, EAGER, LANE, INCARNATION), "an early eager frame is accepted");
	tap_ok(first_frame(3, ZEROCOPY, LANE, INCARNATION) == -EPROTO &&
	       first_frame(3, 0, LANE, INCARNATION) == -EPROTO,
	       "a frame without credit or grant is refused");
	tap_ok(first_frame(3, EAGER, LANE + 1, INCARNATION) == -EPROTO,
	       "a frame of another lane is refused");
	tap_ok(first_frame(3, EAGER, LANE, INCARNATION + 1) == -EPROTO,
	       "a frame of another incarnation is refused");
	tap_ok(first_frame(COLL_INSTANCE_GROUP, EAGER, LANE, INCARNATION) == -EPROTO,
	       "a data frame of the group itself is refused");

	f = fixture_new(0, 2);
	arrive_frame(f, 1, 0, 0, 0, 100, ZEROCOPY, 2);
	submit(f, 0, LARGE);
	tap_ok(arrive_bytes(f, 1, 2, 100) == -EPROTO && result(f, 0, LARGE, 0x99),
	       "after an error a stream refuses all bytes");
	fixture_free(f);

	f = fixture_new(0, 2);
	for (i = 0; i < COLL_CREDIT / (8192 + COLL_DATA_SIZE); i++)
		passed &= !arrive_frame(f, 1, i, 0, 0, 8192, EAGER, 2);
	passed &= f->stream[1].unexp_len <= COLL_CREDIT;
	tap_ok(passed && arrive_frame(f, 1, i, 0, 0, 8192, EAGER, 2) == -EPROTO,
	       "an eager frame beyond the credit is refused");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, LARGE);
	grant(f, 1, 0, COLL_GRANT_ALL);
	depart(f, 1);
	tap_ok(coll_stream_consumed(&f->stream[1], HALF + 1) == -EPROTO,
	       "CONSUMED beyond the bytes that were sent is refused");
	tap_ok(!coll_stream_consumed(&f->stream[1], 100) &&
	       coll_stream_consumed(&f->stream[1], 99) == -EPROTO, "a smaller CONSUMED is refused");
	submit(f, 1, 8192);
	depart(f, 1);
	tap_ok(coll_stream_credited(&f->stream[1], f->stream[1].tx_eager + 1,
				    COLL_CREDIT_UNASKED) == -EPROTO &&
	       !coll_stream_credited(&f->stream[1], 64, COLL_CREDIT_UNASKED),
	       "credit that was not used cannot be returned");
	tap_ok(coll_stream_credited(&f->stream[1], 63, COLL_CREDIT_UNASKED) == -EPROTO,
	       "a smaller CREDIT is refused");
	tap_ok(arrive_credit(f, 1, 1, f->stream[1].tx_eager / COLL_CREDIT_UNIT + 1) == -EPROTO,
	       "a data frame that returns too much credit is refused");
	tap_ok(grant(f, 1, COLL_INSTANCE_GROUP, COLL_GRANT_ALL) == -EPROTO,
	       "a grant for the group itself is refused");
	fixture_free(f);
}

/* A task sends nothing on a grant of a peer that called differently. */
static void test_grant_digest(void)
{
	struct fixture *f = fixture_new(0, 2);

	sign(f, 5);
	submit(f, 0, LARGE);
	tap_ok(f->controls == 1 && f->control[0].digest == f->digest,
	       "a grant carries the digest of the call");
	coll_stream_granted(&f->stream[1], 0, COLL_GRANT_ALL, 6);
	tap_ok(!depart(f, 1) && f->mismatches, "a grant with another digest: mismatch");
	fixture_free(f);

	f = fixture_new(0, 2);
	sign(f, 5);
	coll_stream_granted(&f->stream[1], 0, COLL_GRANT_ALL, 6);
	submit(f, 0, LARGE);
	tap_ok(!depart(f, 1) && f->mismatches,
	       "a grant with another digest before the call: mismatch");
	fixture_free(f);

	f = fixture_new(0, 2);
	sign(f, 5);
	coll_stream_granted(&f->stream[1], 0, 0, 6);
	submit(f, 0, LARGE);
	tap_ok(!depart(f, 1) && !f->mismatches, "a grant of 0 bytes is not compared");
	fixture_free(f);

	f = fixture_new(0, 4);
	sign(f, 5);
	coll_stream_granted(&f->stream[2], 0, COLL_GRANT_ALL, 6);
	submit(f, 0, LARGE);
	tap_ok(f->mismatches == 1, "a grant of a rank that nothing is sent to is compared");
	coll_stream_granted(&f->stream[3], 0, COLL_GRANT_ALL, 6);
	tap_ok(f->mismatches == 1, "a mismatch is reported once");
	submit(f, 1, LARGE);
	coll_stream_granted(&f->stream[3], 1, COLL_GRANT_ALL, 6);
	tap_ok(f->mismatches == 2, "a grant after the call is compared");
	submit(f, coll_instance_keyed(1), LARGE);
	coll_stream_granted(&f->stream[2], coll_instance_keyed(1), COLL_GRANT_ALL, 6);
	tap_ok(f->mismatches == 2,
	       "a grant for a key is not: it may be for the next operation with the key");
	fixture_free(f);
}

static bool mismatches(u32 peer, u32 step, u64 offset, u32 len)
{
	struct fixture *f = fixture_new(1, 3);
	u64 position = 0;
	bool passed;

	submit(f, 0, 3 * HALF);
	passed = !arrive_frame(f, peer, 0, step, offset, len, ZEROCOPY, 2) &&
		 f->mismatches == 1 && result(f, 0, 3 * HALF, 0x99);
	passed &= controls_sent(f, peer, COLL_CONTROL_CONSUMED, &position) == 1 && position == len;
	fixture_free(f);
	return passed;
}

static void test_mismatch(void)
{
	struct fixture *f;

	tap_ok(mismatches(0, 0, 0, HALF + 1), "a frame longer than its step: mismatch, discarded");
	tap_ok(mismatches(0, 1, 0, 10), "the wrong step: mismatch");
	tap_ok(mismatches(0, 0, 10, 10), "the wrong offset: mismatch");
	tap_ok(mismatches(2, 0, 0, 10), "the wrong peer: mismatch");
	tap_ok(mismatches(0, 0, ~0ULL, 10), "the largest offset: mismatch");
	tap_ok(mismatches(0, ~0U, 0, 10), "the largest step: mismatch");
	tap_ok(mismatches(0, 0, 0, 0), "a signal where elements are expected: mismatch");

	f = fixture_new(0, 2);
	submit(f, 0, 64);
	arrive_head(f, 1, &(struct coll_data) {
		.lane = LANE, .flags = EAGER, .call = 0x0101, .length = 32,
	});
	tap_ok(f->mismatches == 1, "another call with as many bytes: mismatch");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit_barrier(f, 0);
	tap_ok(!arrive_frame(f, 1, 0, 0, 0, 10, EAGER, 2) && f->mismatches == 1 && !f->completed,
	       "elements where a signal is expected: mismatch");
	fixture_free(f);

	f = fixture_new(0, 2);
	arrive_frame(f, 1, 0, 0, 0, 7, EAGER, 2);
	submit(f, 0, 8);
	tap_ok(f->mismatches == 1 && !f->stream[1].unexp_len,
	       "an early frame is compared when its operation is submitted");
	fixture_free(f);
}

int main(void)
{
	tap_plan(0);
	test_abort_sending();
	test_abort_sent();
	test_abort_receiving();
	test_abort_referring();
	test_lease();
	test_protocol();
	test_mismatch();
	test_grant_digest();
	return tap_exit();
}
