/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_NET_IPV6_H
#define COLL_KERNEL_NET_IPV6_H

#include <netinet/in.h>
#include <string.h>

#include "env.h"

static inline void ipv6_addr_set_v4mapped(u32 addr, struct in6_addr *mapped)
{
	memset(mapped, 0, sizeof(*mapped));
	memset(mapped->s6_addr + 10, 0xff, 2);
	memcpy(mapped->s6_addr + 12, &addr, 4);
}

static inline bool ipv6_addr_equal(const struct in6_addr *a, const struct in6_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

#define ipv6_addr_v4mapped(addr)	IN6_IS_ADDR_V4MAPPED(addr)

/* Of whole bytes. */
static inline bool ipv6_prefix_equal(const struct in6_addr *a, const struct in6_addr *b,
				     unsigned int bits)
{
	return !memcmp(a, b, bits / 8);
}

#endif /* COLL_KERNEL_NET_IPV6_H */
