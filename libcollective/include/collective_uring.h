/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collective operations as SQEs of the caller's own ring.
 *
 * The ring has been made with IORING_SETUP_SQE128.  All of coll_prep_NAME() fill an SQE
 * in for the operation of coll_NAME(), with the same arguments; its user_data and flags
 * are 0 and may be set afterwards.  What the completion's res is, 0 or a negative errno,
 * is what coll_NAME() returns.  Until then the buffers are the operation's.
 *
 * Operations are in the order in which SQEs are issued, and that must be the same on
 * every rank, together with the calls that need no ring.
 */
#ifndef COLLECTIVE_URING_H
#define COLLECTIVE_URING_H

#include "collective.h"

#ifdef __cplusplus
extern "C" {
#endif

struct io_uring_sqe;

/*
 * Errors, when nothing has been filled in: those of malformed calls, and EOPNOTSUPP,
 * for a coll_prep_reduce_scatter() in place: its result would have to be moved.
 */
int coll_prep_allreduce(struct io_uring_sqe *sqe, struct coll_comm *comm,
			const void *send, void *recv, size_t count,
			enum coll_type type, enum coll_op op);
int coll_prep_reduce(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const void *send, void *recv, size_t count,
		     enum coll_type type, enum coll_op op, int root);
int coll_prep_broadcast(struct io_uring_sqe *sqe, struct coll_comm *comm,
			void *buffer, size_t count, enum coll_type type,
			int root);
int coll_prep_allgather(struct io_uring_sqe *sqe, struct coll_comm *comm,
			const void *send, void *recv, size_t count,
			enum coll_type type);
int coll_prep_reduce_scatter(struct io_uring_sqe *sqe, struct coll_comm *comm,
			     const void *send, void *recv, size_t count,
			     enum coll_type type, enum coll_op op);
int coll_prep_gather(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const void *send, void *recv, size_t count,
		     enum coll_type type, int root);
int coll_prep_scatter(struct io_uring_sqe *sqe, struct coll_comm *comm,
		      const void *send, void *recv, size_t count,
		      enum coll_type type, int root);
int coll_prep_alltoall(struct io_uring_sqe *sqe, struct coll_comm *comm,
		       const void *send, void *recv, size_t count,
		       enum coll_type type);
int coll_prep_barrier(struct io_uring_sqe *sqe, struct coll_comm *comm);
int coll_prep_scan(struct io_uring_sqe *sqe, struct coll_comm *comm,
		   const void *send, void *recv, size_t count,
		   enum coll_type type, enum coll_op op);
int coll_prep_exscan(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const void *send, void *recv, size_t count,
		     enum coll_type type, enum coll_op op);
int coll_prep_send(struct io_uring_sqe *sqe, struct coll_comm *comm,
		   const void *buffer, size_t count, enum coll_type type,
		   int to, long long tag);
int coll_prep_recv(struct io_uring_sqe *sqe, struct coll_comm *comm,
		   void *buffer, size_t count, enum coll_type type, int from,
		   long long tag);

/* Any operation that the kernel has: see coll_submit(). */
int coll_prep_submit(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const struct collective_op *op);

/**
 * coll_prep_fixed - take the buffers of an SQE from those registered with the ring
 * @sqe: filled in by one of the above
 * @index: of the one buffer of the ring in which both lie
 */
void coll_prep_fixed(struct io_uring_sqe *sqe, unsigned int index);

/**
 * coll_prep_key - name the operation of an SQE by a key
 * @sqe: filled in by one of the above
 * @key: 0 .. 2^40 - 1
 *
 * Operations with the same key belong together, in whatever order ranks begin them;
 * of a message it is the tag.  What has a key that is in use waits for its turn.  After
 * a failure a key should not be used again.
 */
void coll_prep_key(struct io_uring_sqe *sqe, unsigned long long key);

/**
 * coll_prep_cancel - fill an SQE in that cancels an operation
 * @sqe: the SQE
 * @comm: communicator
 * @user_data: of the SQE that began the operation
 *
 * The operation fails with ECANCELED on every rank, where coll_error_detail() names this
 * one, and the communicator lives on.  The
 * completion's res is 0, or -ENOENT when the operation is over already (or never was),
 * or -EALREADY when it fails already; that of the operation comes apart.
 * IORING_OP_ASYNC_CANCEL does not reach operations.
 */
void coll_prep_cancel(struct io_uring_sqe *sqe, struct coll_comm *comm,
		      unsigned long long user_data);

#ifdef __cplusplus
}
#endif

#endif /* COLLECTIVE_URING_H */
