// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Submission and completion of tasks.
 *
 * A blocking operation first waits in the kernel for a moment: a thread that waits there does the
 * work of the operation itself, without a wakeup, and most operations are complete then.  After
 * that it turns to MPI's progress.
 *
 * Nonblocking operations complete in memory, by the ring, where there is one.  But they may outlive
 * the thread that submits them, unless that is the main thread; then they do not use the ring
 * (ring.h), and each look at one is a system call.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "collective.h"
#include "common/group.h"
#include "common/progress.h"
#include "common/queue.h"
#include "common/ring.h"
#include "common/settings.h"

/* Completions that are taken at once, and operations outside of the ring that a look tests. */
#define BATCH		16
/* Time in microseconds for which a refused submission is tried again. */
#define RETRY_US	10000000ULL
/* First sleep of a waiting thread in microseconds. */
#define SLEEP_MIN_US	20
/* Looks between two looks at the clock. */
#define LOOKS		32
/* Time in microseconds between two looks of a thread that starts tasks. */
#define STARTER_US	100

/*
 * @lock protects @active, tasks that are submitted, but not in the ring, and @complete, tasks of
 * which a starter has found that they are complete.
 */
static struct {
	pthread_mutex_t lock;
	struct cm_list active;
	struct cm_list complete;
	void (*poll)(void);
	bool any_thread;
} progress = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* This thread is one of struct cm_starter, and may call nothing of MPI. */
static __thread bool is_starter;

static unsigned long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

void cm_progress_init(void (*poll)(void), bool any_thread)
{
	progress.poll = poll;
	progress.any_thread = any_thread;
}

void cm_progress_end(void)
{
	cm_ring_close();
}

static bool uses_ring(const struct cm_task *task)
{
	return cm_ring_ready() && !is_starter &&
	       !(task->complete ? progress.any_thread : cm_settings.wait_ms);
}

/*
 * Is the submission to be tried again?  It was refused because of what is under way, because this
 * rank is ahead of another, or because of memory of which the kernel now gets a copy.
 */
static bool retries(struct cm_task *task, int err)
{
	if (task->group->failed)
		return false;
	if (err == -EFAULT && !task->room && !cm_task_is_pinned(task)) {
		/* In the same pass, too. */
		task->pass = 0;
		return !cm_task_bounce(task);
	}
	if (err != -EAGAIN && err != -EDQUOT)
		return false;
	if (!task->retry_until)
		task->retry_until = now_us() + RETRY_US;
	return now_us() < task->retry_until;
}

/* Submit without waiting.  Return: 0, and the task will complete; or a negative errno. */
static int submit(struct cm_task *task, bool ringed)
{
	struct cm_group *group = task->group;
	int err;

	/* From here on, any thread may find it complete. */
	task->state = CM_TASK_SUBMITTED;
	pthread_mutex_lock(&group->lock);
	if (group->failed)
		err = group->failed;
	else if (ringed)
		err = cm_ring_submit(group->comm, &task->op, task);
	else
		err = coll_isubmit(group->comm, &task->op, &task->request);
	pthread_mutex_unlock(&group->lock);
	return err;
}

/* The operation has a result: finish MPI's call. */
static void finish(struct cm_task *task)
{
	/* It was not packed, or is not unpacked. */
	const bool here = task->state == CM_TASK_IDLE || !task->result;

	if (!task->result)
		task->result = cm_task_unpack(task);
	if (task->result)
		cm_group_failed(task->group, task->result, cm_function_name(task->function), here);
}

/* ---- nonblocking ---- */

static void complete_now(struct cm_task *task)
{
	finish(task);
	task->state = CM_TASK_COMPLETE;
	task->complete(task);
}

/* A nonblocking operation has a result. */
static void complete(struct cm_task *task, int result)
{
	task->result = result;
	if (!is_starter) {
		complete_now(task);
		return;
	}
	pthread_mutex_lock(&progress.lock);
	cm_list_add(&progress.complete, task);
	pthread_mutex_unlock(&progress.lock);
}

