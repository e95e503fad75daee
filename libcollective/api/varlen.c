// SPDX-License-Identifier: LGPL-2.1-or-later
/* Collectives and messages of a length that only the sender knows. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/operation.h"

static void init_op(struct coll_operation *operation, int opcode, int root,
		    const void *send, void *recv, size_t *count)
{
	*operation = (struct coll_operation){
		.op.opcode = opcode,
		.op.flags = COLLECTIVE_F_VARLEN,
		.op.root = root,
		.op.send = (uintptr_t)send,
		.op.recv = (uintptr_t)recv,
		.received = count,
	};
}

static int build_recv(struct coll_operation *operation, void *buffer, size_t *count,
		      enum coll_type type, int from, long long tag)
{
	init_op(operation, COLLECTIVE_RECV, from, NULL, buffer, count);
	return coll_operation_counts(operation, count) ?:
	       coll_operation_tag(operation, tag) ?:
	       coll_operation_elements(operation, *count, type, &operation->recv_size);
}

static int build_broadcast(struct coll_operation *operation, struct coll_comm *comm,
			   void *buffer, size_t *count, enum coll_type type, int root)
{
	init_op(operation, COLLECTIVE_BROADCAST, root, buffer, buffer, count);
	return coll_operation_counts(operation, count) ?:
	       coll_operation_elements(operation, *count, type,
				       comm->rank == root ? &operation->send_size :
							    &operation->recv_size);
}

static int build_scatter(struct coll_operation *operation, struct coll_comm *comm,
			 const void *send, const size_t *send_counts,
			 const size_t *send_displs, void *recv, size_t *count,
			 enum coll_type type, int root)
{
	struct collective_op *op = &operation->op;
	bool own = comm->rank == root;
	int err;

	init_op(operation, COLLECTIVE_SCATTER, root, own ? send : NULL, recv, count);
	err = coll_operation_counts(operation, count);
	if (!err)
		err = own ? coll_operation_counts(operation, send_counts) :
			    coll_operation_not_in_place(operation, recv);
	if (err)
		return err;
	op->flags |= COLLECTIVE_F_VECTOR;
	if (own) {
		operation->layout.size = sizeof(operation->layout);
		operation->layout.send_counts = (uintptr_t)send_counts;
		operation->layout.send_displs = (uintptr_t)send_displs;
	}
	if (recv == COLL_IN_PLACE) {
		/* In place the kernel expects equal addresses. */
		op->recv = op->send;
	} else if (own && send == recv && send_counts[root]) {
		return -EINVAL;
	}
	return coll_operation_elements(operation, own ? send_counts[root] : *count, type,
				       &operation->recv_size);
}

int coll_recv_varlen(struct coll_comm *comm, void *buffer, size_t *count,
		     enum coll_type type, int from, long long tag)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_recv(&operation, buffer, count, type, from, tag));
}

int coll_irecv_varlen(struct coll_comm *comm, void *buffer, size_t *count,
		      enum coll_type type, int from, long long tag,
		      struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_recv(&operation, buffer, count, type, from,
					       tag));
}

int coll_broadcast_varlen(struct coll_comm *comm, void *buffer, size_t *count,
			  enum coll_type type, int root)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_broadcast(&operation, comm, buffer, count, type,
						  root));
}

int coll_ibroadcast_varlen(struct coll_comm *comm, void *buffer, size_t *count,
			   enum coll_type type, int root, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_broadcast(&operation, comm, buffer, count, type,
						    root));
}

int coll_scatter_varlen(struct coll_comm *comm, const void *send,
			const size_t *send_counts, const size_t *send_displs,
			void *recv, size_t *count, enum coll_type type, int root)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_scatter(&operation, comm, send, send_counts,
						send_displs, recv, count, type, root));
}

int coll_iscatter_varlen(struct coll_comm *comm, const void *send,
			 const size_t *send_counts, const size_t *send_displs,
			 void *recv, size_t *count, enum coll_type type, int root,
			 struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_scatter(&operation, comm, send, send_counts,
						  send_displs, recv, count, type, root));
}
