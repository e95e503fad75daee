// SPDX-License-Identifier: GPL-2.0-only
/*
 * Administrators treat sockets of a member as those of a program: packet filters see the user that
 * owns the connections, and a socket can be destroyed.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"
#include "lib/tcp_only.h"

#define OTHER_USER	65534

FIXTURE(filter) {};

/* A network namespace with filters that count and drop packets by user. */
FIXTURE_SETUP(filter)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, loopback_set(true));
	if (system("modprobe -q nft_meta 2>/dev/null; exec nft -f - 2>/dev/null <<-END\n"
		   "table ip filter {\n"
		   "	counter root { }\n"
		   "	counter other { }\n"
		   "	chain output {\n"
		   "		type filter hook output priority 0;\n"
		   "		meta skuid 0 counter name root\n"
		   "		meta skuid 65534 counter name other\n"
		   "	}\n"
		   "}\n"
		   "END\n"))
		SKIP(return, "no nft, or no nf_tables in this kernel");
}

FIXTURE_TEARDOWN(filter)
{
}

/* Return: the packets of a user so far, or -1. */
static long long filter_count(const char *name)
{
	char command[128], line[256];
	long long packets = -1;
	FILE *pipe;

	snprintf(command, sizeof(command), "nft list counter ip filter %s", name);
	pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof(line), pipe))
		sscanf(line, " packets %lld", &packets);
	if (pipe)
		pclose(pipe);
	return packets;
}

/* A group of two from JOIN to LEAVE; *@connected: the result of CONNECT. */
static int group_life(int *connected)
{
	struct sockaddr_storage addr[2];
	static char in[64 * 1024], out[2][64 * 1024];
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.count = sizeof(in),
		.send = (uintptr_t)in,
		.recv = (uintptr_t)out[0],
	};
	__u64 id, request;
	char name[33];
	int fd[2];

	CHECK_EQ(0, two_ranks_join(fd, addr, name, &id));
	*connected = two_ranks_connect(fd, addr);
	if (!*connected) {
		CHECK_EQ(0, member_start(fd[0], &op, &request));
		op.recv = (uintptr_t)out[1];
		CHECK_EQ(0, member_submit(fd[1], &op));
		CHECK_EQ(0, member_wait(fd[0], request, 0));
		CHECK_EQ(0, member_leave(fd[0]));
	}
	close(fd[0]);
	close(fd[1]);
	return 0;
}

static int become_other(void)
{
	return setresgid(OTHER_USER, OTHER_USER, OTHER_USER) ||
	       setresuid(OTHER_USER, OTHER_USER, OTHER_USER);
}

/* The same in a process of another user. Return: 0 if CONNECT had the expected result. */
static int other_life(bool connects)
{
	pid_t pid = fork();
	int status, connected;

	if (!pid)
		_exit(become_other() || group_life(&connected) || !connected != connects);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

TEST_F(filter, counts_by_user)
{
	long long root, other, rest;
	int connected;

	ASSERT_EQ(0, filter_count("root"));
	ASSERT_EQ(0, filter_count("other"));
	ASSERT_EQ(0, group_life(&connected));
	ASSERT_EQ(0, connected);
	root = filter_count("root");
	/* Both ends make and end two connections. */
	EXPECT_LE(12, root);
	EXPECT_EQ(0, filter_count("other"));

	EXPECT_EQ(0, other_life(true));
	other = filter_count("other");
	rest = filter_count("root") - root;
	EXPECT_LE(12, other);
	EXPECT_EQ(0, rest);
	TH_LOG("packets of root: %lld, of another user: %lld", root, other);
}

TEST_F(filter, blocks_by_user)
{
	int connected;

	ASSERT_EQ(0, system("nft add rule ip filter output meta skuid 65534 drop"));
	EXPECT_EQ(0, other_life(false));
	EXPECT_LE(1, filter_count("other"));
	ASSERT_EQ(0, group_life(&connected));
	EXPECT_EQ(0, connected);
}

/* Run ss to destroy the sockets that @filter names.  Return: 0 if the kernel can. */
static int destroy(const char *filter)
{
	char command[128];

	snprintf(command, sizeof(command), "ss -HKtn %s 2>/dev/null | grep -q .", filter);
	return system(command);
}

static unsigned int port_of(const struct sockaddr_storage *addr)
{
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

/* A listener that is gone takes no calls, and costs no time; the connections work. */
TEST(listener_is_destroyed)
{
	struct sockaddr_storage addr[2];
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	char name[33], filter[64];
	__u64 id, request;
	int fd[2];

	ASSERT_EQ(0, two_ranks_join(fd, addr, name, &id));
	ASSERT_EQ(0, two_ranks_connect(fd, addr));
	snprintf(filter, sizeof(filter), "state listening sport = :%u", port_of(&addr[1]));
	system("modprobe -qa tcp_diag inet_diag");
	if (destroy(filter))
		SKIP(goto out, "no ss -K, or no INET_DIAG_DESTROY in this kernel");
	sleep_ms(300);
	EXPECT_EQ(0, member_value(name, 1, "refused_connections"));
	EXPECT_EQ(0, member_start(fd[0], &op, &request));
	EXPECT_EQ(0, member_submit(fd[1], &op));
	EXPECT_EQ(0, member_wait(fd[0], request, 0));
out:
	close(fd[0]);
	close(fd[1]);
}

TEST_HARNESS_MAIN
