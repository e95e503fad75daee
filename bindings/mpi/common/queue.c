// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tasks of one group and form for which no thread waits at their start. */
#include <pthread.h>

#include "common/group.h"
#include "common/queue.h"
#include "common/task.h"

static const int in_flight_max[CM_FORM_COUNT] = {
	[CM_NONBLOCKING]	= 128,
	[CM_PERSISTENT]		= CM_PERSISTENT_MAX,
};

/*
 * @lock protects the queues of all groups.  Those that have waiting tasks are in the order of their
 * turns.  @passes is the number of passes.
 */
static struct {
	pthread_mutex_t lock;
	struct cm_queue *first;
	struct cm_queue *last;
	unsigned long long passes;
} queues = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- lists ---- */

void cm_list_add(struct cm_list *list, struct cm_task *task)
{
	task->next = NULL;
	if (list->first)
		list->last->next = task;
	else
		list->first = task;
	list->last = task;
}

struct cm_task *cm_list_take(struct cm_list *list)
{
	struct cm_task *task = list->first;

	list->first = task->next;
	return task;
}

/* Add a task before those of higher keys. */
static void add_in_order(struct cm_list *list, struct cm_task *task)
{
	struct cm_task **link = &list->first;

	while (*link && (*link)->op.key < task->op.key)
		link = &(*link)->next;
	task->next = *link;
	*link = task;
	if (!task->next)
		list->last = task;
}

/* ---- turns ---- */

static struct cm_queue *queue_of(const struct cm_task *task)
{
	return &task->group->queues[task->form];
}

/* The queue has its turn after all others. */
static void turns_add(struct cm_queue *queue)
{
	queue->next = NULL;
	if (queues.first)
		queues.last->next = queue;
	else
		queues.first = queue;
	queues.last = queue;
}

static void turns_remove(struct cm_queue *previous, struct cm_queue *queue)
{
	if (previous)
		previous->next = queue->next;
	else
		queues.first = queue->next;
	if (queues.last == queue)
		queues.last = previous;
}

/* ---- tasks ---- */

void cm_queue_add(struct cm_task *task)
{
	struct cm_queue *queue = queue_of(task);

	pthread_mutex_lock(&queues.lock);
	task->pass = 0;
	if (!queue->waiting.first)
		turns_add(queue);
	cm_list_add(&queue->waiting, task);
	pthread_mutex_unlock(&queues.lock);
}

bool cm_queue_waits(void)
{
	/* Without the lock, so that a look costs nothing; a later one finds what this misses. */
	return __atomic_load_n(&queues.first, __ATOMIC_RELAXED);
}

unsigned long long cm_queue_pass(void)
{
	if (!cm_queue_waits())
		return 0;
	return __atomic_add_fetch(&queues.passes, 1, __ATOMIC_RELAXED);
}

static bool has_room(const struct cm_queue *queue, const struct cm_task *task)
{
	if (queue->in_flight >= in_flight_max[task->form])
		return false;
	/* What persistent ones pin was reserved when they were made. */
	return !task->locked || task->form == CM_PERSISTENT ||
	       queue->locked + task->locked <= task->group->lockable[task->form];
}

/*
 * No task overtakes the first one of its queue: all ranks start that earlier, and it may be waited
 * for elsewhere.
 */
static bool can_submit(const struct cm_queue *queue, unsigned long long pass)
{
	const struct cm_task *task = queue->waiting.first;

	return task->pass != pass && has_room(queue, task);
}

static void count(struct cm_queue *queue, const struct cm_task *task, int sign)
{
	queue->in_flight += sign;
	queue->locked += sign * task->locked;
}

struct cm_task *cm_queue_take(unsigned long long pass)
{
	struct cm_queue *queue, *previous = NULL;
	struct cm_task *task = NULL;

	pthread_mutex_lock(&queues.lock);
	queue = queues.first;
	while (queue && !can_submit(queue, pass)) {
		previous = queue;
		queue = queue->next;
	}
	if (!queue)
		goto unlock;
	task = cm_list_take(&queue->waiting);
	task->pass = pass;
	count(queue, task, 1);
	turns_remove(previous, queue);
	if (queue->waiting.first)
		turns_add(queue);
unlock:
	pthread_mutex_unlock(&queues.lock);
	return task;
}

void cm_queue_done(struct cm_task *task, bool again)
{
	struct cm_queue *queue = queue_of(task);

	pthread_mutex_lock(&queues.lock);
	count(queue, task, -1);
	if (again) {
		if (!queue->waiting.first)
			turns_add(queue);
		add_in_order(&queue->waiting, task);
	}
	pthread_mutex_unlock(&queues.lock);
}
