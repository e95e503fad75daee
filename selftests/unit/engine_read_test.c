// SPDX-License-Identifier: GPL-2.0-only
/* One engine that reads the memory of the others: a fused allreduce of rank 0 of 3, or of 2. */
#include "engine_fixture.h"
#include "tap.h"

#define NRANKS		3
#define COUNT		120000U		/* bytes, more than one piece of each chunk */
#define ROUNDS		2		/* of a barrier */
#define REDUCTION	ROUNDS		/* number of that step */
#define SECOND		(ROUNDS + 1)	/* first step of the second barrier */
#define LAST		(2 * ROUNDS + NRANKS)

/**
 * struct world - what the other ranks expose
 * @nranks: number of ranks, this one included
 * @withdrawn: by rank: true if it exposes nothing any more
 * @len: by rank: bytes that it exposes of each
 * @reading: by rank: number of reads that have begun and not ended
 * @reads: number of reads that have begun
 * @exposes: number of calls of expose()
 * @withdraws: number of calls of withdraw()
 * @busy: true if another rank reads this rank's memory
 */
static struct world {
	u32 nranks;
	struct flat input[NRANKS];
	struct flat output[NRANKS];
	bool withdrawn[NRANKS];
	u64 len[NRANKS];
	u32 reading[NRANKS];
	u32 reads;
	u32 exposes;
	u32 withdraws;
	bool busy;
} world;

static void on_expose(void *ctx, struct coll_task *task)
{
	(void)ctx;
	(void)task;
	world.exposes++;
}

static bool on_withdraw(void *ctx, struct coll_task *task)
{
	(void)ctx;
	(void)task;
	world.withdraws++;
	return !world.busy;
}

static bool on_begin_read(void *ctx, struct coll_task *task, u32 peer, u32 area,
			  struct coll_exposed *exposed)
{
	(void)ctx;
	(void)task;
	if (world.withdrawn[peer])
		return false;
	world.reads++;
	world.reading[peer]++;
	exposed->mem = area == COLL_AREA_SEND ? &world.input[peer].mem : &world.output[peer].mem;
	exposed->off = 0;
	exposed->len = world.len[peer];
	return true;
}

static void on_end_read(void *ctx, struct coll_task *task, u32 peer)
{
	(void)ctx;
	(void)task;
	world.reading[peer]--;
}

static struct coll_engine_ops read_ops;

static struct coll_plan plan_of(void)
{
	return (struct coll_plan){
		.collective = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.reduction = COLLECTIVE_SUM,
		.reads = true,
		.size = 1,
		.nranks = world.nranks,
		.nlanes = 1,
		.count = COUNT,
	};
}

/* Rank p exposes an input of bytes 1 + p and a result of bytes 0x70 + p. */
static struct fixture *world_new_of(u32 nranks)
{
	struct fixture *f = fixture_new(0, nranks);
	u32 i;

	read_ops = fixture_ops;
	read_ops.expose = on_expose;
	read_ops.withdraw = on_withdraw;
	read_ops.begin_read = on_begin_read;
	read_ops.end_read = on_end_read;
	f->engine.ops = &read_ops;
	world = (struct world){ .nranks = nranks };
	for (i = 0; i < NRANKS; i++) {
		world.len[i] = COUNT;
		flat_init(&world.input[i], COUNT, 1 + i);
		flat_init(&world.output[i], COUNT, 0x70 + i);
	}
	return f;
}

static struct fixture *world_new(void)
{
	return world_new_of(NRANKS);
}

static void world_free(struct fixture *f)
{
	u32 i;

	for (i = 0; i < NRANKS; i++) {
		free(world.input[i].bytes);
		free(world.output[i].bytes);
	}
	fixture_free(f);
}

static int submit_fused(struct fixture *f)
{
	struct coll_task_args call = {
		.plan = plan_of(),
		.area = { &f->send.mem, &f->recv.mem },
	};

	call.eager = coll_plan_eager(&call.plan);
	return submit_call(f, &call);
}

