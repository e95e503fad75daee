/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The root of the bootstrap: its ranks and its connections.  Private to root*.c. */
#ifndef COLL_ROOT_H
#define COLL_ROOT_H

#include <poll.h>

#include "bootstrap/address.h"
#include "bootstrap/message.h"
#include "comm/config.h"

/* Maximum number of addresses of one name at which the root listens. */
#define BOOTSTRAP_LISTENERS_MAX	16

/* Time in ms that a paused rank may be late, after which it counts as gone. */
#define BOOTSTRAP_RETURN_MS		5000

enum bootstrap_rank_state {
	RANK_MISSING,		/* no process has proved to be this rank */
	RANK_ARRIVED,		/* a process sent HELLO, and the proof if the group has a secret */
	RANK_WELCOMED,		/* WELCOME was sent; the rank is joining */
	RANK_JOINED,		/* the rank sent its ADDRESS */
};

/**
 * struct bootstrap_conn - connection that the root accepted
 * @fd: socket, non-blocking; -1: this slot is free
 * @rank: rank of the client; -1: the client is unauthenticated
 * @accepted_at: time of accept() (comm/deadline.h)
 * @version: version of the client's messages; 0: unknown
 * @in_len: number of bytes in @in
 * @last_sent: number of bytes sent of @last of struct bootstrap_root
 * @from: address of the client
 * @challenged: true if a CHALLENGE was sent
 * @hello: HELLO of the client; valid if @challenged or @rank is not -1
 * @proof: proof that the client must send
 * @in: message that is being received
 */
struct bootstrap_conn {
	int fd;
	int rank;
	uint64_t accepted_at;
	unsigned int version;
	size_t in_len;
	size_t last_sent;
	struct sockaddr_storage from;
	bool challenged;
	struct bootstrap_hello hello;
	uint8_t proof[COLL_PROOF_SIZE];
	uint8_t in[BOOTSTRAP_MESSAGE_MAX];
};

/**
 * struct bootstrap_rank - rank as the root knows it
 * @state: how far the rank has come; the fields from @process on are valid from RANK_ARRIVED on
 * @last_done: true if the rank was sent the last message, or cannot be reached any more
 * @went_away: true if a process that was this rank went away
 * @process: random number of the process
 * @attempt: attempt number of its latest connection
 * @restart: number of times that the launcher has started this rank again
 * @lanes: number of lanes that it asks for; 0: any
 * @conn: its connection; NULL: the rank is paused and has to connect again
 * @state_at: time of its arrival or WELCOME; while paused, deadline of its return
 * @root_addr: address of the root to which it connected
 * @from: address of the client
 * @key: key of the process that has, or had, a rank that the root handed out; empty: none;
 *	valid in any state
 */
struct bootstrap_rank {
	enum bootstrap_rank_state state;
	bool last_done;
	bool went_away;
	uint64_t process;
	uint32_t attempt;
	uint32_t restart;
	uint32_t lanes;
	struct bootstrap_conn *conn;
	uint64_t state_at;
	struct sockaddr_storage root_addr;
	struct sockaddr_storage from;
	char key[COLL_KEY_SIZE];
};

/**
 * struct bootstrap_root - the root's side of a bootstrap
 * @settings: settings of rank 0; its lanes become those of the group
 * @peers: addresses of the ranks that joined
 * @device: descriptor of the device; a negative errno: there is none
 * @deadline: earliest deadline of all ranks
 * @failure: text of the failure
 * @rejected: address of the client that was rejected last, and why; appended to @failure
 * @listening_on: addresses of the listeners, as text
 * @listeners: listening sockets
 * @nlisteners: number of @listeners
 * @bound: address of the first listener
 * @on_all_addresses: true if the listeners are bound to all addresses of the host
 * @joined: true if rank 0 has joined; ranks that arrive later are sent WELCOME at once
 * @missing: number of ranks, without rank 0, that have not joined
 * @absent: number of ranks that have not arrived
 * @paused: number of ranks that have to connect again
 * @ranks: by rank; [0] is not used
 * @nconns: number of @conns
 * @conns: slots for connections
 * @conns_full: true if no slot is free and none can be freed now
 * @has_ended: true if the outcome is known and every rank is sent @last
 * @err: outcome; 0 or a negative errno
 * @last: last message: TABLE or FAIL
 * @last_size: its size in bytes
 * @last_pending: number of ranks that have not been sent @last
 * @polls: argument of poll(), for each listener and each connection
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
 * Listen at the addresses of the rendezvous.  Return: 0, or a negative errno with a text in
 * @failure.  If listeners remain after an error, they are used to tell the ranks.
 */
int bootstrap_root_listen(struct bootstrap_root *root);

/* Read and handle messages of @conn.  Return: 0, or a negative errno that fails the group. */
int bootstrap_conn_read(struct bootstrap_root *root, struct bootstrap_conn *conn);

/* Send as much of @last as the socket takes. */
void bootstrap_conn_send_last(struct bootstrap_root *root, struct bootstrap_conn *conn);

/*
 * The client closed the connection; free the slot.  Return: 0, or a negative errno that fails
 * the group.
 */
int bootstrap_conn_lost(struct bootstrap_root *root, struct bootstrap_conn *conn);

/* Close the connection and free the slot; the rank stays as it is. */
void bootstrap_conn_close(struct bootstrap_conn *conn);

/* Send WELCOME to a rank.  Return: 0, or a negative errno that fails the group. */
int bootstrap_root_welcome(struct bootstrap_root *root, int rank);

/* Send WAIT with a pause to a rank and close its connection.  Return: false: not now. */
bool bootstrap_root_pause(struct bootstrap_root *root, int rank);

/* Recall the keys of earlier groups of this process, and remember those of this group. */
void bootstrap_root_recall_keys(struct bootstrap_root *root);
void bootstrap_root_remember_keys(const struct bootstrap_root *root);

/*
 * Choose a rank for a client that has none.  Return: the rank, or a negative errno with a text:
 * the client is to be rejected.
 */
int bootstrap_root_hand_out(struct bootstrap_root *root, const struct bootstrap_hello *hello,
			    char *text, size_t size);

/* Pause of a rank in ms, which grows with the number of paused ranks. */
unsigned int bootstrap_root_pause_ms(const struct bootstrap_root *root);

#endif /* COLL_ROOT_H */
