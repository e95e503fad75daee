// SPDX-License-Identifier: GPL-2.0-only
/*
 * Idle groups are cheap: their kernel memory, their ports, their CPU time, and the time of an
 * munmap() of their process.
 *
 * One process has all ranks of all groups.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/group.h"
#include "lib/idle_cost.h"
#include "kselftest_harness.h"
#include "lib/machine.h"

#define RANKS		16

/* Groups: CROWD in the environment, or so many. */
#define GROUPS		40
#define GROUPS_MAX	300

/* Peers of a rank in the rounds of matching, 1, 2, 4 and 8 away on both sides. */
#define LINKS		7

/* Most KiB of a member without its connections, and of an end of a connection. */
#define MEMBER_KIB	64
#define END_KIB		16
#define TCP_END_KIB	64

#define IDLE_MS		5000

struct crowd {
	unsigned int ngroups, n;
	int fd[GROUPS_MAX * RANKS];
};

static long available_kib(void)
{
	return proc_number("/proc/meminfo", "MemAvailable:", ":");
}

/* Add a group whose ranks are all up. */
static int crowd_add(struct crowd *crowd)
{
	struct sockaddr_storage addr[RANKS];
	char name[33];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	CHECK_EQ(0, members_make(crowd->fd + crowd->n, addr, RANKS, name, id));
	crowd->n += RANKS;
	return 0;
}

static int crowd_barrier(const int *fd)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	__u64 request[RANKS];
	unsigned int i;

	for (i = 0; i < RANKS; i++)
		CHECK_EQ(0, member_start(fd[i], &op, &request[i]));
	for (i = 0; i < RANKS; i++)
		CHECK_EQ(0, member_wait(fd[i], request[i], 0));
	return 0;
}

FIXTURE(crowd) {
	struct crowd crowd;
};

FIXTURE_VARIANT(crowd) {
	const char *transport;
	unsigned int end_kib;
};

FIXTURE_VARIANT_ADD(crowd, local) {
	.transport = "local", .end_kib = END_KIB
};

FIXTURE_VARIANT_ADD(crowd, tcp) {
	.transport = "tcp", .end_kib = TCP_END_KIB
};

FIXTURE_SETUP(crowd)
{
	unsigned int n = env_number("CROWD", slow_machine() ? 4 : GROUPS);
	struct rlimit limit = { GROUPS_MAX * RANKS + 64, GROUPS_MAX * RANKS + 64 };

	setenv("COLL_TRANSPORT", variant->transport, 1);
	self->crowd.ngroups = n < GROUPS_MAX ? n : GROUPS_MAX;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	/* What is allocated once is no part of the measurement. */
	ASSERT_EQ(0, crowd_add(&self->crowd));
}

FIXTURE_TEARDOWN(crowd)
{
	unsigned int i;

	for (i = 0; i < self->crowd.n; i++)
		close(self->crowd.fd[i]);
}

TEST_F_TIMEOUT(crowd, idle, 300)
{
	long before = available_kib(), unmap = munmap_ns(), kib, busy, then;
	const unsigned int most = MEMBER_KIB + 2 * LINKS * variant->end_kib;
	long listening = tcp_sockets_in(TCP_STATE_LISTEN);
	struct crowd *crowd = &self->crowd;
	bool local = !strcmp(variant->transport, "local");
	unsigned int i;

	for (i = 1; i < crowd->ngroups; i++)
		ASSERT_EQ(0, crowd_add(crowd));
	/* Members tick twice more, and those of local groups close their listeners. */
	sleep_ms(3000);
	kib = (before - available_kib()) / (long)(crowd->n - RANKS);
	then = munmap_ns();
	busy = machine_busy_ms();
	sleep_ms(IDLE_MS);
	busy = machine_busy_ms() - busy;
	printf("# %u groups of %u ranks: %ld KiB a member, %ld listeners\n", crowd->ngroups, RANKS,
	       kib, tcp_sockets_in(TCP_STATE_LISTEN));
	printf("# munmap %ld ns (%ld before), CPU %ld ms in %u ms\n", then, unmap, busy, IDLE_MS);
	fflush(stdout);
	if (!slow_machine()) {
		EXPECT_LE(kib, (long)most);
		EXPECT_LE(then, 2 * unmap + 5000);
	}
	if (local) {
		EXPECT_LE(tcp_sockets_in(TCP_STATE_LISTEN), listening);
		if (!slow_machine())
			EXPECT_LE(busy, IDLE_MS / 20);
	}
	EXPECT_EQ(0, crowd_barrier(crowd->fd));
	EXPECT_EQ(0, crowd_barrier(crowd->fd + crowd->n - RANKS));
}

TEST_HARNESS_MAIN
