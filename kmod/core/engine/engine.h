/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine: one lane of one member, executing schedules.
 *
 * It is a state machine without input or output.  What happens is told to it
 * by a call (submitted, granted, consumed, bytes arrived, bytes left, time
 * passed); what it wants is told by a callback (send this control frame, this
 * stream has something to send, this instance is complete).  The transport
 * *pulls*: it asks a stream what may leave next when it has room for it, so no
 * queue grows here.  Callbacks are made from inside the calls, so they must not
 * call back: they set bits and queue.
 *
 * Nothing here is locked: whoever owns the lane calls.
 *
 *	struct coll_engine	one lane of one member
 *	struct coll_task	one operation's part on that lane
 *	struct coll_stream	the data connection to one peer, both directions
 */
#ifndef COLL_ENGINE_H
#define COLL_ENGINE_H

#include "core/engine/grant.h"
#include "core/schedule/schedule.h"
#include "core/data/sink.h"
#include "core/wire/wire.h"

struct coll_engine;
struct coll_task;
struct coll_stream;

/**
 * struct coll_engine_ops - what the engine wants from its surroundings
 * @stream: the stream to rank @peer, or NULL: coll_engine_connected() will tell
 * @control: send a control frame to @peer; @control->lane is filled in
 * @kick: @stream may have something to send; ask coll_stream_next()
 * @complete: @task is complete, with @task->error; its buffers are free again
 * @mismatch: rank @peer sends what does not fit @task, which should be aborted
 * @fpu: the vector registers are needed (true) or no longer (false)
 * @failed: has an operation of this name failed, in progress here or not?  For ever, of a name
 *	with a key and of a message; of others, at least until the name is submitted here.
 *	coll_engine_abort() follows, on every lane
 *
 * Context: whatever the engine was called in.  None may call the engine.
 */
struct coll_engine_ops {
	struct coll_stream *(*stream)(void *ctx, u32 peer);
	void (*control)(void *ctx, u32 peer, const struct coll_control *control);
	void (*kick)(void *ctx, struct coll_stream *stream);
	void (*complete)(void *ctx, struct coll_task *task);
	void (*mismatch)(void *ctx, struct coll_task *task, u32 peer);
	void (*fpu)(void *ctx, bool begin);
	bool (*failed)(void *ctx, u64 instance);
};

/**
 * struct coll_task_args - one operation, as it is submitted to every lane it uses
 * @plan: for the schedule; its lane is filled in
 * @eager: small: payload goes at once, on credit, by copy
 * @instance: its name
 * @digest: of all that must be the same on every rank: who grants it says so, and is sent
 *	nothing if he called otherwise; 0: that is found out elsewhere
 * @area: memory of each enum coll_area; input and result may be the same one;
 *	scratch has coll_plan_scratch() bytes, and of the windowed kind takes any
 *	offset, modulo its length
 * @area_off: where in it the operation's buffer begins, in bytes
 * @user: for the surroundings
 */
struct coll_task_args {
	struct coll_plan plan;
	bool eager;
	u64 instance;
	u64 digest;
	const struct coll_mem *area[COLL_AREA_COUNT];
	u64 area_off[COLL_AREA_COUNT];
	void *user;
};

/* Bytes of a stage, and how many hashes of names it tells apart: see unexpected.c. */
#define COLL_UNEXP_SIZE		(COLL_CREDIT + COLL_CREDIT / 8)
#define COLL_UNEXP_HASH		64

/* Streams that may read our memory on behalf of one instance at a time. */
#define COLL_ZC_REFS	8

/**
 * struct coll_zc_ref - how far a peer reads our memory
 * @stream: to that peer; NULL: it has consumed all of it
 * @position: it must have consumed up to here, as a position on @stream
 * @task: whose memory it is
 * @node: in the list of @stream
 */
struct coll_zc_ref {
	struct coll_stream *stream;
	u64 position;
	struct coll_task *task;
	struct list_head node;
};

/**
 * struct coll_peer_run - how far a peer is whose run was left
 * @peer: rank
 * @limit: that it was granted, of what it sends to us
 */
struct coll_peer_run {
	u32 peer;
	u64 limit;
};

