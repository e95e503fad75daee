/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the ranks of a group find one another, before the kernel connects them.
 *
 *	rank n						rank 0
 *	connect ------------------------------------>	listen, JOIN
 *	HELLO (rank, size, name, lanes, time left) ->
 *	<---------------------- CHALLENGE (proof, nonce)
 *	PROOF -------------------------------------->	check
 *	<---------------------- WELCOME (id, name, lanes)
 *	JOIN
 *	ADDRESS (bound address) -------------------->	note it
 *	<------------- TABLE (all addresses), when the last has come
 *	CONNECT						CONNECT
 *
 * CHALLENGE and PROOF are there when the group has a secret: rank 0 proves that it
 * knows it, then the rank does, and before that nothing it says is believed.
 *
 * Instead of any message either side may send FAIL (errno, text).  Rank 0 fails
 * everybody at once when a rank contradicts it (another size, a rank claimed
 * twice), cannot join or goes away, and at the deadline, with the list of who
 * is missing.  The deadline is the earliest of the ranks': a HELLO says how much
 * time its sender has left.
 *
 * Nothing that arrives is believed: every message has a fixed size or a bound,
 * every number a range, every wait a deadline; and whoever connects and says
 * nothing occupies one of a few places until a newer stranger takes it.
 */
#ifndef COLL_RENDEZVOUS_H
#define COLL_RENDEZVOUS_H

#include <netdb.h>
#include <sys/socket.h>

#include "setup.h"

/**
 * coll_rendezvous - join, and learn everybody's address
 * @fd: device; has joined the group afterwards
 * @setup: name, number and lanes are filled in as rank 0 has them
 * @peers: receives @setup->nranks addresses
 * @detail: texts
 */
int coll_rendezvous(int fd, struct coll_setup *setup,
		    struct sockaddr_storage *peers, struct coll_detail *detail);

/* The two sides of it; @where: the addresses of the rendezvous. */
int coll_rendezvous_host(int fd, struct coll_setup *setup,
			 const struct addrinfo *where,
			 struct sockaddr_storage *peers,
			 struct coll_detail *detail);
int coll_rendezvous_guest(int fd, struct coll_setup *setup,
			  struct sockaddr_storage *peers,
			  struct coll_detail *detail);

/* The addresses of @setup->host:port; 0 or an EAI_ number. */
int coll_rendezvous_resolve(const struct coll_setup *setup,
			    struct addrinfo **where);

/* EACCES when @addr is open to others and nothing authenticates them. */
int coll_rendezvous_allowed(const struct coll_setup *setup,
			    const struct sockaddr_storage *addr,
			    struct coll_detail *detail);

/* The group's number, and its name if nobody gave it one. */
int coll_rendezvous_identify(struct coll_setup *setup,
			     struct coll_detail *detail);

#endif /* COLL_RENDEZVOUS_H */
