/* SPDX-License-Identifier: GPL-2.0-only */
/* The kind of machine that a test runs on; slow machines run smaller tests. */
#ifndef COLL_MACHINE_H
#define COLL_MACHINE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* True if the CPU is emulated (QEMU without hardware support). */
static inline bool emulated(void)
{
	const char *kernel = getenv("VM_KERNEL");

	return kernel && (!strcmp(kernel, "distro") || !strcmp(kernel, "rt"));
}

/* True if the kernel checks itself (--debug): it is slow, and its objects are larger. */
static inline bool checked_kernel(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK);
}

static inline bool slow_machine(void)
{
	return emulated() || checked_kernel();
}

/*
 * Return: a heartbeat period for tests that must not wait long for heartbeats; ms.  A rank is taken
 * for dead after six without a frame, and a link fails two after it has lost a connection.  So each
 * CPU of the machine must run within two of them, also while its host does other work.
 */
static inline unsigned int short_heartbeat_ms(void)
{
	return slow_machine() ? 1000 : 200;
}

/*
 * Return: a time limit within which something must succeed that takes far less than @ms on an idle
 * machine.
 */
static inline unsigned int enough_ms(unsigned int ms)
{
	return slow_machine() ? 3 * ms : ms;
}

/* Groups with more ranks are tested under User-Mode Linux only. */
static inline unsigned int max_ranks(void)
{
	return emulated() ? 4 : ~0U;
}

/* Return: the number in environment variable @name, or @value if it is not set. */
static inline unsigned int env_number(const char *name, unsigned int value)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : value;
}

#endif /* COLL_MACHINE_H */
