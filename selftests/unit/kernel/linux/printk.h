/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_PRINTK_H
#define COLL_KERNEL_PRINTK_H

#define pr_notice(...)			((void)0)
#define pr_notice_ratelimited(...)	((void)0)

#endif /* COLL_KERNEL_PRINTK_H */
