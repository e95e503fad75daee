/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bootstrap: the ranks of a group exchange addresses before the kernel connects them.
 *
 * Every message has a fixed size or a bound, every number a range, every wait a deadline.  The
 * number of unauthenticated connections is bounded; a newer connection replaces the oldest silent
 * one, which is told nothing.
 */
#ifndef COLL_BOOTSTRAP_H
#define COLL_BOOTSTRAP_H

#include <sys/socket.h>

#include "comm/config.h"
#include "exchange/exchange.h"

/*
 * The rendezvous:
 *
 *	client (rank n)				root (rank 0)
 *	connect ------------------------------------>	listen
 *	HELLO (rank, size, name, lanes, time left) ->
 *	<---------------------- CHALLENGE (proof, nonce)
 *	PROOF -------------------------------------->	check
 *	<------------------------- WAIT (id, pause)	JOIN, once its address is known
 *	<------------- WELCOME (id, name, lanes, address)
 *	JOIN
 *	ADDRESS (bound address) -------------------->	note the address
 *	<------------- TABLE (all addresses), once all ranks have joined
 *	CONNECT						CONNECT
 *
 * Authentication: CHALLENGE and PROOF are sent if the group has a secret.  First the root
 * proves that it knows the secret, then the client does.  Before that, neither side believes
 * the other, and no message fails the group: the connection is closed, and the client tries
 * again.
 *
 * Ranks handed out (COLL_RANK=auto): every process tries to listen; the first one is rank 0,
 * and the others are clients whose HELLO has no rank.  WAIT tells it.
 *
 * Failure: either side may send FAIL (errno, text) instead of any message.  The root fails the
 * group if a rank contradicts it (another size, a rank claimed twice), cannot JOIN, or goes
 * away after it joined; and at the deadline, with the list of missing ranks.  A rank that goes
 * away before it joined may be replaced by another process.  The deadline is the earliest of
 * all ranks: HELLO has the time that its sender has left.
 */

/**
 * bootstrap_run - join the group and exchange the addresses of all ranks
 * @fd: descriptor of the device, which has joined the group afterwards; or a negative errno:
 *	there is no device, @detail says why, and the other ranks are told
 * @settings: name, id and lanes are set to those of rank 0
 * @exchange: how the ranks reach each other; NULL: by a rendezvous
 * @peers: receives @settings->nranks addresses
 * @detail: text of a failure; must have a buffer
 *
 * Return: 0 or a negative errno.
 */
int bootstrap_run(int fd, struct coll_settings *settings, const struct exchange *exchange,
		  struct sockaddr_storage *peers, struct coll_detail *detail);

/*
 * bootstrap_run() of rank 0, and of the other ranks.  If ranks are handed out, the root returns
 * -EALREADY if it cannot listen, and the client -EAGAIN if no process listens.
 */
int bootstrap_run_root(int fd, struct coll_settings *settings,
		       struct sockaddr_storage *peers,
		       struct coll_detail *detail);
int bootstrap_run_client(int fd, struct coll_settings *settings,
			 struct sockaddr_storage *peers,
			 struct coll_detail *detail);

/* May ranks use addresses other than loopback? */
bool bootstrap_is_open(const struct coll_settings *settings);

/* Return: 0, or -EACCES if @addr is not loopback and nothing authenticates the ranks. */
int bootstrap_check_address(const struct coll_settings *settings,
			    const struct sockaddr_storage *addr,
			    struct coll_detail *detail);

/* Choose a random id for the group, and a name if it has none.  Return: 0 or -EAGAIN. */
int bootstrap_choose_id(struct coll_settings *settings,
			struct coll_detail *detail);

/* Enable TCP keepalive, which detects that the host of the peer is down. */
void bootstrap_enable_keepalive(int fd);

#endif /* COLL_BOOTSTRAP_H */
