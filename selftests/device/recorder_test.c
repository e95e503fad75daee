// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flight recorder: the events that are recorded, how many are kept, for how long, and which
 * users may read them.
 */
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/record.h"
#include "lib/two_ranks.h"

#define KEPT		256
#define PATIENCE_MS	20000

/* Return: the rest of a file; NULL if it cannot be read. */
static char *read_rest(int fd)
{
	size_t room = 1 << 18, length = 0;
	char *text = malloc(room);
	ssize_t n;

	while (text && (n = read(fd, text + length, room - 1 - length)) > 0)
		length += n;
	if (!text || n < 0) {
		free(text);
		return NULL;
	}
	text[length] = '\0';
	return text;
}

static int record_open(const char *group, unsigned int rank)
{
	char path[256];
	int fd;

	file_path(path, sizeof(path), group, rank);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static char *record_text(const char *group, unsigned int rank)
{
	int fd = record_open(group, rank);
	char *text;

	if (fd < 0)
		return NULL;
	text = read_rest(fd);
	close(fd);
	return text;
}

static bool folder_there(const char *group)
{
	char path[256];

	folder_path(path, sizeof(path), group);
	return !access(path, F_OK);
}

/* Return: the first line of @text that contains @words, or NULL. */
static const char *line_with(const char *text, const char *words)
{
	return text ? strstr(text, words) : NULL;
}

static unsigned int lines_with(const char *text, const char *words)
{
	unsigned int n = 0;

	while ((text = line_with(text, words))) {
		text += strlen(words);
		n++;
	}
	return n;
}

/* Wait until the record of a rank contains @words. Return: the record, or NULL. */
static char *record_await(const char *group, unsigned int rank, const char *words)
{
	const __u64 end = now_ms() + PATIENCE_MS;
	char *text;

	for (;;) {
		text = record_text(group, rank);
		if (line_with(text, words))
			return text;
		free(text);
		if (now_ms() > end)
			return NULL;
		sleep_ms(10);
	}
}

static long long head_value(const char *text, const char *key)
{
	const char *at = line_with(text, key);

	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

/* Submit on both ranks, one after the other, without waiting in between. */
static int submit_both(const int *fd, struct collective_op *op)
{
	__u64 id[2];
	int err;

	err = member_start(fd[0], &op[0], &id[0]);
	err = err ? err : member_start(fd[1], &op[1], &id[1]);
	err = err ? err : member_wait(fd[0], id[0], 0);
	return err ? err : member_wait(fd[1], id[1], 0);
}

static int both_call(const int *fd, unsigned int opcode)
{
	static float data[2][9000];
	struct collective_op op[2];
	int i;

	for (i = 0; i < 2; i++)
		op[i] = (struct collective_op) {
			.opcode = opcode,
			.type = COLLECTIVE_FLOAT32,
			.reduction = COLLECTIVE_MAX,
			.count = 9000,
			.send = (uintptr_t)data[i],
			.recv = (uintptr_t)data[i],
		};
	return submit_both(fd, op);
}

static int both_allreduce(const int *fd)
{
	return both_call(fd, COLLECTIVE_ALLREDUCE);
}

/* Check that every line is as documented and that times do not decrease. */
static int check_format(char *text, unsigned int *lines)
{
	unsigned long long time, age, now = 0, before = 0;
	char *line, *next, kind[16];
	int skip;

	*lines = 0;
	for (line = text; *line; line = next) {
		next = strchr(line, '\n');
		CHECK(next);
		*next++ = '\0';
		if ((*lines)++ == 0) {
			CHECK(!strncmp(line, "# collective 1 group=", 21));
			now = head_value(line, " now=");
			continue;
		}
		if (*lines == 2) {
			CHECK(!strncmp(line, "# last ", 7));
			continue;
		}
		CHECK_EQ(3, sscanf(line, "%llu %llu %15s%n", &time, &age, kind, &skip));
		CHECK(time >= before);
		CHECK(time + age == now);
		CHECK(!line[skip] || line[skip] == ' ');
		CHECK(!strchr(line, '?'));
		before = time;
	}
	return 0;
}

TEST_F(two_ranks, order)
{
	static const char * const words[] = {
		" state to=joined\n", " state to=connecting\n", " state to=up\n",
		" submit op=0 opcode=allreduce type=float32 reduction=max root=0 count=9000 bytes=36000 flags=0x0\n",
		" done op=0 error=0\n",
		" submit op=1 opcode=scan ", " agreed op=1\n", " done op=1 error=0\n",
		" submit op=2 ", " done op=2 error=0\n",
	};
	unsigned int rank, lines;
	char *text, last[64];
	const char *at;
	size_t i;

	if (unreadable())
		SKIP(return, UNREADABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	/* The second operation is announced. */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, both_call(self->fd, i == 1 ? COLLECTIVE_SCAN : COLLECTIVE_ALLREDUCE));
	for (rank = 0; rank < 2; rank++) {
		text = record_text(self->name, rank);
		ASSERT_NE(NULL, text);
		at = strstr(text, "# last ");
		ASSERT_NE(NULL, at);
		snprintf(last, sizeof(last), "%.*s", (int)strcspn(at, "\n"), at);
		EXPECT_NE(NULL, strstr(last, " submit op=2 "));
		at = strchr(at, '\n');
		for (i = 0; i < ARRAY_SIZE(words); i++) {
			at = line_with(at, words[i]);
			ASSERT_NE(NULL, at)
				TH_LOG("rank %u: no \"%s\" in\n%s", rank, words[i], text);
		}
		EXPECT_EQ(1, lines_with(text, " link-up rank="));
		EXPECT_EQ(rank, head_value(text, " rank="));
		EXPECT_EQ(2, head_value(text, " nranks="));
		EXPECT_EQ(getpid(), head_value(text, " pid="));
		EXPECT_EQ(1, head_value(text, " present="));
		EXPECT_EQ(3, head_value(text, " submitted="));
		EXPECT_EQ(3, head_value(text, " completed="));
		EXPECT_NE(NULL, strstr(text, " state=up "));
		EXPECT_EQ(0, check_format(text, &lines));
		free(text);
	}
}

/* Operations with keys and messages have names. One that waits for its turn begins later. */
TEST_F(two_ranks, names)
{
	struct collective_op keyed[2] = {
		{ .opcode = COLLECTIVE_BARRIER, .flags = COLLECTIVE_F_KEYED, .key = 77 },
		{ .opcode = COLLECTIVE_BARRIER, .flags = COLLECTIVE_F_KEYED, .key = 77 },
	};
	int data[2] = { 0 };
	struct collective_op message[2] = {
		{
			.opcode = COLLECTIVE_SEND, .type = COLLECTIVE_INT32, .count = 1, .root = 1,
			.send = (uintptr_t)&data[0],
		}, {
			.opcode = COLLECTIVE_RECV, .type = COLLECTIVE_INT32, .count = 1,
			.recv = (uintptr_t)&data[1],
		},
	};
	unsigned int lines;
	__u64 id[4];
	char *text;

	if (unreadable())
		SKIP(return, UNREADABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, submit_both(self->fd, message));
	/* The second use of the key waits for the first one. */
	ASSERT_EQ(0, member_start(self->fd[0], &keyed[0], &id[0]));
	ASSERT_EQ(0, member_start(self->fd[0], &keyed[0], &id[1]));
	ASSERT_EQ(0, member_start(self->fd[1], &keyed[1], &id[2]));
	ASSERT_EQ(0, member_start(self->fd[1], &keyed[1], &id[3]));
	EXPECT_EQ(0, member_wait(self->fd[0], id[0], 0));
	EXPECT_EQ(0, member_wait(self->fd[0], id[1], 0));
	EXPECT_EQ(0, member_wait(self->fd[1], id[2], 0));
	EXPECT_EQ(0, member_wait(self->fd[1], id[3], 0));

	text = record_text(self->name, 0);
	ASSERT_NE(NULL, text);
	EXPECT_EQ(1, lines_with(text, " submit op=0>1:0 opcode=send "));
	EXPECT_EQ(1, lines_with(text, " done op=0>1:0 error=0\n"));
	/* The last operation is in the head of the record, too. */
	EXPECT_EQ(3, lines_with(text, " submit op=key:77 opcode=barrier "));
	EXPECT_EQ(1, lines_with(text, " begin op=key:77\n"));
	EXPECT_EQ(2, lines_with(text, " done op=key:77 error=0\n"));
	EXPECT_EQ(0, check_format(text, &lines));
	free(text);
	text = record_text(self->name, 1);
	EXPECT_EQ(1, lines_with(text, " done op=0>1:0 error=0\n"));
	free(text);
}

TEST_F(two_ranks, deadline)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 20 };
	char *text;

	if (unreadable())
		SKIP(return, UNREADABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[0], &barrier));
	text = record_text(self->name, 0);
	EXPECT_EQ(1, lines_with(text, " fail op=0 error=110 reason=deadline ranks=0,"));
	EXPECT_EQ(1, lines_with(text, " done op=0 error=110 reason=deadline ranks=0,"));
	free(text);
	text = record_await(self->name, 0, " absent op=0 rank=1\n");
	EXPECT_NE(NULL, text);
	free(text);
	/* Rank 1 has not submitted the operation, and is told of the failure. */
	text = record_await(self->name, 1, " fail op=0 error=110 reason=deadline ranks=0,");
	EXPECT_NE(NULL, text);
	EXPECT_NE(NULL, line_with(text, "# last none\n"));
	free(text);
}

