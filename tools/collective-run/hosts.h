/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOSTS_H
#define HOSTS_H

#include "launch.h"

/**
 * struct hosts - parameters of hosts_run()
 * @list: hosts, "a,b:4", each with its number of ranks
 * @n: number of ranks of all hosts; 0: what @list says
 * @rsh: program that reaches a host, with ssh's arguments; NULL: ssh
 * @rendezvous: host:port of the rendezvous; NULL: a port of the first host
 * @exports: names of variables that the ranks get, ending with NULL
 * @launch: timeout, grace, labels and binding
 * @argv: program and arguments
 */
struct hosts {
	const char *list;
	int n;
	const char *rsh;
	const char *rendezvous;
	const char **exports;
	const struct launch *launch;
	char **argv;
};

/* Start ranks on other hosts and wait for them.  Return: an exit status, as launch_ranks(). */
int hosts_run(const struct hosts *hosts);

#endif /* HOSTS_H */
