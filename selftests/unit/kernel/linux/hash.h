/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_HASH_H
#define COLL_KERNEL_HASH_H

#define hash_ptr(ptr, bits)	((unsigned long)(ptr) >> 4 & ((1UL << (bits)) - 1))

#endif /* COLL_KERNEL_HASH_H */
