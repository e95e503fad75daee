// SPDX-License-Identifier: LGPL-2.1-or-later
/* This rank as a member of the group that coll_shrink() is forming. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/address.h"
#include "bootstrap/rejoin_port.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "shrink/shrink.h"

/* Number of descriptors that a new group needs while the old one still exists. */
#define FILES	2

void coll_shrink_abandon(void *env)
{
	struct coll_shrink *shrink = env;

	coll_comm_free(shrink->child);
	shrink->child = NULL;
	shrink->connecting = false;
	/* The reason of its failure does not matter if another group follows. */
	if (!shrink->agree.finished)
		shrink->text[0] = '\0';
}

/* Members keep their order. */
static unsigned int new_rank(const struct coll_ranks *members, unsigned int rank)
{
	unsigned int i, n = 0;

	for (i = 0; i < rank; i++)
		n += coll_ranks_has(members, i);
	return n;
}

static int join(struct coll_shrink *shrink, const struct coll_value *value,
		struct coll_detail *detail)
{
	const struct coll_comm *comm = shrink->comm;
	struct coll_settings settings = comm->settings;
	struct coll_comm *child;
	int fd;

	settings.id = value->id;
	settings.rank = new_rank(&value->members, comm->rank);
	settings.nranks = coll_ranks_count(&value->members);
	settings.deadline = shrink->pace.deadline;
	child = coll_comm_child(comm, &settings);
	if (!child)
		return -ENOMEM;
	shrink->child = child;
	fd = coll_device_open(child->nranks, detail);
	if (fd < 0)
		return fd;
	child->fd = fd;
	/*
	 * The new group takes over the socket: to a rank that uses the old port, this process
	 * is alive.
	 */
	if (comm->settings.rejoin_fd >= 0) {
		child->settings.rejoin_fd = fcntl(comm->settings.rejoin_fd, F_DUPFD_CLOEXEC, 0);
		if (child->settings.rejoin_fd < 0)
			return -errno;
	}
	return coll_rejoin_port_join(child->fd, &child->settings, &child->addr, detail);
}

int coll_shrink_join(void *env, const struct coll_value *value)
{
	struct coll_shrink *shrink = env;
	char text[COLL_DETAIL_SIZE / 2] = "";
	struct coll_detail why = { text, sizeof(text) };
	int err = join(shrink, value, &why);

	if (!err)
		return 0;
	coll_fail(&why, err, "%s", coll_strerror(err));
	if (err == -EMFILE)
		return coll_fail(&shrink->detail, err,
				 "rank %d: %s; it needs %d files besides those that are open",
				 shrink->comm->rank, text, FILES);
	return coll_fail(&shrink->detail, err, "rank %d: %s", shrink->comm->rank, text);
}

/* A proposer has received the addresses of the others one by one. */
static void collect_addresses(struct coll_shrink *shrink)
{
	const struct coll_value *value = &shrink->agree.formed;
	unsigned int rank, n = 0;

	for (rank = 0; rank < shrink->agree.nranks; rank++)
		if (coll_ranks_has(&value->members, rank))
			shrink->table[n++] = rank == shrink->agree.rank ? shrink->child->addr :
					     shrink->places[rank];
	shrink->table_id = value->id;
}

static int begin_connect(struct coll_shrink *shrink)
{
	struct coll_comm *child = shrink->child;
	int i;

	if (coll_ballot_rank(shrink->agree.form_ballot) == shrink->agree.rank)
		collect_addresses(shrink);
	child->peers = calloc(child->nranks, sizeof(*child->peers));
	if (!child->peers)
		return -ENOMEM;
	for (i = 0; i < child->nranks; i++) {
		child->peers[i] = shrink->table[i];
		coll_address_scope(&child->peers[i], &child->addr);
	}
	child->settings.deadline = coll_deadline_in(shrink->pace.timeout / 4 ?: 1);
	return fcntl(child->fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

/*
 * coll_shrink_poll_connect() connects and reports the result, because no function of the
 * environment may call back.
 */
void coll_shrink_connect(void *env)
{
	struct coll_shrink *shrink = env;

	shrink->connecting = true;
}

void coll_shrink_poll_connect(struct coll_shrink *shrink)
{
	struct coll_comm *child = shrink->child;
	int err = 0;

	if (!shrink->connecting)
		return;
	if (!child->peers)
		err = begin_connect(shrink);
	if (!err)
		err = coll_comm_connect(child, child->peers, &shrink->detail);
	if (err == -EINPROGRESS)
		return;
	shrink->connecting = false;
	if (!err && fcntl(child->fd, F_SETFL, 0))
		err = -errno;
	if (err)
		coll_fail(&shrink->detail, err, "rank %d: %s", shrink->comm->rank,
			  coll_strerror(err));
	coll_agree_connected(&shrink->agree, err);
}
