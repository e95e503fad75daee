// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "network.h"

bool network_enter(void)
{
	static const char * const addresses[] = {
		"10.77.0.1/32", "10.77.0.2/32", "10.77.0.3/32",
		"fd77::1/128 nodad", "fd77::2/128 nodad",
	};
	char command[80];
	size_t i;

	if (unshare(CLONE_NEWNET) || system("ip link set lo up"))
		return false;
	for (i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		snprintf(command, sizeof(command), "ip addr add dev lo %s", addresses[i]);
		if (system(command))
			return false;
	}
	return true;
}
