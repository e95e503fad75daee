/* SPDX-License-Identifier: GPL-2.0-only */
/* What is left of groups when they are gone: nothing. */
#ifndef COLL_LEAK_CHECK_H
#define COLL_LEAK_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/lib_group.h"

/* TCP sockets that are not merely waiting for their end, of all processes here. */
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

/* No group is left, nor more sockets than there were; it may take a moment. */
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
