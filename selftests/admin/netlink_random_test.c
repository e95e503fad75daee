// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink called with anything, while groups come and go: no call hangs, and the kernel
 * stays whole.  Also a dump that continues after what it was about has ended.
 *
 * RANDOM_SEED repeats a run; RANDOM_MS is how long it lasts.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <collective_admin.h>
#include <linux/collective_netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include "lib/as_user.h"
#include "lib/group.h"
#include "kselftest_harness.h"

#define BUFFER	65536

struct random {
	__u64 state;
};

static __u32 random_next(struct random *random)
{
	random->state = random->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return random->state >> 33;
}

static __u32 random_below(struct random *random, __u32 n)
{
	return random_next(random) % n;
}

static int family_of(void)
{
	struct nl_sock *sock = nl_socket_alloc();
	int family = genl_connect(sock) ? -1 : genl_ctrl_resolve(sock, COLLECTIVE_FAMILY_NAME);

	nl_socket_free(sock);
	return family;
}

static int raw_open(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	struct timeval patience = { .tv_sec = 20 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return -errno;
	return fd;
}

/* An attribute that is right, or nearly so, or not at all. */
static size_t random_attr(struct random *random, char *at, const char *group)
{
	struct nlattr *attr = (struct nlattr *)at;
	static const unsigned int sizes[] = { 0, 1, 2, 4, 4, 4, 8, 8, 12, 40, 200 };
	unsigned int size = sizes[random_below(random, 11)], i;

	attr->nla_type = random_below(random, 8) ? random_below(random, 12) : random_next(random);
	if (random_below(random, 2)) {
		/* The group that exists. */
		attr->nla_type = COLLECTIVE_A_GROUP_GROUP;
		size = strlen(group) + 1;
		memcpy(at + NLA_HDRLEN, group, size);
	} else {
		for (i = 0; i < size; i++)
			at[NLA_HDRLEN + i] = random_below(random, 3) ? random_below(random, 4) :
								       random_next(random);
	}
	attr->nla_len = NLA_HDRLEN + size;
	if (!random_below(random, 30))
		attr->nla_len = random_next(random);
	return NLA_ALIGN(NLA_HDRLEN + size);
}

static size_t random_message(struct random *random, char *buffer, int family, const char *group)
{
	struct nlmsghdr *header = (struct nlmsghdr *)buffer;
	struct genlmsghdr *genl = (struct genlmsghdr *)(buffer + NLMSG_HDRLEN);
	unsigned int attrs = random_below(random, 6);
	size_t length = NLMSG_HDRLEN + GENL_HDRLEN;

	memset(buffer, 0, 8192);
	header->nlmsg_type = family;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (random_below(random, 2))
		header->nlmsg_flags |= NLM_F_DUMP;
	if (!random_below(random, 20))
		header->nlmsg_flags = random_next(random) | NLM_F_REQUEST | NLM_F_ACK;
	genl->cmd = random_below(random, 16);
	genl->version = random_below(random, 4) ? 1 : random_next(random);
	while (attrs--)
		length += random_attr(random, buffer + length, group);
	header->nlmsg_len = length;
	return length;
}

/* Receives until the answer is complete.  Return: 0, or a negative errno. */
static int receive_answer(int fd, char *buffer)
{
	struct nlmsghdr *header;
	ssize_t n;

	for (;;) {
		n = recv(fd, buffer, BUFFER, 0);
		if (n < 0)
			return errno == ENOBUFS ? 0 : -errno;
		for (header = (struct nlmsghdr *)buffer; NLMSG_OK(header, n);
		     header = NLMSG_NEXT(header, n))
			if (header->nlmsg_type == NLMSG_ERROR || header->nlmsg_type == NLMSG_DONE)
				return 0;
	}
}

/**
 * struct storm - a process that calls anything
 * @family: number of the family
 * @seed: of its random numbers
 * @group: name of a group that exists, in shared memory
 * @end: time at which it ends
 */
struct storm {
	int family;
	unsigned int seed;
	const char *group;
	__u64 end;
};

static int storm(const void *arg)
{
	const struct storm *storm = arg;
	struct random random = { .state = storm->seed };
	static char buffer[BUFFER];
	unsigned long calls = 0;
	size_t length;
	int fd = raw_open(), err;

	CHECK(fd >= 0);
	while (now_ms() < storm->end) {
		length = random_message(&random, buffer, storm->family, storm->group);
		CHECK(send(fd, buffer, length, 0) == (ssize_t)length);
		/* Now and then a dump is given up, or another call is made meanwhile. */
		if (!random_below(&random, 50)) {
			close(fd);
			fd = raw_open();
			CHECK(fd >= 0);
			continue;
		}
		err = receive_answer(fd, buffer);
		CHECK_EQ(0, err);
		calls++;
	}
	printf("# uid %u: %lu calls\n", getuid(), calls);
	close(fd);
	return calls < 10;
}

/* A group that lives for a moment, and may be killed in the middle of it. */
static int live(struct rank *r)
{
	float data[64] = { 0 };
	int i, err = 0;

	/* A storm may abort the group at any time. */
	if (rank_connect(r))
		return 0;
	flag_set(r->shared, 0, 1);
	for (i = 0; i < 50 && !err; i++)
		err = member_allreduce(r->fd, data, data, 64, COLLECTIVE_FLOAT32, COLLECTIVE_MAX);
	return 0;
}

static unsigned int number_of(const char *variable, unsigned int otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

TEST(anything)
{
	const struct group_config config = {
		.nranks = 3,
		.lanes = 2,
		.timeout_ms = 5000,
		.unconnected = true,
	};
	struct storm storms = {
		.family = family_of(),
		.seed = number_of("RANDOM_SEED", now_ms()),
		.end = now_ms() + number_of("RANDOM_MS", 8000),
	};
	unsigned int rounds = 0;
	struct group group;
	char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[2];
	int i, status;

	ASSERT_NE(MAP_FAILED, name);
	ASSERT_LT(0, storms.family);
	printf("# RANDOM_SEED=%u\n", storms.seed);
	storms.group = name;
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit((i ? as_other_user : in_child)(storm, &storms));
		storms.seed++;
	}
	while (now_ms() < storms.end) {
		group_start(&group, &config, live, NULL);
		/* A storm may read half a name: that is anything, too. */
		strcpy(name, group.name);
		if (rounds++ % 3 == 0 && flag_wait(group.shared, 0, 1, 200))
			kill(group.pid[rounds % 3], SIGKILL);
		group_wait(&group);
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	printf("# %u groups\n", rounds);
}

#define MEMBERS	80

/* Sends a dump of members.  Return: 0 or a negative errno. */
static int dump_begin(int fd, int family, int cmd)
{
	struct {
		struct nlmsghdr header;
		struct genlmsghdr genl;
	} call = {
		.header = {
			.nlmsg_len = sizeof(call),
			.nlmsg_type = family,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.genl = { .cmd = cmd, .version = 1 },
	};

	return send(fd, &call, sizeof(call), 0) == sizeof(call) ? 0 : -errno;
}

/* What a dump begins with ends meanwhile; what it has not come to yet, too. */
static int dump_across_end(struct __test_metadata *_metadata, int cmd, unsigned int keep)
{
	int fd[MEMBERS], sock = raw_open(), family = family_of(), i, received = 0, interrupted = 0;
	static char buffer[BUFFER];
	struct sockaddr_storage addr;
	struct nlmsghdr *header;
	bool done = false;
	char name[33];
	ssize_t n;
	__u64 id;

	group_unique(name, sizeof(name), &id);
	for (i = 0; i < MEMBERS; i++) {
		if (i % 8 == 0)
			group_unique(name, sizeof(name), &id);
		fd[i] = member_open();
		EXPECT_EQ(0, member_join(fd[i], name, id, i % 8, 8, &addr));
	}
	EXPECT_EQ(0, dump_begin(sock, family, cmd));
	while (!done) {
		/* The kernel fills the next message when this one is taken. */
		n = recv(sock, buffer, 4096, 0);
		EXPECT_LT(0, n);
		if (n <= 0)
			break;
		for (header = (struct nlmsghdr *)buffer; NLMSG_OK(header, n);
		     header = NLMSG_NEXT(header, n)) {
			done |= header->nlmsg_type == NLMSG_DONE ||
				header->nlmsg_type == NLMSG_ERROR;
			interrupted += header->nlmsg_flags & NLM_F_DUMP_INTR ? 1 : 0;
			received++;
		}
		for (i = keep; i < MEMBERS; i++)
			if (fd[i] >= 0)
				close(fd[i]);
		keep = MEMBERS;
	}
	EXPECT_TRUE(done);
	EXPECT_LT(0, interrupted);
	for (i = 0; i < MEMBERS; i++)
		close(fd[i]);
	close(sock);
	return received;
}

TEST(dump_across_the_end_of_all)
{
	dump_across_end(_metadata, COLLECTIVE_CMD_MEMBER_GET, 0);
	dump_across_end(_metadata, COLLECTIVE_CMD_LINK_GET, 0);
	dump_across_end(_metadata, COLLECTIVE_CMD_RECORD_GET, 0);
	dump_across_end(_metadata, COLLECTIVE_CMD_LANE_GET, 0);
}

TEST(dump_across_the_end_of_some)
{
	/* Those that stay are all shown, whatever ends. */
	EXPECT_LE(41, dump_across_end(_metadata, COLLECTIVE_CMD_MEMBER_GET, 40));
}

TEST_HARNESS_MAIN
