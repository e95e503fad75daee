/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine: one lane of one member (struct coll_engine), a state machine without input or output.
 *
 * The lane calls it for every event: an operation (struct coll_task) is submitted, a grant arrives,
 * bytes of a peer's connection (struct coll_stream) are received or sent, time passes.  The engine
 * calls struct coll_engine_ops to send a control frame, to announce data to send, and to report a
 * complete task.  Such a callback runs inside a call of the engine and must not call the engine
 * again: it sets bits and queues work.  No queue grows here, because the transport *pulls*: it
 * calls coll_stream_next() when it can send.
 *
 * Nothing here is locked; the owner of the lane makes all calls.
 */
#ifndef COLL_ENGINE_H
#define COLL_ENGINE_H

#include "core/board/board.h"
#include "core/engine/dropped.h"
#include "core/engine/grant.h"
#include "core/schedule/schedule.h"
#include "core/data/fuse.h"
#include "core/data/sink.h"
#include "core/wire/wire.h"

struct coll_engine;
struct coll_task;
struct coll_stream;

/**
 * struct coll_exposed - memory of another rank, while it is read
 * @mem: the memory
 * @off: offset of the operation's buffer in it; bytes
 * @len: bytes of that buffer, as the other rank has called the operation
 */
struct coll_exposed {
	const struct coll_mem *mem;
	u64 off;
	u64 len;
};

/**
 * struct coll_engine_ops - callbacks of the engine into its lane
 * @stream: returns the stream to rank @peer; NULL: there is none yet, and
 *	coll_engine_connected() will report it
 * @control: send a control frame to @peer; the engine has filled in @control->lane
 * @kick: @stream may have data to send; call coll_stream_next() later
 * @complete: @task is complete, with @task->error; its memory and its buffers belong to the
 *	caller again
 * @mismatch: rank @peer sends a frame that does not fit @task, or exposes less memory than @task
 *	reads; the caller should abort the operation
 * @revoke: let the peer of @stream read no more of what @task has sent by reference.  Returns
 *	true if nothing is read any more; false: coll_stream_consumed() will say it
 * @fpu: the engine is about to use the FPU registers (@begin true), or has finished with
 *	them.  Until then, coll_engine.fuse.part is memory that no other context uses
 * @expose: from now on, the other ranks may read the input and the result of @task
 * @withdraw: from now on, no other rank may begin to read them.  Returns true if none is reading;
 *	false: coll_engine_withdrawn() will say it.  May be called again
 * @begin_read: begin to read the memory that rank @peer exposes as @area (input or result) to the
 *	operation of @task; fills in @exposed.  Returns false if @peer has withdrawn it, and then
 *	the operation fails on this rank, too.  The caller reads the memory of several ranks at
 *	once: at most 64 KiB, or a page of each
 * @end_read: end what @begin_read began
 * @wake: other ranks may sleep that wait for what this one has stored on the board:
 *	coll_board_sleepers().  Rank @latest has kept them waiting
 * @failed: true if the operation of @instance has failed, whether or not it was submitted
 *	here. The answer holds forever for collectives with a key and for messages; for other
 *	instances it holds at least until the instance is submitted here.  coll_engine_abort()
 *	follows on every lane
 *
 * Context: the context of the call into the engine.  A callback must not call the engine.
 */
struct coll_engine_ops {
	struct coll_stream *(*stream)(void *ctx, u32 peer);
	void (*control)(void *ctx, u32 peer, const struct coll_control *control);
	void (*kick)(void *ctx, struct coll_stream *stream);
	void (*complete)(void *ctx, struct coll_task *task);
	void (*mismatch)(void *ctx, struct coll_task *task, u32 peer);
	bool (*revoke)(void *ctx, struct coll_stream *stream, struct coll_task *task);
	void (*fpu)(void *ctx, bool begin);
	void (*expose)(void *ctx, struct coll_task *task);
	bool (*withdraw)(void *ctx, struct coll_task *task);
	bool (*begin_read)(void *ctx, struct coll_task *task, u32 peer, u32 area,
			   struct coll_exposed *exposed);
	void (*end_read)(void *ctx, struct coll_task *task, u32 peer);
	void (*wake)(void *ctx, u32 latest);
	bool (*failed)(void *ctx, u64 instance);
};

