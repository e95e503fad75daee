/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_LANE_FAIL_H
#define COLL_LANE_FAIL_H

struct coll_lane;

void coll_lane_abort_ops(struct coll_lane *lane);
void coll_lane_fail(struct coll_lane *lane);
void coll_lane_check_departed(struct coll_lane *lane);
void coll_lane_check_refused(struct coll_lane *lane);

#endif /* COLL_LANE_FAIL_H */
