// SPDX-License-Identifier: GPL-2.0-only
/* The wire format: frames are decoded as they were encoded, and invalid ones are refused. */
#include "core/wire/fnv.h"
#include "core/wire/wire.h"
#include "tap.h"

#include <linux/collective.h>
#include <stdlib.h>

#define INCARNATION	0x89abcdefU

static u64 state = 1;

static u64 random_u64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static const struct coll_hello hello = {
	.stage = COLL_HELLO_REPLY, .error = EBUSY, .kind = COLL_CONN_DATA, .lane = 3,
	.id = 0x1122334455667788ULL, .name = "train.7", .from = 5, .to = 6,
	.nranks = 1024, .lanes = 8, .inflight = 64,
};

static const struct coll_control announce = {
	.kind = COLL_CONTROL_ANNOUNCE, .lane = 7, .instance = ~0ULL - 1, .position = 1ULL << 60,
	.signature = {
		.collective = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT64,
		.reduction = COLLECTIVE_MAX, .algorithm = COLLECTIVE_ALGORITHM_RING,
		.flags = COLLECTIVE_F_ALL,
		.root = 1023, .count = ~0ULL, .layout = 0xfeedULL,
	},
};

static const struct coll_control mismatch_call = {
	.kind = COLL_CONTROL_MISMATCH_CALL, .lane = 1, .instance = 1ULL << 39, .position = 1023,
	.signature = {
		.collective = COLLECTIVE_BROADCAST, .type = COLLECTIVE_INT8,
		.algorithm = COLLECTIVE_ALGORITHM_TREE, .root = 1, .count = 100,
	},
};

static const struct coll_control failure = {
	.kind = COLL_CONTROL_ABORT, .instance = COLL_INSTANCE_GROUP,
	.reason = {
		.kind = COLLECTIVE_REASON_DEATH, .error = ECONNRESET,
		.rank_a = 12, .rank_b = COLLECTIVE_RANK_NONE,
	},
};

static const struct coll_control query = {
	.kind = COLL_CONTROL_QUERY,
	.query = { .origin = 1023, .number = ~0U, .hops = COLL_QUERY_HOPS },
};

static const struct coll_control answer = {
	.kind = COLL_CONTROL_ANSWER,
	.answer = {
		.origin = 1023, .number = 1, .rank = 1022, .part = COLL_ANSWER_NODE_1,
		.body = "node-7.example.com",
	},
};

static const struct coll_data data = {
	.lane = 2, .flags = COLL_DATA_ZEROCOPY, .credit = 0xa5,
	.call = 0xabcd, .step = 2046, .length = COLL_DATA_MAX,
	.instance = 1ULL << 50, .offset = 1ULL << 45,
};

static bool same_control(const struct coll_control *a, const struct coll_control *b)
{
	if (a->kind != b->kind || a->lane != b->lane || a->instance != b->instance ||
	    a->position != b->position)
		return false;
	switch (a->kind) {
	case COLL_CONTROL_ANNOUNCE:
	case COLL_CONTROL_MISMATCH_CALL:
		return a->signature.collective == b->signature.collective &&
		       a->signature.type == b->signature.type &&
		       a->signature.reduction == b->signature.reduction &&
		       a->signature.algorithm == b->signature.algorithm &&
		       a->signature.flags == b->signature.flags &&
		       a->signature.root == b->signature.root &&
		       a->signature.count == b->signature.count &&
		       a->signature.layout == b->signature.layout;
	case COLL_CONTROL_ABORT:
		return !memcmp(&a->reason, &b->reason, sizeof(a->reason));
	case COLL_CONTROL_GRANT:
		return a->digest == b->digest;
	case COLL_CONTROL_QUERY:
		return !memcmp(&a->query, &b->query, sizeof(a->query));
	case COLL_CONTROL_ANSWER:
		return !memcmp(&a->answer, &b->answer, sizeof(a->answer));
	case COLL_CONTROL_CREDIT:
		return a->credit_reply == b->credit_reply;
	}
	return true;
}

static bool signature_valid(const struct coll_signature *s)
{
	return s->collective < COLLECTIVE_OPCODE_COUNT && s->type < COLLECTIVE_TYPE_COUNT &&
	       s->reduction < COLLECTIVE_REDUCTION_COUNT && s->algorithm &&
	       s->algorithm < COLLECTIVE_ALGORITHM_COUNT && !(s->flags & ~COLLECTIVE_F_ALL) &&
	       s->root < COLLECTIVE_RANKS_MAX;
}

