// SPDX-License-Identifier: GPL-2.0-only
/* Calls of random programs, in all forms. */
#include "library/program.h"

#include <collective_uring.h>
#include <errno.h>

/* The SQE of the next operation, with the slot as its user_data. */
static struct io_uring_sqe *sqe_next(struct program_thread *t)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&t->ring);

	if (sqe)
		return sqe;
	io_uring_submit(&t->ring);
	return io_uring_get_sqe(&t->ring);
}

static int sqe_submit(struct program_thread *t, struct program_slot *slot,
		      struct io_uring_sqe *sqe, int err)
{
	if (err)
		return err;
	/* The memory of each slot is registered with the ring, too. */
	if (rng_once_in(&t->local, 3))
		coll_prep_fixed(sqe, slot - t->slot);
	io_uring_sqe_set_data(sqe, slot);
	slot->pending++;
	/* Submitted at once, since the order of operations is that of all forms. */
	return io_uring_submit(&t->ring) == 1 ? 0 : -EIO;
}

static int persistent_start(struct coll_request *request, int err)
{
	return err ? err : coll_start(request);
}

/* Call a function of the library in the form of a slot; @_at: index of its request. */
#define CALL(_name, _at, ...) ({							\
	struct coll_request **_request = &slot->request[_at];				\
	struct io_uring_sqe *_sqe;							\
	int _err = -EINVAL;								\
											\
	switch (slot->form) {								\
	case PROGRAM_BLOCKING:								\
		_err = coll_##_name(__VA_ARGS__);					\
		break;									\
	case PROGRAM_NONBLOCKING:							\
		_err = coll_i##_name(__VA_ARGS__, _request);				\
		break;									\
	case PROGRAM_PERSISTENT:							\
		_err = coll_##_name##_init(__VA_ARGS__, _request);			\
		_err = persistent_start(*_request, _err);				\
		break;									\
	case PROGRAM_SQE:								\
		_sqe = sqe_next(t);							\
		_err = sqe_submit(t, slot, _sqe, coll_prep_##_name(_sqe, __VA_ARGS__));	\
	}										\
	_err;										\
})