/**
 * struct coll_task - an operation's part on one lane
 *
 * Consecutive steps that send to (receive from) the same peer are a *run*.  A
 * schedule has one run to each peer, and one from each; but if its scratch is
 * windowed, runs from two peers may take turns.
 *
 * @engine: of the lane
 * @args: what was asked for
 * @schedule: how it is done
 * @nsteps: its number of steps
 * @local_copy: what is to be copied here, and has not been
 * @save_input: what is to be copied before it begins, likewise
 * @exchanging: the window is to be filled further: see scratch_window.c
 * @error: 0, or the negative errno that it was aborted with
 * @open_frames: streams that have begun a frame of it and not ended it: each has one frame open
 *	at most, so this is below the number of ranks
 * @granted: the sender of this run has been granted all of it
 * @run_started: what comes for this run may be taken
 * @rts_sent: the receiver of the run that is sent was asked for a grant
 * @mismatched: a peer has called something else, and it will be aborted: nothing more of it is
 *	taken or sent
 * @length_known: @rx is roomy, and has the length that was told now...
 * @capacity: ...instead of this one
 * @received: bytes that were told to come, where a step is roomy
 * @tx_step: step that sends
 * @tx_off: bytes of it already framed
 * @tx_run: bytes of its run already framed; a token counts for one
 * @tx: that step
 * @rx_step: step that receives
 * @rx_off: bytes of it stored, in whole elements
 * @rx: that step
 * @rx_stream: the stream that is in the middle of a frame of it
 * @scratch_freed: bytes that have left windowed scratch...
 * @scratch_reserved: ...or will have, or never be there, when the frame that has begun has
 * @grant_step: step up to which what comes has room...
 * @grant_off: ...and how many bytes of it
 * @grant_limit: which makes so many bytes that its sender may send us
 * @grant_scratch: bytes of scratch for all that has been granted
 * @peer_run: of peers that may have another run
 * @zc_ref: what was sent without a copy
 * @zc_source: stream that lent us bytes without a copy; its lease must be valid
 *	when we succeed, when we forward them, and before the next run begins
 * @lease_expired: it is not
 * @tx_stream: that @tx sends to, or the one before it; NULL: there is none yet
 * @tx_node: in one of its lists
 * @tx_order: its place among those that send there
 * @tx_parked: it was found that nothing may be sent, and nothing has happened since
 * @leased: in the engine's list, if it has a @zc_source
 * @unexp_ready: in the engine's list
 * @local_copies: in the engine's list, if there is anything to copy
 * @node: in the engine's list of instances
 * @hash_next: the next one of the same hash
 */
struct coll_task {
	struct coll_engine *engine;
	struct coll_task_args args;
	const struct coll_schedule *schedule;
	u64 nsteps;
	struct coll_local_copy local_copy;
	struct coll_local_copy save_input;
	bool exchanging;
	int error;
	u32 open_frames;
	bool granted;
	bool run_started;
	bool rts_sent;
	bool mismatched;
	bool length_known;

	u64 tx_step;
	u64 tx_off;
	u64 tx_run;
	struct coll_step tx;

	u64 rx_step;
	u64 rx_off;
	struct coll_step rx;
	struct coll_stream *rx_stream;
	u64 capacity;
	u64 received;

	u64 scratch_freed;
	u64 scratch_reserved;
	u64 grant_step;
	u64 grant_off;
	u64 grant_limit;
	u64 grant_scratch;
	struct coll_peer_run peer_run[2];

	struct coll_zc_ref zc_ref[COLL_ZC_REFS];
	struct coll_stream *zc_source;
	bool lease_expired;

	struct coll_stream *tx_stream;
	struct list_head tx_node;
	u64 tx_order;
	bool tx_parked;
	struct list_head leased;
	struct list_head unexp_ready;
	struct list_head local_copies;
	struct list_head node;
	struct coll_task *hash_next;
};

/**
 * struct coll_engine_stats - what a lane has done, in bytes of payload
 * @sent: handed to the transport
 * @received: taken from the transport
 * @reduced: of these, reduced into memory
 */
struct coll_engine_stats {
	u64 sent;
	u64 received;
	u64 reduced;
};

