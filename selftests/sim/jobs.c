// SPDX-License-Identifier: GPL-2.0-only
/* Runs independent jobs in as many processes as there are CPUs. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs.h"

/**
 * struct jobs - memory that the processes share
 * @next: index of the first job that no process has begun
 * @passed: by index: true if the job has passed
 */
struct jobs {
	atomic_uint next;
	bool passed[];
};

static void jobs_work(struct jobs *jobs, unsigned int count, job_fn job, const void *ctx)
{
	unsigned int i;

	while ((i = atomic_fetch_add(&jobs->next, 1)) < count)
		jobs->passed[i] = job(ctx, i);
}

/**
 * jobs_run() - run many independent jobs
 * @count: number of jobs
 * @job: runs one; prints whole lines only, because processes share the output
 * @ctx: first argument of @job
 * @passed: set to the results, @count of them; false also if the process has died
 *
 * Context: waits for all children of this process; exits if memory cannot be shared.
 */
void jobs_run(unsigned int count, job_fn job, const void *ctx, bool *passed)
{
	size_t size = sizeof(struct jobs) + count;
	struct jobs *jobs = mmap(NULL, size, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long workers = sysconf(_SC_NPROCESSORS_ONLN);

	if (jobs == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	fflush(stdout);
	while (workers-- > 0) {
		pid_t pid = fork();

		if (pid < 0)
			perror("fork");
		if (pid)
			continue;
		jobs_work(jobs, count, job, ctx);
		fflush(stdout);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	memcpy(passed, jobs->passed, count);
	munmap(jobs, size);
}