/**
 * struct coll_task_args - one operation, as submitted to every lane that it uses
 * @plan: input of the schedule; the engine fills in its lane
 * @eager: true if all its frames are eager, which are sent without a grant, on credit, and copied:
 *	the payload is small, or they are signals
 * @instance: instance of the operation
 * @signature: all arguments that must be equal on every rank.  A receiver sends their digest with
 *	each grant; a sender with another digest sends nothing.  NULL: the lane does not compare,
 *	because mismatches are found elsewhere
 * @area: memory of each enum coll_area; input and result may be the same.  Scratch has
 *	coll_plan_scratch() bytes; windowed scratch accepts any offset, modulo its length
 * @area_off: offset of the operation's buffer in each area; bytes
 * @user: pointer of the caller, not used by the engine
 */
struct coll_task_args {
	struct coll_plan plan;
	bool eager;
	u64 instance;
	const struct coll_signature *signature;
	const struct coll_mem *area[COLL_AREA_COUNT];
	u64 area_off[COLL_AREA_COUNT];
	void *user;
};

/* Number of hash buckets of an engine's tasks. */
#define COLL_TASK_HASH		64

/* Number of hash buckets of an unexpected buffer: see unexpected.c. */
#define COLL_UNEXP_HASH		32

/**
 * coll_unexp_bytes() - size of an unexpected buffer
 * @credit: credit of the peer
 */
static inline u32 coll_unexp_bytes(u32 credit)
{
	return credit + credit / 8;
}

/* Number of streams that may read the memory of one task at a time. */
#define COLL_ZC_REFS	8

/**
 * struct coll_zc_ref - a peer's use of our memory by zero copy
 * @stream: stream to that peer; NULL: the reference is free, the peer has consumed all of
 *	it
 * @position: position on @stream up to which the peer must have consumed
 * @task: task that owns the memory the peer reads
 * @node: entry in the zc_refs list of @stream
 */
struct coll_zc_ref {
	struct coll_stream *stream;
	u64 position;
	struct coll_task *task;
	struct list_head node;
};

/**
 * struct coll_peer_run - progress of an interrupted run from a peer
 * @peer: rank of the peer
 * @limit: bytes granted to that peer so far
 */
struct coll_peer_run {
	u32 peer;
	u64 limit;
};

/* The life of a task: coll_task_set_state(). */
enum coll_task_state {
	COLL_TASK_RUNNING,	/* it moves bytes */
	COLL_TASK_STOPPED,	/* no more of it is received or sent; it will be aborted */
	COLL_TASK_ABORTED,	/* it waits for the last use of its memory */
	COLL_TASK_COMPLETE,	/* it has left the engine */
	COLL_TASK_STATES
};

/* How the rest of the current outgoing run is sent: see struct coll_stream. */
enum coll_task_tx {
	COLL_TASK_TX_CREDIT,	/* on credit, while there is some */
	COLL_TASK_TX_GRANT,	/* on a grant only, whatever credit comes */
	COLL_TASK_TX_ASKED,	/* likewise, and the receiver was asked for it */
};

/* The current incoming run. */
enum coll_task_rx {
	COLL_TASK_RX_PENDING,	/* no frame of it may be received yet */
	COLL_TASK_RX_STARTED,	/* frames on credit, and what is granted */
	COLL_TASK_RX_GRANTED,	/* the sender is granted all of it */
};

