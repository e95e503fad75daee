// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The handle, and calls of the family.
 *
 * libnl reads the header of an error; the text of it, and the errno at the end of a dump, are read
 * here.
 */
#include <errno.h>
#include <limits.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netlink/errno.h>

#include "admin.h"

#ifndef NLM_F_ACK_TLVS
#define NLM_F_ACK_TLVS	0x200
#endif

/* Sets the text of an error; NULL: that of the errno.  Return: @err. */
int admin_fail(struct coll_admin *admin, int err, const char *text)
{
	snprintf(admin->error, sizeof(admin->error), "%s", text ? text : strerror(-err));
	return err;
}

/* The errno of an error of libnl. */
static int errno_of(int nle)
{
	switch (nle < 0 ? -nle : nle) {
	case NLE_SUCCESS:
		return 0;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_AGAIN:
		return -EAGAIN;
	case NLE_INTR:
		return -EINTR;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_PERM:
		return -EPERM;
	case NLE_NOACCESS:
		return -EACCES;
	case NLE_AF_NOSUPPORT:
		return -EAFNOSUPPORT;
	}
	return -EIO;
}

static int open_socket(struct nl_sock **sock)
{
	int one = 1, err;

	*sock = nl_socket_alloc();
	if (!*sock)
		return -ENOMEM;
	nl_socket_disable_auto_ack(*sock);
	nl_socket_disable_seq_check(*sock);
	err = genl_connect(*sock);
	if (err)
		return errno_of(err);
	setsockopt(nl_socket_get_fd(*sock), SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(nl_socket_get_fd(*sock), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	return 0;
}

int coll_admin_open(struct coll_admin **result)
{
	struct coll_admin *admin = calloc(1, sizeof(*admin));
	int err;

	*result = NULL;
	if (!admin)
		return -ENOMEM;
	err = open_socket(&admin->calls);
	if (!err) {
		admin->family = genl_ctrl_resolve(admin->calls, COLLECTIVE_FAMILY_NAME);
		if (admin->family < 0)
			err = errno_of(admin->family);
	}
	if (err) {
		coll_admin_close(admin);
		return err;
	}
	*result = admin;
	return 0;
}

void coll_admin_close(struct coll_admin *admin)
{
	if (!admin)
		return;
	nl_socket_free(admin->calls);
	nl_socket_free(admin->events);
	free(admin);
}

const char *coll_admin_error(const struct coll_admin *admin)
{
	return admin->error;
}

/* Number of the attribute of a group's owner. */
static int owner_attr(int cmd)
{
	switch (cmd) {
	case COLLECTIVE_CMD_MEMBER_GET:
		return COLLECTIVE_A_MEMBER_OWNER;
	case COLLECTIVE_CMD_LANE_GET:
	case COLLECTIVE_CMD_LANE_SET:
		return COLLECTIVE_A_LANE_OWNER;
	case COLLECTIVE_CMD_LINK_GET:
		return COLLECTIVE_A_LINK_OWNER;
	case COLLECTIVE_CMD_REQUEST_GET:
	case COLLECTIVE_CMD_REQUEST_CANCEL:
		return COLLECTIVE_A_REQUEST_OWNER;
	case COLLECTIVE_CMD_BUFFER_GET:
		return COLLECTIVE_A_BUFFER_OWNER;
	case COLLECTIVE_CMD_RECORD_GET:
		return COLLECTIVE_A_RECORD_OWNER;
	case COLLECTIVE_CMD_TIME_GET:
	case COLLECTIVE_CMD_WAIT_GET:
		return COLLECTIVE_A_TIME_OWNER;
	case COLLECTIVE_CMD_QUERY:
	case COLLECTIVE_CMD_ANSWER_GET:
		return COLLECTIVE_A_ANSWER_OWNER;
	case COLLECTIVE_CMD_EVENT:
		return COLLECTIVE_A_EVENT_OWNER;
	}
	return COLLECTIVE_A_GROUP_OWNER;
}

/* NAME or NAME@UID.  Return: the length of NAME; *@has_owner: true if @owner is set. */
static size_t parse_group(const char *group, bool *has_owner, unsigned int *owner)
{
	const char *at = strchr(group, '@');
	unsigned long uid;
	char *end;

	*has_owner = at && at[1] >= '0' && at[1] <= '9';
	if (!*has_owner)
		return strlen(group);
	uid = strtoul(at + 1, &end, 10);
	*has_owner = !*end && uid < UINT_MAX;
	*owner = uid;
	return *has_owner ? (size_t)(at - group) : strlen(group);
}

static int put_group(struct nl_msg *msg, int cmd, const char *group)
{
	char name[COLL_ADMIN_GROUP_SIZE];
	unsigned int owner = 0;
	bool has_owner;
	size_t length = parse_group(group, &has_owner, &owner);

	snprintf(name, sizeof(name), "%.*s", (int)length, group);
	return nla_put_string(msg, COLLECTIVE_A_GROUP_GROUP, name) ||
	       (has_owner && nla_put_u32(msg, owner_attr(cmd), owner));
}

/* A message that begins with the name of a group, if that is not NULL.  Return: NULL: no memory. */
struct nl_msg *admin_message(const struct coll_admin *admin, int cmd, int flags, const char *group)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (!msg)
		return NULL;
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, admin->family, 0, flags, cmd,
			 COLLECTIVE_FAMILY_VERSION) || (group && put_group(msg, cmd, group))) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

