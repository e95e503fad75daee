/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* State of coll_shrink(): see Documentation/design/shrink.rst.  Private to shrink/. */
#ifndef COLL_SHRINK_H
#define COLL_SHRINK_H

#include "comm/comm.h"
#include "shrink/message.h"
#include "shrink/pace.h"

/**
 * struct coll_shrink - state of a communicator that is being shrunk
 *
 * The first call allocates it, and it lives as long as the old communicator, because promises
 * and accepted values bind the rank in later calls.  All fields are protected by
 * @comm->split_lock.
 *
 * @comm: old communicator
 * @agree: agreement
 * @pace: timing
 * @peers: timing of the other ranks
 * @child: member of @agree.formed; NULL: none
 * @places: as a proposer, addresses of the members, by rank of the old group
 * @table: addresses of the members, by rank of the new group
 * @table_ranks: ranks of which @table has the address
 * @table_id: id of the group of @table; 0: none
 * @connecting: true if CONNECT of @child is under way; its file is polled as well
 * @socket_error: error that makes the rejoin port unusable, negative errno; 0: none
 * @polled_at: time at which the module was asked for dead ranks
 * @peer_text: text of the message that is being handled; empty: none
 * @detail: text of the failure of this call, in @text
 * @text: buffer of @detail
 */
struct coll_shrink {
	struct coll_comm *comm;
	struct coll_agree agree;
	struct coll_pace pace;
	struct coll_pace_peer *peers;
	struct coll_comm *child;
	struct sockaddr_storage *places;
	struct sockaddr_storage *table;
	struct coll_ranks table_ranks;
	uint64_t table_id;
	bool connecting;
	int socket_error;
	uint64_t polled_at;
	char peer_text[COLL_SHRINK_TEXT_MAX + 1];
	struct coll_detail detail;
	char text[COLL_DETAIL_SIZE];
};

/* Free the state, and a group that was accepted but not returned; NULL is ignored. */
void coll_shrink_free(struct coll_shrink *shrink);

/* socket.c: messages */

/* Send a message; if the network does not take it, it is lost. */
void coll_shrink_send(void *env, const struct coll_agree_message *message);

/*
 * Wait for messages until @until and handle them, unless the caller wants the end.  May set
 * @socket_error.
 */
void coll_shrink_wait(struct coll_shrink *shrink, uint64_t until);

/* Handle messages that have arrived already. */
void coll_shrink_receive_all(struct coll_shrink *shrink);

/* round.c: the member of a new group; functions of struct coll_agree_ops */
int coll_shrink_join(void *env, const struct coll_value *value);
void coll_shrink_connect(void *env);
void coll_shrink_abandon(void *env);

/* Check whether CONNECT has ended, and report the result to the agreement. */
void coll_shrink_poll_connect(struct coll_shrink *shrink);

#endif /* COLL_SHRINK_H */
