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

#include "lib/any_transport.h"
#include "lib/group.h"
#include "lib/idle_cost.h"
#include "kselftest_harness.h"
#include "lib/machine.h"

/* Groups of 16 ranks: CROWD in the environment, or so many. */
#define GROUPS		20
#define GROUPS_MAX	300
#define GROUPS_OF_MANY	8

#define RANKS		16
#define RANKS_MAX	64

/* Peers of one of 16 ranks in the rounds of matching, 1, 2, 4 and 8 away on both sides. */
#define LINKS		7

/*
 * Most KiB of a member with its local connections, of which a page is the board's, because it can
 * be mapped; and of an end of a connection by TCP.
 */
#define MEMBER_KIB	68
#define TCP_END_KIB	64

/* What available memory varies by: slabs that are not full, other processes. */
#define NOISE_KIB	2048

#define IDLE_MS		5000

struct crowd {
	unsigned int ngroups, ranks, n;
	char name[33];
	int fd[GROUPS_MAX * RANKS];
};

/* Add a group whose ranks are all up. */
static int crowd_add(struct crowd *crowd)
{
	struct sockaddr_storage addr[RANKS_MAX];
	__u64 id;

	group_unique(crowd->name, sizeof(crowd->name), &id);
	CHECK_EQ(0, members_make(crowd->fd + crowd->n, addr, crowd->ranks, crowd->name, id));
	crowd->n += crowd->ranks;
	return 0;
}

static int crowd_barrier(const int *fd, unsigned int ranks)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	__u64 request[RANKS_MAX];
	unsigned int i;

	for (i = 0; i < ranks; i++)
		CHECK_EQ(0, member_start(fd[i], &op, &request[i]));
	for (i = 0; i < ranks; i++)
		CHECK_EQ(0, member_wait(fd[i], request[i], 0));
	return 0;
}

FIXTURE(crowd) {
	struct crowd crowd;
};

FIXTURE_VARIANT(crowd) {
	const char *transport;
	unsigned int ranks, most_kib;
};

FIXTURE_VARIANT_ADD(crowd, local) {
	.transport = "local", .ranks = RANKS, .most_kib = MEMBER_KIB
};

FIXTURE_VARIANT_ADD(crowd, local_many) {
	.transport = "local", .ranks = RANKS_MAX, .most_kib = MEMBER_KIB
};

FIXTURE_VARIANT_ADD(crowd, tcp) {
	.transport = "tcp", .ranks = RANKS, .most_kib = MEMBER_KIB + 2 * LINKS * TCP_END_KIB
};

FIXTURE_SETUP(crowd)
{
	unsigned int n = env_number("CROWD", slow_machine() ? 4 : GROUPS);
	struct rlimit limit = { GROUPS_MAX * RANKS + 64, GROUPS_MAX * RANKS + 64 };

	setenv("COLL_TRANSPORT", variant->transport, 1);
	self->crowd.ngroups = n < GROUPS_MAX ? n : GROUPS_MAX;
	self->crowd.ranks = variant->ranks;
	if (variant->ranks > RANKS)
		self->crowd.ngroups = slow_machine() ? 4 : GROUPS_OF_MANY;
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
	long before = available_kib(), unmap = munmap_ns(), gone, members, busy, then;
	long listening = tcp_sockets_in(TCP_STATE_LISTEN);
	struct crowd *crowd = &self->crowd;
	bool local = !strcmp(variant->transport, "local");
	unsigned int i;
	long charged;

	for (i = 1; i < crowd->ngroups; i++)
		ASSERT_EQ(0, crowd_add(crowd));
	/* Members tick twice more, and those of local groups close their listeners. */
	sleep_ms(3000);
	gone = before - available_kib();
	members = crowd->n - crowd->ranks;
	then = munmap_ns();
	busy = machine_busy_ms();
	sleep_ms(IDLE_MS);
	busy = machine_busy_ms() - busy;
	charged = member_value(crowd->name, crowd->ranks - 1, "memory_bytes");
	printf("# %u groups of %u ranks: %ld KiB a member, %ld bytes charged, %ld listeners\n",
	       crowd->ngroups, crowd->ranks, gone / members, charged,
	       tcp_sockets_in(TCP_STATE_LISTEN));
	printf("# munmap %ld ns (%ld before), CPU %ld ms in %u ms\n", then, unmap, busy, IDLE_MS);
	fflush(stdout);
	if (!slow_machine()) {
		EXPECT_LE(gone, members * (long)variant->most_kib + NOISE_KIB);
		EXPECT_LE(then, 2 * unmap + 5000);
	}
	if (local) {
		if (!checked_kernel())
			EXPECT_LE(charged, MEMBER_KIB * 1024);
		EXPECT_LE(tcp_sockets_in(TCP_STATE_LISTEN), listening);
		if (!slow_machine())
			EXPECT_LE(busy, IDLE_MS / 20);
	}
	EXPECT_EQ(0, crowd_barrier(crowd->fd, crowd->ranks));
	EXPECT_EQ(0, crowd_barrier(crowd->fd + crowd->n - crowd->ranks, crowd->ranks));
}

TEST_HARNESS_MAIN
