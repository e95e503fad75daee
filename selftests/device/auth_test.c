// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups with a secret: only a peer that knows the secret is accepted. The test computes the
 * proofs itself (hello_auth.h), according to Documentation/wire.rst.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#include "core/wire/wire.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"
#include "lib/hello_auth.h"
#include "lib/tcp_only.h"

static const __u8 right[COLLECTIVE_SECRET_SIZE] = "the right one";
static const __u8 wrong[COLLECTIVE_SECRET_SIZE] = "the wrong one";
static const __u8 none[COLLECTIVE_SECRET_SIZE];

FIXTURE(secret) {
	char name[33];
	__u64 id;
	int fd[2];
	struct sockaddr_storage addr[2];
};

FIXTURE_SETUP(secret)
{
	self->fd[0] = member_open();
	self->fd[1] = member_open();
	ASSERT_LE(0, self->fd[1]);
	group_unique(self->name, sizeof(self->name), &self->id);
}

FIXTURE_TEARDOWN(secret)
{
	close(self->fd[0]);
	close(self->fd[1]);
}

/* Join as rank @rank of two, with one lane. */
static int join_rank(FIXTURE_DATA(secret) *self, int rank, const __u8 *secret)
{
	struct collective_join join;
	int err;

	join_valid(&join, self->name, self->id);
	join.rank = rank;
	join.lanes = 1;
	memcpy(join.secret, secret, sizeof(join.secret));
	err = member_ioctl(self->fd[rank], COLLECTIVE_IOC_JOIN, &join);
	memcpy(&self->addr[rank], join.addr, sizeof(self->addr[rank]));
	return err;
}

/* CONNECT of both ranks. Return: the result of rank 0. */
static int connect_both(FIXTURE_DATA(secret) *self)
{
	int err;

	fcntl(self->fd[1], F_SETFL, O_NONBLOCK);
	err = member_connect(self->fd[1], self->addr, 2, 20000);
	if (err != -EINPROGRESS)
		return err;
	fcntl(self->fd[1], F_SETFL, 0);
	return member_connect(self->fd[0], self->addr, 2, 20000);
}

/* Check that an operation of the group succeeds. */
static int check_works(FIXTURE_DATA(secret) *self)
{
	int mine[2] = { 20, 22 }, sum[2] = { 0, 0 }, i;
	__u64 request[2];

	for (i = 0; i < 2; i++) {
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.type = COLLECTIVE_INT32,
			.count = 1,
			.send = (uintptr_t)&mine[i],
			.recv = (uintptr_t)&sum[i],
		};

		CHECK_EQ(0, member_start(self->fd[i], &op, &request[i]));
	}
	for (i = 0; i < 2; i++) {
		CHECK_EQ(0, member_wait(self->fd[i], request[i], 0));
		CHECK_EQ(42, sum[i]);
	}
	return 0;
}

/* Return: the number of connections that rank 1 has rejected. */
static long long refused(FIXTURE_DATA(secret) *self)
{
	return member_value(self->name, 1, "refused_connections");
}

static bool wait_rejected(FIXTURE_DATA(secret) *self, long long count)
{
	const __u64 end = now_ms() + 15000;

	while (refused(self) < count && now_ms() < end)
		sleep_ms(5);
	return refused(self) == count;
}

TEST_F(secret, same)
{
	ASSERT_EQ(0, join_rank(self, 0, right));
	ASSERT_EQ(0, join_rank(self, 1, right));
	EXPECT_EQ(0, connect_both(self));
	EXPECT_EQ(0, member_connect(self->fd[1], self->addr, 2, 20000));
	EXPECT_EQ(0, check_works(self));
	EXPECT_EQ(0, refused(self));
}

/* On one host the group keeps the secret of its first member, so JOIN refuses the other one. */
static void refuses(struct __test_metadata *_metadata, FIXTURE_DATA(secret) *self,
		    const __u8 *first, const __u8 *second)
{
	ASSERT_EQ(0, join_rank(self, 0, first));
	EXPECT_EQ(-EACCES, join_rank(self, 1, second));
	/* The file is as it was when it was opened. */
	ASSERT_EQ(0, join_rank(self, 1, first));
	EXPECT_EQ(0, connect_both(self));
	EXPECT_EQ(0, member_connect(self->fd[1], self->addr, 2, 20000));
	EXPECT_EQ(0, check_works(self));
}

