// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work that a peer or a program can cause in the engine is bounded by the bytes it sends or
 * the calls it makes, not by the state that the engine has.  The tests count steps that are
 * computed, pieces, and calls of the memory's at(), not time.
 */
#include "engine_fixture.h"
#include "tap.h"

#define LARGE		(64 * 1024U)
#define EAGER		COLL_DATA_EAGER
#define ZEROCOPY	COLL_DATA_ZEROCOPY
#define FRAMES		1000U

/*
 * A schedule that counts the steps it computes
 */

static const struct coll_schedule *counted;
static u64 asked;

static u64 counting_steps(const struct coll_plan *plan)
{
	return counted->steps(plan);
}

static void counting_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	asked++;
	counted->step(plan, i, step);
}

static u64 counting_next(const struct coll_plan *plan, u64 i, bool sends)
{
	return counted->next(plan, i, sends);
}

static struct coll_schedule counting_of(const struct coll_plan *plan)
{
	struct coll_schedule counting;

	counted = coll_schedule_find(plan);
	counting = *counted;
	counting.steps = counting_steps;
	counting.step = counting_step;
	if (counted->next)
		counting.next = counting_next;
	asked = 0;
	return counting;
}

static struct coll_plan plan_of(u8 collective, u64 count, u32 rank, u32 nranks)
{
	return (struct coll_plan){
		.collective = collective,
		.type = COLLECTIVE_FLOAT32,
		.reduction = collective == COLLECTIVE_REDUCE_SCATTER ||
			     collective == COLLECTIVE_REDUCE ? COLLECTIVE_SUM : 0,
		.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
		.size = 4,
		.rank = rank,
		.nranks = nranks,
		.nlanes = 1,
		.count = count,
	};
}

static struct coll_task_args call_of(struct fixture *f, const struct coll_plan *plan)
{
	return (struct coll_task_args){
		.plan = *plan,
		.eager = coll_plan_eager(plan),
		.area = { &f->send.mem, &f->recv.mem, &f->send.mem },
	};
}

/* Eager frames of a task that is too large to be eager; the call is the same otherwise. */
static void test_not_eager(void)
{
	struct fixture *f = fixture_new(0, 1024);
	struct coll_plan plan = plan_of(COLLECTIVE_REDUCE_SCATTER, 1 << 28, 0, 1024);
	struct coll_schedule counting = counting_of(&plan);
	struct coll_data data = {
		.flags = EAGER | COLL_DATA_REQUEST, .step = 5, .call = coll_plan_call(&plan),
	};
	struct coll_task_args call;
	bool taken = true;
	u32 i;

	plan.schedule = &counting;
	call = call_of(f, &plan);
	submit_call(f, &call);
	asked = 0;
	for (i = 0; i < FRAMES; i++) {
		f->controls = 0;
		taken &= !arrive_head(f, 3, &data);
	}
	tap_ok(taken && f->mismatches == 1, "eager frames of a large task: one mismatch");
	tap_ok(!asked, "no step is computed for them (%llu)", (unsigned long long)asked);
	tap_ok(f->stream[3].rx_consumed == f->stream[3].rx_eager, "their credit is returned");
	fixture_free(f);
}

/* Frames of an eager task cost one step when they begin, and one when they end. */
static void test_early(void)
{
	static const u8 collectives[] = {
		COLLECTIVE_ALLTOALL, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_GATHER,
		COLLECTIVE_REDUCE,
	};
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(collectives); k++) {
		struct fixture *f = fixture_new(0, 1024);
		struct coll_plan plan = plan_of(collectives[k], 1, 0, 1024);
		struct coll_schedule counting = counting_of(&plan);
		struct coll_data data = {
			.flags = EAGER | COLL_DATA_REQUEST, .call = coll_plan_call(&plan),
		};
		struct coll_task_args call;

		plan.schedule = &counting;
		call = call_of(f, &plan);
		submit_call(f, &call);
		asked = 0;
		for (i = 0; i < FRAMES; i++)
			arrive_head(f, 3, &data);
		tap_ok(!f->mismatches && asked <= 2 * FRAMES,
		       "%s: at most two steps a frame (%llu)",
		       counted->name, (unsigned long long)asked);
		fixture_free(f);
	}
}

