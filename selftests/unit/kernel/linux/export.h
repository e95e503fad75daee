/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_LINUX_EXPORT_H
#define COLL_KERNEL_LINUX_EXPORT_H

/* Nothing is exported. */
#define EXPORT_SYMBOL_GPL(...)		struct coll_kernel_exported

#endif /* COLL_KERNEL_LINUX_EXPORT_H */
