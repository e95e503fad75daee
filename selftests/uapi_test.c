// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device's interface: every argument that is not as it should be has its
 * errno, and leaves everything as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "group.h"
#include "kselftest_harness.h"

#define IOC_NONE(_nr)	_IO(COLLECTIVE_IOC_MAGIC, _nr)

union argument {
	__u32 size;
	__u8 bytes[8192];
	struct collective_query query;
	struct collective_join join;
	struct collective_connect connect;
	struct collective_register reg;
	struct collective_unregister unreg;
	struct collective_submit submit;
	struct collective_status status;
	struct collective_leave leave;
};

/* What each answers on a new file to a struct of zeros. */
static const struct ioctl_case {
	const char *name;
	unsigned int cmd;
	unsigned int size;
	int zeros;
	bool back;
} ioctl_cases[] = {
	{ "QUERY", COLLECTIVE_IOC_QUERY, sizeof(struct collective_query), 0, true },
	{ "JOIN", COLLECTIVE_IOC_JOIN, sizeof(struct collective_join), -EINVAL, true },
	{ "CONNECT", COLLECTIVE_IOC_CONNECT, sizeof(struct collective_connect), -ENOTCONN, false },
	{ "REGISTER", COLLECTIVE_IOC_REGISTER, sizeof(struct collective_register), -EINVAL, true },
	{ "UNREGISTER", COLLECTIVE_IOC_UNREGISTER, sizeof(struct collective_unregister), -ENOENT,
	  false },
	{ "SUBMIT", COLLECTIVE_IOC_SUBMIT, sizeof(struct collective_submit), -ENOTCONN, true },
	{ "STATUS", COLLECTIVE_IOC_STATUS, sizeof(struct collective_status), 0, true },
	{ "LEAVE", COLLECTIVE_IOC_LEAVE, sizeof(struct collective_leave), -ENOTCONN, false },
};

#define for_each_ioctl(_c) \
	for ((_c) = ioctl_cases; (_c) < ioctl_cases + ARRAY_SIZE(ioctl_cases); (_c)++)

/*
 * A file that is nobody's yet
 */

FIXTURE(fresh) {
	int fd;
	char name[33];
	__u64 id;
};

FIXTURE_SETUP(fresh)
{
	self->fd = member_open();
	ASSERT_LE(0, self->fd);
	group_unique(self->name, sizeof(self->name), &self->id);
}

FIXTURE_TEARDOWN(fresh)
{
	close(self->fd);
}

static void join_good(struct collective_join *join, const char *name, __u64 id)
{
	struct sockaddr_storage addr;

	memset(join, 0, sizeof(*join));
	join->size = sizeof(*join);
	memcpy(join->name, name, strlen(name));
	join->id = id;
	join->nranks = 2;
	join->addr_len = sizeof(struct sockaddr_in);
	loopback(&addr, AF_INET);
	memcpy(join->addr, &addr, sizeof(addr));
}

TEST_F(fresh, unknown_ioctl)
{
	static const unsigned int cmds[] = {
		IOC_NONE(0x06), IOC_NONE(0x07), IOC_NONE(0x0a), IOC_NONE(0x40), IOC_NONE(0xff),
		_IO(0xdd, 0), _IO(0, 0),
		_IOR(COLLECTIVE_IOC_MAGIC, 0, __u32),
		_IOWR(COLLECTIVE_IOC_MAGIC, 0, struct collective_query),
	};
	union argument arg = { .size = sizeof(struct collective_query) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		EXPECT_EQ(-ENOTTY, member_ioctl(self->fd, cmds[i], &arg))
			TH_LOG("command %#x", cmds[i]);
	}
}

TEST_F(fresh, sizes)
{
	const struct ioctl_case *c;
	union argument arg;
	unsigned int size;

	for_each_ioctl(c) {
		for (size = 0; size < c->size; size++) {
			memset(&arg, 0, sizeof(arg));
			arg.size = size;
			ASSERT_EQ(-EINVAL, member_ioctl(self->fd, c->cmd, &arg))
				TH_LOG("%s of %u bytes", c->name, size);
		}
		/* A newer program's: zeros are what was always meant. */
		for (size = c->size; size <= 4096; size += size < c->size + 16 ? 1 : 777) {
			memset(&arg, 0, sizeof(arg));
			arg.size = size;
			ASSERT_EQ(c->zeros, member_ioctl(self->fd, c->cmd, &arg))
				TH_LOG("%s of %u bytes", c->name, size);
			ASSERT_EQ(size, arg.size);
			if (size == c->size)
				continue;
			memset(&arg, 0, sizeof(arg));
			arg.size = size;
			arg.bytes[size - 1] = 1;
			ASSERT_EQ(-E2BIG, member_ioctl(self->fd, c->cmd, &arg))
				TH_LOG("%s of %u bytes", c->name, size);
		}
		memset(&arg, 0, sizeof(arg));
		arg.size = getpagesize() + 1;
		ASSERT_EQ(-E2BIG, member_ioctl(self->fd, c->cmd, &arg));
		arg.size = ~0U;
		ASSERT_EQ(-E2BIG, member_ioctl(self->fd, c->cmd, &arg));
	}
}

