// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink: what each dump shows, what each change does, and which users may.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <collective_admin.h>
#include <linux/collective_netlink.h>

#include "lib/as_user.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"

/* A user that is neither root nor that of as_other_user(). */
#define THIRD	1234

#define EXPECT_TEXT(_want, _admin)	EXPECT_STREQ(_want, coll_admin_error(_admin))

#define NO_GROUP	"no such group in this network namespace"
#define FOREIGN		"the group belongs to another user: CAP_NET_ADMIN is needed"

/* Opens a handle; the test fails later if it cannot. */
static struct coll_admin *admin_open(void)
{
	struct coll_admin *admin;
	int err = coll_admin_open(&admin);

	if (err)
		printf("# coll_admin_open: %s\n", strerror(-err));
	return admin;
}

/*
 * What a dump has found: the number of objects, and the latest of them.
 */
struct found {
	unsigned int n;
	union {
		struct coll_admin_group group;
		struct coll_admin_member member;
		struct coll_admin_lane lane;
		struct coll_admin_link link;
		struct coll_admin_request request;
		struct coll_admin_buffer buffer;
		struct coll_admin_record record;
		struct coll_admin_time time;
	};
	struct coll_admin_connection connection[COLL_ADMIN_CONNECTIONS];
	unsigned int kinds;
};

#define FIND(_object)								\
static int find_##_object(const struct coll_admin_##_object *object, void *arg)	\
{										\
	struct found *found = arg;						\
										\
	found->n++;								\
	found->_object = *object;						\
	return 0;								\
}

FIND(group)
FIND(member)
FIND(lane)
FIND(request)
FIND(buffer)
FIND(time)

static int find_link(const struct coll_admin_link *object, void *arg)
{
	struct found *found = arg;

	found->n++;
	found->link = *object;
	memcpy(found->connection, object->connection, object->n * sizeof(*object->connection));
	return 0;
}

static int find_record(const struct coll_admin_record *object, void *arg)
{
	struct found *found = arg;

	found->n++;
	found->kinds |= 1U << object->kind;
	found->record = *object;
	return 0;
}

TEST_F(two_ranks, group)
{
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };

	ASSERT_NE(NULL, admin);
	ASSERT_LE(0, coll_admin_groups(admin, self->name, find_group, &found));
	ASSERT_EQ(1, found.n);
	EXPECT_EQ(self->id, found.group.id);
	EXPECT_EQ(2, found.group.size);
	EXPECT_EQ(2, found.group.members);
	EXPECT_EQ(1, found.group.lanes);
	EXPECT_EQ(geteuid(), found.group.owner);
	EXPECT_FALSE(found.group.secured);
	EXPECT_EQ(0, found.group.timeout_ms);
	EXPECT_EQ(50, found.group.slow_percent);
	EXPECT_EQ(-ENOENT, coll_admin_groups(admin, "none", find_group, &found));
	EXPECT_TEXT(NO_GROUP, admin);
	coll_admin_close(admin);
}

TEST_F(two_ranks, member)
{
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };
	long long bytes;

	ASSERT_NE(NULL, admin);
	ASSERT_LE(0, coll_admin_members(admin, self->name, 1, find_member, &found));
	ASSERT_EQ(1, found.n);
	EXPECT_EQ(1, found.member.rank);
	EXPECT_EQ(COLLECTIVE_STATE_JOINED, found.member.state);
	EXPECT_EQ((__u32)getpid(), found.member.pid);
	EXPECT_EQ(0, memcmp(&self->addr[1], &found.member.address, sizeof(struct sockaddr_in)));
	EXPECT_EQ(300000, found.member.timeout_ms);
	EXPECT_EQ(1000, found.member.heartbeat_ms);

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	bytes = member_memory(self->name, 1);
	ASSERT_LT(0, bytes);
	found.n = 0;
	ASSERT_LE(0, coll_admin_members(admin, self->name, COLL_ADMIN_ALL, find_member, &found));
	EXPECT_EQ(2, found.n);
	EXPECT_EQ(COLLECTIVE_STATE_UP, found.member.state);
	EXPECT_EQ((__u64)bytes, found.member.memory_bytes);
	EXPECT_EQ(0, found.member.reason.kind);
	EXPECT_EQ(0, found.member.events_lost);
	coll_admin_close(admin);
}

