/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interfaces that differ between kernels, here and beside this file only; 6.12 is the floor.
 * What there is the headers themselves tell (compat.mk), or the types that they declare.
 */
#ifndef COLL_COMPAT_H
#define COLL_COMPAT_H

#include <linux/version.h>
#include <linux/kobject.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#error "collective needs Linux 6.12 or newer"
#endif

/* Per-CPU used to be what an unmarked workqueue is. */
#ifdef COLL_HAS_WQ_PERCPU
#define COLL_WQ_PERCPU		WQ_PERCPU
#else
#define COLL_WQ_PERCPU		0
#endif

/* Addresses are handed to sockets as struct sockaddr, or sockaddr_unsized. */
#define coll_sockaddr(ss)	((void *)(ss))

/* A pointer to what a kobject's namespace is known by: the struct net, or its ns_common. */
#define coll_kobj_ns		typeof(((const struct kobj_type *)NULL)->namespace(NULL))

static inline coll_kobj_ns coll_kobj_net(const struct net *net)
{
	return __builtin_choose_expr(__builtin_types_compatible_p(coll_kobj_ns, const void *),
				     (const void *)net, &net->ns);
}

#endif /* COLL_COMPAT_H */