TEST_F(secret, another)
{
	refuses(_metadata, self, right, wrong);
}

TEST_F(secret, first_has_none)
{
	refuses(_metadata, self, none, right);
}

TEST_F(secret, only_first_has_one)
{
	refuses(_metadata, self, right, none);
}

/*
 * A client that is not the module
 */

struct handshake {
	__u8 call[HELLO_SIZE];
	__u8 answer[HELLO_SIZE];
	__u8 confirm[HELLO_SIZE];
};

/* Make the call of rank 0 to rank 1 for a control connection. */
static void call_make(FIXTURE_DATA(secret) *self, struct handshake *handshake, __u8 nonce)
{
	__u8 *c = handshake->call;
	__u32 two = 2, one = 1, inflight;
	struct collective_query query = { .size = sizeof(query) };

	member_ioctl(self->fd[0], COLLECTIVE_IOC_QUERY, &query);
	inflight = query.inflight_max;
	memset(c, 0, HELLO_SIZE);
	memcpy(c, "COLL", 4);
	c[4] = COLL_WIRE_VERSION;
	c[HELLO_SECURED] = 1;
	memcpy(c + 16, &self->id, 8);
	strcpy((char *)c + 24, self->name);
	memcpy(c + 68, &one, 4);
	memcpy(c + 72, &two, 4);
	memcpy(c + 76, &one, 4);
	memcpy(c + 80, &inflight, 4);
	memset(c + HELLO_NONCE, nonce, 32);
}

static void confirm_make(struct handshake *handshake, const __u8 *secret)
{
	hello_confirm(handshake->call, handshake->answer, secret, handshake->confirm);
}

/* Send the call and receive the answer. Return: the socket. */
static int handshake_call(FIXTURE_DATA(secret) *self, struct handshake *handshake)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 &&
	    !connect(fd, (struct sockaddr *)&self->addr[1], sizeof(struct sockaddr_in)) &&
	    send(fd, handshake->call, HELLO_SIZE, MSG_NOSIGNAL) == HELLO_SIZE &&
	    recv(fd, handshake->answer, HELLO_SIZE, MSG_WAITALL) == HELLO_SIZE)
		return fd;
	close(fd);
	return -1;
}

/* True if the connection ends without more bytes. */
static bool is_closed(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	__u8 byte;
	bool end;

	end = poll(&poll_fd, 1, 15000) == 1 && recv(fd, &byte, 1, 0) <= 0;
	close(fd);
	return end;
}

