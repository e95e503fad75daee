/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks of one group and form for which no thread waits at their start.
 *
 * Those that are not submitted yet wait in a queue.  Queues that have such tasks take turns, so
 * that a group whose operations are refused does not keep back those of other groups.
 */
#ifndef CM_QUEUE_H
#define CM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct cm_task;

/* Persistent operations that a group has under way; the kernel's limit is higher. */
#define CM_PERSISTENT_MAX	256

/**
 * struct cm_list - tasks in an order
 * @first: first task, or NULL
 * @last: last task, unless @first is NULL
 */
struct cm_list {
	struct cm_task *first;
	struct cm_task *last;
};

/**
 * struct cm_queue - tasks of one group and form
 * @waiting: tasks that are not submitted; nonblocking ones in the order of their keys
 * @in_flight: number of tasks that are submitted
 * @placed: those of these that have room in the region of the group, in its order
 * @next: next queue that has waiting tasks
 *
 * A lock of queue.c protects all.
 */
struct cm_queue {
	struct cm_list waiting;
	int in_flight;
	struct cm_task *placed;
	struct cm_queue *next;
};

/** cm_list_add - add a task as the last one */
void cm_list_add(struct cm_list *list, struct cm_task *task);

/** cm_list_take - remove the first task of a list that has one */
struct cm_task *cm_list_take(struct cm_list *list);

/** cm_queue_add - let a task wait, the latest of its group and form */
void cm_queue_add(struct cm_task *task);

/** cm_queue_waits - does any task wait? */
bool cm_queue_waits(void);

/** cm_queue_pass - begin a pass over the queues; its number, or 0 if no task waits */
unsigned long long cm_queue_pass(void);

/**
 * cm_queue_take - take a task that can be submitted, and count it as submitted
 * @pass: the pass, in which no task is taken twice
 *
 * Return: the task, or NULL: there is none.
 */
struct cm_task *cm_queue_take(unsigned long long pass);

/**
 * cm_queue_done - a task is no longer submitted
 * @task: task that was taken
 * @again: it was refused, and waits again in its place among the others
 */
void cm_queue_done(struct cm_task *task, bool again);

#endif /* CM_QUEUE_H */
