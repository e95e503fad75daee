/* SPDX-License-Identifier: GPL-2.0-only */
/* getaddrinfo() of the tests: names are what a process says that they are. */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <netdb.h>

/* The linker makes the first of getaddrinfo(), and has the second called in its place. */
int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **where);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **where);

/* The addresses of every name, with blanks between, in this order; NULL: there is none. */
extern const char *resolver_answer;

/* For so long after the start of the process there is none; milliseconds. */
extern unsigned int resolver_delay_ms;

/* It takes as long to answer. */
extern unsigned int resolver_slow_ms;

#endif /* RESOLVER_H */
