// SPDX-License-Identifier: GPL-2.0-only
/* Worlds have nothing in common: a process for each CPU goes through them. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs.h"

/**
 * struct jobs - what the processes share
 * @next: the first one that nobody has begun
 * @passed: by index
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
 * jobs_run() - do many independent things
 * @count: how many
 * @job: does one; prints whole lines
 * @ctx: handed to @job
 * @passed: filled in, @count of them; false where a process has died, too
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
