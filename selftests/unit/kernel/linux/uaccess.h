/* SPDX-License-Identifier: GPL-2.0-only */
/* User memory is memory of the test; it says which addresses fault. */
#ifndef COLL_KERNEL_UACCESS_H
#define COLL_KERNEL_UACCESS_H

#include "env.h"

#define __user

/* Accesses from this address on fault. */
static u64 kernel_faults_from __maybe_unused = ~0ULL;

static inline unsigned long copy_from_user(void *to, const void *from, size_t n)
{
	if ((u64)from + n > kernel_faults_from)
		return n;
	memcpy(to, from, n);
	return 0;
}

#define u64_to_user_ptr(n)	((void *)(n))
#define get_user(x, p)		(copy_from_user(&(x), p, sizeof(x)) ? -EFAULT : 0)

/* As the kernel's: what the caller does not know must be 0. */
static inline int copy_struct_from_user(void *to, size_t size, const void *from, size_t given)
{
	const u8 *byte = from;
	size_t i;

	if ((u64)from + given > kernel_faults_from)
		return -EFAULT;
	for (i = size; i < given; i++)
		if (byte[i])
			return -E2BIG;
	memset(to, 0, size);
	memcpy(to, from, min(size, given));
	return 0;
}

#endif /* COLL_KERNEL_UACCESS_H */
