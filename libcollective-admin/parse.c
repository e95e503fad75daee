// SPDX-License-Identifier: LGPL-2.1-or-later
/* Attributes that several objects share. */
#include <netinet/in.h>
#include <string.h>

#include "admin.h"

/* A number of four or eight bytes. */
uint64_t attr_uint(const struct nlattr *attr, uint64_t otherwise)
{
	uint32_t small;
	uint64_t large;

	if (!attr)
		return otherwise;
	if (nla_len(attr) == sizeof(small)) {
		memcpy(&small, nla_data(attr), sizeof(small));
		return small;
	}
	if (nla_len(attr) != sizeof(large))
		return otherwise;
	memcpy(&large, nla_data(attr), sizeof(large));
	return large;
}

unsigned int attr_u32(const struct nlattr *attr, unsigned int otherwise)
{
	return attr && nla_len(attr) == sizeof(uint32_t) ? nla_get_u32(attr) : otherwise;
}

void attr_address(const struct nlattr *attr, struct sockaddr_storage *address)
{
	memset(address, 0, sizeof(*address));
	if (attr && (nla_len(attr) == sizeof(struct sockaddr_in) ||
		     nla_len(attr) == sizeof(struct sockaddr_in6)))
		memcpy(address, nla_data(attr), nla_len(attr));
}

/*
 * Finds all attributes of a type.  nla_parse() keeps the last one, before which the others lie in
 * the message.  Return: number of them.
 */
unsigned int attr_all(struct nlattr **attrs, int type, struct nlattr **found, unsigned int max)
{
	struct nlattr *attr;
	unsigned int n = 0;
	int left;

	if (!attrs[type])
		return 0;
	left = (char *)attrs[type] + NLA_ALIGN(attrs[type]->nla_len) - (char *)attrs[0];
	nla_for_each_attr(attr, attrs[0], left, left)
		if (nla_type(attr) == type && n < max)
			found[n++] = attr;
	return n;
}

/* Reads a number that comes several times.  Return: number of values. */
unsigned int attr_u32s(struct nlattr **attrs, int type, unsigned int *values, unsigned int max)
{
	struct nlattr *found[COLL_ADMIN_WAITS];
	unsigned int i, n = attr_all(attrs, type, found, max);

	for (i = 0; i < n; i++)
		values[i] = attr_u32(found[i], COLL_ADMIN_NONE);
	return n;
}

void parse_reason(struct nlattr *attr, struct coll_admin_reason *reason)
{
	struct nlattr *attrs[COLLECTIVE_A_REASON_MAX + 1] = { 0 };

	if (attr)
		nla_parse_nested(attrs, COLLECTIVE_A_REASON_MAX, attr, NULL);
	reason->kind = attr_u32(attrs[COLLECTIVE_A_REASON_KIND], 0);
	reason->error = attr_u32(attrs[COLLECTIVE_A_REASON_ERROR], 0);
	reason->rank_a = attr_u32(attrs[COLLECTIVE_A_REASON_RANK_A], COLL_ADMIN_NONE);
	reason->rank_b = attr_u32(attrs[COLLECTIVE_A_REASON_RANK_B], COLL_ADMIN_NONE);
	reason->instance = attr_uint(attrs[COLLECTIVE_A_REASON_INSTANCE], COLL_ADMIN_NO_INSTANCE);
}

void parse_call(struct nlattr *attr, struct coll_admin_call *call)
{
	struct nlattr *attrs[COLLECTIVE_A_CALL_MAX + 1] = { 0 };

	if (attr)
		nla_parse_nested(attrs, COLLECTIVE_A_CALL_MAX, attr, NULL);
	call->rank = attr_u32(attrs[COLLECTIVE_A_CALL_RANK], COLL_ADMIN_NONE);
	call->opcode = attr_u32(attrs[COLLECTIVE_A_CALL_OPCODE], 0);
	call->type = attr_u32(attrs[COLLECTIVE_A_CALL_TYPE], 0);
	call->reduction = attr_u32(attrs[COLLECTIVE_A_CALL_REDUCTION], 0);
	call->algorithm = attr_u32(attrs[COLLECTIVE_A_CALL_ALGORITHM], 0);
	call->flags = attr_u32(attrs[COLLECTIVE_A_CALL_FLAGS], 0);
	call->root = attr_u32(attrs[COLLECTIVE_A_CALL_ROOT], 0);
	call->count = attr_uint(attrs[COLLECTIVE_A_CALL_COUNT], 0);
	call->layout = attr_uint(attrs[COLLECTIVE_A_CALL_LAYOUT], 0);
}

