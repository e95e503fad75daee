// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queries: groups of ranks that pass QUERY and ANSWER on, as kmod/net/query_links.c does, over
 * links that lose frames, are closed, or have no space; and ranks that send whatever they like.
 */
#include "tap.h"

#include <stdlib.h>

#include "core/query/query.h"

#include <linux/collective.h>

#define RANKS_MAX	1024
#define SECOND		1000000000ULL
#define INCARNATION	7

/**
 * struct rank - one rank
 * @dead: true if it neither answers nor passes anything on
 * @relay: queries of others
 * @survey: its own query
 * @taken: queries that it took part in
 * @sent: ANSWER frames that it sent
 */
struct rank {
	bool dead;
	struct coll_query_relay relay;
	struct coll_survey survey;
	u32 taken;
	u32 sent;
};

/**
 * struct packet - a frame on its way
 * @from: rank that has sent it
 * @to: rank that receives it
 * @bytes: the frame
 */
struct packet {
	u32 from;
	u32 to;
	u8 bytes[COLL_CONTROL_SIZE];
};

static struct rank ranks[RANKS_MAX];
static struct packet *packets;
static size_t npackets, packets_max;
static u32 nranks, loss, strays;
static u64 now, state = 1;

static u32 below(u32 n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % n;
}

static void begin(u32 n)
{
	u32 i;

	for (i = 0; i < nranks; i++)
		free(ranks[i].survey.entries);
	memset(ranks, 0, sizeof(ranks));
	nranks = n;
	npackets = 0;
	loss = 0;
	now = SECOND;
	for (i = 0; i < n; i++) {
		ranks[i].survey.nranks = n;
		ranks[i].survey.entries = calloc(n, sizeof(struct coll_survey_entry));
	}
}

/* Ranks have links at distances on the ring that are powers of two. */
static bool has_link(u32 a, u32 b)
{
	u32 distance = (a + nranks - b) % nranks, back = nranks - distance;

	return a != b && (!(distance & (distance - 1)) || !(back & (back - 1)));
}

static void send(u32 from, u32 to, const struct coll_control *control)
{
	struct packet *packet;

	/* Only neighbours can be reached. */
	strays += !has_link(from, to);
	if (loss && !below(loss))
		return;
	if (npackets == packets_max) {
		packets_max = 2 * packets_max + 64;
		packets = realloc(packets, packets_max * sizeof(*packets));
	}
	packet = &packets[npackets++];
	packet->from = from;
	packet->to = to;
	coll_wire_put_control(packet->bytes, control, INCARNATION);
}

/* Has each rank something to say in every part of its answer? */
static bool has_all_parts;

static struct coll_answer answer_of(u32 rank)
{
	struct coll_answer answer = {
		.parts = 1U << COLL_ANSWER_STATE | 1U << COLL_ANSWER_LAST,
		.pid = 1000 + rank,
		.state = COLLECTIVE_STATE_UP,
		.counted = rank,
		.has_submitted = true,
		.submitted = rank,
	};

	coll_answer_add_wait(&answer, (rank + 1) % nranks, 1000 * (rank + has_all_parts));
	if (rank % 2) {
		answer.parts |= 1U << COLL_ANSWER_OLDEST;
		answer.oldest = rank;
		answer.nwaits = 1;
		answer.waits[0] = rank - 1;
	}
	coll_answer_set_node(&answer, rank % 3 ? "a" : "a-rather-long-name-of-a-host.example.org");
	if (has_all_parts) {
		coll_answer_set_node(&answer, "a-host-with-a-name-of-all-parts.of-it.example.org");
		answer.failed = (struct coll_answer_failure){
			.instance = rank,
			.kind = COLLECTIVE_REASON_DEADLINE,
			.error = ETIMEDOUT,
			.rank_a = rank,
			.rank_b = COLLECTIVE_RANK_NONE,
		};
		answer.group = answer.failed;
		answer.links.narrow_kib = 1;
		answer.links.wide_kib = 1;
		answer.parts = (1U << COLL_ANSWER_PARTS) - 1;
	}
	return answer;
}

static void pass_on(u32 rank, const struct coll_answer_frame *frame)
{
	struct coll_control control = { .kind = COLL_CONTROL_ANSWER, .answer = *frame };
	u32 parent;

	if (frame->origin == rank) {
		coll_survey_receive(&ranks[rank].survey, frame, now);
		return;
	}
	if (!coll_relay_parent(&ranks[rank].relay, frame->origin, frame->number, now, &parent))
		return;
	ranks[rank].sent++;
	send(rank, parent, &control);
}

