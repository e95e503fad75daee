// SPDX-License-Identifier: LGPL-2.1-or-later
#include <ctype.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/place.h"
#include "comm/deadline.h"

#define ROUTE_PAUSE_MS	50

static bool same_network(const struct bootstrap_place *a, const struct bootstrap_place *b)
{
	return a->prefix && a->prefix == b->prefix &&
	       coll_address_in_network(&b->addr, &a->addr, a->prefix);
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

/* Add to the text about addresses, which ends with "..." if it does not fit. */
static void note(struct coll_settings *settings, const char *before,
		 const struct sockaddr_storage *addr, const char *after)
{
	const size_t at = strlen(settings->places), size = sizeof(settings->places);
	char text[COLL_ADDRESS_TEXT];

	coll_address_format_host(addr, text);
	if (at + strlen(before) + strlen(text) + strlen(after) + sizeof("...") <= size)
		snprintf(settings->places + at, size - at, "%s%s%s", before, text, after);
	else if (at && settings->places[at - 1] != '.')
		strcpy(settings->places + at, "...");
}

static bool is_host_route(const struct bootstrap_place *place)
{
	const uint8_t *bytes;

	return place->prefix == 8 * coll_address_bytes(&place->addr, &bytes);
}

/* Read the address of an interface.  Return: false: it is none that other hosts may know. */
static bool read_interface(const struct ifaddrs *at, struct bootstrap_place *place)
{
	const int family = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;

	if (!(at->ifa_flags & IFF_UP) || (family != AF_INET && family != AF_INET6))
		return false;
	memset(place, 0, sizeof(*place));
	memcpy(&place->addr, at->ifa_addr, family == AF_INET ? sizeof(struct sockaddr_in) :
	       sizeof(struct sockaddr_in6));
	coll_address_set_port(&place->addr, 0);
	place->prefix = mask_length(at->ifa_netmask);
	return !coll_address_is_loopback(&place->addr);
}

/*
 * Has the host a default route, and is this the address from which it sends there?  The
 * destinations are addresses of documentation; nothing is sent.
 */
static bool is_default(const struct bootstrap_place *place)
{
	struct sockaddr_storage far = { .ss_family = place->addr.ss_family }, own;

	if (far.ss_family == AF_INET)
		((struct sockaddr_in *)&far)->sin_addr.s_addr = htonl(0xc0000201);
	else
		((struct sockaddr_in6 *)&far)->sin6_addr =
			(struct in6_addr) { { { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } } };
	return !coll_address_route(&own, &far) && coll_address_same_host(&own, &place->addr);
}

/* Is the interface a bridge?  Those of containers have the same addresses on many hosts. */
static bool is_bridge(const char *interface)
{
	char path[64 + IF_NAMESIZE];

	snprintf(path, sizeof(path), "/sys/class/net/%s/bridge", interface);
	return !access(path, F_OK);
}

/* What keeps an address from being told; NULL: nothing. */
static const char *why_left_out(const struct ifaddrs *at, const struct bootstrap_place *place)
{
	if (coll_address_is_link_local(&place->addr))
		return " (link-local)";
	if (!(at->ifa_flags & IFF_RUNNING))
		return " (no carrier)";
	if (is_host_route(place) && !is_default(place))
		return " (host route)";
	return NULL;
}

/* Places of an address in the order of a card, and one for what is told only if nothing else is. */
#define ORDERS		8
#define ORDER_LAST	ORDERS
#define ORDER_NEVER	(-1)

/*
 * Rank of an address of the host in the order of its card: bridges last; then IPv4, and the
 * default route's, first.
 */
static int place_order(const struct ifaddrs *at, const struct bootstrap_place *place)
{
	const bool first = is_default(place);

	if (coll_address_is_link_local(&place->addr) || !(at->ifa_flags & IFF_RUNNING))
		return ORDER_NEVER;
	if (is_host_route(place) && !first)
		return ORDER_LAST;
	return 4 * (!first && is_bridge(at->ifa_name)) + 2 * (place->addr.ss_family != AF_INET) +
	       !first;
}

/* Tell the addresses that have this place in the order; the last of too many are left out. */
static void add_places(struct bootstrap_card *card, struct coll_settings *settings,
		       const struct ifaddrs *all, int order)
{
	const struct ifaddrs *at;
	struct bootstrap_place place;

	for (at = all; at; at = at->ifa_next) {
		if (!read_interface(at, &place) || place_order(at, &place) != order)
			continue;
		if (card->naddrs == BOOTSTRAP_CARD_ADDRS_MAX)
			continue;
		note(settings, card->naddrs ? ", " : "this host told ", &place.addr, "");
		card->addrs[card->naddrs++] = place;
	}
}

static bool is_told(const struct bootstrap_card *card, const struct bootstrap_place *place)
{
	unsigned int i;

	for (i = 0; i < card->naddrs; i++)
		if (coll_address_same_host(&card->addrs[i].addr, &place->addr))
			return true;
	return false;
}

/* Say which addresses were left out, and why. */
static void note_left_out(const struct bootstrap_card *card, struct coll_settings *settings,
			  const struct ifaddrs *all)
{
	const char *before = settings->places[0] ? "; left out " : "left out ", *why;
	const struct ifaddrs *at;
	struct bootstrap_place place;

	for (at = all; at; at = at->ifa_next) {
		if (!read_interface(at, &place) || is_told(card, &place) ||
		    (place.addr.ss_family == AF_INET6 && coll_address_is_link_local(&place.addr)))
			continue;
		why = why_left_out(at, &place);
		note(settings, before, &place.addr, why ?: " (too many)");
		before = ", ";
	}
}

/* Tell the addresses of this host: the best first, and host routes if there is nothing else. */
static void list_all(struct bootstrap_card *card, struct coll_settings *settings,
		     const struct ifaddrs *all)
{
	int order;

	settings->places[0] = '\0';
	for (order = 0; order < ORDERS; order++)
		add_places(card, settings, all, order);
	if (!card->naddrs)
		add_places(card, settings, all, ORDER_LAST);
	note_left_out(card, settings, all);
}

/* Read 16 bytes in hexadecimal digits, with dashes between some.  Return: their number. */
static unsigned int read_uuid(const char *path, uint8_t bytes[BOOTSTRAP_HOST_SIZE])
{
	FILE *file = fopen(path, "re");
	unsigned int digits = 0;
	int c;

	while (file && digits < 2 * BOOTSTRAP_HOST_SIZE && (c = fgetc(file)) != EOF)
		if (isxdigit(c)) {
			c = isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
			bytes[digits / 2] = bytes[digits / 2] << 4 | c;
			digits++;
		}
	if (file)
		fclose(file);
	return digits / 2;
}

/* Number of the kernel and the network namespace; random where /proc does not tell. */
static void read_host(uint8_t host[BOOTSTRAP_HOST_SIZE])
{
	struct stat space;
	uint64_t number;

	if (read_uuid("/proc/sys/kernel/random/boot_id", host) == BOOTSTRAP_HOST_SIZE &&
	    !stat("/proc/self/ns/net", &space)) {
		memcpy(&number, host, sizeof(number));
		number ^= space.st_ino * 0x9e3779b97f4a7c15ULL;
		memcpy(host, &number, sizeof(number));
	} else if (getrandom(host, BOOTSTRAP_HOST_SIZE, 0) < 0) {
		memset(host, 0, BOOTSTRAP_HOST_SIZE);
	}
}

int bootstrap_list_places(struct bootstrap_card *card, struct coll_settings *settings,
			  struct coll_detail *detail)
{
	const struct ifaddrs *at;
	struct bootstrap_place place, asked = { 0 };
	struct ifaddrs *all;
	int err = 0;

	read_host(card->host);
	if (settings->local_addr[0])
		err = coll_address_local(&asked.addr, settings->local_addr, AF_UNSPEC, detail);
	if (err)
		return err;
	if (getifaddrs(&all))
		return coll_fail(detail, -errno, "the interfaces of this host: %s",
				 strerrordesc_np(errno));
	for (at = all; at && settings->local_addr[0]; at = at->ifa_next)
		if (read_interface(at, &place) &&
		    coll_address_same_host(&place.addr, &asked.addr))
			asked.prefix = place.prefix;
	if (!settings->local_addr[0])
		list_all(card, settings, all);
	freeifaddrs(all);
	if (settings->local_addr[0]) {
		card->flags |= BOOTSTRAP_CARD_FIXED;
		card->addrs[0] = asked;
		card->naddrs = 1;
	}
	return 0;
}

static bool same_host(const struct bootstrap_card *a, const struct bootstrap_card *b)
{
	return !memcmp(a->host, b->host, sizeof(a->host));
}

/* Are all ranks on one host, and does none ask for an address? */
static bool can_use_loopback(const struct bootstrap_card *cards, int nranks)
{
	int i;

	for (i = 0; i < nranks; i++)
		if (!same_host(&cards[i], &cards[0]) || cards[i].flags & BOOTSTRAP_CARD_FIXED)
			return false;
	return true;
}

/* Has the rank @rank's host this address alone? */
static bool identifies_host(const struct bootstrap_card *cards, int nranks, int rank,
			    const struct bootstrap_place *place)
{
	unsigned int j;
	int i;

	for (i = 0; i < nranks; i++)
		for (j = 0; !same_host(&cards[i], &cards[rank]) && j < cards[i].naddrs; j++)
			if (coll_address_same_host(&cards[i].addrs[j].addr, &place->addr))
				return false;
	return true;
}

/* Find the address of @rank in the network of @place; NULL: it has none. */
static const struct bootstrap_place *find_in_network(const struct bootstrap_card *cards, int nranks,
						     int rank, const struct bootstrap_place *place)
{
	const struct bootstrap_card *card = &cards[rank];
	unsigned int j;

	for (j = 0; j < card->naddrs; j++)
		if (same_network(place, &card->addrs[j]) &&
		    identifies_host(cards, nranks, rank, &card->addrs[j]))
			return &card->addrs[j];
	return NULL;
}

/* Find the address of @rank in the first network that all ranks share; NULL: there is none. */
static const struct bootstrap_place *find_shared(const struct bootstrap_card *cards, int nranks,
						 int rank)
{
	const struct bootstrap_place *place;
	unsigned int j;
	int i;

	for (j = 0; j < cards[0].naddrs; j++) {
		place = &cards[0].addrs[j];
		if (!identifies_host(cards, nranks, 0, place))
			continue;
		for (i = 1; i < nranks && find_in_network(cards, nranks, i, place); i++)
			;
		if (i == nranks)
			return find_in_network(cards, nranks, rank, place);
	}
	return NULL;
}

/*
 * Find a rank to which this one has to find a route: one that asks for an address, or
 * elsewhere.
 */
static int find_far(const struct bootstrap_card *cards, const struct coll_settings *settings)
{
	int i, far = settings->rank ? 0 : 1;

	for (i = 0; i < settings->nranks; i++) {
		if (cards[i].flags & BOOTSTRAP_CARD_FIXED)
			return i;
		if (same_host(&cards[far], &cards[settings->rank]))
			far = i;
	}
	return far;
}

/*
 * Find the local address of the route to one of the addresses of the rank @far; @text is the last
 * one that was tried.
 */
static int find_route(struct sockaddr_storage *addr, const struct bootstrap_card *cards,
		      const struct coll_settings *settings, int far,
		      char text[COLL_ADDRESS_TEXT])
{
	int err = -ENETUNREACH;
	unsigned int j;

	for (j = 0; j < cards[far].naddrs; j++) {
		const struct bootstrap_place *place = &cards[far].addrs[j];

		if (!(cards[far].flags & BOOTSTRAP_CARD_FIXED) &&
		    !identifies_host(cards, settings->nranks, far, place))
			continue;
		coll_address_format(&place->addr, text);
		err = coll_address_route(addr, &place->addr);
		if (!err && (!coll_address_is_loopback(addr) ||
			     same_host(&cards[far], &cards[settings->rank])))
			return 0;
	}
	return err ?: -ENETUNREACH;
}

/* The local address of the route to another rank; the kernel passes over tentative addresses. */
static int choose_by_route(struct sockaddr_storage *addr, const struct bootstrap_card *cards,
			   const struct coll_settings *settings, struct coll_detail *detail)
{
	const int rank = settings->rank, far = find_far(cards, settings);
	char text[COLL_ADDRESS_TEXT] = "none";
	int err;

	for (;;) {
		err = find_route(addr, cards, settings, far, text);
		if (!err || !coll_address_is_tentative(NULL) ||
		    !coll_deadline_left(settings->deadline))
			break;
		(void)poll(NULL, 0, ROUTE_PAUSE_MS);
	}
	return err ? coll_fail(detail, err,
			       "rank %d has no way to rank %d's addresses (the last: %s): set COLL_LOCAL_ADDR to an address, an interface or a network that leads to all ranks%s%s",
			       rank, far, text, settings->places[0] ? "; " : "",
			       settings->places) : 0;
}

int bootstrap_choose_place(struct sockaddr_storage *addr, const struct bootstrap_card *cards,
			   const struct coll_settings *settings, struct coll_detail *detail)
{
	const struct bootstrap_card *own = &cards[settings->rank];
	const struct bootstrap_place *place;

	if (own->flags & BOOTSTRAP_CARD_FIXED) {
		*addr = own->addrs[0].addr;
		return 0;
	}
	if (can_use_loopback(cards, settings->nranks) &&
	    !coll_address_any_local(addr, settings->deadline))
		return 0;
	place = find_shared(cards, settings->nranks, settings->rank);
	if (!place)
		return choose_by_route(addr, cards, settings, detail);
	*addr = place->addr;
	return 0;
}
