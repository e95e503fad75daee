// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

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

unsigned int coll_ports_count(const struct coll_settings *settings)
{
	return settings->ports.last - settings->ports.first + 1;
}

uint16_t coll_ports_get(const struct coll_settings *settings, unsigned int n)
{
	const uint32_t begin = (uint32_t)settings->id + settings->rank;

	return settings->ports.first + (begin % coll_ports_count(settings) + n) %
					       coll_ports_count(settings);
}
