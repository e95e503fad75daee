// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of generic netlink: each comes once, to the right users, and loss is told.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <collective_admin.h>
#include <linux/collective_netlink.h>

#include "lib/as_user.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"

#define PATIENCE_MS	20000
#define EVENTS_MAX	1024

/**
 * struct heard - events of one group, in the order in which they came
 * @admin: listens
 * @group: name of the group
 * @n: number of events
 * @event: the events; their names are not valid any more
 * @other: events of other groups
 * @owner: owner of the latest of these
 */
struct heard {
	struct coll_admin *admin;
	const char *group;
	unsigned int n;
	struct coll_admin_event event[EVENTS_MAX];
	unsigned int other;
	unsigned int owner;
};

static struct heard heard;

static int hear(const struct coll_admin_event *event, void *arg)
{
	if (!strcmp(event->group, heard.group)) {
		if (heard.n < EVENTS_MAX)
			heard.event[heard.n++] = *event;
		return 0;
	}
	heard.other++;
	heard.owner = event->owner;
	return 0;
}

static int listen_for(const char *group)
{
	int err = coll_admin_open(&heard.admin);

	heard.group = group;
	heard.n = 0;
	heard.other = 0;
	return err ? err : coll_admin_listen(heard.admin);
}

static int take_events(void)
{
	int err;

	do {
		err = coll_admin_events(heard.admin, hear, NULL);
	} while (!err);
	return err == -EAGAIN ? 0 : err;
}

/* Return: the @nth event of a kind, from 0; NULL if it does not come within @ms. */
static const struct coll_admin_event *await(unsigned int kind, unsigned int nth, unsigned int ms)
{
	const __u64 end = now_ms() + ms;
	struct pollfd pfd = { .fd = coll_admin_fd(heard.admin), .events = POLLIN };
	unsigned int i, n;

	for (;;) {
		if (take_events())
			return NULL;
		for (i = 0, n = 0; i < heard.n; i++)
			if (heard.event[i].kind == kind && n++ == nth)
				return &heard.event[i];
		if (now_ms() > end)
			return NULL;
		poll(&pfd, 1, 50);
	}
}

static unsigned int count(unsigned int kind)
{
	unsigned int i, n = 0;

	for (i = 0; i < heard.n; i++)
		n += heard.event[i].kind == kind;
	return n;
}

#define JOINED		COLLECTIVE_EVENT_KIND_JOINED
#define UP		COLLECTIVE_EVENT_KIND_UP
#define SLOW		COLLECTIVE_EVENT_KIND_SLOW
#define MISMATCH	COLLECTIVE_EVENT_KIND_MISMATCH
#define ABORTED		COLLECTIVE_EVENT_KIND_ABORTED
#define LEFT		COLLECTIVE_EVENT_KIND_LEFT

TEST(life_in_order)
{
	struct sockaddr_storage addr[2];
	const struct coll_admin_event *event;
	char name[33];
	__u64 id;
	int fd[2], i;

	ASSERT_EQ(0, listen_for(name));
	ASSERT_EQ(0, two_ranks_join(fd, addr, name, &id));
	ASSERT_EQ(0, two_ranks_connect(fd, addr));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, member_leave(fd[i]));
	event = await(LEFT, 1, PATIENCE_MS);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(2, event->size);
	EXPECT_EQ((__u32)getpid(), event->pid);
	EXPECT_EQ(COLLECTIVE_STATE_LEFT, event->state);
	EXPECT_EQ(0, event->reason.kind);
	EXPECT_EQ(2, count(JOINED));
	EXPECT_EQ(2, count(UP));
	EXPECT_EQ(2, count(LEFT));
	EXPECT_EQ(6, heard.n);
	close(fd[0]);
	close(fd[1]);
	coll_admin_close(heard.admin);
}

TEST_F(two_ranks, slow)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 4000 };
	const struct coll_admin_event *event;
	__u64 id, began;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, listen_for(self->name));
	ASSERT_EQ(0, coll_admin_set_group(heard.admin, self->name, COLL_ADMIN_KEEP_TIMEOUT, 10));
	began = now_ms();
	ASSERT_EQ(0, member_start(self->fd[0], &op, &id));
	event = await(SLOW, 0, PATIENCE_MS);
	ASSERT_NE(NULL, event);
	EXPECT_LE(350, now_ms() - began);
	EXPECT_EQ(0, event->rank);
	EXPECT_EQ(id, event->request);
	EXPECT_EQ(0, event->instance);
	EXPECT_EQ(COLLECTIVE_BARRIER, event->calls[0].opcode);
	EXPECT_LE(350000000, event->age_ns);
	EXPECT_GE(3700, event->left_ms);
	ASSERT_EQ(1, event->nwaits);
	EXPECT_EQ(1, event->waits[0]);
	/* It still fails at its deadline, and is told once. */
	EXPECT_EQ(-ETIMEDOUT, member_wait(self->fd[0], id, 0));
	EXPECT_LE(3900, now_ms() - began);
	EXPECT_EQ(0, take_events());
	EXPECT_EQ(1, count(SLOW));
	coll_admin_close(heard.admin);
}