/**
 * struct coll_task - the part of one operation on one lane
 * @engine: engine of the lane
 * @args: the operation
 * @schedule: schedule of the operation
 * @nsteps: number of steps of the schedule
 * @local_copy: bytes that this rank still has to copy from its input to its result
 * @save_input: bytes of the input that still have to be copied to scratch before the first
 *	step
 * @state: enum coll_task_state
 * @tx_run_state: enum coll_task_tx
 * @rx_run_state: enum coll_task_rx
 * @exchanging: true if more of the exchange window can be saved: see scratch_window.c
 * @error: 0, or the negative errno of the abort
 * @open_frames: number of frames of this task that have begun and not ended.  Each stream
 *	has at most one, so this is below the number of ranks
 * @stopped_by: the peer that has stopped it: it called something else, or has revoked payload or
 *	withdrawn memory of this task; COLL_NO_RANK: none has
 * @exposed: true if other ranks may read the input and the result
 * @length_known: true if @rx has its length from the sender; @rx.length_from_sender is set
 * @lease_expired: true if the lease of @zc_source is not valid
 * @rx_held: true if the transport may store bytes in the memory of the task, so that it is not
 *	complete, whatever happens: see coll_stream_place()
 * @tx_parked: true if nothing could be sent and nothing has changed since
 * @capacity: bytes that the receive buffer has for such a step
 * @received: length that the sender announced for such a step; bytes
 * @tx_step: number of the step that sends; @nsteps: all is sent
 * @tx_off: bytes of that step that frames cover so far
 * @tx_run: bytes of the current outgoing run that frames cover so far; a signal counts as
 *	one
 * @tx: the step that sends
 * @rx_step: number of the step that receives; @nsteps: all is received
 * @rx_off: bytes of that step that are stored, in whole elements; on the board, ranks below it have
 *	published the operation
 * @rx: the step that receives
 * @rx_stream: stream that is in the middle of a frame of this task, or NULL
 * @scratch_freed: bytes that have left windowed scratch; a position that only rises
 * @scratch_reserved: value of @scratch_freed once the open frame has left
 * @scratch_stream: stream on which scratch was sent by reference that the peer has not consumed;
 *	the frame counts as open until then.  NULL: none
 * @scratch_sent: end of that frame in scratch
 * @grant_step: first step that is not granted as a whole
 * @grant_off: bytes of that step that are granted
 * @grant_limit: bytes of the run that the sender may send
 * @grant_scratch: position in scratch up to which the last grant that was sent reaches
 * @peer_run: runs that alternate with the current one
 * @zc_ref: references of peers to our memory
 * @zc_source: stream from the peer that sent bytes by zero copy, or NULL.  Its lease must be
 *	valid when the task completes with success, when it forwards these bytes, and before the
 *	next run starts
 * @tx_stream: stream of @tx, or of the step before it; NULL: there is none yet
 * @tx_node: entry in a list of @tx_stream
 * @tx_order: position among the tasks that send on @tx_stream
 * @leased: entry in the engine's list of tasks with a @zc_source
 * @boarding: entry in the engine's list of tasks on the board, which have none
 * @unexp_ready: entry in the engine's list of tasks that may take unexpected frames
 * @moving: entry in the engine's list of the same name
 * @node: entry in the engine's list of tasks
 * @hash_next: next task in the same hash bucket
 *
 * Consecutive steps that send to the same peer form a *run*, and so do consecutive steps that
 * receive from the same peer.  A schedule has one run to each peer and one from each peer.
 * Exception: with windowed scratch, runs from two peers may alternate.
 */
struct coll_task {
	struct coll_engine *engine;
	struct coll_task_args args;
	const struct coll_schedule *schedule;
	u64 nsteps;
	struct coll_local_copy local_copy;
	struct coll_local_copy save_input;
	u8 state;
	u8 tx_run_state;
	u8 rx_run_state;
	bool exchanging;
	int error;
	u32 open_frames;
	u32 stopped_by;
	bool exposed;
	bool length_known;
	bool lease_expired;
	bool rx_held;
	bool tx_parked;

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
	const struct coll_stream *scratch_stream;
	u64 scratch_sent;
	u64 grant_step;
	u64 grant_off;
	u64 grant_limit;
	u64 grant_scratch;
	struct coll_peer_run peer_run[2];

	struct coll_zc_ref zc_ref[COLL_ZC_REFS];
	struct coll_stream *zc_source;

