/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Short-lived processes that make random calls of the device from several threads, beside valid
 * groups.
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

/* The kind of a call: the number of an ioctl, or one of these. */
enum random_call {
	RANDOM_IOCTLS = 10,
	RANDOM_NO_IOCTL = RANDOM_IOCTLS,	/* a number that no ioctl has */
	RANDOM_SQE_SUBMIT,
	RANDOM_SQE_CANCEL,
	RANDOM_SQE_NONE,
	RANDOM_CLOSE,
	RANDOM_RING,			/* submission to a ring, and its exit */
	RANDOM_CALLS
};

extern const char * const random_call_names[RANDOM_CALLS];

/**
 * struct random_watch - the call that a thread is in
 * @since: time at which it began; ms; 0: no call
 * @call: enum random_call
 */
struct random_watch {
	__u64 since;
	__u32 call;
};

/**
 * struct random_unexpected - an errno that is not listed for its call
 * @call: enum random_call
 * @error: positive errno
 */
struct random_unexpected {
	__u32 call;
	int error;
};

/**
 * struct random_shared - memory that all processes and the test share
 * @watch: calls in progress, by worker and thread
 * @done: number of calls, by kind
 * @good: number of successful calls, by kind
 * @nunexpected: number of results that are not listed
 * @unexpected: the first of these
 * @name: names of groups, by worker
 * @id: identifiers of groups, by worker
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
 * struct random_valid - valid data that structs point to
 * @peers: addresses of the process's group
 * @unreachable: addresses at which no rank listens
 * @layout: a layout that some operations accept
 * @counts: counts of @layout, or requests
 */
struct random_valid {
	struct sockaddr_storage peers[RANDOM_RANKS];
	struct sockaddr_storage unreachable[RANDOM_RANKS];
	struct collective_layout layout;
	__u64 counts[4 * RANDOM_RANKS];
};

/**
 * struct random_memory - memory that pointers point to
 * @arena: readable and writable, most of the time
 * @edge: end of a page that is followed by a hole
 * @read_only: memory without write permission
 * @no_access: memory without any permission
 * @valid: valid addresses, layouts and counts
 */
struct random_memory {
	__u8 *arena;
	__u8 *edge;
	__u8 *read_only;
	__u8 *no_access;
	struct random_valid *valid;
};

#define RANDOM_ARENA	(256 * 1024)

/* Timeout of operations and heartbeat period, so that no call waits long; ms. */
#define RANDOM_TIMEOUT_MS	60
#define RANDOM_HEARTBEAT_MS	COLLECTIVE_HEARTBEAT_MIN_MS

/**
 * struct random_process - one process
 * @shared: memory that all processes share
 * @worker: index of its worker
 * @seed: seed of all random choices
 * @memory: memory that pointers point to
 * @nranks: number of ranks of its group
 * @file: open files; the first @nranks are the members of the group
 * @addr: addresses of the members
 * @end: time at which the threads stop; ms
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

/* A thread of such a process. */
struct random_thread {
	struct random_process *process;
	struct rng rng;
	struct random_watch *watch;
	pthread_t thread;
};

/* Run the threads of a process for about @ms; return when all calls have returned. */
void random_process_run(struct random_shared *shared, unsigned int worker, __u64 seed,
			unsigned int ms);

/* Functions of a thread, in random_calls.c. */
void random_call_begin(struct random_thread *t, enum random_call call);
void random_call_end(struct random_thread *t, enum random_call call, int res);
int random_file(struct random_thread *t);
void *random_uring(void *arg);

/* Fill in a random operation, or a valid one. */
void random_op(struct random_thread *t, struct collective_op *op);
void valid_op(struct random_thread *t, struct collective_op *op);

/* Fill in a mostly valid struct of ioctl @nr; overwrite some of its words at random. */
void random_fill(struct random_thread *t, unsigned int nr, union argument *arg);
void random_corrupt(struct random_thread *t, union argument *arg);
/* Bound the timeouts, so that no call waits without end. */
void random_limit_time(unsigned int nr, union argument *arg);
/* Return: the address that is passed to the ioctl: that of @arg, or another. */
void *random_address(struct random_thread *t, union argument *arg);

#endif /* COLL_RANDOM_CALLS_H */
