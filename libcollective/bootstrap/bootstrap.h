/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the ranks of a group find one another, before the kernel connects them.
 *
 *	rank n						rank 0
 *	connect ------------------------------------>	listen
 *	HELLO (rank, size, name, lanes, time left) ->
 *	<---------------------- CHALLENGE (proof, nonce)
 *	PROOF -------------------------------------->	check
 *	<------------------------- WAIT (id, pause)	JOIN, once its address is clear
 *	<------------- WELCOME (id, name, lanes, address)
 *	JOIN
 *	ADDRESS (bound address) -------------------->	note it
 *	<------------- TABLE (all addresses), when the last has come
 *	CONNECT						CONNECT
 *
 * CHALLENGE and PROOF are there when the group has a secret: rank 0 proves that it
 * knows it, then the rank does.  Before that nothing either side says is believed, nor
 * does it end anything: the connection is given up, and the rank tries again.
 *
 * Where rank 0 listens: on every address of the rendezvous' name that is one of its host.
 * When the name is no address of the host, or loopback only, other hosts may know the host
 * by another address: then rank 0 listens on all addresses, if a secret authenticates the
 * ranks.  Its address for data is the one by which the ranks have come.  When it is one of
 * several, rank 0 waits for all of them before it JOINs.
 *
 * Instead of any message either side may send FAIL (errno, text).  Rank 0 fails all at once
 * when a rank contradicts it (another size, a rank claimed twice), cannot join, or goes away
 * after it has joined, and at the deadline, with the list of ranks that are missing.  A rank
 * that goes away before it has joined leaves its place to another process.  The deadline is
 * the earliest of the ranks': a HELLO says how much time its sender has left.
 *
 * WAIT with a pause closes the connection: rank 0 has fewer files than ranks.  The rank calls
 * again after the pause and goes on where it was.  Its HELLO has the same number of its
 * process, and a higher one of the attempt: so an older connection of the process is known.
 *
 * Nothing that arrives is believed: every message has a fixed size or a bound, every number a
 * range, every wait a deadline.  A connection that says nothing has one of a few places until
 * a newer one takes it, and is told nothing at the end.
 */
#ifndef COLL_BOOTSTRAP_H
#define COLL_BOOTSTRAP_H

#include <sys/socket.h>

#include "comm/config.h"

/**
 * bootstrap_run - join, and learn everybody's address
 * @fd: device, which has joined the group afterwards; or a negative errno: there is none,
 *	@detail says why, and the other ranks are told
 * @settings: name, number and lanes are filled in as rank 0 has them
 * @peers: receives @settings->nranks addresses
 * @detail: texts; has a buffer
 */
int bootstrap_run(int fd, struct coll_settings *settings,
		  struct sockaddr_storage *peers, struct coll_detail *detail);

/* The two sides of it. */
int bootstrap_run_root(int fd, struct coll_settings *settings,
		       struct sockaddr_storage *peers,
		       struct coll_detail *detail);
int bootstrap_run_client(int fd, struct coll_settings *settings,
			 struct sockaddr_storage *peers,
			 struct coll_detail *detail);

/* May others than this host's processes reach the ranks? */
bool bootstrap_is_open(const struct coll_settings *settings);

/* EACCES when @addr is open to others and nothing authenticates them. */
int bootstrap_check_address(const struct coll_settings *settings,
			    const struct sockaddr_storage *addr,
			    struct coll_detail *detail);

/* The group's number, and its name if nobody gave it one. */
int bootstrap_choose_id(struct coll_settings *settings,
			struct coll_detail *detail);

/* Have the kernel tell when the other end's host is gone. */
void bootstrap_enable_keepalive(int fd);

#endif /* COLL_BOOTSTRAP_H */
