// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmap() of the device: memory in large pieces, for programs that have no huge pages.
 *
 * - A piece is a compound page of at least two pages, because the kernel does not map parts of a
 *   compound page into a program that receives them (TCP_ZEROCOPY_RECEIVE), and that would go on
 *   seeing them.  A piece is freed when no part of it is mapped or pinned.
 * - Pieces cannot be reclaimed.  They count against RLIMIT_MEMLOCK until the mapping has gone, and
 *   a second time while they are registered.
 * - The mapping has a file of its own, which holds the account and the module: closing the device
 *   is the end of a member, but not of the mapping.  A child does not inherit the mapping.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "mem/pin.h"

/* Largest piece: 2 MiB with pages of 4 KiB; larger ones are not faster. */
#define COLL_MAP_ORDER		9
#define COLL_MAP_ORDER_LEAST	1
#define COLL_MAP_LEAST		BIT(COLL_MAP_ORDER_LEAST)
#define COLL_MAP_GFP		(GFP_USER | __GFP_ZERO | __GFP_ACCOUNT | __GFP_COMP)

/**
 * struct coll_map - the account of a mapping
 * @npages: pages of the pieces that coll_map() allocates [c]
 * @refilled: pages of pieces that replace dropped pages [a]
 * @user: user against RLIMIT_MEMLOCK of which they count; NULL: they do not count [c]
 * @mm: memory of the process that made the mapping; only compared, so it is not freed meanwhile [c]
 */
struct coll_map {
	unsigned long npages;
	atomic_long_t refilled;
	struct user_struct *user;
	struct mm_struct *mm;
};

static void map_free(struct coll_map *map)
{
	coll_memlock_uncharge(map->npages + atomic_long_read(&map->refilled), map->user);
	mmdrop(map->mm);
	kfree(map);
}

static int map_release(struct inode *inode, struct file *file)
{
	map_free(file->private_data);
	return 0;
}

static const struct file_operations map_ops = {
	.owner		= THIS_MODULE,
	.release	= map_release,
};

/*
 * A dropped page is not freed before the rest of its piece, so its replacement counts in addition:
 * at most one smallest piece for each page of the mapping, because no more can exist.
 */
static int map_charge_refill(struct coll_map *map)
{
	int err;

	/* @refilled is a multiple of COLL_MAP_LEAST, so it meets the bound exactly. */
	if (!atomic_long_add_unless(&map->refilled, COLL_MAP_LEAST, COLL_MAP_LEAST * map->npages))
		return 0;
	err = coll_memlock_more(COLL_MAP_LEAST, map->user);
	if (err)
		atomic_long_sub(COLL_MAP_LEAST, &map->refilled);
	return err;
}

/*
 * Replace a page that was dropped (MADV_DONTNEED) by a zeroed one.  A child that inherits the
 * mapping (MADV_DOFORK, in some kernels) sees the pages that exist, which are counted, and gets no
 * others.
 */
static vm_fault_t map_fault(struct vm_fault *vmf)
{
	struct coll_map *map = vmf->vma->vm_file->private_data;
	struct page *page;

	if (vmf->vma->vm_mm != map->mm)
		return VM_FAULT_SIGBUS;
	page = alloc_pages(COLL_MAP_GFP, COLL_MAP_ORDER_LEAST);
	if (!page)
		return VM_FAULT_OOM;
	if (map_charge_refill(map)) {
		__free_pages(page, COLL_MAP_ORDER_LEAST);
		return VM_FAULT_SIGBUS;
	}
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct map_vm_ops = {
	.fault		= map_fault,
};

/* Map a piece, and drop the reference of the allocation, also on failure. */
static int map_insert(struct vm_area_struct *vma, unsigned long addr, struct page *pages,
		      unsigned long n)
{
	unsigned long i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = vm_insert_page(vma, addr + i * PAGE_SIZE, pages + i);
	put_page(pages);
	return err;
}

/* Fill the mapping with the largest pieces available.  The size only ever decreases. */
static int map_fill(struct vm_area_struct *vma)
{
	unsigned int order = min(COLL_MAP_ORDER, MAX_PAGE_ORDER);
	unsigned long addr = vma->vm_start;

	while (addr < vma->vm_end) {
		unsigned long left = (vma->vm_end - addr) >> PAGE_SHIFT;
		gfp_t flags = COLL_MAP_GFP | __GFP_NOWARN;
		struct page *pages;
		unsigned long n;
		int err;

		order = clamp_t(unsigned int, ilog2(left), COLL_MAP_ORDER_LEAST, order);
		if (fatal_signal_pending(current))
			return -EINTR;
		if (order > COLL_MAP_ORDER_LEAST)
			flags |= __GFP_NORETRY;
		pages = alloc_pages(flags, order);
		if (!pages) {
			if (order-- == COLL_MAP_ORDER_LEAST)
				return -ENOMEM;
			continue;
		}
		n = min(left, 1UL << order);
		err = map_insert(vma, addr, pages, n);
		if (err)
			return err;
		addr += n << PAGE_SHIFT;
		cond_resched();
	}
	return 0;
}

/**
 * coll_map_adopt() - give a mapping a file of its own
 * @vma: the mapping
 * @name: of the file, as processes see it
 * @ops: of the file
 * @map: which the file owns on success
 *
 * Context: process; may sleep; mmap_lock is held for writing.
 * Return: 0 or a negative errno.
 */
int coll_map_adopt(struct vm_area_struct *vma, const char *name,
		   const struct file_operations *ops, void *map)
{
	struct file *file = anon_inode_getfile(name, ops, map, O_RDWR);

	if (IS_ERR(file))
		return PTR_ERR(file);
	vma_set_file(vma, file);
	fput(file);
	return 0;
}

/**
 * coll_map() - mmap() of the device: zeroed memory, in the largest pieces available
 * @vma: the mapping, shared and of offset 0
 *
 * All pages are mapped when this returns 0.
 *
 * Context: process; may sleep; mmap_lock is held for writing.
 * Return: 0; or -EINVAL (not shared, or another offset), -EDQUOT, -ENOMEM, -EINTR (fatal signal).
 * On failure the caller unmaps the pages that are mapped.
 */
int coll_map(struct vm_area_struct *vma)
{
	struct coll_map *map;
	int err;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff)
		return -EINVAL;
	if (vma_pages(vma) > totalram_pages())
		return -ENOMEM;
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return -ENOMEM;
	map->npages = round_up(vma_pages(vma), COLL_MAP_LEAST);
	map->mm = vma->vm_mm;
	mmgrab(map->mm);
	err = coll_memlock_charge(map->npages, &map->user);
	if (!err)
		err = coll_map_adopt(vma, "[collective]", &map_ops, map);
	if (err) {
		map_free(map);
		return err;
	}
	vma->vm_ops = &map_vm_ops;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_MIXEDMAP);
	return map_fill(vma);
}
