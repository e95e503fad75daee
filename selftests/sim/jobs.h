/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_SIM_JOBS_H
#define COLL_SIM_JOBS_H

#include <stdbool.h>

/* Runs the job of an index.  Return: true if it passes. */
typedef bool (*job_fn)(const void *ctx, unsigned int index);

void jobs_run(unsigned int count, job_fn job, const void *ctx, bool *passed);

#endif /* COLL_SIM_JOBS_H */
