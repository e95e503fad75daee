// SPDX-License-Identifier: LGPL-2.1-or-later
/* The v forms: collectives with blocks of different lengths. */
#include <errno.h>
#include <stdint.h>

#include "comm/operation.h"

_Static_assert(sizeof(size_t) == sizeof(__u64), "the kernel reads the arrays as they are");

static __u64 array(const size_t *numbers)
{
	return (uintptr_t)numbers;
}

/* Offset of a block, in elements. */
static size_t block_offset(const size_t *counts, const size_t *displs, int block)
{
	size_t at = 0;
	int i;

	if (displs)
		return displs[block];
	for (i = 0; i < block; i++)
		at += counts[i];
	return at;
}

/*
 * Number of bytes from the address of the buffer to the end of the last block, which finds the
 * registered buffer; 0: none is looked up.
 */
static size_t footprint(const struct coll_comm *comm, const size_t *counts,
			const size_t *displs, size_t size)
{
	size_t at = 0, end, most = 0;
	int i;

	for (i = 0; i < comm->nranks; i++) {
		if (displs)
			at = displs[i];
		if (!counts[i])
			continue;
		if (__builtin_add_overflow(at, counts[i], &end) ||
		    __builtin_mul_overflow(end, size, &end))
			return 0;
		most = end > most ? end : most;
		at += counts[i];
	}
	return most;
}

static void init_op(struct coll_operation *operation, int opcode, int root,
		    const void *send, void *recv)
{
	*operation = (struct coll_operation){
		.op.opcode = opcode,
		.op.flags = COLLECTIVE_F_VECTOR,
		.op.root = root,
		.op.send = (uintptr_t)send,
		.op.recv = (uintptr_t)recv,
		.layout.size = sizeof(operation->layout),
	};
}

static int build_gather(struct coll_operation *operation, struct coll_comm *comm,
			int opcode, const void *send, size_t send_count, void *recv,
			const size_t *recv_counts, const size_t *recv_displs,
			enum coll_type type, int root)
{
	struct collective_op *op = &operation->op;
	__u64 own;
	int err;

	init_op(operation, opcode, root, send, recv);
	err = coll_operation_elements(operation, send_count, type, &operation->send_size);
	if (err)
		return err;
	if (opcode == COLLECTIVE_GATHER && comm->rank != root)
		return coll_operation_not_in_place(operation, send);
	err = coll_operation_counts(operation, recv_counts);
	if (err)
		return err;
	operation->layout.recv_counts = array(recv_counts);
	operation->layout.recv_displs = array(recv_displs);
	operation->recv_size = footprint(comm, recv_counts, recv_displs, coll_type_size(type));
	own = op->recv + block_offset(recv_counts, recv_displs, comm->rank) * coll_type_size(type);
	if (send == COLL_IN_PLACE || op->send == own) {
		/* In place the kernel expects equal addresses. */
		op->send = op->recv;
		op->count = recv_counts[comm->rank];
		operation->send_size = 0;
		return 0;
	}
	return send == recv && send_count ? -EINVAL : 0;
}

static int build_scatter(struct coll_operation *operation, struct coll_comm *comm,
			 const void *send, const size_t *send_counts,
			 const size_t *send_displs, void *recv, size_t recv_count,
			 enum coll_type type, int root)
{
	struct collective_op *op = &operation->op;
	__u64 own;
	int err;

	init_op(operation, COLLECTIVE_SCATTER, root, send, recv);
	err = coll_operation_elements(operation, recv_count, type, &operation->recv_size);
	if (err)
		return err;
	if (comm->rank != root)
		return coll_operation_not_in_place(operation, recv);
	err = coll_operation_counts(operation, send_counts);
	if (err)
		return err;
	operation->layout.send_counts = array(send_counts);
	operation->layout.send_displs = array(send_displs);
	operation->send_size = footprint(comm, send_counts, send_displs, coll_type_size(type));
	own = op->send + block_offset(send_counts, send_displs, comm->rank) * coll_type_size(type);
	if (recv == COLL_IN_PLACE || op->recv == own) {
		op->recv = op->send;
		op->count = send_counts[comm->rank];
		operation->recv_size = 0;
		return 0;
	}
	return send == recv && recv_count ? -EINVAL : 0;
}

static int build_alltoall(struct coll_operation *operation, struct coll_comm *comm,
			  const void *send, const size_t *send_counts,
			  const size_t *send_displs, void *recv,
			  const size_t *recv_counts, const size_t *recv_displs,
			  enum coll_type type)
{
	size_t bytes;
	int err;

