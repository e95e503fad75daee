// SPDX-License-Identifier: GPL-2.0-only
/*
 * COLL_PORTS: a rank listens at ports of the range only, by TCP and by UDP, also for the groups
 * that are split off its own.  Only between hosts a listener stays, so all ranks use TCP.
 *
 * Each test has a network namespace of its own, in which nothing else listens.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "lib/any_transport.h"
#include "lib/lib_group.h"

#define FIRST	21000
#define RANKS	4

FIXTURE(ports) {};

FIXTURE_SETUP(ports)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, loopback_set(true));
}

FIXTURE_TEARDOWN(ports)
{
}

/* Return: the sockets of /proc/net/@table in @state whose port is in the range, and not. */
static int sockets_count(const char *table, unsigned int state, unsigned int n,
			 unsigned int *others)
{
	unsigned int port, is, inside = 0;
	char path[32], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/net/%s", table);
	file = fopen(path, "re");
	CHECK(file);
	*others = 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, " %*u: %*8[0-9A-F]:%x %*8[0-9A-F]:%*x %x", &port, &is) != 2 ||
		    is != state)
			continue;
		if (port >= FIRST && port < FIRST + n)
			inside++;
		else
			++*others;
	}
	fclose(file);
	return inside;
}

/* All ranks are in the group and in a part of it: two ports each. */
static int rank_listens(struct lib_rank *me)
{
	unsigned int others;
	struct coll_comm *part;

	CHECK_EQ(0, coll_split(me->comm, me->rank % 2, 0, &part));
	CHECK_EQ(0, coll_barrier(me->comm));
	/* TCP_LISTEN, and TCP_CLOSE for a socket of UDP that is not connected. */
	CHECK_EQ(2 * RANKS, sockets_count("tcp", 10, 2 * RANKS, &others));
	CHECK_EQ(0, others);
	CHECK_EQ(2 * RANKS, sockets_count("udp", 7, 2 * RANKS, &others));
	CHECK_EQ(0, others);
	CHECK_EQ(0, coll_barrier(me->comm));
	return coll_finalize(part);
}

/* Connections of the group before are in TIME-WAIT at the ports that the next one needs. */
TEST_F_TIMEOUT(ports, just_enough, 60)
{
	const struct coll_config config = { .ports = "21000-21007", .transport = "tcp" };
	int round;

	for (round = 0; round < 3; round++)
		EXPECT_EQ(0, lib_group_run(RANKS, &config, rank_listens, NULL));
}

TEST_F_TIMEOUT(ports, from_environment, 60)
{
	const struct coll_config config = { .transport = "tcp" };

	ASSERT_EQ(0, setenv("COLL_PORTS", "21000-21007", 1));
	EXPECT_EQ(0, lib_group_run(RANKS, &config, rank_listens, NULL));
}

/* Return: 0 if coll_init() refuses @ports. */
static int init_refuses(const char *ports)
{
	char detail[COLL_DETAIL_SIZE];
	struct coll_config config = {
		.size = sizeof(config), .nranks = 1, .ports = ports,
		.detail = detail, .detail_size = sizeof(detail),
	};
	struct coll_comm *comm;

	CHECK_EQ(-EINVAL, coll_init(&comm, &config));
	CHECK(strstr(detail, "are not FIRST-LAST"));
	return 0;
}

/* The group has all ports; it works on. */
static int rank_has_none(struct lib_rank *me)
{
	struct coll_comm *part;

	CHECK_EQ(-EADDRINUSE, coll_split(me->comm, 0, 0, &part));
	CHECK(strstr(coll_error_detail(me->comm), "no port of 21000-21003 is free"));
	return coll_barrier(me->comm);
}

TEST_F_TIMEOUT(ports, all_taken, 60)
{
	const struct coll_config config = { .ports = "21000-21003", .transport = "tcp" };

	EXPECT_EQ(0, lib_group_run(RANKS, &config, rank_has_none, NULL));
}

TEST_F(ports, no_range)
{
	static const char *const texts[] = {
		"21000", "21001-21000", "0-21000", "21000-65536", "21000-", "-21000", "a-b",
		"21000-21001x", " 21000-21001", "99999999999-99999999999",
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		EXPECT_EQ(0, init_refuses(texts[i]))
			TH_LOG("text %zu", i);
}

TEST_HARNESS_MAIN
