// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmap() of the board: the words and the shown pages of all ranks for the process of one of them.
 *
 * A mapping holds the parts, so that it outlives the member and the group.  Payload of operations
 * in which a rank must not see all that the others publish is in pages that are not mapped
 * (coll_board_place()).
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "mem/account.h"
#include "mem/pin.h"
#include "transport/board.h"

/**
 * struct board_map - what a mapping holds
 * @mm: memory of the process that made it; only compared, so it is not freed meanwhile [c]
 * @account: account that the words and this struct are charged to, because they outlive the members
 * @charged: bytes that are charged to @account
 * @head: beginning of the mapping; NULL: it begins with the only part, which is writable [c]
 * @nparts: entries of @part [c]
 * @part: the parts, in the order of the mapping [c]
 */
struct board_map {
	struct mm_struct *mm;
	struct coll_account *account;
	u64 charged;
	struct collective_board *head;
	u32 nparts;
	struct coll_local_part *part[];
};

/* The shown pages are charged once, to the first member that maps them or stores there. */
static u64 map_bytes(u32 nparts, bool own)
{
	return struct_size_t(struct board_map, part, nparts) + (nparts + !own) * PAGE_SIZE;
}

static unsigned long map_pages(u32 nparts, bool own)
{
	return nparts * COLL_LOCAL_PART_PAGES + !own;
}

static void map_free(struct board_map *map)
{
	u32 i;

	for (i = 0; i < map->nparts; i++)
		coll_local_part_put(map->part[i]);
	coll_account_return(map->account, map->charged);
	if (map->head)
		put_page(virt_to_page(map->head));
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
 * What is at an offset.  Shown pages get memory when any rank first touches them: a reader may be
 * that rank, because mlockall() touches all of a mapping.  Return: NULL: there is no memory.
 */
static void *map_at(const struct board_map *map, unsigned long index)
{
	struct coll_local_part *part;
	void *shown;

	if (map->head && !index--)
		return map->head;
	part = map->part[index / COLL_LOCAL_PART_PAGES];
	index %= COLL_LOCAL_PART_PAGES;
	if (!index)
		return part->part.words;
	shown = coll_local_part_show(part);
	return shown ? shown + (index - 1) * PAGE_SIZE : NULL;
}

/* Also of a page that was dropped (MADV_DONTNEED): it is the same page again. */
static vm_fault_t map_fault(struct vm_fault *vmf)
{
	const struct board_map *map = vmf->vma->vm_file->private_data;
	void *at;

	if (vmf->vma->vm_mm != map->mm || vmf->pgoff >= map_pages(map->nparts, !map->head))
		return VM_FAULT_SIGBUS;
	at = map_at(map, vmf->pgoff);
	if (!at)
		return VM_FAULT_OOM;
	vmf->page = virt_to_page(at);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct map_vm_ops = {
	.fault		= map_fault,
};

/* Return: 0 or -EDQUOT. */
static int map_add(struct board_map *map, struct coll_charges *charges,
		   struct coll_board_part *part)
{
	struct coll_local_part *local = coll_local_part_of(part);

	refcount_inc(&local->refs);
	map->part[map->nparts++] = local;
	return coll_local_part_pay(local, charges);
}

/* Return: a mapping of a file that is to come; or -EDQUOT or -ENOMEM as a pointer. */
static struct board_map *map_new(const struct coll_board *board, struct coll_charges *charges,
				 bool own)
{
	const u32 nparts = own ? 1 : board->nranks;
	const u64 bytes = map_bytes(nparts, own);
	struct board_map *map;
	u32 rank;
	int err;

	err = coll_charge(charges, bytes);
	if (err)
		return ERR_PTR(err);
	map = kzalloc(struct_size(map, part, nparts), GFP_KERNEL_ACCOUNT);
	if (!map) {
		coll_uncharge(charges, bytes);
		return ERR_PTR(-ENOMEM);
	}
	map->account = coll_charge_detach(charges, bytes);
	map->charged = bytes;
	map->mm = current->mm;
	mmgrab(map->mm);
	if (!own) {
		map->head = container_of(board->sleepers, struct collective_board, sleepers);
		get_page(virt_to_page(map->head));
	}
	for (rank = 0; !err && rank < nparts; rank++)
		err = map_add(map, charges, board->part[own ? board->rank : rank]);
	if (!err)
		return map;
	map_free(map);
	return ERR_PTR(err);
}

/**
 * coll_local_board_is_private() - may no process map the board?
 * @board: of a member
 */
bool coll_local_board_is_private(const struct coll_board *board)
{
	u32 rank;

	for (rank = 0; rank < board->nranks; rank++)
		if (coll_local_part_of(board->part[rank])->private)
			return true;
	return false;
}

/**
 * coll_local_board_map() - map the board to the process of a member
 * @board: of the member
 * @charges: of the member
 * @vma: the mapping, of the calling process; its offset is not looked at
 * @own: the part of the member, writable; false: of all ranks, read-only
 *
 * Context: process; may sleep; mmap_lock is held for writing.
 * Return: 0, -EINVAL (not shared, or too long), -EACCES, -EDQUOT, -ENOMEM or -ENFILE.
 */
int coll_local_board_map(const struct coll_board *board, struct coll_charges *charges,
			 struct vm_area_struct *vma, bool own)
{
	const vm_flags_t refused = own ? VM_EXEC : VM_EXEC | VM_WRITE;
	struct board_map *map;
	int err;

	if (!(vma->vm_flags & VM_MAYSHARE) ||
	    vma_pages(vma) > map_pages(own ? 1 : board->nranks, own))
		return -EINVAL;
	if (vma->vm_flags & refused || coll_local_board_is_private(board))
		return -EACCES;
	map = map_new(board, charges, own);
	if (IS_ERR(map))
		return PTR_ERR(map);
	err = coll_map_adopt(vma, "[collective-board]", &map_ops, map);
	if (err) {
		map_free(map);
		return err;
	}
	vma->vm_ops = &map_vm_ops;
	vma->vm_pgoff = 0;
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		     own ? VM_MAYEXEC : VM_MAYEXEC | VM_MAYWRITE);
	return 0;
}
