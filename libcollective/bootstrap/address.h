/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Internet addresses: IPv4 and IPv6, in a struct sockaddr_storage. */
#ifndef COLL_ADDRESS_H
#define COLL_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "error/detail.h"

#define COLL_ADDRESS_TEXT	64	/* "[v6 address%scope]:port" and NUL */

/* Bytes of the address, 0 when it is neither IPv4 nor IPv6. */
socklen_t coll_address_length(const struct sockaddr_storage *addr);
unsigned int coll_address_port(const struct sockaddr_storage *addr);
void coll_address_set_port(struct sockaddr_storage *addr, unsigned int port);
bool coll_address_is_loopback(const struct sockaddr_storage *addr);
bool coll_address_is_any(const struct sockaddr_storage *addr);
bool coll_address_is_link_local(const struct sockaddr_storage *addr);
/* A scope is a number of this host only: a link-local @addr gets @own's. */
void coll_address_scope(struct sockaddr_storage *addr,
			const struct sockaddr_storage *own);
/* The same host address; ports and scopes are not compared. */
bool coll_address_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* Is a text an address, rather than a name? */
bool coll_address_is_numeric(const char *host);
/*
 * Has a connection found itself?  One's own port may be the one that is dialled, and
 * TCP then connects to itself.  It is reset when it is closed, to leave the port free.
 */
bool coll_address_met_self(int fd);
void coll_address_format(const struct sockaddr_storage *addr,
			 char text[COLL_ADDRESS_TEXT]);

/**
 * coll_address_split - take "host:port" or "[host]:port" apart
 * @text: the text
 * @host: receives the host
 * @size: bytes of @host
 *
 * Return: the port, 1 to 65535, or -EINVAL.
 */
int coll_address_split(const char *text, char *host, size_t size);

/**
 * coll_address_local - the local address that a text names
 * @addr: receives it, port 0
 * @text: an address, or the name of an interface
 * @family: which address of an interface; AF_UNSPEC: IPv4 before IPv6
 * @detail: texts
 *
 * Return: 0 or -EADDRNOTAVAIL, -ENOMEM.
 */
int coll_address_local(struct sockaddr_storage *addr, const char *text,
		       int family, struct coll_detail *detail);

/**
 * coll_address_route - the local address that leads to another one
 * @addr: receives it, port 0
 * @to: where
 *
 * Return: 0 or a negative errno, such as -ENETUNREACH.
 */
int coll_address_route(struct sockaddr_storage *addr, const struct sockaddr_storage *to);

/**
 * coll_address_any_local - an address that every process of this host can listen on
 * @addr: receives it, port 0: 127.0.0.1, else ::1, else that of an interface
 *
 * Return: 0; -EADDRNOTAVAIL: the host has none at all; or why it cannot be found out.
 */
int coll_address_any_local(struct sockaddr_storage *addr);

#endif /* COLL_ADDRESS_H */
