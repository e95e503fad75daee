/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LABEL_H
#define LABEL_H

#include <sys/types.h>

/**
 * label_start - a process that copies lines to standard output, the rank before each
 * @from: pipes, by rank
 * @n: how many
 * @end: receives a descriptor: once all of it is closed, the process copies what is there
 *	still, and ends
 *
 * It ends by itself when all pipes have no writer any more.  A line longer than 1 MiB is
 * broken.  What cannot be written is read all the same, with a message and status 1.
 *
 * Return: its pid, or -1.
 */
pid_t label_start(const int *from, int n, int *end);

#endif /* LABEL_H */
