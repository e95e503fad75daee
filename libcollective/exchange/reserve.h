/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory for a rank that has no other, since the other ranks wait for it; unused, it takes no
 * space.
 */
#ifndef COLL_RESERVE_H
#define COLL_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct reserve - memory that one allocation at a time may take
 * @memory: the memory, zeroed and aligned for any type
 * @size: its size in bytes
 * @is_used: true if it is taken
 */
struct reserve {
	void *memory;
	size_t size;
	bool is_used;
};

/* As calloc(); or the reserve, if it is free and large enough.  Return: NULL: neither is there. */
void *reserve_calloc(struct reserve *reserve, size_t size);

/* Free what reserve_calloc() returned for @size. */
void reserve_free(struct reserve *reserve, void *memory, size_t size);

#endif /* COLL_RESERVE_H */