static bool control_valid(const struct coll_control *c)
{
	if (!c->kind || c->kind >= COLL_CONTROL_KINDS || c->lane >= COLLECTIVE_LANES_MAX)
		return false;
	switch (c->kind) {
	case COLL_CONTROL_MISMATCH_CALL:
		if (c->lane > 1 || c->position >= COLLECTIVE_RANKS_MAX)
			return false;
		return signature_valid(&c->signature);
	case COLL_CONTROL_ANNOUNCE:
		return signature_valid(&c->signature);
	case COLL_CONTROL_ABORT:
		return c->reason.kind > COLLECTIVE_REASON_NONE &&
		       c->reason.kind < COLLECTIVE_REASON_COUNT &&
		       c->reason.error > 0 && c->reason.error < 4096 &&
		       (c->reason.rank_a < COLLECTIVE_RANKS_MAX ||
			c->reason.rank_a == COLLECTIVE_RANK_NONE) &&
		       (c->reason.rank_b < COLLECTIVE_RANKS_MAX ||
			c->reason.rank_b == COLLECTIVE_RANK_NONE);
	case COLL_CONTROL_QUERY:
		return c->query.origin < COLLECTIVE_RANKS_MAX && c->query.hops &&
		       c->query.hops <= COLL_QUERY_HOPS;
	case COLL_CONTROL_ANSWER:
		return c->answer.origin < COLLECTIVE_RANKS_MAX &&
		       c->answer.rank < COLLECTIVE_RANKS_MAX &&
		       c->answer.part < COLL_ANSWER_PARTS;
	case COLL_CONTROL_CREDIT:
		return c->credit_reply < COLL_CREDIT_REPLIES;
	}
	return true;
}

static bool hello_valid(const struct coll_hello *h)
{
	return h->kind < COLL_CONN_KINDS && h->nranks && h->nranks <= COLLECTIVE_RANKS_MAX &&
	       h->from < h->nranks && h->to < h->nranks && h->lanes &&
	       h->lanes <= COLLECTIVE_LANES_MAX && h->lane < h->lanes &&
	       !h->name[sizeof(h->name) - 1];
}

/* Allocate exactly @size bytes, so that the sanitizer notices an access beyond them. */
static u8 *buffer(size_t size)
{
	return memset(malloc(size), 0xee, size);
}