/* Finish the tasks that starters have found complete.  Return: their number. */
static int complete_found(void)
{
	struct cm_task *task;
	int n = 0;

	while (!is_starter && __atomic_load_n(&progress.complete.first, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&progress.lock);
		task = progress.complete.first ? cm_list_take(&progress.complete) : NULL;
		pthread_mutex_unlock(&progress.lock);
		if (!task)
			break;
		complete_now(task);
		n++;
	}
	return n;
}

/* A nonblocking operation is no longer under way.  Return: false: it is to be submitted again. */
static bool started_done(struct cm_task *task, int result)
{
	const bool again = retries(task, result);

	/* Afterwards another task may have its room. */
	if (!result)
		cm_task_leave(task);
	cm_queue_done(task, again);
	if (!again)
		complete(task, result);
	return !again;
}

static void submit_started(struct cm_task *task)
{
	const bool ringed = uses_ring(task);
	int err;

	cm_task_enter(task);
	err = submit(task, ringed);
	if (err) {
		started_done(task, err);
	} else if (!ringed) {
		pthread_mutex_lock(&progress.lock);
		cm_list_add(&progress.active, task);
		pthread_mutex_unlock(&progress.lock);
	}
}

static void submit_waiting(void)
{
	const unsigned long long pass = cm_queue_pass();
	struct cm_task *task;
	int i;

	for (i = 0; pass && i < BATCH; i++) {
		task = cm_queue_take(pass);
		if (!task)
			break;
		submit_started(task);
	}
}

void cm_task_start(struct cm_task *task)
{
	const bool ringed = uses_ring(task);
	int err = cm_task_pack(task);

	task->state = CM_TASK_IDLE;
	task->retry_until = 0;
	if (err) {
		complete(task, err);
		return;
	}
	cm_queue_add(task);
	submit_waiting();
	/* The kernel may have refused it, and it is to be submitted again. */
	if (ringed)
		cm_progress();
}

/* Take completed operations that are not in the ring. */
static int take_active(struct cm_completion *completions)
{
	struct cm_task *task, *last;
	int n = 0, looks, done, err;

	if (!__atomic_load_n(&progress.active.first, __ATOMIC_RELAXED))
		return 0;
	pthread_mutex_lock(&progress.lock);
	last = progress.active.first ? progress.active.last : NULL;
	for (looks = 0, task = NULL; looks < BATCH && task != last; looks++) {
		task = cm_list_take(&progress.active);
		pthread_rwlock_rdlock(&task->group->looks);
		err = coll_test(task->request, &done);
		pthread_rwlock_unlock(&task->group->looks);
		if (done)
			completions[n++] = (struct cm_completion){ task, err };
		else
			/* The next look begins with the tasks that this one has not tested. */
			cm_list_add(&progress.active, task);
	}
	pthread_mutex_unlock(&progress.lock);
	return n;
}

/* Return: false: the operation was refused, and is to be submitted again. */
static bool handle(const struct cm_completion *completion)
{
	struct cm_task *task = completion->context;

	if (task->complete)
		return started_done(task, completion->result);
	task->result = completion->result;
	task->state = CM_TASK_COMPLETE;
	return true;
}

/* Return: number of operations that completed, in the ring and, if @active, outside of it. */
static int take_completed(bool active)
{
	struct cm_completion completions[2 * BATCH];
	int i, n, done = 0;

	n = cm_ring_reap(completions, BATCH);
	if (active)
		n += take_active(completions + n);
	for (i = 0; i < n; i++)
		done += handle(&completions[i]);
	return done;
}

int cm_progress(void)
{
	int done = complete_found() + take_completed(true);

	submit_waiting();
	/* What the kernel has refused of these waits again, which cm_queue_waits() has to know. */
	return done + take_completed(false);
}

/* ---- while MPI asks for no progress ---- */

static void *start_waiting(void *argument)
{
	struct cm_starter *starter = argument;

	is_starter = true;
	while (!starter->ends)
		if (!cm_progress())
			usleep(STARTER_US);
	return NULL;
}