TEST_F(fresh, bad_pointers)
{
	const size_t page = getpagesize();
	const struct ioctl_case *c;
	__u8 *map, *at;

	map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, mprotect(map + page, page, PROT_NONE));
	for_each_ioctl(c) {
		EXPECT_EQ(-EFAULT, member_ioctl(self->fd, c->cmd, NULL));
		EXPECT_EQ(-EFAULT, member_ioctl(self->fd, c->cmd, map + page));
		EXPECT_EQ(-EFAULT, member_ioctl(self->fd, c->cmd, (void *)~0xfUL));
		EXPECT_EQ(-EFAULT, member_ioctl(self->fd, c->cmd, (void *)0xffff800000000000UL));
		/* The last byte is out of reach. */
		at = map + page - c->size + 1;
		memset(map, 0, page);
		memcpy(at, &c->size, sizeof(c->size));
		EXPECT_EQ(-EFAULT, member_ioctl(self->fd, c->cmd, at))
			TH_LOG("%s across the end", c->name);
	}
	munmap(map, 2 * page);
}

/* An answer that cannot be given is found before anything is done. */
TEST_F(fresh, read_only_answer)
{
	const size_t page = getpagesize();
	struct collective_status status;
	const struct ioctl_case *c;
	union argument *arg;

	arg = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	for_each_ioctl(c) {
		if (!c->back)
			continue;
		ASSERT_EQ(0, mprotect(arg, page, PROT_READ | PROT_WRITE));
		memset(arg, 0, page);
		arg->size = c->size;
		if (c->cmd == COLLECTIVE_IOC_JOIN)
			join_good(&arg->join, self->name, self->id);
		ASSERT_EQ(0, mprotect(arg, page, PROT_READ));
		EXPECT_EQ(-EFAULT, member_ioctl(self->fd, c->cmd, arg))
			TH_LOG("%s into a read-only page", c->name);
	}
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_NEW, status.state);
	munmap(arg, 2 * page);
}

TEST_F(fresh, flags)
{
	const struct ioctl_case *c;
	union argument arg;
	int bit;

	for_each_ioctl(c) {
		if (c->cmd == COLLECTIVE_IOC_UNREGISTER)
			continue;
		for (bit = 0; bit < 32; bit++) {
			memset(&arg, 0, sizeof(arg));
			arg.size = c->size;
			if (c->cmd == COLLECTIVE_IOC_JOIN)
				join_good(&arg.join, self->name, self->id);
			arg.query.flags = 1U << bit;
			ASSERT_EQ(-EINVAL, member_ioctl(self->fd, c->cmd, &arg))
				TH_LOG("%s with flag %d", c->name, bit);
		}
	}
}

TEST_F(fresh, query)
{
	struct collective_query query = { .size = sizeof(query) };

	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_QUERY, &query));
	EXPECT_EQ(COLLECTIVE_ABI_VERSION, query.abi_version);
	EXPECT_EQ(COLLECTIVE_LANES_MAX, query.lanes_max);
	EXPECT_EQ(COLLECTIVE_RANKS_MAX, query.ranks_max);
	EXPECT_LE(1, query.inflight_max);
	EXPECT_EQ(COLLECTIVE_EAGER_LIMIT, query.eager_limit);
	EXPECT_TRUE(query.transports & 1U << COLLECTIVE_TRANSPORT_TCP);
	EXPECT_TRUE(query.opcodes & 1ULL << COLLECTIVE_ALLREDUCE);
	EXPECT_TRUE(query.opcodes & 1ULL << COLLECTIVE_BARRIER);
	EXPECT_EQ(0, query.opcodes >> COLLECTIVE_OPCODE_COUNT);
	EXPECT_EQ((1ULL << COLLECTIVE_TYPE_COUNT) - 1, query.types);
	EXPECT_EQ((1ULL << COLLECTIVE_REDUCTION_COUNT) - 1, query.reductions);
}

TEST_F(fresh, status)
{
	struct collective_status status;

	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_NEW, status.state);
	EXPECT_EQ(0, status.inflight);
	EXPECT_EQ(0, status.submitted);
	EXPECT_EQ(0, status.completed);
	EXPECT_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	EXPECT_EQ(COLLECTIVE_RANK_NONE, status.group.rank_a);
	EXPECT_EQ(COLLECTIVE_REASON_NONE, status.last.kind);
	EXPECT_EQ(~0ULL, status.last.instance);
}

TEST_F(fresh, nothing_before_join)
{
	struct sockaddr_storage peers[2] = {};
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	struct pollfd poll_fd = { .fd = self->fd, .events = POLLIN | POLLOUT };
	char page[64];
	__u32 buffer;

	EXPECT_EQ(-ENOTCONN, member_connect(self->fd, peers, 2, 100));
	EXPECT_EQ(-ENOTCONN, member_register(self->fd, page, sizeof(page), 0, &buffer));
	EXPECT_EQ(-ENOENT, member_unregister(self->fd, 1));
	EXPECT_EQ(-ENOTCONN, member_submit(self->fd, &op));
	EXPECT_EQ(-ENOTCONN, member_leave(self->fd));
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
	EXPECT_EQ(-1, read(self->fd, page, sizeof(page)));
	EXPECT_EQ(-1, write(self->fd, page, sizeof(page)));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, 0));
}

