/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces getaddrinfo() in the tests: a process sets the addresses of all names. */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <netdb.h>

/* The linker's --wrap: the first is getaddrinfo(), the second is called in its place. */
int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **where);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **where);

/* The addresses of every name, separated by blanks, in this order; NULL: no address. */
extern const char *resolver_answer;

/* Time after the start of the process during which names have no address; ms. */
extern unsigned int resolver_delay_ms;

/* Time that an answer takes; ms. */
extern unsigned int resolver_slow_ms;

#endif /* RESOLVER_H */