/* A reference for coll_task_awaits(), which looks at all steps that are left. */
static bool awaits(const struct coll_task *task, u32 peer)
{
	struct coll_step step;
	u64 i;

	for (i = task->rx_step; i < task->nsteps; i++) {
		coll_schedule_step(task->schedule, &task->args.plan, i, &step);
		if (step.from == peer && coll_half_moves(&step, step.from, &step.in))
			return true;
	}
	return false;
}

static bool awaits_agrees(const struct coll_plan *plan, const struct coll_schedule *schedule)
{
	struct coll_task task = {
		.args = { .plan = *plan, .eager = true },
		.schedule = schedule,
		.nsteps = schedule->steps(plan),
	};
	u32 peer;

	for (;; task.rx_step++) {
		task.rx_step = coll_schedule_next(schedule, plan, task.rx_step, task.nsteps, false,
						  &task.rx);
		for (peer = 0; peer < plan->nranks; peer++)
			if (coll_task_awaits(&task, peer) != awaits(&task, peer))
				return false;
		if (task.rx_step == task.nsteps)
			return true;
	}
}

/*
 * Set the plan to one of WAYS ways to call its collective.
 *
 * Return: its schedule; NULL if there is none, or it has a scratch window.
 */
static const struct coll_schedule *way_of(struct coll_plan *plan, u32 way)
{
	const struct coll_schedule *schedule;

	plan->algorithm = way / 8 % COLLECTIVE_ALGORITHM_COUNT;
	plan->varlen = way & 1;
	plan->reproducible = way & 2;
	plan->count = way & 4 ? 0 : 5;
	schedule = coll_schedule_find(plan);
	return schedule && !schedule->windowed ? schedule : NULL;
}

#define WAYS	(8 * COLLECTIVE_ALGORITHM_COUNT)

/* Return: the number of calls that were compared; 0 if one of them differs. */
static u32 collective_awaits(u8 collective)
{
	u32 n, rank, way, kinds = 0;

	for (n = 2; n < 14; n++)
		for (rank = 0; rank < n; rank++)
			for (way = 0; way < WAYS; way++) {
				struct coll_plan plan = plan_of(collective, 5, rank, n);
				const struct coll_schedule *schedule;

				plan.root = n / 3;
				schedule = way_of(&plan, way);
				if (schedule && !awaits_agrees(&plan, schedule))
					return 0;
				kinds += !!schedule;
			}
	return kinds;
}

static bool steps_few(u8 collective)
{
	u32 way;

	for (way = 0; way < WAYS; way++) {
		struct coll_plan plan = plan_of(collective, 5, 77, COLLECTIVE_RANKS_MAX);
		const struct coll_schedule *schedule = way_of(&plan, way);

		if (schedule && !schedule->ring && !schedule->last_from &&
		    schedule->steps(&plan) > COLL_STEPS_FEW)
			return false;
	}
	return true;
}

static void test_awaits(void)
{
	bool agrees = true, few = true;
	u8 c;

	for (c = 0; c < COLLECTIVE_OPCODE_COUNT; c++) {
		agrees &= collective_awaits(c) > 0;
		few &= steps_few(c);
	}
	tap_ok(agrees, "coll_task_awaits() agrees with a look at all steps");
	tap_ok(few, "schedules that have to look at all steps have few");
}

/*
 * Grants
 */