TEST_F(fresh, join_names)
{
	static const char * const bad[] = {
		"", ".", "..", "a b", "a/b", "/", "a\n", "\x7f", "\xc3\xa9", "a:b", "%s", "~",
		"012345678901234567890123456789012", "0123456789012345678901234567890123456789",
	};
	static const char * const good[] = {
		"a", "...", ".a", "-", "_", "A-Za-z0-9._-", "01234567890123456789012345678901",
	};
	struct collective_status before, after;
	struct collective_join join;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, member_status(self->fd, &before));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		join_good(&join, "", self->id);
		memcpy(join.name, bad[i], strnlen(bad[i], sizeof(join.name)));
		EXPECT_EQ(-EINVAL, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join))
			TH_LOG("name \"%s\"", bad[i]);
	}
	/* Something behind the end. */
	join_good(&join, "a", self->id);
	join.name[39] = 'x';
	EXPECT_EQ(-EINVAL, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		fd = member_open();
		join_good(&join, good[i], self->id);
		EXPECT_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join))
			TH_LOG("name \"%s\"", good[i]);
		close(fd);
	}
}

TEST_F(fresh, join_values)
{
	struct collective_status before, after;
	struct collective_join join;

	ASSERT_EQ(0, member_status(self->fd, &before));
#define EXPECT_JOIN(_error, _change) do {						\
	join_good(&join, self->name, self->id);						\
	_change;									\
	EXPECT_EQ(_error, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join))		\
		TH_LOG("%s", #_change);							\
} while (0)
	EXPECT_JOIN(-EINVAL, join.rank = 2);
	EXPECT_JOIN(-EINVAL, join.rank = ~0U);
	EXPECT_JOIN(-EINVAL, join.nranks = 0);
	EXPECT_JOIN(-EINVAL, join.nranks = COLLECTIVE_RANKS_MAX + 1);
	EXPECT_JOIN(-EINVAL, join.nranks = ~0U);
	EXPECT_JOIN(-EINVAL, join.lanes = COLLECTIVE_LANES_MAX + 1);
	EXPECT_JOIN(-EINVAL, join.lanes = ~0U);
	EXPECT_JOIN(-EOPNOTSUPP, join.transport = COLLECTIVE_TRANSPORT_RDMA);
	EXPECT_JOIN(-EINVAL, join.transport = COLLECTIVE_TRANSPORT_COUNT);
	EXPECT_JOIN(-EINVAL, join.transport = ~0U);
	EXPECT_JOIN(-EINVAL, join.reserved = 1);
	EXPECT_JOIN(-EINVAL, join.secret[0] = 1);
	EXPECT_JOIN(-EINVAL, join.secret[COLLECTIVE_SECRET_SIZE - 1] = 1);
	EXPECT_JOIN(-EINVAL, join.addr_len = 0);
	EXPECT_JOIN(-EINVAL, join.addr_len = 1);
	EXPECT_JOIN(-EINVAL, join.addr_len = sizeof(sa_family_t));
	EXPECT_JOIN(-EINVAL, join.addr_len = sizeof(struct sockaddr_in) - 1);
	EXPECT_JOIN(-EINVAL, join.addr_len = COLLECTIVE_ADDR_SIZE + 1);
	EXPECT_JOIN(-EINVAL, join.addr_len = ~0U);
	EXPECT_JOIN(-EAFNOSUPPORT, join.addr[0] = AF_UNIX);
	EXPECT_JOIN(-EAFNOSUPPORT, join.addr[0] = AF_UNSPEC);
	/* 192.0.2.1 is nobody's. */
	EXPECT_JOIN(-EADDRNOTAVAIL, memcpy(join.addr + 4, "\xc0\x00\x02\x01", 4));
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));

	EXPECT_JOIN(0, join.lanes = COLLECTIVE_LANES_MAX);
	EXPECT_EQ(COLLECTIVE_LANES_MAX, join.lanes);
	EXPECT_EQ(sizeof(struct sockaddr_in), join.addr_len);
	EXPECT_NE(0, ((struct sockaddr_in *)join.addr)->sin_port);
	EXPECT_JOIN(-EISCONN, (void)0);
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(COLLECTIVE_STATE_JOINED, after.state);
	EXPECT_EQ(COLLECTIVE_LANES_MAX, after.lanes);
}

TEST_F(fresh, join_largest)
{
	struct collective_join join;

	join_good(&join, self->name, self->id);
	join.nranks = COLLECTIVE_RANKS_MAX;
	join.rank = COLLECTIVE_RANKS_MAX - 1;
	EXPECT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));
	EXPECT_EQ(0, member_leave(self->fd));
}

TEST_F(fresh, join_ports)
{
	struct sockaddr_in *addr;
	struct collective_join join;
	char name[40];
	int fd = member_open();

	join_good(&join, self->name, self->id);
	ASSERT_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
	addr = (struct sockaddr_in *)join.addr;
	/* Another group, the same port. */
	snprintf(name, sizeof(name), "%.30s.b", self->name);
	memset(join.name, 0, sizeof(join.name));
	memcpy(join.name, name, strlen(name));
	join.rank = 1;
	EXPECT_NE(0, addr->sin_port);
	EXPECT_EQ(-EADDRINUSE, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));
	close(fd);
	EXPECT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));
}

