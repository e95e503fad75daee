// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns.h"

/* Runs ip(8) with these commands as its input. */
static int ip_batch(const char *commands)
{
	size_t length = strlen(commands);
	int ends[2], status;
	sigset_t none;
	ssize_t put;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC)) {
		perror("pipe");
		return -1;
	}
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		dup2(ends[0], STDIN_FILENO);
		execlp("ip", "ip", "-batch", "-", NULL);
		perror("ip (install iproute2)");
		_exit(127);
	}
	close(ends[0]);
	if (pid < 0) {
		perror("fork");
		close(ends[1]);
		return -1;
	}
	put = write(ends[1], commands, length);	/* less than a pipe holds */
	close(ends[1]);
	if (waitpid(pid, &status, 0) != pid || status ||
	    put != (ssize_t)length)
		return -1;
	return 0;
}

int netns_hub(void)
{
	if (unshare(CLONE_NEWNET)) {
		fprintf(stderr, "%s: new network namespace: %s%s\n",
			program_invocation_short_name, strerror(errno),
			errno == EPERM ? " (--netns needs root)" : "");
		return -1;
	}
	/* No forward delay: a link carries packets as soon as it is up. */
	return ip_batch("link set lo up\n"
			"link add hub type bridge forward_delay 0\n"
			"link set hub up\n");
}

/* sysfs shows the namespace that it was mounted in.  A failure is ignored: /sys is optional. */
static void mount_sys(void)
{
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  NULL))
		fprintf(stderr, "%s: /sys still shows the first namespace: %s\n",
			program_invocation_short_name, strerror(errno));
}

int netns_prepare(int rank)
{
	if (unshare(CLONE_NEWNET)) {
		fprintf(stderr, "%s: rank %d: new network namespace: %s\n",
			program_invocation_short_name, rank, strerror(errno));
		return -1;
	}
	mount_sys();
	return 0;
}

/* In a child, because this process could not return from the rank's namespace. */
static int configure(int rank, pid_t pid)
{
	unsigned int host = rank + 1;
	char path[64], commands[256];
	int status, fd;
	pid_t child;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	snprintf(commands, sizeof(commands),
		 "link set lo up\n"
		 "addr add 10.88.%u.%u/16 dev eth0\n"
		 "addr add fd88::%x/64 dev eth0 nodad\n"
		 "link set eth0 up\n",
		 host >> 8, host & 255, host);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET)) {
			perror(path);
			_exit(1);
		}
		_exit(ip_batch(commands) ? 1 : 0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status ?
	       0 : -1;
}

int netns_attach(int rank, pid_t pid)
{
	char commands[256];

	snprintf(commands, sizeof(commands),
		 "link add v%d type veth peer name eth0 netns %d\n"
		 "link set v%d master hub up\n", rank, (int)pid, rank);
	return ip_batch(commands) ?: configure(rank, pid);
}