static void test_grants(void)
{
	struct fixture *f = fixture_new(1, 3);
	struct coll_plan plan = plan_of(COLLECTIVE_REDUCE, 1 << 20, 1, 3);
	struct coll_data data = { .flags = ZEROCOPY };
	u64 limit = 0;

	plan.algorithm = COLLECTIVE_ALGORITHM_RING;
	plan.root = 2;
	/* The chain is 0, 1, 2: received bytes go through a scratch window of 4 KiB here. */
	{
		struct coll_task_args call = call_of(f, &plan);
		struct flat window;

		flat_init(&window, 4096, 0);
		window.mem.at = window_at;
		call.area[COLL_AREA_SCRATCH] = &window.mem;
		submit_call(f, &call);
		tap_ok(controls_sent(f, 0, COLL_CONTROL_GRANT, &limit) == 1 && limit == 4096,
		       "the size of the scratch window is granted");
		data.call = coll_plan_call(&plan);
		data.step = plan.root;
		data.length = 2048;
		tap_ok(!arrive_head(f, 0, &data) && !arrive_bytes(f, 0, 1, 2048) &&
		       !f->mismatches, "a frame within the grant is accepted");
		data.offset = 2048;
		data.length = 2052;
		tap_ok(arrive_head(f, 0, &data) == -EPROTO && !f->mismatches,
		       "a frame beyond the grant is a protocol error");
		free(window.bytes);
	}
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, LARGE);
	tap_ok(!arrive_frame(f, 1, 0, 0, 0, 4096, EAGER, 2) && f->mismatches == 1 &&
	       result(f, 0, LARGE, 0x99), "an eager frame of a large task is discarded");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, 64);
	tap_ok(arrive_frame(f, 1, 0, 0, 0, 32, 0, 2) == -EPROTO,
	       "a frame of an eager task without credit or grant is refused");
	fixture_free(f);

	f = fixture_new(0, 2);
	submit(f, 0, 64);
	tap_ok(!arrive_frame(f, 1, 0, 0, 0, 0, EAGER | COLL_DATA_REQUEST, 0) &&
	       controls_sent(f, 1, COLL_CONTROL_GRANT, NULL) == 1 &&
	       !arrive_frame(f, 1, 0, 0, 0, 32, 0, 2) && !f->mismatches,
	       "a frame without credit is accepted after a request and a grant");
	fixture_free(f);
}

/* A task with a mismatch stores and sends nothing more. */
static void test_mismatched(void)
{
	struct fixture *f = fixture_new(0, 2);
	bool discarded = true;
	u32 i;

	submit(f, 0, LARGE);
	grant(f, 1, 0, COLL_GRANT_ALL);
	arrive_frame(f, 1, 0, 7, 0, 100, ZEROCOPY, 2);
	tap_ok(f->mismatches == 1, "a frame of the wrong step is a mismatch");
	for (i = 0; i < FRAMES; i++, f->controls = 0)
		discarded &= !arrive_frame(f, 1, 0, 0, 16 * i, 16, ZEROCOPY, 2);
	tap_ok(discarded && f->mismatches == 1 && result(f, 0, LARGE, 0x99),
	       "after a mismatch frames of the right step are discarded, too");
	tap_ok(!depart(f, 1) && !f->completed, "after a mismatch nothing is sent");
	coll_engine_abort(&f->engine, 0, -EBADMSG);
	tap_ok(f->completed == 1 && f->error == -EBADMSG,
	       "a task with a mismatch completes when it is aborted");
	fixture_free(f);
}

/*
 * The unexpected buffer
 */

#define INSTANCES		20U

static struct coll_task_args broadcast_of(struct fixture *f, u64 instance, u64 count)
{
	return (struct coll_task_args){
		.plan = {
			.collective = COLLECTIVE_BROADCAST,
			.type = COLLECTIVE_UINT8,
			.algorithm = COLLECTIVE_ALGORITHM_RING,
			.size = 1,
			.rank = 0,
			.nranks = 2,
			.root = 1,
			.nlanes = 1,
			.count = count,
		},
		.eager = true,
		.instance = instance,
		.area = { &f->send.mem, &f->recv.mem },
	};
}

/*
 * Early frames of many instances, which are submitted or fail in any order.  All frames
 * together are far longer than the unexpected buffer.
 */
