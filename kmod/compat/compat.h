/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interfaces that differ between kernel versions.  Only this folder depends on versions; Linux 6.12
 * is the oldest that is supported.  compat.mk finds out what the kernel's headers declare; where
 * only a type differs, the compiler does.
 */
#ifndef COLL_COMPAT_H
#define COLL_COMPAT_H

#include <linux/version.h>
#include <linux/kobject.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "compat/machine.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#error "collective needs Linux 6.12 or newer"
#endif

/* Before WQ_PERCPU existed, a workqueue without WQ_UNBOUND was per-CPU. */
#ifdef COLL_HAS_WQ_PERCPU
#define COLL_WQ_PERCPU		WQ_PERCPU
#else
#define COLL_WQ_PERCPU		0
#endif

/* An address as sockets take it: struct sockaddr or struct sockaddr_unsized. */
#define coll_sockaddr(ss)	((void *)(ss))

/* Type that names the namespace of a kobject: pointer to struct net, or to its ns_common. */
#define coll_kobj_ns		typeof(((const struct kobj_type *)NULL)->namespace(NULL))

static inline coll_kobj_ns coll_kobj_net(const struct net *net)
{
	return __builtin_choose_expr(__builtin_types_compatible_p(coll_kobj_ns, const void *),
				     (const void *)net, &net->ns);
}

#endif /* COLL_COMPAT_H */