TEST_F(two_ranks, lane)
{
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };

	ASSERT_NE(NULL, admin);
	ASSERT_LE(0, coll_admin_lanes(admin, self->name, COLL_ADMIN_ALL, find_lane, &found));
	EXPECT_EQ(2, found.n);
	EXPECT_EQ(member_value(self->name, 1, "cpus"), found.lane.cpu);

	ASSERT_EQ(0, coll_admin_set_cpu(admin, self->name, 1, 0, 0));
	EXPECT_EQ(0, member_value(self->name, 1, "cpus"));
	EXPECT_EQ(-EINVAL, coll_admin_set_cpu(admin, self->name, 1, 0, 100000));
	EXPECT_TEXT("no such CPU is online", admin);
	EXPECT_EQ(-ENOENT, coll_admin_set_cpu(admin, self->name, 1, 1, 0));
	EXPECT_TEXT("the group has fewer lanes", admin);
	EXPECT_EQ(-ENOENT, coll_admin_set_cpu(admin, self->name, 2, 0, 0));
	EXPECT_TEXT("the rank is no member on this host", admin);
	coll_admin_close(admin);
}

/* JOIN has made what CONNECT completes: each kind of object is listed as far as it is there. */
TEST_F(two_ranks, listed_before_connect)
{
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };

	ASSERT_NE(NULL, admin);
	ASSERT_LE(0, coll_admin_links(admin, self->name, 0, find_link, &found));
	EXPECT_EQ(1, found.n);
	EXPECT_EQ(1, found.link.peer);
	EXPECT_EQ(0, found.link.n);
	EXPECT_EQ(AF_UNSPEC, found.link.address.ss_family);
	EXPECT_LE(0, coll_admin_groups(admin, self->name, find_group, &found));
	EXPECT_LE(0, coll_admin_members(admin, self->name, COLL_ADMIN_ALL, find_member, &found));
	EXPECT_LE(0, coll_admin_lanes(admin, self->name, COLL_ADMIN_ALL, find_lane, &found));
	EXPECT_LE(0, coll_admin_requests(admin, self->name, COLL_ADMIN_ALL, find_request,
					 &found));
	EXPECT_LE(0, coll_admin_buffers(admin, self->name, COLL_ADMIN_ALL, find_buffer, &found));
	EXPECT_LE(0, coll_admin_records(admin, self->name, COLL_ADMIN_ALL, find_record, &found));
	EXPECT_LE(0, coll_admin_times(admin, self->name, COLL_ADMIN_ALL, find_time, &found));
	coll_admin_close(admin);
}

static void links_of(struct __test_metadata *_metadata, const char *name,
		     const struct sockaddr_storage *addr)
{
	bool tcp = transport_choice(NULL) == COLLECTIVE_TRANSPORT_TCP;
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };

	ASSERT_NE(NULL, admin);
	ASSERT_LE(0, coll_admin_links(admin, name, 0, find_link, &found));
	ASSERT_EQ(1, found.n);
	EXPECT_EQ(1, found.link.peer);
	EXPECT_EQ(2, found.link.open);
	EXPECT_STREQ(tcp ? "tcp" : "local",
		     coll_admin_name(COLL_ADMIN_TRANSPORT, found.link.transport));
	ASSERT_EQ(2, found.link.n);
	EXPECT_EQ(COLL_ADMIN_NONE, found.connection[0].lane);
	EXPECT_EQ(0, found.connection[1].lane);
	EXPECT_EQ(COLLECTIVE_CONNECTION_STATE_OPEN, found.connection[1].state);
	EXPECT_TRUE(found.connection[1].outgoing);
	EXPECT_LT(0, found.connection[1].credit);
	EXPECT_EQ(tcp, found.connection[1].has_tcp);
	if (tcp) {
		EXPECT_EQ(0, memcmp(&addr[1], &found.connection[1].peer,
				    sizeof(struct sockaddr_in)));
		EXPECT_NE(0, ((struct sockaddr_in *)&found.connection[1].local)->sin_port);
		EXPECT_LT(0, found.connection[1].rtt_us);
	}
	coll_admin_close(admin);
}

