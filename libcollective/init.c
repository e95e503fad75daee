// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "device.h"
#include "rendezvous.h"

/* The first published struct coll_config ended here. */
#define CONFIG_SIZE_MIN	sizeof(struct coll_config)

#define CONFIG_FLAGS	(COLL_CONFIG_INSECURE | COLL_CONFIG_REPRODUCIBLE | COLL_CONFIG_WIDE)

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

/* Find the others, and meet them. */
static int meet(struct coll_comm *comm, struct coll_detail *detail)
{
	struct sockaddr_storage *peers;
	int err;

	peers = calloc(comm->nranks, sizeof(*peers));
	if (!peers)
		return coll_fail(detail, -ENOMEM, "no memory");
	err = coll_rendezvous(comm->fd, &comm->setup, peers, detail);
	if (err)
		goto free;
	comm->addr = peers[comm->rank];
	err = coll_comm_connect(comm, peers, detail);
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
	new = coll_comm_new(&setup);
	explicit_bzero(setup.secret, sizeof(setup.secret));
	if (!new)
		return coll_fail(&detail, -ENOMEM, "no memory");
	err = coll_device_open(setup.nranks, &detail);
	if (err < 0)
		goto free;
	new->fd = err;
	err = meet(new, &detail);
	if (err)
		goto free;
	*comm = new;
	return 0;

free:
	coll_comm_free(new);
	return err;
}
