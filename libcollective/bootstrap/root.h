/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside rank 0's side of the rendezvous: the ranks, and the connections there are. */
#ifndef COLL_HOST_H
#define COLL_HOST_H

#include <poll.h>

#include "bootstrap/address.h"
#include "bootstrap/message.h"
#include "comm/config.h"

/* Addresses that one name can have here. */
#define COLL_LISTENERS_MAX	16

/* How long an end is told about, and a paused rank may be late. */
#define COLL_RETURN_MS		5000

enum coll_arrival_state {
	ARRIVAL_NONE,		/* the rank is missing */
	ARRIVAL_HERE,		/* has said HELLO, and proved it */
	ARRIVAL_WELCOME,	/* must join */
	ARRIVAL_JOINED,		/* its address is known */
};

/**
 * struct coll_guest - a connection
 * @fd: non-blocking; -1: a free place
 * @rank: whose, once it has proved itself; -1: a stranger
 * @since: when it was accepted (deadline.h)
 * @have: bytes of @in
 * @sent: bytes of the last message (struct coll_host)
 * @from: where it comes from
 * @challenged: it has got a CHALLENGE
 * @hello: what it said
 * @proof: that it must give
 * @in: of a message
 */
struct coll_guest {
	int fd;
	int rank;
	uint64_t since;
	size_t have;
	size_t sent;
	struct sockaddr_storage from;
	bool challenged;
	struct coll_hello hello;
	uint8_t proof[COLL_PROOF_SIZE];
	uint8_t in[COLL_MESSAGE_MAX];
};

/**
 * struct coll_arrival - a rank
 * @state: how far it has come; from ARRIVAL_HERE on the others are known
 * @told: it has got the last message, or cannot get it
 * @lost: a process that was this rank has gone away
 * @process: number of the process
 * @attempt: of its latest connection
 * @lanes: that it wants; 0: any
 * @guest: this connection; NULL: it is to call again
 * @since: when it arrived; with no connection, when it has to be back
 * @via: address of rank 0 that it has come by
 * @from: where it comes from
 */
struct coll_arrival {
	enum coll_arrival_state state;
	bool told;
	bool lost;
	uint64_t process;
	uint32_t attempt;
	uint32_t lanes;
	struct coll_guest *guest;
	uint64_t since;
	struct sockaddr_storage via;
	struct sockaddr_storage from;
};

/**
 * struct coll_host - the rendezvous
 * @setup: rank 0's; its lanes are the group's
 * @peers: addresses of those who joined
 * @device: that joins; a negative errno: none
 * @deadline: the earliest of all ranks'
 * @why: what failed
 * @refused: the process that was refused last, and why; for @why
 * @where: where it listens, in words
 * @listeners: sockets
 * @nlisteners: how many
 * @bound: address of the first of them
 * @everywhere: they are on all addresses
 * @joined: rank 0 has; from then on every rank that arrives is welcome
 * @missing: ranks that have not joined, rank 0 left out
 * @absent: ranks that have not arrived
 * @paused: ranks that are to call again
 * @arrivals: ranks, by number; [0] is not used
 * @nguests: places in @guests
 * @guests: the connections
 * @full: no place can be had at the moment
 * @over: every rank is to get @last
 * @err: how it ended
 * @last: the last message: TABLE or FAIL
 * @last_size: bytes of it
 * @untold: ranks that should get it
 * @polls: for each listener and each guest
 */
struct coll_host {
	struct coll_setup *setup;
	struct sockaddr_storage *peers;
	int device;
	uint64_t deadline;
	struct coll_detail why;
	char refused[160];
	char where[160];
	int listeners[COLL_LISTENERS_MAX];
	unsigned int nlisteners;
	struct sockaddr_storage bound;
	bool everywhere;
	bool joined;
	int missing;
	int absent;
	int paused;
	struct coll_arrival *arrivals;
	size_t nguests;
	struct coll_guest *guests;
	bool full;
	bool over;
	int err;
	uint8_t *last;
	size_t last_size;
	int untold;
	struct pollfd *polls;
};

/*
 * Listen where others look for the rendezvous; 0, or an error with its text, which can be told
 * to the ranks if there are listeners all the same.
 */
int coll_host_listen(struct coll_host *host);

/* Read what @guest sent; an error is the whole group's. */
int coll_host_read(struct coll_host *host, struct coll_guest *guest);

/* Send of the last message what can be sent. */
void coll_host_send_last(struct coll_host *host, struct coll_guest *guest);

/* The connection is of no use any more; the place is free. An error is the group's. */
int coll_host_lost(struct coll_host *host, struct coll_guest *guest);

/* Close the connection, and nothing else; the place is free. */
void coll_host_drop(struct coll_guest *guest);

/* Tell the rank to JOIN; an error is the whole group's. */
int coll_host_welcome(struct coll_host *host, int rank);

/* Close its connection; it is to call again after a while.  False: it cannot be now. */
bool coll_host_pause(struct coll_host *host, int rank);

/* Milliseconds that a rank stays away. */
unsigned int coll_host_pause_ms(const struct coll_host *host);

#endif /* COLL_HOST_H */
