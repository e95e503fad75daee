/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_TIMES_H
#define COLL_TIMES_H

#include <linux/types.h>

#include "lane/time_table.h"

struct coll_request;
struct coll_requests;

void coll_times_new(struct coll_requests *reqs, u32 collective);
void coll_times_queued(struct coll_request *request, u64 now);
void coll_times_wait_for_calls(struct coll_request *request);
void coll_times_add(const struct coll_request *request, u64 now);
void coll_times_add_immediate(struct coll_requests *reqs, u32 collective, u64 took, u64 waited,
			      u32 peer, u64 now);
void coll_times_free(struct coll_requests *reqs);

#endif /* COLL_TIMES_H */
