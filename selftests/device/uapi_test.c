// SPDX-License-Identifier: GPL-2.0-only
/* The ioctl interface: every invalid argument has its errno and changes nothing. */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "lib/argument.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"

#define IOC_NONE(_nr)	_IO(COLLECTIVE_IOC_MAGIC, _nr)

/* The result of each ioctl, on a new file, for a struct of zeros. */
static const struct ioctl_case {
	const char *name;
	unsigned int cmd;
	unsigned int size;
	int zeros;
	bool back;
	unsigned int first;	/* bytes of its first version, unless @size */
	unsigned int flags;	/* valid flags */
} ioctl_cases[] = {
	{ "QUERY", COLLECTIVE_IOC_QUERY, sizeof(struct collective_query),
	  .zeros = 0, .back = true },
	{ "JOIN", COLLECTIVE_IOC_JOIN, sizeof(struct collective_join),
	  .zeros = -EINVAL, .back = true, .flags = COLLECTIVE_JOIN_PRIVATE },
	{ "CONNECT", COLLECTIVE_IOC_CONNECT, sizeof(struct collective_connect),
	  .zeros = -ENOTCONN },
	{ "REGISTER", COLLECTIVE_IOC_REGISTER, sizeof(struct collective_register),
	  .zeros = -EINVAL, .back = true },
	{ "UNREGISTER", COLLECTIVE_IOC_UNREGISTER, sizeof(struct collective_unregister),
	  .zeros = -ENOENT },
	{ "SUBMIT", COLLECTIVE_IOC_SUBMIT, sizeof(struct collective_submit),
	  .zeros = -ENOTCONN, .back = true,
	  .flags = COLLECTIVE_SUBMIT_NOWAIT | COLLECTIVE_SUBMIT_BOARD,
	  .first = offsetof(struct collective_submit, received) },
	{ "WAIT", COLLECTIVE_IOC_WAIT, sizeof(struct collective_wait),
	  .zeros = -ENOTCONN, .back = true, .flags = COLLECTIVE_WAIT_NOWAIT },
	{ "CANCEL", COLLECTIVE_IOC_CANCEL, sizeof(struct collective_cancel),
	  .zeros = -ENOTCONN, .flags = COLLECTIVE_CANCEL_USER_DATA },
	{ "STATUS", COLLECTIVE_IOC_STATUS, sizeof(struct collective_status),
	  .zeros = 0, .back = true, .first = offsetof(struct collective_status, calls) },
	{ "LEAVE", COLLECTIVE_IOC_LEAVE, sizeof(struct collective_leave),
	  .zeros = -ENOTCONN },
	{ "WAKE", COLLECTIVE_IOC_WAKE, sizeof(struct collective_wake),
	  .zeros = -ENOTCONN },
	{ "ABORT", COLLECTIVE_IOC_ABORT, sizeof(struct collective_abort),
	  .zeros = -ENOTCONN },
};

#define for_each_ioctl(_c) \
	for ((_c) = ioctl_cases; (_c) < ioctl_cases + ARRAY_SIZE(ioctl_cases); (_c)++)

