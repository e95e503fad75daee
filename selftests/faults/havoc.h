/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Short lives of processes that call the device with anything, from several threads,
 * beside groups that are as they should be.
 */
#ifndef COLL_HAVOC_H
#define COLL_HAVOC_H

#include <linux/collective.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "lib/argument.h"
#include "sim/rng.h"

#define HAVOC_WORKERS	4	/* at a time */
#define HAVOC_THREADS	4
#define HAVOC_STRANGE	64
#define HAVOC_FILES	12
#define HAVOC_RANKS	3

/* What is called, by number of the ioctl and then these. */
enum havoc_call {
	HAVOC_IOCTLS = 10,
	HAVOC_NONE = HAVOC_IOCTLS,	/* of no ioctl that there is */
	HAVOC_SQE_SUBMIT,
	HAVOC_SQE_CANCEL,
	HAVOC_SQE_NONE,
	HAVOC_CLOSE,
	HAVOC_RING,			/* its end */
	HAVOC_CALLS
};

extern const char * const havoc_calls[HAVOC_CALLS];

/**
 * struct havoc_watch - what one thread is doing
 * @since: when it began, ms; 0: nothing
 * @call: enum havoc_call
 */
struct havoc_watch {
	__u64 since;
	__u32 call;
};

/**
 * struct havoc_strange - an answer that nobody has written down
 * @call: enum havoc_call
 * @error: positive errno
 */
struct havoc_strange {
	__u32 call;
	int error;
};

/**
 * struct havoc_shared - what all lives and the test see
 * @watch: by worker and thread
 * @done: calls
 * @good: of these, with success
 * @nstrange: how many answers were strange
 * @strange: the first ones
 * @name: of groups, by worker
 * @id: likewise
 */
struct havoc_shared {
	struct havoc_watch watch[HAVOC_WORKERS][HAVOC_THREADS];
	__u64 done[HAVOC_CALLS];
	__u64 good[HAVOC_CALLS];
	__u32 nstrange;
	struct havoc_strange strange[HAVOC_STRANGE];
	char name[HAVOC_WORKERS][40];
	__u64 id[HAVOC_WORKERS];
};

/**
 * struct havoc_blob - what structs point to that is as it should be
 * @peers: of the own group
 * @nobody: where none of them is
 * @layout: one that some operations take
 * @counts: for it, or requests
 */
struct havoc_blob {
	struct sockaddr_storage peers[HAVOC_RANKS];
	struct sockaddr_storage nobody[HAVOC_RANKS];
	struct collective_layout layout;
	__u64 counts[4 * HAVOC_RANKS];
};

/**
 * struct havoc_memory - what pointers point to
 * @arena: readable and writable, most of the time
 * @edge: the last bytes before a hole
 * @constant: that may only be read
 * @barred: that may not even be read
 * @blob: good addresses, layouts, counts
 */
struct havoc_memory {
	__u8 *arena;
	__u8 *edge;
	__u8 *constant;
	__u8 *barred;
	struct havoc_blob *blob;
};

#define HAVOC_ARENA	(256 * 1024)

/* Nothing waits longer for others, if they are as slow as they may be. */
#define HAVOC_PATIENCE_MS	60

/**
 * struct havoc - one process
 * @shared: with all others
 * @worker: which place it has
 * @seed: everything follows from it
 * @memory: for pointers
 * @nranks: of its own group
 * @file: the first ones are the members of that
 * @addr: of the members
 * @end: when it should end, ms
 */
struct havoc {
	struct havoc_shared *shared;
	unsigned int worker;
	__u64 seed;
	struct havoc_memory memory;
	unsigned int nranks;
	int file[HAVOC_FILES];
	struct sockaddr_storage addr[HAVOC_RANKS];
	__u64 end;
};

/* One thread of it. */
struct havoc_thread {
	struct havoc *havoc;
	struct rng rng;
	struct havoc_watch *watch;
	pthread_t thread;
};

/* Live, for about @ms; returns when all calls have. */
void havoc_run(struct havoc_shared *shared, unsigned int worker, __u64 seed, unsigned int ms);

/* What a thread does, in havoc.c. */
void havoc_begin(struct havoc_thread *t, enum havoc_call call);
void havoc_answer(struct havoc_thread *t, enum havoc_call call, int res);
int havoc_file(struct havoc_thread *t);
void *havoc_ring(void *arg);

/* Any operation, and one that nothing is wrong with. */
void havoc_op(struct havoc_thread *t, struct collective_op *op);
void havoc_good_op(struct havoc_thread *t, struct collective_op *op);

/* The struct of an ioctl, by number: fill it in, or nearly; have some of it become anything. */
void havoc_fill(struct havoc_thread *t, unsigned int nr, union argument *arg);
void havoc_spoil(struct havoc_thread *t, union argument *arg);
/* Nothing is waited for without end. */
void havoc_bound(unsigned int nr, union argument *arg);
/* Where it is: where it should be, or not. */
void *havoc_place(struct havoc_thread *t, union argument *arg);

#endif /* COLL_HAVOC_H */
