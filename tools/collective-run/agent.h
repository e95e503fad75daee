/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_H
#define AGENT_H

/*
 * Run the job that comes by standard input, until its ranks have ended.  If the connection is
 * lost, they are ended.  @run is as in struct launch.  Return: an exit status.
 */
int agent_run(int (*run)(int rank, void *arg));

#endif /* AGENT_H */
