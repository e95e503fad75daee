/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A network namespace for each rank:
 *
 *	rank 0's netns        rank 1's netns
 *	eth0 10.88.0.1/16     eth0 10.88.0.2/16    ...
 *	   |  fd88::1/64         |  fd88::2/64
 *	   v0                    v1
 *	   +------- bridge ------+                  collective-run's netns
 *
 * None of them has a name, so the kernel removes them when their last process ends, even if
 * it is killed.
 */
#ifndef NETNS_H
#define NETNS_H

#include <sys/types.h>

#define NETNS_ADDRESS_RANK0	"10.88.0.1"
#define NETNS_ADDRESS6_RANK0	"fd88::1"
#define NETNS_PORT		29400

/* Moves this process to a new namespace with the bridge.  Return: 0 or -1. */
int netns_hub(void);

/* Moves the rank to a new namespace and mounts the /sys of that.  Return: 0 or -1. */
int netns_prepare(int rank);

/* Gives process @pid its link and addresses; called in the hub.  Return: 0 or -1. */
int netns_attach(int rank, pid_t pid);

#endif /* NETNS_H */