static void test_round_trips(void)
{
	u8 *h = buffer(COLL_HELLO_SIZE), *c = buffer(COLL_CONTROL_SIZE);
	u8 *d = buffer(COLL_DATA_SIZE);
	struct coll_hello hello_back;
	struct coll_control control_back;
	struct coll_data data_back;
	bool passed = true;
	u8 kind;

	coll_wire_put_hello(h, &hello);
	tap_ok(!coll_wire_get_hello(h, &hello_back) && hello_back.stage == hello.stage &&
	       hello_back.error == hello.error && hello_back.kind == hello.kind &&
	       hello_back.lane == hello.lane && hello_back.id == hello.id &&
	       !strcmp(hello_back.name, hello.name) && hello_back.from == hello.from &&
	       hello_back.to == hello.to && hello_back.nranks == hello.nranks &&
	       hello_back.lanes == hello.lanes && hello_back.inflight == hello.inflight,
	       "HELLO is decoded as it was encoded");

	coll_wire_put_control(c, &announce, INCARNATION);
	passed &= !coll_wire_get_control(c, &control_back, INCARNATION) &&
		  same_control(&announce, &control_back);
	coll_wire_put_control(c, &failure, INCARNATION);
	passed &= !coll_wire_get_control(c, &control_back, INCARNATION) &&
		  same_control(&failure, &control_back);
	coll_wire_put_control(c, &mismatch_call, INCARNATION);
	passed &= !coll_wire_get_control(c, &control_back, INCARNATION) &&
		  same_control(&mismatch_call, &control_back);
	for (kind = COLL_CONTROL_ANNOUNCE; kind < COLL_CONTROL_KINDS; kind++) {
		struct coll_control plain = {
			.kind = kind, .lane = kind % 8, .instance = kind * 77, .position = ~0ULL,
		};

		if (kind == COLL_CONTROL_ABORT)
			plain.reason = failure.reason;
		if (kind == COLL_CONTROL_ANNOUNCE)
			plain.signature = announce.signature;
		if (kind == COLL_CONTROL_GRANT)
			plain.digest = 0x0123456789abcdefULL;
		if (kind == COLL_CONTROL_CREDIT)
			plain.credit_reply = COLL_CREDIT_MOST;
		if (kind == COLL_CONTROL_MISMATCH_CALL)
			plain = mismatch_call;
		if (kind == COLL_CONTROL_QUERY)
			plain = query;
		if (kind == COLL_CONTROL_ANSWER)
			plain = answer;
		coll_wire_put_control(c, &plain, INCARNATION);
		passed &= !coll_wire_get_control(c, &control_back, INCARNATION) &&
			  same_control(&plain, &control_back);
	}
	tap_ok(passed, "control frames of every kind are decoded as encoded");

	coll_wire_put_data(d, &data, INCARNATION);
	tap_ok(!coll_wire_get_data(d, &data_back, INCARNATION) && data_back.lane == data.lane &&
	       data_back.flags == data.flags && data_back.step == data.step &&
	       data_back.call == data.call && data_back.credit == data.credit &&
	       data_back.length == data.length && data_back.instance == data.instance &&
	       data_back.offset == data.offset, "data headers are decoded as encoded");

	coll_wire_put_control(c, &announce, INCARNATION);
	tap_ok(coll_wire_get_control(c, &control_back, INCARNATION + 1) == -EPROTO &&
	       coll_wire_get_data(d, &data_back, INCARNATION ^ 1) == -EPROTO,
	       "frames of another incarnation are refused");
	tap_ok(coll_wire_incarnation(1) != coll_wire_incarnation(2) &&
	       coll_wire_incarnation(1ULL << 32) != coll_wire_incarnation(2ULL << 32),
	       "the incarnation depends on both halves of the id");
	free(h);
	free(c);
	free(d);
}

/* Return: true if each of the three frames is refused, or its fields are in range. */
static bool offer(const u8 *h, const u8 *c, const u8 *d)
{
	struct coll_hello hello_back;
	struct coll_control control_back;
	struct coll_data data_back;

	if (!coll_wire_get_hello(h, &hello_back) && !hello_valid(&hello_back))
		return false;
	if (!coll_wire_get_control(c, &control_back, INCARNATION) && !control_valid(&control_back))
		return false;
	if (!coll_wire_get_data(d, &data_back, INCARNATION) &&
	    (data_back.length > COLL_DATA_MAX || data_back.flags & ~COLL_DATA_FLAGS))
		return false;
	return true;
}

static void test_corruption(void)
{
	const struct coll_control *controls[] = {
		&announce, &mismatch_call, &failure, &query, &answer,
	};
	u8 *h = buffer(COLL_HELLO_SIZE), *c = buffer(COLL_CONTROL_SIZE);
	u8 *d = buffer(COLL_DATA_SIZE);
	bool passed = true;
	u32 i, byte, tries;

	for (tries = 0; tries < ARRAY_SIZE(controls); tries++) {
		coll_wire_put_hello(h, &hello);
		coll_wire_put_control(c, controls[tries], INCARNATION);
		coll_wire_put_data(d, &data, INCARNATION);
		for (i = 0; i < COLL_HELLO_SIZE; i++) {
			u8 *at[] = { h + i, c + i % COLL_CONTROL_SIZE, d + i % COLL_DATA_SIZE };
			u8 was[] = { *at[0], *at[1], *at[2] };

			for (byte = 0; byte < 256; byte++) {
				*at[0] = *at[1] = *at[2] = byte;
				passed &= offer(h, c, d);
			}
			*at[0] = was[0];
			*at[1] = was[1];
			*at[2] = was[2];
		}
	}
	tap_ok(passed, "a frame with any byte changed is refused or in range");

	for (tries = 0; tries < 300000 && passed; tries++) {
		/* Valid frames of which up to seven bytes are changed */
		coll_wire_put_hello(h, &hello);
		i = random_u64() % ARRAY_SIZE(controls);
		coll_wire_put_control(c, controls[i], INCARNATION);
		coll_wire_put_data(d, &data, INCARNATION);
		for (i = 0; i < 1 + tries % 7; i++) {
			h[random_u64() % COLL_HELLO_SIZE] = random_u64();
			c[random_u64() % COLL_CONTROL_SIZE] = random_u64();
			d[random_u64() % COLL_DATA_SIZE] = random_u64();
		}
		passed &= offer(h, c, d);
	}
	tap_ok(passed, "a frame with several bytes changed is refused or in range");
	free(h);
	free(c);
	free(d);
}

