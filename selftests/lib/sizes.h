/* SPDX-License-Identifier: GPL-2.0-only */
/* The group sizes that a collective is tested with. Include after kselftest_harness.h. */
#ifndef COLL_SIZES_H
#define COLL_SIZES_H

#include "lib/group.h"
#include "lib/machine.h"

#define SIZE(_fixture, _name, ...) \
	FIXTURE_VARIANT_ADD(_fixture, _name) { .config = { __VA_ARGS__ } }

/* Define a fixture of tests that run with groups of 1, 2, 3, 4, 5 and 8 ranks. */
#define FIXTURE_OF_SIZES(_fixture)						\
	FIXTURE(_fixture) {};							\
	FIXTURE_VARIANT(_fixture) { struct group_config config; };		\
	FIXTURE_SETUP(_fixture)							\
	{									\
		if (variant->config.nranks > max_ranks())			\
			SKIP((void)0, "left to User-Mode Linux");		\
	}									\
	FIXTURE_TEARDOWN(_fixture) {}						\
	SIZE(_fixture, one, .nranks = 1);					\
	SIZE(_fixture, two, .nranks = 2);					\
	SIZE(_fixture, three_lanes, .nranks = 3, .lanes = 3);			\
	SIZE(_fixture, four_ipv6, .nranks = 4, .family = AF_INET6);		\
	SIZE(_fixture, five_lanes, .nranks = 5, .lanes = 2);			\
	SIZE(_fixture, eight, .nranks = 8)

#endif /* COLL_SIZES_H */
