// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/own_address.h"

/* Order of an address is the sum of these. */
#define ORDER_NOT_DEFAULT	1
#define ORDER_IPV6		2
#define ORDER_BRIDGE		4
#define ORDER_NEVER		8
#define ORDER_HOST_ROUTE	16	/* only if there is nothing else */

/**
 * struct routes - local addresses of the default routes; family 0: there is none
 * @ipv4: that of IPv4
 * @ipv6: that of IPv6
 */
struct routes {
	struct sockaddr_storage ipv4;
	struct sockaddr_storage ipv6;
};

/* The destinations are addresses of documentation; nothing is sent. */
static void find_routes(struct routes *routes)
{
	struct sockaddr_storage far = { .ss_family = AF_INET };

	((struct sockaddr_in *)&far)->sin_addr.s_addr = htonl(0xc0000201);
	if (coll_address_route(&routes->ipv4, &far))
		routes->ipv4.ss_family = AF_UNSPEC;
	memset(&far, 0, sizeof(far));
	far.ss_family = AF_INET6;
	((struct sockaddr_in6 *)&far)->sin6_addr =
		(struct in6_addr) { { { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } } };
	if (coll_address_route(&routes->ipv6, &far))
		routes->ipv6.ss_family = AF_UNSPEC;
}

static bool is_default(const struct routes *routes, const struct sockaddr_storage *addr)
{
	return coll_address_same_host(&routes->ipv4, addr) ||
	       coll_address_same_host(&routes->ipv6, addr);
}

static unsigned int mask_length(const struct sockaddr *mask)
{
	struct sockaddr_storage known = { 0 };
	const uint8_t *bytes;
	unsigned int length = 0;
	size_t size, i;

	if (!mask)
		return 0;
	memcpy(&known, mask, mask->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
	       sizeof(struct sockaddr_in));
	size = coll_address_bytes(&known, &bytes);
	for (i = 0; i < size; i++)
		length += __builtin_popcount(bytes[i]);
	return length;
}

static bool is_host_route(const struct bootstrap_place *place)
{
	const uint8_t *bytes;

	return place->prefix == 8 * coll_address_bytes(&place->addr, &bytes);
}

/* Is the interface a bridge?  Those of containers have the same addresses on many hosts. */
static bool is_bridge(const char *interface)
{
	char path[64 + IF_NAMESIZE];

	snprintf(path, sizeof(path), "/sys/class/net/%s/bridge", interface);
	return !access(path, F_OK);
}

/* Read the address of an interface.  Return: false: it is no part of the list. */
static bool read_interface(const struct ifaddrs *at, struct own_address *own)
{
	const int family = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;

	if (!(at->ifa_flags & IFF_UP) || (family != AF_INET && family != AF_INET6))
		return false;
	memset(own, 0, sizeof(*own));
	memcpy(&own->place.addr, at->ifa_addr, family == AF_INET ? sizeof(struct sockaddr_in) :
	       sizeof(struct sockaddr_in6));
	coll_address_set_port(&own->place.addr, 0);
	own->place.prefix = mask_length(at->ifa_netmask);
	snprintf(own->interface, sizeof(own->interface), "%s", at->ifa_name);
	return !coll_address_is_loopback(&own->place.addr);
}

/* Set the order of an address, and what keeps it from being told, or may do so. */
static void classify(struct own_address *own, const struct routes *routes, bool carrier)
{
	const bool first = is_default(routes, &own->place.addr);

	if (coll_address_is_link_local(&own->place.addr))
		own->left_out = "link-local";
	else if (!carrier)
		own->left_out = "no carrier";
	own->order = own->left_out ? ORDER_NEVER : 0;
	if (own->left_out)
		return;
	if (!first)
		own->order |= ORDER_NOT_DEFAULT;
	if (own->place.addr.ss_family != AF_INET)
		own->order |= ORDER_IPV6;
	if (!first && is_bridge(own->interface))
		own->order |= ORDER_BRIDGE;
	if (!first && is_host_route(&own->place)) {
		own->order = ORDER_HOST_ROUTE;
		own->left_out = "host route";
	}
}

/* Insert an address behind those that are as good. */
static void insert(struct own_address *all, unsigned int n, const struct own_address *own)
{
	unsigned int i;

	for (i = n; i && all[i - 1].order > own->order; i--)
		all[i] = all[i - 1];
	all[i] = *own;
}

/* Host routes count if there is nothing else; the last of too many are left out. */
static void choose_told(struct own_address *all, unsigned int n)
{
	const bool others = n && all[0].order < ORDER_NEVER;
	unsigned int i, told = 0;

	for (i = 0; i < n; i++) {
		if (others ? all[i].order >= ORDER_NEVER : all[i].order == ORDER_NEVER)
			continue;
		all[i].left_out = told++ < BOOTSTRAP_CARD_ADDRS_MAX ? NULL : "too many";
	}
}

int own_address_list(struct own_address **all, unsigned int *n)
{
	struct routes routes = { 0 };
	unsigned int space = 0;
	const struct ifaddrs *at;
	struct ifaddrs *interfaces;
	struct own_address own;

	if (getifaddrs(&interfaces))
		return -errno;
	for (at = interfaces; at; at = at->ifa_next)
		space++;
	*n = 0;
	*all = calloc(space + 1, sizeof(**all));
	if (*all)
		find_routes(&routes);
	for (at = interfaces; *all && at; at = at->ifa_next) {
		if (!read_interface(at, &own))
			continue;
		classify(&own, &routes, at->ifa_flags & IFF_RUNNING);
		insert(*all, (*n)++, &own);
	}
	freeifaddrs(interfaces);
	if (!*all)
		return -ENOMEM;
	choose_told(*all, *n);
	return 0;
}

bool own_address_is_usual(const struct own_address *address)
{
	return address->place.addr.ss_family == AF_INET6 &&
	       coll_address_is_link_local(&address->place.addr);
}
