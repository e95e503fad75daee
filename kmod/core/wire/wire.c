// SPDX-License-Identifier: GPL-2.0-only
#include "core/wire/wire.h"

#include <linux/collective.h>

#define HELLO_MAGIC	0x4c4c4f43U	/* "COLL" of a little-endian host */
#define HELLO_MAGIC_SWAPPED	0x434f4c4cU
#define CONTROL_MAGIC	0xc7
#define DATA_MAGIC	0xda

struct hello_wire {
	u32 magic;		/* in the sender's byte order, as elements are */
	__le16 version;
	u8 stage;
	u8 kind;
	u8 lane;
	u8 secured;
	u8 reserved[2];
	__le32 error;
	__le64 id;
	u8 name[40];
	__le32 from;
	__le32 to;
	__le32 nranks;
	__le32 lanes;
	__le32 inflight;
	__le32 reserved2;
	u8 nonce[COLL_NONCE_SIZE];
	u8 proof[COLL_PROOF_SIZE];
	u8 reserved3[COLL_HELLO_TAIL];
} __packed;

struct control_wire {
	u8 magic;
	u8 kind;
	u8 lane;
	u8 reserved;
	__le32 incarnation;
	__le64 instance;
	__le64 position;
	union {
		struct {
			u8 collective;
			u8 type;
			u8 reduction;
			u8 algorithm;
			__le16 root;
			__le16 flags;
			__le64 count;
			__le64 layout;
		} __packed signature;
		struct {
			__le32 kind;
			__le32 error;
			__le32 rank_a;
			__le32 rank_b;
			__le64 reserved;
		} __packed reason;
		struct {
			__le64 digest;
			u8 reserved[16];
		} __packed grant;
		struct {
			u8 reply;
			u8 reserved[23];
		} __packed credit;
		struct {
			__le64 submitted;
			u8 reserved[16];
		} __packed ping;
		struct {
			__le32 hops;
			u8 reserved[20];
		} __packed query;
		u8 answer[COLL_ANSWER_SIZE];
		u8 reserved2[24];	/* of all others */
	};
} __packed;

struct data_wire {
	u8 magic;
	u8 flags;
	u8 lane;
	u8 credit;
	__le32 incarnation;
	__le64 instance;
	__le16 step;
	__le16 call;
	__le32 length;
	__le64 offset;
} __packed;

static_assert(sizeof(struct hello_wire) == COLL_HELLO_SIZE);
static_assert(sizeof(struct control_wire) == COLL_CONTROL_SIZE);
static_assert(sizeof(struct data_wire) == COLL_DATA_SIZE);
/* Fields of a signature that have fewer bits on the wire. */
static_assert(COLLECTIVE_F_ALL <= U16_MAX);
static_assert(COLLECTIVE_RANKS_MAX <= U16_MAX);

static bool all_zero(const u8 *p, size_t len)
{
	while (len--)
		if (*p++)
			return false;
	return true;
}

/**
 * coll_wire_incarnation() - short form of a group's id
 * @id: id given to JOIN
 *
 * Return: the incarnation, which every frame carries.
 */
u32 coll_wire_incarnation(u64 id)
{
	return (u32)id ^ (u32)(id >> 32);
}

/**
 * coll_wire_put_hello() - write a HELLO
 * @buf: COLL_HELLO_SIZE bytes
 * @hello: its contents
 */
void coll_wire_put_hello(u8 *buf, const struct coll_hello *hello)
{
	struct hello_wire w = {
		.magic = HELLO_MAGIC,
		.version = cpu_to_le16(COLL_WIRE_VERSION),
		.stage = hello->stage,
		.kind = hello->kind,
		.lane = hello->lane,
		.secured = hello->secured,
		.error = cpu_to_le32(hello->error),
		.id = cpu_to_le64(hello->id),
		.from = cpu_to_le32(hello->from),
		.to = cpu_to_le32(hello->to),
		.nranks = cpu_to_le32(hello->nranks),
		.lanes = cpu_to_le32(hello->lanes),
		.inflight = cpu_to_le32(hello->inflight),
	};

	memcpy(w.name, hello->name, sizeof(w.name));
	memcpy(w.nonce, hello->nonce, sizeof(w.nonce));
	memcpy(w.proof, hello->proof, sizeof(w.proof));
	memcpy(buf, &w, sizeof(w));
}