TEST_F(two_ranks, cancelled)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	struct collective_cancel cancel = { .size = sizeof(cancel) };
	__u64 id;
	char *text;

	if (unreadable())
		SKIP(return, UNREADABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	cancel.request = id;
	ASSERT_EQ(0, member_ioctl(self->fd[0], COLLECTIVE_IOC_CANCEL, &cancel));
	EXPECT_EQ(-ECANCELED, member_wait(self->fd[0], id, 0));
	text = record_text(self->name, 0);
	EXPECT_EQ(1, lines_with(text, " fail op=0 error=125 reason=cancelled ranks=0,-\n"));
	EXPECT_EQ(1, lines_with(text, " done op=0 error=125 reason=cancelled ranks=0,-\n"));
	free(text);
}

/*
 * The record of a rank that left exists while others are members. A rank that joins again
 * continues it.
 */
TEST_F(two_ranks, leave_and_join_again)
{
	char *text;

	if (unreadable())
		SKIP(return, UNREADABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, both_allreduce(self->fd));
	ASSERT_EQ(0, member_leave(self->fd[1]));
	text = record_text(self->name, 1);
	EXPECT_EQ(0, head_value(text, " present="));
	EXPECT_NE(NULL, line_with(text, " state=left "));
	EXPECT_EQ(1, lines_with(text, " done op=0 error=0\n"));
	EXPECT_EQ(1, lines_with(text, " gone\n"));
	free(text);
	free(record_await(self->name, 0, " link-left rank=1\n"));

	close(self->fd[1]);
	self->fd[1] = member_open();
	ASSERT_LE(0, self->fd[1]);
	ASSERT_EQ(0, member_join(self->fd[1], self->name, self->id, 1, 2, &self->addr[1]));
	text = record_text(self->name, 1);
	EXPECT_EQ(1, head_value(text, " present="));
	EXPECT_NE(NULL, line_with(text, " state=joined "));
	EXPECT_EQ(1, lines_with(text, " gone\n"));
	EXPECT_EQ(2, lines_with(text, " state to=joined\n"));
	free(text);
}

