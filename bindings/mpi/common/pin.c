// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Buffers that are pinned before their operation is submitted.
 *
 * Other ranks that have submitted it would wait for a rank whose memory is not pinned.
 */
#include <errno.h>

#include "collective.h"
#include "common/group.h"
#include "common/task.h"

static int side_pin(struct coll_comm *comm, struct cm_side *side, bool write)
{
	int err = coll_register(comm, side->addr, side->bytes,
				write ? 0 : COLL_REGISTER_READ_ONLY);

	side->pinned = !err;
	return err;
}

static void side_unpin(struct coll_comm *comm, struct cm_side *side)
{
	if (side->pinned && comm)
		coll_unregister(comm, side->addr);
	side->pinned = false;
}

static unsigned int side_number(struct coll_comm *comm, const struct cm_side *side, bool write)
{
	return side->bytes ? coll_mem_number(comm, side->addr, side->bytes, write) : 0;
}

/* In place, the kernel takes its input from the result: that has one number. */
static void set_numbers(struct coll_comm *comm, struct cm_task *task)
{
	const unsigned int send = side_number(comm, &task->send, false);
	const unsigned int recv = side_number(comm, &task->recv, true);

	task->op.send_buffer = send ?: recv;
	task->op.recv_buffer = recv ?: send;
}

/* The result first, which cm_task_bounce() also takes first.  One address is registered once. */
static int pin_sides(struct coll_comm *comm, struct cm_task *task)
{
	struct cm_side *send = &task->send, *recv = &task->recv;
	int err = recv->bytes ? side_pin(comm, recv, true) : 0;

	if (!err && send->bytes && !(recv->bytes && send->addr == recv->addr))
		err = side_pin(comm, send, false);
	if (err) {
		side_unpin(comm, recv);
		return err;
	}
	set_numbers(comm, task);
	return 0;
}

int cm_task_pin(struct cm_task *task)
{
	struct coll_comm *comm;
	int err;

	do {
		err = cm_group_hold(task->group, &comm);
		if (err)
			return err;
		err = pin_sides(comm, task);
		cm_group_release(task->group);
	} while (err == -EFAULT && !cm_task_bounce(task));
	return err;
}

void cm_task_unpin(struct cm_task *task)
{
	struct coll_comm *comm = NULL;
	/* The kernel has unpinned all memory of a group that has failed. */
	const int err = cm_group_hold(task->group, &comm);

	side_unpin(err ? NULL : comm, &task->send);
	side_unpin(err ? NULL : comm, &task->recv);
	if (!err)
		cm_group_release(task->group);
}
