// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group of many ranks of one process with all links by RDMA, and the refusal if the user's limit
 * of kernel memory or of queue pairs is too low for it.
 *
 * The machine has soft-RoCE on its interface dummy0: selftests/vm/run --rdma.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/as_user.h"

#define RANKS		64
#define CONNECT_MS	120000

/* Elements of an allreduce: some bytes, and enough for references to memory. */
#define FEW		2
#define MANY		(512 * 1024)

FIXTURE(crowd) {
	unsigned int n;
	int fd[RANKS];
	char name[33];
	__u64 id;
	struct sockaddr_storage addr[RANKS];
	__u32 *value;
};

FIXTURE_SETUP(crowd)
{
	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	self->value = calloc(RANKS, MANY * sizeof(*self->value));
	ASSERT_NE(NULL, self->value);
	group_unique(self->name, sizeof(self->name), &self->id);
}

FIXTURE_TEARDOWN(crowd)
{
	while (self->n)
		close(self->fd[--self->n]);
	free(self->value);
}

/* Return: 0 or a negative errno. */
static int join_all(int *fd, unsigned int *n, struct sockaddr_storage *addr, const char *name,
		    __u64 id)
{
	int err = 0;

	while (!err && *n < RANKS) {
		struct collective_join join = {
			.id = id,
			.rank = *n,
			.nranks = RANKS,
			.transport = COLLECTIVE_TRANSPORT_RDMA,
		};

		fd[*n] = member_open();
		if (fd[*n] < 0)
			return fd[*n];
		err = member_join_as(fd[*n], &join, name, &addr[*n]);
		fcntl(fd[(*n)++], F_SETFL, O_NONBLOCK);
	}
	return err;
}

/* All ranks reduce @count elements in place.  Return: number of ranks without the right sum. */
static int reduce(const int *fd, __u32 *value, unsigned int count)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.reduction = COLLECTIVE_SUM,
		.count = count,
		.timeout_ms = CONNECT_MS,
	};
	unsigned int rank, i, wrong = 0;
	__u64 request[RANKS];

	for (rank = 0; rank < RANKS; rank++)
		for (i = 0; i < count; i++)
			value[rank * count + i] = rank * 7 + i;
	for (rank = 0; rank < RANKS; rank++) {
		op.send = (uintptr_t)&value[rank * count];
		op.recv = op.send;
		CHECK_EQ(0, member_start(fd[rank], &op, &request[rank]));
	}
	for (rank = 0; rank < RANKS; rank++)
		CHECK_EQ(0, member_wait(fd[rank], request[rank], 0));
	for (rank = 0; rank < RANKS; rank++) {
		for (i = 0; i < count; i++)
			if (value[rank * count + i] != RANKS * (RANKS - 1) / 2 * 7 + RANKS * i)
				break;
		wrong += i < count;
	}
	return wrong;
}

/* Is there no link by a transport? */
static bool no_links(const char *name, unsigned int rank, const char *transport)
{
	char text[512], file[32];

	snprintf(file, sizeof(file), "links/%s", transport);
	return !member_get(name, rank, file, text, sizeof(text)) && text[0] <= '\n';
}

TEST_F_TIMEOUT(crowd, stands, 400)
{
	long long bytes, least = 0, most = 0, sum = 0;
	__u64 begin = now_ms();
	unsigned int i;

	ASSERT_EQ(0, join_all(self->fd, &self->n, self->addr, self->name, self->id));
	for (i = 0; i < RANKS; i++)
		ASSERT_EQ(-EINPROGRESS, member_connect(self->fd[i], self->addr, RANKS, CONNECT_MS));
	ASSERT_EQ(0, members_await_up(self->fd, RANKS));
	TH_LOG("up after %llu ms", (unsigned long long)(now_ms() - begin));
	for (i = 0; i < RANKS; i++) {
		bytes = member_value(self->name, i, "memory_bytes");
		ASSERT_LT(0, bytes);
		least = !i || bytes < least ? bytes : least;
		most = bytes > most ? bytes : most;
		sum += bytes;
	}
	TH_LOG("%lld to %lld bytes of a rank, %lld of all", least, most, sum);
	EXPECT_EQ(0, reduce(self->fd, self->value, FEW));
	EXPECT_EQ(0, reduce(self->fd, self->value, MANY));
	for (i = 0; i < RANKS; i++) {
		EXPECT_TRUE(no_links(self->name, i, "tcp"));
		EXPECT_TRUE(no_links(self->name, i, "local"));
		EXPECT_FALSE(no_links(self->name, i, "rdma"));
	}
}

