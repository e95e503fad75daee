/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that knows kernel versions: 6.12 is the floor.
 */
#ifndef COLL_COMPAT_H
#define COLL_COMPAT_H

#include <linux/version.h>
#include <linux/kobject.h>
#include <linux/net.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#error "collective needs Linux 6.12 or newer"
#endif

/* Per-CPU used to be what an unmarked workqueue is. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define COLL_WQ_PERCPU		WQ_PERCPU
#else
#define COLL_WQ_PERCPU		0
#endif

/* Addresses handed to sockets got a type of their own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define coll_sockaddr(ss)	((struct sockaddr_unsized *)(ss))
#else
#define coll_sockaddr(ss)	((struct sockaddr *)(ss))
#endif

/* What a kobject's namespace is given as. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define coll_kobj_ns		struct ns_common
#define coll_kobj_net(net)	to_ns_common(net)
#else
#define coll_kobj_ns		void
#define coll_kobj_net(net)	(net)
#endif

#endif /* COLL_COMPAT_H */
