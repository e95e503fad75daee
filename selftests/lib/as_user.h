/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that a child process runs as another user. */
#ifndef COLL_AS_USER_H
#define COLL_AS_USER_H

#include <sys/wait.h>
#include <unistd.h>

#define NOBODY	65534

/* Run @fn in a child process of another user.  Return: 0 if it returned 0. */
static inline int as_other_user(int (*fn)(const void *arg), const void *arg)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY) ||
		      fn(arg));
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Run @fn in a child process of the same user. */
static inline int in_child(int (*fn)(const void *arg), const void *arg)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(fn(arg));
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

#endif /* COLL_AS_USER_H */