/**
 * coll_wire_put_confirm() - write the confirmation of a call
 * @buf: COLL_HELLO_SIZE bytes
 * @call: the call as it was sent
 * @proof: COLL_PROOF_SIZE bytes
 */
void coll_wire_put_confirm(u8 *buf, const u8 *call, const u8 *proof)
{
	struct hello_wire w;

	memcpy(&w, call, sizeof(w));
	w.stage = COLL_HELLO_CONFIRM;
	memcpy(w.proof, proof, sizeof(w.proof));
	memcpy(buf, &w, sizeof(w));
}

/**
 * coll_wire_put_refusal() - write the answer that refuses a call
 * @buf: COLL_HELLO_SIZE bytes
 * @call: the call as received; it may be one that coll_wire_get_hello() rejects
 * @error: a positive errno
 *
 * Apart from @error and the version of this side, the answer contains only bytes of the call.
 */
void coll_wire_put_refusal(u8 *buf, const u8 *call, u32 error)
{
	struct hello_wire w;

	memcpy(&w, call, sizeof(w));
	if (w.magic == HELLO_MAGIC)
		w.version = cpu_to_le16(COLL_WIRE_VERSION);
	w.stage = COLL_HELLO_REPLY;
	w.error = cpu_to_le32(error);
	memcpy(buf, &w, sizeof(w));
}

/* What a HELLO of another kind, or of another stage, does not say. */
static bool hello_says_no_more(const struct hello_wire *w)
{
	return (w->kind == COLL_CONN_DATA || !w->lane) &&
	       (w->stage == COLL_HELLO_REPLY || !w->error);
}

/* A proof needs a nonce, and is sent only by a rank that has the other side's nonce. */
static bool hello_proves(const struct hello_wire *w)
{
	bool proof = !all_zero(w->proof, sizeof(w->proof));

	if (!w->secured)
		return all_zero(w->nonce, sizeof(w->nonce)) && !proof &&
		       w->stage != COLL_HELLO_CONFIRM;
	return proof == (w->stage != COLL_HELLO_CALL && !w->error);
}

/**
 * coll_wire_hello_version() - the version of a HELLO, which each version has at the same place
 * @buf: COLL_HELLO_SIZE bytes that coll_wire_get_hello() has read, or refused for their version
 */
u16 coll_wire_hello_version(const u8 *buf)
{
	struct hello_wire w;

	memcpy(&w, buf, sizeof(w));
	return le16_to_cpu(w.version);
}

/**
 * coll_wire_get_hello() - read a HELLO
 * @buf: COLL_HELLO_SIZE bytes from an unauthenticated peer
 * @hello: filled in; ranks and lanes are in range, other fields are as received
 *
 * Return: 0, -EOPNOTSUPP if the sender's host has the other byte order, -EPROTONOSUPPORT if it
 * is a HELLO of another version, or -EPROTO if it is none.
 */
