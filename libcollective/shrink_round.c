// SPDX-License-Identifier: LGPL-2.1-or-later
/* What a rank does by itself for the group that a round of coll_shrink() is to form. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "address.h"
#include "deadline.h"
#include "device.h"
#include "lifeline.h"
#include "shrink.h"

int coll_shrink_members(const struct coll_shrink *shrink)
{
	int rank, n = 0;

	for (rank = 0; rank < shrink->comm->nranks; rank++)
		n += shrink->fates[rank] == FATE_MEMBER;
	return n;
}

void coll_shrink_abandon(struct coll_shrink *shrink)
{
	coll_comm_free(shrink->child);
	shrink->child = NULL;
	shrink->phase = PHASE_NONE;
	shrink->round = 0;
	shrink->connecting = false;
	shrink->connected = 0;
	/* Why it failed does not matter when there is another one. */
	shrink->detail.text[0] = '\0';
}

/* Ranks keep their order. */
static int new_rank(const struct coll_shrink *shrink)
{
	int rank, n = 0;

	for (rank = 0; rank < shrink->comm->rank; rank++)
		n += shrink->fates[rank] == FATE_MEMBER;
	return n;
}

int coll_shrink_join(struct coll_shrink *shrink, uint64_t round)
{
	const struct coll_comm *comm = shrink->comm;
	struct coll_setup setup = comm->setup;
	struct coll_comm *child;
	int err;

	shrink->round = round;
	setup.id = round;
	setup.rank = new_rank(shrink);
	setup.nranks = coll_shrink_members(shrink);
	setup.deadline = shrink->deadline;
	child = coll_comm_child(comm, &setup);
	if (!child)
		return coll_fail(&shrink->detail, -ENOMEM, "rank %d: no memory", comm->rank);
	shrink->child = child;
	err = coll_device_open(setup.nranks, &shrink->detail);
	if (err < 0)
		return err;
	child->fd = err;
	/* The same life: who asks for the old group's is to find it. */
	child->setup.life = comm->setup.life < 0 ? -1 :
			    fcntl(comm->setup.life, F_DUPFD_CLOEXEC, 0);
	if (comm->setup.life >= 0 && child->setup.life < 0)
		return coll_fail(&shrink->detail, -errno, "rank %d: %s", comm->rank,
				 coll_strerror(errno));
	return coll_lifeline_join(child->fd, &child->setup, &child->addr, &shrink->detail);
}

void coll_shrink_look(struct coll_shrink *shrink)
{
	struct coll_comm *child = shrink->child;

	if (!shrink->connecting)
		return;
	shrink->connected = coll_comm_connect(child, child->peers, &shrink->detail);
	shrink->connecting = shrink->connected == -EINPROGRESS;
	if (!shrink->connected)
		fcntl(child->fd, F_SETFL, 0);
}

static int begin_connect(struct coll_shrink *shrink, const uint8_t *entries, size_t length)
{
	struct coll_comm *child = shrink->child;
	int i, err;

	if (length != (size_t)child->nranks * COLL_ENTRY_SIZE)
		return -EPROTO;
	child->peers = calloc(child->nranks, sizeof(*child->peers));
	if (!child->peers)
		return -ENOMEM;
	for (i = 0; i < child->nranks; i++) {
		err = coll_message_read_entry(entries + i * COLL_ENTRY_SIZE, &child->peers[i]);
		if (err)
			return err;
		coll_address_scope(&child->peers[i], &child->addr);
	}
	child->setup.deadline = coll_deadline_in(shrink->connect_ms ?: 1);
	return fcntl(child->fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

void coll_shrink_connect(struct coll_shrink *shrink, const uint8_t *entries, size_t length)
{
	int err = begin_connect(shrink, entries, length);

	shrink->connecting = !err;
	shrink->connected = err;
	if (err)
		coll_fail(&shrink->detail, err, "rank %d: %s", shrink->comm->rank,
			  coll_strerror(err));
	coll_shrink_look(shrink);
}
