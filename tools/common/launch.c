// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts the ranks and supervises them until all have ended.
 *
 * Every rank waits at a gate, a shared pipe, until all processes exist.  So if a later rank
 * cannot be started, no earlier rank has begun.  Then the parent sleeps in sigtimedwait(), in
 * supervise().
 *
 * The parent is the subreaper of all descendants of the ranks and can end them too: a rank is
 * often a shell that waits for the program.  It ends them in steps (enum step) with a time
 * between.  Processes that remain when all ranks have ended are ended as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descendants.h"
#include "environment.h"
#include "guard.h"
#include "label.h"
#include "launch.h"

#define SETTLE_MS	100	/* from the first failure to SIGTERM */
#define LEFT_MS		200	/* from the last rank's end to SIGTERM for its descendants */
#define TICK_MS		50	/* between two looks at these descendants */
#define KILL_MS		3000	/* from SIGKILL to giving up */
#define REPEAT_MS	300	/* copies of one signal arrive within this time */
#define FILES_SPARE	32	/* open files besides the pipes */
#define NAME_SIZE	24	/* of "rank N" */

enum { STATUS_TIMEOUT = 124, STATUS_START = 125 };

/* The steps of the end, in this order; when the time of a step is over, the next follows. */
enum step {
	STEP_RUN,
	STEP_INTERRUPT,		/* SIGINT or SIGHUP was forwarded */
	STEP_TERMINATE,		/* SIGTERM was sent */
	STEP_KILL,		/* SIGKILL was sent */
	STEP_LEAVE,		/* the remaining processes cannot be ended */
};

/**
 * struct run - one call of launch_ranks()
 * @launch: parameters
 * @pids: process of each rank; 0: reaped, or never started
 * @pipes: reading end of each rank's output; NULL: output is not labelled
 * @gate: pipe; each rank reads a byte before it begins
 * @label: process that labels the output; 0: none
 * @label_end: descriptor that is closed to end @label; -1: none
 * @alive: number of ranks with a pid
 * @status: exit status to return
 * @failed: rank that decided @status; -1: none
 * @signal: first signal that this process got; 0: none
 * @latest: last signal that this process got; 0: none
 * @latest_until: time from which a repetition of @latest counts as a second signal; ms.  A
 *	signal to the whole process group arrives twice, as the guard forwards its copy
 * @settle_at: time when the other ranks are ended after a rank has failed; ms
 * @step: current step of the end
 * @step_at: time when the next step is due; ms
 * @end_at: time when the time limit is over; ms; 0: never
 * @left_at: time when remaining descendants are ended; ms; 0: not set, as ranks are alive
 * @mask: the caller's signal mask
 * @files: the caller's limit of open files
 */
struct run {
	const struct launch *launch;
	pid_t *pids;
	int *pipes;
	int gate[2];
	pid_t label;
	int label_end;
	int alive;
	int status;
	int failed;
	int signal;
	int latest;
	long latest_until;
	long settle_at;
	enum step step;
	long step_at;
	long end_at;
	long left_at;
	sigset_t mask;
	struct rlimit files;
};

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

/*
 * Binds a rank to its part of this process's CPUs, or to one CPU that it shares with its
 * neighbours.  The scheduler would draw threads that wake each other to one CPU and leave
 * others idle.
 */
static void bind_rank(int rank, int n)
{
	cpu_set_t all, mine;
	int first, last, cpu, nth = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;		/* more CPUs than a cpu_set_t holds: do not bind */
	first = (long)rank * CPU_COUNT(&all) / n;
	last = (long)(rank + 1) * CPU_COUNT(&all) / n;
	if (last == first)
		last++;
	CPU_ZERO(&mine);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		if (nth >= first && nth < last)
			CPU_SET(cpu, &mine);
		nth++;
	}
	/* Fails if these CPUs were taken away meanwhile; then the rank stays unbound. */
	(void)sched_setaffinity(0, sizeof(mine), &mine);
}

static long grace_ms(const struct run *run)
{
	return run->launch->grace_s ? run->launch->grace_s * 1000L : LAUNCH_GRACE_S * 1000L;
}

