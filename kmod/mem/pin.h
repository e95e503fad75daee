/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_PIN_H
#define COLL_PIN_H

#include <linux/mm_types.h>
#include <linux/refcount.h>
#include <linux/sched/user.h>
#include <linux/uio.h>

#include "core/data/mem.h"

struct coll_charges;

/**
 * struct coll_buffer - pinned user memory
 * @lent: somebody else has pinned it, for as long as it is used
 * @mem: as the core sees it; byte 0 is the first one of the buffer
 * @refs: the member's table and every request that uses it
 * @addr: where the user has it
 * @writable: results may be stored in it
 * @shift: offset of byte 0 in the first page
 * @npages: how many
 * @pages: the pages
 * @user: whose locked memory it counts as, NULL: nobody's
 * @mm: whose pinned memory it counts as
 * @charges: it was charged to; outlives it
 * @pinned: counts pinned bytes; outlives it
 * @charged: bytes charged for it and @pages; returned when it is freed
 */
struct coll_buffer {
	struct coll_mem mem;
	refcount_t refs;
	u64 addr;
	bool lent;
	bool writable;
	u32 shift;
	unsigned long npages;
	struct page **pages;
	struct user_struct *user;
	struct mm_struct *mm;
	struct coll_charges *charges;
	atomic64_t *pinned;
	u64 charged;
};

int coll_memlock_charge(unsigned long npages, struct user_struct **user);
int coll_memlock_more(unsigned long npages, struct user_struct *user);
void coll_memlock_uncharge(unsigned long npages, struct user_struct *user);
struct coll_buffer *coll_buffer_pin(struct coll_charges *charges, atomic64_t *pinned, u64 addr,
				    u64 length, bool writable);
struct coll_buffer *coll_buffer_lend(struct coll_charges *charges, atomic64_t *pinned,
				     struct iov_iter *iter, u64 addr, u64 length, bool writable);
void coll_buffer_put(struct coll_buffer *buffer);

/* user_map.c */
int coll_map(struct vm_area_struct *vma);

#endif /* COLL_PIN_H */