TEST_F(two_ranks, not_slow)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 600 };

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, listen_for(self->name));
	ASSERT_EQ(0, coll_admin_set_group(heard.admin, self->name, COLL_ADMIN_KEEP_TIMEOUT, 0));
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[0], &op));
	EXPECT_EQ(0, take_events());
	EXPECT_EQ(0, count(SLOW));
	coll_admin_close(heard.admin);
}

TEST_F(two_ranks, mismatch)
{
	struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	const struct coll_admin_event *event;
	float data[4] = { 0 };
	__u64 id;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, listen_for(self->name));
	ASSERT_EQ(0, member_start(self->fd[0], &barrier, &id));
	EXPECT_EQ(-EBADMSG, member_allreduce(self->fd[1], data, data, 4, COLLECTIVE_FLOAT32,
					     COLLECTIVE_SUM));
	EXPECT_EQ(-EBADMSG, member_wait(self->fd[0], id, 0));
	event = await(MISMATCH, 1, PATIENCE_MS);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(COLLECTIVE_REASON_MISMATCH, event->reason.kind);
	EXPECT_EQ(EBADMSG, event->reason.error);
	EXPECT_EQ(1, event->reason.rank_a + event->reason.rank_b);
	EXPECT_EQ(0, event->instance);
	EXPECT_NE(event->calls[0].opcode, event->calls[1].opcode);
	EXPECT_EQ(COLLECTIVE_STATE_UP, event->state);
	EXPECT_EQ(0, count(ABORTED));
	coll_admin_close(heard.admin);
}

static int wait_for_death(struct rank *r)
{
	if (r->rank == 1)
		pause();
	flag_set(r->shared, 1, 1);
	/* Rank 0 waits until it hears of the death. */
	CHECK_EQ(-ECONNRESET, member_barrier(r->fd));
	return 0;
}

TEST(death)
{
	const struct group_config config = { .nranks = 2, .timeout_ms = 60000 };
	const struct coll_admin_event *event;
	static struct group group;
	int i;

	ASSERT_EQ(0, listen_for(group.name));
	ASSERT_EQ(0, group_start(&group, &config, wait_for_death, NULL));
	ASSERT_TRUE(flag_wait(group.shared, 1, 1, PATIENCE_MS));
	kill(group.pid[1], SIGKILL);
	/* Both ranks are of this host; both tell it, the dying one before it has left. */
	for (i = 0; i < 2; i++) {
		event = await(ABORTED, i, PATIENCE_MS);
		ASSERT_NE(NULL, event);
		EXPECT_EQ(COLLECTIVE_REASON_DEATH, event->reason.kind);
		EXPECT_EQ(1, event->reason.rank_a);
	}
	ASSERT_NE(NULL, await(LEFT, 1, PATIENCE_MS));
	EXPECT_EQ(2, count(ABORTED));
	EXPECT_EQ(1, group_wait(&group));
	coll_admin_close(heard.admin);
}

static int run_group(const void *arg)
{
	struct sockaddr_storage addr[2];
	char name[33];
	__u64 id;
	int fd[2];

	CHECK_EQ(0, two_ranks_join(fd, addr, name, &id));
	CHECK_EQ(0, two_ranks_connect(fd, addr));
	close(fd[0]);
	close(fd[1]);
	return 0;
}

/* Events go to the owner, and to the administrator. */
static int listen_as_user(const void *arg)
{
	CHECK_EQ(0, listen_for("none"));
	flag_set((struct group_shared *)arg, 0, 1);
	CHECK(flag_wait((struct group_shared *)arg, 1, 1, PATIENCE_MS));
	CHECK_EQ(0, take_events());
	CHECK_EQ(0, heard.other);
	CHECK_EQ(0, run_group(NULL));
	CHECK_EQ(0, take_events());
	CHECK_EQ(6, heard.other + heard.n);
	coll_admin_close(heard.admin);
	return 0;
}

TEST(foreign_events)
{
	struct group_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_EQ(0, listen_for("none"));
	pid = fork();
	if (!pid)
		_exit(as_other_user(listen_as_user, shared));
	ASSERT_TRUE(flag_wait(shared, 0, 1, PATIENCE_MS));
	EXPECT_EQ(0, run_group(NULL));
	/* What belongs to root has been sent when close() has returned. */
	EXPECT_EQ(0, take_events());
	EXPECT_EQ(6, heard.other);
	flag_set(shared, 1, 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, take_events());
	EXPECT_EQ(12, heard.other);
	coll_admin_close(heard.admin);
}

static int run_group_elsewhere(const void *arg)
{
	CHECK_EQ(0, unshare(CLONE_NEWNET));
	CHECK_EQ(0, loopback_set(true));
	return run_group(NULL);
}