/* A link shows where its peer is called, which does not answer. */
TEST_F(two_ranks, link_being_made)
{
	struct sockaddr_storage addr[2] = { self->addr[0], self->addr[1] };
	struct sockaddr_in *peer = (struct sockaddr_in *)&addr[1];
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };
	socklen_t size = sizeof(*peer);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	ASSERT_NE(NULL, admin);
	peer->sin_port = 0;
	ASSERT_EQ(0, bind(listener, (struct sockaddr *)peer, size));
	ASSERT_EQ(0, listen(listener, 8));
	ASSERT_EQ(0, getsockname(listener, (struct sockaddr *)peer, &size));
	ASSERT_EQ(0, fcntl(self->fd[0], F_SETFL, O_RDWR | O_NONBLOCK));
	ASSERT_EQ(-EINPROGRESS, member_connect(self->fd[0], addr, 2, 60000));
	ASSERT_LE(0, coll_admin_links(admin, self->name, 0, find_link, &found));
	ASSERT_EQ(1, found.n);
	EXPECT_EQ(0, found.link.n);
	EXPECT_EQ(0, memcmp(peer, &found.link.address, sizeof(*peer)));
	close(listener);
	coll_admin_close(admin);
}

TEST_F(two_ranks, link)
{
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	links_of(_metadata, self->name, self->addr);
}

TEST(link_by_tcp)
{
	struct sockaddr_storage addr[2];
	char name[33];
	int fd[2];
	__u64 id;

	setenv("COLL_TRANSPORT", "tcp", 1);
	ASSERT_EQ(0, two_ranks_join(fd, addr, name, &id));
	ASSERT_EQ(0, two_ranks_connect(fd, addr));
	links_of(_metadata, name, addr);
	close(fd[0]);
	close(fd[1]);
}

TEST_F(two_ranks, request)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 60000 };
	struct coll_admin *admin = admin_open();
	struct collective_status status;
	struct found found = { 0 };
	__u64 id;
	int err;

	ASSERT_NE(NULL, admin);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[0], &op, &id));
	sleep_ms(50);
	ASSERT_LE(0, coll_admin_requests(admin, self->name, COLL_ADMIN_ALL, find_request, &found));
	ASSERT_EQ(1, found.n);
	EXPECT_EQ(id, found.request.id);
	EXPECT_EQ(0, found.request.instance);
	EXPECT_EQ(COLLECTIVE_BARRIER, found.request.call.opcode);
	EXPECT_LE(40000000, found.request.age_ns);
	EXPECT_GE(60000, found.request.left_ms);
	EXPECT_LT(30000, found.request.left_ms);
	ASSERT_EQ(1, found.request.nwaits);
	EXPECT_EQ(1, found.request.waits[0]);

	EXPECT_EQ(-ENOENT, coll_admin_cancel(admin, self->name, 0, id + 1));
	EXPECT_TEXT("no such request is in flight", admin);
	EXPECT_EQ(0, coll_admin_cancel(admin, self->name, 0, id));
	EXPECT_EQ(-ECANCELED, member_wait(self->fd[0], id, 0));
	/* The group lives.  The other rank may have submitted before it heard of the failure. */
	err = member_barrier(self->fd[1]);
	EXPECT_TRUE(!err || err == -ECANCELED);
	ASSERT_EQ(0, member_start(self->fd[0], &op, &id));
	EXPECT_EQ(0, member_barrier(self->fd[1]));
	EXPECT_EQ(0, member_wait(self->fd[0], id, 0));
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
	coll_admin_close(admin);
}

TEST_F(two_ranks, buffer)
{
	struct coll_admin *admin = admin_open();
	static __u8 memory[3 * 4096] __attribute__((aligned(4096)));
	struct found found = { 0 };
	__u32 buffer;

	ASSERT_NE(NULL, admin);
	ASSERT_EQ(0, member_register(self->fd[1], memory + 100, 8192, 0, &buffer));
	ASSERT_LE(0, coll_admin_buffers(admin, self->name, COLL_ADMIN_ALL, find_buffer, &found));
	ASSERT_EQ(1, found.n);
	EXPECT_EQ(1, found.buffer.rank);
	EXPECT_EQ(buffer, found.buffer.number);
	EXPECT_EQ((uintptr_t)memory + 100, found.buffer.address);
	EXPECT_EQ(8192, found.buffer.length);
	EXPECT_EQ(3, found.buffer.pages);
	EXPECT_EQ(0, found.buffer.users);
	EXPECT_TRUE(found.buffer.writable);
	ASSERT_EQ(0, member_unregister(self->fd[1], buffer));
	found.n = 0;
	ASSERT_LE(0, coll_admin_buffers(admin, self->name, COLL_ADMIN_ALL, find_buffer, &found));
	EXPECT_EQ(0, found.n);
	coll_admin_close(admin);
}

