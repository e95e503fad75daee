// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/rejoin_port.h"
#include "bootstrap/secret.h"
#include "comm/cancellation.h"
#include "comm/comm.h"
#include "comm/deadline.h"
#include "comm/device.h"
#include "error/failure_text.h"
#include "shrink/shrink.h"

/* Digits of the number at the end of a child's name, and the point before them. */
#define NUMBER_LENGTH	16
#define STEM_MAX	(COLLECTIVE_NAME_MAX - NUMBER_LENGTH - 1)

bool coll_comm_foreign(const struct coll_comm *comm)
{
	return comm->pid != getpid();
}

int coll_comm_lock(struct coll_comm *comm)
{
	if (coll_comm_foreign(comm))
		return -EPERM;
	pthread_mutex_lock(&comm->lock);
	return 0;
}

void coll_comm_unlock(struct coll_comm *comm)
{
	pthread_mutex_unlock(&comm->lock);
}

struct coll_comm *coll_comm_new(const struct coll_setup *setup)
{
	struct coll_comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->exchange = calloc(setup->nranks, COLL_RECORD_SIZE);
	if (!comm->exchange) {
		free(comm);
		return NULL;
	}
	comm->fd = -1;
	comm->pid = getpid();
	comm->rank = setup->rank;
	comm->nranks = setup->nranks;
	comm->setup = *setup;
	coll_secret_get(comm->setup.secret);
	pthread_mutex_init(&comm->lock, NULL);
	pthread_mutex_init(&comm->order, NULL);
	return comm;
}

struct coll_comm *coll_comm_child(const struct coll_comm *parent, struct coll_setup *setup)
{
	size_t stem = parent->stem ?: strnlen(parent->setup.name, STEM_MAX);
	struct coll_comm *child;

	snprintf(setup->name, sizeof(setup->name), "%.*s.%016llx", (int)stem,
		 parent->setup.name, (unsigned long long)setup->id);
	setup->door = -1;
	child = coll_comm_new(setup);
	if (!child)
		return NULL;
	child->stem = stem;
	child->addr = parent->addr;
	return child;
}

void coll_comm_free(struct coll_comm *comm)
{
	if (!comm)
		return;
	if (comm->fd >= 0)
		close(comm->fd);
	coll_lifeline_close(&comm->setup);
	coll_shrink_free(comm->shrink);
	coll_request_free_all(comm);
	coll_mem_free_all(comm);
	if (!coll_comm_foreign(comm)) {
		pthread_mutex_destroy(&comm->order);
		pthread_mutex_destroy(&comm->lock);
	}
	free(comm->exchange);
	coll_secret_put(comm->setup.secret);
	free(comm->peers);
	free(comm);
}

int coll_comm_connect(struct coll_comm *comm,
		      const struct sockaddr_storage *peers,
		      struct coll_detail *detail)
{
	const struct coll_setup *setup = &comm->setup;
	char why[COLL_DETAIL_SIZE / 2] = "";
	const size_t size = comm->nranks * sizeof(*peers);
	struct collective_status status;
	int err;

	if (!comm->peers) {
		comm->peers = malloc(size);
		if (!comm->peers)
			return coll_fail(detail, -ENOMEM, "no memory");
		memcpy(comm->peers, peers, size);
	}
	err = coll_device_connect(comm->fd, peers, comm->nranks,
				  coll_deadline_left(setup->deadline));
	if (!err || err == -EINPROGRESS)
		return err;
	if (!coll_device_status(comm->fd, &status))
		coll_reason_format(&status.group, why, sizeof(why));
	return coll_fail(detail, err,
			 "group %s: rank %d cannot connect to its peers: %s",
			 setup->name, setup->rank, *why ? why :
			 coll_strerror(err));
}

void coll_comm_note(struct coll_comm *comm, const char *text)
{
	struct collective_status status = { 0 };

	if (*text)
		coll_device_status(comm->fd, &status);
	if (coll_comm_lock(comm))
		return;
	strcpy(comm->note, text);
	comm->noted = status.last.instance;
	comm->noted_kind = status.group.kind;
	coll_comm_unlock(comm);
}

int coll_rank(const struct coll_comm *comm)
{
	return comm->rank;
}

int coll_size(const struct coll_comm *comm)
{
	return comm->nranks;
}

const char *coll_name(const struct coll_comm *comm)
{
	return comm->setup.name;
}

int coll_comm_failed(struct coll_comm *comm)
{
	struct collective_status status;
	int err;

	if (coll_comm_foreign(comm))
		return -EPERM;
	err = coll_device_status(comm->fd, &status);
	if (err || status.group.kind == COLLECTIVE_REASON_NONE)
		return err;
	return status.group.error ? -(int)status.group.error : -ECONNRESET;
}

int coll_finalize(struct coll_comm *comm)
{
	int state, err;

	if (!comm)
		return 0;
	state = coll_cancellation_off();
	if (coll_comm_foreign(comm))
		err = -EPERM;
	else
		err = comm->left ? 0 : coll_device_leave(comm->fd);
	coll_comm_free(comm);
	coll_cancellation_restore(state);
	return err;
}
