/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_REQUEST_CACHE_H
#define COLL_REQUEST_CACHE_H

#include <linux/types.h>

#include <linux/collective.h>

struct coll_requests;
struct coll_request;

/* Requests that a member keeps for reuse, a power of two. */
#define COLL_REQUEST_CACHE	8

struct coll_request *coll_request_cache_get(struct coll_requests *reqs,
					    const struct collective_op *op);
bool coll_request_cache_hit(struct coll_request *request, const struct collective_op *op);
bool coll_request_cache_put(struct coll_request *request);
void coll_request_cache_clear(struct coll_requests *reqs);

#endif /* COLL_REQUEST_CACHE_H */
