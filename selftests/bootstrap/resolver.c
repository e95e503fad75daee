// SPDX-License-Identifier: GPL-2.0-only
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "comm/deadline.h"
#include "resolver.h"

const char *resolver_answer;
unsigned int resolver_delay_ms, resolver_slow_ms;

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **where)
{
	static uint64_t first;
	struct addrinfo numeric = *hints, **end = where;
	char all[200], *one, *rest = NULL;
	int err;

	if (hints->ai_flags & AI_NUMERICHOST)
		return __real_getaddrinfo(host, port, hints, where);
	if (!first)
		first = coll_deadline_now();
	if (resolver_slow_ms)
		usleep(1000 * resolver_slow_ms);
	if (!resolver_answer || coll_deadline_now() < first + resolver_delay_ms)
		return EAI_NONAME;
	numeric.ai_flags |= AI_NUMERICHOST;
	snprintf(all, sizeof(all), "%s", resolver_answer);
	for (one = strtok_r(all, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
		err = __real_getaddrinfo(one, port, &numeric, end);
		if (err)
			return err;
		while (*end)
			end = &(*end)->ai_next;
	}
	return 0;
}
