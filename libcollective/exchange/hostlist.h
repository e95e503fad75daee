/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of hosts as Slurm writes them: "a1,b[2-4,07]". */
#ifndef COLL_EXCHANGE_HOSTLIST_H
#define COLL_EXCHANGE_HOSTLIST_H

#include <stddef.h>

/*
 * Copy the first host of a list.  Return: 0, or -EINVAL: the list is malformed or the name too
 * long.
 */
int hostlist_first(const char *list, char *host, size_t size);

#endif /* COLL_EXCHANGE_HOSTLIST_H */
