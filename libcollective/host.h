/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside rank 0's side of the rendezvous: who has connected, and what they say. */
#ifndef COLL_HOST_H
#define COLL_HOST_H

#include <poll.h>

#include "address.h"
#include "message.h"
#include "setup.h"

enum coll_guest_state {
	GUEST_NONE,		/* a free place */
	GUEST_STRANGER,		/* connected */
	GUEST_WELCOME,		/* has a rank, must join */
	GUEST_JOINED,		/* its address is known */
};

struct coll_guest {
	enum coll_guest_state state;
	int fd;
	unsigned int rank;
	uint64_t since;
	size_t have;		/* bytes of @in */
	size_t sent;		/* bytes of the last message */
	char from[COLL_ADDRESS_TEXT];
	bool challenged;
	struct coll_hello hello;	/* what it said, once it has proved itself */
	uint8_t proof[COLL_PROOF_SIZE];	/* that it must give */
	uint8_t in[COLL_MESSAGE_MAX];
};

/**
 * struct coll_host - the rendezvous
 * @setup: rank 0's; its lanes are the group's
 * @peers: addresses of those who joined
 * @missing: ranks that have not joined
 * @deadline: the earliest of all ranks'
 * @why: what failed
 * @refused: who was sent away last, and why; for @why
 * @fd: listens
 * @nguests: places in @guests
 * @guests: the connections
 * @polls: one for the listener, then one for each guest
 */
struct coll_host {
	struct coll_setup *setup;
	struct sockaddr_storage *peers;
	int missing;
	uint64_t deadline;
	struct coll_detail why;
	char refused[160];
	int fd;
	size_t nguests;
	struct coll_guest *guests;
	struct pollfd *polls;
};

/* Read what @guest sent; an error is the whole group's. */
int coll_host_read(struct coll_host *host, struct coll_guest *guest);

/* Close the connection; the place is free. */
void coll_host_drop(struct coll_guest *guest);

/* Who has @rank, or NULL. */
struct coll_guest *coll_host_find(struct coll_host *host, unsigned int rank);

#endif /* COLL_HOST_H */
