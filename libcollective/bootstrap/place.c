// SPDX-License-Identifier: LGPL-2.1-or-later
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/own_address.h"
#include "bootstrap/place.h"
#include "comm/deadline.h"
#include "comm/interrupt.h"

#define ROUTE_PAUSE_MS	50

bool bootstrap_same_network(const struct bootstrap_place *a, const struct bootstrap_place *b)
{
	return a->prefix && a->prefix == b->prefix &&
	       coll_address_in_network(&b->addr, &a->addr, a->prefix);
}

void bootstrap_note(struct coll_settings *settings, const char *format, ...)
{
	const size_t size = sizeof(settings->places);
	char before[sizeof(settings->places)];
	size_t length;
	va_list args;

	memcpy(before, settings->places, size);
	va_start(args, format);
	vsnprintf(settings->places, size, format, args);
	va_end(args);
	length = strlen(settings->places);
	if (before[0])
		snprintf(settings->places + length, size - length, "; %s", before);
}

void bootstrap_note_translation(struct coll_settings *settings, int rank,
				const struct sockaddr_storage *seen,
				const struct sockaddr_storage *own)
{
	char from[COLL_ADDRESS_TEXT], text[COLL_ADDRESS_TEXT];

	if (strstr(settings->places, "address translation"))
		return;
	coll_address_format_host(seen, from);
	coll_address_format_host(own, text);
	bootstrap_note(settings,
		       "rank %d came from %s and gives %s as its address: address translation? (COLL_LOCAL_ADDR there)",
		       rank, from, text);
}

/* Add an address to the text about addresses, which ends with "..." if it does not fit. */
static void note(struct coll_settings *settings, const char *before, const struct own_address *own)
{
	const size_t at = strlen(settings->places), size = sizeof(settings->places);
	const char *why = own->left_out ?: "";
	char text[COLL_ADDRESS_TEXT];

	coll_address_format_host(&own->place.addr, text);
	if (at + strlen(before) + strlen(text) + strlen(why) + sizeof(" ()...") <= size)
		snprintf(settings->places + at, size - at, "%s%s%s%s%s", before, text,
			 *why ? " (" : "", why, *why ? ")" : "");
	else if (at && settings->places[at - 1] != '.')
		strcpy(settings->places + at, "...");
}

/* Tell the addresses of this host, and note which were told, and which were left out and why. */
static void list_told(struct bootstrap_card *card, struct coll_settings *settings,
		      const struct own_address *all, unsigned int n)
{
	const char *before = "this host told ";
	unsigned int i;

	settings->places[0] = '\0';
	for (i = 0; i < n; i++) {
		if (all[i].left_out)
			continue;
		card->addrs[card->naddrs++] = all[i].place;
		note(settings, before, &all[i]);
		before = ", ";
	}
	before = card->naddrs ? "; left out " : "left out ";
	for (i = 0; i < n; i++) {
		if (!all[i].left_out || own_address_is_usual(&all[i]))
			continue;
		note(settings, before, &all[i]);
		before = ", ";
	}
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

/* The only place is the address that was asked for, with its network if it is known. */
static void fix_place(struct bootstrap_card *card, const struct sockaddr_storage *asked,
		      const struct own_address *all, unsigned int n)
{
	unsigned int i;

	card->flags |= BOOTSTRAP_CARD_FIXED;
	card->addrs[0].addr = *asked;
	card->addrs[0].prefix = 0;
	card->naddrs = 1;
	for (i = 0; i < n; i++)
		if (coll_address_same_host(&all[i].place.addr, asked))
			card->addrs[0].prefix = all[i].place.prefix;
}

int bootstrap_list_places(struct bootstrap_card *card, struct coll_settings *settings,
			  struct coll_detail *detail)
{
	const bool fixed = settings->local_addr[0];
	struct sockaddr_storage asked = { 0 };
	struct own_address *all;
	unsigned int n;
	int err = 0;

	read_host(card->host);
	if (fixed)
		err = coll_address_local(&asked, settings->local_addr, AF_UNSPEC, detail);
	if (err)
		return err;
	err = own_address_list(&all, &n);
	if (err)
		return coll_fail(detail, err, "the interfaces of this host: %s",
				 coll_errno_text(-err));
	if (fixed)
		fix_place(card, &asked, all, n);
	else
		list_told(card, settings, all, n);
	free(all);
	return 0;
}

bool bootstrap_same_host(const struct bootstrap_card *a, const struct bootstrap_card *b)
{
	return !memcmp(a->host, b->host, sizeof(a->host));
}

/* Are all ranks on one host, and does none ask for an address? */
static bool can_use_loopback(const struct bootstrap_card *cards, int nranks)
{
	int i;

	for (i = 0; i < nranks; i++)
		if (!bootstrap_same_host(&cards[i], &cards[0]) ||
		    cards[i].flags & BOOTSTRAP_CARD_FIXED)
			return false;
	return true;
}

/* Has the rank @rank's host this address alone? */
static bool identifies_host(const struct bootstrap_card *cards, int nranks, int rank,
			    const struct bootstrap_place *place)
{
	unsigned int j;
	int i;

	for (i = 0; i < nranks; i++) {
		if (bootstrap_same_host(&cards[i], &cards[rank]))
			continue;
		for (j = 0; j < cards[i].naddrs; j++)
			if (coll_address_same_host(&cards[i].addrs[j].addr, &place->addr))
				return false;
	}
	return true;
}

/* Find the address of @rank in the network of @place; NULL: it has none. */
static const struct bootstrap_place *find_in_network(const struct bootstrap_card *cards, int nranks,
						     int rank, const struct bootstrap_place *place)
{
	const struct bootstrap_card *card = &cards[rank];
	unsigned int j;

	for (j = 0; j < card->naddrs; j++)
		if (bootstrap_same_network(place, &card->addrs[j]) &&
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
		if (bootstrap_same_host(&cards[far], &cards[settings->rank]))
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
			     bootstrap_same_host(&cards[far], &cards[settings->rank])))
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
		coll_interrupt_pause(ROUTE_PAUSE_MS);
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
