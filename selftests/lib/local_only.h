/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a test of the local transport: all ranks of the program choose it, whatever COLL_TRANSPORT
 * says, and no link may differ.
 */
#ifndef COLL_LOCAL_ONLY_H
#define COLL_LOCAL_ONLY_H

#include <stdlib.h>
#include <time.h>

#include "lib/any_transport.h"
#include "lib/group.h"

static void __attribute__((constructor)) local_only(void)
{
	setenv("COLL_TRANSPORT", "local", 1);
}

/* Check that a rank that has run an operation has local links, and no others.  Return: 0 or 1. */
static inline int local_links_check(const struct rank *r)
{
	struct links links;

	CHECK_EQ(0, links_get(r->group->name, r->rank, &links));
	CHECK(links.local);
	CHECK_EQ(0, links.tcp);
	return 0;
}

static inline __u64 now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

#endif /* COLL_LOCAL_ONLY_H */
