/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_SIM_LEND_H
#define COLL_SIM_LEND_H

#include "sim.h"

void lend_begin(void *ctx, struct coll_task *task);
bool lend_withdraw(void *ctx, struct coll_task *task);
bool lend_begin_read(void *ctx, struct coll_task *task, u32 peer, u32 area,
		     struct coll_lent *lent);
void lend_end_read(void *ctx, struct coll_task *task, u32 peer);
void lend_end_withdrawals(struct member *member);

#endif /* COLL_SIM_LEND_H */