/* A signal of a peer arrives, which has called with @count. */
static int signal_count(struct fixture *f, u32 peer, u32 step, u64 count)
{
	struct coll_plan plan = plan_of();
	struct coll_data data = {
		.lane = LANE, .flags = COLL_DATA_EAGER, .step = step,
		.call = coll_plan_call(&plan), .offset = count,
	};

	return arrive_head(f, peer, &data);
}

/* A signal of a peer arrives. */
static int signal_step(struct fixture *f, u32 peer, u32 step)
{
	return signal_count(f, peer, step, COUNT);
}

/* All signals of the barrier that begins with step @first: round k is from rank -2^k. */
static int signal_barrier(struct fixture *f, u32 first)
{
	int err = signal_step(f, 2, first);

	return err ? err : signal_step(f, 1, first + 1);
}

static void copy_all(struct fixture *f)
{
	while (coll_engine_move(&f->engine, 1))
		engine_deliver_unexpected(&f->engine);
}

static void drain(struct fixture *f)
{
	u32 peer;

	for (peer = 1; peer < NRANKS; peer++)
		depart(f, peer);
}

static u64 chunk(u32 index)
{
	struct coll_plan plan = plan_of();

	return coll_plan_chunk(&plan, index).count;
}

static void test_success(void)
{
	struct fixture *f = world_new();
	const struct coll_fuse_stats *read = &f->engine.stats.read;
	struct coll_data data;

	tap_ok(!submit_fused(f) && world.exposes == 1 && !f->controls && next_header(f, 1, &data) &&
	       !data.length && data.flags == COLL_DATA_EAGER && data.step == 0,
	       "a rank exposes its memory, and sends a signal that needs no grant");
	drain(f);
	tap_ok(!signal_step(f, 1, 1) && !coll_engine_move(&f->engine, 1) && !world.reads,
	       "nothing is read before all ranks take part; a signal of a later round waits");
	tap_ok(!signal_step(f, 2, 0) && coll_engine_move(&f->engine, 1) && world.reads == 2 &&
	       read->own * NRANKS <= 64 * 1024 && read->own && !f->fpu &&
	       !world.reading[1] && !world.reading[2],
	       "then at most 64 KiB are read at a time, and a read ends before the next");
	tap_ok(!signal_step(f, 2, SECOND) && f->mismatches == 0, "an early signal waits");
	copy_all(f);
	drain(f);
	tap_ok(result(f, 0, chunk(0), 1 + 2 + 3) && result(f, chunk(0), 100, 0x99) &&
	       read->peers == 2 * chunk(0) && read->own == chunk(0) && read->stored == chunk(0),
	       "each input is read once, and the sum is stored once");
	tap_ok(!signal_step(f, 1, SECOND + 1) && coll_engine_move(&f->engine, 1),
	       "when all chunks are final, those of the others are copied");
	copy_all(f);
	drain(f);
	tap_ok(result(f, chunk(0), chunk(1), 0x71) &&
	       result(f, chunk(0) + chunk(1), chunk(2), 0x72) && result(f, COUNT, 50, 0x99) &&
	       read->peers == 2 * chunk(0) + chunk(1) + chunk(2) && read->stored == COUNT,
	       "straight from their results");
	tap_ok(!f->completed && !signal_barrier(f, LAST) && !f->completed,
	       "the operation waits until its own last signal is sent");
	drain(f);
	tap_ok(f->completed == 1 && !f->error && world.withdraws == 1 && !f->controls,
	       "then it is complete, and exposes nothing more");
	world_free(f);
}

