// SPDX-License-Identifier: LGPL-2.1-or-later
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_addr.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/collective.h>

#include "bootstrap/address.h"
#include "comm/deadline.h"
#include "comm/interrupt.h"

#define WAIT_PAUSE_MS	50

/* Time in ms in which an IPv6 address that the host does not have may be assigned. */
#define WAIT_ABSENT_MS	3000

static const struct sockaddr_in *in4(const struct sockaddr_storage *addr)
{
	return (const struct sockaddr_in *)addr;
}

static const struct sockaddr_in6 *in6(const struct sockaddr_storage *addr)
{
	return (const struct sockaddr_in6 *)addr;
}

socklen_t coll_address_length(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

unsigned int coll_address_port(const struct sockaddr_storage *addr)
{
	return ntohs(addr->ss_family == AF_INET6 ? in6(addr)->sin6_port :
		     in4(addr)->sin_port);
}

void coll_address_set_port(struct sockaddr_storage *addr, unsigned int port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

bool coll_address_offers_rdma(const struct sockaddr_storage *addr)
{
	uint32_t offers;

	memcpy(&offers, (const char *)addr + COLLECTIVE_ADDR_OFFERS, sizeof(offers));
	return offers == COLLECTIVE_OFFERS_RDMA;
}

void coll_address_offer_rdma(struct sockaddr_storage *addr)
{
	const uint32_t offers = COLLECTIVE_OFFERS_RDMA;

	memcpy((char *)addr + COLLECTIVE_ADDR_OFFERS, &offers, sizeof(offers));
}

bool coll_address_is_loopback(const struct sockaddr_storage *addr)
{
	const struct in6_addr *a6 = &in6(addr)->sin6_addr;

	if (addr->ss_family == AF_INET)
		return ntohl(in4(addr)->sin_addr.s_addr) >> 24 == 127;
	return addr->ss_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK(a6) ||
		(IN6_IS_ADDR_V4MAPPED(a6) && a6->s6_addr[12] == 127));
}

bool coll_address_is_any(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return !in4(addr)->sin_addr.s_addr;
	return addr->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&in6(addr)->sin6_addr);
}

bool coll_address_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return in4(a)->sin_addr.s_addr == in4(b)->sin_addr.s_addr;
	return a->ss_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&in6(a)->sin6_addr, &in6(b)->sin6_addr);
}

bool coll_address_same_socket(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return coll_address_same_host(a, b) && coll_address_port(a) == coll_address_port(b);
}

bool coll_address_is_numeric(const char *host)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct addrinfo *info;

	if (getaddrinfo(host, NULL, &hints, &info))
		return false;
	freeaddrinfo(info);
	return true;
}

bool coll_address_is_link_local(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ntohl(in4(addr)->sin_addr.s_addr) >> 16 == 0xa9fe;	/* 169.254.0.0/16 */
	return addr->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&in6(addr)->sin6_addr);
}

void coll_address_scope(struct sockaddr_storage *addr,
			const struct sockaddr_storage *own)
{
	const struct sockaddr_in6 *own6 = (const void *)own;
	struct sockaddr_in6 *addr6 = (void *)addr;

	if (addr->ss_family == AF_INET6 && own->ss_family == AF_INET6 &&
	    coll_address_is_link_local(addr))
		addr6->sin6_scope_id = own6->sin6_scope_id;
}

void coll_address_format(const struct sockaddr_storage *addr,
			 char text[COLL_ADDRESS_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (addr->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6(addr)->sin6_addr, host, sizeof(host));
		snprintf(text, COLL_ADDRESS_TEXT, "[%s]:%u", host,
			 coll_address_port(addr));
	} else if (addr->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in4(addr)->sin_addr, host, sizeof(host));
		snprintf(text, COLL_ADDRESS_TEXT, "%s:%u", host,
			 coll_address_port(addr));
	} else {
		snprintf(text, COLL_ADDRESS_TEXT, "?");
	}
}

void coll_address_format_host(const struct sockaddr_storage *addr, char text[COLL_ADDRESS_TEXT])
{
	const uint8_t *bytes;

	snprintf(text, COLL_ADDRESS_TEXT, "?");
	if (!coll_address_length(addr))
		return;
	coll_address_bytes(addr, &bytes);
	inet_ntop(addr->ss_family, bytes, text, COLL_ADDRESS_TEXT);
}

