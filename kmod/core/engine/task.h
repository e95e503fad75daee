/* SPDX-License-Identifier: GPL-2.0-only */
/* Private header of the engine: tasks, steps and unexpected frames, as its files share them. */
#ifndef COLL_TASK_H
#define COLL_TASK_H

#include "core/engine/engine.h"

static inline u64 step_out(const struct coll_step *step)
{
	return coll_half_moves(step, step->to, &step->out);
}

static inline u64 step_in(const struct coll_step *step)
{
	return coll_half_moves(step, step->from, &step->in);
}

/*
 * Bytes that are stored when @arrived bytes of a step have arrived: a sum may be stored wider
 * than it arrives, or rounded.
 */
static inline u64 step_stored(const struct coll_step *step, u64 arrived)
{
	if (step->wide_out == step->wide_in)
		return arrived;
	return step->wide_out ? 2 * arrived : arrived / 2;
}

/* Credit that an eager frame uses, in bytes. */
static inline u32 coll_eager_cost(u32 len)
{
	return COLL_DATA_SIZE + len;
}

/*
 * The offset in the header of a frame, @done bytes into its step.  A signal has no payload whose
 * length would tell the count, so where all frames are signals this field tells it.
 */
static inline u64 task_frame_offset(const struct coll_task *task, u64 done)
{
	return task->schedule->reads ? task->args.plan.count : done;
}

static inline bool task_tx_done(const struct coll_task *task)
{
	return task->tx_step == task->nsteps;
}

static inline bool task_rx_done(const struct coll_task *task)
{
	return task->rx_step == task->nsteps;
}

/* Its bytes are moved: it is neither stopped nor aborted. */
static inline bool task_runs(const struct coll_task *task)
{
	return task->state == COLL_TASK_RUNNING;
}

/* Digest of the call, for grants; 0: they are not compared.  Small operations hardly need it. */
static inline u64 task_digest(const struct coll_task *task)
{
	return task->args.signature ? coll_signature_digest(task->args.signature) : 0;
}

/**
 * struct coll_unexp_place - position of a frame in an unexpected buffer
 * @at: offset of the frame plus one; 0: none
 * @before: likewise, of the frame before it in the same bucket
 */
struct coll_unexp_place {
	u32 at;
	u32 before;
};

/* engine.c */
void coll_engine_queue_unexpected(struct coll_task *task);
void coll_engine_queue_move(struct coll_task *task);
struct coll_task *coll_task_find(const struct coll_engine *engine, u64 instance);
bool coll_engine_expects(const struct coll_engine *engine, u64 instance);
void coll_engine_remove(struct coll_task *task);

/* task.c */
void coll_task_start(struct coll_task *task);
void coll_task_set_state(struct coll_task *task, enum coll_task_state state);
u64 coll_task_move(struct coll_task *task, u64 budget);
void coll_task_abort(struct coll_task *task, int error);
void coll_task_tick(struct coll_task *task);
void coll_task_connected(struct coll_task *task, const struct coll_stream *stream);
u32 coll_task_find_lacking(const struct coll_task *task, coll_gone_fn gone);
void coll_task_recv_zerocopy(struct coll_task *task, struct coll_stream *stream);
bool coll_task_may_zerocopy(struct coll_task *task, struct coll_stream *stream);
void coll_task_consumed(struct coll_task *task, const struct coll_stream *stream);
void coll_task_ready(struct coll_task *task);
u64 coll_task_sendable(const struct coll_task *task);
void coll_task_tx_advance(struct coll_task *task, struct coll_stream *stream, u32 len);
void coll_task_rx_advance(struct coll_task *task, u64 until);
void coll_task_scratch_freed(struct coll_task *task, u64 left);
void coll_task_frame_sent(struct coll_task *task);
void coll_task_try_complete(struct coll_task *task);
void coll_task_grant(struct coll_task *task);
void coll_task_kick(struct coll_task *task);
void coll_task_send_grant(struct coll_task *task, u64 limit);

/* scratch_window.c */
void coll_window_grant(struct coll_task *task, bool first);
u64 coll_window_resume(struct coll_task *task);
u64 coll_window_saved(const struct coll_task *task);

/* task_rx.c */
bool coll_task_awaits(const struct coll_task *task, u32 peer);
bool coll_task_receives(const struct coll_task *task, u32 peer);
bool coll_task_is_granted(const struct coll_task *task, const struct coll_data *data);
bool coll_task_expects(const struct coll_task *task, const struct coll_data *data);
void coll_task_set_length(struct coll_task *task, const struct coll_data *data);
void coll_task_sink(const struct coll_task *task, struct coll_sink *sink, u32 len);

/* task_board.c */
void coll_task_board(struct coll_task *task);
void coll_task_leave_board(struct coll_task *task);
u32 coll_task_awaited_on_board(const struct coll_task *task);

/* awaited.c */
void coll_task_stop(struct coll_task *task, u32 peer);

/* task_read.c */
u64 coll_task_read(struct coll_task *task);
void coll_task_expose(struct coll_task *task);
bool coll_task_withdraw(struct coll_task *task);

/* stream_tx.c */
void coll_stream_mismatch(const struct coll_stream *stream, struct coll_task *task);
void coll_stream_drop_frame(struct coll_stream *stream, struct coll_task *task);
int coll_stream_add_credit(struct coll_stream *stream, u64 bytes);
void coll_stream_check_granted_call(const struct coll_stream *stream, struct coll_task *task);

/* stream_rx.c */
u64 coll_stream_deliver_unexpected(struct coll_stream *stream, u64 instance);
void coll_stream_discard_rest(struct coll_stream *stream);
void coll_stream_unhold(struct coll_stream *stream);

/* unexpected.c */
u8 *coll_unexp_space(struct coll_stream *stream, u32 length);
u8 *coll_unexp_move(struct coll_stream *stream, u8 *buf);
void coll_unexp_add(struct coll_stream *stream, const struct coll_data *data);
const u8 *coll_unexp_next(const struct coll_stream *stream, u64 instance,
			  struct coll_unexp_place *place, struct coll_data *data);
void coll_unexp_remove(struct coll_stream *stream, const struct coll_unexp_place *place);
bool coll_unexp_holds(const struct coll_stream *stream, u64 instance);

#endif /* COLL_TASK_H */