/* Labels need a pipe for each rank.  Raises the limit of open files, for this process only. */
static int raise_files(struct run *run)
{
	struct rlimit more;
	rlim_t need = run->launch->n + FILES_SPARE;

	if (getrlimit(RLIMIT_NOFILE, &run->files)) {
		perror("files");
		return -1;
	}
	if (!run->launch->label || run->files.rlim_cur >= need)
		return 0;
	more = run->files;
	more.rlim_cur = need < more.rlim_max ? need : more.rlim_max;
	if (need > more.rlim_max || setrlimit(RLIMIT_NOFILE, &more)) {
		fprintf(stderr, "labels take %d open files, %llu are allowed (ulimit -Hn)\n",
			(int)need, (unsigned long long)run->files.rlim_max);
		return -1;
	}
	return 0;
}

static void be_rank(struct run *run, int rank, int ready, int out, pid_t parent)
{
	const struct launch *launch = run->launch;
	char byte = 0;
	int i;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(STATUS_START);
	close(run->gate[1]);
	for (i = 0; run->pipes && i < rank; i++)
		close(run->pipes[i]);
	if (setrlimit(RLIMIT_NOFILE, &run->files))
		perror("files");
	if (launch->prepare && launch->prepare(rank))
		_exit(STATUS_START);
	if (!launch->unbound)
		bind_rank(rank, launch->n);
	if (write(ready, &byte, 1) != 1)
		_exit(STATUS_START);
	close(ready);
	if (read(run->gate[0], &byte, 1) != 1)
		_exit(STATUS_START);
	close(run->gate[0]);
	if (environment_set_rank(launch, rank))
		_exit(STATUS_START);
	if (out >= 0 && (dup2(out, STDOUT_FILENO) < 0 ||
			 dup2(out, STDERR_FILENO) < 0))
		_exit(STATUS_START);
	if (out >= 0)
		close(out);
	sigprocmask(SIG_SETMASK, &run->mask, NULL);
	exit(launch->run(rank, launch->arg));
}

/* Forks the process of a rank.  It writes a byte to @ready when prepared, its output to @out. */
static int start_process(struct run *run, int rank, int ready, int out)
{
	const pid_t parent = getpid();

	fflush(NULL);
	run->pids[rank] = fork();
	if (!run->pids[rank])
		be_rank(run, rank, ready, out, parent);
	if (run->pids[rank] < 0) {
		perror("fork");
		run->pids[rank] = 0;
		return -1;
	}
	run->alive++;
	return 0;
}

/* Starts a rank and waits until it is prepared. */
static int start(struct run *run, int rank)
{
	int ready[2], out[2] = { -1, -1 }, err = -1;
	char byte;

	if (pipe2(ready, O_CLOEXEC)) {
		perror("pipe");
		return -1;
	}
	if (run->pipes) {
		if (pipe2(out, O_CLOEXEC))
			perror("pipe");
		else
			run->pipes[rank] = out[0];
	}
	if (!run->pipes || out[0] >= 0)
		err = start_process(run, rank, ready[1], out[1]);
	close(ready[1]);
	if (out[1] >= 0)
		close(out[1]);
	if (!err && read(ready[0], &byte, 1) != 1)
		err = -1;
	close(ready[0]);
	if (!err && run->launch->attach)
		err = run->launch->attach(rank, run->pids[rank]);
	return err;
}

/* Signals all descendants of the ranks, or only the ranks if /proc cannot be read. */
static void signal_all(struct run *run, int sig)
{
	int i;

	if (descendants_signal(sig, run->label) >= 0)
		return;
	for (i = 0; i < run->launch->n; i++)
		if (run->pids[i])
			(void)kill(run->pids[i], sig);
}

/* Name of a process in messages. */
static const char *name_of(const struct run *run, int rank, char text[NAME_SIZE])
{
	if (run->launch->names)
		return run->launch->names[rank];
	snprintf(text, NAME_SIZE, "rank %d", run->launch->first + rank);
	return text;
}

static void say_alive(const struct run *run, const char *what)
{
	int i;

	if (!run->alive)
		return;
	fprintf(stderr, "%s: %s: %s", program_invocation_short_name, what,
		run->launch->names ? "hosts" : "ranks");
	for (i = 0; i < run->launch->n; i++) {
		if (!run->pids[i])
			continue;
		if (run->launch->names)
			fprintf(stderr, " %s", run->launch->names[i]);
		else
			fprintf(stderr, " %d", run->launch->first + i);
	}
	fprintf(stderr, "\n");
}

