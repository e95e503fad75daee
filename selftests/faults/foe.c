// SPDX-License-Identifier: GPL-2.0-only
#include "faults/foe.h"

#include <netinet/in.h>
#include <unistd.h>

#include "core/engine/instance.h"
#include "faults/odd.h"

struct peer_call scene_call(const struct scene *scene, unsigned int to)
{
	struct collective_query query = { .size = sizeof(query) };

	member_ioctl(scene->fd[to], COLLECTIVE_IOC_QUERY, &query);
	return (struct peer_call){
		.addr = &scene->addr[to],
		.name = scene->name,
		.id = scene->id,
		.from = HOSTILE,
		.to = to,
		.nranks = scene->nranks,
		.lanes = scene->lanes,
		.inflight = query.inflight_max,
		.secret = scene->secured ? scene->secret : NULL,
	};
}

static int foe_call(struct foe *foe)
{
	unsigned int to;

	for (to = 1; to < foe->scene->nranks; to++) {
		struct peer_call call = scene_call(foe->scene, to);

		CHECK_EQ(0, peer_call(&foe->peer[to], &call));
	}
	return 0;
}

void foe_listen(struct foe *foe, unsigned int to)
{
	static u8 bytes[65536];
	struct peer *peer = &foe->peer[to];
	unsigned int i;

	while (recv(peer->control, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	for (i = 0; i < peer->lanes; i++) {
		if (!foe->known[to] && recv(peer->data[i], foe->seen[to], COLL_DATA_SIZE,
					    MSG_DONTWAIT) == COLL_DATA_SIZE)
			foe->known[to] = true;
		while (recv(peer->data[i], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	}
}

/* Never blocks: who does not read us is not waited for. */
static bool foe_say(int fd, const void *bytes, size_t len)
{
	return send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

/* A header, and as much payload, of zeros. */
static bool foe_say_data(int fd, const u8 *frame, u32 length)
{
	static const u8 payload[COLL_DATA_MAX];

	return foe_say(fd, frame, COLL_DATA_SIZE) && foe_say(fd, payload, length);
}

static u64 some_name(struct foe *foe)
{
	struct rng *rng = &foe->scene->rng;
	unsigned int nranks = foe->scene->nranks;
	unsigned int i = rng_below(rng, foe->scene->nops ? foe->scene->nops : 1);

	switch (rng_below(rng, 8)) {
	case 0:
		return odd_number(rng);
	case 1:
		return coll_instance_is_p2p(rng_below(rng, nranks), rng_below(rng, nranks),
					    rng_below(rng, 4), rng_once_in(rng, 2));
	case 2:
		return coll_instance_keyed(rng_below(rng, 1000));
	case 3:
		return COLL_INSTANCE_GROUP;
	case 4:
		return coll_instance_keyed(foe->scene->op[i].key);
	}
	return rng_below(rng, OPERATIONS_MOST);
}

/* What could come from somebody. */
static void some_control(struct foe *foe, u8 *frame)
{
	struct rng *rng = &foe->scene->rng;
	const struct collective_op *op =
		&foe->scene->op[rng_below(rng, foe->scene->nops ? foe->scene->nops : 1)];
	struct coll_control control = {
		.kind = 1 + rng_below(rng, COLL_CONTROL_KINDS - 1),
		.lane = rng_below(rng, foe->scene->lanes),
		.instance = some_name(foe),
		.position = rng_once_in(rng, 2) ? rng_below(rng, 4) : odd_number(rng),
	};

	if (control.kind == COLL_CONTROL_ABORT) {
		/* Not the end of everything in every storm. */
		if (control.instance == COLL_INSTANCE_GROUP && !rng_once_in(rng, 4))
			control.instance = 0;
		control.cause = (struct coll_reason){
			.kind = 1 + rng_below(rng, COLLECTIVE_REASON_COUNT - 1),
			.error = 1 + rng_below(rng, 130),
			.rank_a = HOSTILE,
			.rank_b = rng_below(rng, foe->scene->nranks),
		};
	} else if (control.kind == COLL_CONTROL_ANNOUNCE ||
		   control.kind == COLL_CONTROL_EVIDENCE) {
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
	coll_wire_put_control(frame, &control, foe->peer[1].incarnation);
}

/* What the other has sent, or what he may wait for. */
static u32 some_data(struct foe *foe, unsigned int to, u8 *frame)
{
	struct rng *rng = &foe->scene->rng;
	struct coll_data data;

	if (foe->known[to] && !coll_wire_get_data(foe->seen[to], &data,
						  foe->peer[to].incarnation)) {
		if (rng_once_in(rng, 4))
			data.instance = some_name(foe);
	} else {
		data = (struct coll_data){
			.flags = rng_once_in(rng, 3) ? 0 : COLL_DATA_EAGER,
			.call = rng_next(rng),
			.length = 4 * rng_below(rng, 2048),
			.instance = some_name(foe),
		};
	}
	coll_wire_put_data(frame, &data, foe->peer[to].incarnation);
	return data.length;
}

static int some_lane(struct foe *foe, unsigned int to)
{
	return foe->peer[to].data[rng_below(&foe->scene->rng, foe->peer[to].lanes)];
}

static void trick_odd_control(struct foe *foe, unsigned int to)
{
	u8 frame[COLL_CONTROL_SIZE];

	some_control(foe, frame);
	odd_control(&foe->scene->rng, frame);
	foe->scene->slandered |= odd_slanders(frame, foe->peer[to].incarnation, HOSTILE,
					      foe->scene->nranks);
	foe_say(foe->peer[to].control, frame, sizeof(frame));
}

static void trick_odd_data(struct foe *foe, unsigned int to)
{
	u8 frame[COLL_DATA_SIZE];
	u32 length = some_data(foe, to, frame);
	int fd = some_lane(foe, to);

	odd_data(&foe->scene->rng, frame);
	foe_say_data(fd, frame, length);
}

static void trick_unasked(struct foe *foe, unsigned int to)
{
	static const u8 kinds[] = {
		COLL_CONTROL_GRANT, COLL_CONTROL_CREDIT, COLL_CONTROL_CONSUMED, COLL_CONTROL_PONG,
	};
	struct rng *rng = &foe->scene->rng;
	struct coll_control control = {
		.kind = kinds[rng_below(rng, ARRAY_SIZE(kinds))],
		.lane = rng_below(rng, foe->scene->lanes),
		.instance = some_name(foe),
		.position = odd_number(rng),
	};
	u8 frame[COLL_CONTROL_SIZE];

	coll_wire_put_control(frame, &control, foe->peer[to].incarnation);
	foe_say(foe->peer[to].control, frame, sizeof(frame));
}

static void trick_endless(struct foe *foe, unsigned int to)
{
	struct coll_data data = { .call = 0 };
	u8 frame[COLL_DATA_SIZE];
	int fd = some_lane(foe, to);

	some_data(foe, to, frame);
	coll_wire_get_data(frame, &data, foe->peer[to].incarnation);
	data.length = COLL_DATA_MAX - rng_below(&foe->scene->rng, 2);
	data.flags &= ~COLL_DATA_REQUEST;
	coll_wire_put_data(frame, &data, foe->peer[to].incarnation);
	foe_say_data(fd, frame, data.length);
}

/* What is half said; then some connections end, or none. */
static void trick_cut(struct foe *foe, unsigned int to)
{
	struct rng *rng = &foe->scene->rng;
	u8 control[COLL_CONTROL_SIZE], data[COLL_DATA_SIZE];
	int fd = some_lane(foe, to);

	some_control(foe, control);
	some_data(foe, to, data);
	foe_say(foe->peer[to].control, control, rng_below(rng, sizeof(control)));
	foe_say(fd, data, rng_below(rng, sizeof(data) + 1));
	if (rng_once_in(rng, 2))
		shutdown(foe->peer[to].control, rng_below(rng, 3));
	if (rng_once_in(rng, 2))
		shutdown(fd, rng_below(rng, 3));
}

static void trick_noise(struct foe *foe, int fd)
{
	u8 noise[4096];
	size_t len = 1 + rng_below(&foe->scene->rng, sizeof(noise));

	odd_bytes(&foe->scene->rng, noise, len);
	foe_say(fd, noise, len);
}

static void trick_slow(struct foe *foe, unsigned int to)
{
	u8 control[COLL_CONTROL_SIZE], data[COLL_DATA_SIZE];
	int fd = some_lane(foe, to);
	u32 length = some_data(foe, to, data);
	static u8 payload[COLL_DATA_MAX];
	unsigned int i;

	some_control(foe, control);
	for (i = 0; i < sizeof(control); i++) {
		foe_say(foe->peer[to].control, control + i, 1);
		if (i < sizeof(data))
			foe_say(fd, data + i, 1);
	}
	foe_say(fd, payload, length);
}

static void trick_twice(struct foe *foe, unsigned int to)
{
	u8 control[COLL_CONTROL_SIZE], data[COLL_DATA_SIZE];
	unsigned int times = 2 + rng_below(&foe->scene->rng, 50);
	u32 length = some_data(foe, to, data);
	int fd = some_lane(foe, to);

	some_control(foe, control);
	while (times-- && foe_say(foe->peer[to].control, control, sizeof(control)) &&
	       foe_say_data(fd, data, length))
		foe_listen(foe, to);
}

static void trick_storm(struct foe *foe, unsigned int to)
{
	u8 frame[COLL_CONTROL_SIZE];
	unsigned int n;

	for (n = 0; n < 300; n++) {
		some_control(foe, frame);
		if (!foe_say(foe->peer[to].control, frame, sizeof(frame)))
			break;
		if (!(n % 16))
			foe_listen(foe, to);
	}
}

/* Pings want answers, which nobody reads. */
static void trick_deaf(struct foe *foe, unsigned int to)
{
	u8 frame[COLL_CONTROL_SIZE];
	unsigned int n;

	for (n = 0; n < 3000; n++) {
		some_control(foe, frame);
		frame[1] = COLL_CONTROL_PING;
		memset(frame + 24, 0, 24);
		if (!foe_say(foe->peer[to].control, frame, sizeof(frame)))
			break;
	}
}

void foe_play(struct foe *foe, unsigned int to, enum trick trick)
{
	switch (trick) {
	case TRICK_NOISE_CONTROL:
		trick_noise(foe, foe->peer[to].control);
		break;
	case TRICK_NOISE_DATA:
		trick_noise(foe, some_lane(foe, to));
		break;
	case TRICK_ODD_CONTROL:
		trick_odd_control(foe, to);
		break;
	case TRICK_ODD_DATA:
		trick_odd_data(foe, to);
		break;
	case TRICK_CUT:
		trick_cut(foe, to);
		break;
	case TRICK_ENDLESS:
		trick_endless(foe, to);
		break;
	case TRICK_TWICE:
		trick_twice(foe, to);
		break;
	case TRICK_UNASKED:
		trick_unasked(foe, to);
		break;
	case TRICK_SLOW:
		trick_slow(foe, to);
		break;
	case TRICK_STORM:
		trick_storm(foe, to);
		break;
	case TRICK_DEAF:
		trick_deaf(foe, to);
		break;
	default:
		peer_close(&foe->peer[to]);
		foe->peer[to] = (struct peer){ .control = -1 };
		break;
	}
}

int foe_meet(struct scene *scene, struct foe *foe)
{
	unsigned int rank;

	*foe = (struct foe){ .scene = scene };
	for (rank = 1; rank < scene->nranks; rank++)
		CHECK_EQ(0, scene_connect(scene, rank, scene->addr));
	CHECK_EQ(0, foe_call(foe));
	/* Nothing is heard of us until we are: on a slow machine that may be too long. */
	CHECK(scene_met(scene) >= 0);
	return scene_register(scene);
}

void foe_end(struct foe *foe)
{
	unsigned int to;

	for (to = 1; to < foe->scene->nranks; to++)
		if (foe->peer[to].control > 0)
			peer_close(&foe->peer[to]);
}
