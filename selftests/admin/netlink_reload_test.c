// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module is unloaded and loaded again while a program has a handle.  The controller of generic
 * netlink and the family are simulated below the library: sendmsg(), recvmsg() and setsockopt() of
 * this file answer for netlink sockets, as the kernel does.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include <collective_admin.h>
#include <linux/collective_netlink.h>
#include <linux/genetlink.h>

#include <kselftest_harness.h>

#define FILES		64
#define WAITING		64
#define MESSAGE_SIZE	512
#define GROUP_NOTIFY	GENL_ID_CTRL

/**
 * struct file - a netlink socket
 * @message: messages that wait
 * @length: their bytes
 * @n: number of them
 * @notify: true if it is in the group of the controller
 * @events: multicast group of the module that it is in; 0: none
 * @overflow: true if messages were lost
 */
static struct file {
	char message[WAITING][MESSAGE_SIZE];
	size_t length[WAITING];
	unsigned int n;
	bool notify;
	unsigned int events;
	bool overflow;
} files[FILES];

/* Number of the family, and of its multicast group; 0: the module is not loaded. */
static unsigned int family, group;
static unsigned int next_family, next_group;
static unsigned int heard;

static void put(struct file *file, struct nl_msg *msg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);

	if (file->n == WAITING || file->overflow) {
		file->overflow = true;
		return;
	}
	memcpy(file->message[file->n], header, header->nlmsg_len);
	file->length[file->n++] = header->nlmsg_len;
}

static void answer_error(struct file *file, const struct nlmsghdr *call, int error)
{
	struct nlmsgerr data = { .error = error, .msg = *call };
	struct nl_msg *msg = nlmsg_alloc();
	struct nlmsghdr *header = nlmsg_put(msg, call->nlmsg_pid, call->nlmsg_seq, NLMSG_ERROR,
					    sizeof(data), NLM_F_CAPPED);

	memcpy(nlmsg_data(header), &data, sizeof(data));
	put(file, msg);
	nlmsg_free(msg);
}

static struct nl_msg *family_message(const struct nlmsghdr *call, int cmd, const char *name,
				     unsigned int id, const char *group_name, unsigned int group_id)
{
	struct nl_msg *msg = nlmsg_alloc();
	struct nlattr *groups, *one;

	genlmsg_put(msg, call ? call->nlmsg_pid : 0, call ? call->nlmsg_seq : 0, GENL_ID_CTRL, 0, 0,
		    cmd, 2);
	nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, name);
	nla_put_u16(msg, CTRL_ATTR_FAMILY_ID, id);
	nla_put_u32(msg, CTRL_ATTR_VERSION, 1);
	groups = nla_nest_start(msg, CTRL_ATTR_MCAST_GROUPS);
	one = nla_nest_start(msg, 1);
	nla_put_u32(msg, CTRL_ATTR_MCAST_GRP_ID, group_id);
	nla_put_string(msg, CTRL_ATTR_MCAST_GRP_NAME, group_name);
	nla_nest_end(msg, one);
	nla_nest_end(msg, groups);
	return msg;
}

/* The controller is asked for a family. */
static void answer_family(struct file *file, const struct nlmsghdr *call)
{
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];
	struct nl_msg *msg = NULL;

	if (genlmsg_parse((struct nlmsghdr *)call, 0, attrs, CTRL_ATTR_MAX, NULL) < 0 ||
	    !attrs[CTRL_ATTR_FAMILY_NAME])
		answer_error(file, call, -EINVAL);
	else if (!nla_strcmp(attrs[CTRL_ATTR_FAMILY_NAME], "nlctrl"))
		msg = family_message(call, CTRL_CMD_NEWFAMILY, "nlctrl", GENL_ID_CTRL, "notify",
				     GROUP_NOTIFY);
	else if (family && !nla_strcmp(attrs[CTRL_ATTR_FAMILY_NAME], COLLECTIVE_FAMILY_NAME))
		msg = family_message(call, CTRL_CMD_NEWFAMILY, COLLECTIVE_FAMILY_NAME, family,
				     "events", group);
	else
		answer_error(file, call, -ENOENT);
	if (msg)
		put(file, msg);
	nlmsg_free(msg);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	const struct nlmsghdr *call = message->msg_iov->iov_base;

	if (call->nlmsg_type == GENL_ID_CTRL)
		answer_family(&files[fd], call);
	else
		answer_error(&files[fd], call, family && call->nlmsg_type == family ? 0 : -ENOENT);
	return call->nlmsg_len;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	struct file *file = &files[fd];
	struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	struct iovec *iov = message->msg_iov;
	size_t length = file->length[0], room = length < iov->iov_len ? length : iov->iov_len;

	if (file->overflow || !file->n) {
		errno = file->overflow ? ENOBUFS : EAGAIN;
		file->overflow = false;
		return -1;
	}
	memcpy(message->msg_name, &from, sizeof(from));
	message->msg_namelen = sizeof(from);
	message->msg_controllen = 0;
	message->msg_flags = length > iov->iov_len ? MSG_TRUNC : 0;
	memcpy(iov->iov_base, file->message[0], room);
	if (!(flags & MSG_PEEK)) {
		file->n--;
		memmove(file->message, file->message + 1, file->n * MESSAGE_SIZE);
		memmove(file->length, file->length + 1, file->n * sizeof(*file->length));
	}
	return flags & MSG_TRUNC ? length : room;
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	unsigned int number;

	if (level != SOL_NETLINK || option != NETLINK_ADD_MEMBERSHIP)
		return 0;
	memcpy(&number, value, sizeof(number));
	if (number == GROUP_NOTIFY)
		files[fd].notify = true;
	else
		files[fd].events = number;
	return 0;
}