static void go_to(struct run *run, enum step step)
{
	if (step <= run->step)
		return;
	run->step = step;
	run->step_at = now_ms() + (step == STEP_KILL ? KILL_MS : grace_ms(run));
	if (step == STEP_INTERRUPT) {
		signal_all(run, run->signal);
	} else if (step == STEP_TERMINATE) {
		signal_all(run, SIGTERM);
		/* A stopped process gets SIGTERM only when it continues. */
		signal_all(run, SIGCONT);
	} else if (step == STEP_KILL) {
		say_alive(run, "killing what does not end");
		signal_all(run, SIGKILL);
	} else {
		fprintf(stderr, "%s: %d processes cannot be ended\n",
			program_invocation_short_name, descendants_signal(0, run->label));
	}
}

static void report(const struct run *run, int rank, pid_t pid, int status)
{
	char text[NAME_SIZE];

	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: %s (pid %d) was killed by signal %d (%s)\n",
			program_invocation_short_name, name_of(run, rank, text), (int)pid,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!run->launch->quiet)
		fprintf(stderr, "%s: %s (pid %d) exited with status %d\n",
			program_invocation_short_name, name_of(run, rank, text), (int)pid,
			WEXITSTATUS(status));
}

/*
 * Other ranks may notice a rank's death, and exit with an error, before the dead rank can be
 * reaped.  So all ranks that fail within SETTLE_MS of the first are reported, and a rank that
 * was killed by a signal decides the status.
 */
static void failed(struct run *run, int rank, pid_t pid, int status)
{
	if (run->step > STEP_RUN) {
		/* The rank was told to end, and its status says that it had not finished. */
		if (!run->status)
			run->status = 128 + (run->signal ? run->signal : SIGTERM);
		return;
	}
	report(run, rank, pid, status);
	if (run->failed < 0)
		run->settle_at = now_ms() + SETTLE_MS;
	if (run->failed < 0 || (WIFSIGNALED(status) && run->status < 128)) {
		run->failed = rank;
		run->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
						    WEXITSTATUS(status);
	}
}

static void label_ended(struct run *run, int status)
{
	run->label = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGPIPE)
		fprintf(stderr, "%s: output was lost: its process was killed by signal %d\n",
			program_invocation_short_name, WTERMSIG(status));
	if (status && !run->status)
		run->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : STATUS_START;
}

/* Reaps ranks, and their descendants that became children of this process. */
static void reap(struct run *run)
{
	int status, i;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == run->label) {
			label_ended(run, status);
			continue;
		}
		for (i = 0; i < run->launch->n && run->pids[i] != pid; i++)
			;
		if (i == run->launch->n)
			continue;
		run->pids[i] = 0;
		run->alive--;
		if (status)
			failed(run, i, pid, status);
	}
}

static void timed_out(struct run *run)
{
	char text[64];

	snprintf(text, sizeof(text), "not done after %u s; still running", run->launch->timeout_s);
	say_alive(run, text);
	run->status = STATUS_TIMEOUT;
	go_to(run, STEP_TERMINATE);
}

/* A second signal starts the next step at once. */
static void signalled(struct run *run, int sig, bool from_terminal)
{
	if (sig == run->latest && now_ms() < run->latest_until)
		return;
	run->latest = sig;
	run->latest_until = now_ms() + REPEAT_MS;
	run->signal = run->signal ? run->signal : sig;
	if (run->step >= STEP_TERMINATE) {
		go_to(run, STEP_KILL);
	} else if (sig == SIGTERM || run->step == STEP_INTERRUPT) {
		go_to(run, STEP_TERMINATE);
	} else if (from_terminal) {
		/* The terminal has signalled the ranks already. */
		run->step = STEP_INTERRUPT;
		run->step_at = now_ms() + grace_ms(run);
	} else {
		go_to(run, STEP_INTERRUPT);
	}
}

/* Returns true if all ranks and their descendants have ended.  Ends the latter after a time. */
static bool all_gone(struct run *run, long now)
{
	if (run->alive)
		return false;
	/* A process that was forked during the last SIGKILL has not got it. */
	if (descendants_signal(run->step == STEP_KILL ? SIGKILL : 0, run->label) <= 0 ||
	    run->step == STEP_LEAVE)
		return true;
	if (!run->left_at)
		run->left_at = now + LEFT_MS;
	else if (now >= run->left_at)
		go_to(run, STEP_TERMINATE);
	return false;
}

