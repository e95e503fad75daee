/* SPDX-License-Identifier: GPL-2.0-only */
/* One thread reads what it has written, and a grace period is over at once. */
#ifndef COLL_KERNEL_RCUPDATE_H
#define COLL_KERNEL_RCUPDATE_H

#include <linux/slab.h>

struct rcu_head {
	u8 unused;
};

#define rcu_read_lock()			((void)0)
#define rcu_read_unlock()		((void)0)
#define rcu_dereference(p)		(p)
#define rcu_dereference_protected(p, c)	((void)(c), (p))
#define rcu_assign_pointer(p, v)	((p) = (v))
#define rcu_replace_pointer(p, v, c) ({					\
	__typeof__(p) __old = (c) ? (p) : NULL;				\
									\
	(p) = (v);							\
	__old;								\
})
#define kfree_rcu(p, member)						\
	((void)offsetof(__typeof__(*(p)), member), kfree(p))

#endif /* COLL_KERNEL_RCUPDATE_H */
