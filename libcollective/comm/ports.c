// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "bootstrap/address.h"
#include "comm/config.h"
#include "comm/ports.h"
#include "error/detail.h"

/* Read a number that begins with a digit.  Return: it, or 0 if it is no port. */
static unsigned long port_read(const char *text, char **end)
{
	unsigned long port = *text >= '0' && *text <= '9' ? strtoul(text, end, 10) : 0;

	return port <= UINT16_MAX ? port : 0;
}

int coll_ports_read(struct coll_ports *ports, const char *text, struct coll_detail *detail)
{
	unsigned long first, last = 0;
	char *end = NULL;

	first = port_read(text, &end);
	if (first && *end == '-')
		last = port_read(end + 1, &end);
	if (!first || last < first || *end)
		return coll_fail(detail, -EINVAL,
				 "ports %s are not FIRST-LAST, from 1 to 65535 (COLL_PORTS)", text);
	*ports = (struct coll_ports) { first, last };
	return 0;
}

bool coll_ports_next(const struct coll_settings *settings, unsigned int *n,
		     struct sockaddr_storage *addr)
{
	const unsigned int count = settings->ports.last - settings->ports.first + 1;
	const unsigned int begin = ((uint32_t)settings->id + settings->rank) % count;

	if (*n == count)
		return false;
	coll_address_set_port(addr, settings->ports.first + (begin + (*n)++) % count);
	return true;
}

int coll_ports_bind(const struct coll_settings *settings, int fd, struct sockaddr_storage *addr)
{
	int err = -EADDRINUSE;
	unsigned int n = 0;

	while (err == -EADDRINUSE && coll_ports_next(settings, &n, addr))
		err = bind(fd, (struct sockaddr *)addr, coll_address_length(addr)) ? -errno : 0;
	return err;
}
