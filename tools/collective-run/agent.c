// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent: collective-run on another host, at the other end of ssh.  Its standard input is the
 * connection; the ranks have an empty one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "job.h"
#include "launch.h"

enum { STATUS_START = 125 };

/* Move the connection away from standard input.  Return: its descriptor, or -1. */
static int take_connection(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int null = open("/dev/null", O_RDONLY);

	if (fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0) {
		perror("standard input");
		return -1;
	}
	close(null);
	return fd;
}

static int prepare(const struct job *job)
{
	char *const *one;

	if (chdir(job->folder)) {
		fprintf(stderr, "collective-run: %s: %s\n", job->folder, strerror(errno));
		return -1;
	}
	for (one = job->environment; *one; one++)
		if (putenv(*one)) {
			perror("environment");
			return -1;
		}
	/* launch_ranks() moves it out of the environment. */
	if (unsetenv("COLL_SECRET_FD") || unsetenv("COLL_SECRET_FILE") ||
	    setenv("COLL_SECRET", job->secret, 1)) {
		perror("environment");
		return -1;
	}
	return 0;
}

/* Read what there is of the connection.  Return: false: it is lost. */
static bool drain(int fd)
{
	char bytes[256];
	ssize_t got = read(fd, bytes, sizeof(bytes));

	return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Wait for the launcher, and end it if the connection is lost.  Return: its exit status. */
static int watch(int fd, int signals, pid_t launcher)
{
	struct pollfd polls[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	int status, n;

	for (;;) {
		if (waitpid(launcher, &status, WNOHANG) == launcher)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		n = poll(polls, 2, JOB_SILENCE_MS);
		if (n > 0 && polls[1].revents && read(signals, &info, sizeof(info)) > 0 &&
		    info.ssi_signo != SIGCHLD)
			kill(launcher, info.ssi_signo);
		if ((n > 0 && polls[0].revents && !drain(fd)) || (!n && polls[0].fd >= 0)) {
			polls[0].fd = -1;
			kill(launcher, SIGTERM);
		}
	}
}

static int open_signals(sigset_t *before)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &signals, before);
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

int agent_run(int (*run)(int rank, void *arg))
{
	struct launch launch = { .run = run };
	const pid_t self = getpid();
	int fd, signals;
	sigset_t before;
	struct job job;
	pid_t launcher;

	if (job_read(STDIN_FILENO, &job))
		return STATUS_START;
	fd = take_connection();
	if (fd < 0 || prepare(&job))
		return STATUS_START;
	launch.n = job.n;
	launch.first = job.first;
	launch.total = job.total;
	launch.grace_s = job.grace_s;
	launch.label = job.label;
	launch.unbound = job.unbound;
	launch.rendezvous = job.rendezvous;
	launch.arg = job.argv;
	signals = open_signals(&before);
	launcher = signals < 0 ? -1 : fork();
	if (launcher < 0) {
		perror("collective-run");
		return STATUS_START;
	}
	if (!launcher) {
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != self)
			_exit(STATUS_START);
		sigprocmask(SIG_SETMASK, &before, NULL);
		close(fd);
		exit(launch_ranks(&launch));
	}
	return watch(fd, signals, launcher);
}
