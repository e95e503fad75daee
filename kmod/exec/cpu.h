/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CPU_H
#define COLL_CPU_H

#include <linux/cpumask.h>
#include <linux/list.h>

struct coll_runner;
struct mm_struct;

/**
 * struct coll_cpu_user - a runner among those of its CPU
 * @node: entry in the list of the CPU; protected by a lock of cpu.c
 * @runner: the runner; cpu.c changes its @cpu [c]
 * @owner: memory of the process that the runner belongs to; compared only [c]
 */
struct coll_cpu_user {
	struct hlist_node node;
	struct coll_runner *runner;
	const struct mm_struct *owner;
};

void coll_cpu_enter(struct coll_cpu_user *user, struct coll_runner *runner,
		    const struct mm_struct *owner);
void coll_cpu_leave(struct coll_cpu_user *user);
void coll_cpu_move(struct coll_cpu_user *user, int cpu);
u32 coll_cpu_processes(const struct coll_cpu_user *user);
bool coll_cpu_exclusive(const struct coll_cpu_user *user);

#endif /* COLL_CPU_H */
