/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wire format.  Documentation/wire.rst describes the protocol.
 *
 * There are three kinds of fixed-size frames: HELLO (call, reply and confirmation, first on
 * every connection), control frames, and the headers of data frames.  All fields are
 * little-endian, except the magic number of a HELLO, which tells the byte order of the sender's
 * host.  One function per kind reads a frame into its host form and rejects frames that no
 * correct peer sends; no other code looks at the bytes.
 */
#ifndef COLL_WIRE_H
#define COLL_WIRE_H

#include "core/env.h"
#include "core/wire/answer.h"
#include "core/wire/signature.h"

#define COLL_WIRE_VERSION	8

#define COLL_HELLO_SIZE		192
#define COLL_CONTROL_SIZE	48
#define COLL_DATA_SIZE		32

#define COLL_NONCE_SIZE		32
#define COLL_PROOF_SIZE		32
/* Bytes of a HELLO after its proof. */
#define COLL_HELLO_TAIL		40

/* Maximum payload of a data frame, in bytes. */
#define COLL_DATA_MAX		(1024 * 1024U)

/* A forwarding step sends at least so many bytes, except at its end. */
#define COLL_DATA_MIN		(16 * 1024U)

/*
 * Credit that a peer has for eager frames at first, and at most, headers included, in bytes.  It is
 * what the receiver has allocated; CREDIT frames raise it.
 */
#define COLL_CREDIT_FIRST	(2 * 1024U)
#define COLL_CREDIT		(128 * 1024U)

/* Part of the credit that a sender uses for requests only. */
#define COLL_CREDIT_KEPT	512U

/* Part of @credit that a receiver may owe while it waits for a data frame to return it. */
#define COLL_CREDIT_UNTOLD(credit)	((credit) / 2)

/* Unit in which data frames return credit, in bytes. */
#define COLL_CREDIT_UNIT	(COLL_CREDIT / 128)

#define COLL_INSTANCE_GROUP	(~0ULL)

enum coll_conn_kind {
	COLL_CONN_CONTROL,
	COLL_CONN_DATA,
	COLL_CONN_KINDS
};

/* The third stage exists only if the group has a secret. */
enum coll_hello_stage {
	COLL_HELLO_CALL,	/* from the client */
	COLL_HELLO_REPLY,	/* from the server */
	COLL_HELLO_CONFIRM,	/* from the client, after the reply */
	COLL_HELLO_STAGES
};

/**
 * struct coll_hello - call, answer or confirmation on a new connection
 * @stage: enum coll_hello_stage
 * @secured: true if the group has a secret; without one @nonce and @proof are zero
 * @error: of an answer: 0, or a positive errno if the call is refused; else 0
 * @kind: enum coll_conn_kind
 * @lane: lane of a data connection; of a control connection 0
 * @id: id of the group
 * @name: name of the group, padded with NUL
 * @from: rank of the sender
 * @to: rank of the receiver
 * @nranks: number of ranks of the group
 * @lanes: number of lanes of the group
 * @inflight: number of requests that a member may have in flight
 * @nonce: random bytes of the sender
 * @proof: proof that the sender knows the secret; zero in a call and in a refusal
 *
 * A refusing answer is the call with another @stage and @error: @from, @to and @nonce are those
 * of the call.
 */
struct coll_hello {
	u8 stage;
	bool secured;
	u32 error;
	u8 kind;
	u8 lane;
	u64 id;
	char name[40];
	u32 from;
	u32 to;
	u32 nranks;
	u32 lanes;
	u32 inflight;
	u8 nonce[COLL_NONCE_SIZE];
	u8 proof[COLL_PROOF_SIZE];
};

enum coll_control_kind {
	COLL_CONTROL_ANNOUNCE = 1,	/* the 2^@position ranks up to the sender called this */
	COLL_CONTROL_GRANT,		/* @position bytes can be received; 0: repeat the request */
	COLL_CONTROL_CREDIT,		/* @position bytes of credit are returned, or given anew */
	COLL_CONTROL_CONSUMED,		/* @position payload bytes are consumed */
	COLL_CONTROL_PING,		/* @position: the sender's clock; @submitted */
	COLL_CONTROL_PONG,		/* @position: copied from the PING; @submitted */
	COLL_CONTROL_ABORT,		/* failed: the sender reports no success any more */
	COLL_CONTROL_LEAVE,		/* the sender leaves in order */
	COLL_CONTROL_MISMATCH_CALL,		/* before an ABORT: the call of rank @position */
	COLL_CONTROL_BLOCKED,		/* credit up to @position is wanted; CREDIT answers */
	COLL_CONTROL_QUERY,	/* asks each rank of the group for an answer */
	COLL_CONTROL_ANSWER,		/* a part of an answer, on its way to the asking rank */
	COLL_CONTROL_KINDS
};

enum coll_credit_reply {
	COLL_CREDIT_UNASKED,	/* the CREDIT answers no BLOCKED */
	COLL_CREDIT_RAISED,	/* there is more credit, and may be more again */
	COLL_CREDIT_REFUSED,	/* there is no memory for more credit now */
	COLL_CREDIT_MOST,	/* there is never more credit than now */
	COLL_CREDIT_REPLIES
};