/* Two files want one place; where they come from does not matter. */
TEST_F(fresh, join_taken)
{
	struct collective_status status;
	struct collective_join join;
	int other = member_open();
	int code;
	pid_t pid;

	join_good(&join, self->name, self->id);
	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));

	pid = fork();
	if (!pid) {
		int fd = member_open();

		join_good(&join, self->name, self->id);
		_exit(member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join) == -EBUSY ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);

	join_good(&join, self->name, self->id);
	EXPECT_EQ(-EBUSY, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	join_good(&join, self->name, self->id + 1);
	join.rank = 1;
	EXPECT_EQ(-EEXIST, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	join_good(&join, self->name, self->id);
	join.rank = 1;
	join.nranks = 3;
	EXPECT_EQ(-EEXIST, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	join_good(&join, self->name, self->id);
	join.rank = 1;
	join.lanes = 2;
	EXPECT_EQ(-EEXIST, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	ASSERT_EQ(0, member_status(other, &status));
	EXPECT_EQ(COLLECTIVE_STATE_NEW, status.state);

	/* The refused one may still become something else. */
	join_good(&join, self->name, self->id);
	join.rank = 1;
	EXPECT_EQ(0, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	/* A place is free again once its file is closed, or has left. */
	EXPECT_EQ(0, member_leave(other));
	close(other);
	other = member_open();
	join_good(&join, self->name, self->id);
	join.rank = 1;
	EXPECT_EQ(0, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	close(other);
}

TEST_F(fresh, join_two_names)
{
	struct sockaddr_storage addr;
	char name[40];
	int other = member_open();

	snprintf(name, sizeof(name), "%.30s.b", self->name);
	EXPECT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &addr));
	EXPECT_EQ(0, member_join(other, name, self->id, 0, 2, &addr));
	close(other);
}

TEST_F(fresh, connect_values)
{
	struct sockaddr_storage peers[3] = {}, bad[2];
	struct collective_status before, after;
	struct collective_connect connect = { .size = sizeof(connect) };

	ASSERT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &peers[0]));
	loopback(&peers[1], AF_INET);
	ASSERT_EQ(0, member_status(self->fd, &before));
	EXPECT_EQ(-EINVAL, member_connect(self->fd, peers, 0, 100));
	EXPECT_EQ(-EINVAL, member_connect(self->fd, peers, 1, 100));
	EXPECT_EQ(-EINVAL, member_connect(self->fd, peers, 3, 100));
	EXPECT_EQ(-EINVAL, member_connect(self->fd, peers, ~0U, 100));
	EXPECT_EQ(-EFAULT, member_connect(self->fd, NULL, 2, 100));
	EXPECT_EQ(-EFAULT, member_connect(self->fd, (void *)~0xfffUL, 2, 100));
	connect.npeers = 2;
	connect.peers = 1ULL << 63;
	EXPECT_EQ(-EFAULT, member_ioctl(self->fd, COLLECTIVE_IOC_CONNECT, &connect));
	memcpy(bad, peers, sizeof(bad));
	bad[1].ss_family = AF_UNIX;
	EXPECT_EQ(-EINVAL, member_connect(self->fd, bad, 2, 100));
	bad[1].ss_family = 0;
	EXPECT_EQ(-EINVAL, member_connect(self->fd, bad, 2, 100));
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_EQ(COLLECTIVE_STATE_JOINED, after.state);
}

TEST_F(fresh, submit_before_connect)
{
	struct sockaddr_storage addr;

	ASSERT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &addr));
	EXPECT_EQ(-ENOTCONN, member_barrier(self->fd));
	EXPECT_EQ(0, member_leave(self->fd));
	EXPECT_EQ(-ENOTCONN, member_leave(self->fd));
	EXPECT_EQ(-ENOTCONN, member_barrier(self->fd));
}

/* Nobody listens where rank 1 should be. */
TEST_F(fresh, connect_refused)
{
	struct sockaddr_storage peers[2];
	struct collective_status status;
	int other = member_open();

	ASSERT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &peers[0]));
	ASSERT_EQ(0, member_join(other, self->name, self->id, 1, 2, &peers[1]));
	close(other);
	EXPECT_EQ(-ECONNRESET, member_connect(self->fd, peers, 2, 5000));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_RESET, status.group.kind);
	EXPECT_EQ(1, status.group.rank_a);
}

/* Somebody is there, but not who should be. */
TEST_F(fresh, connect_to_another_group)
{
	struct sockaddr_storage peers[2];
	struct collective_status status;
	char name[40];
	int other = member_open();

	snprintf(name, sizeof(name), "%.30s.b", self->name);
	ASSERT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &peers[0]));
	ASSERT_EQ(0, member_join(other, name, self->id, 1, 2, &peers[1]));
	EXPECT_EQ(-EACCES, member_connect(self->fd, peers, 2, 5000));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(1, status.group.rank_a);
	ASSERT_EQ(0, member_status(other, &status));
	EXPECT_EQ(COLLECTIVE_STATE_JOINED, status.state);
	close(other);
}

/*
 * Two ranks in one process
 */

FIXTURE(pair) {
	int fd[2];
	struct sockaddr_storage addr[2];
};

FIXTURE_SETUP(pair)
{
	char name[33];
	__u64 id;
	int i;

	group_unique(name, sizeof(name), &id);
	for (i = 0; i < 2; i++) {
		self->fd[i] = member_open();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, member_join(self->fd[i], name, id, i, 2, &self->addr[i]));
	}
}

FIXTURE_TEARDOWN(pair)
{
	close(self->fd[0]);
	close(self->fd[1]);
}

