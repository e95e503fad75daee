// SPDX-License-Identifier: GPL-2.0-only
/* Clients that are no rank connect before the ranks do, or fill the places of a rank. */
#include <netinet/in.h>

#include "lib/group.h"
#include "lib/memory.h"
#include "lib/tcp_only.h"
#include "kselftest_harness.h"
#include "lib/timed.h"

enum { FLAG_BUSY };

TIMED_TESTS(slow)

static int unauth_dial(const struct sockaddr_storage *addr, size_t bytes, unsigned int seed)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	__u8 data[512];
	size_t i;

	if (fd < 0 || connect(fd, (struct sockaddr *)addr, sizeof(struct sockaddr_in))) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (i = 0; i < sizeof(data); i++)
		data[i] = seed ? (seed = seed * 1103515245 + 12345) >> 16 : 0;
	if (bytes && send(fd, data, bytes, MSG_NOSIGNAL) < 0)
		close(fd);
	return fd;
}

static int rank_early_clients(struct rank *r)
{
	const size_t count = 20000;
	int *area = memory(count * sizeof(int));
	unsigned int round;

	CHECK(area);
	/* Some connect before any rank does. */
	if (!r->rank) {
		unauth_dial(&r->shared->addr[1], 0, 0);
		unauth_dial(&r->shared->addr[2], 10, 1);
		unauth_dial(&r->shared->addr[0], 300, 2);
	}
	CHECK_EQ(0, rank_connect(r));
	for (round = 0; round < 30; round++) {
		if (!r->rank) {
			int fd = unauth_dial(&r->shared->addr[round % r->nranks],
					       round * 17, round % 3);

			if (round % 2 && fd >= 0)
				close(fd);
		}
		CHECK_EQ(0, member_allreduce(r->fd, area, area, count, COLLECTIVE_INT32,
					     COLLECTIVE_SUM));
	}
	return 0;
}

TEST_F_TIMEOUT(slow, unauthenticated_clients, 100)
{
	const struct group_config config = { .nranks = 3, .unconnected = true };

	EXPECT_EQ(0, group_run(&config, rank_early_clients, NULL));
}

/* More clients than there are places connect before the peers do, and send nothing. */
static int rank_many_clients(struct rank *r)
{
	unsigned int i;
	__u64 begin;

	if (r->rank == 2) {
		for (i = 0; i < 100; i++)
			CHECK(unauth_dial(&r->shared->addr[2], 0, 0) >= 0);
		flag_set(r->shared, FLAG_BUSY, 1);
	}
	CHECK(flag_wait(r->shared, FLAG_BUSY, 1, 20000));
	begin = now_ms();
	CHECK_EQ(0, rank_connect(r));
	/* Unauthenticated clients are otherwise closed after ten seconds. */
	CHECK(now_ms() - begin < 6000);
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST_F_TIMEOUT(slow, silent_clients, 100)
{
	const struct group_config config = { .nranks = 3, .unconnected = true };

	EXPECT_EQ(0, group_run(&config, rank_many_clients, NULL));
}

TEST_HARNESS_MAIN
