/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_IN_H
#define COLL_KERNEL_IN_H

#include <netinet/in.h>

#endif /* COLL_KERNEL_IN_H */
