/* SPDX-License-Identifier: GPL-2.0-only */
/* User memory: a process has all addresses below TASK_SIZE_MAX.  The test makes the pages. */
#ifndef COLL_KERNEL_MM_H
#define COLL_KERNEL_MM_H

#include <linux/slab.h>

#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define TASK_SIZE_MAX		((1UL << 47) - PAGE_SIZE)

#define WARN_ON_ONCE(condition)	assert(!(condition))

/* Pages of the machine. */
#define totalram_pages()	(1UL << 20)

struct iov_iter;
struct vm_area_struct;

struct folio {
	unsigned long pages;
};

struct page {
	const struct folio *folio;
};

#define page_folio(page)	((page)->folio)
#define folio_nr_pages(folio)	((folio)->pages)
#define folio_test_large(folio)	((folio)->pages > 1)

#endif /* COLL_KERNEL_MM_H */