static int pair_connect(const int *fd, const struct sockaddr_storage *addr)
{
	int err;

	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	err = member_connect(fd[0], addr, 2, 5000);
	fcntl(fd[0], F_SETFL, 0);
	if (err && err != -EINPROGRESS)
		return err;
	err = member_connect(fd[1], addr, 2, 5000);
	if (err)
		return err;
	err = member_connect(fd[0], addr, 2, 5000);
	return err == -EISCONN ? 0 : err;
}

struct pair_call {
	int fd;
	struct collective_op op;
	int err;
};

static void *pair_thread(void *arg)
{
	struct pair_call *call = arg;

	call->err = member_submit(call->fd, &call->op);
	return NULL;
}

/* The same operation on both, in two threads. */
static int pair_submit(const int *fd, const struct collective_op *a, const struct collective_op *b)
{
	struct pair_call call = { .fd = fd[0], .op = *a };
	pthread_t thread;
	int err;

	pthread_create(&thread, NULL, pair_thread, &call);
	err = member_submit(fd[1], b);
	pthread_join(thread, NULL);
	return err ? err : call.err;
}

TEST_F(pair, nonblocking_connect)
{
	struct pollfd poll_fd = { .fd = self->fd[1], .events = POLLOUT };
	struct collective_status status;

	fcntl(self->fd[1], F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-EINPROGRESS, member_connect(self->fd[1], self->addr, 2, 0));
	EXPECT_EQ(-EINPROGRESS, member_connect(self->fd[1], self->addr, 2, 0));
	EXPECT_EQ(0, poll(&poll_fd, 1, 50));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_CONNECTING, status.state);
	EXPECT_EQ(-ENOTCONN, member_barrier(self->fd[1]));

	EXPECT_EQ(0, member_connect(self->fd[0], self->addr, 2, 5000));
	EXPECT_EQ(1, poll(&poll_fd, 1, 5000));
	EXPECT_EQ(POLLOUT, poll_fd.revents);
	EXPECT_EQ(0, member_connect(self->fd[1], self->addr, 2, 0));
	EXPECT_EQ(-EISCONN, member_connect(self->fd[1], self->addr, 2, 0));
	EXPECT_EQ(-EISCONN, member_connect(self->fd[0], self->addr, 2, 0));
}

TEST_F(pair, connect_timeout)
{
	struct pollfd poll_fd = { .fd = self->fd[1], .events = POLLOUT };
	struct collective_status status;
	__u64 begin = now_ms();

	EXPECT_EQ(-ETIMEDOUT, member_connect(self->fd[1], self->addr, 2, 200));
	EXPECT_LE(190, now_ms() - begin);
	EXPECT_GE(3000, now_ms() - begin);
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_DEADLINE, status.group.kind);
	EXPECT_EQ(ETIMEDOUT, status.group.error);
	EXPECT_EQ(1, status.group.rank_a);
	EXPECT_EQ(0, status.group.rank_b);
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_TRUE(poll_fd.revents & POLLERR);
	EXPECT_EQ(-ETIMEDOUT, member_connect(self->fd[1], self->addr, 2, 200));
	EXPECT_EQ(-ETIMEDOUT, member_barrier(self->fd[1]));
	EXPECT_EQ(0, member_leave(self->fd[1]));
}

static void on_signal(int signal)
{
}

TEST_F(pair, connect_interrupted)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval timer = { .it_value.tv_usec = 100000 };
	struct collective_status status;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	EXPECT_EQ(-EINTR, member_connect(self->fd[1], self->addr, 2, 5000));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_CONNECTING, status.state);
	EXPECT_EQ(0, pair_connect(self->fd, self->addr));
}

TEST_F(pair, life)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	struct collective_op op[2];
	struct collective_status status;
	int data[2][1000], i, round;

	ASSERT_EQ(0, pair_connect(self->fd, self->addr));
	EXPECT_EQ(0, pair_submit(self->fd, &barrier, &barrier));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 1000; i++) {
			data[0][i] = i;
			data[1][i] = 1000 * round;
		}
		for (i = 0; i < 2; i++)
			op[i] = (struct collective_op) {
				.opcode = COLLECTIVE_ALLREDUCE,
				.type = COLLECTIVE_INT32,
				.count = 1000,
				.send = (uintptr_t)data[i],
				.recv = (uintptr_t)data[i],
			};
		ASSERT_EQ(0, pair_submit(self->fd, &op[0], &op[1]));
		for (i = 0; i < 1000; i++) {
			ASSERT_EQ(i + 1000 * round, data[0][i]);
			ASSERT_EQ(i + 1000 * round, data[1][i]);
		}
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, member_status(self->fd[i], &status));
		EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
		EXPECT_EQ(21, status.submitted);
		EXPECT_EQ(21, status.completed);
		EXPECT_EQ(0, status.inflight);
	}
	EXPECT_EQ(0, member_leave(self->fd[0]));
	EXPECT_EQ(0, member_leave(self->fd[1]));
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_STATE_LEFT, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	EXPECT_EQ(21, status.completed);
}

