/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One io_uring of the process, by which operations complete in memory.
 *
 * The kernel completes a command in the thread that submitted it, when that thread enters the
 * kernel.  A word of the ring tells that there is such work, so a look costs no system call while
 * nothing has happened.  A thread that ends has its commands cancelled: it may submit only what it
 * waits for itself, or it must be the main thread.
 */
#ifndef CM_RING_H
#define CM_RING_H

#include <stdbool.h>

struct coll_comm;
struct collective_op;

/**
 * struct cm_completion - completion of an operation
 * @context: as given to cm_ring_submit()
 * @result: 0 or a negative errno
 */
struct cm_completion {
	void *context;
	int result;
};

/**
 * cm_ring_open - make the ring, unless it exists
 *
 * Return: 0 or a negative errno: io_uring is not available to this process.
 */
int cm_ring_open(void);

/** cm_ring_ready - is there a ring? */
bool cm_ring_ready(void);

/** cm_ring_close - free the ring; no operation is under way */
void cm_ring_close(void);

/**
 * cm_ring_submit - submit an operation
 * @comm: communicator
 * @op: operation; not used after the return, nor what it points to
 * @context: returned with its completion
 *
 * Return: 0 or a negative errno: there will be no completion.
 */
int cm_ring_submit(struct coll_comm *comm, const struct collective_op *op, void *context);

/**
 * cm_ring_reap - take completions
 * @completions: filled in
 * @count: number of @completions
 *
 * Context: any thread; does not wait.
 * Return: number of completions.
 */
int cm_ring_reap(struct cm_completion *completions, int count);

/**
 * cm_ring_sleep - sleep until an operation completes
 * @us: time limit in microseconds
 */
void cm_ring_sleep(unsigned int us);

#endif /* CM_RING_H */