	init_op(operation, COLLECTIVE_ALLTOALL, 0, send, recv);
	if (send == COLL_IN_PLACE) {
		operation->op.send = operation->op.recv;
		send_counts = recv_counts;
		send_displs = recv_displs;
	}
	err = coll_operation_elements(operation, 0, type, &bytes) ?:
	      coll_operation_counts(operation, send_counts) ?:
	      coll_operation_counts(operation, recv_counts);
	if (err)
		return err;
	operation->layout.send_counts = array(send_counts);
	operation->layout.send_displs = array(send_displs);
	operation->layout.recv_counts = array(recv_counts);
	operation->layout.recv_displs = array(recv_displs);
	operation->send_size = footprint(comm, send_counts, send_displs, coll_type_size(type));
	operation->recv_size = footprint(comm, recv_counts, recv_displs, coll_type_size(type));
	return 0;
}

static int build_reduce_scatter(struct coll_operation *operation, struct coll_comm *comm,
				const void *send, const size_t *displs, void *recv,
				const size_t *counts, enum coll_type type,
				enum coll_op op)
{
	int err;

	init_op(operation, COLLECTIVE_REDUCE_SCATTER, 0, send, recv);
	err = coll_operation_counts(operation, counts);
	if (err)
		return err;
	err = coll_operation_elements(operation, counts[comm->rank], type,
				      &operation->recv_size) ?:
	      coll_operation_reduction(comm, operation, op);
	if (err)
		return err;
	operation->layout.recv_counts = array(counts);
	operation->layout.send_displs = array(displs);
	operation->send_size = footprint(comm, counts, displs, coll_type_size(type));
	if (send != COLL_IN_PLACE)
		return 0;

	/* In place, the kernel leaves the result in the block of this rank. */
	operation->op.send = (uintptr_t)recv;
	operation->op.recv = operation->op.send +
			     block_offset(counts, displs, comm->rank) * coll_type_size(type);
	operation->move_to = recv;
	operation->move_size = operation->recv_size;
	return 0;
}

int coll_allgatherv(struct coll_comm *comm, const void *send, size_t send_count,
		    void *recv, const size_t *recv_counts,
		    const size_t *recv_displs, enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_gather(&operation, comm, COLLECTIVE_ALLGATHER,
					       send, send_count, recv, recv_counts,
					       recv_displs, type, 0));
}

int coll_iallgatherv(struct coll_comm *comm, const void *send,
		     size_t send_count, void *recv, const size_t *recv_counts,
		     const size_t *recv_displs, enum coll_type type,
		     struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_gather(&operation, comm, COLLECTIVE_ALLGATHER,
						 send, send_count, recv, recv_counts,
						 recv_displs, type, 0));
}

int coll_gatherv(struct coll_comm *comm, const void *send, size_t send_count,
		 void *recv, const size_t *recv_counts,
		 const size_t *recv_displs, enum coll_type type, int root)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_gather(&operation, comm, COLLECTIVE_GATHER, send,
					       send_count, recv, recv_counts, recv_displs,
					       type, root));
}

int coll_igatherv(struct coll_comm *comm, const void *send, size_t send_count,
		  void *recv, const size_t *recv_counts,
		  const size_t *recv_displs, enum coll_type type, int root,
		  struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_gather(&operation, comm, COLLECTIVE_GATHER,
						 send, send_count, recv, recv_counts,
						 recv_displs, type, root));
}

int coll_scatterv(struct coll_comm *comm, const void *send,
		  const size_t *send_counts, const size_t *send_displs,
		  void *recv, size_t recv_count, enum coll_type type, int root)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_scatter(&operation, comm, send, send_counts,
						send_displs, recv, recv_count, type,
						root));
}

int coll_iscatterv(struct coll_comm *comm, const void *send,
		   const size_t *send_counts, const size_t *send_displs,
		   void *recv, size_t recv_count, enum coll_type type, int root,
		   struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_scatter(&operation, comm, send, send_counts,
						  send_displs, recv, recv_count, type,
						  root));
}

int coll_alltoallv(struct coll_comm *comm, const void *send,
		   const size_t *send_counts, const size_t *send_displs,
		   void *recv, const size_t *recv_counts,
		   const size_t *recv_displs, enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_alltoall(&operation, comm, send, send_counts,
						 send_displs, recv, recv_counts,
						 recv_displs, type));
}

int coll_ialltoallv(struct coll_comm *comm, const void *send,
		    const size_t *send_counts, const size_t *send_displs,
		    void *recv, const size_t *recv_counts,
		    const size_t *recv_displs, enum coll_type type,
		    struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_alltoall(&operation, comm, send, send_counts,
						   send_displs, recv, recv_counts,
						   recv_displs, type));
}

int coll_reduce_scatterv(struct coll_comm *comm, const void *send,
			 const size_t *send_displs, void *recv,
			 const size_t *recv_counts, enum coll_type type,
			 enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_reduce_scatter(&operation, comm, send,
						       send_displs, recv, recv_counts,
						       type, op));
}

int coll_ireduce_scatterv(struct coll_comm *comm, const void *send,
			  const size_t *send_displs, void *recv,
			  const size_t *recv_counts, enum coll_type type,
			  enum coll_op op, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_reduce_scatter(&operation, comm, send,
							 send_displs, recv, recv_counts,
							 type, op));
}
