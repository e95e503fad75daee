/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One engine for a test.  The test plays its peers: it makes the frames that they send, and
 * the fixture records the engine's control frames, kicks and completions.
 */
#ifndef COLL_ENGINE_FIXTURE_H
#define COLL_ENGINE_FIXTURE_H

#include <stdlib.h>

#include "engine_drive.h"
#include "failed_set.h"
#include "core/engine/task.h"

#include <linux/collective.h>

#define SLOTS		32
#ifndef PEERS
#define PEERS		4
#endif
#define INCARNATION	7
#define LANE		0

struct flat {
	struct coll_mem mem;
	u8 *bytes;
};

struct fixture {
	struct coll_engine engine;
	struct failed_set failed;
	struct coll_stream stream[PEERS];
	struct coll_grant grants[PEERS][COLL_GRANTS(SLOTS)];
	struct flat send, recv;
	struct coll_signature signature;	/* of the calls; without a count: none */
	u64 digest;		/* of it; in the peers' grants */
	u8 part[COLL_REDUCE_PART];

	/* the engine's callbacks */
	struct coll_control control[64 * PEERS];
	u32 control_to[64 * PEERS];
	u32 controls;
	u32 kicks[PEERS];
	u32 mismatches;
	u32 completed;
	u64 last;
	int error;
	int fpu;
};

static void *flat_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct flat *flat = container_of(mem, struct flat, mem);

	*len = mem->length - off;
	return flat->bytes + off;
}

static inline void *window_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	return flat_at(mem, off & (mem->length - 1), len);
}

static struct coll_stream *on_stream(void *ctx, u32 peer)
{
	struct fixture *f = ctx;

	return peer < PEERS ? &f->stream[peer] : NULL;
}

static void on_control(void *ctx, u32 peer, const struct coll_control *control)
{
	struct fixture *f = ctx;

	f->control[f->controls] = *control;
	f->control_to[f->controls++] = peer;
}

static void on_kick(void *ctx, struct coll_stream *stream)
{
	struct fixture *f = ctx;

	f->kicks[stream->peer]++;
}

static void on_complete(void *ctx, struct coll_task *task)
{
	struct fixture *f = ctx;

	f->completed++;
	f->last = task->args.instance;
	f->error = task->error;
	free(task);		/* the engine does not use it any more */
}

static void on_mismatch(void *ctx, struct coll_task *task, u32 peer)
{
	struct fixture *f = ctx;

	(void)task;
	(void)peer;
	f->mismatches++;
}

static void on_fpu(void *ctx, bool begin)
{
	struct fixture *f = ctx;

	f->fpu += begin ? 1 : -1;
}

static bool on_failed(void *ctx, u64 instance)
{
	struct fixture *f = ctx;

	return failed_set_have(&f->failed, instance);
}

static const struct coll_engine_ops fixture_ops = {
	.stream		= on_stream,
	.control	= on_control,
	.kick		= on_kick,
	.complete	= on_complete,
	.mismatch	= on_mismatch,
	.fpu		= on_fpu,
	.failed		= on_failed,
};

static inline void flat_init(struct flat *flat, u64 length, u8 byte)
{
	flat->mem.at = flat_at;
	flat->mem.length = length;
	flat->bytes = memset(malloc(length), byte, length);
}

/* Change the credit of both ends, which is not in use, without a frame. */
static inline void fixture_set_credit(struct coll_stream *stream, u32 credit)
{
	free(stream->unexp_buf);
	stream->unexp_buf = malloc(coll_unexp_bytes(credit));
	stream->tx_credit += (u64)credit - stream->rx_credit;
	stream->rx_credit = credit;
	stream->tx_ask = credit == COLL_CREDIT ? COLL_ASK_NEVER : COLL_ASK_MAY;
}

