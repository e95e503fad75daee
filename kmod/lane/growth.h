/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_GROWTH_H
#define COLL_GROWTH_H

struct coll_conn;
struct coll_lane;

u64 coll_lane_lease(const struct coll_conn *conn);
int coll_lane_use_conn(struct coll_lane *lane, struct coll_conn *conn);
int coll_lane_take_mail(struct coll_lane *lane, struct coll_conn *conn);
void coll_lane_raise_credit(struct coll_lane *lane);

#endif /* COLL_GROWTH_H */
