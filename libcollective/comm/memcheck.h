/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory checkers do not see what the kernel writes for an ioctl that they do not know, and
 * would take results for uninitialised memory.  Here they are told: valgrind's memcheck by
 * its client requests, if the library is built with valgrind's headers, and
 * MemorySanitizer, if the program is built with it.  Costs nothing to speak of without.
 */
#ifndef COLL_MEMCHECK_H
#define COLL_MEMCHECK_H

#include "comm/operation.h"

/*
 * @operation is about to be submitted: @operation->written is filled in, and what will be
 * written of blocks of different lengths is told now, while their lengths can be read.
 */
void coll_memcheck_begin(const struct coll_comm *comm, struct coll_operation *operation);

/* @operation has succeeded; @received elements came, of what tells its length. */
void coll_memcheck_end(const struct coll_operation *operation, __u64 received);

/* The library itself has written @size bytes at @at. */
void coll_memcheck_written(const void *at, size_t size);

#endif /* COLL_MEMCHECK_H */
