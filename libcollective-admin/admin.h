/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the library share. */
#ifndef COLL_ADMIN_INTERNAL_H
#define COLL_ADMIN_INTERNAL_H

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include <linux/collective.h>
#include <linux/collective_netlink.h>

#include "collective_admin.h"

/**
 * struct coll_admin - see collective_admin.h
 * @calls: socket of calls
 * @events: socket of events; NULL: coll_admin_listen() was not called
 * @family: number of the family
 * @congested: true from an overflow of @events until that is empty
 * @owed: negative errno that the next coll_admin_events() returns; 0: none
 * @owed_text: its text; NULL: that of the errno
 * @error: text of the latest error
 */
struct coll_admin {
	struct nl_sock *calls;
	struct nl_sock *events;
	int family;
	bool congested;
	int owed;
	const char *owed_text;
	char error[256];
};

/**
 * struct answer - how a call ends
 * @admin: the handle; set by admin_call()
 * @done: true if the last message has come
 * @err: negative errno, or 0
 * @changed: true if groups or ranks came or went meanwhile
 * @take: what to do with an object; returns what its user's function returned
 * @ctx: for @take
 * @stop: what it returned, if that is not 0
 */
struct answer {
	struct coll_admin *admin;
	bool done;
	int err;
	bool changed;
	int (*take)(struct nlattr **attrs, void *ctx);
	void *ctx;
	int stop;
};

/* Attributes of the largest set. */
#define ATTRS_MAX	40

/* Bytes of NAME@UID. */
#define COLL_ADMIN_GROUP_SIZE	48

/**
 * struct group_attr - the attribute of a group's name, if the library has made it
 * @header: of the attribute
 * @name: its text
 */
struct group_attr {
	struct nlattr header;
	char name[COLL_ADMIN_GROUP_SIZE];
};

/* admin.c */
int admin_fail(struct coll_admin *admin, int err, const char *text);
struct nl_msg *admin_message(const struct coll_admin *admin, int cmd, int flags, const char *group);
int admin_call(struct coll_admin *admin, struct nl_msg *msg, struct answer *answer);
int admin_parse(struct nl_msg *msg, struct nlattr **attrs, struct group_attr *group);
int admin_subscribe(struct coll_admin *admin);

/* parse.c */
uint64_t attr_uint(const struct nlattr *attr, uint64_t otherwise);
unsigned int attr_u32(const struct nlattr *attr, unsigned int otherwise);
void attr_address(const struct nlattr *attr, struct sockaddr_storage *address);
unsigned int attr_all(struct nlattr **attrs, int type, struct nlattr **found, unsigned int max);
unsigned int attr_u32s(struct nlattr **attrs, int type, unsigned int *values, unsigned int max);
void parse_reason(struct nlattr *attr, struct coll_admin_reason *reason);
void parse_call(struct nlattr *attr, struct coll_admin_call *call);
void parse_histogram(struct nlattr *attr, struct coll_admin_histogram *histogram);
void parse_wait(struct nlattr *attr, struct coll_admin_wait *wait);
void parse_traffic(struct nlattr *attr, struct coll_admin_traffic *traffic, uint64_t *placed);

#endif /* COLL_ADMIN_INTERNAL_H */