int coll_wire_get_hello(const u8 *buf, struct coll_hello *hello)
{
	struct hello_wire w;

	memcpy(&w, buf, sizeof(w));
	if (w.magic == HELLO_MAGIC_SWAPPED)
		return -EOPNOTSUPP;
	if (w.magic != HELLO_MAGIC)
		return -EPROTO;
	if (le16_to_cpu(w.version) != COLL_WIRE_VERSION)
		return -EPROTONOSUPPORT;
	if (w.stage >= COLL_HELLO_STAGES || w.kind >= COLL_CONN_KINDS ||
	    w.secured > 1 || w.reserved2 || !hello_says_no_more(&w) || !hello_proves(&w) ||
	    !all_zero(w.reserved, sizeof(w.reserved)) ||
	    !all_zero(w.reserved3, sizeof(w.reserved3)) ||
	    w.name[sizeof(w.name) - 1])
		return -EPROTO;

	*hello = (struct coll_hello){
		.stage = w.stage,
		.secured = w.secured,
		.error = le32_to_cpu(w.error),
		.kind = w.kind,
		.lane = w.lane,
		.id = le64_to_cpu(w.id),
		.from = le32_to_cpu(w.from),
		.to = le32_to_cpu(w.to),
		.nranks = le32_to_cpu(w.nranks),
		.lanes = le32_to_cpu(w.lanes),
		.inflight = le32_to_cpu(w.inflight),
	};
	memcpy(hello->name, w.name, sizeof(hello->name));
	memcpy(hello->nonce, w.nonce, sizeof(hello->nonce));
	memcpy(hello->proof, w.proof, sizeof(hello->proof));

	if (hello->from >= hello->nranks || hello->to >= hello->nranks ||
	    hello->nranks > COLLECTIVE_RANKS_MAX ||
	    hello->lanes > COLLECTIVE_LANES_MAX || hello->lane >= hello->lanes)
		return -EPROTO;
	return 0;
}

/*
 * Of QUERY and ANSWER @instance is the number of the query, with nothing above.  @position is the
 * asking rank (16 bits), the answering rank (16) and the part (8).
 */
static void put_query(struct control_wire *w, const struct coll_query *query)
{
	w->instance = cpu_to_le64(query->number);
	w->position = cpu_to_le64(query->origin);
	w->query.hops = cpu_to_le32(query->hops);
}

static void put_answer(struct control_wire *w, const struct coll_answer_frame *answer)
{
	w->instance = cpu_to_le64(answer->number);
	w->position = cpu_to_le64(answer->origin | answer->rank << 16 | (u64)answer->part << 32);
	memcpy(w->answer, answer->body, sizeof(w->answer));
}

static int get_query(const struct control_wire *w, struct coll_query *query)
{
	u64 number = le64_to_cpu(w->instance), origin = le64_to_cpu(w->position);

	*query = (struct coll_query){
		.origin = origin,
		.number = number,
		.hops = le32_to_cpu(w->query.hops),
	};
	if (w->lane || number > U32_MAX || origin >= COLLECTIVE_RANKS_MAX ||
	    !query->hops || query->hops > COLL_QUERY_HOPS ||
	    !all_zero(w->query.reserved, sizeof(w->query.reserved)))
		return -EPROTO;
	return 0;
}

static int get_answer(const struct control_wire *w, struct coll_answer_frame *answer)
{
	u64 number = le64_to_cpu(w->instance), position = le64_to_cpu(w->position);
	struct coll_answer dropped;

	*answer = (struct coll_answer_frame){
		.origin = position & 0xffff,
		.number = number,
		.rank = position >> 16 & 0xffff,
		.part = position >> 32 & 0xff,
	};
	memcpy(answer->body, w->answer, sizeof(answer->body));
	if (w->lane || number > U32_MAX || position >> 40 ||
	    answer->origin >= COLLECTIVE_RANKS_MAX || answer->rank >= COLLECTIVE_RANKS_MAX ||
	    answer->part >= COLL_ANSWER_PARTS)
		return -EPROTO;
	dropped.heard = 0;
	return coll_answer_get(answer->body, &dropped, answer->part);
}

/**
 * coll_wire_put_control() - write a control frame
 * @buf: COLL_CONTROL_SIZE bytes
 * @control: its contents
 * @incarnation: incarnation of the group
 */
