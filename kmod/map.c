// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory in large pieces, for who maps the device.
 *
 * What lies in pages that are neighbours is lent, taken, reduced and copied at once, and CPUs
 * fetch ahead in it.  Huge pages are such memory; where there are none, or an
 * administrator has turned them off, a mapping of the device is.
 *
 * A piece belongs to whoever has any of it mapped or pinned, and is gone with the last of
 * these.  Nobody reclaims it, so pages count against RLIMIT_MEMLOCK for as long as any of the
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

#include "coll.h"

/* 2 MiB with pages of 4 KiB: larger pieces gain nothing. */
#define COLL_MAP_ORDER		9
#define COLL_MAP_GFP		(GFP_USER | __GFP_ZERO | __GFP_ACCOUNT)

/**
 * struct coll_map - the account of a mapping
 * @npages: how many
 * @again: how many of them count twice
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

/* A page that was dropped is kept by the rest of its piece, so there may be two of each. */
static int map_charge_again(struct coll_map *map)
{
	int err;

	if (!atomic_long_add_unless(&map->again, 1, map->npages))
		return 0;
	err = coll_memlock_more(1, map->user);
	if (err)
		atomic_long_dec(&map->again);
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
	page = alloc_page(COLL_MAP_GFP);
	if (!page)
		return VM_FAULT_OOM;
	if (map_charge_again(map)) {
		__free_page(page);
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
		gfp_t flags = COLL_MAP_GFP | __GFP_NOWARN;
		struct page *pages;
		int err;

		order = min_t(unsigned int, order, ilog2((vma->vm_end - addr) >> PAGE_SHIFT));
		if (fatal_signal_pending(current))
			return -EINTR;
		pages = alloc_pages(order ? flags | __GFP_NORETRY | __GFP_COMP : flags, order);
		if (!pages) {
			if (!order--)
				return -ENOMEM;
			continue;
		}
		err = map_insert(vma, addr, pages, 1UL << order);
		if (err)
			return err;
		addr += PAGE_SIZE << order;
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
	map->npages = vma_pages(vma);
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