TEST_F(open_device, unknown_ioctl)
{
	static const unsigned int cmds[] = {
		IOC_NONE(0x0c), IOC_NONE(0x40), IOC_NONE(0xff),
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

TEST_F(open_device, sizes)
{
	const struct ioctl_case *c;
	union argument arg;
	unsigned int size;

	for_each_ioctl(c) {
		for (size = 0; size < (c->first ? c->first : c->size); size++) {
			memset(&arg, 0, sizeof(arg));
			arg.size = size;
			ASSERT_EQ(-EINVAL, member_ioctl(self->fd, c->cmd, &arg))
				TH_LOG("%s of %u bytes", c->name, size);
		}
		/* A struct of a newer program: zeros mean what they always meant. */
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

/* Reserved fields of every struct must be zero. */
TEST_F(open_device, reserved)
{
	static const struct {
		const char *name;
		unsigned int cmd;
		unsigned int size;
		unsigned int at;
	} reserved[] = {
#define RESERVED(_cmd, _struct, _field)						\
	{ #_cmd, COLLECTIVE_IOC_##_cmd, sizeof(struct _struct), offsetof(struct _struct, _field) }
		RESERVED(JOIN, collective_join, reserved),
		RESERVED(REGISTER, collective_register, reserved),
		RESERVED(STATUS, collective_status, reserved),
		RESERVED(QUERY, collective_query, flags),
		RESERVED(CONNECT, collective_connect, flags),
		RESERVED(LEAVE, collective_leave, flags),
		RESERVED(STATUS, collective_status, flags),
	};
	union argument arg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reserved); i++) {
		memset(&arg, 0, sizeof(arg));
		arg.size = reserved[i].size;
		memset(&arg.bytes[reserved[i].at], 0xff, 4);
		/* A check that comes first on a new file. */
		EXPECT_EQ(-EINVAL, member_ioctl(self->fd, reserved[i].cmd, &arg))
			TH_LOG("%s, at %u", reserved[i].name, reserved[i].at);
	}
}

/* The result overwrites all of the caller's struct. */
TEST_F(open_device, answers_are_whole)
{
	struct collective_query query[2] = { { .size = sizeof(*query) } };
	struct collective_status status[2] = { { .size = sizeof(*status) } };
	struct collective_wait wait = { .size = sizeof(wait), .request = 1 };

	memset(&query[1], 0xff, sizeof(*query));
	query[1].size = sizeof(*query);
	query[1].flags = 0;
	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_QUERY, &query[0]));
	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_QUERY, &query[1]));
	EXPECT_EQ(0, memcmp(&query[0], &query[1], sizeof(*query)));

	memset(&status[1], 0xff, sizeof(*status));
	status[1].size = sizeof(*status);
	status[1].flags = 0;
	status[1].reserved = 0;
	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_STATUS, &status[0]));
	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_STATUS, &status[1]));
	EXPECT_EQ(0, memcmp(&status[0], &status[1], sizeof(*status)));

	wait.received = ~0ULL;
	wait.index = ~0U;
	EXPECT_EQ(-ENOTCONN, member_ioctl(self->fd, COLLECTIVE_IOC_WAIT, &wait));
	EXPECT_EQ(0, wait.received);
	EXPECT_EQ(0, wait.index);
}

TEST_F(open_device, bad_pointers)
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
		/* The last byte is not mapped. */
		at = map + page - c->size + 1;
		memset(map, 0, page);
		memcpy(at, &c->size, sizeof(c->size));
		EXPECT_EQ(-EFAULT, member_ioctl(self->fd, c->cmd, at))
			TH_LOG("%s across the end", c->name);
	}
	munmap(map, 2 * page);
}

/* A result that cannot be written is detected before the call has an effect. */
TEST_F(open_device, read_only_answer)
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
			join_valid(&arg->join, self->name, self->id);
		ASSERT_EQ(0, mprotect(arg, page, PROT_READ));
		EXPECT_EQ(-EFAULT, member_ioctl(self->fd, c->cmd, arg))
			TH_LOG("%s into a read-only page", c->name);
	}
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_NEW, status.state);
	munmap(arg, 2 * page);
}

TEST_F(open_device, flags)
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
			/* With a flag that there is, zeros and no valid arguments. */
			if (c->cmd == COLLECTIVE_IOC_JOIN && !(c->flags & 1U << bit))
				join_valid(&arg.join, self->name, self->id);
			arg.query.flags = 1U << bit;
			ASSERT_EQ(c->flags & 1U << bit ? c->zeros : -EINVAL,
				  member_ioctl(self->fd, c->cmd, &arg))
				TH_LOG("%s with flag %d", c->name, bit);
		}
	}
}

TEST_F(open_device, query)
{
	struct collective_query query = { .size = sizeof(query) };

	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_QUERY, &query));
	EXPECT_EQ(COLLECTIVE_ABI_VERSION, query.abi_version);
	EXPECT_EQ(COLLECTIVE_LANES_MAX, query.lanes_max);
	EXPECT_EQ(COLLECTIVE_RANKS_MAX, query.ranks_max);
	EXPECT_LE(1, query.inflight_max);
	EXPECT_EQ(COLLECTIVE_EAGER_LIMIT, query.eager_limit);
	EXPECT_EQ(1U << COLLECTIVE_TRANSPORT_TCP | 1U << COLLECTIVE_TRANSPORT_LOCAL |
		  1U << COLLECTIVE_TRANSPORT_AUTO |
		  (unsigned int)rdma_offered() << COLLECTIVE_TRANSPORT_RDMA, query.transports);
	EXPECT_TRUE(query.opcodes & 1ULL << COLLECTIVE_ALLREDUCE);
	EXPECT_TRUE(query.opcodes & 1ULL << COLLECTIVE_BARRIER);
	EXPECT_EQ(0, query.opcodes >> COLLECTIVE_OPCODE_COUNT);
	EXPECT_EQ((1ULL << COLLECTIVE_TYPE_COUNT) - 1, query.types);
	EXPECT_EQ((1ULL << COLLECTIVE_REDUCTION_COUNT) - 1, query.reductions);
}

TEST_F(open_device, status)
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

TEST_F(open_device, nothing_before_join)
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
}

TEST_HARNESS_MAIN