void coll_wire_put_control(u8 *buf, const struct coll_control *control, u32 incarnation)
{
	struct control_wire w = {
		.magic = CONTROL_MAGIC,
		.kind = control->kind,
		.lane = control->lane,
		.incarnation = cpu_to_le32(incarnation),
		.instance = cpu_to_le64(control->instance),
		.position = cpu_to_le64(control->position),
	};

	switch (control->kind) {
	case COLL_CONTROL_ANNOUNCE:
	case COLL_CONTROL_MISMATCH_CALL:
		w.signature.collective = control->signature.collective;
		w.signature.type = control->signature.type;
		w.signature.reduction = control->signature.reduction;
		w.signature.algorithm = control->signature.algorithm;
		w.signature.root = cpu_to_le16(control->signature.root);
		w.signature.flags = cpu_to_le16(control->signature.flags);
		w.signature.count = cpu_to_le64(control->signature.count);
		w.signature.layout = cpu_to_le64(control->signature.layout);
		break;
	case COLL_CONTROL_ABORT:
		w.reason.kind = cpu_to_le32(control->reason.kind);
		w.reason.error = cpu_to_le32(control->reason.error);
		w.reason.rank_a = cpu_to_le32(control->reason.rank_a);
		w.reason.rank_b = cpu_to_le32(control->reason.rank_b);
		break;
	case COLL_CONTROL_GRANT:
		w.grant.digest = cpu_to_le64(control->digest);
		break;
	case COLL_CONTROL_CREDIT:
		w.credit.reply = control->credit_reply;
		break;
	case COLL_CONTROL_PING:
	case COLL_CONTROL_PONG:
		w.ping.submitted = cpu_to_le64(control->submitted);
		break;
	case COLL_CONTROL_QUERY:
		put_query(&w, &control->query);
		break;
	case COLL_CONTROL_ANSWER:
		put_answer(&w, &control->answer);
		break;
	}
	memcpy(buf, &w, sizeof(w));
}

/**
 * coll_reason_valid() - are the fields of a reason in range?
 * @reason: from a peer
 */
bool coll_reason_valid(const struct coll_reason *reason)
{
	return reason->kind > COLLECTIVE_REASON_NONE &&
	       reason->kind < COLLECTIVE_REASON_COUNT &&
	       reason->error > 0 && reason->error < 4096 &&
	       (reason->rank_a < COLLECTIVE_RANKS_MAX ||
		reason->rank_a == COLLECTIVE_RANK_NONE) &&
	       (reason->rank_b < COLLECTIVE_RANKS_MAX ||
		reason->rank_b == COLLECTIVE_RANK_NONE);
}

/**
 * coll_wire_get_control() - read a control frame
 * @buf: COLL_CONTROL_SIZE bytes from a peer
 * @control: filled in; kind, signature, reason, credit_reply, query, answer, and the rank and
 *	number of a MISMATCH_CALL are in range, other fields are as received
 * @incarnation: incarnation of the group
 *
 * Return: 0 or -EPROTO.
 */
