/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the engine know of instances, and nobody else does. */
#ifndef COLL_INST_H
#define COLL_INST_H

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
 * How much is stored when so much of a step has arrived: sums may be passed on wider
 * than they come, or be rounded.
 */
static inline u64 step_stored(const struct coll_step *step, u64 arrived)
{
	if (step->wide_out == step->wide_in)
		return arrived;
	return step->wide_out ? 2 * arrived : arrived / 2;
}

static inline bool inst_sent(const struct coll_inst *inst)
{
	return inst->tx_step == inst->nsteps;
}

static inline bool inst_received(const struct coll_inst *inst)
{
	return inst->rx_step == inst->nsteps;
}

/**
 * struct coll_stage_place - a frame in a stage
 * @at: where it is, plus one; 0: none
 * @before: likewise, the one before it of the same hash
 */
struct coll_stage_place {
	u32 at;
	u32 before;
};

/* engine.c */
void coll_engine_wake(struct coll_inst *inst);
void coll_engine_copying(struct coll_inst *inst);
struct coll_inst *coll_inst_find(const struct coll_engine *engine, u64 instance);
bool coll_engine_expects(const struct coll_engine *engine, u64 instance);
void coll_engine_remove(struct coll_inst *inst);

/* task.c */
void coll_inst_begin(struct coll_inst *inst);
u64 coll_inst_copy(struct coll_inst *inst, u64 budget);
void coll_inst_abort(struct coll_inst *inst, int error);
void coll_inst_tick(struct coll_inst *inst);
void coll_inst_connected(struct coll_inst *inst, const struct coll_stream *stream);
u32 coll_inst_lacks(const struct coll_inst *inst, bool (*gone)(void *ctx, u32 peer));
void coll_inst_lent(struct coll_inst *inst, struct coll_stream *stream);
bool coll_inst_may_lend(struct coll_inst *inst, struct coll_stream *stream);
void coll_inst_consumed(struct coll_inst *inst);
void coll_inst_ready(struct coll_inst *inst);
u64 coll_inst_sendable(const struct coll_inst *inst);
void coll_inst_framed(struct coll_inst *inst, struct coll_stream *stream, u32 len);
void coll_inst_stored(struct coll_inst *inst, u64 until);
void coll_inst_left(struct coll_inst *inst, u64 left);
void coll_inst_unframed(struct coll_inst *inst);
void coll_inst_settle(struct coll_inst *inst);
void coll_inst_grant(struct coll_inst *inst);
void coll_inst_kick(struct coll_inst *inst);
void coll_inst_tell_grant(struct coll_inst *inst, u64 limit);

/* scratch_window.c */
void coll_window_grant(struct coll_inst *inst, bool first);
void coll_window_swap(struct coll_inst *inst);
u64 coll_window_swapped(const struct coll_inst *inst);

/* task_rx.c: a frame and the step that it is of */
bool coll_inst_awaits(const struct coll_inst *inst, u32 peer);
bool coll_inst_receives(const struct coll_inst *inst, u32 peer);
bool coll_inst_granted(const struct coll_inst *inst, const struct coll_data *data);
bool coll_inst_expects(const struct coll_inst *inst, const struct coll_data *data);
void coll_inst_size(struct coll_inst *inst, const struct coll_data *data);
void coll_inst_sink(const struct coll_inst *inst, struct coll_sink *sink, u32 len);

/* stream.c */
u64 coll_stream_unstage(struct coll_stream *stream, u64 instance);
void coll_stream_detach(struct coll_stream *stream);
void coll_stream_compare(const struct coll_stream *stream, struct coll_inst *inst);

/* unexpected.c */
u8 *coll_stage_room(struct coll_stream *stream, u32 length);
void coll_stage_add(struct coll_stream *stream, const struct coll_data *data);
const u8 *coll_stage_next(const struct coll_stream *stream, u64 instance,
			  struct coll_stage_place *place, struct coll_data *data);
void coll_stage_remove(struct coll_stream *stream, const struct coll_stage_place *place);
bool coll_stage_holds(const struct coll_stream *stream, u64 instance);

#endif /* COLL_INST_H */