/* Return: true if the HELLO is refused. */
static bool refuses_hello(struct coll_hello wrong)
{
	u8 h[COLL_HELLO_SIZE];

	coll_wire_put_hello(h, &wrong);
	return coll_wire_get_hello(h, &wrong) == -EPROTO;
}

static bool refuses_reason(u32 kind, u32 error, u32 rank_a, u32 rank_b)
{
	struct coll_control wrong = {
		.kind = COLL_CONTROL_ABORT, .reason = { kind, error, rank_a, rank_b },
	};
	u8 c[COLL_CONTROL_SIZE];

	coll_wire_put_control(c, &wrong, INCARNATION);
	return coll_wire_get_control(c, &wrong, INCARNATION) == -EPROTO;
}

static bool refuses_control(struct coll_control wrong)
{
	u8 c[COLL_CONTROL_SIZE];

	coll_wire_put_control(c, &wrong, INCARNATION);
	return coll_wire_get_control(c, &wrong, INCARNATION) == -EPROTO;
}

/* Ranks and hops are in range, nothing unused is set, and a part is one that a rank can send. */
static void test_queries(void)
{
	struct coll_control wrong[9] = { query, query, query, query };
	bool passed = true;
	u32 i;

	wrong[0].query.origin = COLLECTIVE_RANKS_MAX;
	wrong[1].query.hops = 0;
	wrong[2].query.hops = COLL_QUERY_HOPS + 1;
	wrong[3].lane = 1;
	for (i = 4; i < ARRAY_SIZE(wrong); i++)
		wrong[i] = answer;
	wrong[4].answer.origin = COLLECTIVE_RANKS_MAX;
	wrong[5].answer.rank = COLLECTIVE_RANKS_MAX;
	wrong[6].answer.part = COLL_ANSWER_PARTS;
	wrong[7].answer.body[3] = '\n';
	wrong[8].lane = 1;
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		passed &= refuses_control(wrong[i]);
	passed &= !refuses_control(query) && !refuses_control(answer);
	tap_ok(passed, "a QUERY or ANSWER out of range is refused");
}

/* The signature in a frame must be one that a rank can call. */
static void test_signatures(void)
{
	const struct coll_control *good[] = { &announce, &mismatch_call };
	struct coll_control wrong[8];
	bool passed = true;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		for (k = 0; k < ARRAY_SIZE(wrong); k++)
			wrong[k] = *good[i];
		passed &= !refuses_control(*good[i]);
		wrong[0].signature.collective = COLLECTIVE_OPCODE_COUNT;
		wrong[1].signature.type = COLLECTIVE_TYPE_COUNT;
		wrong[2].signature.reduction = COLLECTIVE_REDUCTION_COUNT;
		wrong[3].signature.algorithm = COLLECTIVE_ALGORITHM_AUTO;
		wrong[4].signature.algorithm = COLLECTIVE_ALGORITHM_COUNT;
		wrong[5].signature.flags = COLLECTIVE_F_ALL + 1;
		wrong[6].signature.root = COLLECTIVE_RANKS_MAX;
		wrong[7].lane = COLLECTIVE_LANES_MAX;
		for (k = 0; k < ARRAY_SIZE(wrong); k++)
			passed &= refuses_control(wrong[k]);
	}
	wrong[0] = mismatch_call;
	wrong[0].lane = 2;
	wrong[1] = mismatch_call;
	wrong[1].position = COLLECTIVE_RANKS_MAX;
	tap_ok(passed && refuses_control(wrong[0]) && refuses_control(wrong[1]),
	       "a signature, a rank or an index of a call out of range is refused");
}