/**
 * struct coll_engine - one lane of one member
 * @ops: see there
 * @ctx: handed to @ops
 * @impl: how to reduce
 * @copier: who copies what is much, or NULL
 * @rank: ours
 * @nranks: of the group
 * @lane: which
 * @incarnation: in every frame
 * @next: no collective without a key was submitted from here on
 * @failed: the group has: nothing is to come any more
 * @now: latest time that it was told, ns
 * @hash: instances, by the hash of their name
 * @nhash: size of that, a power of two: what a rank may have in progress
 * @active: instances, oldest first
 * @local_copies: of these, those that have something to copy here, by themselves
 * @leased: of these, those to which a peer has lent bytes
 * @unexp_ready: instances that may take what came early
 * @streams: all of them
 * @stats: see there
 */
struct coll_engine {
	const struct coll_engine_ops *ops;
	void *ctx;
	const struct coll_reduce_impl *impl;
	struct coll_copier *copier;
	u32 rank;
	u32 nranks;
	u32 lane;
	u32 incarnation;
	u64 next;
	bool failed;
	u64 now;
	struct coll_task **hash;
	u32 nhash;
	struct list_head active;
	struct list_head local_copies;
	struct list_head leased;
	struct list_head unexp_ready;
	struct list_head streams;
	struct coll_engine_stats stats;
};

/**
 * struct coll_stream - the data connection of one lane to one peer
 * @engine: that it belongs to
 * @peer: rank at the other end
 * @released: the peer completes nothing of ours with success any more
 * @lease: the peer waits for us at least until then, ns; ~0: for ever
 * @node: in the engine's list of streams
 * @sending: instances whose step sends to this peer, and perhaps may; in their turn
 * @waiting: those for which there was nothing to send or no grant...
 * @starving: ...or no credit, not even to ask for a grant
 * @tx_orders: counts turns of @sending
 * @zc_refs: marks of instances, by position
 * @tx_hdr: header of the frame that is leaving
 * @tx_hdr_left: bytes of it that have not left
 * @tx_left: bytes of its payload that have not left
 * @tx_off: where they are, in ...
 * @tx_mem: ... this memory
 * @tx_task: the instance it belongs to, NULL between frames
 * @tx_copy: its payload is to be copied
 * @tx_scratch: it lies in scratch, that is free again when it has left
 * @tx_position: payload bytes framed so far
 * @tx_consumed: of these, consumed by the peer, as far as it has told
 * @tx_eager: eager bytes sent so far, headers included
 * @tx_credit: how far @tx_eager may go
 * @tx_credited: of what was given back, told by control frames
 * @grants: what the peer can take
 * @rx_hdr: header of the frame that is arriving
 * @rx_hdr_len: bytes of it that have arrived
 * @rx_data: the header, once it is complete
 * @rx_open: a frame is open, and @sink takes its payload
 * @rx_cost: what the bytes cost that were received last: see coll_piece_cost()
 * @rx_step_end: what came last was the end of a step
 * @rx_task: the instance it belongs to, NULL when discarded or staged
 * @sink: what becomes of its payload
 * @rx_position: payload bytes consumed so far
 * @rx_eager: eager bytes received so far
 * @rx_consumed: of these, consumed
 * @rx_returned: of these, told to the peer
 * @rx_credited: of these, by control frames
 * @unexp_buf: eager frames that came before their turn, COLL_UNEXP_SIZE bytes: see unexpected.c
 * @unexp_len: bytes of complete ones
 * @unexp_end: where the next one goes
 * @unexp_head: by hash of their names: where the first of them is, plus one; 0: none
 * @unexp_tail: likewise, the last one
 */
struct coll_stream {
	struct coll_engine *engine;
	u32 peer;
	bool released;
	u64 lease;

	struct list_head node;
	struct list_head sending;
	struct list_head waiting;
	struct list_head starving;
	u64 tx_orders;
	struct list_head zc_refs;
	u8 tx_hdr[COLL_DATA_SIZE];
	u32 tx_hdr_left;
	u32 tx_left;
	u64 tx_off;
	const struct coll_mem *tx_mem;
	struct coll_task *tx_task;
	bool tx_copy;
	bool tx_scratch;
	u64 tx_position;
	u64 tx_consumed;
	u64 tx_eager;
	u64 tx_credit;
	u64 tx_credited;
	struct coll_grants grants;

	u8 rx_hdr[COLL_DATA_SIZE];
	u32 rx_hdr_len;
	struct coll_data rx_data;
	bool rx_open;
	bool rx_step_end;
	u64 rx_cost;
	struct coll_task *rx_task;
	struct coll_sink sink;
	u64 rx_position;
	u64 rx_eager;
	u64 rx_consumed;
	u64 rx_returned;
	u64 rx_credited;
	u8 *unexp_buf;
	u32 unexp_len;
	u32 unexp_end;
	u32 unexp_head[COLL_UNEXP_HASH];
	u32 unexp_tail[COLL_UNEXP_HASH];
};

