// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Events.
 *
 * A module that is unloaded takes its multicast group from every socket, in silence.  So the socket
 * also hears what the controller of generic netlink says of families that come and go.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/errno.h>

#include "admin.h"

/**
 * struct listening - a call of coll_admin_events()
 * @each: function of the user
 * @arg: for @each
 * @stop: what @each returned, if that is not 0
 * @came: true if the module was loaded
 * @went: true if the module was unloaded
 */
struct listening {
	int (*each)(const struct coll_admin_event *event, void *arg);
	void *arg;
	int stop;
	bool came;
	bool went;
};

static void parse_event(struct nlattr **attrs, struct coll_admin_event *event)
{
	struct nlattr *calls[COLL_ADMIN_CALLS];
	unsigned int i, n;

	*event = (struct coll_admin_event){
		.group = attrs[COLLECTIVE_A_EVENT_GROUP] ?
			 nla_get_string(attrs[COLLECTIVE_A_EVENT_GROUP]) : "",
		.rank = attr_u32(attrs[COLLECTIVE_A_EVENT_RANK], COLL_ADMIN_NONE),
		.kind = attr_u32(attrs[COLLECTIVE_A_EVENT_KIND], 0),
		.time_ns = attr_uint(attrs[COLLECTIVE_A_EVENT_TIME_NS], 0),
		.id = attr_uint(attrs[COLLECTIVE_A_EVENT_ID], 0),
		.size = attr_u32(attrs[COLLECTIVE_A_EVENT_SIZE], 0),
		.owner = attr_u32(attrs[COLLECTIVE_A_EVENT_OWNER], 0),
		.pid = attr_u32(attrs[COLLECTIVE_A_EVENT_PID], 0),
		.state = attr_u32(attrs[COLLECTIVE_A_EVENT_STATE], 0),
		.request = attr_uint(attrs[COLLECTIVE_A_EVENT_REQUEST], 0),
		.instance = attr_uint(attrs[COLLECTIVE_A_EVENT_INSTANCE], COLL_ADMIN_NO_INSTANCE),
		.age_ns = attr_uint(attrs[COLLECTIVE_A_EVENT_AGE_NS], 0),
		.left_ms = attr_uint(attrs[COLLECTIVE_A_EVENT_LEFT_MS], COLL_ADMIN_NO_DEADLINE),
		.lost = attr_u32(attrs[COLLECTIVE_A_EVENT_LOST], 0),
	};
	parse_reason(attrs[COLLECTIVE_A_EVENT_REASON], &event->reason);
	n = attr_all(attrs, COLLECTIVE_A_EVENT_CALL, calls, COLL_ADMIN_CALLS);
	for (i = 0; i < COLL_ADMIN_CALLS; i++)
		parse_call(i < n ? calls[i] : NULL, &event->calls[i]);
	event->nwaits = attr_u32s(attrs, COLLECTIVE_A_EVENT_WAITS_FOR, event->waits,
				  COLL_ADMIN_WAITS);
}

/* A family has come or gone. */
static void note_family(struct nl_msg *msg, struct listening *listening)
{
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];
	const int cmd = genlmsg_hdr(nlmsg_hdr(msg))->cmd;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, CTRL_ATTR_MAX, NULL) < 0 ||
	    !attrs[CTRL_ATTR_FAMILY_NAME] ||
	    nla_strcmp(attrs[CTRL_ATTR_FAMILY_NAME], COLLECTIVE_FAMILY_NAME))
		return;
	listening->came |= cmd == CTRL_CMD_NEWFAMILY;
	listening->went |= cmd == CTRL_CMD_DELFAMILY;
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[ATTRS_MAX + 1];
	struct listening *listening = arg;
	struct coll_admin_event event;
	struct group_attr group;

	if (nlmsg_hdr(msg)->nlmsg_type == GENL_ID_CTRL) {
		note_family(msg, listening);
		return NL_OK;
	}
	if (genlmsg_hdr(nlmsg_hdr(msg))->cmd != COLLECTIVE_CMD_EVENT || listening->stop ||
	    admin_parse(msg, attrs, &group))
		return NL_OK;
	parse_event(attrs, &event);
	listening->stop = listening->each(&event, listening->arg);
	return NL_OK;
}

/*
 * Events were lost, and among them may be that of a new module.  Return: -ENOBUFS, or the errno of
 * the subscription.
 */
static int lost(struct coll_admin *admin, const char *text, const char **why)
{
	const int err = admin_subscribe(admin);

	/* If there is no module, the next one that comes is told of. */
	if (err && err != -ENOENT)
		return err;
	*why = text;
	return -ENOBUFS;
}

/*
 * After an overflow the kernel drops messages until the queue is empty, without saying so again.
 * From then on nothing is lost, so the subscription is compared with the family once more.
 */
static void leave_congestion(struct coll_admin *admin)
{
	char byte;

	if (!admin->congested ||
	    recv(nl_socket_get_fd(admin->events), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
	    errno != EAGAIN)
		return;
	admin->congested = false;
	/* If there is no module, the next one that comes is told of. */
	(void)admin_subscribe(admin);
}

/* The errno of messages that are no events.  Return: 0 or a negative errno; @why: its text. */
static int errno_of_others(struct coll_admin *admin, const struct listening *listening, int err,
			   const char **why)
{
	/* libnl has no error for a full socket buffer but this one. */
	if (err == -NLE_NOMEM) {
		admin->congested = true;
		return lost(admin, "events were lost: the program was too slow", why);
	}
	if (listening->came)
		return lost(admin, "the module was loaded; events in between were lost", why);
	if (listening->went) {
		*why = "the module was unloaded; events come when it is loaded again";
		return -ENODEV;
	}
	if (err == -NLE_AGAIN)
		return -EAGAIN;
	if (err >= 0)
		return 0;
	*why = nl_geterror(err);
	return -EIO;
}

/* Tells the errno that an earlier call did not, because it was to stop. */
static int tell_owed(struct coll_admin *admin)
{
	const int err = admin->owed;

	admin->owed = 0;
	return admin_fail(admin, err, admin->owed_text);
}

int coll_admin_events(struct coll_admin *admin,
		      int (*each)(const struct coll_admin_event *event, void *arg), void *arg)
{
	struct listening listening = { .each = each, .arg = arg };
	const char *why = NULL;
	struct nl_cb *cb;
	int err;

	if (!admin->events)
		return admin_fail(admin, -EINVAL, "coll_admin_listen() was not called");
	if (admin->owed)
		return tell_owed(admin);
	cb = nl_cb_alloc(NL_CB_DEFAULT);
	if (!cb)
		return admin_fail(admin, -ENOMEM, NULL);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_event, &listening);
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, NULL, NULL);
	err = nl_recvmsgs(admin->events, cb);
	nl_cb_put(cb);
	leave_congestion(admin);
	err = errno_of_others(admin, &listening, err, &why);
	if (err == -EAGAIN || !err)
		return listening.stop ? listening.stop : err;
	if (!listening.stop)
		return admin_fail(admin, err, why);
	admin->owed = err;
	admin->owed_text = why;
	return listening.stop;
}
