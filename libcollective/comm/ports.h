/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ports at which a rank listens, so that a packet filter can let them pass. */
#ifndef COLL_PORTS_H
#define COLL_PORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct coll_detail;
struct coll_settings;

/**
 * struct coll_ports - a range of ports
 * @first: the first one; 0: the kernel chooses any
 * @last: the last one
 */
struct coll_ports {
	uint16_t first;
	uint16_t last;
};

/** coll_ports_read - read "FIRST-LAST"; 0 or -EINVAL */
int coll_ports_read(struct coll_ports *ports, const char *text, struct coll_detail *detail);

/**
 * coll_ports_next - set the port of an address to the next one that is to be tried
 * @settings: of the rank
 * @n: number of ports that were tried; it is incremented
 * @addr: the address; port 0: any
 *
 * Ranks begin at different ports of the range, so that those of one host seldom meet.
 *
 * Return: false: all were tried.
 */
bool coll_ports_next(const struct coll_settings *settings, unsigned int *n,
		     struct sockaddr_storage *addr);

/* Bind a socket to a free port of the range at @addr.  Return: 0 or a negative errno. */
int coll_ports_bind(const struct coll_settings *settings, int fd, struct sockaddr_storage *addr);

#endif /* COLL_PORTS_H */
