/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Submission and completion of tasks.
 *
 * A thread that waits keeps MPI's own progress going: it looks at completion between calls of it.
 */
#ifndef CM_PROGRESS_H
#define CM_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/task.h"

/** enum cm_task_state - where a task is */
enum cm_task_state {
	CM_TASK_IDLE,		/* not submitted, or to be submitted again */
	CM_TASK_SUBMITTED,
	CM_TASK_COMPLETE,
};

/**
 * cm_progress_init - prepare completion
 * @poll: MPI's progress
 * @any_thread: threads other than the main one may submit, and end before the operation
 */
void cm_progress_init(void (*poll)(void), bool any_thread);

/** cm_progress_end - free what completion uses; no task is under way */
void cm_progress_end(void);

/**
 * cm_task_run - run the operation of a task
 * @task: task that is built, without @complete
 *
 * Context: waits, and keeps MPI's progress going.
 * Return: its result; the result of MPI's call is in place.
 */
int cm_task_run(struct cm_task *task);

/**
 * cm_task_start - start the operation of a task
 * @task: task that is built, with @complete; it is called also if the operation cannot be submitted
 */
void cm_task_start(struct cm_task *task);

/**
 * cm_task_wait - wait until the operation of a task that was started has a result
 * @task: task, which is not freed meanwhile
 *
 * Context: waits, and keeps MPI's progress going.
 */
void cm_task_wait(const struct cm_task *task);

/**
 * struct cm_pace - pace of a thread that looks until something is complete
 * @start: time of an early look in microseconds; 0: none yet
 * @looks: number of looks
 * @us: time in microseconds for which it sleeps before the next one
 */
struct cm_pace {
	unsigned long long start;
	unsigned int looks;
	unsigned int us;
};

/**
 * cm_pace_sleep - sleep before the next look, unless the first one was a short time ago
 * @pace: pace of the thread; 0 before the first look
 *
 * Context: completion of an operation in the ring ends the sleep.
 */
void cm_pace_sleep(struct cm_pace *pace);

/**
 * struct cm_starter - thread that starts waiting tasks while MPI asks for no progress
 * @thread: the thread
 * @runs: there is one
 * @ends: it is to end
 */
struct cm_starter {
	pthread_t thread;
	bool runs;
	atomic_bool ends;
};

/**
 * cm_starter_begin - have a thread for tasks that wait, if there are any
 * @starter: filled in
 *
 * A function of MPI follows that may wait for what other ranks do when these tasks are complete.
 * The thread calls nothing of MPI: tasks that it finds complete are finished by later calls of
 * cm_progress().
 */
void cm_starter_begin(struct cm_starter *starter);

/** cm_starter_end - end this thread, and finish the tasks that it has found complete */
void cm_starter_end(struct cm_starter *starter);

/**
 * cm_progress - look for completions, and submit tasks that wait
 *
 * Context: any thread; does not wait.
 * Return: number of operations that completed.
 */
int cm_progress(void);

#endif /* CM_PROGRESS_H */
