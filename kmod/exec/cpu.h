/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CPU_H
#define COLL_CPU_H

#include <linux/cpumask.h>

struct coll_cpu_process;
struct coll_runner;
struct mm_struct;

/**
 * struct coll_cpu_user - a runner among those of its CPU
 * @runner: the runner; cpu.c changes its @cpu [c]
 * @process: the process that the runner belongs to [c]
 */
struct coll_cpu_user {
	struct coll_runner *runner;
	struct coll_cpu_process *process;
};

struct coll_cpu_process *coll_cpu_process_get(const struct mm_struct *mm);
void coll_cpu_process_put(struct coll_cpu_process *process);
void coll_cpu_enter(struct coll_cpu_user *user, struct coll_runner *runner,
		    struct coll_cpu_process *process);
void coll_cpu_leave(struct coll_cpu_user *user);
void coll_cpu_move(struct coll_cpu_user *user, int cpu);
u32 coll_cpu_processes(const struct coll_cpu_user *user);
bool coll_cpu_exclusive(const struct coll_cpu_user *user);

#endif /* COLL_CPU_H */