/* All records end with the group, except for readers that have one open. */
TEST_F(two_ranks, gone_with_the_group)
{
	char *text, *again;
	int fd;

	if (unreadable())
		SKIP(return, UNREADABLE);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, both_allreduce(self->fd));
	fd = record_open(self->name, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, member_leave(self->fd[0]));
	EXPECT_TRUE(folder_there(self->name));
	ASSERT_EQ(0, member_leave(self->fd[1]));
	EXPECT_FALSE(folder_there(self->name));
	EXPECT_EQ(-ENOENT, record_open(self->name, 0));

	text = read_rest(fd);
	EXPECT_EQ(1, lines_with(text, " done op=0 error=0\n"));
	EXPECT_EQ(0, lines_with(text, " gone\n"));
	/* An open file is a copy: it does not change. */
	ASSERT_EQ(0, lseek(fd, 0, SEEK_SET));
	again = read_rest(fd);
	ASSERT_NE(NULL, text);
	ASSERT_NE(NULL, again);
	EXPECT_EQ(0, strcmp(text, again));
	free(again);
	free(text);
	close(fd);
}

TEST_F(two_ranks, root_only)
{
	char path[256];
	struct stat info;

	if (unreadable())
		SKIP(return, UNREADABLE);
	file_path(path, sizeof(path), self->name, 0);
	ASSERT_EQ(0, stat(path, &info));
	EXPECT_EQ(0400, info.st_mode & 07777);
	EXPECT_EQ(0, info.st_uid);
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(-EACCES, record_open(self->name, 0));
	ASSERT_EQ(0, seteuid(0));
}

