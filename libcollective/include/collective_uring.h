/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collective operations as SQEs of the caller's own io_uring.
 *
 * The ring must be set up with IORING_SETUP_SQE128.  coll_prep_NAME() fills in an SQE for the
 * operation of coll_NAME(), with the same arguments.  The SQE's user_data and flags are 0 and
 * may be set afterwards.  The completion's res is the return value of coll_NAME(): 0 or a
 * negative errno.  Until completion the buffers belong to the operation.
 *
 * The order of operations is the order in which the kernel issues SQEs.  It must be the same
 * on every rank, together with calls that do not use the ring.
 */
#ifndef COLLECTIVE_URING_H
#define COLLECTIVE_URING_H

#include "collective.h"

#ifdef __cplusplus
extern "C" {
#endif

struct io_uring_sqe;

/*
 * Errors, which leave the SQE as it is: those of malformed calls, EPERM, and EOPNOTSUPP for
 * coll_prep_reduce_scatter() in place, because the library would have to move the result.
 * An SQE that was taken from the ring is submitted in any case: io_uring_prep_nop() fills it in.
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

/* Any operation of the kernel: see coll_submit(). */
int coll_prep_submit(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const struct collective_op *op);

/**
 * coll_prep_fixed - let an SQE use buffers that are registered with the ring
 * @sqe: filled in by a function above
 * @index: index of the ring's registered buffer in which both buffers lie
 */
void coll_prep_fixed(struct io_uring_sqe *sqe, unsigned int index);

/**
 * coll_prep_key - give the operation of an SQE a key
 * @sqe: filled in by a function above
 * @key: 0 .. 2^40 - 1
 *
 * Operations with the same key match, in whatever order the ranks submit them.  The key of a
 * message is its tag.  If a key is in use, the operation waits until the earlier one is
 * complete.  After a failure a key must not be used again.
 */
void coll_prep_key(struct io_uring_sqe *sqe, unsigned long long key);

/**
 * coll_prep_cancel - fill in an SQE that cancels an operation
 * @sqe: the SQE
 * @comm: communicator
 * @user_data: user_data of the SQE that submitted the operation
 *
 * The operation fails with ECANCELED on every rank, where coll_error_detail() names this one.
 * The group does not fail.  The res of this SQE's completion is 0; -ENOENT: the operation is
 * complete or was never submitted; -EALREADY: it is failing already.  The operation has a
 * completion of its own.  IORING_OP_ASYNC_CANCEL does not reach operations.
 */
void coll_prep_cancel(struct io_uring_sqe *sqe, struct coll_comm *comm,
		      unsigned long long user_data);

#ifdef __cplusplus
}
#endif

#endif /* COLLECTIVE_URING_H */
