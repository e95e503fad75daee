/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_IN6_H
#define COLL_KERNEL_IN6_H

#include <netinet/in.h>

#endif /* COLL_KERNEL_IN6_H */
