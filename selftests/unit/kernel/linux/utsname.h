/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_LINUX_UTSNAME_H
#define COLL_KERNEL_LINUX_UTSNAME_H

static struct {
	char nodename[65];
} kernel_utsname __maybe_unused = { "node" };

#define utsname()	(&kernel_utsname)

#endif /* COLL_KERNEL_LINUX_UTSNAME_H */