static void answer(u32 rank, const struct coll_query *query)
{
	struct coll_answer_frame frame = {
		.origin = query->origin, .number = query->number, .rank = rank,
	};
	struct coll_answer answer = answer_of(rank);

	for (frame.part = 0; frame.part < COLL_ANSWER_PARTS; frame.part++) {
		if (!(answer.parts & 1U << frame.part))
			continue;
		coll_answer_put(frame.body, &answer, frame.part);
		pass_on(rank, &frame);
	}
}

static void spread(u32 rank, const struct coll_query *query, u32 except)
{
	struct coll_control control = { .kind = COLL_CONTROL_QUERY, .query = *query };
	u32 to;

	for (to = 0; to < nranks; to++)
		if (has_link(rank, to) && to != except && to != query->origin)
			send(rank, to, &control);
}

static void ask(u32 rank)
{
	struct coll_query query = { .origin = rank, .hops = COLL_QUERY_HOPS };

	coll_survey_begin(&ranks[rank].survey, now);
	query.number = ranks[rank].survey.number;
	answer(rank, &query);
	spread(rank, &query, rank);
}

static void receive(const struct packet *packet)
{
	struct rank *rank = &ranks[packet->to];
	struct coll_control control;
	struct coll_query query;

	if (rank->dead || coll_wire_get_control(packet->bytes, &control, INCARNATION))
		return;
	if (control.kind == COLL_CONTROL_ANSWER) {
		pass_on(packet->to, &control.answer);
		return;
	}
	query = control.query;
	if (query.origin == packet->to ||
	    !coll_relay_take(&rank->relay, &query, packet->from, nranks, now))
		return;
	rank->taken++;
	answer(packet->to, &query);
	if (--query.hops)
		spread(packet->to, &query, packet->from);
}

/* Deliver all frames, in any order among different links, in 100 us each. */
static void run(void)
{
	u32 i, pick;

	while (npackets) {
		struct packet packet;

		pick = below(npackets);
		/* The frames of one link stay in order. */
		for (i = 0; i < pick; i++)
			if (packets[i].from == packets[pick].from &&
			    packets[i].to == packets[pick].to)
				break;
		packet = packets[i];
		npackets--;
		memmove(packets + i, packets + i + 1, (npackets - i) * sizeof(packet));
		receive(&packet);
	}
}

/* The same in the order of sending, for groups that are too large for run(). */
static void run_in_order(void)
{
	size_t i;

	for (i = 0; i < npackets; i++) {
		struct packet packet = packets[i];

		receive(&packet);
	}
	npackets = 0;
}

/**
 * struct queue - frames in one direction of a link
 * @frames: the frames
 * @n: number of them
 * @max: frames that @frames has room for
 */
struct queue {
	u8 (*frames)[COLL_CONTROL_SIZE];
	u32 n;
	u32 max;
};

/* What a rank has queued for a link, and the frames that have arrived, by sender and receiver. */
static struct queue out[RANKS_MAX][RANKS_MAX], in[RANKS_MAX][RANKS_MAX];

static void queue_add(struct queue *queue, const u8 *frame)
{
	if (queue->n == queue->max) {
		queue->max = 2 * queue->max + 16;
		queue->frames = realloc(queue->frames, queue->max * sizeof(*queue->frames));
	}
	memcpy(queue->frames[queue->n++], frame, COLL_CONTROL_SIZE);
}

static void queues_free(void)
{
	u32 i, k;

	for (i = 0; i < nranks; i++)
		for (k = 0; k < nranks; k++) {
			free(out[i][k].frames);
			free(in[i][k].frames);
		}
	memset(out, 0, sizeof(out));
	memset(in, 0, sizeof(in));
}

/* Queue what was sent, as coll_link_queue_spare() does.  Return: frames that were dropped. */
static u32 queue_packets(void)
{
	u32 space = coll_query_space(nranks) / COLL_CONTROL_SIZE, dropped = 0;
	size_t i;

	for (i = 0; i < npackets; i++) {
		struct queue *queue = &out[packets[i].from][packets[i].to];

		if (queue->n < space)
			queue_add(queue, packets[i].bytes);
		else
			dropped++;
	}
	npackets = 0;
	return dropped;
}

