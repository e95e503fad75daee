/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

struct launch;

/**
 * environment_set - what is the same for every rank
 * @launch: what is asked for
 *
 * The secret is one that the caller's environment has, or a new one; it is in a file without
 * a name, not in the environment.  Return: 0, or -1 after a message.
 */
int environment_set(const struct launch *launch);

/* What is a rank's own; 0 or -1. */
int environment_set_rank(int rank);

#endif /* ENVIRONMENT_H */