/* The same for a function that has no other forms. */
#define CALL2(_name, ...)								\
	(slot->form == PROGRAM_BLOCKING ? coll_##_name(__VA_ARGS__) :			\
					  coll_i##_name(__VA_ARGS__, &slot->request[0]))

static int call_basic(struct program_thread *t, struct program_slot *slot)
{
	const struct program_op *op = &slot->op;
	const bool differs = op->fault == PROGRAM_MISMATCH && op->culprit == t->rank;
	const void *send = slot->in_place ? COLL_IN_PLACE : slot->send.at;
	void *recv = slot->recv.at;
	const size_t count = op->count[0][0] + differs;
	struct coll_comm *comm = t->comm;
	int err;

	switch (op->kind) {
	case PROGRAM_BARRIER:
		return CALL(barrier, 0, comm);
	case PROGRAM_ALLREDUCE:
		return CALL(allreduce, 0, comm, send, recv, count, op->type, op->reduction);
	case PROGRAM_REDUCE:
		return CALL(reduce, 0, comm, send, recv, count, op->type, op->reduction, op->root);
	case PROGRAM_BROADCAST:
		return CALL(broadcast, 0, comm, t->rank == op->root ? slot->send.at : recv, count,
			    op->type, op->root);
	case PROGRAM_ALLGATHER:
		return CALL(allgather, 0, comm, send, recv, count, op->type);
	case PROGRAM_REDUCE_SCATTER:
		return CALL(reduce_scatter, 0, comm, send, recv, count, op->type, op->reduction);
	case PROGRAM_GATHER:
		return CALL(gather, 0, comm, send, recv, count, op->type, op->root);
	case PROGRAM_SCATTER:
		return CALL(scatter, 0, comm, slot->send.at, slot->in_place ? COLL_IN_PLACE : recv,
			    count, op->type, op->root);
	case PROGRAM_ALLTOALL:
		return CALL(alltoall, 0, comm, send, recv, count, op->type);
	case PROGRAM_SCAN:
		return CALL(scan, 0, comm, send, recv, count, op->type, op->reduction);
	case PROGRAM_EXSCAN:
		return CALL(exscan, 0, comm, send, recv, count, op->type, op->reduction);
	}
	err = CALL(recv, 0, comm, recv, count, op->type, (t->rank + op->n - 1) % op->n, op->tag);
	return err ? err : CALL(send, 1, comm, slot->send.at, count, op->type,
				(t->rank + 1) % op->n, op->tag);
}

/* NULL sometimes stands for blocks that follow each other. */
static const size_t *displs(const struct program_area *area, struct program_thread *t)
{
	size_t at = 0;
	int i;

	for (i = 0; i < area->n; i++) {
		if (area->displ[i] != at)
			return area->displ;
		at += area->count[i];
	}
	return rng_once_in(&t->local, 2) ? area->displ : NULL;
}

static int call_counted(struct program_thread *t, struct program_slot *slot)
{
	const struct program_op *op = &slot->op;
	const struct program_area *send = &slot->send, *recv = &slot->recv;
	const void *from = slot->in_place ? COLL_IN_PLACE : send->at;
	const size_t *send_displs = displs(send, t), *recv_displs = displs(recv, t);
	void *to = slot->in_place ? COLL_IN_PLACE : recv->at;
	const int type = op->type;

	switch (op->kind) {
	case PROGRAM_ALLGATHERV:
		return CALL2(allgatherv, t->comm, from, send->count[0], recv->at, recv->count,
			     recv_displs, type);
	case PROGRAM_GATHERV:
		return CALL2(gatherv, t->comm, from, send->count[0], recv->at, recv->count,
			     recv_displs, type, op->root);
	case PROGRAM_SCATTERV:
		return CALL2(scatterv, t->comm, send->at, send->count, send_displs, to,
			     op->count[op->root][t->rank], type, op->root);
	case PROGRAM_SCATTER_VARLEN:
		return CALL2(scatter_varlen, t->comm, send->at, send->count, send_displs, to,
			     &slot->varlen, type, op->root);
	case PROGRAM_ALLTOALLV:
		return CALL2(alltoallv, t->comm, from, send->count, send_displs, recv->at,
			     recv->count, recv_displs, type);
	}
	return CALL2(reduce_scatterv, t->comm, from, send_displs, recv->at, send->count, type,
		     op->reduction);
}

static int call_view(struct program_thread *t, struct program_slot *slot)
{
	const struct program_op *op = &slot->op;
	const struct coll_view *send_view = &slot->send.view, *recv_view = &slot->recv.view;
	const void *send = slot->in_place ? COLL_IN_PLACE : slot->send.at;
	const size_t count = op->count[0][0];
	void *recv = slot->recv.at;

	switch (op->kind) {
	case PROGRAM_ALLGATHER_VIEW:
		return CALL2(allgather_view, t->comm, send, send_view, recv, recv_view, count,
			     op->type);
	case PROGRAM_REDUCE_SCATTER_VIEW:
		return CALL2(reduce_scatter_view, t->comm, send, send_view, recv, recv_view,
			     count, op->type, op->reduction);
	}
	return CALL2(alltoall_view, t->comm, send, send_view, recv, recv_view, count, op->type);
}

int program_call(struct program_thread *t, struct program_slot *slot)
{
	const struct program_op *op = &slot->op;

	switch (op->kind) {
	case PROGRAM_ALLGATHER_VIEW:
	case PROGRAM_REDUCE_SCATTER_VIEW:
	case PROGRAM_ALLTOALL_VIEW:
		return call_view(t, slot);
	case PROGRAM_BROADCAST_VARLEN:
		return CALL2(broadcast_varlen, t->comm,
			     t->rank == op->root ? slot->send.at : slot->recv.at, &slot->varlen,
			     op->type, op->root);
	}
	return op->kind < PROGRAM_BASIC ? call_basic(t, slot) : call_counted(t, slot);
}
