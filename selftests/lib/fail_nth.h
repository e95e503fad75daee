/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes the n-th allocation of a call fail, by fail-nth of the kernel's fault injection. Only the
 * debug kernel has it.
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

/* More allocations than any call makes. */
#define MOST	2000

/* True if fail-nth exists; allocations that may sleep are then made to fail, too. */
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

/* Return: true if the allocation has failed. */
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
 * True if @err is an errno of a call with a failed allocation. The kernel reports ENFILE if it
 * cannot allocate the inode of a socket, and EADDRINUSE or EADDRNOTAVAIL if it cannot allocate
 * the entry of a port.
 */
static inline bool no_memory(int err)
{
	return err == -ENOMEM || err == -ENOBUFS || err == -ENFILE ||
	       err == -EADDRINUSE || err == -EADDRNOTAVAIL;
}

#endif /* COLL_FAIL_NTH_H */