/* A dump of more records, requests or buffers than a message has room for is complete. */
TEST_F(two_ranks, many)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .flags = COLLECTIVE_F_KEYED };
	static __u8 memory[4096] __attribute__((aligned(4096)));
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };
	__u32 buffer;
	__u64 id;
	int i;

	ASSERT_NE(NULL, admin);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < 300; i++) {
		op.key = i;
		ASSERT_EQ(0, member_start(self->fd[0], &op, &id));
		ASSERT_EQ(0, member_register(self->fd[0], memory, 8, 0, &buffer));
	}
	ASSERT_LE(0, coll_admin_requests(admin, self->name, 0, find_request, &found));
	EXPECT_EQ(300, found.n);
	found.n = 0;
	ASSERT_LE(0, coll_admin_buffers(admin, self->name, 0, find_buffer, &found));
	EXPECT_EQ(300, found.n);
	found.n = 0;
	ASSERT_LE(0, coll_admin_records(admin, self->name, 0, find_record, &found));
	EXPECT_EQ(256, found.n);
	EXPECT_TRUE(found.kinds & 1U << COLLECTIVE_RECORD_KIND_SUBMIT);
	coll_admin_close(admin);
}

/* The records stay when a rank has gone. */
TEST_F(two_ranks, record)
{
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };

	ASSERT_NE(NULL, admin);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	close(self->fd[1]);
	self->fd[1] = -1;
	ASSERT_LE(0, coll_admin_records(admin, self->name, 1, find_record, &found));
	EXPECT_LT(3, found.n);
	EXPECT_EQ(COLLECTIVE_RECORD_KIND_GONE, found.record.kind);
	EXPECT_TRUE(found.kinds & 1U << COLLECTIVE_RECORD_KIND_STATE);
	EXPECT_TRUE(found.kinds & 1U << COLLECTIVE_RECORD_KIND_LINK);
	coll_admin_close(admin);
}

TEST_F(two_ranks, group_defaults)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };

	ASSERT_NE(NULL, admin);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, coll_admin_set_group(admin, self->name, 300, COLL_ADMIN_KEEP_SLOW));
	ASSERT_EQ(0, coll_admin_set_group(admin, self->name, COLL_ADMIN_KEEP_TIMEOUT, 7));
	EXPECT_EQ(-EINVAL, coll_admin_set_group(admin, self->name, COLL_ADMIN_KEEP_TIMEOUT,
						COLL_ADMIN_KEEP_SLOW));
	EXPECT_TEXT("nothing is to be set", admin);
	EXPECT_EQ(-ERANGE, coll_admin_set_group(admin, self->name, COLL_ADMIN_KEEP_TIMEOUT, 101));
	ASSERT_LE(0, coll_admin_groups(admin, self->name, find_group, &found));
	EXPECT_EQ(300, found.group.timeout_ms);
	EXPECT_EQ(7, found.group.slow_percent);
	ASSERT_LE(0, coll_admin_members(admin, self->name, 0, find_member, &found));
	EXPECT_EQ(300, found.member.timeout_ms);
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[0], &op));
	coll_admin_close(admin);
}

TEST_F(two_ranks, abort)
{
	struct coll_admin *admin = admin_open();
	struct collective_status status;
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	__u64 id;

	ASSERT_NE(NULL, admin);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_start(self->fd[1], &op, &id));
	EXPECT_EQ(0, coll_admin_abort(admin, self->name));
	EXPECT_EQ(-ECANCELED, member_wait(self->fd[1], id, 0));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_CANCELLED, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
	EXPECT_EQ(-EALREADY, coll_admin_abort(admin, self->name));
	EXPECT_TEXT("the group has failed already", admin);
	EXPECT_EQ(-ENOENT, coll_admin_abort(admin, "none"));
	EXPECT_TEXT(NO_GROUP, admin);
	coll_admin_close(admin);
}

