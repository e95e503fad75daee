/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A call of MPI as an operation of the kernel.
 *
 * MPI compares the signatures of types, not the types: one rank may give one element of a derived
 * type where another gives a hundred integers.  So data moves as the bytes of the packed signature,
 * and what only this rank knows (types, alignment, gaps, overlaps) decides only whether the
 * kernel works on the program's memory or on packed copies.
 */
#ifndef CM_TASK_H
#define CM_TASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <linux/collective.h>
#include <mpi.h>

#include "common/functions.h"

struct cm_group;
struct coll_request;

/**
 * struct cm_buffer - a buffer as MPI describes it
 * @addr: its address; may be MPI_IN_PLACE
 * @type: type of the elements
 * @count: number of elements of a block, unless there are @counts
 * @counts: array of the number of elements of each rank's block, or NULL
 * @displs: with @counts: array of the distance of each block from @addr in extents of @type;
 *	NULL: blocks follow each other
 * @large: the arrays are of MPI_Count and MPI_Aint, not of int
 */
struct cm_buffer {
	void *addr;
	MPI_Datatype type;
	size_t count;
	const void *counts;
	const void *displs;
	bool large;
};

/** cm_buffer_count - number of elements of a block */
static inline size_t cm_buffer_count(const struct cm_buffer *buffer, int block)
{
	if (!buffer->counts)
		return buffer->count;
	return buffer->large ? (size_t)((const MPI_Count *)buffer->counts)[block] :
			       (size_t)((const int *)buffer->counts)[block];
}

/** cm_buffer_displ - displacement of a block, of a buffer that has them, in extents */
static inline ptrdiff_t cm_buffer_displ(const struct cm_buffer *buffer, int block)
{
	return buffer->large ? ((const MPI_Aint *)buffer->displs)[block] :
			       ((const int *)buffer->displs)[block];
}

/**
 * struct cm_call - a call of MPI
 * @function: the function
 * @send: input; of a broadcast the same as @recv
 * @recv: result
 * @op: operator of a reduction
 * @root: root rank, of functions that have one
 */
struct cm_call {
	enum cm_function function;
	struct cm_buffer send;
	struct cm_buffer recv;
	MPI_Op op;
	int root;
};

/**
 * struct cm_side - one of the two buffers of a task
 * @buffer: as MPI describes it
 * @blocks: number of blocks; 0: this rank has no such buffer
 * @item: packed size of an element of MPI in bytes
 * @extent: distance of two elements of MPI in bytes
 * @unit: size of an element of the kernel in bytes
 * @addr: where the kernel finds the first block
 * @bytes: from there to the end of the last block
 * @stage: packed copy, on which the kernel works; NULL: it works on the program's memory
 * @pinned: cm_task_pin() has pinned it
 * @memory: the program's memory, if the kernel cannot pin that and works on @bounce; or NULL
 * @bounce: copy of @memory, in which each block has the same place; or NULL
 * @counts: number of the kernel's elements of each block; NULL: all are equal
 * @displs: with @counts: distance of each block from @addr in the kernel's elements
 */
struct cm_side {
	struct cm_buffer buffer;
	int blocks;
	size_t item;
	ptrdiff_t extent;
	size_t unit;
	char *addr;
	size_t bytes;
	char *stage;
	bool pinned;
	char *memory;
	char *bounce;
	__u64 *counts;
	__u64 *displs;
};

/** enum cm_input - which blocks of the result's buffer are input, too */
enum cm_input {
	CM_INPUT_NONE,
	CM_INPUT_OWN,
	CM_INPUT_ALL,
};

/**
 * struct cm_task - operation of the kernel for a call of MPI
 * @group: group; the owner of the task keeps it
 * @function: function of MPI
 * @form: its form
 * @room: number of bytes of the region of the group in which it works; 0: not there
 * @place: where these are in the part of its form
 * @placed_next: next task of a queue's list of those that have room
 * @op: operation
 * @layout: layout to which @op points
 * @counts: array of the layout that belongs to no side, or NULL
 * @send: input
 * @recv: result
 * @input: blocks of @recv that are input, too
 * @dropped: memory for what is received for nothing, or NULL
 * @too_long: what this rank sends to itself is not what it receives, so that its call fails
 * @types_kept: types are kept until cm_task_end()
 * @state: see progress.h
 * @result: when complete: 0 or a negative errno
 * @request: request of the library, if the operation is not in the ring
 * @complete: called when the operation is complete, by any thread; NULL: a thread waits
 * @retry_until: time in microseconds until which a refused submission is tried again; 0: not yet
 * @pass: latest pass over the queues in which it was submitted (queue.c)
 * @next: next task of a list
 */
struct cm_task {
	struct cm_group *group;
	enum cm_function function;
	enum cm_form form;
	size_t room;
	size_t place;
	struct cm_task *placed_next;
	struct collective_op op;
	struct collective_layout layout;
	__u64 *counts;
	struct cm_side send;
	struct cm_side recv;
	enum cm_input input;
	void *dropped;
	bool too_long;
	bool types_kept;
	atomic_int state;
	int result;
	struct coll_request *request;
	void (*complete)(struct cm_task *task);
	unsigned long long retry_until;
	unsigned long long pass;
	struct cm_task *next;
};