static void test_withdrawn(void)
{
	struct fixture *f = world_new();

	world.withdrawn[2] = true;
	tap_ok(!submit_fused(f) && !signal_barrier(f, 0) && coll_engine_move(&f->engine, 1) &&
	       world.reads == 1 && !world.reading[1] && result(f, 0, COUNT, 0x99),
	       "if one input is withdrawn, none is read");
	tap_ok(!coll_engine_move(&f->engine, 1) && !f->completed,
	       "the operation neither continues nor completes");
	tap_ok(coll_task_awaited(coll_task_find(&f->engine, 0)) == 2,
	       "and waits for the rank that has withdrawn its input");
	drain(f);
	fail(f, 0);
	tap_ok(f->completed == 1 && f->error == -ECANCELED, "before it is aborted");
	world_free(f);

	f = world_new();
	tap_ok(!submit_fused(f) && !signal_barrier(f, 0), "a fused operation");
	drain(f);
	copy_all(f);
	drain(f);
	world.withdrawn[1] = true;
	tap_ok(!signal_barrier(f, SECOND) && coll_engine_move(&f->engine, 1) &&
	       result(f, chunk(0), COUNT - chunk(0), 0x99) && !coll_engine_move(&f->engine, 1),
	       "a result that is withdrawn is not copied");
	tap_ok(coll_task_awaited(coll_task_find(&f->engine, 0)) == 1,
	       "and its owner is waited for");
	fail(f, 0);
	drain(f);
	tap_ok(f->completed == 1 && f->error == -ECANCELED, "and the operation fails");
	world_free(f);
}

/* Signals do not tell blocks that differ, so those of another rank are not noticed before. */
static void test_short(void)
{
	struct fixture *f = world_new();

	world.len[2] = chunk(0) - 1;
	tap_ok(!submit_fused(f) && !signal_barrier(f, 0) && coll_engine_move(&f->engine, 1) &&
	       f->mismatches == 1 && !world.reading[1] && !world.reading[2] &&
	       coll_task_awaited(coll_task_find(&f->engine, 0)) == 2 &&
	       result(f, 0, COUNT, 0x99),
	       "an input that is shorter than what is read is a mismatch, and nothing is read");
	tap_ok(!coll_engine_move(&f->engine, 1) && f->mismatches == 1 && !f->completed,
	       "which is reported once");
	fail(f, 0);
	drain(f);
	tap_ok(f->completed == 1 && f->error == -ECANCELED, "the operation fails");
	world_free(f);

	f = world_new();
	world.len[2] = chunk(0);
	tap_ok(!submit_fused(f) && !signal_barrier(f, 0), "an input of which enough is exposed");
	drain(f);
	copy_all(f);
	drain(f);
	world.len[1] = chunk(0) + chunk(1) - 1;
	tap_ok(!f->mismatches && !signal_barrier(f, SECOND) && coll_engine_move(&f->engine, 1) &&
	       f->mismatches == 1 && !world.reading[1] &&
	       result(f, chunk(0), COUNT - chunk(0), 0x99), "and a result that is too short");
	fail(f, 0);
	drain(f);
	world_free(f);
}

static void test_exposed(void)
{
	const u64 first[NRANKS + 1] = { 0, 5, 5, 19 };
	struct coll_plan plan = plan_of();

	plan.size = 4;
	tap_ok(coll_plan_exposed(&plan, COLL_AREA_SEND) == 4 * COUNT &&
	       coll_plan_exposed(&plan, COLL_AREA_RECV) == 4 * COUNT,
	       "an allreduce exposes input and result");
	plan.collective = COLLECTIVE_REDUCE;
	tap_ok(coll_plan_exposed(&plan, COLL_AREA_SEND) == 4 * COUNT &&
	       !coll_plan_exposed(&plan, COLL_AREA_RECV), "a reduce only its input");
	plan.collective = COLLECTIVE_REDUCE_SCATTER;
	tap_ok(coll_plan_exposed(&plan, COLL_AREA_SEND) == 4ULL * NRANKS * COUNT &&
	       !coll_plan_exposed(&plan, COLL_AREA_RECV), "so does a reduce_scatter");
	plan.send_first = first;
	tap_ok(coll_plan_exposed(&plan, COLL_AREA_SEND) == 4 * 19, "whatever its blocks are");
}

