/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_QUERY_LINKS_H
#define COLL_QUERY_LINKS_H

#include <linux/spinlock.h>

#include "core/query/query.h"

struct coll_link;
struct coll_net;

/**
 * struct coll_net_query - queries of a member
 * @relay: queries of other ranks [C]
 * @lock: protects @survey
 * @survey: the latest query of this rank; its entries are allocated by the first one, are charged,
 *	and live as long as the links
 */
struct coll_net_query {
	struct coll_query_relay relay;
	spinlock_t lock;
	struct coll_survey survey;
};

void coll_query_init(struct coll_net_query *query);
void coll_query_cleanup(struct coll_net *net);
int coll_query_begin(struct coll_net *net, u32 *number);
void coll_query_send(struct coll_net *net);
int coll_query_receive(struct coll_link *link, const struct coll_query *query);
int coll_query_receive_answer(struct coll_link *link, const struct coll_answer_frame *answer);

#endif /* COLL_QUERY_LINKS_H */
