/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_LINUX_USER_NAMESPACE_H
#define COLL_KERNEL_LINUX_USER_NAMESPACE_H

#include <linux/uidgid.h>

struct user_namespace {
	u8 unused;
};

static struct user_namespace init_user_ns __maybe_unused;

#define CAP_SYS_RESOURCE	24
#define from_kuid(ns, uid)	((void)(ns), __kuid_val(uid))

#endif /* COLL_KERNEL_LINUX_USER_NAMESPACE_H */
