/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside coll_shrink(): see Documentation/shrink.rst. */
#ifndef COLL_SHRINK_H
#define COLL_SHRINK_H

#include "comm/comm.h"
#include "shrink/message.h"
#include "shrink/pace.h"

/**
 * struct coll_shrink - what belongs to a communicator that is being shrunk
 *
 * It is allocated by the first call and lives as long as the old communicator, because
 * what a rank has promised and accepted binds it in later calls.  Calls hold @comm's
 * order lock, and nothing else touches it.
 *
 * @comm: the old communicator
 * @agree: what is agreed on
 * @pace: when to speak
 * @peers: of @pace
 * @child: this rank's member of @agree.formed; NULL: none
 * @places: as a proposer, where the members are, by rank of the old group
 * @table: where the members are, by rank of the new group, as far as they are known
 * @table_ranks: which are
 * @table_id: the group that @table is of; 0: none
 * @connecting: CONNECT of @child is under way; its file is polled, too
 * @socket_error: the door is of no use; a negative errno
 * @polled_at: when the module was asked for the dead
 * @peer_text: the text that came with the message in hand; empty: none
 * @detail: text of this call's failure, in
 * @text: which
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

/* Free it, with a group that was accepted and not returned; NULL is ignored. */
void coll_shrink_free(struct coll_shrink *shrink);

/*
 * shrink_door.c: messages
 */

/* Send; what the network does not take is lost. */
void coll_shrink_send(void *env, const struct coll_agree_message *message);

/* Wait for messages, until @until at most, and deal with them.  @broken may be set. */
void coll_shrink_wait(struct coll_shrink *shrink, uint64_t until);

/* Deal with messages that have arrived already. */
void coll_shrink_receive_all(struct coll_shrink *shrink);

/*
 * shrink_round.c: this rank's own part in a new group; struct coll_agree_ops
 */
int coll_shrink_join(void *env, const struct coll_value *value);
void coll_shrink_connect(void *env);
void coll_shrink_abandon(void *env);

/* Has CONNECT ended?  Then the agreement is told. */
void coll_shrink_poll_connect(struct coll_shrink *shrink);

#endif /* COLL_SHRINK_H */