/* Make an engine, with 1 MiB each for the input (bytes of 1) and the result (bytes of 0x99). */
static inline struct fixture *fixture_new(u32 rank, u32 nranks)
{
	struct fixture *f = calloc(1, sizeof(*f));
	u32 i;

	f->engine = (struct coll_engine){
		.ops = &fixture_ops,
		.ctx = f,
		.impl = &coll_reduce_scalar,
		.rank = rank,
		.nranks = nranks,
		.lane = LANE,
		.incarnation = INCARNATION,
	};
	f->engine.fuse.part = f->part;
	coll_engine_init(&f->engine, SLOTS);
	for (i = 0; i < PEERS; i++) {
		coll_stream_init(&f->stream[i], &f->engine, i,
				 malloc(coll_unexp_bytes(COLL_CREDIT_FIRST)), f->grants[i],
				 COLL_GRANTS(SLOTS));
		fixture_set_credit(&f->stream[i], COLL_CREDIT);
		coll_engine_connected(&f->engine, &f->stream[i]);
	}
	flat_init(&f->send, 1 << 20, 1);
	flat_init(&f->recv, 1 << 20, 0x99);
	return f;
}

static inline void fixture_free(struct fixture *f)
{
	struct coll_task *task, *next;
	u32 i;

	list_for_each_entry_safe(task, next, &f->engine.active, node)
		free(task);
	for (i = 0; i < PEERS; i++)
		free(f->stream[i].unexp_buf);
	failed_set_free(&f->failed);
	free(f->send.bytes);
	free(f->recv.bytes);
	free(f);
}

static inline int submit_call(struct fixture *f, const struct coll_task_args *call)
{
	struct coll_task *task = malloc(sizeof(*task));
	int err;

	*task = (struct coll_task){ .args = *call };
	err = engine_submit(&f->engine, task);
	if (err)
		free(task);
	return err;
}

/* Let an operation fail, whether it is submitted here or not. */
static inline void fail(struct fixture *f, u64 instance)
{
	failed_set_add(&f->failed, instance);
	coll_engine_abort(&f->engine, instance, -ECANCELED);
	engine_deliver_unexpected(&f->engine);
}

static inline int grant(struct fixture *f, u32 peer, u64 instance, u64 limit)
{
	return coll_stream_granted(&f->stream[peer], instance, limit, f->digest);
}

/* Let the calls that follow have a signature. */
static inline void sign(struct fixture *f, u64 count)
{
	f->signature.count = count;
	f->digest = coll_signature_digest(&f->signature);
}

/* Submit an allreduce (sum) of @count bytes; a large one is sent without a copy. */
static inline int submit(struct fixture *f, u64 instance, u64 count)
{
	struct coll_task_args call = {
		.plan = {
			.collective = COLLECTIVE_ALLREDUCE,
			.type = COLLECTIVE_UINT8,
			.reduction = COLLECTIVE_SUM,
			.algorithm = COLLECTIVE_ALGORITHM_RING,
			.size = 1,
			.rank = f->engine.rank,
			.nranks = f->engine.nranks,
			.nlanes = 1,
			.count = count,
		},
		.eager = count <= COLLECTIVE_EAGER_LIMIT,
		.instance = instance,
		.signature = f->signature.count ? &f->signature : NULL,
		.area = { &f->send.mem, &f->recv.mem },
	};

	return submit_call(f, &call);
}

static inline int submit_barrier(struct fixture *f, u64 instance)
{
	struct coll_task_args call = {
		.plan = {
			.collective = COLLECTIVE_BARRIER,
			.algorithm = COLLECTIVE_ALGORITHM_RING,
			.size = 1,
			.rank = f->engine.rank,
			.nranks = f->engine.nranks,
		},
		.eager = true,
		.instance = instance,
	};

	return submit_call(f, &call);
}

