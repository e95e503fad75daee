/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups in one process of which some ranks are the module's and one is hostile, and checks that
 * the others are unharmed.
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

/* The hostile rank has the lowest number, so that it calls all others. */
#define HOSTILE		0

/* Upper bound of the time in which every operation ends; ms. */
#define BOUND_MS	15000

/*
 * Memory of a rank: an area for input and one for results. Guards before, between and behind them
 * must not change.
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
 * @seed: seed of all random choices
 * @rng: generator of that seed
 * @nranks: number of ranks of the group
 * @lanes: number of lanes of the group
 * @heartbeat_ms: as in struct collective_join
 * @has_secret: true if the group has a secret
 * @secret: the secret
 * @name: name of the group
 * @id: identifier of the group
 * @fd: files, by rank; -1: the rank is not the module's
 * @addr: addresses, by rank
 * @memory: memory, by rank
 * @buffer: registration of all of @memory, by rank
 * @nops: number of operations of each rank
 * @op: these operations
 * @request: requests, by rank and operation
 * @proxy: the proxy in front of the hostile rank, if that is a rank of the module
 * @accused_others: true if the hostile rank accused other ranks
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
 * Functions that return int report a failed check and return 1.
 */

/* Join the ranks from @first on. */
int fixture_begin(struct hostile_fixture *fix, __u64 seed, unsigned int nranks, unsigned int first,
		  unsigned int heartbeat_ms);
/*
 * Return: a heartbeat period with which failures are noticed soon; ms. 0 of struct
 * hostile_fixture is the default, which slow machines can meet.
 */
unsigned int fixture_short_heartbeat(void);
int fixture_join(struct hostile_fixture *fix, unsigned int rank);
/* Start CONNECT. Return: 0 or a negative errno. */
int fixture_connect(struct hostile_fixture *fix, unsigned int rank,
		    const struct sockaddr_storage *addr);
/*
 * Wait until all ranks of the module are up or have failed. Return: the number that failed, or
 * -1.
 */
int fixture_wait_up(struct hostile_fixture *fix);
/* For groups without a hostile rank: connect, and check an allreduce. */
int fixture_check_works(struct hostile_fixture *fix);
/* Register all memory, or none, at random. */
int fixture_register(struct hostile_fixture *fix);
/* Submit the same operations on all ranks. A group that has failed refuses them. */
void fixture_submit(struct hostile_fixture *fix);
/*
 * Check that all operations have ended in time, with an allowed reason, and that no guard
 * changed.
 */
int fixture_check(const struct hostile_fixture *fix);
void fixture_end(struct hostile_fixture *fix);

/* True if @reason names the hostile rank, or no rank. */
bool reason_allowed(const struct hostile_fixture *fix, unsigned int rank, const char *what,
		    const struct collective_reason *reason);
int wait_bounded(int fd, __u64 request);

#endif /* COLL_HOSTILE_FIXTURE_H */
