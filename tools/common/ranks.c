// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start ranks, and see them end.
 *
 * Every process waits at a gate (its end of a socket pair) until all are there:
 * a failure to start the last is no failure of the first.  From then on the
 * parent sleeps in sigtimedwait(); all it does is named there.  Only processes
 * that it has started, and not yet reaped, are ever sent a signal.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ranks.h"

#define SETTLE_MS	100	/* from the first failure to SIGTERM */
#define GRACE_MS	2000	/* from SIGTERM to SIGKILL */

enum { STATUS_TIMEOUT = 124, STATUS_START = 125 };

struct process {
	pid_t pid;		/* 0: reaped, or never started */
	pid_t label;		/* copies its output; 0: nobody */
	int gate;
};

/**
 * struct run - one call of ranks_run()
 * @ranks: what was asked for
 * @processes: by rank
 * @alive: how many have a pid
 * @status: to return
 * @failed: rank that decided @status; -1: none
 * @settle_at: when the others are ended, once a rank has failed
 * @ending: SIGTERM was sent
 * @killed: SIGKILL was sent
 * @kill_at: when it is due
 * @end_at: when @ranks->timeout_s is over; 0: never
 * @mask: the caller's signal mask
 */
struct run {
	const struct ranks *ranks;
	struct process *processes;
	int alive;
	int status;
	int failed;
	long settle_at;
	bool ending;
	bool killed;
	long kill_at;
	long end_at;
	sigset_t mask;
};

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

/* A port that nobody has now. */
static int free_port(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = -1;

	if (fd < 0)
		return -1;
	if (!bind(fd, (struct sockaddr *)&addr, length) &&
	    !getsockname(fd, (struct sockaddr *)&addr, &length))
		port = ntohs(addr.sin_port);
	close(fd);
	return port;
}

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

/* Nobody else can join, or answer for one of them; who has chosen a secret keeps it. */
static int set_secret(void)
{
	unsigned char random[32];
	char text[2 * sizeof(random) + 1];
	size_t i;

	if (getenv("COLL_SECRET") || getenv("COLL_SECRET_FILE"))
		return 0;
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		perror("no random numbers");
		return -1;
	}
	for (i = 0; i < sizeof(random); i++)
		sprintf(text + 2 * i, "%02x", random[i]);
	setenv("COLL_SECRET", text, 1);
	return 0;
}

/* The same for every rank. */
static int set_environment(const struct ranks *ranks)
{
	const char *address = ranks->address ? ranks->address : "127.0.0.1";
	int port = ranks->port ? ranks->port : free_port();
	int master = ranks->port ? ranks->port + 1 : free_port();
	char rendezvous[128];

	if (port < 0 || master < 0) {
		perror("no free port");
		return -1;
	}
	snprintf(rendezvous, sizeof(rendezvous),
		 ranks->v6 ? "[%s]:%d" : "%s:%d", address, port);
	setenv("COLL_RENDEZVOUS", rendezvous, 1);
	setenv("MASTER_ADDR", address, 1);
	set_number("MASTER_PORT", master);
	set_number("COLL_SIZE", ranks->n);
	set_number("WORLD_SIZE", ranks->n);
	set_number("LOCAL_WORLD_SIZE", ranks->n);
	return set_secret();
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
	sched_setaffinity(0, sizeof(mine), &mine);
}

static void be_rank(struct run *run, int rank, int gate, int out, pid_t parent)
{
	const struct ranks *ranks = run->ranks;
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_START);
	if (ranks->prepare && ranks->prepare(rank))
		_exit(STATUS_START);
	if (!ranks->unbound)
		bind_rank(rank, ranks->n);
	if (write(gate, &byte, 1) != 1 || read(gate, &byte, 1) != 1)
		_exit(STATUS_START);
	close(gate);
	set_number("COLL_RANK", rank);
	set_number("RANK", rank);
	set_number("LOCAL_RANK", rank);
	if (out >= 0 && (dup2(out, STDOUT_FILENO) < 0 ||
			 dup2(out, STDERR_FILENO) < 0))
		_exit(STATUS_START);
	sigprocmask(SIG_SETMASK, &run->mask, NULL);
	exit(ranks->run(rank, ranks->arg));
}

static int start(struct run *run, int rank)
{
	struct process *process = &run->processes[rank];
	pid_t parent = getpid();
	int gate[2], out = -1;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate)) {
		perror("socketpair");
		return -1;
	}
	if (run->ranks->label) {
		process->label = ranks_label(rank, &out);
		if (process->label < 0)
			goto close;
	}
	fflush(NULL);
	process->pid = fork();
	if (!process->pid) {
		close(gate[0]);
		be_rank(run, rank, gate[1], out, parent);
	}
	if (out >= 0)
		close(out);
	if (process->pid < 0) {
		perror("fork");
		process->pid = 0;
		goto close;
	}
	close(gate[1]);
	process->gate = gate[0];
	run->alive++;
	if (read(process->gate, &byte, 1) != 1)
		return -1;
	return run->ranks->attach ? run->ranks->attach(rank, process->pid) : 0;

