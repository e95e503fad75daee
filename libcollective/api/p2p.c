// SPDX-License-Identifier: LGPL-2.1-or-later
/* Messages: coll_send(), coll_recv() and their forms. */
#include <errno.h>
#include <stdint.h>

#include "collective_uring.h"
#include "comm/operation.h"

/* Set the fields that sender and receiver have in common. */
static int build(struct coll_operation *operation, size_t count, enum coll_type type,
		 int peer, long long tag, size_t *bytes)
{
	operation->op.root = peer;
	return coll_operation_tag(operation, tag) ?:
	       coll_operation_elements(operation, count, type, bytes);
}

static int build_send(struct coll_operation *operation, const void *buffer, size_t count,
		      enum coll_type type, int to, long long tag)
{
	*operation = (struct coll_operation){
		.op.opcode = COLLECTIVE_SEND,
		.op.send = (uintptr_t)buffer,
	};
	return build(operation, count, type, to, tag, &operation->send_size);
}

static int build_recv(struct coll_operation *operation, void *buffer, size_t count,
		      enum coll_type type, int from, long long tag)
{
	*operation = (struct coll_operation){
		.op.opcode = COLLECTIVE_RECV,
		.op.recv = (uintptr_t)buffer,
	};
	return build(operation, count, type, from, tag, &operation->recv_size);
}

int coll_send(struct coll_comm *comm, const void *buffer, size_t count,
	      enum coll_type type, int to, long long tag)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_send(&operation, buffer, count, type, to, tag));
}

int coll_isend(struct coll_comm *comm, const void *buffer, size_t count,
	       enum coll_type type, int to, long long tag, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_send(&operation, buffer, count, type, to, tag));
}

int coll_prep_send(struct io_uring_sqe *sqe, struct coll_comm *comm,
		   const void *buffer, size_t count, enum coll_type type,
		   int to, long long tag)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build_send(&operation, buffer, count, type, to, tag));
}

int coll_send_init(struct coll_comm *comm, const void *buffer, size_t count,
		   enum coll_type type, int to, long long tag,
		   struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build_send(&operation, buffer, count, type, to, tag));
}

int coll_recv(struct coll_comm *comm, void *buffer, size_t count,
	      enum coll_type type, int from, long long tag)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_recv(&operation, buffer, count, type, from, tag));
}

int coll_irecv(struct coll_comm *comm, void *buffer, size_t count,
	       enum coll_type type, int from, long long tag, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_recv(&operation, buffer, count, type, from,
					       tag));
}

int coll_prep_recv(struct io_uring_sqe *sqe, struct coll_comm *comm,
		   void *buffer, size_t count, enum coll_type type, int from,
		   long long tag)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build_recv(&operation, buffer, count, type, from,
					      tag));
}

int coll_recv_init(struct coll_comm *comm, void *buffer, size_t count,
		   enum coll_type type, int from, long long tag,
		   struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build_recv(&operation, buffer, count, type, from,
					      tag));
}