static void min(long *next, long at, long now)
{
	if (at - now < *next)
		*next = at - now;
}

static long next_event(const struct run *run, long now)
{
	long next = 3600 * 1000L;

	if (run->step > STEP_RUN && run->step < STEP_LEAVE)
		min(&next, run->step_at, now);
	if (run->failed >= 0 && run->step == STEP_RUN)
		min(&next, run->settle_at, now);
	if (run->end_at && run->step == STEP_RUN)
		min(&next, run->end_at, now);
	if (!run->alive)
		min(&next, now + TICK_MS, now);
	return next > 0 ? next : 0;
}

static void supervise(struct run *run, const sigset_t *signals)
{
	struct timespec wait;
	siginfo_t info;
	long ms, now;
	int sig;

	while (reap(run), now = now_ms(), !all_gone(run, now)) {
		if (run->step > STEP_RUN && run->step < STEP_LEAVE && now >= run->step_at) {
			/* Decides over the status that a rank exits with when it is ended. */
			if (run->alive && run->signal && !run->status)
				run->status = 128 + run->signal;
			go_to(run, run->step + 1);
		}
		if (run->failed >= 0 && run->step == STEP_RUN && now >= run->settle_at) {
			if (run->alive)
				fprintf(stderr, "%s: ending the others\n",
					program_invocation_short_name);
			go_to(run, STEP_TERMINATE);
		}
		if (run->end_at && run->step == STEP_RUN && now >= run->end_at)
			timed_out(run);
		if (run->step == STEP_LEAVE)
			break;
		ms = next_event(run, now_ms());
		wait.tv_sec = ms / 1000;
		wait.tv_nsec = ms % 1000 * 1000000;
		sig = sigtimedwait(signals, &info, &wait);
		if (sig > 0 && sig != SIGCHLD)
			signalled(run, sig, info.si_code == SI_KERNEL);
	}
}

/* All descendants have ended, so no rank's process writes to the pipes any more. */
static void finish_labels(struct run *run)
{
	int status;

	if (run->label_end >= 0)
		close(run->label_end);
	if (run->label && waitpid(run->label, &status, 0) == run->label)
		label_ended(run, status);
}

/* Lets all ranks begin. */
static int open_gate(struct run *run)
{
	char go[LAUNCH_MAX] = { 0 };
	int i, err = 0;

	if (run->pipes) {
		run->label = label_start(run->pipes, run->launch->first, run->launch->n,
					 &run->label_end);
		if (run->label < 0) {
			run->label = 0;
			return -1;
		}
		for (i = 0; i < run->launch->n; i++)
			close(run->pipes[i]);
	}
	if (write(run->gate[1], go, run->launch->n) != run->launch->n)
		err = -1;
	return err;
}

static int start_all(struct run *run)
{
	char text[NAME_SIZE];
	int i;

	for (i = 0; i < run->launch->n; i++) {
		if (!start(run, i))
			continue;
		fprintf(stderr, "%s: %s cannot be started\n", program_invocation_short_name,
			name_of(run, i, text));
		return -1;
	}
	return open_gate(run);
}

static int allocate(struct run *run)
{
	run->pids = calloc(run->launch->n, sizeof(*run->pids));
	if (run->launch->label)
		run->pipes = calloc(run->launch->n, sizeof(*run->pipes));
	if (run->pids && (run->pipes || !run->launch->label))
		return 0;
	perror("ranks");
	return -1;
}

static int run_ranks(void *arg)
{
	struct run run = { .launch = arg, .failed = -1, .label_end = -1 };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	/* Neither can fail with valid arguments. */
	(void)sigprocmask(SIG_BLOCK, &signals, &run.mask);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (environment_set(run.launch) || raise_files(&run) || allocate(&run))
		return STATUS_START;
	if (pipe2(run.gate, O_CLOEXEC)) {
		perror("pipe");
		return STATUS_START;
	}
	if (start_all(&run)) {
		run.status = STATUS_START;
		go_to(&run, STEP_KILL);
	}
	close(run.gate[0]);
	close(run.gate[1]);
	if (run.launch->timeout_s)
		run.end_at = now_ms() + run.launch->timeout_s * 1000L;
	supervise(&run, &signals);
	finish_labels(&run);
	free(run.pipes);
	free(run.pids);
	return run.status;
}

int launch_ranks(const struct launch *launch)
{
	return guard_run(run_ranks, (void *)launch);
}
