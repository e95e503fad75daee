/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The door: a UDP socket by which ranks find one another when their group has failed
 * (Documentation/shrink.rst).  It is at the address of the member, with a port of its own,
 * which travels with that.
 *
 * It is open as long as the process has the group or one shrunk from it, which takes it
 * over: a datagram that is refused tells that the rank will not answer any more.  A
 * child made by fork() alone holds it open, too.  Nothing reads from it but coll_shrink();
 * messages stay there until then, as far as there is room.  A group that began with one
 * rank has none.
 */
#ifndef COLL_REJOIN_PORT_H
#define COLL_REJOIN_PORT_H

#include <stdint.h>
#include <sys/socket.h>

#include "comm/config.h"

/* The port is kept behind the address proper, where its storage has room; 0: none. */
uint16_t coll_rejoin_port_get(const struct sockaddr_storage *addr);
void coll_rejoin_port_set(struct sockaddr_storage *addr, uint16_t port);

/**
 * coll_rejoin_port_join - become a rank, as coll_device_join(), with a door
 * @fd: device
 * @settings: as coll_device_join(); its door is opened, if it is not open, and stays so
 *	on failure
 * @addr: in: local address, its port ignored; out: both ports
 * @detail: texts
 */
int coll_rejoin_port_join(int fd, struct coll_settings *settings, struct sockaddr_storage *addr,
			  struct coll_detail *detail);

/* Close the door, if it is open. */
void coll_rejoin_port_close(struct coll_settings *settings);

#endif /* COLL_REJOIN_PORT_H */
