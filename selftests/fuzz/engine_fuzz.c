// SPDX-License-Identifier: GPL-2.0-only
/* One engine, with events in an order that the fuzzer chooses: see rig.h. */
#include "rig.h"

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size);

static void act_send(struct rig *rig, struct input *in)
{
	struct peer *peer = rig_peer(rig, in);
	u32 most = input_byte(in);

	if (peer->up && !peer->refused)
		peer_send(rig, peer, most < 128 ? most + 1 : U32_MAX);
}

static void act_arrive(struct rig *rig, struct input *in)
{
	struct peer *peer = rig_peer(rig, in);
	u32 most = input_byte(in);

	peer_arrive(rig, peer, most < 128 ? most + 1 : U32_MAX);
}

/* A frame begins; three of four frames arrive as a whole. */
static void act_begin(struct rig *rig, struct input *in)
{
	struct peer *peer = rig_peer(rig, in);

	peer_begin(rig, peer, in);
	if (!input_once_in(in, 4))
		peer_arrive(rig, peer, U32_MAX);
}

/* The header of the peer's last frame arrives once more. */
static void act_again(struct rig *rig, struct input *in)
{
	struct peer *peer = rig_peer(rig, in);
	u8 head[COLL_DATA_SIZE];

	memcpy(head, peer->head, sizeof(head));
	peer_receive(rig, peer, head, sizeof(head));
}

/* Bytes of the input arrive as they are. */
static void act_raw(struct rig *rig, struct input *in)
{
	struct peer *peer = rig_peer(rig, in);
	u32 len = min_t(size_t, input_below(in, 64), in->left);

	peer_receive(rig, peer, in->at, len);
	in->at += len;
	in->left -= len;
}

static void act_control(struct rig *rig, struct input *in)
{
	struct peer *peer = rig_peer(rig, in);

	peer_control(rig, peer, in);
}

static void act_abort(struct rig *rig, struct input *in)
{
	u64 instance = rig_instance(rig, in);

	failed_set_add(&rig->failures, instance);
	coll_engine_abort(&rig->engine, instance, -ECANCELED);
}

/*
 * A connection ends, or its peer aborts the group: the peer does not read this rank's memory
 * any more.
 */
static void act_gone(struct rig *rig, struct input *in)
{
	struct peer *peer = rig_peer(rig, in);

	if (!peer->up || !input_once_in(in, 8))
		return;
	peer->refused = true;
	rig_fail(rig);
	coll_stream_release(&peer->stream);
}

/* The peer's lease becomes unlimited, or ends up to 127 ns from now. */
static void act_lease(struct rig *rig, struct input *in)
{
	struct peer *peer = rig_peer(rig, in);
	u8 how = input_byte(in);

	peer->stream.lease = how & 1 ? ~0ULL : rig->now + (how >> 1);
}

static void act_tick(struct rig *rig, struct input *in)
{
	rig->now += input_byte(in);
	coll_engine_tick(&rig->engine, rig->now);
	engine_deliver_unexpected(&rig->engine);
}

static void act_copy(struct rig *rig, struct input *in)
{
	coll_engine_move(&rig->engine, 1 + 16 * input_byte(in));
}

static void act_connect(struct rig *rig, struct input *in)
{
	peer_connect(rig, rig_peer(rig, in));
}

static bool is_odd(void *ctx, const struct coll_task *task, u32 peer)
{
	(void)task;
	(void)ctx;
	return peer & 1;
}

static void act_lacks(struct rig *rig, struct input *in)
{
	coll_engine_find_lacking(&rig->engine, input_byte(in) & 1, is_odd);
}

static void (* const acts[])(struct rig *rig, struct input *in) = {
	rig_submit, rig_submit, act_begin, act_begin, act_begin, act_arrive, act_send, act_send,
	act_control, act_control, act_again, act_raw, act_abort, act_gone, act_lease, act_tick,
	act_copy, act_connect, act_lacks,
};

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t size)
{
	struct input in = { .at = bytes, .left = size };
	struct rig *rig = rig_new(&in);
	bool released = input_byte(&in) & 1;

	while (in.left) {
		u8 act = input_byte(&in);

		acts[act % 32 % ARRAY_SIZE(acts)](rig, &in);
		if (act < 192)
			engine_deliver_unexpected(&rig->engine);
		rig_check(rig);
	}
	rig_free(rig, released);
	return 0;
}