/* engine.c: instances */
void coll_engine_init(struct coll_engine *engine, struct coll_task **hash, u32 nhash);
int coll_engine_begin(struct coll_engine *engine, struct coll_task *task);
void coll_engine_abort(struct coll_engine *engine, u64 instance, int error);
void coll_engine_drop_unexpected(struct coll_engine *engine, u64 instance);
void coll_engine_tick(struct coll_engine *engine, u64 now);
bool coll_engine_copy(struct coll_engine *engine, u64 budget);
void coll_engine_connected(struct coll_engine *engine, struct coll_stream *stream);
u64 coll_engine_deliver_some(struct coll_engine *engine, u64 budget);
u32 coll_engine_find_lacking(const struct coll_engine *engine, bool failed,
			     bool (*gone)(void *ctx, u32 peer));
u32 coll_engine_next_source(const struct coll_engine *engine);

/**
 * coll_engine_deliver_unexpected() - take what came early, if there is any
 * @engine: the engine; an operation was submitted, bytes were received, or time has passed
 *
 * All of it: see coll_engine_deliver_some() for some of it.
 *
 * Context: the vector registers are not in use.
 */
static inline void coll_engine_deliver_unexpected(struct coll_engine *engine)
{
	while (!list_empty(&engine->unexp_ready))
		coll_engine_deliver_some(engine, U64_MAX);
}

/**
 * coll_engine_submit() - begin an operation, and take all that came early for it
 * @engine: the engine
 * @task: see coll_engine_begin()
 *
 * Return: as that.
 */
static inline int coll_engine_submit(struct coll_engine *engine, struct coll_task *task)
{
	int err = coll_engine_begin(engine, task);

	coll_engine_deliver_unexpected(engine);
	return err;
}

/* stream.c: frames, in and out */
void coll_stream_init(struct coll_stream *stream, struct coll_engine *engine,
		      u32 peer, u8 *stage, struct coll_grant *grants);
int coll_stream_granted(struct coll_stream *stream, u64 instance, u64 limit, u64 digest);
int coll_stream_consumed(struct coll_stream *stream, u64 position);
int coll_stream_credited(struct coll_stream *stream, u64 position);
void coll_stream_release(struct coll_stream *stream);
bool coll_stream_next(struct coll_stream *stream, struct coll_out *out);
void coll_stream_sent(struct coll_stream *stream, u32 len);
int coll_stream_receive(struct coll_stream *stream, const void *ptr, u32 len);
void coll_stream_pause(struct coll_stream *stream);

/**
 * coll_stream_reduces() - will the next byte be reduced with the vector registers?
 * @stream: the stream
 *
 * Return: true when coll_stream_receive() needs them.
 */
static inline bool coll_stream_reduces(const struct coll_stream *stream)
{
	return stream->rx_open && stream->sink.left && coll_sink_computes(&stream->sink);
}

/**
 * coll_stream_reduced() - was the payload of the last frame reduced, or is that of this one?
 * @stream: the stream
 */
static inline bool coll_stream_reduced(const struct coll_stream *stream)
{
	return stream->sink.kind == COLL_SINK_REDUCE;
}

/**
 * coll_stream_whole() - has all of a frame come, which coll_stream_pause() would end?
 * @stream: the stream
 */
static inline bool coll_stream_whole(const struct coll_stream *stream)
{
	return stream->rx_open && !stream->sink.left;
}

/**
 * coll_stream_lent() - does it matter until when bytes that have come were in place?
 * @stream: the stream
 *
 * Return: true: they may have been read where the peer has them, and coll_engine_tick() comes
 * between that and coll_stream_pause().
 */
static inline bool coll_stream_lent(const struct coll_stream *stream)
{
	return stream->rx_open && stream->rx_task && stream->rx_task->zc_source;
}

/**
 * coll_stream_idle() - is the stream between frames, both ways?
 * @stream: the stream
 */
static inline bool coll_stream_idle(const struct coll_stream *stream)
{
	return !stream->tx_task && !stream->rx_open && !stream->rx_hdr_len;
}

#endif /* COLL_ENGINE_H */