int coll_address_split(const char *text, char *host, size_t size)
{
	const char *colon = strrchr(text, ':');
	size_t length;
	char *end;
	long port;

	if (!colon || colon == text || colon[1] < '0' || colon[1] > '9')
		return -EINVAL;
	port = strtol(colon + 1, &end, 10);
	if (*end || port < 1 || port > 65535)
		return -EINVAL;
	length = colon - text;
	if (text[0] == '[') {
		if (length < 3 || colon[-1] != ']')
			return -EINVAL;
		text++;
		length -= 2;
	} else if (memchr(text, ':', length)) {
		return -EINVAL;	/* an IPv6 address needs brackets */
	}
	if (length >= size)
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = '\0';
	return port;
}

size_t coll_address_bytes(const struct sockaddr_storage *addr, const uint8_t **bytes)
{
	if (addr->ss_family == AF_INET6) {
		*bytes = in6(addr)->sin6_addr.s6_addr;
		return 16;
	}
	*bytes = (const void *)&in4(addr)->sin_addr;
	return 4;
}

bool coll_address_in_network(const struct sockaddr_storage *addr,
			     const struct sockaddr_storage *network, unsigned int prefix)
{
	const unsigned int whole = prefix / 8, bits = prefix % 8;
	const uint8_t *left, *right;

	if (addr->ss_family != network->ss_family || prefix > 8 * coll_address_bytes(addr, &left))
		return false;
	coll_address_bytes(network, &right);
	return !memcmp(left, right, whole) &&
	       (!bits || !((left[whole] ^ right[whole]) >> (8 - bits)));
}

/* Parse a numeric address. */
static int parse(struct sockaddr_storage *addr, const char *text)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *info;

	memset(addr, 0, sizeof(*addr));
	if (getaddrinfo(text, NULL, &hints, &info))
		return -EINVAL;
	memcpy(addr, info->ai_addr, info->ai_addrlen);
	freeaddrinfo(info);
	return coll_address_length(addr) ? 0 : -EINVAL;
}

/* Parse "address/prefix".  Return: the length of the prefix in bits, or -EINVAL. */
static int parse_network(struct sockaddr_storage *network, const char *text)
{
	const char *slash = strchr(text, '/');
	char host[COLL_ADDRESS_TEXT], *end;
	const uint8_t *bytes;
	unsigned long prefix;

	if (!slash || (size_t)(slash - text) >= sizeof(host) || slash[1] < '0' || slash[1] > '9')
		return -EINVAL;
	memcpy(host, text, slash - text);
	host[slash - text] = '\0';
	prefix = strtoul(slash + 1, &end, 10);
	if (*end || parse(network, host) || prefix > 8 * coll_address_bytes(network, &bytes))
		return -EINVAL;
	return prefix;
}

/*
 * Find an address of this host: of the interface @name, or in the network @network, @prefix if
 * there is no name.
 */
static int find_own(struct sockaddr_storage *addr, const char *name,
		    const struct sockaddr_storage *network, unsigned int prefix, int family)
{
	const struct ifaddrs *at;
	struct ifaddrs *all;
	int err = -EADDRNOTAVAIL;

	if (getifaddrs(&all))
		return -errno;
	for (at = all; at; at = at->ifa_next) {
		struct sockaddr_storage one = { 0 };
		int of = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;

		if ((of != AF_INET && of != AF_INET6) ||
		    (name && strcmp(at->ifa_name, name)) ||
		    (family != AF_UNSPEC && of != family))
			continue;
		memcpy(&one, at->ifa_addr, of == AF_INET ?
		       sizeof(struct sockaddr_in) :
		       sizeof(struct sockaddr_in6));
		if (!name && !coll_address_in_network(&one, network, prefix))
			continue;
		/* Prefer a global address to a link-local one. */
		if (!err && coll_address_is_link_local(&one))
			continue;
		if (!err && !coll_address_is_link_local(addr))
			continue;
		*addr = one;
		err = 0;
	}
	freeifaddrs(all);
	return err;
}

int coll_address_local(struct sockaddr_storage *addr, const char *text,
		       int family, struct coll_detail *detail)
{
	struct sockaddr_storage network;
	int prefix, err;

	err = parse(addr, text);
	if (err) {
		prefix = parse_network(&network, text);
		memset(addr, 0, sizeof(*addr));
		err = find_own(addr, prefix < 0 ? text : NULL, &network, prefix, family);
	}
	coll_address_set_port(addr, 0);
	if (err)
		return coll_fail(detail, err,
				 "local address %s: neither an address, nor an interface that has one, nor a network in which this host has one",
				 text);
	return 0;
}

