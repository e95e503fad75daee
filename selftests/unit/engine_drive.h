/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a lane does with an engine in several turns, at once.
 */
#ifndef COLL_ENGINE_DRIVE_H
#define COLL_ENGINE_DRIVE_H

#include "core/engine/engine.h"

/*
 * Deliver all unexpected frames that can be received now: after a submission, after bytes were
 * received, and after a tick.
 */
static inline void engine_deliver_unexpected(struct coll_engine *engine)
{
	while (!list_empty(&engine->unexp_ready))
		coll_engine_deliver_some(engine, U64_MAX);
}

/* Start an operation and deliver its unexpected frames.  Return: see coll_engine_begin(). */
static inline int engine_submit(struct coll_engine *engine, struct coll_task *task)
{
	int err = coll_engine_begin(engine, task);

	engine_deliver_unexpected(engine);
	return err;
}

#endif /* COLL_ENGINE_DRIVE_H */
