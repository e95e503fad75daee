/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CPU_H
#define COLL_CPU_H

#include <linux/cpumask.h>

struct coll_cpu_process;
struct coll_runner;
struct mm_struct;
struct pid;

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

/**
 * struct coll_cpu_owner - the process whose CPUs its runners may use
 * @thread: the thread that joined [c]
 * @process: its process [c]
 */
struct coll_cpu_owner {
	struct pid *thread;
	struct pid *process;
};

/**
 * struct coll_cpu_home - where a runner may run: on a CPU of its process
 * @owner: the process [c]
 * @place: of the runner among those that are dealt out over the CPUs [c]
 * @places: number of places [c]
 * @wish: CPU that a user has chosen for it, used while the process may use it; -1: none [a]
 * @beyond: the same, if an administrator has chosen one that the process may not use; -1: none.
 *	Written before @wish [a]
 */
struct coll_cpu_home {
	const struct coll_cpu_owner *owner;
	u32 place;
	u32 places;
	int wish;
	int beyond;
};

void coll_cpu_owner_get(struct coll_cpu_owner *owner);
void coll_cpu_owner_put(struct coll_cpu_owner *owner);
bool coll_cpu_owner_may_use(const struct coll_cpu_owner *owner, const struct cpumask *cpus);
void coll_cpu_home_init(struct coll_cpu_home *home, const struct coll_cpu_owner *owner,
			u32 place, u32 places);
void coll_cpu_home_set(struct coll_cpu_home *home, int cpu, bool any);
int coll_cpu_pick(const struct coll_runner *runner);
void coll_cpu_note(struct coll_runner *runner, int cpu);
void coll_cpu_enter(struct coll_cpu_user *user, struct coll_runner *runner,
		    struct coll_cpu_process *process);
void coll_cpu_leave(struct coll_cpu_user *user);
void coll_cpu_move(struct coll_cpu_user *user, int cpu);
u32 coll_cpu_processes(const struct coll_cpu_user *user);
bool coll_cpu_exclusive(const struct coll_cpu_user *user);

#endif /* COLL_CPU_H */