/* One run of a rank's control runner.  Return: frames that were dropped. */
static u32 run_rank(u32 rank)
{
	u32 peer, i, dropped = 0;

	for (peer = 0; peer < nranks; peer++) {
		struct queue *queue = &out[rank][peer];

		for (i = 0; i < queue->n; i++)
			queue_add(&in[rank][peer], queue->frames[i]);
		queue->n = 0;
		queue = &in[peer][rank];
		for (i = 0; i < queue->n; i++) {
			struct packet packet = { .from = peer, .to = rank };

			memcpy(packet.bytes, queue->frames[i], sizeof(packet.bytes));
			receive(&packet);
			dropped += queue_packets();
		}
		queue->n = 0;
	}
	return dropped;
}

static bool queues_empty(void)
{
	u32 i, k;

	for (i = 0; i < nranks; i++)
		for (k = 0; k < nranks; k++)
			if (out[i][k].n || in[i][k].n)
				return false;
	return true;
}

static bool same_answer(const struct coll_answer *a, u32 rank)
{
	struct coll_answer b = answer_of(rank);

	return a->parts == b.parts && a->heard == b.parts && a->pid == b.pid &&
	       a->state == b.state && a->counted == b.counted && a->submitted == b.submitted &&
	       a->oldest == b.oldest && a->nwaits == b.nwaits && a->waits[0] == b.waits[0] &&
	       a->waited_ns == b.waited_ns && a->longest[0].rank == b.longest[0].rank &&
	       !strcmp(a->node, b.node);
}

/* Has @rank the answers of all living ranks, and of these only? */
static bool knows_living(u32 rank)
{
	const struct coll_survey *survey = &ranks[rank].survey;
	u32 i, living = 0;

	for (i = 0; i < nranks; i++) {
		const struct coll_survey_entry *entry = &survey->entries[i];

		if (ranks[i].dead != !entry->at ||
		    (!ranks[i].dead && !same_answer(&entry->answer, i)))
			return false;
		living += !ranks[i].dead;
	}
	return survey->nanswers == living;
}

static void test_sizes(void)
{
	static const u32 sizes[] = { 1, 2, 3, 4, 5, 7, 8, 16, 33, 64 };
	bool passed = true;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(sizes[i]);
		ask(below(nranks));
		run();
		for (k = 0; k < nranks; k++)
			passed &= !ranks[k].survey.number || knows_living(k);
		for (k = 0; k < nranks; k++)
			passed &= ranks[k].taken + !!ranks[k].survey.number == 1;
	}
	tap_ok(passed, "each rank of 1 to 64 answers once, in any order of frames");

	begin(RANKS_MAX);
	ask(1000);
	run_in_order();
	tap_ok(knows_living(1000) && !coll_survey_pending(&ranks[1000].survey, now),
	       "1,024 ranks answer");
}

static void test_dead(void)
{
	bool passed = true;
	u32 i, k;

	for (i = 0; i < 200; i++) {
		begin(16);
		for (k = 1; k <= i % 3; k++)
			ranks[1 + below(15)].dead = true;
		ask(0);
		run();
		passed &= knows_living(0);
	}
	tap_ok(passed, "living ranks answer around dead ones");

	begin(4);
	ranks[3].dead = true;
	ask(0);
	run();
	passed = coll_survey_pending(&ranks[0].survey, now + COLL_QUERY_NS - 1) &&
		 !coll_survey_pending(&ranks[0].survey, now + COLL_QUERY_NS);
	tap_ok(passed, "a query ends when its time is over");
}

static void test_lost(void)
{
	bool passed = true, incomplete = false;
	u32 i, k;

	for (i = 0; i < 300; i++) {
		begin(12);
		loss = 2 + i % 20;
		ask(0);
		run();
		for (k = 0; k < nranks; k++) {
			const struct coll_survey_entry *entry = &ranks[0].survey.entries[k];

			/* A complete answer is right. */
			if (coll_answer_complete(&entry->answer))
				passed &= same_answer(&entry->answer, k);
			else
				incomplete = true;
		}
		passed &= ranks[0].survey.nanswers <= nranks;
	}
	tap_ok(passed && incomplete, "an answer of which a part is lost is not complete");
}