TEST_F(secret, impostors)
{
	struct handshake handshake, old;
	__u8 proof[32];
	int fd, i;

	ASSERT_EQ(0, join_rank(self, 0, right));
	ASSERT_EQ(0, join_rank(self, 1, right));

	/* A call without a secret: the answer has an errno. */
	call_make(self, &handshake, 0);
	handshake.call[HELLO_SECURED] = 0;
	fd = handshake_call(self, &handshake);
	ASSERT_LE(0, fd);
	EXPECT_EQ(EACCES, handshake.answer[HELLO_ERROR]);
	EXPECT_TRUE(is_closed(fd));

	/* The called rank proves first that it knows the secret, over this call. */
	call_make(self, &handshake, 7);
	fd = handshake_call(self, &handshake);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, handshake.answer[HELLO_ERROR]);
	EXPECT_EQ(1, handshake.answer[HELLO_STAGE]);
	hello_prove(handshake.call, handshake.answer, 1, right, proof);
	EXPECT_EQ(0, memcmp(proof, handshake.answer + HELLO_PROOF, 32));

	/* A wrong proof, the proof of the answer, no proof, random bytes. */
	confirm_make(&handshake, wrong);
	EXPECT_EQ(HELLO_SIZE, send(fd, handshake.confirm, HELLO_SIZE, MSG_NOSIGNAL));
	EXPECT_TRUE(is_closed(fd));
	for (i = 0; i < 3; i++) {
		fd = handshake_call(self, &handshake);
		ASSERT_LE(0, fd);
		confirm_make(&handshake, right);
		memcpy(handshake.confirm + HELLO_PROOF, handshake.answer + HELLO_PROOF, 32);
		if (i)
			memset(handshake.confirm + (i == 1 ? HELLO_PROOF : 0), i - 1, 32);
		EXPECT_EQ(HELLO_SIZE, send(fd, handshake.confirm, HELLO_SIZE, MSG_NOSIGNAL));
		EXPECT_TRUE(is_closed(fd));
	}

	/* A valid proof of another call: another lane, another rank. */
	call_make(self, &handshake, 9);
	fd = handshake_call(self, &handshake);
	ASSERT_LE(0, fd);
	confirm_make(&handshake, right);
	handshake.confirm[7] = 1;
	EXPECT_EQ(HELLO_SIZE, send(fd, handshake.confirm, HELLO_SIZE, MSG_NOSIGNAL));
	EXPECT_TRUE(is_closed(fd));

	/* Replay of a valid handshake. */
	call_make(self, &handshake, 11);
	fd = handshake_call(self, &handshake);
	ASSERT_LE(0, fd);
	old = handshake;
	confirm_make(&old, right);
	close(fd);
	fd = handshake_call(self, &handshake);
	ASSERT_LE(0, fd);
	EXPECT_NE(0, memcmp(old.answer + HELLO_NONCE, handshake.answer + HELLO_NONCE, 32));
	EXPECT_EQ(HELLO_SIZE, send(fd, old.confirm, HELLO_SIZE, MSG_NOSIGNAL));
	EXPECT_TRUE(is_closed(fd));

	EXPECT_TRUE(wait_rejected(self, 8));
	/* The group still works. */
	EXPECT_EQ(0, connect_both(self));
	EXPECT_EQ(0, member_connect(self->fd[1], self->addr, 2, 20000));
	EXPECT_EQ(0, check_works(self));
}

/*
 * A client with the secret is accepted, whatever its implementation: the protocol is as
 * documented.
 */
TEST_F(secret, client_with_secret)
{
	struct handshake handshake;
	__u8 frame[48];
	int fd;

	ASSERT_EQ(0, join_rank(self, 1, right));
	fcntl(self->fd[1], F_SETFL, O_NONBLOCK);
	memcpy(&self->addr[0], &self->addr[1], sizeof(self->addr[0]));
	ASSERT_EQ(-EINPROGRESS, member_connect(self->fd[1], self->addr, 2, 20000));
	call_make(self, &handshake, 13);
	fd = handshake_call(self, &handshake);
	ASSERT_LE(0, fd);
	confirm_make(&handshake, right);
	EXPECT_EQ(HELLO_SIZE, send(fd, handshake.confirm, HELLO_SIZE, MSG_NOSIGNAL));
	/* A PING arrives: this is a control connection now. */
	EXPECT_EQ(sizeof(frame), recv(fd, frame, sizeof(frame), MSG_WAITALL));
	EXPECT_EQ(0xc7, frame[0]);
	close(fd);
}

/* Many clients that know everything but the secret do not take the places of the ranks. */
TEST_F(secret, many_clients)
{
	int fd[100], i;
	struct handshake handshake;

	ASSERT_EQ(0, join_rank(self, 0, right));
	ASSERT_EQ(0, join_rank(self, 1, right));
	call_make(self, &handshake, 17);
	for (i = 0; i < 100; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ASSERT_EQ(0, connect(fd[i], (struct sockaddr *)&self->addr[1],
				     sizeof(struct sockaddr_in)));
		ASSERT_EQ(HELLO_SIZE, send(fd[i], handshake.call, HELLO_SIZE, MSG_NOSIGNAL));
	}
	EXPECT_EQ(0, connect_both(self));
	EXPECT_EQ(0, member_connect(self->fd[1], self->addr, 2, 20000));
	EXPECT_EQ(0, check_works(self));
	for (i = 0; i < 100; i++)
		close(fd[i]);
}

/*
 * Refused calls: what the caller is told
 */

