/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that operations of this process pin, where it may lock a limited amount (RLIMIT_MEMLOCK).
 *
 * Ranks may start operations of two communicators in different orders.  If an operation of one
 * waited for memory that one of the other has pinned, and the reverse on another rank, both would
 * wait for ever.  So each group gets a part of the memory, of which no other group takes anything,
 * and in which operations of one form wait only for those that all ranks start earlier.  Calls that
 * may need more are left to MPI, on all ranks.
 */
#ifndef CM_LOCKED_H
#define CM_LOCKED_H

#include <stdbool.h>
#include <stddef.h>

#include "common/functions.h"

/**
 * cm_locked_bytes - number of bytes that an operation may pin
 * @bytes: its bytes, of which each of the two buffers has as many at most
 * @blocks: number of blocks, each of which begins and ends in a page
 * @page: size of a page
 */
static inline size_t cm_locked_bytes(size_t bytes, size_t blocks, size_t page)
{
	return bytes ? 2 * (bytes + 2 * blocks * page) : 0;
}

/**
 * cm_locked_reserve - reserve memory for the operations of a new group
 * @local: number of processes of this program on this host, which share the limit
 * @threads: several threads may wait in blocking operations at a time
 * @bytes: set, by form, to what operations of this form may pin; LLONG_MAX: any number.  A blocking
 *	operation may pin all of it, the nonblocking ones that are under way may pin it together,
 *	and so may the persistent ones that are made
 *
 * Return: number of bytes for cm_locked_release().
 */
size_t cm_locked_reserve(int local, bool threads, long long bytes[CM_FORM_COUNT]);

/** cm_locked_release - give back what was reserved for a group that has gone */
void cm_locked_release(size_t reserved);

#endif /* CM_LOCKED_H */
