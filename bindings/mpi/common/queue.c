// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tasks of one group and form for which no thread waits at their start. */
#include <pthread.h>

#include "common/group.h"
#include "common/queue.h"
#include "common/region.h"
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

/* Is a task placed?  Persistent ones have had their room since they were made. */
static bool is_placed(const struct cm_task *task)
{
	return task->room && task->form != CM_PERSISTENT;
}

/* Where is room for a task?  @place: set to its offset.  Return: its link, or NULL: nowhere. */
static struct cm_task **find_room(struct cm_queue *queue, const struct cm_task *task, size_t *place)
{
	const size_t all = cm_region_room(&task->group->region, task->form);
	struct cm_task **link;

	*place = 0;
	for (link = &queue->placed; *link; link = &(*link)->placed_next) {
		if ((*link)->place - *place >= task->room)
			return link;
		*place = (*link)->place + (*link)->room;
	}
	return all - *place >= task->room ? link : NULL;
}

static void task_place(struct cm_queue *queue, struct cm_task *task)
{
	struct cm_task **link = find_room(queue, task, &task->place);

	task->placed_next = *link;
	*link = task;
}

static void task_unplace(struct cm_queue *queue, const struct cm_task *task)
{
	struct cm_task **link = &queue->placed;

	while (*link != task)
		link = &(*link)->placed_next;
	*link = task->placed_next;
}

static bool has_room(struct cm_queue *queue, const struct cm_task *task)
{
	size_t place;

	return queue->in_flight < in_flight_max[task->form] &&
	       (!is_placed(task) || find_room(queue, task, &place));
}

/*
 * No task overtakes the first one of its queue: all ranks start that earlier, and it may be waited
 * for elsewhere.
 */
static bool can_submit(struct cm_queue *queue, unsigned long long pass)
{
	const struct cm_task *task = queue->waiting.first;

	return task->pass != pass && has_room(queue, task);
}

static void submitted_add(struct cm_queue *queue, struct cm_task *task)
{
	queue->in_flight++;
	if (is_placed(task))
		task_place(queue, task);
}

static void submitted_remove(struct cm_queue *queue, const struct cm_task *task)
{
	queue->in_flight--;
	if (is_placed(task))
		task_unplace(queue, task);
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
	submitted_add(queue, task);
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
	submitted_remove(queue, task);
	if (again) {
		if (!queue->waiting.first)
			turns_add(queue);
		add_in_order(&queue->waiting, task);
	}
	pthread_mutex_unlock(&queues.lock);
}
