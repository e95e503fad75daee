/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef OUTPUT_H
#define OUTPUT_H

/**
 * output_check_at_exit - have exit() fail when standard output could not be written
 * @status: to exit with then, after a message
 *
 * For the process and the children that it forks.
 */
void output_check_at_exit(int status);

/* Has everything been written?  If not there is a message, the first time. */
int output_flush(void);

#endif /* OUTPUT_H */
