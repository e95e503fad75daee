// SPDX-License-Identifier: GPL-2.0-only
#include "faults/hostile_rank.h"

#include <netinet/in.h>
#include <unistd.h>

#include "core/engine/instance.h"
#include "faults/malformed.h"

struct raw_peer_config fixture_raw_config(const struct hostile_fixture *fix, unsigned int to)
{
	struct collective_query query = { .size = sizeof(query) };

	member_ioctl(fix->fd[to], COLLECTIVE_IOC_QUERY, &query);
	return (struct raw_peer_config){
		.addr = &fix->addr[to],
		.name = fix->name,
		.id = fix->id,
		.from = HOSTILE,
		.to = to,
		.nranks = fix->nranks,
		.lanes = fix->lanes,
		.inflight = query.inflight_max,
		.secret = fix->has_secret ? fix->secret : NULL,
	};
}

static int hostile_dial_all(struct hostile_rank *hostile)
{
	unsigned int to;

	for (to = 1; to < hostile->fix->nranks; to++) {
		struct raw_peer_config call = fixture_raw_config(hostile->fix, to);

		CHECK_EQ(0, raw_peer_connect(&hostile->peer[to], &call));
	}
	return 0;
}

void hostile_drain(struct hostile_rank *hostile, unsigned int to)
{
	static u8 bytes[65536];
	struct raw_peer *peer = &hostile->peer[to];
	unsigned int i;

	while (recv(peer->control, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	for (i = 0; i < peer->lanes; i++) {
		if (!hostile->have_header[to] &&
		    recv(peer->data[i], hostile->header[to], COLL_DATA_SIZE,
			 MSG_DONTWAIT) == COLL_DATA_SIZE)
			hostile->have_header[to] = true;
		while (recv(peer->data[i], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	}
}

/* Never block: a rank that does not read must not stop the test. */
static bool hostile_send(int fd, const void *bytes, size_t len)
{
	return send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

/* Send a header and a payload of zeros of that length. */
static bool hostile_send_data(int fd, const u8 *frame, u32 length)
{
	static const u8 payload[COLL_DATA_MAX];

	return hostile_send(fd, frame, COLL_DATA_SIZE) && hostile_send(fd, payload, length);
}

static u64 some_instance(struct hostile_rank *hostile)
{
	struct rng *rng = &hostile->fix->rng;
	unsigned int nranks = hostile->fix->nranks;
	unsigned int i = rng_below(rng, hostile->fix->nops ? hostile->fix->nops : 1);

	switch (rng_below(rng, 8)) {
	case 0:
		return boundary_number(rng);
	case 1:
		return coll_instance_p2p(rng_below(rng, nranks), rng_below(rng, nranks),
					    rng_below(rng, 4), rng_once_in(rng, 2));
	case 2:
		return coll_instance_keyed(rng_below(rng, 1000));
	case 3:
		return COLL_INSTANCE_GROUP;
	case 4:
		return coll_instance_keyed(hostile->fix->op[i].key);
	}
	return rng_below(rng, OPERATIONS_MOST);
}

/* Make a control frame with valid fields. */
static void some_control(struct hostile_rank *hostile, u8 *frame)
{
	struct rng *rng = &hostile->fix->rng;
	const struct collective_op *op =
		&hostile->fix->op[rng_below(rng, hostile->fix->nops ? hostile->fix->nops : 1)];
	struct coll_control control = {
		.kind = 1 + rng_below(rng, COLL_CONTROL_KINDS - 1),
		.lane = rng_below(rng, hostile->fix->lanes),
		.instance = some_instance(hostile),
		.position = rng_once_in(rng, 2) ? rng_below(rng, 4) : boundary_number(rng),
	};

	if (control.kind == COLL_CONTROL_ABORT) {
		/* An abort of the group ends the round: send few of them. */
		if (control.instance == COLL_INSTANCE_GROUP && !rng_once_in(rng, 4))
			control.instance = 0;
		control.reason = (struct coll_reason){
			.kind = 1 + rng_below(rng, COLLECTIVE_REASON_COUNT - 1),
			.error = 1 + rng_below(rng, 130),
			.rank_a = HOSTILE,
			.rank_b = rng_below(rng, hostile->fix->nranks),
		};
	} else if (control.kind == COLL_CONTROL_CREDIT) {
		control.credit_reply = rng_below(rng, COLL_CREDIT_REPLIES);
	} else if (control.kind == COLL_CONTROL_BLOCKED) {
		control.position = rng_below(rng, 2 * COLL_CREDIT);
	} else if (control.kind == COLL_CONTROL_ANNOUNCE ||
		   control.kind == COLL_CONTROL_MISMATCH_CALL) {
		control.position = rng_below(rng, 2);
		control.signature = (struct coll_signature){
			.collective = op->opcode,
			.type = op->type,
			.algorithm = 1 + rng_below(rng, 3),
			.flags = op->flags,
			.root = op->root,
			.count = op->count,
		};
	}
	coll_wire_put_control(frame, &control, hostile->peer[1].incarnation);
}

/* Make a data header as the other rank has sent it, or as it may expect it. Return: the length. */
static u32 some_data(struct hostile_rank *hostile, unsigned int to, u8 *frame)
{
	struct rng *rng = &hostile->fix->rng;
	struct coll_data data;

	if (hostile->have_header[to] && !coll_wire_get_data(hostile->header[to], &data,
							    hostile->peer[to].incarnation)) {
		if (rng_once_in(rng, 4))
			data.instance = some_instance(hostile);
	} else {
		data = (struct coll_data){
			.flags = rng_once_in(rng, 3) ? 0 : COLL_DATA_EAGER,
			.call = rng_next(rng),
			.length = 4 * rng_below(rng, 2048),
			.instance = some_instance(hostile),
		};
	}
	coll_wire_put_data(frame, &data, hostile->peer[to].incarnation);
	return data.length;
}

static int some_lane(struct hostile_rank *hostile, unsigned int to)
{
	return hostile->peer[to].data[rng_below(&hostile->fix->rng, hostile->peer[to].lanes)];
}

static void attack_malformed_control(struct hostile_rank *hostile, unsigned int to)
{
	u8 frame[COLL_CONTROL_SIZE];

	some_control(hostile, frame);
	malformed_control(&hostile->fix->rng, frame);
	hostile->fix->accused_others |= accuses_others(frame, hostile->peer[to].incarnation,
						       HOSTILE,
					      hostile->fix->nranks);
	hostile_send(hostile->peer[to].control, frame, sizeof(frame));
}

static void attack_malformed_data(struct hostile_rank *hostile, unsigned int to)
{
	u8 frame[COLL_DATA_SIZE];
	u32 length = some_data(hostile, to, frame);
	int fd = some_lane(hostile, to);

	malformed_data(&hostile->fix->rng, frame);
	hostile_send_data(fd, frame, length);
}

static void attack_unsolicited(struct hostile_rank *hostile, unsigned int to)
{
	static const u8 kinds[] = {
		COLL_CONTROL_GRANT, COLL_CONTROL_CREDIT, COLL_CONTROL_CONSUMED, COLL_CONTROL_PONG,
		COLL_CONTROL_BLOCKED,
	};
	struct rng *rng = &hostile->fix->rng;
	struct coll_control control = {
		.kind = kinds[rng_below(rng, ARRAY_SIZE(kinds))],
		.lane = rng_below(rng, hostile->fix->lanes),
		.instance = some_instance(hostile),
		.position = boundary_number(rng),
	};
	u8 frame[COLL_CONTROL_SIZE];

	if (control.kind == COLL_CONTROL_CREDIT)
		control.credit_reply = rng_below(rng, COLL_CREDIT_REPLIES);
	coll_wire_put_control(frame, &control, hostile->peer[to].incarnation);
	hostile_send(hostile->peer[to].control, frame, sizeof(frame));
}

static void attack_overlong(struct hostile_rank *hostile, unsigned int to)
{
	struct coll_data data = { .call = 0 };
	u8 frame[COLL_DATA_SIZE];
	int fd = some_lane(hostile, to);

	some_data(hostile, to, frame);
	coll_wire_get_data(frame, &data, hostile->peer[to].incarnation);
	data.length = COLL_DATA_MAX - rng_below(&hostile->fix->rng, 2);
	data.flags &= ~COLL_DATA_REQUEST;
	coll_wire_put_data(frame, &data, hostile->peer[to].incarnation);
	hostile_send_data(fd, frame, data.length);
}

/* Send parts of frames; then close some connections, or none. */
static void attack_truncated(struct hostile_rank *hostile, unsigned int to)
{
	struct rng *rng = &hostile->fix->rng;
	u8 control[COLL_CONTROL_SIZE], data[COLL_DATA_SIZE];
	int fd = some_lane(hostile, to);

	some_control(hostile, control);
	some_data(hostile, to, data);
	hostile_send(hostile->peer[to].control, control, rng_below(rng, sizeof(control)));
	hostile_send(fd, data, rng_below(rng, sizeof(data) + 1));
	if (rng_once_in(rng, 2))
		shutdown(hostile->peer[to].control, rng_below(rng, 3));
	if (rng_once_in(rng, 2))
		shutdown(fd, rng_below(rng, 3));
}

static void attack_random_bytes(struct hostile_rank *hostile, int fd)
{
	u8 noise[4096];
	size_t len = 1 + rng_below(&hostile->fix->rng, sizeof(noise));

	random_bytes(&hostile->fix->rng, noise, len);
	hostile_send(fd, noise, len);
}

static void attack_slow(struct hostile_rank *hostile, unsigned int to)
{
	u8 control[COLL_CONTROL_SIZE], data[COLL_DATA_SIZE];
	int fd = some_lane(hostile, to);
	u32 length = some_data(hostile, to, data);
	static u8 payload[COLL_DATA_MAX];
	unsigned int i;

	some_control(hostile, control);
	for (i = 0; i < sizeof(control); i++) {
		hostile_send(hostile->peer[to].control, control + i, 1);
		if (i < sizeof(data))
			hostile_send(fd, data + i, 1);
	}
	hostile_send(fd, payload, length);
}

static void attack_repeat(struct hostile_rank *hostile, unsigned int to)
{
	u8 control[COLL_CONTROL_SIZE], data[COLL_DATA_SIZE];
	unsigned int times = 2 + rng_below(&hostile->fix->rng, 50);
	u32 length = some_data(hostile, to, data);
	int fd = some_lane(hostile, to);

	some_control(hostile, control);
	while (times-- && hostile_send(hostile->peer[to].control, control, sizeof(control)) &&
	       hostile_send_data(fd, data, length))
		hostile_drain(hostile, to);
}

static void attack_flood(struct hostile_rank *hostile, unsigned int to)
{
	u8 frame[COLL_CONTROL_SIZE];
	unsigned int n;

	for (n = 0; n < 300; n++) {
		some_control(hostile, frame);
		if (!hostile_send(hostile->peer[to].control, frame, sizeof(frame)))
			break;
		if (!(n % 16))
			hostile_drain(hostile, to);
	}
}

/* Send PINGs, but do not read the answers. */
static void attack_no_read(struct hostile_rank *hostile, unsigned int to)
{
	u8 frame[COLL_CONTROL_SIZE];
	unsigned int n;

	for (n = 0; n < 3000; n++) {
		some_control(hostile, frame);
		frame[1] = COLL_CONTROL_PING;
		memset(frame + 24, 0, 24);
		if (!hostile_send(hostile->peer[to].control, frame, sizeof(frame)))
			break;
	}
}

void hostile_attack(struct hostile_rank *hostile, unsigned int to, enum attack attack)
{
	switch (attack) {
	case ATTACK_RANDOM_CONTROL:
		attack_random_bytes(hostile, hostile->peer[to].control);
		break;
	case ATTACK_RANDOM_DATA:
		attack_random_bytes(hostile, some_lane(hostile, to));
		break;
	case ATTACK_MALFORMED_CONTROL:
		attack_malformed_control(hostile, to);
		break;
	case ATTACK_MALFORMED_DATA:
		attack_malformed_data(hostile, to);
		break;
	case ATTACK_TRUNCATED:
		attack_truncated(hostile, to);
		break;
	case ATTACK_OVERLONG:
		attack_overlong(hostile, to);
		break;
	case ATTACK_REPEAT:
		attack_repeat(hostile, to);
		break;
	case ATTACK_UNSOLICITED:
		attack_unsolicited(hostile, to);
		break;
	case ATTACK_SLOW:
		attack_slow(hostile, to);
		break;
	case ATTACK_FLOOD:
		attack_flood(hostile, to);
		break;
	case ATTACK_NO_READ:
		attack_no_read(hostile, to);
		break;
	default:
		raw_peer_close(&hostile->peer[to]);
		hostile->peer[to] = (struct raw_peer){ .control = -1 };
		break;
	}
}

int hostile_connect(struct hostile_fixture *fix, struct hostile_rank *hostile)
{
	unsigned int rank;

	*hostile = (struct hostile_rank){ .fix = fix };
	for (rank = 1; rank < fix->nranks; rank++)
		CHECK_EQ(0, fixture_connect(fix, rank, fix->addr));
	CHECK_EQ(0, hostile_dial_all(hostile));
	/*
	 * The module hears nothing from this rank until all are up; on a slow machine a heartbeat
	 * may expire.
	 */
	CHECK(fixture_wait_up(fix) >= 0);
	return fixture_register(fix);
}

void hostile_end(struct hostile_rank *hostile)
{
	unsigned int to;

	for (to = 1; to < hostile->fix->nranks; to++)
		if (hostile->peer[to].control > 0)
			raw_peer_close(&hostile->peer[to]);
}
