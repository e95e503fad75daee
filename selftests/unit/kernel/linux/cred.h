/* SPDX-License-Identifier: GPL-2.0-only */
/* The user of the thread that runs; the test sets it. */
#ifndef COLL_KERNEL_LINUX_CRED_H
#define COLL_KERNEL_LINUX_CRED_H

#include <linux/uidgid.h>

struct cred;

static kuid_t kernel_uid __maybe_unused;
static bool kernel_capable __maybe_unused;

#define current_uid()			kernel_uid
#define ns_capable_noaudit(ns, cap)	((void)(ns), (void)(cap), kernel_capable)
#define get_current_cred()		((const struct cred *)NULL)
#define put_cred(cred)			((void)(cred))
#define override_creds(cred)		(cred)
#define revert_creds(cred)		((void)(cred))

#endif /* COLL_KERNEL_LINUX_CRED_H */
