/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Limits of the bytes of calls, by function and by the number of ranks that share a CPU.
 *
 * Ranks of MPI spin while they wait.  So the more of them share a CPU, the smaller are the calls
 * for which the kernel is faster.
 */
#ifndef CM_LIMITS_H
#define CM_LIMITS_H

#include <stddef.h>

#include "common/functions.h"

/* Levels of sharing: the binary logarithm of the number of ranks for each CPU. */
#define CM_SHARING_COUNT	8

/**
 * struct cm_limits - limits of calls
 * @bytes: limit, by function and level of sharing
 */
struct cm_limits {
	size_t bytes[CM_FUNCTION_COUNT][CM_SHARING_COUNT];
};

/** cm_limits_fill - set all limits to @bytes */
void cm_limits_fill(struct cm_limits *limits, size_t bytes);

/**
 * cm_limits_read - read limits of calls
 * @limits: limits, of which those that are named are set
 * @text: list such as "0", "allreduce:4M,bcast:none" or "reduce@2:256K,@4:0": limits for all
 *	functions or one, for all ranks or where a CPU has at least so many of them, a power of
 *	two; later ones apply
 *
 * Return: 0 or -EINVAL.
 */
int cm_limits_read(struct cm_limits *limits, const char *text);

/** cm_limits_sharing - level of sharing of @ranks ranks on @cpus CPUs */
unsigned int cm_limits_sharing(int ranks, long cpus);

#endif /* CM_LIMITS_H */
