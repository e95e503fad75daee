/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of which some ranks are the kernel's and one is hostile, in one process; and
 * what may become of the others.
 */
#ifndef COLL_SCENE_H
#define COLL_SCENE_H

#include <linux/collective.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/group.h"
#include "sim/rng.h"
#include "faults/tamper.h"

#define RANKS_MOST	3
#define OPERATIONS_MOST	6

/* The hostile rank calls all others. */
#define HOSTILE		0

/* Everything has ended after that long. */
#define BOUND_MS	15000

/*
 * Memory of a rank: what is sent and what is received, and on all sides of it what
 * nobody may touch.
 */

#define AREA		(256 * 1024)
#define GUARD		(32 * 1024)
#define MEMORY		(2 * AREA + 3 * GUARD)
#define SEND_AT		GUARD
#define RECV_AT		(2 * GUARD + AREA)

static inline bool all_same(const u8 *p, size_t len, u8 value)
{
	return p[0] == value && !memcmp(p, p + 1, len - 1);
}

/**
 * struct scene - one group
 * @seed: everything follows from it
 * @rng: of that seed
 * @nranks: of the group
 * @lanes: likewise
 * @heartbeat_ms: as in struct collective_join
 * @secured: it has a secret
 * @secret: that one
 * @name: of the group
 * @id: likewise
 * @fd: by rank; -1: none of the kernel's
 * @addr: by rank
 * @memory: by rank
 * @buffer: by rank, all of @memory
 * @nops: operations of each rank
 * @op: which
 * @request: of each rank
 * @tamper: who stands before the hostile rank, if it is a real one
 * @slandered: others were named by the hostile rank
 */
struct scene {
	__u64 seed;
	struct rng rng;
	unsigned int nranks;
	unsigned int lanes;
	unsigned int heartbeat_ms;
	bool secured;
	__u8 secret[COLLECTIVE_SECRET_SIZE];
	char name[33];
	__u64 id;
	int fd[RANKS_MOST];
	struct sockaddr_storage addr[RANKS_MOST];
	u8 *memory[RANKS_MOST];
	__u32 buffer[RANKS_MOST];
	unsigned int nops;
	struct collective_op op[OPERATIONS_MOST];
	__u64 request[RANKS_MOST][OPERATIONS_MOST];
	const struct tamper *tamper;
	bool slandered;
};

/*
 * Those that return an int complain and return 1 when it is not as it should be.
 */

/* Ranks from @first on join. */
int scene_begin(struct scene *scene, __u64 seed, unsigned int nranks, unsigned int first,
		unsigned int heartbeat_ms);
/* A heartbeat with which what has to fail does so soon; 0 is one for slow machines, too. */
unsigned int scene_hurry(void);
int scene_join(struct scene *scene, unsigned int rank);
/* Begin to; a negative errno if that fails. */
int scene_connect(struct scene *scene, unsigned int rank, const struct sockaddr_storage *addr);
/* All of the kernel's are up, or have failed; how many have, or -1. */
int scene_met(struct scene *scene);
/* Real ranks only: they connect, and do what groups are for. */
int scene_works(struct scene *scene);
/* Perhaps register all memory. */
int scene_register(struct scene *scene);
/* Everybody submits the same; a group that has failed already refuses. */
void scene_submit(struct scene *scene);
/* All has ended in time, for the right reason, and no other byte was written. */
int scene_judge(const struct scene *scene);
void scene_end(struct scene *scene);

/* Is it the hostile rank's fault, or at least nobody's? */
bool blamed_rightly(const struct scene *scene, unsigned int rank, const char *what,
		    const struct collective_reason *reason);
int wait_bounded(int fd, __u64 request);

#endif /* COLL_SCENE_H */
