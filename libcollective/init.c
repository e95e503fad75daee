// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cancellation.h"
#include "comm.h"
#include "device.h"
#include "rendezvous.h"

/*
 * The shortest struct coll_config that is accepted: up to @name, what a group cannot do
 * without.  A number, so that it stays when the struct grows.
 */
#define CONFIG_SIZE_MIN	56

/* A struct of at least this many bytes tells where to write a text, even if it is too short. */
#define CONFIG_SIZE_DETAIL	24

_Static_assert(offsetof(struct coll_config, detail_size) + sizeof(size_t) == CONFIG_SIZE_DETAIL &&
	       CONFIG_SIZE_DETAIL <= CONFIG_SIZE_MIN, "every caller's struct has them");
_Static_assert(offsetof(struct coll_config, local_addr) == CONFIG_SIZE_MIN,
	       "what was published does not move");

#define CONFIG_FLAGS	(COLL_CONFIG_INSECURE | COLL_CONFIG_REPRODUCIBLE)

/* Where a caller's struct, whatever is wrong with it, has room for a text. */
static struct coll_detail detail_of(const struct coll_config *config)
{
	struct coll_detail detail = { 0 };

	if (config && config->size >= CONFIG_SIZE_DETAIL && config->detail && config->detail_size) {
		detail.text = config->detail;
		detail.size = config->detail_size;
		detail.text[0] = '\0';
	}
	return detail;
}

/* The caller's struct, shorter or longer, as the one we know: what it does not have is 0. */
static int import(struct coll_config *to, const struct coll_config *from,
		  struct coll_detail *detail)
{
	const size_t size = sizeof(*to);
	size_t i;

	memset(to, 0, size);
	if (!from)
		return 0;
	if (from->size < CONFIG_SIZE_MIN)
		return coll_fail(detail, -EINVAL,
				 "size of struct coll_config is %zu, and at least %d", from->size,
				 CONFIG_SIZE_MIN);
	for (i = size; i < from->size; i++)
		if (((const char *)from)[i])
			return coll_fail(detail, -E2BIG,
					 "byte %zu of struct coll_config is set, of which version %d.%d of the library knows %zu",
					 i, COLL_VERSION_MAJOR, COLL_VERSION_MINOR, size);
	memcpy(to, from, from->size < size ? from->size : size);
	if (to->flags & ~CONFIG_FLAGS)
		return coll_fail(detail, -EINVAL, "flags %#x are not known to version %d.%d",
				 to->flags & ~CONFIG_FLAGS, COLL_VERSION_MAJOR,
				 COLL_VERSION_MINOR);
	return to->reserved ? coll_fail(detail, -EINVAL, "a reserved field is not 0") : 0;
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

static int join(struct coll_comm **comm, const struct coll_config *config,
		struct coll_detail *detail)
{
	struct coll_config known;
	struct coll_setup setup;
	struct coll_comm *made;
	int err = import(&known, config, detail) ?: coll_setup_fill(&setup, &known, detail);

	if (err)
		return err;
	made = coll_comm_new(&setup);
	explicit_bzero(setup.secret, sizeof(setup.secret));
	if (!made)
		return coll_fail(detail, -ENOMEM, "no memory");
	err = coll_device_open(setup.nranks, detail);
	if (err < 0)
		goto free;
	made->fd = err;
	err = meet(made, detail);
	if (err)
		goto free;
	*comm = made;
	return 0;

free:
	coll_comm_free(made);
	return err;
}

int coll_init(struct coll_comm **comm, const struct coll_config *config)
{
	struct coll_detail detail = detail_of(config);
	const int state = coll_cancellation_off();
	int err;

	*comm = NULL;
	err = join(comm, config, &detail);
	coll_cancellation_restore(state);
	/* Of what has no text of its own. */
	return err ? coll_fail(&detail, err, "%s", coll_strerror(err)) : 0;
}

unsigned int coll_version(void)
{
	return COLL_VERSION;
}
