/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_QUERY_MEMBER_H
#define COLL_QUERY_MEMBER_H

#include <linux/types.h>

struct coll_answer;
struct coll_group;
struct coll_member;

void coll_member_answer(struct coll_member *member, struct coll_answer *answer);
struct coll_member *coll_member_asker(const struct coll_group *group);
int coll_member_query(struct coll_member *member, u32 *number);

#endif /* COLL_QUERY_MEMBER_H */
