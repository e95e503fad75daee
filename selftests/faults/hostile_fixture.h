/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of which some ranks are the kernel's and one is hostile, in one process; and
 * what may become of the others.
 */
#ifndef COLL_HOSTILE_FIXTURE_H
#define COLL_HOSTILE_FIXTURE_H

#include <linux/collective.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/group.h"
#include "sim/rng.h"
#include "faults/frame_proxy.h"

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
 * struct hostile_fixture - one group
 * @seed: everything follows from it
 * @rng: of that seed
 * @nranks: of the group
 * @lanes: likewise
 * @heartbeat_ms: as in struct collective_join
 * @has_secret: it has a secret
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
 * @proxy: who stands before the hostile rank, if it is a real one
 * @accused_others: others were named by the hostile rank
 */
struct hostile_fixture {
	__u64 seed;
	struct rng rng;
	unsigned int nranks;
	unsigned int lanes;
	unsigned int heartbeat_ms;
	bool has_secret;
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
	const struct frame_proxy *proxy;
	bool accused_others;
};

/*
 * Those that return an int complain and return 1 when it is not as it should be.
 */

/* Ranks from @first on join. */
int fixture_begin(struct hostile_fixture *fix, __u64 seed, unsigned int nranks, unsigned int first,
		  unsigned int heartbeat_ms);
/* A heartbeat with which what has to fail does so soon; 0 is one for slow machines, too. */
unsigned int fixture_short_heartbeat(void);
int fixture_join(struct hostile_fixture *fix, unsigned int rank);
/* Begin to; a negative errno if that fails. */
int fixture_connect(struct hostile_fixture *fix, unsigned int rank,
		    const struct sockaddr_storage *addr);
/* All of the kernel's are up, or have failed; how many have, or -1. */
int fixture_wait_up(struct hostile_fixture *fix);
/* Real ranks only: they connect, and do what groups are for. */
int fixture_check_works(struct hostile_fixture *fix);
/* Perhaps register all memory. */
int fixture_register(struct hostile_fixture *fix);
/* Everybody submits the same; a group that has failed already refuses. */
void fixture_submit(struct hostile_fixture *fix);
/* All has ended in time, for the right reason, and no other byte was written. */
int fixture_check(const struct hostile_fixture *fix);
void fixture_end(struct hostile_fixture *fix);

/* Is it the hostile rank's fault, or at least nobody's? */
bool reason_allowed(const struct hostile_fixture *fix, unsigned int rank, const char *what,
		    const struct collective_reason *reason);
int wait_bounded(int fd, __u64 request);

#endif /* COLL_HOSTILE_FIXTURE_H */