	struct coll_stream *tx_stream;
	struct list_head tx_node;
	u64 tx_order;
	union {
		struct list_head leased;
		struct list_head boarding;
	};
	struct list_head unexp_ready;
	struct list_head moving;
	struct list_head node;
	struct coll_task *hash_next;
};

/**
 * struct coll_engine_stats - payload counters of a lane; bytes
 * @sent: handed to the transport
 * @received: taken from the transport
 * @reduced: part of @received that was reduced into memory
 * @placed: part of @received that the transport has stored in its place: nothing here has copied it
 * @read: what steps moved that read the memory of other ranks
 */
struct coll_engine_stats {
	u64 sent;
	u64 received;
	u64 reduced;
	u64 placed;
	struct coll_fuse_stats read;
};

/**
 * struct coll_engine - one lane of one member
 * @ops: callbacks into the lane
 * @ctx: first argument of @ops
 * @impl: implementation of the reductions
 * @copier: copier for large results, or NULL
 * @rank: our rank
 * @nranks: number of ranks of the group
 * @lane: number of the lane
 * @incarnation: incarnation of the group, in every frame
 * @next: lowest instance without a key that was not submitted yet
 * @failed: true if the group has failed: no more operations are expected
 * @credit_wanted: true if some stream has @rx_wanted or @rx_blocked
 * @now: latest time that coll_engine_tick() was given; ns
 * @hash: tasks, by the hash of their instance
 * @most: number of tasks that a rank may have in progress
 * @active: all tasks, oldest first
 * @moving: tasks with bytes that no frame brings or takes: see coll_engine_move()
 * @fuse: operands of the reduction that is being read
 * @board: the board; NULL: there is none, or another lane has it
 * @boarding: tasks on the board, in the order of their instances
 * @leased: tasks that received bytes by zero copy
 * @unexp_ready: tasks that may take unexpected frames
 * @streams: all streams
 * @stats: payload counters
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
	bool credit_wanted;
	u64 now;
	struct coll_task *hash[COLL_TASK_HASH];
	u32 most;
	struct list_head active;
	struct list_head moving;
	struct coll_fuse fuse;
	struct coll_board *board;
	struct list_head boarding;
	struct list_head leased;
	struct list_head unexp_ready;
	struct list_head streams;
	struct coll_engine_stats stats;
};

/* What is known about more credit of the peer. */
enum coll_ask {
	COLL_ASK_MAY,		/* the peer may be asked by BLOCKED */
	COLL_ASK_SENT,		/* it was asked, and has not answered */
	COLL_ASK_REFUSED,	/* it has refused: what waits for credit now is sent on grants */
	COLL_ASK_NEVER,		/* it gives no more */
};