void cm_starter_begin(struct cm_starter *starter)
{
	sigset_t all, before;

	*starter = (struct cm_starter){ .runs = false };
	if (!cm_queue_waits())
		return;
	/* Signals are for the threads of the program. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	starter->runs = !pthread_create(&starter->thread, NULL, start_waiting, starter);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cm_starter_end(struct cm_starter *starter)
{
	if (!starter->runs)
		return;
	starter->ends = true;
	pthread_join(starter->thread, NULL);
	cm_progress();
}

/* ---- blocking ---- */

/* Is an operation outside of the ring complete? */
static bool request_complete(struct cm_task *task)
{
	int index, err;

	pthread_rwlock_rdlock(&task->group->looks);
	err = coll_wait_any(&task->request, 1, &index, 0);
	pthread_rwlock_unlock(&task->group->looks);
	if (index < 0 && err == -EINPROGRESS)
		return false;
	task->request = NULL;
	task->result = err;
	return true;
}

/* Is the operation for which this thread waits complete?  Sleep for @us, if that is not 0. */
static bool look(struct cm_task *task, unsigned int us)
{
	struct pollfd completion = { .events = POLLIN };
	struct timespec limit = { .tv_nsec = us % 1000000 * 1000, .tv_sec = us / 1000000 };

	if (!task->request) {
		if (us)
			cm_ring_sleep(us);
		cm_progress();
		return task->state == CM_TASK_COMPLETE;
	}
	if (us) {
		completion.fd = coll_req_fd(task->request);
		ppoll(&completion, 1, &limit, NULL);
	}
	return request_complete(task);
}

/* A look has found nothing. */
static void pace_next(struct cm_pace *pace)
{
	const unsigned int longest = cm_settings.sleep_us;

	if (pace->us) {
		pace->us = pace->us * 2 < longest ? pace->us * 2 : longest;
	} else if (!(++pace->looks % LOOKS)) {
		pace->start = pace->start ?: now_us();
		if (now_us() - pace->start >= cm_settings.spin_us)
			pace->us = SLEEP_MIN_US < longest ? SLEEP_MIN_US : longest;
	}
}

void cm_pace_sleep(struct cm_pace *pace)
{
	pace_next(pace);
	if (pace->us && cm_ring_ready())
		cm_ring_sleep(pace->us);
	else if (pace->us)
		usleep(pace->us);
}

/* Submit, and wait for a moment.  Return: the result, or why it was refused; -EINPROGRESS. */
static int submit_and_wait(struct cm_task *task)
{
	struct coll_comm *comm;
	int err;

	task->state = CM_TASK_SUBMITTED;
	err = cm_group_hold(task->group, &comm);
	if (err)
		return err;
	err = coll_submit_wait(comm, &task->op, cm_settings.wait_ms, &task->request);
	cm_group_release(task->group);
	return err;
}

static void wait_for(struct cm_task *task)
{
	struct cm_pace pace = { 0 };

	while (!look(task, pace.us)) {
		/* Other operations of this process may wait to be submitted. */
		cm_progress();
		progress.poll();
		pace_next(&pace);
	}
}

void cm_task_wait(const struct cm_task *task)
{
	struct cm_pace pace = { 0 };

	while (task->state != CM_TASK_COMPLETE) {
		if (cm_progress())
			continue;
		progress.poll();
		cm_pace_sleep(&pace);
	}
}

int cm_task_run(struct cm_task *task)
{
	const bool ringed = uses_ring(task);
	int err = cm_task_pack(task), result;

	task->result = err;
	if (!err)
		cm_task_enter(task);
	while (!err) {
		result = ringed ? submit(task, true) ?: -EINPROGRESS : submit_and_wait(task);
		/* In the ring, any thread may have completed it, and set the result. */
		if (result == -EINPROGRESS)
			wait_for(task);
		else
			task->result = result;
		if (!retries(task, task->result))
			break;
		cm_progress();
		progress.poll();
	}
	if (!task->result)
		cm_task_leave(task);
	finish(task);
	return task->result;
}
