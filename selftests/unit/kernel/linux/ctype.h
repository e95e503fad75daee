/* SPDX-License-Identifier: GPL-2.0-only */
/* As the kernel's, which also knows the letters of Latin-1. */
#ifndef COLL_KERNEL_LINUX_CTYPE_H
#define COLL_KERNEL_LINUX_CTYPE_H

#include "env.h"

static inline int isascii(int c)
{
	return c >= 0 && c < 0x80;
}

static inline int isalnum(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c >= 0xc0 && c != 0xd7 && c != 0xf7);
}

#endif /* COLL_KERNEL_LINUX_CTYPE_H */
