/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of processes for tests of the library. Each rank is a child process that has called
 * coll_init(). The function of a rank uses CHECK() of group.h and the memory that all ranks
 * share.
 */
#ifndef COLL_LIB_GROUP_H
#define COLL_LIB_GROUP_H

#include <collective.h>

#include "lib/group.h"

/**
 * struct lib_rank - one rank, in its own process
 * @comm: its communicator; a rank that finalizes it sets it to NULL
 * @shared: memory that all ranks share
 * @rank: its number
 * @nranks: number of ranks of the group
 * @arg: argument that was passed to lib_group_run()
 */
struct lib_rank {
	struct coll_comm *comm;
	struct group_shared *shared;
	int rank;
	int nranks;
	void *arg;
};

typedef int (*lib_rank_fn)(struct lib_rank *me);

/*
 * Run @fn in @nranks processes; @config may be NULL.
 * Return: the number of ranks that did not return 0.
 */
int lib_group_run(int nranks, const struct coll_config *config, lib_rank_fn fn, void *arg);

/* The same, each rank at an address of its own: 127.0.0.1 plus its number. */
int lib_group_run_apart(int nranks, const struct coll_config *config, lib_rank_fn fn, void *arg);

/* Return: a free port of the loopback address, or a negative errno. The port may be taken later. */
int free_port(void);

/* Return: the number of entries of a folder, without "." and "..". */
int folder_count(const char *path);

/* The files that this process has open, and the groups of this network namespace. */
#define open_file_count()	folder_count("/proc/self/fd")
#define group_count()	folder_count("/sys/class/collective/collective/groups")

#endif /* COLL_LIB_GROUP_H */
