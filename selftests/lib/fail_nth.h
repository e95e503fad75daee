/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The n-th allocation of a call fails: fail-nth of the kernel's fault injection, which the debug
 * kernel has.
 */
#ifndef COLL_FAIL_NTH_H
#define COLL_FAIL_NTH_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/group.h"

/* No call allocates as often. */
#define MOST	2000

/* Allocations that may sleep are among those that fail. */
static inline bool fail_nth_available(void)
{
	return !file_set("/proc/thread-self/fail-nth", "0") &&
	       !file_set("/sys/kernel/debug/failslab/verbose", "0") &&
	       !file_set("/sys/kernel/debug/fail_page_alloc/verbose", "0") &&
	       !file_set("/sys/kernel/debug/failslab/ignore-gfp-wait", "N") &&
	       !file_set("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N") &&
	       !file_set("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N") &&
	       !file_set("/sys/kernel/debug/fail_page_alloc/min-order", "0");
}

static int fail_nth_fd = -1;

static inline void fail_nth_arm(unsigned int nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", nth);
	fail_nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (write(fail_nth_fd, text, strlen(text)) < 0)
		perror("fail-nth");
}

/* Has it happened? */
static inline bool fail_nth_disarm(void)
{
	char text[16] = "";
	bool done = pread(fail_nth_fd, text, sizeof(text) - 1, 0) > 0 && !atoi(text);

	if (pwrite(fail_nth_fd, "0", 1, 0) < 0)
		perror("fail-nth");
	close(fail_nth_fd);
	return done;
}

/*
 * What a call may say whose allocation has failed; the kernel itself says ENFILE of a
 * socket that it has no inode for, and that an address is not to be had when it has no
 * memory for the port.
 */
static inline bool no_memory(int err)
{
	return err == -ENOMEM || err == -ENOBUFS || err == -ENFILE ||
	       err == -EADDRINUSE || err == -EADDRNOTAVAIL;
}

#endif /* COLL_FAIL_NTH_H */