/* The links of the group take twice as much, and its JOINs much less. */
#define LIMIT		"/sys/module/collective/parameters/user_memory_mib"
#define LIMIT_MIB	"32"

#define END_MS		20000

struct limited_ids {
	char name[2][33];
	__u64 id[2];
};

FIXTURE(limited) {
	char before[32];
	struct limited_ids ids;
};

FIXTURE_SETUP(limited)
{
	int i;

	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, file_get(LIMIT, self->before, sizeof(self->before)));
	ASSERT_EQ(0, file_set(LIMIT, LIMIT_MIB));
	for (i = 0; i < 2; i++)
		group_unique(self->ids.name[i], sizeof(self->ids.name[i]), &self->ids.id[i]);
}

FIXTURE_TEARDOWN(limited)
{
	EXPECT_EQ(0, file_set(LIMIT, self->before));
}

/* Connections that linger keep their charge for some seconds. */
static int join_again(const char *name, __u64 id)
{
	struct sockaddr_storage addr[RANKS];
	__u64 end = now_ms() + END_MS;
	unsigned int n;
	int fd[RANKS], err;

	do {
		n = 0;
		err = join_all(fd, &n, addr, name, id);
		while (n)
			close(fd[--n]);
		sleep_ms(100);
	} while (err == -EDQUOT && now_ms() < end);
	return err;
}

static int is_told(const void *arg)
{
	const struct limited_ids *ids = arg;
	struct sockaddr_storage addr[RANKS];
	unsigned int i, n = 0, told = 0;
	int fd[RANKS], err;

	CHECK_EQ(0, join_all(fd, &n, addr, ids->name[0], ids->id[0]));
	for (i = 0; i < RANKS; i++) {
		err = member_connect(fd[i], addr, RANKS, CONNECT_MS);
		CHECK(err == -EINPROGRESS || err == -EDQUOT);
		told += err == -EDQUOT;
	}
	CHECK(told);
	while (n)
		close(fd[--n]);
	CHECK_EQ(0, join_again(ids->name[1], ids->id[1]));
	return 0;
}

TEST_F_TIMEOUT(limited, is_told, 200)
{
	EXPECT_EQ(0, as_other_user(is_told, &self->ids));
}

/* Queue pairs of a user: enough to join, and too few for the links. */
#define QUEUE_PAIRS		"/sys/module/collective_rdma/parameters/user_queue_pairs"
#define QUEUE_PAIRS_FEW		"8"

FIXTURE(queue_pairs) {
	char before[32];
	struct limited_ids ids;
};

FIXTURE_SETUP(queue_pairs)
{
	int i;

	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, file_get(QUEUE_PAIRS, self->before, sizeof(self->before)));
	ASSERT_EQ(0, file_set(QUEUE_PAIRS, QUEUE_PAIRS_FEW));
	for (i = 0; i < 2; i++)
		group_unique(self->ids.name[i], sizeof(self->ids.name[i]), &self->ids.id[i]);
}

FIXTURE_TEARDOWN(queue_pairs)
{
	EXPECT_EQ(0, file_set(QUEUE_PAIRS, self->before));
}