close:
	close(gate[0]);
	close(gate[1]);
	return -1;
}

static void signal_all(struct run *run, int sig)
{
	int i;

	for (i = 0; i < run->ranks->n; i++)
		if (run->processes[i].pid)
			kill(run->processes[i].pid, sig);
}

static void end_all(struct run *run)
{
	if (run->ending)
		return;
	run->ending = true;
	run->kill_at = now_ms() + GRACE_MS;
	if (run->failed >= 0)
		fprintf(stderr, "%s: ending the others\n",
			program_invocation_short_name);
	signal_all(run, SIGTERM);
}

static void report(const struct run *run, int rank, pid_t pid, int status)
{
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: rank %d (pid %d) was killed by signal %d (%s)\n",
			program_invocation_short_name, rank, (int)pid,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!run->ranks->quiet)
		fprintf(stderr, "%s: rank %d (pid %d) exited with status %d\n",
			program_invocation_short_name, rank, (int)pid,
			WEXITSTATUS(status));
}

/*
 * The others may notice a rank's death, and exit with an error, before the dead
 * one can be reaped.  So whoever fails in a short time from the first is named,
 * and one killed by a signal decides.
 */
static void failed(struct run *run, int rank, pid_t pid, int status)
{
	if (run->ending)
		return;
	report(run, rank, pid, status);
	if (run->failed < 0)
		run->settle_at = now_ms() + SETTLE_MS;
	if (run->failed < 0 || (WIFSIGNALED(status) && run->status < 128)) {
		run->failed = rank;
		run->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
						    WEXITSTATUS(status);
	}
}

static void reap(struct run *run)
{
	int status, i;

	for (i = 0; i < run->ranks->n; i++) {
		struct process *process = &run->processes[i];
		pid_t pid = process->pid;

		if (!pid || waitpid(pid, &status, WNOHANG) != pid)
			continue;
		process->pid = 0;
		run->alive--;
		if (status)
			failed(run, i, pid, status);
	}
}

static void timed_out(struct run *run)
{
	int i;

	fprintf(stderr, "%s: not done after %u s; still running: ranks",
		program_invocation_short_name, run->ranks->timeout_s);
	for (i = 0; i < run->ranks->n; i++)
		if (run->processes[i].pid)
			fprintf(stderr, " %d", i);
	fprintf(stderr, "\n");
	run->status = STATUS_TIMEOUT;
	end_all(run);
}

static long next_event(const struct run *run)
{
	long next = 3600 * 1000L, now = now_ms();

	if (run->ending && !run->killed && run->kill_at - now < next)
		next = run->kill_at - now;
	if (run->failed >= 0 && !run->ending && run->settle_at - now < next)
		next = run->settle_at - now;
	if (run->end_at && !run->ending && run->end_at - now < next)
		next = run->end_at - now;
	return next > 0 ? next : 0;
}

static void supervise(struct run *run, const sigset_t *signals)
{
	struct timespec wait;
	siginfo_t info;
	long ms;
	int sig;

	while (reap(run), run->alive) {
		if (run->ending && !run->killed && now_ms() >= run->kill_at) {
			run->killed = true;
			signal_all(run, SIGKILL);
		}
		if (run->failed >= 0 && now_ms() >= run->settle_at)
			end_all(run);
		if (run->end_at && !run->ending && now_ms() >= run->end_at)
			timed_out(run);
		ms = next_event(run);
		wait.tv_sec = ms / 1000;
		wait.tv_nsec = ms % 1000 * 1000000;
		sig = sigtimedwait(signals, &info, &wait);
		if (sig <= 0 || sig == SIGCHLD)
			continue;
		/* What the terminal sends has reached the ranks already. */
		if (info.si_code != SI_KERNEL)
			signal_all(run, sig);
	}
}

int ranks_run(const struct ranks *ranks)
{
	struct run run = { .ranks = ranks, .failed = -1 };
	sigset_t signals;
	char go = 0;
	int i;

	if (set_environment(ranks))
		return STATUS_START;
	run.processes = calloc(ranks->n, sizeof(*run.processes));
	if (!run.processes)
		return STATUS_START;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &run.mask);

	for (i = 0; i < ranks->n; i++) {
		if (!start(&run, i))
			continue;
		fprintf(stderr, "%s: rank %d cannot be started\n",
			program_invocation_short_name, i);
		run.status = STATUS_START;
		end_all(&run);
		signal_all(&run, SIGKILL);	/* they wait at the gate */
		break;
	}
	if (ranks->timeout_s)
		run.end_at = now_ms() + ranks->timeout_s * 1000L;
	for (i = 0; i < ranks->n; i++) {
		if (!run.processes[i].gate)
			continue;
		if (!run.ending)
			send(run.processes[i].gate, &go, 1, MSG_NOSIGNAL);
		close(run.processes[i].gate);
	}
	supervise(&run, &signals);
	for (i = 0; i < ranks->n; i++)
		if (run.processes[i].label > 0)
			waitpid(run.processes[i].label, NULL, 0);
	sigprocmask(SIG_SETMASK, &run.mask, NULL);
	free(run.processes);
	return run.status;
}