/* Signatures that differ in one field have different digests. */
static void test_digest(void)
{
	struct coll_signature call[9];
	bool passed = true;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(call); i++)
		call[i] = announce.signature;
	call[1].collective--;
	call[2].type--;
	call[3].reduction--;
	call[4].algorithm++;
	call[5].flags--;
	call[6].root--;
	call[7].count--;
	call[8].layout--;
	for (i = 0; i < ARRAY_SIZE(call); i++)
		for (k = 0; k < i; k++)
			passed &= coll_signature_digest(&call[i]) !=
				  coll_signature_digest(&call[k]);
	tap_ok(passed && coll_signature_digest(call) == coll_signature_digest(&announce.signature),
	       "every signature has its own digest");
}

/* A reference: FNV-1a of the words' bytes, the lowest first.  All versions use the same hash. */
static u64 fnv_1a(const u64 *words, u32 n)
{
	u64 hash = 14695981039346656037ULL;
	u32 i;

	for (i = 0; i < 8 * n; i++)
		hash = (hash ^ (words[i / 8] >> i % 8 * 8 & 0xff)) * 1099511628211ULL;
	return hash;
}

static void test_digest_bytes(void)
{
	u64 words[4];
	bool passed = true;
	u32 i, k, bits;

	for (bits = 0; bits <= 64; bits++) {
		for (i = 0; i < ARRAY_SIZE(words); i++) {
			k = (bits + 7 * i) % 65;
			words[i] = k ? 0xfedcba9876543210ULL >> (64 - k) : 0;
		}
		for (i = 0; i <= ARRAY_SIZE(words); i++)
			passed &= coll_fnv(words, i) == fnv_1a(words, i);
	}
	tap_ok(passed, "the hash is FNV-1a of all bytes, however many of them are 0");
}

static void test_ranges(void)
{
	struct coll_hello h[8];
	struct coll_control c = announce;
	struct coll_data d = data;
	u8 wire[COLL_CONTROL_SIZE];
	bool passed = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(h); i++)
		h[i] = hello;
	h[0].from = h[0].nranks;
	h[1].to = h[1].nranks;
	h[2].nranks = COLLECTIVE_RANKS_MAX + 1;
	h[3].lanes = COLLECTIVE_LANES_MAX + 1;
	h[4].lane = h[4].lanes;
	h[5].kind = COLL_CONN_KINDS;
	memset(h[6].name, 'x', sizeof(h[6].name));
	h[7].nranks = 0;
	for (i = 0; i < ARRAY_SIZE(h); i++)
		passed &= refuses_hello(h[i]);
	tap_ok(passed, "a HELLO out of range is refused");

	c.lane = COLLECTIVE_LANES_MAX;
	coll_wire_put_control(wire, &c, INCARNATION);
	passed = coll_wire_get_control(wire, &c, INCARNATION) == -EPROTO;
	c = announce;
	c.kind = COLL_CONTROL_KINDS;
	coll_wire_put_control(wire, &c, INCARNATION);
	passed &= coll_wire_get_control(wire, &c, INCARNATION) == -EPROTO;
	c.kind = 0;
	coll_wire_put_control(wire, &c, INCARNATION);
	passed &= coll_wire_get_control(wire, &c, INCARNATION) == -EPROTO;
	passed &= !refuses_reason(COLLECTIVE_REASON_DEATH, 1, 0, COLLECTIVE_RANK_NONE);
	passed &= refuses_reason(COLLECTIVE_REASON_NONE, 1, 0, 0);
	passed &= refuses_reason(COLLECTIVE_REASON_COUNT, 1, 0, 0);
	passed &= refuses_reason(COLLECTIVE_REASON_DEATH, 0, 0, 0);
	passed &= refuses_reason(COLLECTIVE_REASON_DEATH, 4096, 0, 0);
	passed &= refuses_reason(COLLECTIVE_REASON_DEATH, 1, COLLECTIVE_RANKS_MAX, 0);
	passed &= refuses_reason(COLLECTIVE_REASON_DEATH, 1, 0, COLLECTIVE_RANKS_MAX);
	c = (struct coll_control){
		.kind = COLL_CONTROL_CREDIT,
		.credit_reply = COLL_CREDIT_REPLIES,
	};
	coll_wire_put_control(wire, &c, INCARNATION);
	passed &= coll_wire_get_control(wire, &c, INCARNATION) == -EPROTO;
	tap_ok(passed, "a control frame out of range is refused");

	d.length = COLL_DATA_MAX + 1;
	coll_wire_put_data(wire, &d, INCARNATION);
	passed = coll_wire_get_data(wire, &d, INCARNATION) == -EPROTO;
	d = data;
	d.flags = COLL_DATA_FLAGS + 1;
	coll_wire_put_data(wire, &d, INCARNATION);
	passed &= coll_wire_get_data(wire, &d, INCARNATION) == -EPROTO;
	tap_ok(passed, "a data header out of range is refused");
}

