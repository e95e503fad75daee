/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a test: pages of its own, all of which are there. */
#ifndef COLL_MEMORY_H
#define COLL_MEMORY_H

#include <stddef.h>
#include <sys/mman.h>

/* Return: the memory, zeroed, at the beginning of a page; NULL without any. */
static inline void *memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

#endif /* COLL_MEMORY_H */
