/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of processes for the tests of the library: each rank a child that has
 * called coll_init().  What a rank runs uses CHECK() of group.h, whose memory for
 * flags and values all ranks share.
 */
#ifndef COLL_LIB_GROUP_H
#define COLL_LIB_GROUP_H

#include <collective.h>

#include "lib/group.h"

/**
 * struct lib_rank - one rank, in its own process
 * @comm: its communicator; the rank may finalize it and set it to NULL
 * @shared: flags and values
 * @rank: its number
 * @nranks: how many there are
 * @arg: as lib_group_run() was told
 */
struct lib_rank {
	struct coll_comm *comm;
	struct group_shared *shared;
	int rank;
	int nranks;
	void *arg;
};

typedef int (*lib_rank_fn)(struct lib_rank *me);

/* Run @fn in @nranks processes; @config may be NULL. How many did not return 0. */
int lib_group_run(int nranks, const struct coll_config *config, lib_rank_fn fn, void *arg);

/* A port of the loopback address that nobody had just now; or a negative errno. */
int free_port(void);

/* Entries of a folder, "." and ".." not counted. */
int folder_count(const char *path);

/* What this process has open, and groups that there are. */
#define open_file_count()	folder_count("/proc/self/fd")
#define group_count()	folder_count("/sys/class/collective/collective/groups")

#endif /* COLL_LIB_GROUP_H */
