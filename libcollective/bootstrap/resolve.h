/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Resolution of names with a deadline. */
#ifndef COLL_RESOLVE_H
#define COLL_RESOLVE_H

#include <netdb.h>
#include <stdint.h>

#define COLL_RESOLVE_TEXT	128

/**
 * coll_resolve - getaddrinfo() with a deadline
 * @host: name or address
 * @port: port of the addresses
 * @deadline: when to give up (comm/deadline.h)
 * @where: receives the addresses, for freeaddrinfo()
 * @text: receives the reason of a failure, COLL_RESOLVE_TEXT bytes
 *
 * Return: 0; -ETIMEDOUT; -EMFILE or -ENFILE: too few files; -EAGAIN: any other failure, after
 * which another attempt may succeed.
 */
int coll_resolve(const char *host, int port, uint64_t deadline, struct addrinfo **where,
		 char *text);

#endif /* COLL_RESOLVE_H */
