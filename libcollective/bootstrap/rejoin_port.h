/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rejoin port: a UDP port by which the survivors of a failed group find each other
 * (Documentation/design/shrink.rst).  It is on the address of the member; its number travels with
 * that address.
 *
 * The socket is open as long as the process has the group or one shrunk from it, which takes
 * the socket over.  So an ICMP port unreachable tells that the rank will not answer any more.
 * (A child made by fork() also keeps it open.)  Only coll_shrink() reads from it; messages are
 * queued until then, as far as the receive buffer allows.  A group that began with one rank has
 * no rejoin port.
 */
#ifndef COLL_REJOIN_PORT_H
#define COLL_REJOIN_PORT_H

#include <stdint.h>
#include <sys/socket.h>

#include "comm/config.h"

/* The rejoin port is stored in @addr behind the address proper; 0: none. */
uint16_t coll_rejoin_port_get(const struct sockaddr_storage *addr);
void coll_rejoin_port_set(struct sockaddr_storage *addr, uint16_t port);

/**
 * coll_rejoin_port_join - coll_device_join(), and open the rejoin port
 * @fd: descriptor of the device
 * @settings: as in coll_device_join(); @rejoin_fd is opened if it is not open, and stays open
 *	on failure
 * @addr: in: local address, its port is ignored; out: address with both ports
 * @detail: text of a failure
 *
 * An IPv6 address that cannot be bound yet is tried again (coll_address_wait()).
 *
 * Return: 0 or a negative errno.
 */
int coll_rejoin_port_join(int fd, struct coll_settings *settings, struct sockaddr_storage *addr,
			  struct coll_detail *detail);

/* Close the rejoin port, if it is open. */
void coll_rejoin_port_close(struct coll_settings *settings);

#endif /* COLL_REJOIN_PORT_H */