/* Reads and changes the group of root; every change is refused. */
static int meddle(const void *arg)
{
	const char *name = arg;
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };

	CHECK(admin);
	/* Everyone sees what sysfs shows. */
	CHECK(coll_admin_groups(admin, name, find_group, &found) >= 0);
	CHECK(coll_admin_members(admin, name, COLL_ADMIN_ALL, find_member, &found) >= 0);
	CHECK(coll_admin_lanes(admin, name, COLL_ADMIN_ALL, find_lane, &found) >= 0);
	CHECK_EQ(5, found.n);
	CHECK_EQ(-EACCES, coll_admin_links(admin, name, COLL_ADMIN_ALL, find_link, &found));
	CHECK(!strcmp(FOREIGN, coll_admin_error(admin)));
	CHECK_EQ(-EACCES, coll_admin_requests(admin, name, COLL_ADMIN_ALL, find_request, &found));
	CHECK_EQ(-EACCES, coll_admin_buffers(admin, name, COLL_ADMIN_ALL, find_buffer, &found));
	CHECK_EQ(-EACCES, coll_admin_records(admin, name, COLL_ADMIN_ALL, find_record, &found));
	CHECK_EQ(-EACCES, coll_admin_times(admin, name, COLL_ADMIN_ALL, find_time, &found));
	found.n = 0;
	CHECK(coll_admin_links(admin, NULL, COLL_ADMIN_ALL, find_link, &found) >= 0);
	CHECK(coll_admin_records(admin, NULL, COLL_ADMIN_ALL, find_record, &found) >= 0);
	CHECK_EQ(0, found.n);
	CHECK_EQ(-EPERM, coll_admin_abort(admin, name));
	CHECK(!strcmp(FOREIGN, coll_admin_error(admin)));
	CHECK_EQ(-EPERM, coll_admin_cancel(admin, name, 0, 1));
	CHECK_EQ(-EPERM, coll_admin_set_cpu(admin, name, 0, 0, 0));
	CHECK_EQ(-EPERM, coll_admin_set_group(admin, name, 1, 1));
	coll_admin_close(admin);
	return 0;
}

TEST_F(two_ranks, another_user)
{
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, as_other_user(meddle, self->name));
}

/* In a user namespace of its own a user is root, but not of the network namespace. */
static int meddle_as_root_of_userns(const void *arg)
{
	if (unshare(CLONE_NEWUSER)) {
		printf("# no user namespaces: %s\n", strerror(errno));
		return 0;
	}
	return meddle(arg);
}

TEST_F(two_ranks, another_user_namespace)
{
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, as_other_user(meddle_as_root_of_userns, self->name));
}

/**
 * struct named - groups of a name that were seen
 * @name: the name
 * @own: the caller's
 * @other: of other users
 */
struct named {
	const char *name;
	unsigned int own, other;
};

static int count_named(const struct coll_admin_group *group, void *arg)
{
	struct named *named = arg;

	named->own += !strcmp(group->name, named->name);
	named->other += !strncmp(group->name, named->name, strlen(named->name)) &&
			group->name[strlen(named->name)] == '@';
	return 0;
}

/* A third user must say whose group it means; one that has such a group means its own. */
static int names_as_third_user(const void *arg)
{
	struct named named = { .name = arg };
	struct coll_admin *admin;
	char other[64];

	CHECK(!setresgid(THIRD, THIRD, THIRD) && !setresuid(THIRD, THIRD, THIRD));
	admin = admin_open();
	CHECK(admin);
	CHECK(coll_admin_groups(admin, NULL, count_named, &named) >= 0);
	CHECK_EQ(0, named.own);
	CHECK_EQ(2, named.other);
	CHECK_EQ(-ENOTUNIQ, coll_admin_groups(admin, arg, count_named, &named));
	snprintf(other, sizeof(other), "%s@0", named.name);
	CHECK(coll_admin_groups(admin, other, count_named, &named) >= 0);
	CHECK_EQ(3, named.other);
	CHECK_EQ(-EPERM, coll_admin_abort(admin, other));
	coll_admin_close(admin);
	return 0;
}