/*
 * Two users may have a group of the same name.  The name of another user's group, without which
 * the caller could not ask for it, therefore says whose it is.
 */
static void name_owner(int cmd, struct nlattr **attrs, struct group_attr *group)
{
	struct nlattr *name = attrs[COLLECTIVE_A_GROUP_GROUP], *owner = attrs[owner_attr(cmd)];

	if (!name || !owner || nla_get_u32(owner) == geteuid())
		return;
	snprintf(group->name, sizeof(group->name), "%.*s@%u", COLLECTIVE_NAME_MAX,
		 nla_get_string(name), nla_get_u32(owner));
	group->header.nla_type = COLLECTIVE_A_GROUP_GROUP;
	group->header.nla_len = NLA_HDRLEN + strlen(group->name) + 1;
	attrs[COLLECTIVE_A_GROUP_GROUP] = &group->header;
}

/*
 * The attributes of a message, by number; number 0 is the first one, for attr_u32s().  Those that
 * this library does not know are left out.  @group: room for the name of the group.
 */
int admin_parse(struct nl_msg *msg, struct nlattr **attrs, struct group_attr *group)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);

	if (genlmsg_parse(header, 0, attrs, ATTRS_MAX, NULL) < 0)
		return -EBADMSG;
	attrs[0] = genlmsg_attrdata(genlmsg_hdr(header), 0);
	name_owner(genlmsg_hdr(header)->cmd, attrs, group);
	return 0;
}

/* Notes the errno, and the text that may follow at @offset. */
static void note_error(struct answer *answer, int err, struct nlmsghdr *header, size_t offset)
{
	struct nlattr *attr;
	const char *text = NULL;
	char copy[200];
	int left;

	answer->done = true;
	answer->err = err;
	if (!err)
		return;
	if (header->nlmsg_flags & NLM_F_ACK_TLVS && NLMSG_HDRLEN + offset < header->nlmsg_len) {
		left = header->nlmsg_len - NLMSG_HDRLEN - offset;
		attr = nla_find((struct nlattr *)((char *)NLMSG_DATA(header) + offset), left,
				NLMSGERR_ATTR_MSG);
		if (attr)
			text = nla_strlcpy(copy, attr, sizeof(copy)) ? copy : NULL;
	}
	admin_fail(answer->admin, err, text);
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	struct nlmsghdr *header = (struct nlmsghdr *)((char *)error - NLMSG_HDRLEN);
	size_t offset = sizeof(*error);

	(void)from;
	/* The call follows the errno, if it is not capped. */
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		offset += error->msg.nlmsg_len - sizeof(error->msg);
	note_error(arg, error->error, header, NLMSG_ALIGN(offset));
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct answer *answer = arg;

	(void)msg;
	answer->done = true;
	return NL_STOP;
}

static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	int err = 0;

	if (nlmsg_datalen(header) >= (int)sizeof(err))
		memcpy(&err, nlmsg_data(header), sizeof(err));
	note_error(arg, err < 0 ? err : 0, header, sizeof(err));
	return NL_STOP;
}

static int on_interrupt(struct nl_msg *msg, void *arg)
{
	struct answer *answer = arg;

	(void)msg;
	answer->changed = true;
	return NL_OK;
}

static int on_object(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[ATTRS_MAX + 1];
	struct answer *answer = arg;
	struct group_attr group;

	/* The rest of a dump that was stopped is read and dropped. */
	if (answer->take && !answer->stop && !admin_parse(msg, attrs, &group))
		answer->stop = answer->take(attrs, answer->ctx);
	return NL_OK;
}

/* Sends a call and receives its answer.  Return: 0, or a negative errno of libnl. */
static int call(struct coll_admin *admin, struct nl_msg *msg, struct answer *answer)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int err = cb ? 0 : -ENOMEM;

	if (!err) {
		nl_cb_err(cb, NL_CB_CUSTOM, on_error, answer);
		nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, answer);
		nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, answer);
		nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupt, answer);
		nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_object, answer);
		nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, NULL, NULL);
		err = nl_send_auto(admin->calls, msg);
		err = err < 0 ? errno_of(err) : 0;
	}
	while (!err && !answer->done) {
		err = nl_recvmsgs(admin->calls, cb);
		/* libnl has another error for what on_error() has noted. */
		if (answer->done || err == -NLE_INTR || err == -NLE_DUMP_INTR)
			err = 0;
		err = err < 0 ? errno_of(err) : 0;
	}
	nl_cb_put(cb);
	return err;
}

