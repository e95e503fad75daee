/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_LINUX_FS_H
#define COLL_KERNEL_LINUX_FS_H

struct file_operations {
	int unused;
};

#endif /* COLL_KERNEL_LINUX_FS_H */
