// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "device.h"
#include "lifeline.h"

/* Behind the largest of the addresses (address.h). */
#define PORTS_AT	sizeof(struct sockaddr_in6)

_Static_assert(PORTS_AT + sizeof(struct coll_lifeline_ports) <= sizeof(struct sockaddr_storage),
	       "ports");

struct coll_lifeline_ports coll_lifeline_ports(const struct sockaddr_storage *addr)
{
	struct coll_lifeline_ports ports;

	memcpy(&ports, (const char *)addr + PORTS_AT, sizeof(ports));
	return ports;
}

void coll_lifeline_set_ports(struct sockaddr_storage *addr, struct coll_lifeline_ports ports)
{
	memcpy((char *)addr + PORTS_AT, &ports, sizeof(ports));
}

/* A listening socket at @addr, on a port that is free. */
static int listen_at(struct sockaddr_storage *addr, int backlog)
{
	int fd, err;

	coll_address_set_port(addr, 0);
	fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!bind(fd, (struct sockaddr *)addr, coll_address_length(addr)) &&
	    !listen(fd, backlog))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int open_one(int *fd, uint16_t *port, const struct sockaddr_storage *addr, int backlog)
{
	struct sockaddr_storage own = *addr;
	socklen_t length = sizeof(own);

	if (*fd < 0)
		*fd = listen_at(&own, backlog);
	if (*fd < 0)
		return *fd;
	if (getsockname(*fd, (struct sockaddr *)&own, &length))
		return -errno;
	*port = coll_address_port(&own);
	return 0;
}

int coll_lifeline_join(int fd, struct coll_setup *setup, struct sockaddr_storage *addr,
		       struct coll_detail *detail)
{
	struct coll_lifeline_ports ports = { 0 };
	int err = coll_device_join(fd, setup, addr, detail);

	if (err)
		return err;
	if (setup->nranks > 1) {
		/* All may call at once, and some of them twice. */
		err = open_one(&setup->door, &ports.door, addr, 2 * setup->nranks) ?:
		      open_one(&setup->life, &ports.life, addr, setup->nranks);
		if (err)
			return coll_fail(detail, err, "rank %d cannot listen: %s", setup->rank,
					 strerrordesc_np(-err));
	}
	coll_lifeline_set_ports(addr, ports);
	return 0;
}

void coll_lifeline_close_door(struct coll_setup *setup)
{
	if (setup->door >= 0)
		close(setup->door);
	setup->door = -1;
}

void coll_lifeline_close(struct coll_setup *setup)
{
	coll_lifeline_close_door(setup);
	if (setup->life >= 0)
		close(setup->life);
	setup->life = -1;
}
