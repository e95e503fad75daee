/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_SOCKET_H
#define COLL_KERNEL_SOCKET_H

#include <sys/socket.h>

#endif /* COLL_KERNEL_SOCKET_H */