TEST(events_of_another_network_namespace)
{
	ASSERT_EQ(0, listen_for("none"));
	EXPECT_EQ(0, in_child(run_group_elsewhere, NULL));
	EXPECT_EQ(0, take_events());
	EXPECT_EQ(0, heard.other);
	coll_admin_close(heard.admin);
}

/* A user namespace hears of its own user ids, and of none that it cannot name. */
static int listen_in_own_namespaces(const void *arg)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
		printf("# no user namespaces: %s\n", strerror(errno));
		return 0;
	}
	CHECK_EQ(0, loopback_set(true));
	CHECK_EQ(0, listen_for("none"));
	CHECK_EQ(0, run_group(NULL));
	CHECK_EQ(0, take_events());
	CHECK_EQ(6, heard.other);
	CHECK_EQ(geteuid(), heard.owner);
	coll_admin_close(heard.admin);
	return 0;
}

TEST(events_of_own_namespaces)
{
	EXPECT_EQ(0, as_other_user(listen_in_own_namespaces, NULL));
}

static int take_owner(const struct coll_admin_group *group, void *arg)
{
	*(unsigned int *)arg = group->owner;
	return 0;
}

/* Dumps name the owner as events do, also in a user namespace within that of the network. */
static int same_owner_in_own_user_namespace(const void *arg)
{
	unsigned int owner = ~0U, uid = geteuid();
	struct sockaddr_storage addr[2];
	char name[33];
	__u64 id;
	int fd[2];

	if (unshare(CLONE_NEWUSER)) {
		printf("# no user namespaces: %s\n", strerror(errno));
		return 0;
	}
	CHECK_EQ(0, listen_for("none"));
	CHECK_EQ(0, two_ranks_join(fd, addr, name, &id));
	CHECK_EQ(0, coll_admin_groups(heard.admin, name, take_owner, &owner));
	CHECK_EQ(uid, owner);
	close(fd[0]);
	close(fd[1]);
	CHECK_EQ(0, take_events());
	CHECK(heard.other > 0);
	CHECK_EQ(owner, heard.owner);
	coll_admin_close(heard.admin);
	return 0;
}

TEST(owner_of_events_and_dumps)
{
	EXPECT_EQ(0, as_other_user(same_owner_in_own_user_namespace, NULL));
}

#define BURST	200

/* Every mismatch is heard, or counted as lost. */
TEST_F(two_ranks, burst)
{
	struct collective_op op[2] = {
		{ .opcode = COLLECTIVE_BARRIER, .flags = COLLECTIVE_F_KEYED },
		{ .opcode = COLLECTIVE_BROADCAST, .flags = COLLECTIVE_F_KEYED },
	};
	unsigned int i, lost = 0;
	int room = 16 << 20;
	__u64 id[BURST];
	char byte = 0;

	op[1].count = 1;
	op[1].send = (uintptr_t)&byte;
	op[1].recv = (uintptr_t)&byte;
	op[1].type = COLLECTIVE_INT8;
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, listen_for(self->name));
	/* The socket has room for all: what is lost is lost before it. */
	ASSERT_EQ(0, setsockopt(coll_admin_fd(heard.admin), SOL_SOCKET, SO_RCVBUFFORCE, &room,
				sizeof(room)));
	for (i = 0; i < BURST; i++) {
		op[0].key = i;
		ASSERT_EQ(0, member_start(self->fd[0], &op[0], &id[i]));
	}
	for (i = 0; i < BURST; i++) {
		op[1].key = i;
		EXPECT_EQ(-EBADMSG, member_submit(self->fd[1], &op[1]));
	}
	for (i = 0; i < BURST; i++)
		EXPECT_EQ(-EBADMSG, member_wait(self->fd[0], id[i], 0));
	/* The last event of a rank tells what was lost before it. */
	EXPECT_EQ(0, member_leave(self->fd[0]));
	EXPECT_EQ(0, member_leave(self->fd[1]));
	ASSERT_NE(NULL, await(LEFT, 1, PATIENCE_MS));
	for (i = 0; i < heard.n; i++)
		lost += heard.event[i].lost;
	printf("# %u heard, %u lost\n", count(MISMATCH), lost);
	EXPECT_EQ(2 * BURST, count(MISMATCH) + lost);
	coll_admin_close(heard.admin);
}

/* A program that is too slow is told so. */
TEST(full_socket)
{
	int bytes = 4096, i, err;

	ASSERT_EQ(0, listen_for("none"));
	ASSERT_EQ(0, setsockopt(coll_admin_fd(heard.admin), SOL_SOCKET, SO_RCVBUF, &bytes,
				sizeof(bytes)));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, run_group(NULL));
	do {
		err = coll_admin_events(heard.admin, hear, NULL);
	} while (!err);
	EXPECT_EQ(-ENOBUFS, err);
	EXPECT_EQ(0, take_events());
	EXPECT_LT(0, heard.other);
	EXPECT_GT(120, heard.other);
	coll_admin_close(heard.admin);
}

TEST_HARNESS_MAIN
