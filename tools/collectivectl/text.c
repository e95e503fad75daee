// SPDX-License-Identifier: GPL-2.0-only
/* Numbers, ranks, operations and addresses as text. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

#define TEXTS	16
#define SIZE	256

/* As in linux/collective.h, which tools do not see. */
#define INSTANCE_KEYED		(1ULL << 63)
#define INSTANCE_MESSAGE	(1ULL << 62)
#define INSTANCE_FROM(_name)	((unsigned int)((_name) >> 50 & 1023))
#define INSTANCE_TO(_name)	((unsigned int)((_name) >> 40 & 1023))
#define KEY_MAX			((1ULL << 40) - 1)

char *text_printable(char *text)
{
	char *at;

	for (at = text; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	return text;
}

static char *text_next(void)
{
	static char texts[TEXTS][SIZE];
	static unsigned int next;

	return texts[next++ % TEXTS];
}

const char *text_bytes(uint64_t bytes)
{
	static const char units[] = " KMGTPE";
	char *text = text_next();
	double value = bytes;
	unsigned int unit = 0;

	while (value >= 1024 && unit < sizeof(units) - 2) {
		value /= 1024;
		unit++;
	}
	if (!unit)
		snprintf(text, SIZE, "%" PRIu64, bytes);
	else
		snprintf(text, SIZE, value < 10 ? "%.1f%c" : "%.0f%c", value, units[unit]);
	return text;
}

const char *text_duration(uint64_t ns)
{
	char *text = text_next();

	if (ns < 1000000)
		snprintf(text, SIZE, "%.0fus", ns / 1e3);
	else if (ns < 1000000000)
		snprintf(text, SIZE, "%.0fms", ns / 1e6);
	else if (ns < 100000000000)
		snprintf(text, SIZE, "%.1fs", ns / 1e9);
	else
		snprintf(text, SIZE, "%.0fs", ns / 1e9);
	return text;
}

const char *text_rank(unsigned int rank)
{
	char *text = text_next();

	if (rank == COLL_ADMIN_NONE)
		return "-";
	snprintf(text, SIZE, "%u", rank);
	return text;
}

const char *text_ranks(const unsigned int *ranks, unsigned int n)
{
	char *text = text_next();
	size_t length = 0;
	unsigned int i;

	*text = '\0';
	for (i = 0; i < n; i++)
		length += snprintf(text + length, SIZE - length, "%s%u", i ? "," : "", ranks[i]);
	return text;
}

const char *text_operation(uint64_t instance)
{
	const char *key = instance & INSTANCE_KEYED ? "key:" : "";
	uint64_t number = instance & ~(INSTANCE_KEYED | INSTANCE_MESSAGE);
	char *text = text_next();

	if (instance == COLL_ADMIN_NO_INSTANCE)
		return "";
	if (instance & INSTANCE_MESSAGE)
		snprintf(text, SIZE, "%u>%u:%s%" PRIu64, INSTANCE_FROM(instance),
			 INSTANCE_TO(instance), key, (uint64_t)(number & KEY_MAX));
	else
		snprintf(text, SIZE, "%s%" PRIu64, key, number);
	return text;
}

const char *text_address(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	char *text = text_next(), host[INET6_ADDRSTRLEN];

	switch (address->ss_family) {
	case AF_INET:
		snprintf(text, SIZE, "%s:%u", inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host)),
			 ntohs(in->sin_port));
		return text;
	case AF_INET6:
		snprintf(text, SIZE, "[%s]:%u",
			 inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host)),
			 ntohs(in6->sin6_port));
		return text;
	}
	return "";
}

/* The reason in words; "" if there is none. */
const char *text_reason(const struct coll_admin_reason *reason)
{
	const char *kind = coll_admin_name(COLL_ADMIN_REASON, reason->kind);
	char *text = text_next();

	if (!reason->kind)
		return "";
	if (reason->rank_a == COLL_ADMIN_NONE)
		snprintf(text, SIZE, "%s", kind);
	else if (reason->rank_b == COLL_ADMIN_NONE)
		snprintf(text, SIZE, "%s of rank %u", kind, reason->rank_a);
	else if (reason->kind == COLL_ADMIN_REASON_DEADLINE)
		snprintf(text, SIZE, "%s of rank %u, waiting for rank %u", kind, reason->rank_a,
			 reason->rank_b);
	else
		snprintf(text, SIZE, "%s of ranks %u and %u", kind, reason->rank_a, reason->rank_b);
	return text;
}

const char *text_call(const struct coll_admin_call *call)
{
	char *text = text_next();

	if (call->rank == COLL_ADMIN_NONE)
		return "";
	snprintf(text, SIZE, "%s type=%s reduction=%s root=%u count=%" PRIu64 " flags=%#x",
		 coll_admin_name(COLL_ADMIN_OPCODE, call->opcode),
		 coll_admin_name(COLL_ADMIN_TYPE, call->type),
		 coll_admin_name(COLL_ADMIN_REDUCTION, call->reduction), call->root, call->count,
		 call->flags);
	return text;
}