void parse_traffic(struct nlattr *attr, struct coll_admin_traffic *traffic, uint64_t *placed)
{
	struct nlattr *attrs[COLLECTIVE_A_TRAFFIC_MAX + 1] = { 0 };

	if (attr)
		nla_parse_nested(attrs, COLLECTIVE_A_TRAFFIC_MAX, attr, NULL);
	traffic->sent = attr_uint(attrs[COLLECTIVE_A_TRAFFIC_SENT], 0);
	traffic->received = attr_uint(attrs[COLLECTIVE_A_TRAFFIC_RECEIVED], 0);
	traffic->reduced = attr_uint(attrs[COLLECTIVE_A_TRAFFIC_REDUCED], 0);
	traffic->read = attr_uint(attrs[COLLECTIVE_A_TRAFFIC_READ], 0);
	traffic->read_own = attr_uint(attrs[COLLECTIVE_A_TRAFFIC_READ_OWN], 0);
	traffic->stored = attr_uint(attrs[COLLECTIVE_A_TRAFFIC_STORED], 0);
	traffic->zero_copy = attr_uint(attrs[COLLECTIVE_A_TRAFFIC_ZERO_COPY], 0);
	traffic->nontemporal = attr_uint(attrs[COLLECTIVE_A_TRAFFIC_NONTEMPORAL], 0);
	*placed = attr_uint(attrs[COLLECTIVE_A_TRAFFIC_PLACED], 0);
}

static void parse_bucket(struct nlattr *attr, struct coll_admin_bucket *bucket)
{
	struct nlattr *attrs[COLLECTIVE_A_BUCKET_MAX + 1] = { 0 };

	nla_parse_nested(attrs, COLLECTIVE_A_BUCKET_MAX, attr, NULL);
	bucket->limit_ns = attr_uint(attrs[COLLECTIVE_A_BUCKET_LIMIT_NS], UINT64_MAX);
	bucket->count = attr_uint(attrs[COLLECTIVE_A_BUCKET_COUNT], 0);
}

void parse_histogram(struct nlattr *attr, struct coll_admin_histogram *histogram)
{
	struct coll_admin_bucket *bucket;
	struct nlattr *item;
	int left;

	*histogram = (struct coll_admin_histogram){ 0 };
	if (!attr)
		return;
	nla_for_each_nested(item, attr, left) {
		if (nla_type(item) == COLLECTIVE_A_HISTOGRAM_SUM_NS)
			histogram->sum_ns = attr_uint(item, 0);
		if (nla_type(item) != COLLECTIVE_A_HISTOGRAM_BUCKET ||
		    histogram->n == COLL_ADMIN_BUCKETS)
			continue;
		bucket = &histogram->bucket[histogram->n++];
		parse_bucket(item, bucket);
		histogram->count += bucket->count;
	}
}

void parse_wait(struct nlattr *attr, struct coll_admin_wait *wait)
{
	struct nlattr *attrs[COLLECTIVE_A_WAIT_MAX + 1] = { 0 };

	nla_parse_nested(attrs, COLLECTIVE_A_WAIT_MAX, attr, NULL);
	wait->peer = attr_u32(attrs[COLLECTIVE_A_WAIT_PEER], COLL_ADMIN_NONE);
	wait->ns = attr_uint(attrs[COLLECTIVE_A_WAIT_NS], 0);
}
