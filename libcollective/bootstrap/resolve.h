/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The addresses of a name, by a deadline. */
#ifndef COLL_RESOLVE_H
#define COLL_RESOLVE_H

#include <netdb.h>
#include <stdint.h>

#define COLL_RESOLVE_TEXT	128

/**
 * coll_resolve - as getaddrinfo(), which has no deadline
 * @host: a name or an address
 * @port: that the addresses get
 * @deadline: when the caller goes on without an answer (deadline.h)
 * @where: receives the addresses, for freeaddrinfo()
 * @text: receives why there are none, COLL_RESOLVE_TEXT bytes
 *
 * Return: 0; -ETIMEDOUT; -EMFILE or -ENFILE: there are no files for it; -EAGAIN: anything
 * else, which may be other the next time.
 */
int coll_resolve(const char *host, int port, uint64_t deadline, struct addrinfo **where,
		 char *text);

#endif /* COLL_RESOLVE_H */
