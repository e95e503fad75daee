/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses of this host: which of them other hosts may know, and in which order. */
#ifndef COLL_OWN_ADDRESS_H
#define COLL_OWN_ADDRESS_H

#include <net/if.h>

#include "bootstrap/card.h"

/**
 * struct own_address - an address of this host
 * @place: the address and its network
 * @interface: its interface
 * @order: place among the others: the lowest is the best
 * @left_out: why other hosts are not told; NULL: they are
 */
struct own_address {
	struct bootstrap_place place;
	char interface[IF_NAMESIZE];
	unsigned int order;
	const char *left_out;
};

/**
 * own_address_list - list the addresses of this host, the best first
 * @all: receives an array, for free()
 * @n: receives its length
 *
 * Bridges come after other interfaces; then IPv4, and the address of the default route, first.
 * Loopback addresses and those of interfaces that are down are no part of the list.  Link-local
 * addresses, those without a carrier, host routes that are not the default route's, unless there
 * is nothing else, and what exceeds a card are left out.
 *
 * Return: 0 or a negative errno.
 */
int own_address_list(struct own_address **all, unsigned int *n);

/* May a text pass over the address?  Every interface has a link-local one of IPv6. */
bool own_address_is_usual(const struct own_address *address);

#endif /* COLL_OWN_ADDRESS_H */