/* Frames of a secured group: which of them have a nonce and a proof. */
static void test_secured(void)
{
	u8 *call = buffer(COLL_HELLO_SIZE), *confirm = buffer(COLL_HELLO_SIZE);
	struct coll_hello open = hello, secured, back;
	u8 proof[COLL_PROOF_SIZE];
	bool passed;

	open.stage = COLL_HELLO_CALL;
	open.error = 0;
	secured = open;
	secured.secured = true;
	memset(secured.nonce, 0x11, sizeof(secured.nonce));
	memset(proof, 0x22, sizeof(proof));
	coll_wire_put_hello(call, &secured);
	passed = !coll_wire_get_hello(call, &back) && back.secured &&
		 !memcmp(back.nonce, secured.nonce, sizeof(back.nonce));
	coll_wire_put_confirm(confirm, call, proof);
	passed &= !coll_wire_get_hello(confirm, &back) && back.stage == COLL_HELLO_CONFIRM &&
		  !memcmp(back.nonce, secured.nonce, sizeof(back.nonce)) &&
		  !memcmp(back.proof, proof, sizeof(proof)) && back.from == secured.from;
	tap_ok(passed, "a secured call and its confirmation are decoded as encoded");

	/* Without a secret, a HELLO has no nonce and no proof, and CONFIRM is refused. */
	open.nonce[31] = 1;
	passed = refuses_hello(open);
	open.nonce[31] = 0;
	open.proof[0] = 1;
	passed &= refuses_hello(open);
	open.proof[0] = 0;
	open.stage = COLL_HELLO_CONFIRM;
	passed &= refuses_hello(open);
	/* With a secret, a call has no proof; an answer has one unless it is a refusal. */
	secured.proof[31] = 1;
	passed &= refuses_hello(secured);
	secured.stage = COLL_HELLO_REPLY;
	passed &= !refuses_hello(secured);
	secured.error = EACCES;
	passed &= refuses_hello(secured);
	secured.proof[31] = 0;
	passed &= !refuses_hello(secured);
	secured.error = 0;
	passed &= refuses_hello(secured);
	secured.stage = COLL_HELLO_STAGES;
	passed &= refuses_hello(secured);
	tap_ok(passed, "a HELLO with a proof too many or too few is refused");
	free(call);
	free(confirm);
}

/* A lane is that of data, and an errno that of an answer. */
static void test_contradictions(void)
{
	struct coll_hello wrong = hello;
	bool passed;

	wrong.kind = COLL_CONN_CONTROL;
	wrong.lane = 0;
	passed = !refuses_hello(wrong);
	wrong.lane = 1;
	passed &= wrong.lanes > 1 && refuses_hello(wrong);
	wrong.kind = COLL_CONN_DATA;
	passed &= !refuses_hello(wrong);
	wrong.stage = COLL_HELLO_CALL;
	wrong.error = 0;
	passed &= !refuses_hello(wrong);
	wrong.error = EACCES;
	passed &= refuses_hello(wrong);
	tap_ok(passed, "a HELLO that contradicts itself is refused");
}

/* A refusal is a copy of the call with another stage and an errno, even of an invalid call. */
static void test_refusal(void)
{
	u8 *call = buffer(COLL_HELLO_SIZE), *answer = buffer(COLL_HELLO_SIZE);
	struct coll_hello wrong = hello, back;
	bool passed;

	wrong.stage = COLL_HELLO_CALL;
	wrong.error = 0;
	coll_wire_put_hello(call, &wrong);
	coll_wire_put_refusal(answer, call, EACCES);
	passed = !coll_wire_get_hello(answer, &back) && back.stage == COLL_HELLO_REPLY &&
		 back.error == EACCES && back.from == wrong.from && back.to == wrong.to &&
		 back.id == wrong.id && !strcmp(back.name, wrong.name);
	memset(call, 0xa5, COLL_HELLO_SIZE);
	coll_wire_put_refusal(answer, call, EINVAL);
	passed &= answer[6] == COLL_HELLO_REPLY && answer[12] == EINVAL && !answer[13] &&
		  !answer[14] && !answer[15];
	call[6] = answer[6];
	memcpy(call + 12, answer + 12, 4);
	passed &= !memcmp(call, answer, COLL_HELLO_SIZE);
	tap_ok(passed, "a refusal repeats the call and adds an errno");
	free(call);
	free(answer);
}