/* A file that has been handed to another process is no use there. */
TEST_F(pair, other_process)
{
	struct collective_status status;
	char page[64];
	__u32 buffer;
	int code;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(member_connect(self->fd[0], self->addr, 2, 100) == -EPERM &&
		      member_register(self->fd[0], page, 64, 0, &buffer) == -EPERM ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);

	ASSERT_EQ(0, pair_connect(self->fd, self->addr));
	pid = fork();
	if (!pid)
		_exit(member_barrier(self->fd[0]) == -EPERM &&
		      member_register(self->fd[0], page, 64, 0, &buffer) == -EPERM ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	/* That it ended is no matter either. */
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
	EXPECT_EQ(0, status.submitted);
}

TEST_F(pair, leave_in_operation)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	struct pair_call call = { .fd = self->fd[0], .op = barrier };
	struct collective_status status;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pair_connect(self->fd, self->addr));
	pthread_create(&thread, NULL, pair_thread, &call);
	for (i = 0; i < 500; i++) {
		ASSERT_EQ(0, member_status(self->fd[0], &status));
		if (status.inflight)
			break;
		sleep_ms(10);
	}
	EXPECT_EQ(0, member_leave(self->fd[0]));
	pthread_join(thread, NULL);
	EXPECT_EQ(-ECANCELED, call.err);
	EXPECT_EQ(-ECONNRESET, member_barrier(self->fd[1]));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
	EXPECT_NE(0, member_barrier(self->fd[0]));
}

TEST_F(pair, leave_then_anything)
{
	struct collective_status status;
	struct pollfd poll_fd = { .fd = self->fd[0], .events = POLLOUT };
	char page[64];
	__u32 buffer;
	int err;

	ASSERT_EQ(0, pair_connect(self->fd, self->addr));
	EXPECT_EQ(0, member_leave(self->fd[0]));
	EXPECT_EQ(-ENOTCONN, member_leave(self->fd[0]));
	EXPECT_EQ(-ENOTCONN, member_barrier(self->fd[0]));
	EXPECT_EQ(-ENOTCONN, member_connect(self->fd[0], self->addr, 2, 100));
	EXPECT_EQ(-ENOTCONN, member_register(self->fd[0], page, 64, 0, &buffer));
	EXPECT_EQ(-ENOENT, member_unregister(self->fd[0], 1));
	EXPECT_EQ(-EISCONN, member_join(self->fd[0], "x", 1, 0, 2, &self->addr[0]));
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_TRUE(poll_fd.revents & POLLHUP);
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_STATE_LEFT, status.state);
	/* The other one finds out when it needs it. */
	err = member_barrier(self->fd[1]);
	EXPECT_EQ(-ECONNRESET, err);
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

/* LEAVE in one thread while others submit and register. */
struct racer {
	int fd;
	bool stop;
	char *memory;
	bool alone;
};

static void *race_submit(void *arg)
{
	struct racer *racer = arg;
	__u32 buffer;
	int err;

	do {
		if (member_register(racer->fd, racer->memory, 65536, 0, &buffer))
			buffer = 1;
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.count = 65536,
			.send = (uintptr_t)racer->memory,
			.recv = (uintptr_t)racer->memory,
			.recv_buffer = buffer,
		};
		err = member_submit(racer->fd, &op);
	} while (!err);
	return NULL;
}

TEST(leave_races_with_submit)
{
	struct sockaddr_storage addr;
	struct racer racer;
	pthread_t thread[3];
	char name[33];
	int round, i;
	__u64 id;

	racer.memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (round = 0; round < 50; round++) {
		racer.fd = member_open();
		group_unique(name, sizeof(name), &id);
		ASSERT_EQ(0, member_join(racer.fd, name, id, 0, 1, &addr));
		ASSERT_EQ(0, member_connect(racer.fd, &addr, 1, 1000));
		for (i = 0; i < 3; i++)
			pthread_create(&thread[i], NULL, race_submit, &racer);
		usleep(round * 50);
		EXPECT_EQ(0, member_leave(racer.fd));
		for (i = 0; i < 3; i++)
			pthread_join(thread[i], NULL);
		close(racer.fd);
	}
}

/*
 * A group of one: submissions, good and bad
 */

FIXTURE(solo) {
	int fd;
	struct sockaddr_storage addr;
	__u8 *memory;
};

#define SOLO_MEMORY	(64 * 1024)

FIXTURE_SETUP(solo)
{
	char name[33];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	self->fd = member_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, member_join(self->fd, name, id, 0, 1, &self->addr));
	ASSERT_EQ(0, member_connect(self->fd, &self->addr, 1, 1000));
	self->memory = mmap(NULL, SOLO_MEMORY, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->memory);
}

FIXTURE_TEARDOWN(solo)
{
	close(self->fd);
	munmap(self->memory, SOLO_MEMORY);
}

TEST_F(solo, life)
{
	struct collective_status status;
	int *send = (int *)self->memory, *recv = send + 5000, i;

	EXPECT_EQ(0, member_barrier(self->fd));
	for (i = 0; i < 5000; i++)
		send[i] = i - 2500;
	EXPECT_EQ(0, member_allreduce(self->fd, send, recv, 5000, COLLECTIVE_INT32,
				      COLLECTIVE_SUM));
	EXPECT_EQ(0, memcmp(send, recv, 5000 * sizeof(int)));
	EXPECT_EQ(0, member_allreduce(self->fd, send, send, 5000, COLLECTIVE_INT32,
				      COLLECTIVE_AVG));
	EXPECT_EQ(0, memcmp(send, recv, 5000 * sizeof(int)));
	EXPECT_EQ(0, member_allreduce(self->fd, NULL, NULL, 0, COLLECTIVE_INT32, COLLECTIVE_SUM));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(4, status.submitted);
	EXPECT_EQ(4, status.completed);
	EXPECT_EQ(1, status.nranks);
	EXPECT_EQ(0, member_leave(self->fd));
}