/**
 * cm_task_build - describe a call to the kernel
 * @task: filled in
 * @group: group
 * @call: call that cm_call_reason() takes; what its pointers point to is used until the end
 * @form: its form
 *
 * Return: 0 or a negative errno.  cm_task_end() must follow in any case.
 */
int cm_task_build(struct cm_task *task, struct cm_group *group, const struct cm_call *call,
		  enum cm_form form);

/** cm_task_keep_types - let the program free its types before the end of a task that is built */
void cm_task_keep_types(struct cm_task *task);

/** cm_task_pack - copy the input to where the kernel reads it; 0 or a negative errno */
int cm_task_pack(struct cm_task *task);

/** cm_task_unpack - copy the result to where MPI wants it; 0 or a negative errno */
int cm_task_unpack(struct cm_task *task);

/**
 * cm_task_bounce - let the kernel work on a copy of memory that it could not pin (-EFAULT)
 * @task: task that is packed and not submitted
 *
 * The kernel pins buffers for as long as an operation takes.  It refuses that for results in a
 * shared mapping of a file on a disk, and for memory of devices, which the process can access.
 *
 * Return: 0: it is to be submitted again; or a negative errno: there is no other buffer, this
 * process may not access it, or there is no memory for a copy.
 */
int cm_task_bounce(struct cm_task *task);

/**
 * cm_room_max - upper limit of the room for two buffers
 * @bytes: number of bytes of all blocks, of which each buffer has as many at most
 * @blocks: number of blocks of a buffer, between which there may be gaps
 */
size_t cm_room_max(size_t bytes, size_t blocks);

/**
 * cm_task_enter - let the kernel work on copies in the region, if the task has room there
 * @task: task that is packed and not submitted
 *
 * Context: any thread; calls nothing of MPI.
 */
void cm_task_enter(struct cm_task *task);

/**
 * cm_task_leave - copy the result out of the region, if it is there
 * @task: task whose operation has succeeded, and which is not unpacked
 *
 * Context: any thread; calls nothing of MPI.
 */
void cm_task_leave(struct cm_task *task);

/**
 * cm_task_pin - pin the buffers of a task that does not fit the region
 * @task: task that is built and not submitted
 *
 * Return: 0, or a negative errno: nothing is pinned.
 */
int cm_task_pin(struct cm_task *task);

/** cm_task_is_pinned - has cm_task_pin() pinned a buffer? */
static inline bool cm_task_is_pinned(const struct cm_task *task)
{
	return task->send.pinned || task->recv.pinned;
}

/** cm_task_unpin - undo cm_task_pin(), if it has pinned anything; no operation is under way */
void cm_task_unpin(struct cm_task *task);

/** cm_task_end - free what the task has allocated */
void cm_task_end(struct cm_task *task);

/**
 * cm_call_reason - should the call be an operation of the kernel?
 * @group: group that is up
 * @call: the call
 * @form: its form
 *
 * Only what all ranks know decides.
 *
 * Return: CM_TAKEN, or why not.
 */
enum cm_reason cm_call_reason(const struct cm_group *group, const struct cm_call *call,
			      enum cm_form form);

/** cm_call_reduces - does a call have an operator? */
bool cm_call_reduces(const struct cm_call *call);

/** cm_call_rounds - does a call reduce floating point numbers in the kernel, if it is taken? */
bool cm_call_rounds(const struct cm_call *call);

/**
 * cm_call_room - number of bytes of the region that suffices for a call
 * @group: group that is up
 * @call: the call
 *
 * Return: the same on all ranks; SIZE_MAX: they do not know.
 */
size_t cm_call_room(const struct cm_group *group, const struct cm_call *call);

/**
 * cm_call_digest - digest of what all ranks say alike of a call: function, root, size
 * @group: group that is up
 * @call: the call
 *
 * Return: a number below 2^62.
 */
long long cm_call_digest(const struct cm_group *group, const struct cm_call *call);

/**
 * cm_call_fits - is there room in the region for a call, if there is a region?
 * @group: group that is up
 * @call: the call
 * @form: its form
 *
 * Return: the same on all ranks.
 */
bool cm_call_fits(const struct cm_group *group, const struct cm_call *call, enum cm_form form);

/**
 * cm_call_is_small - is a blocking call one that processes execute without the kernel?
 * @group: group; before it is up, the answer is that of a group in which they do
 * @call: the call
 */
bool cm_call_is_small(const struct cm_group *group, const struct cm_call *call);

/**
 * cm_call_large_enough - does a call reach the lower limit?
 * @group: group of the communicator, whose ranks have been compared
 * @call: the call
 *
 * Return: the same on all ranks.
 */
bool cm_call_large_enough(const struct cm_group *group, const struct cm_call *call);

/**
 * cm_call_is_wanted - is a group made for a nonblocking or persistent call of this kind?
 * @group: group of the communicator, whose ranks have been compared
 * @call: the call
 *
 * Return: the same on all ranks.
 */
bool cm_call_is_wanted(const struct cm_group *group, const struct cm_call *call);

#endif /* CM_TASK_H */