/**
 * struct coll_stream - the data connection of one lane to one peer
 * @engine: engine of the lane
 * @peer: rank at the other end
 * @by_reference: true if payload that is not copied is sent as a reference, which the transport
 *	reports as consumed; no CONSUMED frame does.  Set after coll_stream_init()
 * @released: true if the peer can no longer report success for an operation of ours
 * @lease: time until which the peer keeps the memory it sends from; ns; ~0: forever
 * @node: entry in the engine's list of streams
 * @sending: tasks with a current step that sends to this peer and may have data, in their order
 * @waiting: tasks without data that may be sent, or without a grant
 * @starving: tasks without credit, not even for a request for a grant
 * @tx_orders: number of tasks that were queued on @sending so far
 * @zc_refs: references of tasks to memory that the peer reads, by position
 * @tx_hdr: header of the frame that is being sent
 * @tx_hdr_credit: bytes of credit that it returns
 * @tx_hdr_left: bytes of the header that are not sent yet
 * @tx_left: bytes of the payload that are not sent yet
 * @tx_off: offset of these bytes in @tx_mem
 * @tx_mem: memory of the payload
 * @tx_task: task of the frame; NULL: no frame is open
 * @tx_copy: true if the payload is copied, not sent by zero copy
 * @tx_scratch: true if the payload is in scratch, which is free again when it is sent
 * @tx_position: payload bytes that frames cover so far
 * @tx_consumed: part of @tx_position that the peer reported as consumed
 * @tx_eager: eager bytes sent so far, headers included
 * @tx_credit: upper limit of @tx_eager
 * @tx_credited: bytes of credit that came back in control frames so far
 * @tx_ask: enum coll_ask
 * @tx_stalls: times that a task had bytes to send, and neither a grant nor credit
 * @grants: grants that the peer has given
 * @rx_hdr: header of the frame that is being received
 * @rx_hdr_len: bytes of it that have arrived
 * @rx_data: the decoded header
 * @rx_open: true if a frame is open and @sink takes its payload
 * @rx_cost: cost of the last bytes received, for a budget: see coll_piece_cost()
 * @rx_task: task of the open frame; NULL: the frame is discarded or kept as unexpected
 * @rx_held: task in whose memory the transport may store payload of the open frame; NULL: none
 * @sink: destination of the payload
 * @rx_position: payload bytes consumed so far
 * @rx_placed: of these, bytes that the transport has stored in their place
 * @rx_eager: eager bytes received so far, headers included
 * @rx_consumed: part of @rx_eager that is consumed
 * @rx_returned: part of @rx_consumed that was returned to the peer as credit
 * @rx_credited: credit that control frames carried: part of @rx_returned, and increases of
 *	@rx_credit
 * @rx_credit: credit that the peer has, with what it has used
 * @rx_wanted: credit that the peer should have, because it has used much of it or asks for more;
 *	0: no more.  The owner may call coll_stream_raise_credit()
 * @rx_blocked: true if the peer has asked for more credit.  The owner must call
 *	coll_stream_raise_credit() or coll_stream_refuse_credit()
 * @dropped: requests that came too early and were not kept; the peer is asked for them again
 * @unexp_buf: unexpected buffer: eager frames that came before their turn;
 *	coll_unexp_bytes() of @rx_credit
 * @unexp_len: bytes of the frames in it
 * @unexp_end: offset of the next frame
 * @unexp_head: by hash of the instance: offset of the first frame plus one; 0: none
 * @unexp_tail: likewise, the last frame
 *
 * What a task sends to a peer goes on credit or on a grant.  After the first request for a grant
 * the rest of the run goes on the grant: a grant that came for a run that had left would be taken
 * for the next use of its key.  So a sender without enough credit first learns whether there is
 * more.  It sends BLOCKED, which the peer always answers by CREDIT, with more credit or not.  At
 * most one BLOCKED is unanswered, so a peer that sends a second one breaks the protocol.
 */
struct coll_stream {
	struct coll_engine *engine;
	u32 peer;
	bool by_reference;
	bool released;
	u64 lease;

	struct list_head node;
	struct list_head sending;
	struct list_head waiting;
	struct list_head starving;
	u64 tx_orders;
	struct list_head zc_refs;
	u8 tx_hdr[COLL_DATA_SIZE];
	u32 tx_hdr_credit;
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
	u8 tx_ask;
	u64 tx_stalls;
	struct coll_grants grants;

	u8 rx_hdr[COLL_DATA_SIZE];
	u32 rx_hdr_len;
	struct coll_data rx_data;
	bool rx_open;
	u64 rx_cost;
	struct coll_task *rx_task;
	struct coll_task *rx_held;
	struct coll_sink sink;
	u64 rx_position;
	u64 rx_placed;
	u64 rx_eager;
	u64 rx_consumed;
	u64 rx_returned;
	u64 rx_credited;
	u32 rx_credit;
	u32 rx_wanted;
	bool rx_blocked;
	struct coll_dropped dropped;
	u8 *unexp_buf;
	u32 unexp_len;
	u32 unexp_end;
	u32 unexp_head[COLL_UNEXP_HASH];
	u32 unexp_tail[COLL_UNEXP_HASH];
};

/* Has @peer departed, and does that matter to a task?  @ctx: of its engine. */
typedef bool (*coll_gone_fn)(void *ctx, const struct coll_task *task, u32 peer);