/* True if the answer is the call, but for its stage and for @error; 0 is any errno. */
static int echoed(const struct handshake *handshake, int error)
{
	__u8 answer[HELLO_SIZE];
	__u32 told;

	memcpy(&told, handshake->answer + HELLO_ERROR, sizeof(told));
	CHECK(told);
	if (error)
		CHECK_EQ(error, told);
	CHECK_EQ(1, handshake->answer[HELLO_STAGE]);
	memcpy(answer, handshake->answer, HELLO_SIZE);
	answer[HELLO_STAGE] = handshake->call[HELLO_STAGE];
	memcpy(answer + HELLO_ERROR, handshake->call + HELLO_ERROR, sizeof(told));
	CHECK(!memcmp(answer, handshake->call, HELLO_SIZE));
	return 0;
}

/* Call rank 1 with one invalid field; check the refusal. */
static int refused_with(FIXTURE_DATA(secret) *self, struct handshake *handshake, int error)
{
	int fd = handshake_call(self, handshake);

	CHECK(fd >= 0);
	CHECK_EQ(0, echoed(handshake, error));
	CHECK(is_closed(fd));
	return 0;
}

/* Bytes of a call, and invalid values. */
static const struct {
	int at, len, error;
	__u8 bytes[4];
} bad_fields[] = {
	{ 16, 4, EACCES, { 1, 2, 3, 4 } },	/* id */
	{ 24, 4, EACCES, { 'n', 'o', 'n', 'e' } },
	{ 68, 1, EACCES, { 0 } },		/* receiver's rank */
	{ 64, 1, EACCES, { 1 } },		/* sender's rank */
	{ 72, 1, EINVAL, { 3 } },		/* ranks */
	{ 76, 1, EINVAL, { 2 } },		/* lanes */
	{ 80, 1, EINVAL, { 7 } },		/* requests in flight */
	{ HELLO_STAGE, 1, EACCES, { 1 } },
};

static int refusals(FIXTURE_DATA(secret) *self, const __u8 *secret)
{
	const bool secured = memcmp(secret, none, sizeof(none));
	struct handshake handshake;
	unsigned int i;

	CHECK_EQ(0, join_rank(self, 0, secret));
	CHECK_EQ(0, join_rank(self, 1, secret));
	for (i = 0; i < ARRAY_SIZE(bad_fields); i++) {
		call_make(self, &handshake, secured ? 5 : 0);
		handshake.call[HELLO_SECURED] = secured;
		memcpy(handshake.call + bad_fields[i].at, bad_fields[i].bytes, bad_fields[i].len);
		/* An answer of a group with a secret has a proof. */
		if (bad_fields[i].at == HELLO_STAGE && secured)
			memset(handshake.call + HELLO_PROOF, 3, PROOF_SIZE);
		CHECK_EQ(0, refused_with(self, &handshake, bad_fields[i].error));
	}
	/* Only one side has a secret. */
	call_make(self, &handshake, secured ? 0 : 5);
	handshake.call[HELLO_SECURED] = !secured;
	CHECK_EQ(0, refused_with(self, &handshake, EACCES));
	/* A valid call that names an unknown group. */
	call_make(self, &handshake, secured ? 5 : 0);
	handshake.call[HELLO_SECURED] = secured;
	memset(handshake.call + 16, 0, 48);
	CHECK_EQ(0, refused_with(self, &handshake, EACCES));
	CHECK(wait_rejected(self, ARRAY_SIZE(bad_fields) + 2));
	CHECK_EQ(0, connect_both(self));
	CHECK_EQ(0, member_connect(self->fd[1], self->addr, 2, 20000));
	return check_works(self);
}

TEST_F(secret, refusal_echoes)
{
	EXPECT_EQ(0, refusals(self, none));
}

TEST_F(secret, refusal_echoes_secured)
{
	EXPECT_EQ(0, refusals(self, right));
}

/* A second connection of one kind is refused, but its caller is not told why. */
TEST_F(secret, refusal_of_second)
{
	struct handshake handshake;

	ASSERT_EQ(0, join_rank(self, 0, none));
	ASSERT_EQ(0, join_rank(self, 1, none));
	ASSERT_EQ(0, connect_both(self));
	ASSERT_EQ(0, member_connect(self->fd[1], self->addr, 2, 20000));
	call_make(self, &handshake, 0);
	handshake.call[HELLO_SECURED] = 0;
	EXPECT_EQ(0, refused_with(self, &handshake, EBUSY));
	EXPECT_EQ(0, check_works(self));
}

/*
 * Byte order
 */

static void magic_swap(__u8 *hello)
{
	memcpy(hello, "LLOC", 4);
}