static void test_unexpected(void)
{
	struct fixture *f = fixture_new(0, 2);
	u32 length[INSTANCES] = { 0 }, seed = 1, taken = 0, failed = 0, i;
	u64 instance[INSTANCES] = { 0 }, ninstances = 0, kept = 0;
	bool good = true;

	for (i = 0; i < 20000; i++, f->controls = 0) {
		u32 k, step;

		seed = seed * 1103515245 + 12345;
		k = (seed >> 16) % INSTANCES;
		step = (seed >> 8) % 8;
		if (!length[k]) {
			struct coll_task_args call =
				broadcast_of(f, coll_instance_keyed(++ninstances), 0);
			struct coll_data data = {
				.flags = EAGER, .call = coll_plan_call(&call.plan), .step = 1,
				.length = 1 + (seed >> 4) % 5000, .instance = call.instance,
			};

			good &= !arrive_head(f, 1, &data) &&
				!arrive_bytes(f, 1, ninstances, data.length);
			instance[k] = data.instance;
			length[k] = data.length;
			kept += COLL_DATA_SIZE + data.length;
		} else {
			struct coll_task_args call = broadcast_of(f, instance[k], length[k]);

			kept -= COLL_DATA_SIZE + length[k];
			if (step) {
				good &= !submit_call(f, &call) && !f->error &&
					result(f, 0, length[k], (u8)instance[k]);
				taken++;
			} else {
				fail(f, instance[k]);
				failed++;
			}
			length[k] = 0;
		}
		good &= f->stream[1].unexp_len == kept &&
			f->stream[1].unexp_end <= coll_unexp_bytes(COLL_CREDIT);
	}
	tap_ok(good && f->completed == taken && failed > 100 && !f->mismatches,
	       "%u early frames are delivered in any order, %u are dropped", taken, failed);
	fixture_free(f);
}

/* The unexpected buffer is full of headers of many keys, all of which fail. */
static void test_unexpected_full(void)
{
	struct fixture *f = fixture_new(0, 2);
	u32 i, most = (COLL_CREDIT - COLL_CREDIT_KEPT / 2) / COLL_DATA_SIZE;
	bool kept = true;

	for (i = 0; i < most; i++)
		kept &= !arrive_frame(f, 1, coll_instance_keyed(i / 2), 0, 0, 0,
				      EAGER | COLL_DATA_REQUEST, 0);
	tap_ok(kept && f->stream[1].unexp_len == most * COLL_DATA_SIZE,
	       "the unexpected buffer holds as many frames as the credit allows");
	for (i = 0; i < most / 2; i++, f->controls = 0)
		fail(f, coll_instance_keyed(i));
	tap_ok(!f->stream[1].unexp_len, "all of them are dropped when their operations fail");
	fixture_free(f);
}

/*
 * Short pieces of memory
 */

/* Memory in pieces of one byte, which counts the calls of its at(). */
struct grains {
	struct coll_mem mem;
	u8 *bytes;
	u64 looks;
};

static u64 looks_held, looks_most;

static void *grains_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	struct grains *grains = container_of(mem, struct grains, mem);

	grains->looks++;
	looks_held++;
	*len = 1;
	return grains->bytes + off;
}

static void grains_init(struct grains *grains, u64 length, u8 byte)
{
	grains->mem.at = grains_at;
	grains->mem.length = length;
	grains->bytes = memset(malloc(length), byte, length);
	grains->looks = 0;
}

static void grains_fpu(void *ctx, bool begin)
{
	(void)ctx;
	if (begin)
		looks_held = 0;
	else
		looks_most = max(looks_most, looks_held);
}

/* The most calls of at() for COLL_PIECES_MAX pieces: one per piece for each of three memories. */
#define LOOKS_MAX	(4 * COLL_PIECES_MAX + 16)

static void test_sink(void)
{
	struct grains dst, own;
	struct coll_sink sink = {
		.kind = COLL_SINK_REDUCE, .type = COLLECTIVE_UINT8,
		.reduction = COLLECTIVE_SUM, .size = 1, .dst = &dst.mem, .own = &own.mem,
		.left = 10000, .impl = &coll_reduce_scalar,
	};
	u8 bytes[10000];
	u64 most = 0, cost = 0, calls = 0;
	u32 done = 0, i;
	bool good = true;

	memset(bytes, 2, sizeof(bytes));
	grains_init(&dst, sizeof(bytes), 0);
	grains_init(&own, sizeof(bytes), 3);
	for (; done < sizeof(bytes); calls++) {
		dst.looks = 0;
		own.looks = 0;
		done += coll_sink(&sink, bytes + done, sizeof(bytes) - done);
		most = max(most, dst.looks + own.looks);
		cost = max(cost, sink.cost);
	}
	for (i = 0; i < sizeof(bytes); i++)
		good &= dst.bytes[i] == 5;
	tap_ok(good && calls == DIV_ROUND_UP(sizeof(bytes), COLL_PIECES_MAX) && most <= LOOKS_MAX,
	       "a sink takes COLL_PIECES_MAX short pieces at a time (%llu looks)",
	       (unsigned long long)most);
	tap_ok(cost == COLL_PIECES_MAX * COLL_PIECE_COST, "a sink reports their cost");

	/* The sink's own operand is the element behind the one that it writes. */
	sink = (struct coll_sink){
		.kind = COLL_SINK_REDUCE, .type = COLLECTIVE_UINT8,
		.reduction = COLLECTIVE_SUM, .size = 1, .dst = &dst.mem, .own = &dst.mem,
		.own_off = 1, .left = 9999, .impl = &coll_reduce_scalar,
	};
	dst.mem.at = flat_at;
	done = coll_sink(&sink, bytes, 9999);
	tap_ok(done == COLL_PIECES_MAX && sink.cost == COLL_PIECES_MAX * COLL_PIECE_COST,
	       "an operand that overlaps the result makes pieces short, too");
	free(dst.bytes);
	free(own.bytes);
}