/* awaited.c */
u32 coll_task_awaited(const struct coll_task *task);

/* engine.c */
void coll_engine_init(struct coll_engine *engine, u32 most);
int coll_engine_begin(struct coll_engine *engine, struct coll_task *task);
void coll_engine_abort(struct coll_engine *engine, u64 instance, int error);
void coll_engine_drop_unexpected(struct coll_engine *engine, u64 instance);
void coll_engine_tick(struct coll_engine *engine, u64 now);
bool coll_engine_move(struct coll_engine *engine, u64 budget);
bool coll_engine_board(struct coll_engine *engine);
u64 coll_engine_board_needs(struct coll_engine *engine);
void coll_engine_withdrawn(struct coll_engine *engine, u64 instance);
void coll_engine_connected(struct coll_engine *engine, struct coll_stream *stream);
u64 coll_engine_deliver_some(struct coll_engine *engine, u64 budget);
u32 coll_engine_find_lacking(const struct coll_engine *engine, bool failed, coll_gone_fn gone);

/* stream_tx.c and stream_rx.c */
void coll_stream_init(struct coll_stream *stream, struct coll_engine *engine, u32 peer,
		      u8 *unexp_buf, struct coll_grant *grants, u32 ngrants);
int coll_stream_blocked(struct coll_stream *stream, u64 position);
u8 *coll_stream_raise_credit(struct coll_stream *stream, u8 *buf, u32 credit);
void coll_stream_refuse_credit(struct coll_stream *stream);
int coll_stream_granted(struct coll_stream *stream, u64 instance, u64 limit, u64 digest);
int coll_stream_consumed(struct coll_stream *stream, u64 position);
int coll_stream_credited(struct coll_stream *stream, u64 position, u8 answer);
void coll_stream_release(struct coll_stream *stream);
bool coll_stream_next(struct coll_stream *stream, struct coll_out *out);
void coll_stream_sent(struct coll_stream *stream, u32 len);
int coll_stream_receive(struct coll_stream *stream, const void *ptr, u32 len);
void coll_stream_revoked(struct coll_stream *stream, u32 len);
int coll_stream_place(struct coll_stream *stream, u64 ahead, struct coll_place *place);
void coll_stream_placed(struct coll_stream *stream, u32 len);
void coll_stream_pause(struct coll_stream *stream);

/**
 * coll_stream_reduces() - will the next byte be reduced with the FPU registers?
 * @stream: the stream
 *
 * Return: true if coll_stream_receive() needs the FPU registers.
 */
static inline bool coll_stream_reduces(const struct coll_stream *stream)
{
	return stream->rx_open && stream->sink.left && coll_sink_computes(&stream->sink);
}

/**
 * coll_stream_reduced() - is the payload of the open frame, or of the last one, reduced?
 * @stream: the stream
 */
static inline bool coll_stream_reduced(const struct coll_stream *stream)
{
	return stream->sink.kind == COLL_SINK_REDUCE;
}

/**
 * coll_stream_whole() - is all of the open frame received, so that coll_stream_pause() would end
 *	it?
 * @stream: the stream
 */
static inline bool coll_stream_whole(const struct coll_stream *stream)
{
	return stream->rx_open && !stream->sink.left;
}

/**
 * coll_stream_reads_zerocopy() - may the bytes received last have been read from the peer's memory?
 * @stream: the stream
 *
 * If so, the lane must call coll_engine_tick() between coll_stream_receive() and
 * coll_stream_pause(): the lease must have been valid when the bytes were read.
 *
 * Return: true if the open frame was sent by zero copy.
 */
static inline bool coll_stream_reads_zerocopy(const struct coll_stream *stream)
{
	return stream->rx_open && stream->rx_task && stream->rx_task->zc_source;
}

/**
 * coll_stream_idle() - is no frame open, in either direction?
 * @stream: the stream
 */
static inline bool coll_stream_idle(const struct coll_stream *stream)
{
	return !stream->tx_task && !stream->rx_open && !stream->rx_hdr_len;
}

#endif /* COLL_ENGINE_H */