/* Most links that a QUERY passes.  A group of COLLECTIVE_RANKS_MAX ranks needs five. */
#define COLL_QUERY_HOPS		10

/**
 * struct coll_query - a QUERY
 * @origin: the rank that asks
 * @number: number of the query among those of @origin
 * @hops: links that it may pass, with the one that it comes by; 1 to COLL_QUERY_HOPS
 */
struct coll_query {
	u32 origin;
	u32 number;
	u32 hops;
};

/**
 * struct coll_answer_frame - an ANSWER
 * @origin: see struct coll_query
 * @number: likewise
 * @rank: the rank that answers
 * @part: enum coll_answer_part
 * @body: the part, see coll_answer_get()
 */
struct coll_answer_frame {
	u32 origin;
	u32 number;
	u32 rank;
	u32 part;
	u8 body[COLL_ANSWER_SIZE];
};

/**
 * struct coll_rank_call - the call of one rank
 * @rank: which rank; COLLECTIVE_RANK_NONE: not known
 * @signature: of its call
 */
struct coll_rank_call {
	u32 rank;
	struct coll_signature signature;
};

/**
 * struct coll_reason - reason of a failure, as sent in an ABORT
 * @kind: enum collective_reason_kind
 * @error: positive errno
 * @rank_a: see struct collective_reason
 * @rank_b: likewise
 */
struct coll_reason {
	u32 kind;
	u32 error;
	u32 rank_a;
	u32 rank_b;
};

/**
 * struct coll_control - a control frame
 * @kind: enum coll_control_kind
 * @lane: lane that the frame is about, if any; of MISMATCH_CALL: the first or the second call
 * @instance: operation that the frame is about; COLL_INSTANCE_GROUP: the whole group
 * @position: cumulative number of bytes, clock value, round or rank, by @kind
 * @signature: of ANNOUNCE and MISMATCH_CALL
 * @reason: of ABORT
 * @digest: of GRANT: struct coll_task_args, @digest
 * @credit_reply: of CREDIT: enum coll_credit_reply
 * @submitted: of PING and PONG to the rank 2^k after the sender: minimum number of
 *	collectives without a key that the 2^k ranks up to the sender are known to have
 *	submitted; else 0
 * @query: of QUERY; @instance and @position are not used
 * @answer: of ANSWER; likewise
 */
struct coll_control {
	u8 kind;
	u8 lane;
	u64 instance;
	u64 position;
	union {
		struct coll_signature signature;
		struct coll_reason reason;
		u64 digest;
		u8 credit_reply;
		u64 submitted;
		struct coll_query query;
		struct coll_answer_frame answer;
	};
};

#define COLL_DATA_EAGER		BIT(0)	/* sent on credit */
#define COLL_DATA_ZEROCOPY	BIT(1)	/* sent by zero copy; the sender waits for CONSUMED */
#define COLL_DATA_REQUEST	BIT(2)	/* no payload; requests a grant */
#define COLL_DATA_FLAGS		(COLL_DATA_EAGER | COLL_DATA_ZEROCOPY | COLL_DATA_REQUEST)

/**
 * struct coll_data - the header of a data frame
 * @lane: lane of the connection
 * @flags: COLL_DATA_*
 * @credit: credit returned with this frame; in COLL_CREDIT_UNIT
 * @call: call of the sender: coll_plan_call()
 * @step: tag of the step: struct coll_step
 * @length: bytes of payload that follow
 * @instance: instance of the operation
 * @offset: offset of the payload in the sender's step; bytes.  In a signal of ranks that read one
 *	another's memory: their count
 */
struct coll_data {
	u8 lane;
	u8 flags;
	u8 credit;
	u16 call;
	u32 step;
	u32 length;
	u64 instance;
	u64 offset;
};

/**
 * coll_data_whole() - length of a step from its first frame
 * @data: header of a single frame or of a request for a grant
 *
 * Return: bytes.
 */
static inline u64 coll_data_whole(const struct coll_data *data)
{
	return data->offset + data->length;
}

u32 coll_wire_incarnation(u64 id);
bool coll_reason_valid(const struct coll_reason *reason);

void coll_wire_put_hello(u8 *buf, const struct coll_hello *hello);
void coll_wire_put_confirm(u8 *buf, const u8 *call, const u8 *proof);
void coll_wire_put_refusal(u8 *buf, const u8 *call, u32 error);
u16 coll_wire_hello_version(const u8 *buf);
int coll_wire_get_hello(const u8 *buf, struct coll_hello *hello);
void coll_wire_put_control(u8 *buf, const struct coll_control *control, u32 incarnation);
int coll_wire_get_control(const u8 *buf, struct coll_control *control, u32 incarnation);
void coll_wire_put_data(u8 *buf, const struct coll_data *data, u32 incarnation);
int coll_wire_get_data(const u8 *buf, struct coll_data *data, u32 incarnation);

#endif /* COLL_WIRE_H */