/* Links with bounded queues, of ranks that run in any order, some of them seldom. */
static void test_bounded_links(bool all_parts)
{
	static const u32 sizes[] = { 2, 16, 64, 100, 256, 1024 };
	u32 i, k, dropped = 0;
	bool passed = true;

	has_all_parts = all_parts;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(sizes[i]);
		ask(0);
		dropped += queue_packets();
		while (!queues_empty())
			for (k = 0; k < nranks / 8 + 1; k++)
				dropped += run_rank(below(nranks));
		passed &= knows_living(0);
		queues_free();
	}
	has_all_parts = false;
	tap_ok(passed && !dropped, "links have space for the answers of 2 to 1,024 ranks%s",
	       all_parts ? ", which have all parts" : "");
}

static void test_many_askers(void)
{
	bool passed = true;
	u32 i, full = 0;

	begin(8);
	for (i = 0; i < nranks; i++)
		ask(i);
	run();
	for (i = 0; i < nranks; i++)
		full += knows_living(i);
	passed &= full == nranks;
	tap_ok(passed, "eight ranks ask at once");

	begin(64);
	for (i = 0; i < nranks; i++)
		ask(i);
	run_in_order();
	for (i = 0; i < nranks; i++)
		passed &= ranks[i].taken <= COLL_QUERY_PLACES;
	tap_ok(passed, "a rank takes part in eight queries at most");
}

static void test_again(void)
{
	struct coll_survey_entry old;
	bool passed;

	begin(4);
	tap_ok(coll_survey_may_begin(&ranks[0].survey, now), "a rank that never asked may ask");
	ask(0);
	run();
	old = ranks[0].survey.entries[3];
	passed = !coll_survey_may_begin(&ranks[0].survey, now + COLL_QUERY_PAUSE_NS - 1);
	now += COLL_QUERY_PAUSE_NS;
	passed &= coll_survey_may_begin(&ranks[0].survey, now);
	ask(0);
	passed &= !ranks[0].survey.entries[3].at;
	run();
	passed &= knows_living(0) && ranks[0].survey.entries[3].at > old.at;
	tap_ok(passed, "a second later all ranks answer again");

	/* Answers to the query before are not those of this one. */
	begin(2);
	ask(0);
	now += COLL_QUERY_PAUSE_NS;
	coll_survey_begin(&ranks[0].survey, now);
	run();
	tap_ok(!ranks[0].survey.entries[1].at, "a late answer to an earlier query is dropped");
}

/* Frames that a hostile rank 1 of four sends to rank 2. */
static void test_storm(void)
{
	struct coll_control control;
	bool passed = true;
	u32 i, seconds, taken;
	u64 begun;

	begin(4);
	begun = now;
	for (i = 0; i < 200000; i++) {
		control = (struct coll_control){ .kind = COLL_CONTROL_QUERY };
		control.query.origin = below(4);
		control.query.number = below(1000);
		control.query.hops = 1 + below(COLL_QUERY_HOPS);
		if (below(2)) {
			control.kind = COLL_CONTROL_ANSWER;
			control.answer = (struct coll_answer_frame){
				.origin = below(4), .number = below(1000), .rank = below(4),
				.part = COLL_ANSWER_NODE_0, .body = "x",
			};
		}
		now += below(100000);
		send(1, 2, &control);
		run();
	}
	seconds = (now - begun) / COLL_QUERY_NS + 1;
	/* Rank 0, 1 and 3 may ask; each as often as it may. */
	taken = ranks[2].taken;
	passed &= taken <= 3 * seconds && taken >= seconds;
	passed &= ranks[2].sent <= taken * nranks * COLL_ANSWER_PARTS;
	tap_ok(passed, "a storm is answered as often as ranks may ask: %u times in %u s", taken,
	       (u32)((now - begun) / SECOND));

	/* Answers that rank 0 has not asked for, of ranks that do not exist, and twice. */
	begin(4);
	ask(0);
	for (i = 0; i < 100000; i++) {
		struct coll_answer_frame frame = {
			.origin = 0, .number = 1, .rank = below(RANKS_MAX),
			.part = below(COLL_ANSWER_PARTS),
		};
		u32 k;

		for (k = 0; k < sizeof(frame.body); k++)
			frame.body[k] = below(4) ? 0 : below(256);
		coll_survey_receive(&ranks[0].survey, &frame, now);
	}
	passed = ranks[0].survey.nanswers <= nranks;
	for (i = 0; i < nranks; i++)
		for (taken = 0; taken < ranks[0].survey.entries[i].answer.nwaits; taken++)
			passed &= ranks[0].survey.entries[i].answer.waits[taken] < nranks;
	for (i = 0; i < nranks; i++)
		for (taken = 0; taken < COLL_ANSWER_WAITS; taken++)
			passed &= ranks[0].survey.entries[i].answer.longest[taken].rank < nranks;
	tap_ok(passed, "wrong answers count once, and name ranks of the group");
}