/* A user has a group of the same name as root.  Return: its process, which root ends. */
static pid_t join_as_nobody(const char *name)
{
	struct sockaddr_storage addr;
	pid_t pid;
	int pipes[2];
	char c;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY) ||
		    member_join(member_open(), name, 7, 0, 2, &addr))
			_exit(1);
		(void)!write(pipes[1], "", 1);
		pause();
	}
	close(pipes[1]);
	if (read(pipes[0], &c, 1) != 1)
		return -1;
	close(pipes[0]);
	return pid;
}

static int take_state(const struct coll_admin_member *member, void *arg)
{
	*(unsigned int *)arg = member->state;
	return 0;
}

TEST_F(two_ranks, same_name_of_two_users)
{
	struct coll_admin *admin = admin_open();
	struct named named = { .name = self->name };
	pid_t pid = join_as_nobody(self->name);
	unsigned int state = 0;
	char other[64];

	ASSERT_NE(NULL, admin);
	ASSERT_LT(0, pid);
	snprintf(other, sizeof(other), "%s@%u", self->name, NOBODY);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_LE(0, coll_admin_groups(admin, NULL, count_named, &named));
	EXPECT_EQ(1, named.own);
	EXPECT_EQ(1, named.other);
	EXPECT_EQ(0, in_child(names_as_third_user, self->name));
	EXPECT_EQ(0, coll_admin_abort(admin, other));
	ASSERT_LE(0, coll_admin_members(admin, other, 0, take_state, &state));
	EXPECT_EQ(COLL_ADMIN_STATE_ABORTED, state);
	ASSERT_LE(0, coll_admin_members(admin, self->name, 0, take_state, &state));
	EXPECT_EQ(COLL_ADMIN_STATE_UP, state);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(-ENOENT, coll_admin_abort(admin, other));
	coll_admin_close(admin);
}

/* A descriptor that root has opened gives another user no rights. */
static int use_handle(const void *arg)
{
	struct coll_admin *admin = *(struct coll_admin * const *)arg;
	struct found found = { 0 };

	CHECK(coll_admin_links(admin, NULL, COLL_ADMIN_ALL, find_link, &found) >= 0);
	CHECK_EQ(0, found.n);
	return 0;
}

TEST_F(two_ranks, inherited_handle)
{
	struct coll_admin *admin = admin_open();

	ASSERT_NE(NULL, admin);
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, as_other_user(use_handle, &admin));
	coll_admin_close(admin);
}

/* A user without any capability sees and changes a group of its own. */
static int own_group(const void *arg)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	struct sockaddr_storage addr[2];
	struct coll_admin *admin = admin_open();
	struct found found = { 0 };
	char name[33];
	__u64 group, id;
	int fd[2];

	CHECK(admin);
	CHECK_EQ(0, two_ranks_join(fd, addr, name, &group));
	CHECK_EQ(0, two_ranks_connect(fd, addr));
	CHECK(coll_admin_links(admin, name, COLL_ADMIN_ALL, find_link, &found) >= 0);
	CHECK_EQ(2, found.n);
	CHECK(coll_admin_records(admin, name, COLL_ADMIN_ALL, find_record, &found) >= 0);
	CHECK(found.n > 6);
	CHECK_EQ(0, member_start(fd[0], &op, &id));
	CHECK_EQ(0, coll_admin_cancel(admin, name, 0, id));
	CHECK_EQ(0, coll_admin_set_cpu(admin, name, 0, 0, sched_getcpu()));
	CHECK_EQ(0, coll_admin_set_group(admin, name, 5000, 10));
	CHECK_EQ(0, coll_admin_abort(admin, name));
	coll_admin_close(admin);
	close(fd[0]);
	close(fd[1]);
	return 0;
}

/* It may move a lane to CPUs that it may run on only. */
static int own_lane_elsewhere(const void *arg)
{
	struct sockaddr_storage addr[2];
	struct coll_admin *admin = admin_open();
	char name[33];
	cpu_set_t cpus;
	__u64 group;
	int fd[2];

	CHECK(admin);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	CHECK_EQ(0, sched_setaffinity(0, sizeof(cpus), &cpus));
	CHECK_EQ(0, two_ranks_join(fd, addr, name, &group));
	CHECK_EQ(-EPERM, coll_admin_set_cpu(admin, name, 0, 0, 1));
	CHECK(!strcmp("the caller or the rank may not run on this CPU: CAP_SYS_NICE is needed",
		      coll_admin_error(admin)));
	coll_admin_close(admin);
	close(fd[0]);
	close(fd[1]);
	return 0;
}

