// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start ranks, and see them end.
 *
 * Every process waits at a gate, a pipe that all share, until all are there: a failure to
 * start the last is no failure of the first.  From then on the parent sleeps in
 * sigtimedwait(); all it does is named there.
 *
 * The parent is the subreaper of all that the ranks start, so it can end that too: a rank is
 * often a shell that waits for the program proper.  It ends them in steps, with a time between
 * (enum step); what a rank has left behind when all have ended is ended as well.
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
#define LEFT_MS		200	/* for what the ranks have left behind to end by itself */
#define TICK_MS		50	/* how often that is looked at */
#define KILL_MS		3000	/* from SIGKILL to giving up */
#define REPEAT_MS	300	/* for a signal that comes by several ways to have come by all */
#define FILES_SPARE	32	/* besides the pipes */

enum { STATUS_TIMEOUT = 124, STATUS_START = 125 };

/* In this order; each is left for the next when its time is over. */
enum step {
	STEP_RUN,
	STEP_INTERRUPT,		/* SIGINT or SIGHUP was handed on */
	STEP_TERMINATE,		/* SIGTERM was sent */
	STEP_KILL,		/* SIGKILL was sent */
	STEP_LEAVE,		/* there is nothing else to be done */
};

/**
 * struct run - one call of launch_ranks()
 * @launch: what was asked for
 * @pids: by rank; 0: reaped, or never started
 * @pipes: by rank, the reading ends of their output, if it is labelled
 * @gate: pipe; each rank reads a byte before it begins
 * @label: process that labels; 0: none
 * @label_end: closed to end it; -1: none
 * @alive: how many have a pid
 * @status: to return
 * @failed: rank that decided @status; -1: none
 * @signal: that this process was ended by; 0: none
 * @latest: signal that came last; 0: none
 * @latest_until: when @latest counts as a second one; the guard hands on what a sender to the
 *	whole process group has sent to this process too
 * @settle_at: when the others are ended, once a rank has failed
 * @step: how far the end has come
 * @step_at: when the next step is due
 * @end_at: when @launch->timeout_s is over; 0: never
 * @left_at: when what is left behind is ended; 0: ranks are alive
 * @mask: the caller's signal mask
 * @files: the caller's limit
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
 * Each rank has its part of our CPUs, or one that it shares with its neighbours: left to
 * themselves, threads that wake each other up are drawn to one CPU, while others idle.
 */
static void bind_rank(int rank, int n)
{
	cpu_set_t all, mine;
	int first, last, cpu, nth = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;		/* more CPUs than fit: as it was */
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
	/* Some of them may have been taken away meanwhile: all that are left, then. */
	(void)sched_setaffinity(0, sizeof(mine), &mine);
}

static long grace_ms(const struct run *run)
{
	return run->launch->grace_s ? run->launch->grace_s * 1000L : LAUNCH_GRACE_S * 1000L;
}

/* Labels need a pipe a rank: as many files as there may be, for this process alone. */
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
	if (environment_set_rank(rank))
		_exit(STATUS_START);
	if (out >= 0 && (dup2(out, STDOUT_FILENO) < 0 ||
			 dup2(out, STDERR_FILENO) < 0))
		_exit(STATUS_START);
	if (out >= 0)
		close(out);
	sigprocmask(SIG_SETMASK, &run->mask, NULL);
	exit(launch->run(rank, launch->arg));
}

/* The process of a rank, which writes to @ready and @out. */
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

/* Start it, and wait until it is prepared. */
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

/* To all that the ranks have started, or to the ranks at least. */
static void signal_all(struct run *run, int sig)
{
	int i;

	if (descendants_signal(sig, run->label) >= 0)
		return;
	for (i = 0; i < run->launch->n; i++)
		if (run->pids[i])
			(void)kill(run->pids[i], sig);
}

static void say_alive(const struct run *run, const char *what)
{
	int i;

	if (!run->alive)
		return;
	fprintf(stderr, "%s: %s: ranks", program_invocation_short_name, what);
	for (i = 0; i < run->launch->n; i++)
		if (run->pids[i])
			fprintf(stderr, " %d", i);
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
		/* One that is stopped hears nothing before it goes on. */
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
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: rank %d (pid %d) was killed by signal %d (%s)\n",
			program_invocation_short_name, rank, (int)pid,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!run->launch->quiet)
		fprintf(stderr, "%s: rank %d (pid %d) exited with status %d\n",
			program_invocation_short_name, rank, (int)pid,
			WEXITSTATUS(status));
}

/*
 * The others may notice a rank's death, and exit with an error, before the dead
 * one can be reaped.  So each one that fails in a short time from the first is named,
 * and one killed by a signal decides.
 */
static void failed(struct run *run, int rank, pid_t pid, int status)
{
	if (run->step > STEP_RUN) {
		/* It was asked to end, and says that it did not finish. */
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

/* The ranks, and what they have left to us. */
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

/* A second one does not wait for the time of the first to pass. */
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
		/* It has reached them already. */
		run->step = STEP_INTERRUPT;
		run->step_at = now_ms() + grace_ms(run);
	} else {
		go_to(run, STEP_INTERRUPT);
	}
}

/* Have all ranks ended, and all that they have started?  If not, there is a time for it. */
static bool all_gone(struct run *run, long now)
{
	if (run->alive)
		return false;
	/* A process that was made while the others were killed has not got the signal. */
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
			/* Whatever a rank says when it is made to end. */
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

/* Processes that write to the pipes still are none of the ranks'. */
static void finish_labels(struct run *run)
{
	int status;

	if (run->label_end >= 0)
		close(run->label_end);
	if (run->label && waitpid(run->label, &status, 0) == run->label)
		label_ended(run, status);
}

/* All are at the gate: let them pass. */
static int open_gate(struct run *run)
{
	char go[LAUNCH_MAX] = { 0 };
	int i, err = 0;

	if (run->pipes) {
		run->label = label_start(run->pipes, run->launch->n, &run->label_end);
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
	int i;

	for (i = 0; i < run->launch->n; i++) {
		if (!start(run, i))
			continue;
		fprintf(stderr, "%s: rank %d cannot be started\n",
			program_invocation_short_name, i);
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
	/* Neither fails: the arguments are right. */
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