static void notify(int cmd, const char *name)
{
	struct nl_msg *msg = family_message(NULL, cmd, name, family, "events", group);
	int fd;

	for (fd = 0; fd < FILES; fd++)
		if (files[fd].notify)
			put(&files[fd], msg);
	nlmsg_free(msg);
}

static void load(void)
{
	family = next_family++;
	group = next_group++;
	notify(CTRL_CMD_NEWFAMILY, COLLECTIVE_FAMILY_NAME);
	notify(CTRL_CMD_NEWMCAST_GRP, COLLECTIVE_FAMILY_NAME);
}

/* The kernel takes the groups of a family from all sockets. */
static void unload(void)
{
	int fd;

	for (fd = 0; fd < FILES; fd++)
		files[fd].events = 0;
	notify(CTRL_CMD_DELMCAST_GRP, COLLECTIVE_FAMILY_NAME);
	notify(CTRL_CMD_DELFAMILY, COLLECTIVE_FAMILY_NAME);
	family = 0;
	group = 0;
}

static void tell_event(void)
{
	struct nl_msg *msg = nlmsg_alloc();
	int fd;

	genlmsg_put(msg, 0, 0, family, 0, 0, COLLECTIVE_CMD_EVENT, COLLECTIVE_FAMILY_VERSION);
	nla_put_string(msg, COLLECTIVE_A_EVENT_GROUP, "a");
	for (fd = 0; fd < FILES; fd++)
		if (group && files[fd].events == group)
			put(&files[fd], msg);
	nlmsg_free(msg);
}

/* The last two messages come at once. */
static void join_last(void)
{
	struct file *file;

	for (file = files; file < files + FILES; file++) {
		if (file->n < 2)
			continue;
		file->n--;
		memcpy(file->message[file->n - 1] + file->length[file->n - 1],
		       file->message[file->n], file->length[file->n]);
		file->length[file->n - 1] += file->length[file->n];
	}
}

static int hear(const struct coll_admin_event *event, void *arg)
{
	heard += !strcmp(event->group, "a");
	return 0;
}

static int hear_one(const struct coll_admin_event *event, void *arg)
{
	hear(event, arg);
	return 7;
}

/* What the next messages are, until one is told of.  Return: 0: only events have come. */
static int next(struct coll_admin *admin)
{
	int err;

	do {
		err = coll_admin_events(admin, hear, NULL);
	} while (!err);
	return err == -EAGAIN ? 0 : err;
}

FIXTURE(reload) {
	struct coll_admin *admin;
};

FIXTURE_SETUP(reload)
{
	memset(files, 0, sizeof(files));
	next_family = 40;
	next_group = 20;
	heard = 0;
	load();
	ASSERT_EQ(0, coll_admin_open(&self->admin));
}

FIXTURE_TEARDOWN(reload)
{
	coll_admin_close(self->admin);
}

