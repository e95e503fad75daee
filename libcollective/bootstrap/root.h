/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside rank 0's side of the rendezvous: the ranks, and the connections there are. */
#ifndef COLL_ROOT_H
#define COLL_ROOT_H

#include <poll.h>

#include "bootstrap/address.h"
#include "bootstrap/message.h"
#include "comm/config.h"

/* Addresses that one name can have here. */
#define BOOTSTRAP_LISTENERS_MAX	16

/* How long an end is told about, and a paused rank may be late. */
#define BOOTSTRAP_RETURN_MS		5000

enum bootstrap_rank_state {
	RANK_MISSING,		/* the rank is missing */
	RANK_ARRIVED,		/* has said HELLO, and proved it */
	RANK_WELCOMED,	/* must join */
	RANK_JOINED,		/* its address is known */
};

/**
 * struct bootstrap_conn - a connection
 * @fd: non-blocking; -1: a free place
 * @rank: whose, once it has proved itself; -1: a stranger
 * @accepted_at: when it was accepted (deadline.h)
 * @in_len: bytes of @in
 * @last_sent: bytes of the last message (struct bootstrap_root)
 * @from: where it comes from
 * @challenged: it has got a CHALLENGE
 * @hello: what it said
 * @proof: that it must give
 * @in: of a message
 */
struct bootstrap_conn {
	int fd;
	int rank;
	uint64_t accepted_at;
	size_t in_len;
	size_t last_sent;
	struct sockaddr_storage from;
	bool challenged;
	struct bootstrap_hello hello;
	uint8_t proof[COLL_PROOF_SIZE];
	uint8_t in[BOOTSTRAP_MESSAGE_MAX];
};

/**
 * struct bootstrap_rank - a rank
 * @state: how far it has come; from RANK_ARRIVED on the others are known
 * @last_done: it has got the last message, or cannot get it
 * @went_away: a process that was this rank has gone away
 * @process: number of the process
 * @attempt: of its latest connection
 * @lanes: that it wants; 0: any
 * @conn: this connection; NULL: it is to call again
 * @state_at: when it arrived; with no connection, when it has to be back
 * @root_addr: address of rank 0 that it has come by
 * @from: where it comes from
 */
struct bootstrap_rank {
	enum bootstrap_rank_state state;
	bool last_done;
	bool went_away;
	uint64_t process;
	uint32_t attempt;
	uint32_t lanes;
	struct bootstrap_conn *conn;
	uint64_t state_at;
	struct sockaddr_storage root_addr;
	struct sockaddr_storage from;
};

/**
 * struct bootstrap_root - the rendezvous
 * @settings: rank 0's; its lanes are the group's
 * @peers: addresses of those who joined
 * @device: that joins; a negative errno: none
 * @deadline: the earliest of all ranks'
 * @failure: what failed
 * @rejected: the process that was refused last, and why; for @failure
 * @listening_on: where it listens, in words
 * @listeners: sockets
 * @nlisteners: how many
 * @bound: address of the first of them
 * @on_all_addresses: they are on all addresses
 * @joined: rank 0 has; from then on every rank that arrives is welcome
 * @missing: ranks that have not joined, rank 0 left out
 * @absent: ranks that have not arrived
 * @paused: ranks that are to call again
 * @ranks: ranks, by number; [0] is not used
 * @nconns: places in @conns
 * @conns: the connections
 * @conns_full: no place can be had at the moment
 * @has_ended: every rank is to get @last
 * @err: how it ended
 * @last: the last message: TABLE or FAIL
 * @last_size: bytes of it
 * @last_pending: ranks that should get it
 * @polls: for each listener and each guest
 */
struct bootstrap_root {
	struct coll_settings *settings;
	struct sockaddr_storage *peers;
	int device;
	uint64_t deadline;
	struct coll_detail failure;
	char rejected[160];
	char listening_on[160];
	int listeners[BOOTSTRAP_LISTENERS_MAX];
	unsigned int nlisteners;
	struct sockaddr_storage bound;
	bool on_all_addresses;
	bool joined;
	int missing;
	int absent;
	int paused;
	struct bootstrap_rank *ranks;
	size_t nconns;
	struct bootstrap_conn *conns;
	bool conns_full;
	bool has_ended;
	int err;
	uint8_t *last;
	size_t last_size;
	int last_pending;
	struct pollfd *polls;
};

/*
 * Listen where others look for the rendezvous; 0, or an error with its text, which can be told
 * to the ranks if there are listeners all the same.
 */
int bootstrap_root_listen(struct bootstrap_root *root);

/* Read what @conn sent; an error is the whole group's. */
int bootstrap_conn_read(struct bootstrap_root *root, struct bootstrap_conn *conn);

/* Send of the last message what can be sent. */
void bootstrap_conn_send_last(struct bootstrap_root *root, struct bootstrap_conn *conn);

/* The connection is of no use any more; the place is free. An error is the group's. */
int bootstrap_conn_lost(struct bootstrap_root *root, struct bootstrap_conn *conn);

/* Close the connection, and nothing else; the place is free. */
void bootstrap_conn_close(struct bootstrap_conn *conn);

/* Tell the rank to JOIN; an error is the whole group's. */
int bootstrap_root_welcome(struct bootstrap_root *root, int rank);

/* Close its connection; it is to call again after a while.  False: it cannot be now. */
bool bootstrap_root_pause(struct bootstrap_root *root, int rank);

/* Milliseconds that a rank stays away. */
unsigned int bootstrap_root_pause_ms(const struct bootstrap_root *root);

#endif /* COLL_ROOT_H */
