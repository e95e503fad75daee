// SPDX-License-Identifier: LGPL-2.1-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "address.h"
#include "lifeline.h"
#include "rendezvous.h"

int coll_rendezvous_resolve(const struct coll_setup *setup,
			    struct addrinfo **where)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	char port[12];

	*where = NULL;
	snprintf(port, sizeof(port), "%d", setup->port);
	return getaddrinfo(setup->host, port, &hints, where);
}

int coll_rendezvous_allowed(const struct coll_setup *setup,
			    const struct sockaddr_storage *addr,
			    struct coll_detail *detail)
{
	char text[COLL_ADDRESS_TEXT];

	if (setup->insecure || setup->secured || coll_address_is_loopback(addr))
		return 0;
	coll_address_format(addr, text);
	return coll_fail(detail, -EACCES,
			 "address %s can be reached by others and no secret authenticates the ranks: set COLL_SECRET, use a loopback address, or COLL_INSECURE=1 in a network that you trust",
			 text);
}

/* "program-0123abcd": says who it is, and is not in use. */
static void choose_name(char name[COLLECTIVE_NAME_MAX + 1], __u64 id)
{
	char *at;

	snprintf(name, COLLECTIVE_NAME_MAX + 1, "%.20s-%08x",
		 program_invocation_short_name, (__u32)id);
	for (at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '.' && *at != '_')
			*at = '-';
}

int coll_rendezvous_identify(struct coll_setup *setup,
			     struct coll_detail *detail)
{
	if (getrandom(&setup->id, sizeof(setup->id), 0) != sizeof(setup->id))
		return coll_fail(detail, -EAGAIN, "no random numbers");
	if (!setup->name[0])
		choose_name(setup->name, setup->id);
	return 0;
}

/* A group of one needs no rendezvous. */
static int alone(int fd, struct coll_setup *setup,
		 struct sockaddr_storage *addr, struct coll_detail *detail)
{
	return coll_rendezvous_identify(setup, detail) ?:
	       coll_address_local(addr, setup->local[0] ? setup->local :
				  "127.0.0.1", AF_UNSPEC, detail) ?:
	       coll_rendezvous_allowed(setup, addr, detail) ?:
	       coll_lifeline_join(fd, setup, addr, detail);
}

int coll_rendezvous(int fd, struct coll_setup *setup,
		    struct sockaddr_storage *peers, struct coll_detail *detail)
{
	struct addrinfo *where;
	int err;

	if (setup->nranks == 1)
		return alone(fd, setup, peers, detail);
	if (setup->rank)
		return coll_rendezvous_guest(fd, setup, peers, detail);
	err = coll_rendezvous_resolve(setup, &where);
	if (err)
		return coll_fail(detail, -EADDRNOTAVAIL, "rendezvous %s: %s",
				 setup->host, gai_strerror(err));
	err = coll_rendezvous_host(fd, setup, where, peers, detail);
	freeaddrinfo(where);
	return err;
}