/* The magic number of a HELLO shows the byte order of the sender's host. */
static void test_byte_order(void)
{
	const u32 magic = 0x4c4c4f43, swapped = 0x434f4c4c;
	u8 wire[COLL_HELLO_SIZE];
	struct coll_hello back;
	bool passed;

	coll_wire_put_hello(wire, &hello);
	passed = !memcmp(wire, &magic, sizeof(magic)) && !coll_wire_get_hello(wire, &back);
	memcpy(wire, &swapped, sizeof(swapped));
	passed &= coll_wire_get_hello(wire, &back) == -EOPNOTSUPP;
	wire[0] ^= 1;
	passed &= coll_wire_get_hello(wire, &back) == -EPROTO;
	tap_ok(passed, "a host of the other byte order is recognised");
}

/* Another version shows whatever follows, in a HELLO of any version. */
static void test_version(void)
{
	u8 wire[COLL_HELLO_SIZE], answer[COLL_HELLO_SIZE];
	struct coll_hello back;
	bool passed = true;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		coll_wire_put_hello(wire, &hello);
		if (i)
			memset(wire + 6, i == 1 ? 0 : 0xff, sizeof(wire) - 6);
		wire[4]++;
		passed &= coll_wire_get_hello(wire, &back) == -EPROTONOSUPPORT &&
			  coll_wire_hello_version(wire) == COLL_WIRE_VERSION + 1;
	}
	coll_wire_put_refusal(answer, wire, EPROTONOSUPPORT);
	passed &= coll_wire_hello_version(answer) == COLL_WIRE_VERSION &&
		  answer[6] == COLL_HELLO_REPLY && answer[12] == EPROTONOSUPPORT;
	tap_ok(passed, "another version is recognised, and refused by this one");
}

/* A frame is refused if bytes that its kind does not use are not 0. */
static void test_reserved(void)
{
	u8 wire[COLL_CONTROL_SIZE];
	const u8 unused_from[COLL_CONTROL_KINDS] = {
		[COLL_CONTROL_ABORT] = 40,
		[COLL_CONTROL_GRANT] = 32,
		[COLL_CONTROL_CREDIT] = 25,
		[COLL_CONTROL_PING] = 32,
		[COLL_CONTROL_PONG] = 32,
		[COLL_CONTROL_QUERY] = 28,
	};
	bool passed = true;
	u8 kind, i;

	for (kind = 1; kind < COLL_CONTROL_KINDS; kind++) {
		struct coll_control c = failure;
		u8 unused = unused_from[kind] ?: 24;

		/* All bytes are used, and query_test.c has the parts of an ANSWER. */
		if (kind == COLL_CONTROL_ANNOUNCE || kind == COLL_CONTROL_MISMATCH_CALL ||
		    kind == COLL_CONTROL_ANSWER)
			continue;
		if (kind == COLL_CONTROL_QUERY)
			c = query;
		c.kind = kind;
		coll_wire_put_control(wire, &c, INCARNATION);
		passed &= !coll_wire_get_control(wire, &c, INCARNATION);
		for (i = unused; i < COLL_CONTROL_SIZE; i++) {
			wire[i] = 1;
			passed &= coll_wire_get_control(wire, &c, INCARNATION) == -EPROTO;
			wire[i] = 0;
		}
	}
	tap_ok(passed, "a control frame with a non-zero unused byte is refused");
}

int main(void)
{
	tap_plan(21);
	test_secured();
	test_contradictions();
	test_refusal();
	test_byte_order();
	test_version();
	test_round_trips();
	test_corruption();
	test_queries();
	test_signatures();
	test_digest();
	test_digest_bytes();
	test_ranges();
	test_reserved();
	return tap_exit();
}