/*
 * After ENOENT: has the family another number now?  Each load of the module gives it the next one
 * of the kernel, so an old number is that of no other family for a long time.
 */
static bool has_new_number(struct coll_admin *admin)
{
	const int family = genl_ctrl_resolve(admin->calls, COLLECTIVE_FAMILY_NAME);

	if (family == -NLE_OBJ_NOTFOUND)
		admin_fail(admin, -ENOENT, "the module is not loaded");
	if (family < 0 || family == admin->family)
		return false;
	admin->family = family;
	return true;
}

/*
 * Calls, and once more if the module was replaced since.  Frees the message, which may be NULL: no
 * memory.
 */
int admin_call(struct coll_admin *admin, struct nl_msg *msg, struct answer *answer)
{
	int err = -ENOMEM;

	answer->admin = admin;
	if (msg)
		err = call(admin, msg, answer);
	if (!err && answer->err == -ENOENT && has_new_number(admin)) {
		answer->done = false;
		answer->changed = false;
		answer->err = 0;
		nlmsg_hdr(msg)->nlmsg_type = admin->family;
		nlmsg_hdr(msg)->nlmsg_seq = NL_AUTO_SEQ;
		err = call(admin, msg, answer);
	}
	nlmsg_free(msg);
	if (err)
		return admin_fail(admin, err, NULL);
	if (answer->err)
		return answer->err;
	return answer->stop ? answer->stop : answer->changed;
}

int coll_admin_set_group(struct coll_admin *admin, const char *group, unsigned int timeout_ms,
			 unsigned int slow_percent)
{
	struct nl_msg *msg = admin_message(admin, COLLECTIVE_CMD_GROUP_SET,
					   NLM_F_REQUEST | NLM_F_ACK, group);
	struct answer answer = { 0 };

	if (msg && timeout_ms != COLL_ADMIN_KEEP_TIMEOUT)
		nla_put_u32(msg, COLLECTIVE_A_GROUP_TIMEOUT_MS, timeout_ms);
	if (msg && slow_percent != COLL_ADMIN_KEEP_SLOW)
		nla_put_u32(msg, COLLECTIVE_A_GROUP_SLOW_PERCENT, slow_percent);
	return admin_call(admin, msg, &answer);
}

int coll_admin_set_cpu(struct coll_admin *admin, const char *group, unsigned int rank,
		       unsigned int lane, unsigned int cpu)
{
	struct nl_msg *msg = admin_message(admin, COLLECTIVE_CMD_LANE_SET,
					   NLM_F_REQUEST | NLM_F_ACK, group);
	struct answer answer = { 0 };

	if (msg) {
		nla_put_u32(msg, COLLECTIVE_A_LANE_RANK, rank);
		nla_put_u32(msg, COLLECTIVE_A_LANE_LANE, lane);
		nla_put_u32(msg, COLLECTIVE_A_LANE_CPU, cpu);
	}
	return admin_call(admin, msg, &answer);
}

int coll_admin_cancel(struct coll_admin *admin, const char *group, unsigned int rank,
		      uint64_t request)
{
	struct nl_msg *msg = admin_message(admin, COLLECTIVE_CMD_REQUEST_CANCEL,
					   NLM_F_REQUEST | NLM_F_ACK, group);
	struct answer answer = { 0 };

	if (msg) {
		nla_put_u32(msg, COLLECTIVE_A_REQUEST_RANK, rank);
		nla_put_u64(msg, COLLECTIVE_A_REQUEST_ID, request);
	}
	return admin_call(admin, msg, &answer);
}

int coll_admin_abort(struct coll_admin *admin, const char *group)
{
	struct answer answer = { 0 };

	return admin_call(admin, admin_message(admin, COLLECTIVE_CMD_GROUP_ABORT,
					       NLM_F_REQUEST | NLM_F_ACK, group), &answer);
}

static int join(struct coll_admin *admin, const char *family, const char *name)
{
	const int group = genl_ctrl_resolve_grp(admin->calls, family, name);

	return errno_of(group < 0 ? group : nl_socket_add_membership(admin->events, group));
}

/* Has the socket receive events of the module that is loaded.  Return: 0 or a negative errno. */
int admin_subscribe(struct coll_admin *admin)
{
	return join(admin, COLLECTIVE_FAMILY_NAME, "events");
}

int coll_admin_listen(struct coll_admin *admin)
{
	int err;

	if (admin->events)
		return 0;
	err = open_socket(&admin->events);
	/* First of all, hear of modules that come and go: nothing is missed in between. */
	if (!err)
		err = join(admin, "nlctrl", "notify");
	if (!err)
		err = admin_subscribe(admin);
	if (!err)
		err = errno_of(nl_socket_set_nonblocking(admin->events));
	if (err) {
		nl_socket_free(admin->events);
		admin->events = NULL;
		return admin_fail(admin, err, NULL);
	}
	return 0;
}

int coll_admin_fd(const struct coll_admin *admin)
{
	return admin->events ? nl_socket_get_fd(admin->events) : -1;
}
