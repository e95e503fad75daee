// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "comm.h"
#include "deadline.h"
#include "device.h"
#include "reason.h"
#include "rendezvous.h"

/* The first published struct coll_config ended here. */
#define CONFIG_SIZE_MIN	sizeof(struct coll_config)

#define CONFIG_FLAGS	(COLL_CONFIG_INSECURE | COLL_CONFIG_REPRODUCIBLE)

/* The caller's struct, older or newer, as the one we know. */
static int import(struct coll_config *to, const struct coll_config *from)
{
	size_t i;

	memset(to, 0, sizeof(*to));
	if (!from)
		return 0;
	if (from->size < CONFIG_SIZE_MIN)
		return -EINVAL;
	for (i = sizeof(*to); i < from->size; i++)
		if (((const char *)from)[i])
			return -E2BIG;
	memcpy(to, from, sizeof(*to));
	if (to->flags & ~CONFIG_FLAGS || to->reserved)
		return -EINVAL;
	return 0;
}

/* What CONNECT could not do, in the words of the kernel's reason. */
static int connect_failed(int fd, const struct coll_setup *setup, int err,
			  struct coll_detail *detail)
{
	char why[COLL_DETAIL_SIZE / 2] = "";
	struct collective_status status;

	if (!coll_device_status(fd, &status))
		coll_reason_format(&status.group, why, sizeof(why));
	return coll_fail(detail, err,
			 "group %s: rank %d cannot connect to its peers: %s",
			 setup->name, setup->rank, *why ? why :
			 coll_strerror(err));
}

static int meet(int fd, struct coll_setup *setup, struct coll_detail *detail)
{
	struct sockaddr_storage *peers;
	int err;

	peers = calloc(setup->nranks, sizeof(*peers));
	if (!peers)
		return coll_fail(detail, -ENOMEM, "no memory");
	err = coll_rendezvous(fd, setup, peers, detail);
	if (err)
		goto free;
	err = coll_device_connect(fd, peers, setup->nranks,
				  coll_deadline_left(setup->deadline));
	if (err)
		connect_failed(fd, setup, err, detail);
free:
	free(peers);
	return err;
}

int coll_init(struct coll_comm **comm, const struct coll_config *config)
{
	struct coll_detail detail = { 0 };
	struct coll_config known;
	struct coll_setup setup;
	struct coll_comm *new;
	int err;

	*comm = NULL;
	err = import(&known, config);
	if (err)
		return err;
	if (known.detail && known.detail_size) {
		detail.text = known.detail;
		detail.size = known.detail_size;
		detail.text[0] = '\0';
	}
	err = coll_setup_fill(&setup, &known, &detail);
	if (err)
		return err;
	new = calloc(1, sizeof(*new));
	if (!new)
		return coll_fail(&detail, -ENOMEM, "no memory");
	new->fd = coll_device_open(setup.nranks, &detail);
	if (new->fd < 0) {
		err = new->fd;
		goto free;
	}
	err = meet(new->fd, &setup, &detail);
	if (err)
		goto close;
	new->rank = setup.rank;
	new->nranks = setup.nranks;
	new->reproducible = setup.reproducible;
	strcpy(new->name, setup.name);
	pthread_mutex_init(&new->lock, NULL);
	*comm = new;
	return 0;

close:
	close(new->fd);
free:
	free(new);
	return err;
}
