/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ports at which a rank listens, so that a packet filter can let them pass. */
#ifndef COLL_PORTS_H
#define COLL_PORTS_H

#include <stdint.h>

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

/** coll_ports_count - number of ports that coll_ports_get() has */
unsigned int coll_ports_count(const struct coll_settings *settings);

/**
 * coll_ports_get - a port to try
 * @settings: of the rank
 * @n: number of ports that were tried before
 *
 * Ranks begin at different ports of the range, so that those of one host seldom meet.
 *
 * Return: the port; 0: any.
 */
uint16_t coll_ports_get(const struct coll_settings *settings, unsigned int n);

#endif /* COLL_PORTS_H */
