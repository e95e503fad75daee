/* SPDX-License-Identifier: GPL-2.0-only */
/* What kind of machine a test runs on: how much of it is enough there. */
#ifndef COLL_MACHINE_H
#define COLL_MACHINE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where every instruction is emulated, or every access is checked, less is enough. */
static inline bool emulated(void)
{
	const char *kernel = getenv("VM_KERNEL");

	return kernel && (!strcmp(kernel, "distro") || !strcmp(kernel, "rt"));
}

static inline bool slow_machine(void)
{
	return emulated() || !access("/sys/kernel/debug/kmemleak", F_OK);
}

/* Larger groups are left to User-Mode Linux. */
static inline unsigned int max_ranks(void)
{
	return emulated() ? 4 : ~0U;
}

/* What the environment says instead. */
static inline unsigned int env_number(const char *name, unsigned int value)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : value;
}

#endif /* COLL_MACHINE_H */
