/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Short lives of processes that call the device with anything, from several threads,
 * beside groups that are as they should be.
 */
#ifndef COLL_RANDOM_CALLS_H
#define COLL_RANDOM_CALLS_H

#include <linux/collective.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "lib/argument.h"
#include "sim/rng.h"

#define RANDOM_WORKERS	4	/* at a time */
#define RANDOM_THREADS	4
#define RANDOM_UNEXPECTED	64
#define RANDOM_FILES	12
#define RANDOM_RANKS	3

/* What is called, by number of the ioctl and then these. */
enum random_call {
	RANDOM_IOCTLS = 10,
	RANDOM_NO_IOCTL = RANDOM_IOCTLS,	/* of no ioctl that there is */
	RANDOM_SQE_SUBMIT,
	RANDOM_SQE_CANCEL,
	RANDOM_SQE_NONE,
	RANDOM_CLOSE,
	RANDOM_RING,			/* its end */
	RANDOM_CALLS
};

extern const char * const random_call_names[RANDOM_CALLS];

/**
 * struct random_watch - what one thread is doing
 * @since: when it began, ms; 0: nothing
 * @call: enum random_call
 */
struct random_watch {
	__u64 since;
	__u32 call;
};

/**
 * struct random_unexpected - an answer that nobody has written down
 * @call: enum random_call
 * @error: positive errno
 */
struct random_unexpected {
	__u32 call;
	int error;
};

/**
 * struct random_shared - what all lives and the test see
 * @watch: by worker and thread
 * @done: calls
 * @good: of these, with success
 * @nunexpected: how many answers were strange
 * @unexpected: the first ones
 * @name: of groups, by worker
 * @id: likewise
 */
struct random_shared {
	struct random_watch watch[RANDOM_WORKERS][RANDOM_THREADS];
	__u64 done[RANDOM_CALLS];
	__u64 good[RANDOM_CALLS];
	__u32 nunexpected;
	struct random_unexpected unexpected[RANDOM_UNEXPECTED];
	char name[RANDOM_WORKERS][40];
	__u64 id[RANDOM_WORKERS];
};

/**
 * struct random_valid - what structs point to that is as it should be
 * @peers: of the own group
 * @unreachable: where none of them is
 * @layout: one that some operations take
 * @counts: for it, or requests
 */
struct random_valid {
	struct sockaddr_storage peers[RANDOM_RANKS];
	struct sockaddr_storage unreachable[RANDOM_RANKS];
	struct collective_layout layout;
	__u64 counts[4 * RANDOM_RANKS];
};

/**
 * struct random_memory - what pointers point to
 * @arena: readable and writable, most of the time
 * @edge: the last bytes before a hole
 * @read_only: that may only be read
 * @no_access: that may not even be read
 * @valid: good addresses, layouts, counts
 */
struct random_memory {
	__u8 *arena;
	__u8 *edge;
	__u8 *read_only;
	__u8 *no_access;
	struct random_valid *valid;
};

#define RANDOM_ARENA	(256 * 1024)

/* Nothing waits longer for others, if they are as slow as they may be. */
#define RANDOM_TIMEOUT_MS	60

/**
 * struct random_process - one process
 * @shared: with all others
 * @worker: which place it has
 * @seed: everything follows from it
 * @memory: for pointers
 * @nranks: of its own group
 * @file: the first ones are the members of that
 * @addr: of the members
 * @end: when it should end, ms
 */
struct random_process {
	struct random_shared *shared;
	unsigned int worker;
	__u64 seed;
	struct random_memory memory;
	unsigned int nranks;
	int file[RANDOM_FILES];
	struct sockaddr_storage addr[RANDOM_RANKS];
	__u64 end;
};

/* One thread of it. */
struct random_thread {
	struct random_process *process;
	struct rng rng;
	struct random_watch *watch;
	pthread_t thread;
};

/* Live, for about @ms; returns when all calls have. */
void random_process_run(struct random_shared *shared, unsigned int worker, __u64 seed,
			unsigned int ms);

/* What a thread does, in random_calls.c. */
void random_call_begin(struct random_thread *t, enum random_call call);
void random_call_end(struct random_thread *t, enum random_call call, int res);
int random_file(struct random_thread *t);
void *random_uring(void *arg);

/* Any operation, and one that nothing is wrong with. */
void random_op(struct random_thread *t, struct collective_op *op);
void valid_op(struct random_thread *t, struct collective_op *op);

/* The struct of an ioctl, by number: fill it in, or nearly; have some of it become anything. */
void random_fill(struct random_thread *t, unsigned int nr, union argument *arg);
void random_corrupt(struct random_thread *t, union argument *arg);
/* Nothing is waited for without end. */
void random_limit_time(unsigned int nr, union argument *arg);
/* Where it is: where it should be, or not. */
void *random_address(struct random_thread *t, union argument *arg);

#endif /* COLL_RANDOM_CALLS_H */