int coll_wire_get_control(const u8 *buf, struct coll_control *control, u32 incarnation)
{
	struct control_wire w;

	memcpy(&w, buf, sizeof(w));
	if (w.magic != CONTROL_MAGIC || w.reserved ||
	    le32_to_cpu(w.incarnation) != incarnation ||
	    !w.kind || w.kind >= COLL_CONTROL_KINDS ||
	    w.lane >= COLLECTIVE_LANES_MAX)
		return -EPROTO;

	*control = (struct coll_control){
		.kind = w.kind,
		.lane = w.lane,
	};
	if (w.kind == COLL_CONTROL_QUERY)
		return get_query(&w, &control->query);
	if (w.kind == COLL_CONTROL_ANSWER)
		return get_answer(&w, &control->answer);
	control->instance = le64_to_cpu(w.instance);
	control->position = le64_to_cpu(w.position);

	switch (w.kind) {
	case COLL_CONTROL_MISMATCH_CALL:
		if (control->lane > 1 || control->position >= COLLECTIVE_RANKS_MAX)
			return -EPROTO;
		fallthrough;
	case COLL_CONTROL_ANNOUNCE:
		control->signature = (struct coll_signature){
			.collective = w.signature.collective,
			.type = w.signature.type,
			.reduction = w.signature.reduction,
			.algorithm = w.signature.algorithm,
			.root = le16_to_cpu(w.signature.root),
			.flags = le16_to_cpu(w.signature.flags),
			.count = le64_to_cpu(w.signature.count),
			.layout = le64_to_cpu(w.signature.layout),
		};
		if (!coll_signature_valid(&control->signature))
			return -EPROTO;
		break;
	case COLL_CONTROL_ABORT:
		control->reason = (struct coll_reason){
			.kind = le32_to_cpu(w.reason.kind),
			.error = le32_to_cpu(w.reason.error),
			.rank_a = le32_to_cpu(w.reason.rank_a),
			.rank_b = le32_to_cpu(w.reason.rank_b),
		};
		if (w.reason.reserved || !coll_reason_valid(&control->reason))
			return -EPROTO;
		break;
	case COLL_CONTROL_GRANT:
		control->digest = le64_to_cpu(w.grant.digest);
		if (!all_zero(w.grant.reserved, sizeof(w.grant.reserved)))
			return -EPROTO;
		break;
	case COLL_CONTROL_CREDIT:
		control->credit_reply = w.credit.reply;
		if (control->credit_reply >= COLL_CREDIT_REPLIES ||
		    !all_zero(w.credit.reserved, sizeof(w.credit.reserved)))
			return -EPROTO;
		break;
	case COLL_CONTROL_PING:
	case COLL_CONTROL_PONG:
		control->submitted = le64_to_cpu(w.ping.submitted);
		if (!all_zero(w.ping.reserved, sizeof(w.ping.reserved)))
			return -EPROTO;
		break;
	default:
		if (!all_zero(w.reserved2, sizeof(w.reserved2)))
			return -EPROTO;
	}
	return 0;
}

/**
 * coll_wire_put_data() - write the header of a data frame
 * @buf: COLL_DATA_SIZE bytes
 * @data: the header
 * @incarnation: incarnation of the group
 */
void coll_wire_put_data(u8 *buf, const struct coll_data *data, u32 incarnation)
{
	struct data_wire w = {
		.magic = DATA_MAGIC,
		.flags = data->flags,
		.lane = data->lane,
		.credit = data->credit,
		.incarnation = cpu_to_le32(incarnation),
		.instance = cpu_to_le64(data->instance),
		.step = cpu_to_le16(data->step),
		.call = cpu_to_le16(data->call),
		.length = cpu_to_le32(data->length),
		.offset = cpu_to_le64(data->offset),
	};

	memcpy(buf, &w, sizeof(w));
}

/**
 * coll_wire_get_data() - read the header of a data frame
 * @buf: COLL_DATA_SIZE bytes from a peer
 * @data: filled in; the length is in range, other fields are as received
 * @incarnation: incarnation of the group
 *
 * Return: 0 or -EPROTO.
 */
int coll_wire_get_data(const u8 *buf, struct coll_data *data, u32 incarnation)
{
	struct data_wire w;

	memcpy(&w, buf, sizeof(w));
	if (w.magic != DATA_MAGIC || w.flags & ~COLL_DATA_FLAGS ||
	    le32_to_cpu(w.incarnation) != incarnation ||
	    le32_to_cpu(w.length) > COLL_DATA_MAX ||
	    (w.flags & COLL_DATA_REQUEST && (!(w.flags & COLL_DATA_EAGER) || w.length)))
		return -EPROTO;

	*data = (struct coll_data){
		.lane = w.lane,
		.flags = w.flags,
		.credit = w.credit,
		.step = le16_to_cpu(w.step),
		.call = le16_to_cpu(w.call),
		.length = le32_to_cpu(w.length),
		.instance = le64_to_cpu(w.instance),
		.offset = le64_to_cpu(w.offset),
	};
	return 0;
}
