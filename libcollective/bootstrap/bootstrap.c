// SPDX-License-Identifier: LGPL-2.1-or-later
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "bootstrap/address.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/rejoin_port.h"
#include "bootstrap/secret.h"

/* A host that is gone without a word is noticed after twice as much. */
#define PROBE_S		10

bool coll_rendezvous_open(const struct coll_setup *setup)
{
	return setup->insecure || setup->secured;
}

int coll_rendezvous_allowed(const struct coll_setup *setup,
			    const struct sockaddr_storage *addr,
			    struct coll_detail *detail)
{
	char text[COLL_ADDRESS_TEXT];

	if (coll_rendezvous_open(setup) || coll_address_is_loopback(addr))
		return 0;
	coll_address_format(addr, text);
	return coll_fail(detail, -EACCES,
			 "address %s can be reached by others and no secret authenticates the ranks: set COLL_SECRET, use a loopback address, or COLL_INSECURE=1 in a network that you trust",
			 text);
}

/* Without them a dead host is noticed at the deadline. */
void coll_rendezvous_probe(int fd)
{
	const int on = 1, first = PROBE_S, next = 2, count = PROBE_S / 2;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &first, sizeof(first));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &next, sizeof(next));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
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

/* An address for a rank that no other one connects to. */
static int any_address(struct coll_setup *setup, struct sockaddr_storage *addr,
		       struct coll_detail *detail)
{
	int err;

	if (setup->local[0])
		return coll_address_local(addr, setup->local, AF_UNSPEC, detail) ?:
		       coll_rendezvous_allowed(setup, addr, detail);
	err = coll_address_any_local(addr);
	if (err)
		return coll_fail(detail, err,
				 "this host has no address to listen on, not even 127.0.0.1: ip link set lo up");
	/* Others cannot do anything with an address that only a secret opens. */
	if (!coll_address_is_loopback(addr) && !coll_rendezvous_open(setup))
		return coll_secret_make(setup, detail);
	return 0;
}

/* A group of one needs no rendezvous. */
static int alone(int fd, struct coll_setup *setup,
		 struct sockaddr_storage *addr, struct coll_detail *detail)
{
	return coll_rendezvous_identify(setup, detail) ?:
	       any_address(setup, addr, detail) ?:
	       coll_lifeline_join(fd, setup, addr, detail);
}

int coll_rendezvous(int fd, struct coll_setup *setup,
		    struct sockaddr_storage *peers, struct coll_detail *detail)
{
	if (setup->nranks == 1)
		return fd < 0 ? fd : alone(fd, setup, peers, detail);
	if (setup->rank)
		return coll_rendezvous_guest(fd, setup, peers, detail);
	return coll_rendezvous_host(fd, setup, peers, detail);
}
