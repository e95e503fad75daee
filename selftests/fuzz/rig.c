// SPDX-License-Identifier: GPL-2.0-only
#include "rig.h"

/*
 * The most callbacks that one event may cause: some for each frame without payload that an
 * unexpected buffer holds, and for each operation in progress.
 */
#define ASKED_MAX	(4 * (COLL_CREDIT / COLL_DATA_SIZE) + 64 * RIG_SLOTS)

/* Credit of a peer: enough for some early frames of any size that peers choose. */
#define RIG_CREDIT	(16 * 1024U)

static void rig_asked(struct rig *rig)
{
	require(++rig->asked <= ASKED_MAX);
}

static struct coll_stream *on_stream(void *ctx, u32 rank)
{
	struct rig *rig = ctx;

	require(rank < rig->engine.nranks && rank != rig->engine.rank);
	return rig->peer[rank].up ? &rig->peer[rank].stream : NULL;
}

/* A control frame of the engine must be one that a peer accepts. */
static void on_control(void *ctx, u32 rank, const struct coll_control *control)
{
	struct rig *rig = ctx;
	struct coll_control heard;
	u8 frame[COLL_CONTROL_SIZE];

	rig_asked(rig);
	require(rank < rig->engine.nranks && rank != rig->engine.rank);
	coll_wire_put_control(frame, control, RIG_INCARNATION);
	require(!coll_wire_get_control(frame, &heard, RIG_INCARNATION));
}

static void on_kick(void *ctx, struct coll_stream *stream)
{
	struct rig *rig = ctx;

	rig_asked(rig);
	require(stream->engine == &rig->engine);
}

static void on_complete(void *ctx, struct coll_task *task)
{
	struct rig *rig = ctx;
	struct operation *operation = container_of(task, struct operation, task);

	rig_asked(rig);
	rig->completed++;
	operation_check(operation);
	operation_free(operation);
}

static void on_mismatch(void *ctx, struct coll_task *task, u32 rank)
{
	struct rig *rig = ctx;

	rig_asked(rig);
	require(!task->error && rank < rig->engine.nranks);
}

static void on_fpu(void *ctx, bool begin)
{
	struct rig *rig = ctx;

	require(rig->fpu != begin);
	rig->fpu = begin;
}

static bool on_failed(void *ctx, u64 instance)
{
	struct rig *rig = ctx;

	return failed_set_have(&rig->failures, instance);
}

static const struct coll_engine_ops rig_ops = {
	.stream		= on_stream,
	.control	= on_control,
	.kick		= on_kick,
	.complete	= on_complete,
	.mismatch	= on_mismatch,
	.fpu		= on_fpu,
	.failed		= on_failed,
};

/*
 * The unexpected buffer and the grants have exactly the promised size, so that the sanitizer
 * notices an access beyond it.  All runs share the grants, because allocating them takes long.
 */
static void peer_init(struct rig *rig, u32 rank)
{
	static struct coll_grant *grants[RIG_RANKS];
	const size_t table = COLL_GRANTS(RIG_SLOTS) * sizeof(struct coll_grant);

	if (!grants[rank])
		grants[rank] = malloc(table);
	memset(grants[rank], 0, table);
	coll_stream_init(&rig->peer[rank].stream, &rig->engine, rank,
			 malloc(coll_unexp_bytes(RIG_CREDIT)), grants[rank],
			 COLL_GRANTS(RIG_SLOTS));
	rig->peer[rank].stream.rx_credit = RIG_CREDIT;
}

/**
 * rig_new() - make an engine without operations, with some peers connected
 * @in: the choices: the number of ranks, the engine's rank, the peers that are connected
 *
 * Return: the rig; rig_free() frees it.
 */
struct rig *rig_new(struct input *in)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	u32 nranks = 2 + input_below(in, RIG_RANKS - 1), rank;
	u8 absent = input_byte(in);

	rig->engine = (struct coll_engine){
		.ops = &rig_ops,
		.ctx = rig,
		.impl = &coll_reduce_scalar,
		.rank = input_below(in, nranks),
		.nranks = nranks,
		.incarnation = RIG_INCARNATION,
	};
	rig->engine.fuse.part = rig->part;
	coll_engine_init(&rig->engine, RIG_SLOTS);
	for (rank = 0; rank < nranks; rank++) {
		if (rank == rig->engine.rank)
			continue;
		peer_init(rig, rank);
		if (!(absent >> 4 >> rank & 1))
			peer_connect(rig, &rig->peer[rank]);
	}
	return rig;
}

static void stream_check(const struct coll_stream *stream)
{
	bool open = stream->rx_open && stream->sink.kind == COLL_SINK_UNEXP;

	require(stream->unexp_len <= stream->rx_credit);
	require(!open || stream->sink.unexp + stream->sink.left <=
			 stream->unexp_buf + coll_unexp_bytes(stream->rx_credit));
	require(stream->grants.count < stream->grants.size);
	require(stream->rx_consumed <= stream->rx_eager &&
		stream->rx_returned <= stream->rx_consumed);
	require(stream->tx_consumed <= stream->tx_position);
	require(stream->tx_eager <= stream->tx_credit);
}

/**
 * rig_check() - require after an event that the engine is within its bounds
 * @rig: the rig
 */
void rig_check(struct rig *rig)
{
	const struct coll_task *task;
	u32 rank, active = 0;

	require(!rig->fpu);
	rig->asked = 0;
	for (rank = 0; rank < rig->engine.nranks; rank++)
		if (rig->peer[rank].up && !rig->peer[rank].refused)
			stream_check(&rig->peer[rank].stream);
	list_for_each_entry(task, &rig->engine.active, node)
		active++;
	require(rig->submitted == rig->completed + active);
}

/**
 * rig_fail() - let the group fail
 * @rig: the rig
 */
void rig_fail(struct rig *rig)
{
	rig->failed = true;
	coll_engine_abort(&rig->engine, COLL_INSTANCE_GROUP, -ECONNRESET);
}

/* Frames that have begun are sent, and the peers consume all that was sent. */
static void rig_settle(struct rig *rig)
{
	u32 rank;

	for (rank = 0; rank < rig->engine.nranks; rank++) {
		struct peer *peer = &rig->peer[rank];

		if (!peer->up)
			continue;
		while (peer_send(rig, peer, U32_MAX))
			;
		require(!coll_stream_consumed(&peer->stream, peer->stream.tx_position));
	}
}

static void rig_release(struct rig *rig)
{
	u32 rank;

	for (rank = 0; rank < rig->engine.nranks; rank++) {
		struct peer *peer = &rig->peer[rank];

		if (!peer->up)
			continue;
		coll_stream_release(&peer->stream);
		require(!peer_send(rig, peer, U32_MAX));
	}
}

/**
 * rig_free() - let the group fail, require that all operations complete, and free the rig
 * @rig: the rig
 * @released: true if they complete because the streams are released; false if because the
 *	peers have consumed everything
 */
void rig_free(struct rig *rig, bool released)
{
	u32 rank;

	rig_fail(rig);
	engine_deliver_unexpected(&rig->engine);
	if (released)
		rig_release(rig);
	else
		rig_settle(rig);
	rig_check(rig);
	require(list_empty(&rig->engine.active) && list_empty(&rig->engine.moving));
	failed_set_free(&rig->failures);
	for (rank = 0; rank < rig->engine.nranks; rank++)
		free(rig->peer[rank].stream.unexp_buf);
	free(rig);
}
