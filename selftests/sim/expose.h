/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_SIM_EXPOSE_H
#define COLL_SIM_EXPOSE_H

#include "sim.h"

void expose_begin(void *ctx, struct coll_task *task);
bool expose_withdraw(void *ctx, struct coll_task *task);
bool expose_begin_read(void *ctx, struct coll_task *task, u32 peer, u32 area,
		       struct coll_exposed *exposed);
void expose_end_read(void *ctx, struct coll_task *task, u32 peer);
void expose_end_withdrawals(struct member *member);

#endif /* COLL_SIM_EXPOSE_H */