/* Memory in pages; the bytes begin just before the end of one. */
static void *pages_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	flat_at(mem, off, len);
	*len = min_t(u64, *len, 4096 - off % 4096);
	return container_of(mem, struct flat, mem)->bytes + off;
}

static void test_pages(void)
{
	struct coll_sink sink = { .kind = COLL_SINK_COPY, .size = 1, .left = 30000, };
	struct flat dst;
	u8 *bytes = memset(malloc(30000), 4, 30000);

	flat_init(&dst, 40000, 0);
	dst.mem.at = pages_at;
	sink.dst = &dst.mem;
	sink.dst_off = 4094;
	sink.impl = &coll_reduce_scalar;
	tap_ok(coll_sink(&sink, bytes, 30000) == 30000 && sink.cost == 30000 &&
	       dst.bytes[4094] == 4 && dst.bytes[34093] == 4,
	       "a few bytes at the end of a page do not count as a short piece");
	free(dst.bytes);
	free(bytes);
}

/* An early frame of as many pieces as bytes is delivered in sections. */
static void test_sections(void)
{
	struct coll_engine_ops ops = fixture_ops;
	struct fixture *f = fixture_new(1, 2);
	struct grains dst;
	u64 used, all = 0, most = 0;
	struct coll_task_args call = {
		.plan = {
			.collective = COLLECTIVE_SCAN, .type = COLLECTIVE_UINT8,
			.algorithm = COLLECTIVE_ALGORITHM_RING, .size = 1, .rank = 1,
			.nranks = 2, .nlanes = 1, .count = 30000,
		},
		.eager = true,
	};
	struct coll_data data = {
		.flags = EAGER, .call = coll_plan_call(&call.plan), .length = 30000,
	};
	struct coll_task *task = calloc(1, sizeof(*task));

	ops.fpu = grains_fpu;
	f->engine.ops = &ops;
	f->engine.impl = &coll_reduce_scalar;
	grains_init(&dst, 30000, 0);
	call.area[COLL_AREA_SEND] = &dst.mem;
	call.area[COLL_AREA_RECV] = &dst.mem;
	arrive_head(f, 0, &data);
	arrive_bytes(f, 0, 2, 30000);
	task->args = call;
	coll_engine_begin(&f->engine, task);
	looks_most = 0;
	tap_ok(!f->completed, "a long early frame is not delivered when its task starts");
	while ((used = coll_engine_deliver_some(&f->engine, 1))) {
		all += used;
		most = max(most, used);
	}
	tap_ok(f->completed == 1 && dst.bytes[0] == 2 && dst.bytes[29999] == 2 &&
	       all == 30000 * COLL_PIECE_COST, "it is delivered on a budget, which is charged");
	tap_ok(looks_most && looks_most <= LOOKS_MAX,
	       "no section that holds the FPU has more pieces (%llu looks)",
	       (unsigned long long)looks_most);
	free(dst.bytes);
	fixture_free(f);
}