/* Give the stream bytes, a few at a time.  Return: 0 or the error. */
static inline int arrive(struct fixture *f, u32 peer, const void *bytes, u32 len)
{
	const u8 *at = bytes;

	while (len) {
		u32 some = len > 1000 ? len - 999 : len;
		int n = coll_stream_receive(&f->stream[peer], at, some);

		if (n <= 0)
			return n ? n : -EIO;
		at += n;
		len -= n;
	}
	coll_stream_pause(&f->stream[peer]);
	engine_deliver_unexpected(&f->engine);
	return 0;
}

static inline int arrive_head(struct fixture *f, u32 peer, const struct coll_data *data)
{
	static const struct coll_plan sum = {
		.collective = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.reduction = COLLECTIVE_SUM,
		.algorithm = COLLECTIVE_ALGORITHM_RING,
	};
	struct coll_plan barrier = { .algorithm = COLLECTIVE_ALGORITHM_RING };
	struct coll_data frame = *data;
	u8 head[COLL_DATA_SIZE];

	/* The call of submit(), or of submit_barrier(), whose frames are empty */
	if (!frame.call)
		frame.call = coll_plan_call(frame.length || frame.flags & COLL_DATA_REQUEST ?
					    &sum : &barrier);
	coll_wire_put_data(head, &frame, INCARNATION);
	return arrive(f, peer, head, sizeof(head));
}

static inline int arrive_bytes(struct fixture *f, u32 peer, u8 byte, u32 len)
{
	u8 *bytes = malloc(len + 1);
	int err;

	memset(bytes, byte, len);
	err = len ? arrive(f, peer, bytes, len) : 0;
	free(bytes);
	return err;
}

/* Give the stream a whole frame, every byte of its payload @byte. */
static inline int arrive_frame(struct fixture *f, u32 peer, u64 instance, u32 step,
			       u64 offset, u32 len, u8 flags, u8 byte)
{
	struct coll_data data = {
		.lane = LANE, .flags = flags, .step = step, .length = len,
		.instance = instance, .offset = offset,
	};
	int err = arrive_head(f, peer, &data);

	return err ? err : arrive_bytes(f, peer, byte, len);
}

/* Give the stream a frame of one byte that returns credit. */
static inline int arrive_credit(struct fixture *f, u32 peer, u64 instance, u8 credit)
{
	struct coll_data data = {
		.lane = LANE, .flags = COLL_DATA_EAGER, .credit = credit, .length = 1,
		.instance = instance,
	};
	int err = arrive_head(f, peer, &data);

	return err ? err : arrive_bytes(f, peer, 0, 1);
}

/* Send all that the stream has, as a transport does.  Return: the number of frames. */
static inline u32 depart(struct fixture *f, u32 peer)
{
	struct coll_out out;
	u32 frames = 0;

	while (coll_stream_next(&f->stream[peer], &out)) {
		frames += !!out.ptr;
		coll_stream_sent(&f->stream[peer], out.len);
	}
	return frames;
}

/* Read the header of the next frame without sending it.  Return: false if there is none. */
static inline bool next_header(struct fixture *f, u32 peer, struct coll_data *data)
{
	struct coll_out out;

	return coll_stream_next(&f->stream[peer], &out) && out.ptr &&
	       out.len == COLL_DATA_SIZE &&
	       !coll_wire_get_data(out.ptr, data, INCARNATION);
}

/* Return: the number of control frames of @kind to @peer; *@position is that of the last. */
static inline u32 controls_sent(const struct fixture *f, u32 peer, u8 kind, u64 *position)
{
	u32 i, n = 0;

	for (i = 0; i < f->controls; i++) {
		if (f->control[i].kind != kind || f->control_to[i] != peer)
			continue;
		n++;
		if (position)
			*position = f->control[i].position;
	}
	return n;
}

/* Return: true if @len bytes of the result, from @off on, are all @byte. */
static inline bool result(const struct fixture *f, u64 off, u64 len, u8 byte)
{
	while (len--)
		if (f->recv.bytes[off + len] != byte)
			return false;
	return true;
}

#endif /* COLL_ENGINE_FIXTURE_H */