/* The maker of a network namespace is its administrator, and may use no more CPUs than before. */
static int lane_of_own_namespace(const void *arg)
{
	struct sockaddr_storage addr[2];
	struct coll_admin *admin;
	char name[33];
	cpu_set_t cpus;
	__u64 group;
	int fd[2];

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	CHECK_EQ(0, sched_setaffinity(0, sizeof(cpus), &cpus));
	CHECK_EQ(0, unshare(CLONE_NEWUSER | CLONE_NEWNET));
	CHECK_EQ(0, loopback_set(true));
	admin = admin_open();
	CHECK(admin);
	CHECK_EQ(0, two_ranks_join(fd, addr, name, &group));
	CHECK_EQ(-EPERM, coll_admin_set_cpu(admin, name, 0, 0, 1));
	CHECK_EQ(0, coll_admin_set_cpu(admin, name, 0, 0, 0));
	coll_admin_close(admin);
	close(fd[0]);
	close(fd[1]);
	return 0;
}

TEST(own_namespace_gives_no_cpus)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	if (access("/proc/self/ns/user", F_OK))
		SKIP(return, "no user namespaces");
	EXPECT_EQ(0, as_other_user(lane_of_own_namespace, NULL));
}

TEST(own_group_needs_no_root)
{
	EXPECT_EQ(0, as_other_user(own_group, NULL));
}

TEST(own_lane_stays_on_own_cpus)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	EXPECT_EQ(0, as_other_user(own_lane_elsewhere, NULL));
}

/* Another network namespace has groups of its own. */
static int look_from_elsewhere(const void *arg)
{
	struct coll_admin *admin;
	struct found found = { 0 };

	CHECK_EQ(0, unshare(CLONE_NEWNET));
	CHECK_EQ(0, loopback_set(true));
	admin = admin_open();
	CHECK(admin);
	CHECK_EQ(0, coll_admin_groups(admin, NULL, find_group, &found));
	CHECK_EQ(0, found.n);
	CHECK_EQ(-ENOENT, coll_admin_abort(admin, arg));
	coll_admin_close(admin);
	return own_group(NULL);
}

TEST_F(two_ranks, another_network_namespace)
{
	EXPECT_EQ(0, in_child(look_from_elsewhere, self->name));
}

/* Root of a user namespace is the administrator of a network namespace that it has made. */
static int rule_own_namespaces(const void *arg)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
		printf("# no user namespaces: %s\n", strerror(errno));
		return 0;
	}
	CHECK_EQ(0, loopback_set(true));
	return own_group(NULL);
}

TEST(own_network_namespace)
{
	EXPECT_EQ(0, as_other_user(rule_own_namespaces, NULL));
}

/* Groups that end while their requests are listed. */
#define ENDS	40

struct lister {
	const char *name;
	bool ends;
};

static void *list_requests(void *arg)
{
	struct lister *lister = arg;
	struct coll_admin *admin = admin_open();
	struct found found;

	while (admin && !__atomic_load_n(&lister->ends, __ATOMIC_ACQUIRE)) {
		memset(&found, 0, sizeof(found));
		coll_admin_requests(admin, lister->name, COLL_ADMIN_ALL, find_request, &found);
	}
	coll_admin_close(admin);
	return NULL;
}

/* What a request on the board waits for is looked up there, until the request is gone. */
TEST(requests_of_a_rank_that_ends)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	struct sockaddr_storage addr[2];
	struct lister lister;
	int fd[2], i;
	char name[33];
	__u64 group, id;
	pthread_t thread;

	for (i = 0; i < ENDS; i++) {
		group_unique(name, sizeof(name), &group);
		ASSERT_EQ(0, members_make(fd, addr, 2, name, group));
		lister = (struct lister){ .name = name };
		ASSERT_EQ(0, member_start(fd[0], &barrier, &id));
		ASSERT_EQ(0, pthread_create(&thread, NULL, list_requests, &lister));
		sleep_ms(i % 5);
		close(fd[i % 2]);
		close(fd[1 - i % 2]);
		__atomic_store_n(&lister.ends, true, __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
	}
}

TEST_HARNESS_MAIN