TEST_F(reload, calls_reach_the_next_module)
{
	EXPECT_EQ(0, coll_admin_abort(self->admin, "a"));
	unload();
	EXPECT_EQ(-ENOENT, coll_admin_abort(self->admin, "a"));
	EXPECT_STREQ("the module is not loaded", coll_admin_error(self->admin));
	load();
	EXPECT_EQ(0, coll_admin_abort(self->admin, "a"));
	unload();
	load();
	EXPECT_EQ(0, coll_admin_abort(self->admin, "a"));
	EXPECT_EQ(0, coll_admin_abort(self->admin, "a"));
}

TEST_F(reload, events_come_again)
{
	ASSERT_EQ(0, coll_admin_listen(self->admin));
	tell_event();
	EXPECT_EQ(0, next(self->admin));
	EXPECT_EQ(1, heard);
	unload();
	EXPECT_EQ(-ENODEV, next(self->admin));
	EXPECT_EQ(0, next(self->admin));
	load();
	EXPECT_EQ(-ENOBUFS, next(self->admin));
	EXPECT_EQ(0, next(self->admin));
	tell_event();
	EXPECT_EQ(0, next(self->admin));
	EXPECT_EQ(2, heard);
}

/* The program looks only after the second load. */
TEST_F(reload, events_come_after_two)
{
	ASSERT_EQ(0, coll_admin_listen(self->admin));
	unload();
	load();
	unload();
	load();
	EXPECT_EQ(-ENODEV, next(self->admin));
	EXPECT_EQ(-ENOBUFS, next(self->admin));
	EXPECT_EQ(-ENODEV, next(self->admin));
	EXPECT_EQ(-ENOBUFS, next(self->admin));
	tell_event();
	EXPECT_EQ(0, next(self->admin));
	EXPECT_EQ(1, heard);
}

/* Among the messages that are lost is that of the next module. */
TEST_F(reload, events_come_after_an_overflow)
{
	unsigned int i;

	ASSERT_EQ(0, coll_admin_listen(self->admin));
	for (i = 0; i < WAITING + 1; i++)
		tell_event();
	unload();
	load();
	EXPECT_EQ(-ENOBUFS, next(self->admin));
	EXPECT_EQ(0, next(self->admin));
	EXPECT_EQ(WAITING, heard);
	tell_event();
	EXPECT_EQ(0, next(self->admin));
	EXPECT_EQ(WAITING + 1, heard);
}

/* Likewise, and there is none yet. */
TEST_F(reload, events_come_after_an_overflow_without_a_module)
{
	unsigned int i;

	ASSERT_EQ(0, coll_admin_listen(self->admin));
	for (i = 0; i < WAITING + 1; i++)
		tell_event();
	unload();
	EXPECT_EQ(-ENOBUFS, next(self->admin));
	EXPECT_EQ(0, next(self->admin));
	load();
	EXPECT_EQ(-ENOBUFS, next(self->admin));
	heard = 0;
	tell_event();
	EXPECT_EQ(0, next(self->admin));
	EXPECT_EQ(1, heard);
}

/* The result of each() is not lost, and neither is the message that came with the event. */
TEST_F(reload, stop_beside_another_module)
{
	ASSERT_EQ(0, coll_admin_listen(self->admin));
	tell_event();
	notify(CTRL_CMD_NEWFAMILY, COLLECTIVE_FAMILY_NAME);
	join_last();
	EXPECT_EQ(7, coll_admin_events(self->admin, hear_one, NULL));
	EXPECT_EQ(-ENOBUFS, coll_admin_events(self->admin, hear_one, NULL));
	EXPECT_STREQ("the module was loaded; events in between were lost",
		     coll_admin_error(self->admin));
	tell_event();
	notify(CTRL_CMD_DELFAMILY, COLLECTIVE_FAMILY_NAME);
	join_last();
	EXPECT_EQ(7, coll_admin_events(self->admin, hear_one, NULL));
	EXPECT_EQ(-ENODEV, coll_admin_events(self->admin, hear_one, NULL));
	EXPECT_EQ(-EAGAIN, coll_admin_events(self->admin, hear_one, NULL));
	tell_event();
	EXPECT_EQ(0, next(self->admin));
	EXPECT_EQ(3, heard);
}

TEST_F(reload, other_families)
{
	ASSERT_EQ(0, coll_admin_listen(self->admin));
	notify(CTRL_CMD_NEWFAMILY, "other");
	notify(CTRL_CMD_DELFAMILY, "other");
	EXPECT_EQ(0, next(self->admin));
	tell_event();
	EXPECT_EQ(0, next(self->admin));
	EXPECT_EQ(1, heard);
}

TEST_HARNESS_MAIN
