/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks that no group and no socket is left when groups have ended. */
#ifndef COLL_LEAK_CHECK_H
#define COLL_LEAK_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/lib_group.h"

/* Return: the number of TCP sockets of this network namespace, without those in TIME_WAIT. */
static inline int tcp_sockets(void)
{
	char line[256];
	FILE *file = fopen("/proc/net/sockstat", "r");
	int n = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "TCP: inuse %d", &n);
	if (file)
		fclose(file);
	return n;
}

/*
 * True if no group is left, nor more sockets than @before. Waits up to 10 s: sockets close
 * asynchronously.
 */
static inline bool nothing_leaked(int before)
{
	const __u64 end = now_ms() + 10000;

	while ((group_count() || tcp_sockets() > before) && now_ms() < end)
		sleep_ms(20);
	if (!group_count() && tcp_sockets() <= before)
		return true;
	dprintf(1, "# %d groups, %d sockets (%d before)\n", group_count(), tcp_sockets(),
		before);
	return false;
}

#endif /* COLL_LEAK_CHECK_H */
