/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes on this host that are the ranks of a group. */
#ifndef RANKS_H
#define RANKS_H

#include <stdbool.h>
#include <sys/types.h>

#define RANKS_MAX	1024

/**
 * struct ranks - what to start
 * @n: how many
 * @timeout_s: seconds after which everything is ended; 0: never
 * @address: where rank 0 listens; NULL: 127.0.0.1
 * @v6: @address is an IPv6 one
 * @port: of the rendezvous; 0: a free one
 * @label: begin every line of output with its rank
 * @quiet: say nothing about ranks that exit with a status
 * @unbound: each may run on all CPUs; otherwise they are dealt out
 * @prepare: called in each new process first; or NULL
 * @attach: called in the parent when @prepare is done; or NULL
 * @run: called in each process, environment set; gives its exit status
 * @arg: for @run
 */
struct ranks {
	int n;
	unsigned int timeout_s;
	const char *address;
	bool v6;
	int port;
	bool label;
	bool quiet;
	bool unbound;
	int (*prepare)(int rank);
	int (*attach)(int rank, pid_t pid);
	int (*run)(int rank, void *arg);
	void *arg;
};

/**
 * ranks_run - start them, wait for all
 * @ranks: what to start
 *
 * When one fails, the others get SIGTERM, and SIGKILL two seconds later.
 *
 * Return: 0, or the exit status of the rank that failed first (128 + signal
 * when a signal ended it), or 124 on timeout, 125 when starting failed.
 */
int ranks_run(const struct ranks *ranks);

/*
 * A process that copies lines to standard output, with @rank before each, until
 * the last writer of the pipe @to is gone.  Its pid, or -1.
 */
pid_t ranks_label(int rank, int *to);

#endif /* RANKS_H */
