// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolation of groups: another user can neither join nor disturb a group, and in another network
 * namespace the same name is another group.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective.h>

#include "lib/as_user.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"
#include "lib/two_ranks.h"

struct visit {
	const char *name;
	__u64 id;
	const struct sockaddr_storage *addr;
};

static int has_folder(const char *name, uid_t owner)
{
	char path[128];

	group_folder(path, sizeof(path), name, owner);
	return !access(path, F_OK);
}

/*
 * Join the same name as the missing rank: that is another group, of this user, whatever its size.
 * Neither its number nor its address is that of the other one.
 */
static int join_own_group(const void *arg)
{
	const struct visit *visit = arg;
	struct collective_join join;
	int fd = member_open();

	CHECK(fd >= 0);
	join_valid(&join, visit->name, visit->id);
	join.rank = 1;
	join.nranks = 3;
	CHECK_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
	CHECK(has_folder(visit->name, 0));
	CHECK(has_folder(visit->name, NOBODY));
	CHECK_EQ(0, member_leave(fd));
	CHECK(has_folder(visit->name, 0));
	CHECK(!has_folder(visit->name, NOBODY));
	return 0;
}

/* The first user of a name does not keep it from others, and is in a group of its own. */
TEST_F(open_device, name_taken_by_another_user)
{
	struct sockaddr_storage addr[2];
	struct visit visit = { .name = self->name, .id = self->id };
	int done[2], go[2], fd[2] = { self->fd, member_open() };
	char c = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(done));
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		struct collective_join join;
		int other;

		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		other = member_open();
		join_valid(&join, visit.name, visit.id + 1);
		join.rank = 1;
		c = !member_ioctl(other, COLLECTIVE_IOC_JOIN, &join);
		(void)!write(done[1], &c, 1);
		(void)!read(go[0], &c, 1);
		_exit(0);
	}
	ASSERT_EQ(1, read(done[0], &c, 1));
	EXPECT_EQ(1, c);
	EXPECT_EQ(0, member_join(fd[0], self->name, self->id, 0, 2, &addr[0]));
	EXPECT_EQ(0, member_join(fd[1], self->name, self->id, 1, 2, &addr[1]));
	EXPECT_EQ(0, two_ranks_connect(fd, addr));
	EXPECT_EQ(1, write(go[1], &c, 1));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	close(fd[1]);
}

TEST_F(open_device, another_user_does_not_join)
{
	struct visit visit = { .name = self->name, .id = self->id };
	struct collective_status status;
	struct collective_join join;
	int other = member_open();

	join_valid(&join, self->name, self->id);
	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));
	EXPECT_EQ(0, as_other_user(join_own_group, &visit));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_JOINED, status.state);
	/* The rank can still be joined by the right user. */
	join_valid(&join, self->name, self->id);
	join.rank = 1;
	EXPECT_EQ(0, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	close(other);
}

/* Use a file that was inherited from another user. */
static int use_inherited_file(const void *arg)
{
	const int *fd = arg;
	struct collective_cancel cancel = { .size = sizeof(cancel), .request = 1 };
	struct collective_abort abort = { .size = sizeof(abort) };
	__u32 buffer;
	char memory[64];

	CHECK_EQ(-EPERM, member_barrier(fd[0]));
	CHECK_EQ(-EPERM, member_ioctl(fd[0], COLLECTIVE_IOC_CANCEL, &cancel));
	CHECK_EQ(-EPERM, member_ioctl(fd[0], COLLECTIVE_IOC_ABORT, &abort));
	CHECK_EQ(-EPERM, member_register(fd[0], memory, sizeof(memory), 0, &buffer));
	CHECK_EQ(-EPERM, member_unregister(fd[0], 1));
	CHECK_EQ(-EPERM, member_leave(fd[0]));
	close(fd[0]);
	return 0;
}