/* A copy on this rank is done in slices, which are limited by pieces as well. */
static void test_copies(void)
{
	struct fixture *f = fixture_new(0, 1);
	struct grains src, dst;
	struct coll_task_args call = {
		.plan = {
			.collective = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_UINT8,
			.algorithm = COLLECTIVE_ALGORITHM_RING, .size = 1, .nranks = 1,
			.nlanes = 1, .count = 5000,
		},
	};
	u64 most = 0;
	u32 turns = 0;

	grains_init(&src, 5000, 6);
	grains_init(&dst, 5000, 0);
	call.area[COLL_AREA_SEND] = &src.mem;
	call.area[COLL_AREA_RECV] = &dst.mem;
	submit_call(f, &call);
	for (;; turns++) {
		src.looks = 0;
		dst.looks = 0;
		if (!coll_engine_move(&f->engine, COLL_PIECES_MAX * COLL_PIECE_COST))
			break;
		most = max(most, src.looks + dst.looks);
	}
	tap_ok(f->completed == 1 && dst.bytes[4999] == 6 && most <= LOOKS_MAX && turns >= 19,
	       "local copies are done in slices (%llu looks)", (unsigned long long)most);
	free(src.bytes);
	free(dst.bytes);
	fixture_free(f);
}

/* In place, the saved input is copied in slices, and nothing is sent or stored before that. */
static void test_saved_input(void)
{
	struct fixture *f = fixture_new(0, 4);
	struct grains mem;
	struct flat scratch;
	struct coll_task_args call = {
		.plan = {
			.collective = COLLECTIVE_ALLTOALL, .type = COLLECTIVE_UINT8,
			.size = 1, .nranks = 4, .nlanes = 1, .count = 1000, .in_place = true,
		},
		.eager = true,
	};
	struct coll_data data = {
		.flags = EAGER, .call = coll_plan_call(&call.plan), .step = 1, .length = 1000,
	};
	u32 peer, turns = 0;
	u64 first;

	flat_init(&scratch, 4000, 0);
	grains_init(&mem, 4000, 7);
	call.area[COLL_AREA_SEND] = &mem.mem;
	call.area[COLL_AREA_RECV] = &mem.mem;
	call.area[COLL_AREA_SCRATCH] = &scratch.mem;
	submit_call(f, &call);
	first = mem.looks;
	tap_ok(first <= LOOKS_MAX && !depart(f, 1),
	       "the first slice of the saved input is bounded; nothing is sent");
	arrive_head(f, 1, &data);
	arrive_bytes(f, 1, 1, 1000);
	tap_ok(f->stream[1].unexp_len && mem.bytes[1000] == 7 && !f->mismatches,
	       "received bytes do not overwrite input that is not saved");
	while (coll_engine_move(&f->engine, 1000))
		turns++;
	engine_deliver_unexpected(&f->engine);
	tap_ok(turns > 10 && !f->stream[1].unexp_len && mem.bytes[1000] == 1 && depart(f, 1) == 1,
	       "they are stored, and bytes are sent, when all input is saved");
	for (peer = 2; peer < 4; peer++) {
		data.step = peer;
		arrive_head(f, peer, &data);
		arrive_bytes(f, peer, 1, 1000);
		depart(f, peer);
	}
	tap_ok(f->completed == 1 && !f->error && scratch.bytes[3999] == 7,
	       "a task with saved input completes");

	call.instance = 1;
	submit_call(f, &call);
	coll_engine_abort(&f->engine, 1, -ECANCELED);
	tap_ok(f->completed == 2 && f->error == -ECANCELED &&
	       !coll_engine_move(&f->engine, 1000), "a task may fail before its input is saved");
	free(mem.bytes);
	free(scratch.bytes);
	fixture_free(f);
}

/*
 * Many tasks in progress
 */

static u64 gone_asked;

static bool gone_one(void *ctx, const struct coll_task *task, u32 peer)
{
	(void)task;
	(void)ctx;
	gone_asked++;
	return peer == 1;
}

static bool gone_none(void *ctx, const struct coll_task *task, u32 peer)
{
	(void)task;
	(void)ctx;
	(void)peer;
	gone_asked++;
	return false;
}

