/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_PROGRESS_H
#define COLL_PROGRESS_H

#include <linux/types.h>

struct coll_conn;
struct coll_endpoint_ops;
struct coll_lane;

extern const struct coll_endpoint_ops coll_lane_endpoint_ops;

void coll_progress_conn_down(struct coll_conn *conn, int err);
void coll_progress_send_submitted(struct coll_lane *lane);
void coll_progress_update_leases(struct coll_lane *lane);
bool coll_lane_progress(struct coll_lane *lane);

#endif /* COLL_PROGRESS_H */
