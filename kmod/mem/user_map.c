// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory in large pieces, for who maps the device.
 *
 * What lies in pages that are neighbours is lent, taken, reduced and copied at once, and CPUs
 * fetch ahead in it.  Huge pages are such memory; where there are none, or an
 * administrator has turned them off, a mapping of the device is.
 *
 * A piece belongs to whoever has any of it mapped or pinned, and is gone with the last of
 * these.  All are compound, of two pages at least: the kernel maps no part of one for a program
 * that has received it (TCP_ZEROCOPY_RECEIVE), which would see it after the operation, too.
 *
 * No reclaim takes a piece, so pages count against RLIMIT_MEMLOCK for as long as any of the
 * mapping is there; what is registered of it counts again.  The mapping is not one of the
 * device's file, whose closing is the end of a member, but of a file of its own that keeps
 * the account: it lasts as long as the mapping does, and so does the module.
 *
 * Children are not given it: what both could write would be neither's.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "mem/pin.h"

/* 2 MiB with pages of 4 KiB: larger pieces gain nothing. */
#define COLL_MAP_ORDER		9
#define COLL_MAP_ORDER_LEAST	1
#define COLL_MAP_LEAST		BIT(COLL_MAP_ORDER_LEAST)
#define COLL_MAP_GFP		(GFP_USER | __GFP_ZERO | __GFP_ACCOUNT | __GFP_COMP)

/**
 * struct coll_map - the account of a mapping
 * @npages: of its pieces, when all are there
 * @again: of pieces for pages that were dropped
 * @user: whose locked memory they count as, NULL: nobody's
 * @mm: who mapped it; to compare only
 */
struct coll_map {
	unsigned long npages;
	atomic_long_t again;
	struct user_struct *user;
	const struct mm_struct *mm;
};

static void map_free(struct coll_map *map)
{
	coll_memlock_uncharge(map->npages + atomic_long_read(&map->again), map->user);
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
 * A page that was dropped is kept by the rest of its piece, so there may be another piece of the
 * least size for each.
 */
static int map_charge_again(struct coll_map *map)
{
	int err;

	/* @again is a multiple of what is added. */
	if (!atomic_long_add_unless(&map->again, COLL_MAP_LEAST, COLL_MAP_LEAST * map->npages))
		return 0;
	err = coll_memlock_more(COLL_MAP_LEAST, map->user);
	if (err)
		atomic_long_sub(COLL_MAP_LEAST, &map->again);
	return err;
}

/*
 * One that was dropped (MADV_DONTNEED) is there again, zeroed.  A child that was given the
 * mapping after all (MADV_DOFORK, in some kernels) has what was there, which is counted.
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
	if (map_charge_again(map)) {
		__free_pages(page, COLL_MAP_ORDER_LEAST);
		return VM_FAULT_SIGBUS;
	}
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct map_vm_ops = {
	.fault		= map_fault,
};

/* The pages are the mapping's alone afterwards, or, on failure, soon nobody's. */
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

/* As large as there are: smaller ones, once there are no more of a size. */
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

/* @map is the file's, which is the mapping's. */
static int map_adopt(struct vm_area_struct *vma, struct coll_map *map)
{
	struct file *file = anon_inode_getfile("[collective]", &map_ops, map, O_RDWR);

	if (IS_ERR(file))
		return PTR_ERR(file);
	vma_set_file(vma, file);
	fput(file);
	return 0;
}

/**
 * coll_map() - mmap() of the device: zeroed memory, in pieces as large as there are
 * @vma: the mapping, a shared one of offset 0
 *
 * All of it is there when this returns.
 *
 * Context: process; may sleep; mmap_lock is held for writing.
 * Return: 0 or -EINVAL, -EDQUOT, -ENOMEM, -EINTR; the pages that are there then are the
 * caller's to undo.
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
	err = coll_memlock_charge(map->npages, &map->user);
	if (!err)
		err = map_adopt(vma, map);
	if (err) {
		map_free(map);
		return err;
	}
	vma->vm_ops = &map_vm_ops;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_MIXEDMAP);
	return map_fill(vma);
}