int coll_address_route(struct sockaddr_storage *addr, const struct sockaddr_storage *to)
{
	socklen_t length = sizeof(*addr);
	struct sockaddr_storage far = *to;
	int fd, err = 0;

	memset(addr, 0, sizeof(*addr));
	/* connect() of a UDP socket sends nothing; it only looks up the route. */
	if (!coll_address_port(&far))
		coll_address_set_port(&far, 9);
	fd = socket(far.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&far, coll_address_length(&far)) ||
	    getsockname(fd, (struct sockaddr *)addr, &length))
		err = -errno;
	close(fd);
	coll_address_set_port(addr, 0);
	return err;
}

bool coll_address_is_tentative(const struct sockaddr_storage *addr)
{
	FILE *file = fopen("/proc/net/if_inet6", "re");
	unsigned int flags, i, byte;
	struct sockaddr_storage own;
	bool found = false;
	char digits[33];

	while (file && !found && fscanf(file, "%32s %*x %*x %*x %x %*s", digits, &flags) == 2) {
		if ((flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) != IFA_F_TENTATIVE)
			continue;
		memset(&own, 0, sizeof(own));
		own.ss_family = AF_INET6;
		for (i = 0; i < 16 && sscanf(digits + 2 * i, "%2x", &byte) == 1; i++)
			((struct sockaddr_in6 *)&own)->sin6_addr.s6_addr[i] = byte;
		found = !addr || coll_address_same_host(addr, &own);
	}
	if (file)
		fclose(file);
	return found;
}

bool coll_address_wait(const struct sockaddr_storage *addr, uint64_t since, uint64_t deadline)
{
	const unsigned int left = coll_deadline_left(deadline);

	if (addr->ss_family != AF_INET6 || !left ||
	    (coll_deadline_now() >= since + WAIT_ABSENT_MS && !coll_address_is_tentative(addr)))
		return false;
	/* Only a signal ends it early. */
	coll_interrupt_pause(left < WAIT_PAUSE_MS ? left : WAIT_PAUSE_MS);
	return true;
}

static int can_bind(const struct sockaddr_storage *addr)
{
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)addr, coll_address_length(addr)))
		err = -errno;
	close(fd);
	return err;
}

/*
 * Find an address of an interface that can be bound; @link_local: of which kind.  Return: 0 or a
 * negative errno.
 */
static int find_bound(struct sockaddr_storage *addr, bool link_local)
{
	const struct ifaddrs *at;
	struct ifaddrs *all;
	int err = -EADDRNOTAVAIL;

	if (getifaddrs(&all))
		return -errno;
	for (at = all; at && err; at = at->ifa_next) {
		int of = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;

		if (of != AF_INET && of != AF_INET6)
			continue;
		memset(addr, 0, sizeof(*addr));
		memcpy(addr, at->ifa_addr, of == AF_INET ? sizeof(struct sockaddr_in) :
		       sizeof(struct sockaddr_in6));
		if (coll_address_is_link_local(addr) == link_local)
			err = can_bind(addr);
	}
	freeifaddrs(all);
	return err;
}

int coll_address_any_local(struct sockaddr_storage *addr, uint64_t deadline)
{
	int err;

	memset(addr, 0, sizeof(*addr));
	addr->ss_family = AF_INET;
	((struct sockaddr_in *)addr)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!can_bind(addr))
		return 0;
	memset(addr, 0, sizeof(*addr));
	addr->ss_family = AF_INET6;
	((struct sockaddr_in6 *)addr)->sin6_addr = in6addr_loopback;
	if (!can_bind(addr))
		return 0;
	do {
		err = find_bound(addr, false);
	} while (err == -EADDRNOTAVAIL && coll_address_is_tentative(NULL) &&
		 coll_deadline_left(deadline) &&
		 !coll_interrupt_poll(NULL, 0, WAIT_PAUSE_MS));
	return err ? find_bound(addr, true) : 0;
}

bool coll_address_met_self(int fd)
{
	struct sockaddr_storage here = { 0 }, there = { 0 };
	socklen_t a = sizeof(here), b = sizeof(there);
	struct linger now = { .l_onoff = 1 };

	if (getsockname(fd, (struct sockaddr *)&here, &a) ||
	    getpeername(fd, (struct sockaddr *)&there, &b) ||
	    a != b || memcmp(&here, &there, a))
		return false;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	return true;
}