static void test_abort(void)
{
	struct fixture *f = world_new();

	tap_ok(!submit_fused(f) && !signal_barrier(f, 0), "a fused operation");
	drain(f);
	world.busy = true;
	fail(f, 0);
	tap_ok(!f->completed && world.withdraws && !coll_engine_move(&f->engine, 1),
	       "an aborted operation reads no more, and waits while another rank reads it");
	coll_engine_withdrawn(&f->engine, 0);
	tap_ok(!f->completed, "as long as it takes");
	world.busy = false;
	coll_engine_withdrawn(&f->engine, 0);
	tap_ok(f->completed == 1 && f->error == -ECANCELED, "then it completes");
	coll_engine_withdrawn(&f->engine, 0);
	tap_ok(f->completed == 1, "once");
	world_free(f);
}

static void test_foreign(void)
{
	struct fixture *f = world_new();

	tap_ok(!submit_fused(f) && !signal_barrier(f, 0) && !signal_step(f, 2, SECOND + 1) &&
	       !f->mismatches, "while a rank reads, a signal waits, whatever it says");
	copy_all(f);
	tap_ok(f->mismatches == 1, "a signal of another step is a mismatch when its turn comes");
	fail(f, 0);
	world_free(f);
}

static void test_count(void)
{
	struct fixture *f = world_new();
	struct coll_plan plan = plan_of();
	struct coll_data data;

	tap_ok(!submit_fused(f) && next_header(f, 1, &data) && data.offset == COUNT,
	       "a signal tells the count");
	tap_ok(coll_plan_implicit_match(&plan), "so the calls need not be compared beside it");
	drain(f);
	tap_ok(!signal_count(f, 2, 0, COUNT - 1) && f->mismatches == 1,
	       "a signal with another count is a mismatch");
	tap_ok(!signal_step(f, 1, 1) && !coll_engine_move(&f->engine, 1) && !world.reads,
	       "and nothing is read");
	fail(f, 0);
	tap_ok(f->completed == 1 && f->error == -ECANCELED, "before the operation fails");
	world_free(f);

	f = world_new();
	tap_ok(!signal_count(f, 1, 1, COUNT + 1) && !submit_fused(f), "an early signal");
	drain(f);
	tap_ok(!signal_step(f, 2, 0) && f->mismatches == 1,
	       "of another count likewise, in its turn");
	fail(f, 0);
	world_free(f);
	for (plan.collective = 0; plan.collective < COLLECTIVE_OPCODE_COUNT; plan.collective++)
		if (coll_schedule_find(&plan) && coll_schedule_find(&plan)->reads)
			tap_ok(coll_plan_implicit_match(&plan), "%s matches by its signals",
			       coll_schedule_find(&plan)->name);
}

/* The peer grants the first signal; this rank must ask again for the one after the reduction. */
static void test_starved(void)
{
	struct fixture *f = world_new_of(2);
	struct coll_stream *peer = &f->stream[1];
	struct coll_data data;

	peer->tx_eager = peer->tx_credit - COLL_DATA_SIZE;
	tap_ok(!submit_fused(f) && next_header(f, 1, &data) &&
	       data.flags == (COLL_DATA_EAGER | COLL_DATA_REQUEST),
	       "where credit is short, a signal asks for a grant");
	drain(f);
	tap_ok(!coll_stream_credited(peer, COLL_DATA_SIZE, COLL_CREDIT_UNASKED) &&
	       !grant(f, 1, 0, COLL_GRANT_ALL) &&
	       next_header(f, 1, &data) && !data.flags && !data.step,
	       "and needs no credit once it is granted");
	drain(f);
	tap_ok(!signal_step(f, 1, 0) && coll_engine_move(&f->engine, 1), "the ranks reduce");
	copy_all(f);
	tap_ok(next_header(f, 1, &data) && data.step == 2 &&
	       data.flags == (COLL_DATA_EAGER | COLL_DATA_REQUEST),
	       "the next signal asks again");
	fail(f, 0);
	drain(f);
	world_free(f);
}

int main(void)
{
	tap_plan(0);
	test_success();
	test_withdrawn();
	test_short();
	test_exposed();
	test_abort();
	test_foreign();
	test_count();
	test_starved();
	return tap_exit();
}