/* Make a group of two, with four queue pairs.  Return: 0 or a negative errno. */
static int pair_make(const char *name, __u64 id, int *fd)
{
	struct sockaddr_storage addr[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct collective_join join = {
			.id = id,
			.rank = i,
			.nranks = 2,
			.transport = COLLECTIVE_TRANSPORT_RDMA,
		};

		fd[i] = member_open();
		CHECK_EQ(0, member_join_as(fd[i], &join, name, &addr[i]));
		fcntl(fd[i], F_SETFL, O_NONBLOCK);
	}
	for (i = 0; i < 2; i++)
		member_connect(fd[i], addr, 2, CONNECT_MS);
	return members_await_up(fd, 2);
}

static int pair_up(const char *name, __u64 id)
{
	int fd[2], err = pair_make(name, id, fd);

	close(fd[0]);
	close(fd[1]);
	return err;
}

/* A rank learns that its user has too many, and the user has them back when the group has ended. */
static int too_many_are_told(const void *arg)
{
	const struct limited_ids *ids = arg;
	struct sockaddr_storage addr[RANKS];
	struct collective_status status;
	unsigned int i, n = 0, told = 0;
	__u64 end = now_ms() + END_MS;
	int fd[RANKS], err;

	CHECK_EQ(0, join_all(fd, &n, addr, ids->name[0], ids->id[0]));
	for (i = 0; i < RANKS; i++) {
		err = member_connect(fd[i], addr, RANKS, CONNECT_MS);
		/*
		 * The group may have failed already.  A rank whose call was refused sees a reset,
		 * or hears that the other one has no memory for it.
		 */
		if (err != -EDQUOT && err != -ECONNRESET && err != -ENOMEM)
			CHECK_EQ(-EINPROGRESS, err);
	}
	while (!told && now_ms() < end) {
		sleep_ms(10);
		for (i = 0; i < RANKS; i++) {
			CHECK_EQ(0, member_status(fd[i], &status));
			told += status.state == COLLECTIVE_STATE_ABORTED &&
				status.group.kind == COLLECTIVE_REASON_RESOURCES &&
				status.group.error == EDQUOT;
		}
	}
	CHECK(told);
	while (n)
		close(fd[--n]);
	end = now_ms() + END_MS;
	while (pair_up(ids->name[1], ids->id[1]))
		CHECK(now_ms() < end);
	return 0;
}

TEST_F_TIMEOUT(queue_pairs, are_limited, 200)
{
	EXPECT_EQ(0, as_other_user(too_many_are_told, &self->ids));
}

/* As many pairs as a user may have, and another user. */
#define PAIRS		2
#define THIRD_USER	65533

static bool become(unsigned int user)
{
	return !setresgid(user, user, user) && !setresuid(user, user, user);
}

static int new_pair(int *fd)
{
	char name[33];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	return pair_make(name, id, fd);
}

/* Use up what a user may have, say so, and keep it. */
static int keep_all(int told)
{
	int fd[2 * PAIRS + 2];
	unsigned int i;

	CHECK(become(NOBODY));
	for (i = 0; i < PAIRS; i++)
		CHECK_EQ(0, new_pair(fd + 2 * i));
	CHECK(new_pair(fd + 2 * i));
	CHECK_EQ(1, write(told, "", 1));
	return pause();
}

static int new_pair_of_third(void)
{
	int fd[2];

	CHECK(become(THIRD_USER));
	return new_pair(fd);
}

/* What one user has used up, another one still has. */
TEST_F_TIMEOUT(queue_pairs, are_of_one_user, 100)
{
	int told[2], status;
	pid_t pid, third;
	char byte;

	ASSERT_EQ(0, pipe(told));
	pid = fork();
	if (!pid) {
		close(told[0]);
		_exit(keep_all(told[1]));
	}
	close(told[1]);
	EXPECT_EQ(1, read(told[0], &byte, 1));
	third = fork();
	if (!third)
		_exit(!!new_pair_of_third());
	EXPECT_EQ(third, waitpid(third, &status, 0));
	EXPECT_EQ(0, status);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(told[0]);
}

TEST_HARNESS_MAIN
