// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descendants.h"
#include "guard.h"

#define KILL_MS		3000
#define STATUS_START	125

static int start(const sigset_t *mask, int (*run)(void *arg), void *arg, pid_t *child)
{
	const pid_t self = getpid();

	fflush(NULL);
	*child = fork();
	if (*child < 0) {
		perror("fork");
		return -1;
	}
	if (*child)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != self)
		_exit(STATUS_START);
	sigprocmask(SIG_SETMASK, mask, NULL);
	exit(run(arg));
}

/* Return: an exit status. */
static int ended(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "%s: killed by signal %d (%s), ending all ranks\n",
		program_invocation_short_name, WTERMSIG(status), strsignal(WTERMSIG(status)));
	descendants_kill(KILL_MS);
	return 128 + WTERMSIG(status);
}

int guard_run(int (*run)(void *arg), void *arg)
{
	sigset_t signals, mask;
	siginfo_t info;
	int status, sig;
	pid_t child, pid;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	/* If the parent ignored SIGCHLD, waitpid() would not get the child's status. */
	signal(SIGCHLD, SIG_DFL);
	/* Neither can fail with valid arguments. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)sigprocmask(SIG_BLOCK, &signals, &mask);
	if (start(&mask, run, arg, &child))
		return STATUS_START;
	for (;;) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == child) {
				sigprocmask(SIG_SETMASK, &mask, NULL);
				return ended(status);
			}
		sig = sigwaitinfo(&signals, &info);
		/* The terminal has signalled the child already. */
		if (sig > 0 && sig != SIGCHLD && info.si_code != SI_KERNEL)
			(void)kill(child, sig);
	}
}
