/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is on the wire; Documentation/wire.rst is the prose.
 *
 * Three kinds of fixed-size frames, all little-endian but for the magic number of a HELLO, which
 * tells the byte order of the sender's host: HELLO (call, answer and
 * confirmation, first on every connection), control frames, and the headers of data frames.
 * A frame is read into its host form by a function that refuses what no honest
 * peer sends; nothing else looks at the bytes.
 */
#ifndef COLL_WIRE_H
#define COLL_WIRE_H

#include "core/env.h"

#define COLL_WIRE_VERSION	5

#define COLL_HELLO_SIZE		192
#define COLL_CONTROL_SIZE	48
#define COLL_DATA_SIZE		32

#define COLL_NONCE_SIZE		32
#define COLL_PROOF_SIZE		32
/* Bytes of a HELLO behind its proof. */
#define COLL_HELLO_TAIL		40

/* The longest payload of one data frame. */
#define COLL_DATA_MAX		(1024 * 1024U)

/*
 * What packets hold of a stream between ranks of one host: the loopback device's, by IPv6 and
 * with timestamps.
 */
#define COLL_PACKET		65464U

/* A line of a cache, where vectors are cut. */
#define COLL_CUT_LINE		64U

/* As much payload, in whole lines, as fills some packets together with a header. */
#define COLL_PACKETS(n)		(((n) * COLL_PACKET - COLL_DATA_SIZE) & ~(COLL_CUT_LINE - 1))

/* So frames end where packets do if there is more to send. */
#define COLL_DATA_PACKETS	16U
#define COLL_DATA_FULL		COLL_PACKETS(COLL_DATA_PACKETS)

/* What a forwarding step sends at least, but at its end. */
#define COLL_DATA_MIN		(16 * 1024U)

/* Credit that a peer has for eager frames, headers included, in bytes. */
#define COLL_CREDIT		(128 * 1024U)

/* So much of it may be back untold, until a data frame goes. */
#define COLL_CREDIT_UNTOLD	(COLL_CREDIT / 2)

/* Data frames give it back in these. */
#define COLL_CREDIT_UNIT	(COLL_CREDIT / 64)

#define COLL_INSTANCE_GROUP	(~0ULL)

enum coll_conn_kind {
	COLL_CONN_CONTROL,
	COLL_CONN_DATA,
	COLL_CONN_KINDS
};

/* The third one only where the group has a secret. */
enum coll_hello_stage {
	COLL_HELLO_CALL,	/* who calls */
	COLL_HELLO_ANSWER,	/* who was called */
	COLL_HELLO_CONFIRM,	/* who calls, having seen the answer */
	COLL_HELLO_STAGES
};

/**
 * struct coll_hello - who is calling whom, and the answer
 * @stage: enum coll_hello_stage
 * @secured: the group has a secret; without one @nonce and @proof are zero
 * @error: of an answer: 0 or a positive errno
 * @kind: enum coll_conn_kind
 * @lane: of a data connection
 * @id: of the group
 * @name: of the group, NUL-padded
 * @from: the sender's rank
 * @to: the receiver's rank
 * @nranks: size of the group
 * @lanes: of the group
 * @inflight: requests a member may have in flight
 * @nonce: random bytes of the sender's
 * @proof: that the sender knows the secret; zero in a call, and when refusing
 *
 * An answer that refuses is the call with another @stage and @error: @from and @to are
 * the call's, and so is @nonce.
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
	COLL_CONTROL_ANNOUNCE = 1,	/* I and 2^@position - 1 before me called this */
	COLL_CONTROL_GRANT,		/* send @position bytes of it: I can take them */
	COLL_CONTROL_CREDIT,		/* @position eager bytes are consumed */
	COLL_CONTROL_CONSUMED,		/* @position payload bytes are consumed */
	COLL_CONTROL_PING,		/* @position: the sender's clock; @submitted */
	COLL_CONTROL_PONG,		/* @position: as it came; @submitted */
	COLL_CONTROL_ABORT,		/* it has failed: I complete nothing of it any more */
	COLL_CONTROL_LEAVE,		/* I am going, all is well */
	COLL_CONTROL_EVIDENCE,		/* of an ABORT to come: what rank @position called */
	COLL_CONTROL_KINDS
};

/**
 * struct coll_signature - what all ranks must agree on
 * @collective: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @algorithm: enum collective_algorithm
 * @flags: COLLECTIVE_F_*
 * @root: rank
 * @count: elements
 * @layout: a digest of the layout, 0: contiguous
 */
struct coll_signature {
	u8 collective;
	u8 type;
	u8 reduction;
	u8 algorithm;
	u16 flags;
	u32 root;
	u64 count;
	u64 layout;
};

/**
 * struct coll_reason - why something failed, as it travels
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
 * @lane: that it speaks of, if it does; of EVIDENCE: the first call or the second
 * @instance: that it speaks of; COLL_INSTANCE_GROUP: the whole group
 * @position: a cumulative count of bytes, a clock, a round or a rank
 * @signature: of ANNOUNCE and EVIDENCE
 * @cause: of ABORT
 * @digest: of GRANT: struct coll_task_args, @digest
 * @submitted: of PING and PONG to the rank 2^k further: the least number of collectives without
 *	a key that the 2^k ranks up to the sender are known to have submitted; else 0
 */
struct coll_control {
	u8 kind;
	u8 lane;
	u64 instance;
	u64 position;
	union {
		struct coll_signature signature;
		struct coll_reason cause;
		u64 digest;
		u64 submitted;
	};
};

#define COLL_DATA_EAGER		BIT(0)	/* sent on credit */
#define COLL_DATA_BORROWED	BIT(1)	/* the sender waits for CONSUMED */
#define COLL_DATA_REQUEST	BIT(2)	/* no payload, but a grant is wanted */
#define COLL_DATA_FLAGS		(COLL_DATA_EAGER | COLL_DATA_BORROWED | COLL_DATA_REQUEST)

/**
 * struct coll_data - the header of a data frame
 * @lane: of the connection
 * @flags: COLL_DATA_*
 * @credit: COLL_CREDIT_UNITs of eager frames that the sender has consumed, and not told
 * @call: what the sender was asked for: coll_plan_call()
 * @step: struct coll_step, @tag
 * @length: bytes of payload that follow
 * @instance: the operation
 * @offset: of the payload in what the step sends
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
 * coll_data_whole() - how long a message is, of which this is the first frame
 * @data: an eager one
 */
static inline u64 coll_data_whole(const struct coll_data *data)
{
	return data->offset + data->length;
}

u32 coll_wire_incarnation(u64 id);
u64 coll_signature_digest(const struct coll_signature *signature);

void coll_wire_put_hello(u8 *buf, const struct coll_hello *hello);
void coll_wire_put_confirm(u8 *buf, const u8 *call, const u8 *proof);
void coll_wire_put_refusal(u8 *buf, const u8 *call, u32 error);
int coll_wire_get_hello(const u8 *buf, struct coll_hello *hello);
void coll_wire_put_control(u8 *buf, const struct coll_control *control, u32 incarnation);
int coll_wire_get_control(const u8 *buf, struct coll_control *control, u32 incarnation);
void coll_wire_put_data(u8 *buf, const struct coll_data *data, u32 incarnation);
int coll_wire_get_data(const u8 *buf, struct coll_data *data, u32 incarnation);

#endif /* COLL_WIRE_H */
