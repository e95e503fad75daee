/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_SPARE_H
#define COLL_SPARE_H

#include <linux/types.h>

#include <linux/collective.h>

struct coll_member;
struct coll_request;

/* So many calls are known to a member, a power of two. */
#define COLL_SPARES	8

struct coll_request *coll_request_cache_get(struct coll_member *member,
					    const struct collective_op *op);
bool coll_request_cache_hit(struct coll_request *request, const struct collective_op *op);
bool coll_request_cache_put(struct coll_request *request);
void coll_request_cache_clear(struct coll_member *member);

#endif /* COLL_SPARE_H */
