/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two listening sockets by which the other ranks see, without a word from us, where
 * we are: somebody whose connection is refused knows that the socket is closed.
 *
 *	door	life	the process
 *	open	open	may be in coll_shrink(), or call it
 *	closed	open	is of a group shrunk from this one
 *	closed	closed	has ended, or has left
 *
 * Only coll_shrink() accepts, and only at the door.  Both are at the address of the
 * member, with ports of their own, which travel with it.  A child made by fork()
 * alone holds them open.  A group of one has none.
 */
#ifndef COLL_LIFELINE_H
#define COLL_LIFELINE_H

#include <stdint.h>
#include <sys/socket.h>

#include "setup.h"

/** struct coll_lifeline_ports - of a member; 0: there is none */
struct coll_lifeline_ports {
	uint16_t door;
	uint16_t life;
};

/* They are kept behind the address proper, where its storage has room. */
struct coll_lifeline_ports coll_lifeline_ports(const struct sockaddr_storage *addr);
void coll_lifeline_set_ports(struct sockaddr_storage *addr,
			     struct coll_lifeline_ports ports);

/**
 * coll_lifeline_join - become a rank, as coll_device_join(), with a lifeline
 * @fd: device
 * @setup: as coll_device_join(); its sockets are opened, if they are not open, and
 *	stay so on failure
 * @addr: in: local address, its port ignored; out: all ports
 * @detail: texts
 */
int coll_lifeline_join(int fd, struct coll_setup *setup, struct sockaddr_storage *addr,
		       struct coll_detail *detail);

/* Close what is open. */
void coll_lifeline_close(struct coll_setup *setup);

/* Close the door only: whoever is outside learns that we have what we wanted. */
void coll_lifeline_close_door(struct coll_setup *setup);

#endif /* COLL_LIFELINE_H */
