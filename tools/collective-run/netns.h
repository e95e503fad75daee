/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A network of its own for each rank:
 *
 *	rank 0's netns        rank 1's netns
 *	eth0 10.88.0.1/16     eth0 10.88.0.2/16    ...
 *	   |  fd88::1/64         |  fd88::2/64
 *	   v0                    v1
 *	   +------- bridge ------+                  collective-run's netns
 *
 * None of them has a name: the kernel takes all of it away when the last
 * process inside is gone, however it went.
 */
#ifndef NETNS_H
#define NETNS_H

#include <sys/types.h>

#define NETNS_ADDRESS_RANK0	"10.88.0.1"
#define NETNS_ADDRESS6_RANK0	"fd88::1"
#define NETNS_PORT		29400

/* This process moves to a new namespace with the bridge.  0 or -1. */
int netns_hub(void);

/* The rank moves to a new namespace, and sees that one's /sys. */
int netns_prepare(int rank);

/* The hub gives process @pid its link and addresses. */
int netns_attach(int rank, pid_t pid);

#endif /* NETNS_H */
