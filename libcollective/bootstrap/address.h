/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* IPv4 and IPv6 addresses in a struct sockaddr_storage. */
#ifndef COLL_ADDRESS_H
#define COLL_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "error/detail.h"

#define COLL_ADDRESS_TEXT	64	/* "[v6 address%scope]:port" and NUL */

/* Size of the address in bytes; 0 if it is neither IPv4 nor IPv6. */
socklen_t coll_address_length(const struct sockaddr_storage *addr);
unsigned int coll_address_port(const struct sockaddr_storage *addr);
void coll_address_set_port(struct sockaddr_storage *addr, unsigned int port);
/* Does the rank with this address offer RDMA?  That is kept behind the address proper. */
bool coll_address_offers_rdma(const struct sockaddr_storage *addr);
void coll_address_offer_rdma(struct sockaddr_storage *addr);
bool coll_address_is_loopback(const struct sockaddr_storage *addr);
bool coll_address_is_any(const struct sockaddr_storage *addr);
bool coll_address_is_link_local(const struct sockaddr_storage *addr);
/* Give a link-local @addr the scope of @own, since a scope is valid on one host only. */
void coll_address_scope(struct sockaddr_storage *addr,
			const struct sockaddr_storage *own);
/* Are the host addresses equal?  Ports and scopes are not compared. */
bool coll_address_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* The same, and are the ports equal? */
bool coll_address_same_socket(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* Is @addr in the network of @network with a prefix of @prefix bits? */
bool coll_address_in_network(const struct sockaddr_storage *addr,
			     const struct sockaddr_storage *network, unsigned int prefix);
/* Get the bytes of an address, in the order of the network.  Return: their number. */
size_t coll_address_bytes(const struct sockaddr_storage *addr, const uint8_t **bytes);
/* Is the text an address, not a name? */
bool coll_address_is_numeric(const char *host);
/*
 * Is the connection connected to itself?  The local port may happen to be the port that is
 * connected to, and TCP then connects the socket to itself.  Such a socket is set to be reset
 * when it is closed, which leaves the port free.
 */
bool coll_address_met_self(int fd);
void coll_address_format(const struct sockaddr_storage *addr,
			 char text[COLL_ADDRESS_TEXT]);

/* The same without the port. */
void coll_address_format_host(const struct sockaddr_storage *addr, char text[COLL_ADDRESS_TEXT]);

/**
 * coll_address_split - split "host:port" or "[host]:port"
 * @text: text
 * @host: receives the host
 * @size: size of @host in bytes
 *
 * Return: the port, 1 to 65535, or -EINVAL.
 */
int coll_address_split(const char *text, char *host, size_t size);

/**
 * coll_address_local - find the local address that a text names
 * @addr: receives the address, with port 0
 * @text: address, name of an interface, or network such as 10.1.0.0/16
 * @family: family of the interface's address; AF_UNSPEC: the first that is not link-local
 * @detail: text of a failure
 *
 * Return: 0, -EADDRNOTAVAIL or -ENOMEM.
 */
int coll_address_local(struct sockaddr_storage *addr, const char *text,
		       int family, struct coll_detail *detail);

/**
 * coll_address_route - find the local address of the route to another one
 * @addr: receives the address, with port 0
 * @to: destination
 *
 * Return: 0 or a negative errno, such as -ENETUNREACH.
 */
int coll_address_route(struct sockaddr_storage *addr, const struct sockaddr_storage *to);

/**
 * coll_address_wait - wait a moment for an address at which a socket could not be bound
 * @addr: the address; with IPv4 this returns false at once
 * @since: time of the first attempt (comm/deadline.h)
 * @deadline: end of the attempts
 *
 * An IPv6 address cannot be bound while it is tentative: until the kernel knows that no other
 * host has it, which takes one to three seconds.  One that comes from a router is assigned a
 * moment after the interface is up.
 *
 * Context: sleeps, except if it returns false.
 * Return: true if the caller should try again.
 */
bool coll_address_wait(const struct sockaddr_storage *addr, uint64_t since, uint64_t deadline);

/* Is the address, or any address of this host if @addr is NULL, tentative (see above)? */
bool coll_address_is_tentative(const struct sockaddr_storage *addr);

/**
 * coll_address_any_local - find an address of this host on which a process can listen
 * @addr: receives the address, with port 0: 127.0.0.1, else ::1, else that of an interface
 * @deadline: end of the time for which a tentative address is waited for
 *
 * Return: 0; -EADDRNOTAVAIL: the host has no address; or another negative errno.
 */
int coll_address_any_local(struct sockaddr_storage *addr, uint64_t deadline);

#endif /* COLL_ADDRESS_H */
