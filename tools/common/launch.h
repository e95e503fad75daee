/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes on this host that are the ranks of a group. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#define LAUNCH_MAX	1024
#define LAUNCH_GRACE_S	2

/**
 * struct launch - what to start
 * @n: how many
 * @timeout_s: seconds after which everything is ended; 0: never
 * @grace_s: seconds from SIGINT to SIGTERM, and from that to SIGKILL; 0: LAUNCH_GRACE_S
 * @address: where rank 0 listens; NULL: 127.0.0.1, or what this host has instead
 * @port: of the rendezvous; 0: a free one
 * @label: begin every line of output with its rank
 * @quiet: say nothing about ranks that exit with a status
 * @unbound: each may run on all CPUs; otherwise they are dealt out
 * @prepare: called in each new process first; or NULL
 * @attach: called in the parent when @prepare is done; or NULL
 * @run: called in each process, environment set; gives its exit status
 * @arg: for @run
 */
struct launch {
	int n;
	unsigned int timeout_s;
	unsigned int grace_s;
	const char *address;
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
 * launch_ranks - start them, wait for all
 * @launch: what to start
 *
 * They are children of a child of this process: see guard_run().  When one fails, or the time
 * is over, all that they have started gets SIGTERM, and SIGKILL @grace_s later; what is left
 * when all have ended likewise.
 *
 * Return: 0, or the exit status of the rank that failed first (128 + signal when a signal
 * ended it), or 124 on timeout, 125 when starting failed or output was lost, 128 + signal when
 * this process got it and a rank did not end with 0.
 */
int launch_ranks(const struct launch *launch);

#endif /* LAUNCH_H */
