/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

struct launch;

/**
 * environment_set - set the variables that are the same for every rank
 * @launch: parameters
 *
 * The secret is that of the caller's environment, or a new one.  It is in a file without a
 * name and not in the environment.
 *
 * Return: 0, or -1 after a message.
 */
int environment_set(const struct launch *launch);

/* Sets the variables of the @local-th rank.  Return: 0, or -1 after a message. */
int environment_set_rank(const struct launch *launch, int local);

#endif /* ENVIRONMENT_H */
