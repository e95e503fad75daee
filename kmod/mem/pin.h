/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_PIN_H
#define COLL_PIN_H

#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/refcount.h>
#include <linux/sched/user.h>
#include <linux/uio.h>

#include "core/data/mem.h"

struct coll_charges;

/**
 * struct coll_buffer - pinned user memory
 * @mem: the memory as the core sees it; offset 0 is the first byte of the buffer [c]
 * @refs: number of references, of the registry and of the requests that use it [a]
 * @addr: address in the process [c]
 * @imported: true if io_uring has pinned the pages and keeps them while the buffer exists [c]
 * @writable: true if results may be stored in it [c]
 * @shared: true if folios that are pinned in part count with their shares (mem/folio.c) [c]
 * @shift: offset of the first byte in the first page [c]
 * @npages: number of pages [c]
 * @pages: the pages [c]
 * @user: user against RLIMIT_MEMLOCK of which the pages count; NULL: they do not count [c]
 * @mm: memory of the process that pinned them; the pages show in its VmPin [c]
 * @charges: charges for the struct and @pages; outlive the buffer [c]
 * @pinned: pinned bytes of the member; outlives the buffer [c]
 * @charged: bytes charged to @charges; returned when the buffer is freed [c]
 */
struct coll_buffer {
	struct coll_mem mem;
	refcount_t refs;
	u64 addr;
	bool imported;
	bool writable;
	bool shared;
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
struct coll_buffer *coll_buffer_import(struct coll_charges *charges, atomic64_t *pinned,
				       struct iov_iter *iter, u64 addr, u64 length, bool writable);
void coll_buffer_put(struct coll_buffer *buffer);

/* user_map.c */
int coll_map(struct vm_area_struct *vma);
int coll_map_adopt(struct vm_area_struct *vma, const char *name,
		   const struct file_operations *ops, void *map);

#endif /* COLL_PIN_H */
