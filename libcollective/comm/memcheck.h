/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory checkers do not see that the kernel writes results for an ioctl that they do not know,
 * and would report uninitialized memory.  These functions tell them: valgrind's memcheck by its
 * client requests, if the library is built with valgrind's headers, and MemorySanitizer, if the
 * program is built with it.  Without a checker they cost next to nothing.
 */
#ifndef COLL_MEMCHECK_H
#define COLL_MEMCHECK_H

#include "comm/operation.h"

/*
 * Before submission: set @memcheck_blocks.  Blocks of different lengths are marked now, while
 * their arrays of lengths can be read.
 */
void coll_memcheck_begin(const struct coll_comm *comm, struct coll_operation *operation);

/* After success: mark the result; @received is the number of elements of a varlen operation. */
void coll_memcheck_end(const struct coll_operation *operation, __u64 received);

/* Mark @size bytes at @at, which the library has written. */
void coll_memcheck_written(const void *at, size_t size);

#endif /* COLL_MEMCHECK_H */