/* The search for tasks that lack a departed peer looks once at each task and peer. */
static void test_gone(void)
{
	struct fixture *f = fixture_new(0, 3);
	u32 i;

	for (i = 0; i < 10; i++)
		submit(f, i, LARGE);
	gone_asked = 0;
	tap_ok(coll_engine_find_lacking(&f->engine, false, gone_none) == COLL_NO_RANK &&
	       gone_asked == 2 * 10, "no departed peer: each task and peer is looked at once");
	tap_ok(coll_engine_find_lacking(&f->engine, false, gone_one) == 1,
	       "a task that lacks a departed peer is found");
	for (i = 0; i < 10; i++)
		grant(f, 1, i, 1000);
	depart(f, 1);
	coll_engine_abort(&f->engine, COLL_INSTANCE_GROUP, -EIO);
	tap_ok(coll_engine_find_lacking(&f->engine, false, gone_one) == COLL_NO_RANK &&
	       coll_engine_find_lacking(&f->engine, true, gone_one) == 1,
	       "a failed task lacks a peer only if that reads its memory");
	coll_stream_consumed(&f->stream[1], 10000);
	tap_ok(f->completed == 10 &&
	       coll_engine_find_lacking(&f->engine, true, gone_one) == COLL_NO_RANK,
	       "it does not when the memory is consumed");
	fixture_free(f);
}

/* Many tasks send to one peer: none is looked at before its grant or its CONSUMED. */
static void test_many(void)
{
	struct fixture *f = fixture_new(1, 2);
	struct coll_plan plan = broadcast_of(f, 0, 100000).plan;
	struct coll_schedule counting;
	struct coll_task_args call;
	struct coll_out out;
	struct coll_task *task;
	u32 i, waiting = 0, order = 0;
	bool sorted = true;

	plan.rank = 1;
	counting = counting_of(&plan);
	plan.schedule = &counting;
	for (i = 0; i < SLOTS - 2; i++) {
		call = broadcast_of(f, coll_instance_keyed(i), 100000);
		call.plan = plan;
		call.eager = false;
		submit_call(f, &call);
	}
	tap_ok(!depart(f, 0) && list_empty(&f->stream[0].sending),
	       "tasks without a grant are not in the list of senders");
	list_for_each_entry(task, &f->stream[0].waiting, tx_node)
		waiting++;
	tap_ok(waiting == SLOTS - 2, "they are in the list of waiting tasks");

	/* The grants arrive in another order than the calls. */
	for (i = SLOTS - 2; i--;)
		grant(f, 0, coll_instance_keyed(i), 1000);
	list_for_each_entry(task, &f->stream[0].sending, tx_node)
		sorted &= task->args.instance == coll_instance_keyed(order++);
	tap_ok(sorted && order == SLOTS - 2, "granted tasks are in the order of their calls");
	grant(f, 0, coll_instance_keyed(3), 2000);
	tap_ok(coll_stream_next(&f->stream[0], &out) &&
	       f->stream[0].tx_task->args.instance == coll_instance_keyed(0),
	       "the first task is sent first");
	depart(f, 0);

	f->controls = 0;
	f->completed = 0;
	for (i = 0; i < SLOTS - 2; i++)
		grant(f, 0, coll_instance_keyed(i), COLL_GRANT_ALL);
	depart(f, 0);
	while (coll_engine_move(&f->engine, 1 << 20))
		;
	order = 0;
	for (i = 0; i < SLOTS - 2; i++)
		order += !list_empty(&f->stream[0].zc_refs);
	tap_ok(order && !f->completed, "zero-copy references are in a list by position");
	coll_stream_consumed(&f->stream[0], 1000 * (SLOTS - 1) + 99000);
	tap_ok(f->completed == 1, "CONSUMED completes the first task of the list");
	coll_stream_consumed(&f->stream[0], f->stream[0].tx_position);
	tap_ok(f->completed == SLOTS - 2 && list_empty(&f->stream[0].zc_refs),
	       "CONSUMED completes all others in order");
	fixture_free(f);
}

int main(void)
{
	tap_plan(0);
	test_many();
	test_gone();
	test_sink();
	test_pages();
	test_sections();
	test_copies();
	test_saved_input();
	test_unexpected();
	test_unexpected_full();
	test_not_eager();
	test_early();
	test_awaits();
	test_grants();
	test_mismatched();
	return tap_exit();
}