TEST_F(solo, bad_operations)
{
	struct collective_status before, after;
	const __u64 send = (uintptr_t)self->memory, recv = send + SOLO_MEMORY / 2;
	struct collective_op op;

	ASSERT_EQ(0, member_status(self->fd, &before));
#define EXPECT_OP(_error, _change) do {							\
	op = (struct collective_op) {							\
		.opcode = COLLECTIVE_ALLREDUCE,						\
		.type = COLLECTIVE_FLOAT64,						\
		.count = 8,								\
		.send = send,								\
		.recv = recv,								\
	};										\
	_change;									\
	EXPECT_EQ(_error, member_submit(self->fd, &op))					\
		TH_LOG("%s", #_change);							\
} while (0)
	EXPECT_OP(-EINVAL, op.opcode = COLLECTIVE_OPCODE_COUNT);
	EXPECT_OP(-EINVAL, op.opcode = 0xff);
	EXPECT_OP(-EOPNOTSUPP, op.opcode = COLLECTIVE_EXSCAN);
	EXPECT_OP(-EINVAL, op.type = COLLECTIVE_TYPE_COUNT);
	EXPECT_OP(-EINVAL, op.type = 0xff);
	EXPECT_OP(-EINVAL, op.reduction = COLLECTIVE_REDUCTION_COUNT);
	EXPECT_OP(-EINVAL, op.reduction = 0xff);
	EXPECT_OP(-EINVAL, op.algorithm = COLLECTIVE_ALGORITHM_COUNT);
	EXPECT_OP(-EINVAL, op.algorithm = 0xff);
	EXPECT_OP(-EINVAL, op.flags = ~COLLECTIVE_F_ALL);
	EXPECT_OP(-EINVAL, op.flags = 1U << 31);
	EXPECT_OP(-EOPNOTSUPP, op.flags = COLLECTIVE_F_KEYED);
	EXPECT_OP(-EINVAL, op.key = 1);
	EXPECT_OP(-EINVAL, op.root = 1);
	EXPECT_OP(-EINVAL, op.root = ~0U);
	EXPECT_OP(-EOPNOTSUPP, op.layout = send);
	EXPECT_OP(-EINVAL, op.reserved[0] = 1);
	EXPECT_OP(-EINVAL, op.reserved[1] = 1ULL << 63);
	/* What does not go together. */
	EXPECT_OP(-EINVAL, op.reduction = COLLECTIVE_BAND);
	EXPECT_OP(-EINVAL, (op.reduction = COLLECTIVE_BOR, op.type = COLLECTIVE_FLOAT16));
	EXPECT_OP(-EINVAL, (op.reduction = COLLECTIVE_BXOR, op.type = COLLECTIVE_BFLOAT16));
	EXPECT_OP(-EINVAL, (op.reduction = COLLECTIVE_BXOR, op.type = COLLECTIVE_FLOAT32));
	EXPECT_OP(-EINVAL, op.opcode = COLLECTIVE_BARRIER);
	/* Counts that cannot be. */
	EXPECT_OP(-EOVERFLOW, op.count = ~0ULL);
	EXPECT_OP(-EOVERFLOW, op.count = 1ULL << 61);
	EXPECT_OP(-EOVERFLOW, op.count = (1ULL << 61) + 1);
	EXPECT_OP(-EOVERFLOW, op.count = 1ULL << 60);
	EXPECT_OP(-EFAULT, (op.send = op.recv = ~0xfffULL, op.count = 4096));
	/* Where the bytes are. */
	EXPECT_OP(-EINVAL, op.send += 1);
	EXPECT_OP(-EINVAL, op.send += 4);
	EXPECT_OP(-EINVAL, op.recv += 2);
	EXPECT_OP(-EINVAL, (op.type = COLLECTIVE_INT16, op.recv += 1));
	EXPECT_OP(-EINVAL, (op.type = COLLECTIVE_FLOAT32, op.recv += 2));
	EXPECT_OP(-EINVAL, op.recv = send + 8);
	EXPECT_OP(-EINVAL, op.recv = send + 56);
	EXPECT_OP(-EINVAL, (op.send = recv + 56, op.recv = recv));
	EXPECT_OP(-ENOENT, op.send_buffer = 1);
	EXPECT_OP(-ENOENT, op.recv_buffer = 1);
	EXPECT_OP(-ENOENT, op.recv_buffer = ~0U);
	EXPECT_OP(-EFAULT, op.send = 0);
	EXPECT_OP(-EFAULT, op.recv = 0);
	EXPECT_OP(-EFAULT, op.recv = 0x1000);
	EXPECT_OP(-EFAULT, op.send = 0xffff800000000000ULL);
	EXPECT_OP(-EFAULT, op.recv = 0xffff888000000000ULL);

	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	/* And all goes on. */
	EXPECT_OP(0, (void)0);
	EXPECT_OP(0, op.recv = send);
	EXPECT_OP(0, op.recv = send + 64);
	EXPECT_OP(0, op.algorithm = COLLECTIVE_ALGORITHM_RING);
	EXPECT_OP(0, (op.count = 0, op.send = 1, op.recv = 1));
	EXPECT_OP(0, op.timeout_ms = ~0U);
}

