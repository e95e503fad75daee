/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls coll_init() with the environment of the launcher. */
#ifndef NET_INIT_H
#define NET_INIT_H

#include <collective.h>
#include <stdio.h>

/* Return: the communicator; NULL after an error, which has been printed. */
static inline struct coll_comm *init_comm(void)
{
	char detail[COLL_DETAIL_SIZE] = "";
	struct coll_config config = {
		.size = sizeof(config),
		.detail = detail,
		.detail_size = sizeof(detail),
	};
	struct coll_comm *comm;
	int err = coll_init(&comm, &config);

	if (!err)
		return comm;
	fprintf(stderr, "coll_init: %s: %s\n", coll_strerror(err), detail);
	return NULL;
}

#endif /* NET_INIT_H */