TEST(bounded)
{
	struct sockaddr_storage addr;
	unsigned int lines, i;
	char name[33], *text;
	__u64 id;
	int fd;

	if (unreadable())
		SKIP(return, UNREADABLE);
	fd = member_open();
	group_unique(name, sizeof(name), &id);
	ASSERT_EQ(0, member_join(fd, name, id, 0, 1, &addr));
	ASSERT_EQ(0, member_connect(fd, &addr, 1, 5000));
	for (i = 0; i < 3 * KEPT; i++)
		ASSERT_EQ(0, member_barrier(fd));
	text = record_text(name, 0);
	ASSERT_NE(NULL, text);
	EXPECT_EQ(KEPT, head_value(text, " kept="));
	EXPECT_LE(6 * KEPT, head_value(text, " records="));
	EXPECT_EQ(3 * KEPT, head_value(text, " submitted="));
	/* The last events are kept, each operation with both of its lines. */
	EXPECT_EQ(KEPT / 2, lines_with(text, " done op="));
	EXPECT_EQ(1, lines_with(text, " done op=767 error=0\n"));
	EXPECT_EQ(1, lines_with(text, " done op=640 error=0\n"));
	EXPECT_EQ(0, lines_with(text, " done op=639 error=0\n"));
	EXPECT_EQ(0, check_format(text, &lines));
	EXPECT_EQ(2 + KEPT, lines);
	free(text);
	close(fd);
}

/* The rank is killed in an operation that others wait for. */
static int rank_die(struct rank *r)
{
	const char *group = r->group->name;
	char *text;
	int err;

	CHECK_EQ(0, member_barrier(r->fd));
	CHECK(flag_barrier(r->shared, 0, r->nranks));
	if (r->rank == 1) {
		kill(getpid(), SIGKILL);
		return 1;
	}
	err = member_barrier(r->fd);
	CHECK_EQ(-ECONNRESET, err);
	text = record_await(group, r->rank, " abort error=104 reason=death ranks=1,-\n");
	CHECK(text);
	CHECK(line_with(text, " state to=aborted\n"));
	/* Unless the group failed before it was submitted. */
	if (line_with(text, " submit op=1 "))
		CHECK(line_with(text, " done op=1 error=104 reason=death ranks=1,-\n"));
	CHECK_EQ(1, head_value(text, " present="));
	free(text);
	/* The process has exited; its record still exists. */
	text = record_await(group, 1, " gone\n");
	CHECK(text);
	CHECK_EQ(0, head_value(text, " present="));
	CHECK(line_with(text, " state=aborted "));
	CHECK(line_with(text, " done op=0 error=0\n"));
	CHECK(line_with(text, " abort error=104 reason=death ranks=1,-\n"));
	CHECK(!line_with(text, " submit op=1 "));
	free(text);
	CHECK(flag_barrier(r->shared, 1, r->nranks - 1));
	return 0;
}

TEST(death)
{
	struct group_config config = { .nranks = 3 };
	struct group group;
	int i;

	if (unreadable())
		SKIP(return, UNREADABLE);
	ASSERT_EQ(0, group_start(&group, &config, rank_die, NULL));
	/* Only the rank that was killed. */
	EXPECT_EQ(1, group_wait(&group));
	EXPECT_TRUE(WIFSIGNALED(group.status[1]));
	for (i = 0; i < PATIENCE_MS / 10 && folder_there(group.name); i++)
		sleep_ms(10);
	EXPECT_FALSE(folder_there(group.name));
}