TEST_F(solo, bad_submit)
{
	struct collective_submit submit = {
		.size = sizeof(submit),
		.op.opcode = COLLECTIVE_BARRIER,
	};
	struct collective_status status;

	submit.flags = 1;
	EXPECT_EQ(-EINVAL, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
	submit.flags = 0;
	submit.request = 1;
	EXPECT_EQ(-ENOENT, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
	submit.request = ~0ULL;
	EXPECT_EQ(-ENOENT, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(0, status.submitted);
	submit.request = 0;
	EXPECT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
	EXPECT_EQ(0, submit.request);
	submit.request = 1;
	EXPECT_EQ(-ENOENT, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
}

TEST_F(solo, bad_memory)
{
	const size_t page = getpagesize();
	struct collective_status before, after;
	__u8 *memory = self->memory;
	long long pinned = process_value(0, "VmPin:");

	memset(memory, 1, SOLO_MEMORY);
	ASSERT_EQ(0, member_status(self->fd, &before));
	/* The second page is for reading, the fourth is not there. */
	ASSERT_EQ(0, mprotect(memory + page, page, PROT_READ));
	ASSERT_EQ(0, munmap(memory + 3 * page, page));
#define REDUCE(_send, _recv, _count) \
	member_allreduce(self->fd, memory + (_send), memory + (_recv), _count, \
			 COLLECTIVE_UINT8, COLLECTIVE_SUM)
	EXPECT_EQ(-EFAULT, REDUCE(0, page, 1));
	EXPECT_EQ(-EFAULT, REDUCE(page, page, page));
	EXPECT_EQ(-EFAULT, REDUCE(8 * page, page - 1, 2));
	EXPECT_EQ(-EFAULT, REDUCE(3 * page, 0, 1));
	EXPECT_EQ(-EFAULT, REDUCE(2 * page, 8 * page, page + 1));
	EXPECT_EQ(-EFAULT, REDUCE(8 * page, 2 * page, 3 * page));
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_EQ(pinned, process_value(0, "VmPin:"));

	EXPECT_EQ(0, REDUCE(page, 0, page));
	EXPECT_EQ(0, REDUCE(2 * page, 8 * page, page));
	EXPECT_EQ(1, memory[0]);
	EXPECT_EQ(pinned, process_value(0, "VmPin:"));
}

/* What no machine has is refused without a try to describe it. */
TEST_F(solo, enormous)
{
	__u32 buffer;
	__u64 length;
	int err, bit;

	for (bit = 30; bit < 64; bit++) {
		length = 1ULL << bit;
		err = member_register(self->fd, self->memory, length, 0, &buffer);
		EXPECT_TRUE(err == -EFAULT || err == -ENOMEM || err == -EOVERFLOW || err == -EDQUOT)
			TH_LOG("register 1 << %d: %d", bit, err);
		err = member_allreduce(self->fd, self->memory, self->memory, length,
				       COLLECTIVE_UINT8, COLLECTIVE_SUM);
		EXPECT_TRUE(err == -EFAULT || err == -ENOMEM || err == -EOVERFLOW || err == -EDQUOT)
			TH_LOG("submit 1 << %d: %d", bit, err);
	}
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	EXPECT_EQ(0, member_barrier(self->fd));
}

TEST_F(solo, bad_registration)
{
	struct collective_register reg;
	__u32 buffer;

#define EXPECT_REGISTER(_error, _change) do {						\
	reg = (struct collective_register) {						\
		.size = sizeof(reg),							\
		.addr = (uintptr_t)self->memory,					\
		.length = 4096,								\
	};										\
	_change;									\
	EXPECT_EQ(_error, member_ioctl(self->fd, COLLECTIVE_IOC_REGISTER, &reg))	\
		TH_LOG("%s", #_change);							\
} while (0)
	EXPECT_REGISTER(-EINVAL, reg.length = 0);
	EXPECT_REGISTER(-EINVAL, reg.flags = 2);
	EXPECT_REGISTER(-EINVAL, reg.buffer = 1);
	EXPECT_REGISTER(-EINVAL, reg.reserved = 1);
	EXPECT_REGISTER(-EFAULT, reg.addr = 0);
	EXPECT_REGISTER(-EFAULT, reg.addr = 0xffff888000000000ULL);
	EXPECT_REGISTER(-EOVERFLOW, reg.length = ~0ULL);
	EXPECT_REGISTER(-EOVERFLOW, (reg.addr = 4096, reg.length = ~0ULL - 4095));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	EXPECT_REGISTER(0, (void)0);
	EXPECT_EQ(1, reg.buffer);
	EXPECT_EQ(-ENOENT, member_unregister(self->fd, 0));
	EXPECT_EQ(-ENOENT, member_unregister(self->fd, 2));
	EXPECT_EQ(-ENOENT, member_unregister(self->fd, ~0U));
	EXPECT_EQ(0, member_unregister(self->fd, 1));
	EXPECT_EQ(-ENOENT, member_unregister(self->fd, 1));
	EXPECT_EQ(0, member_register(self->fd, self->memory, 1, 0, &buffer));
}

TEST_HARNESS_MAIN
