// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm.h"
#include "device.h"
#include "rendezvous.h"
#include "secret.h"

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

/*
 * Open the device.  Where there is none the other ranks are to hear of it, which takes two
 * files: the device is not opened unless two more can be had.  Return: 0 or a negative errno.
 */
static int open_device(struct coll_comm *comm, struct coll_detail *detail)
{
	int spare[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, spare)) {
		if (errno == EMFILE || errno == ENFILE)
			return coll_fail(detail, -errno, "the device: %s (see ulimit -n)",
					 strerrordesc_np(errno));
		/* Without AF_UNIX sockets there is no way to keep files. */
		spare[0] = -1;
	}
	comm->fd = coll_device_open(comm->nranks, detail);
	if (spare[0] >= 0) {
		close(spare[0]);
		close(spare[1]);
	}
	return comm->fd < 0 ? comm->fd : 0;
}

/* Find the others, and meet them. */
static int meet(struct coll_comm *comm, struct coll_detail *detail)
{
	char text[COLL_DETAIL_SIZE] = "";
	struct coll_detail mine = { text, sizeof(text) };
	struct sockaddr_storage *peers;
	int err;

	peers = calloc(comm->nranks, sizeof(*peers));
	if (!peers)
		return coll_fail(detail, -ENOMEM, "no memory");
	err = open_device(comm, &mine);
	err = coll_rendezvous(err ? err : comm->fd, &comm->setup, peers, &mine);
	if (err)
		goto free;
	comm->addr = peers[comm->rank];
	err = coll_comm_connect(comm, peers, &mine);
free:
	free(peers);
	return err ? coll_fail(detail, err, "%s", text) : 0;
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
	coll_secret_put(setup.secret);
	if (!new)
		return coll_fail(&detail, -ENOMEM, "no memory");
	err = meet(new, &detail);
	if (err)
		coll_comm_free(new);
	else
		*comm = new;
	return err;
}