/* A network namespace with a group of the same name. */
static int record_in_other_netns(const char *name, __u64 id)
{
	struct ifreq interface = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct sockaddr_storage addr;
	int fd, network;
	char *text;

	CHECK_EQ(0, unshare(CLONE_NEWNET));
	network = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(network >= 0);
	CHECK_EQ(0, ioctl(network, SIOCSIFFLAGS, &interface));
	fd = member_open();
	CHECK(fd >= 0);
	CHECK(!folder_there(name));
	CHECK_EQ(0, member_join(fd, name, id, 0, 2, &addr));
	CHECK(folder_there(name));
	text = record_text(name, 0);
	CHECK_EQ(getpid(), head_value(text, " pid="));
	free(text);
	CHECK_EQ(0, member_leave(fd));
	close(fd);
	CHECK(!folder_there(name));
	return 0;
}

TEST_F(two_ranks, network_namespaces)
{
	char *text;
	int code;
	pid_t pid;

	if (unreadable())
		SKIP(return, UNREADABLE);
	pid = fork();
	if (!pid)
		_exit(record_in_other_netns(self->name, self->id));
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	text = record_text(self->name, 0);
	EXPECT_EQ(getpid(), head_value(text, " pid="));
	EXPECT_EQ(0, lines_with(text, " gone\n"));
	free(text);
}

/*
 * Processes read all records while groups start and end.
 */

static int read_folder(const char *folder, unsigned int *files)
{
	struct dirent *entry;
	char path[600], *text;
	unsigned int lines;
	DIR *dir = opendir(folder);
	int fd;

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			CHECK_EQ(ENOENT, errno);
			continue;
		}
		text = read_rest(fd);
		CHECK(text);
		CHECK_EQ(0, check_format(text, &lines));
		CHECK(lines >= 2);
		free(text);
		close(fd);
		(*files)++;
	}
	closedir(dir);
	return 0;
}

static int read_all(__u64 end)
{
	unsigned int files = 0;
	struct dirent *entry;
	char folder[300];
	DIR *dir;

	/* At least once, on any machine. */
	while (now_ms() < end || !files) {
		dir = opendir(RECORDERS);
		CHECK(dir);
		while ((entry = readdir(dir))) {
			if (entry->d_name[0] == '.')
				continue;
			snprintf(folder, sizeof(folder), RECORDERS "/%s", entry->d_name);
			CHECK_EQ(0, read_folder(folder, &files));
		}
		closedir(dir);
		CHECK(now_ms() < end + PATIENCE_MS);
	}
	return 0;
}

/* Join, run an operation, and leave or just exit. */
static int join_and_leave(__u64 end, unsigned int number)
{
	struct sockaddr_storage addr;
	char name[33];
	__u64 id;
	int fd, i;

	do {
		fd = member_open();
		CHECK(fd >= 0);
		/*
		 * The names of one process differ by a number only: a new group reuses the name
		 * of one that ends.
		 */
		snprintf(name, sizeof(name), "test.%d-%u", getppid(), number);
		id = number + 1;
		CHECK_EQ(0, member_join(fd, name, id, 0, 1, &addr));
		CHECK_EQ(0, member_connect(fd, &addr, 1, PATIENCE_MS));
		for (i = 0; i < 100; i++)
			CHECK_EQ(0, member_barrier(fd));
		if (rand() & 1)
			CHECK_EQ(0, member_leave(fd));
		close(fd);
	} while (now_ms() < end);
	return 0;
}

FIXTURE(slow) {};
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

TEST_F_TIMEOUT(slow, readers, 120)
{
	const __u64 end = now_ms() + 2500;
	pid_t pid[5];
	int i, code;

	if (unreadable())
		SKIP(return, UNREADABLE);
	for (i = 0; i < 5; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(i < 2 ? read_all(end) : join_and_leave(end, i));
	}
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &code, 0));
		EXPECT_EQ(0, code);
	}
}

TEST_HARNESS_MAIN
