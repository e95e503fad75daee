/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of up to 64 CPUs. */
#ifndef COLL_KERNEL_LINUX_CPUMASK_H
#define COLL_KERNEL_LINUX_CPUMASK_H

#include "env.h"

#define nr_cpu_ids	64

struct cpumask {
	u64 bits;
};

static inline bool cpumask_subset(const struct cpumask *a, const struct cpumask *b)
{
	return !(a->bits & ~b->bits);
}

/* The first CPU behind @cpu; nr_cpu_ids: none. */
static inline int cpumask_next(int cpu, const struct cpumask *cpus)
{
	for (cpu++; cpu < nr_cpu_ids && !(cpus->bits >> cpu & 1); cpu++)
		;
	return cpu;
}

static inline int cpumask_first(const struct cpumask *cpus)
{
	return cpumask_next(-1, cpus);
}

#endif /* COLL_KERNEL_LINUX_CPUMASK_H */
