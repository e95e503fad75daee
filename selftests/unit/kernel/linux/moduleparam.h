/* SPDX-License-Identifier: GPL-2.0-only */
/* The test sets parameters. */
#ifndef COLL_KERNEL_LINUX_MODULEPARAM_H
#define COLL_KERNEL_LINUX_MODULEPARAM_H

typedef unsigned long ulong;

#define module_param(...)
#define MODULE_PARM_DESC(...)

#endif /* COLL_KERNEL_LINUX_MODULEPARAM_H */
