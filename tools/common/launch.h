/* SPDX-License-Identifier: GPL-2.0-only */
/* Starts processes on this host as ranks of a group. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#define LAUNCH_MAX	1024
#define LAUNCH_GRACE_S	2

/**
 * struct launch - parameters of launch_ranks()
 * @n: number of ranks that are started
 * @first: the first of them
 * @total: number of ranks of the group; 0: @n
 * @names: names of the processes in messages, instead of their ranks; or NULL
 * @timeout_s: time limit of the ranks; s; 0: none
 * @grace_s: time from SIGINT to SIGTERM, and from SIGTERM to SIGKILL; s; 0: LAUNCH_GRACE_S
 * @address: address that rank 0 listens at; NULL: 127.0.0.1, or else ::1 or an interface's
 * @port: port of the rendezvous; 0: a free one
 * @rendezvous: host:port of the rendezvous, instead of @address and @port; or NULL
 * @label: true if every line of output begins with its rank
 * @quiet: true if ranks that exit with a status are not reported
 * @unbound: true if each rank may run on all CPUs; otherwise the CPUs are divided
 * @prepare: called first in each new process; or NULL
 * @attach: called in the parent after @prepare; or NULL
 * @run: called in each process with its environment set; returns the exit status
 * @arg: argument of @run
 */
struct launch {
	int n;
	int first;
	int total;
	const char *const *names;
	unsigned int timeout_s;
	unsigned int grace_s;
	const char *address;
	int port;
	const char *rendezvous;
	bool label;
	bool quiet;
	bool unbound;
	int (*prepare)(int rank);
	int (*attach)(int rank, pid_t pid);
	int (*run)(int rank, void *arg);
	void *arg;
};

/**
 * launch_ranks - start the ranks and wait for all
 * @launch: parameters
 *
 * The ranks are children of a child of this process: see guard_run().  When a rank fails or
 * the time limit passes, all descendants of the ranks get SIGTERM, and SIGKILL @grace_s later.
 * So do the descendants that remain when all ranks have ended.
 *
 * Return:
 * * 0 - all ranks exited with 0
 * * 124 - the time limit passed
 * * 125 - the start failed or output was lost
 * * 128 + signal - this process got the signal, and a rank did not exit with 0
 * * otherwise the exit status of the rank that failed first; 128 + signal if a signal ended it
 */
int launch_ranks(const struct launch *launch);

#endif /* LAUNCH_H */
