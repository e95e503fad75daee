// SPDX-License-Identifier: GPL-2.0-only
/*
 * All ranks are in one kernel, and one of them has left.  Another program listens on its port: a
 * rank that has had no link to it sends nothing there.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/timed.h"

/* Among this many ranks, the first has no link to the fourth before it needs one. */
enum { RANKS = 6, CALLER = 0, GONE = 3 };

enum { FLAG_UP, FLAG_LEFT, FLAG_CALLED };

/* Return: a listener on @addr, or a negative errno. */
static int stranger_listen(const struct sockaddr_storage *addr)
{
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)addr, sizeof(struct sockaddr_in)) || listen(fd, 8))
		return -errno;
	return fd;
}

static int call_one_that_left(struct rank *r)
{
	__u8 byte = 1;
	const struct collective_op op = {
		.opcode = COLLECTIVE_SEND,
		.type = COLLECTIVE_UINT8,
		.count = 1,
		.root = GONE,
		.send = (uintptr_t)&byte,
		.timeout_ms = 5000,
	};
	struct pollfd stranger = { .events = POLLIN };
	struct collective_status status;

	stranger.fd = stranger_listen(&r->shared->addr[GONE]);
	CHECK(stranger.fd >= 0);
	CHECK_EQ(-ECONNRESET, member_submit(r->fd, &op));
	CHECK_EQ(0, poll(&stranger, 1, 200));
	/* A rank that had a link to it has told why. */
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	CHECK_EQ(GONE, status.group.rank_a);
	close(stranger.fd);
	return 0;
}

static int rank_of_six(struct rank *r)
{
	int err = 0;

	CHECK(flag_barrier(r->shared, FLAG_UP, r->nranks));
	if (r->rank == GONE) {
		CHECK_EQ(0, member_leave(r->fd));
		flag_set(r->shared, FLAG_LEFT, 1);
	}
	CHECK(flag_wait(r->shared, FLAG_LEFT, 1, 20000));
	if (r->rank == CALLER)
		err = call_one_that_left(r);
	/* The others stay until then. */
	CHECK(flag_barrier(r->shared, FLAG_CALLED, r->nranks));
	return err;
}

TIMED_TESTS(left_port)

TEST_F_TIMEOUT(left_port, hears_nothing, 60)
{
	static const unsigned int transport[RANKS] = {
		[0 ... RANKS - 1] = COLLECTIVE_TRANSPORT_AUTO,
	};
	const struct group_config config = { .nranks = RANKS, .transport = transport };

	EXPECT_EQ(0, group_run(&config, rank_of_six, NULL));
}

TEST_HARNESS_MAIN
