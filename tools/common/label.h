/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LABEL_H
#define LABEL_H

#include <sys/types.h>

/**
 * label_start - start a process that copies lines to standard output, each after its rank
 * @from: pipe of each rank
 * @first: the first rank
 * @n: number of ranks
 * @end: receives a descriptor; once all copies of it are closed, the process copies the
 *	remaining bytes of the pipes and ends
 *
 * The process also ends when no pipe has a writer.  A line longer than 1 MiB is split.  If
 * output cannot be written, the process reports it, continues to read and exits with 1.
 *
 * Return: the pid of the process, or -1.
 */
pid_t label_start(const int *from, int first, int n, int *end);

#endif /* LABEL_H */