/* Parts that come twice, after the answer is complete, or with ranks that do not exist. */
static void test_parts_again(void)
{
	struct coll_answer_frame frame = { .origin = 0, .number = 1, .rank = 1 };
	struct coll_survey *survey = &ranks[0].survey;
	struct coll_answer answer = answer_of(1);
	bool passed = true;
	u32 i, parent;

	begin(4);
	coll_survey_begin(survey, now);
	answer.waits[0] = 4;
	for (i = 0; i < 3; i++) {
		frame.part = COLL_ANSWER_OLDEST;
		coll_answer_put(frame.body, &answer, frame.part);
		coll_survey_receive(survey, &frame, now);
	}
	passed &= !survey->entries[1].answer.heard;
	answer.longest[0].rank = 4;
	frame.part = COLL_ANSWER_WAITED;
	coll_answer_put(frame.body, &answer, frame.part);
	coll_survey_receive(survey, &frame, now);
	passed &= !survey->entries[1].answer.heard;
	answer.links.lossy = 4;
	frame.part = COLL_ANSWER_TIMES;
	coll_answer_put(frame.body, &answer, frame.part);
	coll_survey_receive(survey, &frame, now);
	passed &= !survey->entries[1].answer.heard;
	answer.links.lossy = 0;
	answer.links.narrow = 4;
	answer.links.narrow_kib = 1;
	answer.links.wide_kib = 1;
	frame.part = COLL_ANSWER_RATES;
	coll_answer_put(frame.body, &answer, frame.part);
	coll_survey_receive(survey, &frame, now);
	passed &= !survey->entries[1].answer.heard;
	answer.links.narrow = 0;
	answer.longest[0].rank = 2;
	answer.waits[0] = 3;
	for (i = 0; i < 3 * COLL_ANSWER_PARTS; i++) {
		frame.part = i % COLL_ANSWER_PARTS;
		if (!(answer.parts & 1U << frame.part))
			continue;
		coll_answer_put(frame.body, &answer, frame.part);
		coll_survey_receive(survey, &frame, now + i);
		passed &= survey->nanswers == coll_answer_complete(&survey->entries[1].answer);
	}
	frame.part = COLL_ANSWER_NODE_2;
	memset(frame.body, 0, sizeof(frame.body));
	frame.body[0] = 'x';
	coll_survey_receive(survey, &frame, now);
	passed &= survey->nanswers == 1 && survey->entries[1].at == now &&
		  survey->entries[1].answer.heard == answer.parts;
	tap_ok(passed, "an answer counts once, and later parts are dropped");

	begin(4);
	passed = coll_relay_take(&ranks[1].relay, &(struct coll_query) { 0, 5, 1 }, 2, 4, now) &&
		 !coll_relay_parent(&ranks[1].relay, 0, 6, now, &parent) &&
		 !coll_relay_parent(&ranks[1].relay, 3, 5, now, &parent) &&
		 coll_relay_parent(&ranks[1].relay, 0, 5, now, &parent) && parent == 2 &&
		 !coll_relay_parent(&ranks[1].relay, 0, 5, now + COLL_QUERY_NS, &parent);
	tap_ok(passed, "answers to other queries are dropped");
}

static void test_hops(void)
{
	struct coll_query query = { .origin = 0, .number = 1, .hops = 1 };
	u32 i, taken = 0;

	begin(64);
	ranks[0].survey.number = 1;
	ranks[0].survey.begun = now;
	spread(0, &query, 0);
	run();
	for (i = 0; i < nranks; i++)
		taken += ranks[i].taken;
	/* Distances 1, 2, 4, 8, 16, 32 on both sides; 32 is the same rank. */
	tap_ok(taken == 11, "a QUERY passes as many links as it may");
}

int main(void)
{
	tap_plan(0);
	test_sizes();
	test_dead();
	test_lost();
	test_bounded_links(false);
	test_bounded_links(true);
	test_many_askers();
	test_again();
	test_storm();
	test_parts_again();
	test_hops();
	tap_ok(!strays, "frames travel on links only");
	begin(0);
	free(packets);
	return tap_exit();
}