TEST_F(two_ranks, another_user_does_not_meddle)
{
	__u64 request;
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &op, &request));
	EXPECT_EQ(0, as_other_user(use_inherited_file, self->fd));
	EXPECT_EQ(0, member_barrier(self->fd[1]));
	EXPECT_EQ(0, member_wait(self->fd[0], request, 0));
}

/*
 * Join the same name, rank and size: the members of the other namespace are not part of this
 * group.
 */
static int join_in_other_netns(const struct visit *visit)
{
	const bool local = transport_choice(NULL) == COLLECTIVE_TRANSPORT_LOCAL;
	struct collective_join join;
	int fd;

	CHECK_EQ(0, unshare(CLONE_NEWNET));
	CHECK_EQ(0, loopback_set(true));
	fd = member_open();
	join_valid(&join, visit->name, visit->id);
	CHECK_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
	/* Nor can their addresses be reached from here. */
	CHECK_EQ(local ? -EOPNOTSUPP : -ECONNRESET, member_connect(fd, visit->addr, 2, 5000));
	close(fd);
	return 0;
}

TEST_F(open_device, namespaces)
{
	struct sockaddr_storage addr[2];
	struct visit visit = { .name = self->name, .id = self->id, .addr = addr };
	struct collective_status status;
	int other = member_open(), code;
	pid_t pid;

	ASSERT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &addr[0]));
	ASSERT_EQ(0, member_join(other, self->name, self->id, 1, 2, &addr[1]));
	pid = fork();
	if (!pid)
		_exit(join_in_other_netns(&visit));
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_JOINED, status.state);
	close(other);
}

/*
 * The device's permissions, as packages set them
 */

#define DEVICE		"/dev/collective"
#define DEVICE_GROUP	12345

FIXTURE(device) {
	struct stat before;
};

FIXTURE_SETUP(device)
{
	ASSERT_EQ(0, stat(DEVICE, &self->before));
	ASSERT_EQ(0, chown(DEVICE, 0, DEVICE_GROUP));
	ASSERT_EQ(0, chmod(DEVICE, 0660));
}

FIXTURE_TEARDOWN(device)
{
	EXPECT_EQ(0, chown(DEVICE, self->before.st_uid, self->before.st_gid));
	EXPECT_EQ(0, chmod(DEVICE, self->before.st_mode & 07777));
}

/* True if the message names what the user has to do. */
static int check_message(const void *arg)
{
	char detail[512] = "", line[256];
	struct coll_config config = {
		.size = sizeof(config),
		.detail = detail,
		.detail_size = sizeof(detail),
	};
	struct coll_comm *comm;
	bool advised = false;
	FILE *pipe;

	CHECK_EQ(-EACCES, coll_init(&comm, &config));
	printf("# %s\n", detail);
	CHECK(strstr(detail, "group 12345") && strstr(detail, "collectivectl check"));
	pipe = popen("collectivectl check", "r");
	while (pipe && fgets(line, sizeof(line), pipe)) {
		printf("# %s", line);
		advised |= !!strstr(line, "usermod -aG 12345");
	}
	CHECK(pipe && pclose(pipe) > 0);
	CHECK(advised);
	return 0;
}

static int let_in(const void *arg)
{
	int fd = member_open();

	CHECK(fd >= 0);
	close(fd);
	return 0;
}

/* Only root opens the device before udev has applied its rule. */
TEST(closed_at_first)
{
	char uevent[256];

	ASSERT_EQ(0, file_get("/sys/class/collective/collective/uevent", uevent, sizeof(uevent)));
	EXPECT_NE(NULL, strstr(uevent, "DEVMODE=0600")) TH_LOG("%s", uevent);
}

TEST_F(device, of_a_group)
{
	const gid_t group = DEVICE_GROUP;

	EXPECT_EQ(0, as_other_user(check_message, NULL));
	ASSERT_EQ(0, syscall(SYS_setgroups, 1, &group));
	EXPECT_EQ(0, as_other_user(let_in, NULL));
}

TEST_HARNESS_MAIN
