/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef OUTPUT_H
#define OUTPUT_H

/**
 * output_check_at_exit - have exit() fail when standard output could not be written
 * @status: exit status in that case, after a message
 *
 * Applies to this process and to the children that it forks.
 */
void output_check_at_exit(int status);

/* Return: 0, or -1 if output was lost; the first time after a message. */
int output_flush(void);

/**
 * output_version - print the name of this program and the version of the tree
 *
 * Return: 0, as an exit status.
 */
int output_version(void);

#endif /* OUTPUT_H */