static bool kernel_says(const char *what)
{
	static char log[1 << 17];
	int len = klogctl(3, log, sizeof(log) - 1);

	log[len < 0 ? 0 : len] = 0;
	return strstr(log, what);
}

TEST_F(secret, byte_order_of_caller)
{
	struct handshake handshake;

	ASSERT_EQ(0, join_rank(self, 0, none));
	ASSERT_EQ(0, join_rank(self, 1, none));
	/* One refusal a second is logged. */
	sleep_ms(1200);
	call_make(self, &handshake, 0);
	handshake.call[HELLO_SECURED] = 0;
	magic_swap(handshake.call);
	EXPECT_EQ(0, refused_with(self, &handshake, EOPNOTSUPP));
	EXPECT_TRUE(wait_rejected(self, 1));
	EXPECT_TRUE(kernel_says("byte order"));
	EXPECT_EQ(0, connect_both(self));
	EXPECT_EQ(0, member_connect(self->fd[1], self->addr, 2, 20000));
	EXPECT_EQ(0, check_works(self));
}

/* Rank 0 calls a rank 1 that is a listening socket. */
static int listener(FIXTURE_DATA(secret) *self)
{
	socklen_t len = sizeof(self->addr[1]);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	loopback(&self->addr[1], AF_INET);
	if (bind(fd, (struct sockaddr *)&self->addr[1], sizeof(struct sockaddr_in)) ||
	    listen(fd, 8) || getsockname(fd, (struct sockaddr *)&self->addr[1], &len))
		return -1;
	return fd;
}

/* Answer the first call with the same bytes and an errno, perhaps in the other byte order. */
static int answers(FIXTURE_DATA(secret) *self, int error, bool swapped,
		   struct collective_status *status)
{
	struct pollfd poll_fd = { .fd = self->fd[0], .events = POLLOUT };
	__u8 hello[HELLO_SIZE];
	int fd, conn;

	CHECK_EQ(0, join_rank(self, 0, none));
	fd = listener(self);
	CHECK(fd >= 0);
	fcntl(self->fd[0], F_SETFL, O_NONBLOCK);
	CHECK_EQ(-EINPROGRESS, member_connect(self->fd[0], self->addr, 2, 20000));
	conn = accept(fd, NULL, NULL);
	CHECK_EQ(HELLO_SIZE, recv(conn, hello, HELLO_SIZE, MSG_WAITALL));
	hello[HELLO_STAGE] = 1;
	memcpy(hello + HELLO_ERROR, &error, sizeof(error));
	if (swapped)
		magic_swap(hello);
	CHECK_EQ(HELLO_SIZE, send(conn, hello, HELLO_SIZE, MSG_NOSIGNAL));
	CHECK_EQ(1, poll(&poll_fd, 1, 15000));
	CHECK_EQ(0, member_status(self->fd[0], status));
	close(conn);
	close(fd);
	return 0;
}

static void caller_learns(struct __test_metadata *_metadata, FIXTURE_DATA(secret) *self,
			  int error, bool swapped, unsigned int kind, unsigned int returned)
{
	struct collective_status status;

	ASSERT_EQ(0, answers(self, error, swapped, &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(kind, status.group.kind);
	EXPECT_EQ(1, status.group.rank_a);
	EXPECT_EQ(returned, status.group.error);
	EXPECT_EQ(-(int)returned, member_connect(self->fd[0], self->addr, 2, 20000));
}

TEST_F(secret, byte_order_of_answer)
{
	caller_learns(_metadata, self, EOPNOTSUPP, true, COLLECTIVE_REASON_PROTOCOL, EOPNOTSUPP);
}

TEST_F(secret, refused_for_byte_order)
{
	caller_learns(_metadata, self, EOPNOTSUPP, false, COLLECTIVE_REASON_PROTOCOL, EOPNOTSUPP);
}

TEST_F(secret, refused_for_memory)
{
	caller_learns(_metadata, self, ENOMEM, false, COLLECTIVE_REASON_RESOURCES, ENOMEM);
}

TEST_F(secret, refused)
{
	caller_learns(_metadata, self, EBUSY, false, COLLECTIVE_REASON_PROTOCOL, EACCES);
}

TEST_HARNESS_MAIN
