// SPDX-License-Identifier: GPL-2.0-only
/* The memory of a group's board: see transport/board.h. */
#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "mem/account.h"
#include "transport/board.h"
#include "transport/hub.h"

static bool board = true;
module_param(board, bool, 0644);
MODULE_PARM_DESC(board,
		 "Execute small operations of groups whose ranks are all on this host on a board in shared memory (default). Groups that exist keep what they have");

static atomic64_t latest_serial;

/* Bytes of the pages of a rank, shown or hidden. */
#define PAGES_BYTES	(COLL_BOARD_PAGES * COLL_BOARD_PUBLISHED)

/**
 * coll_local_part_put() - give a reference to a part back
 * @part: the part, or NULL
 *
 * Pages that are mapped stay until they are not.
 *
 * Context: may sleep.
 */
void coll_local_part_put(struct coll_local_part *part)
{
	if (!part || !refcount_dec_and_test(&part->refs))
		return;
	free_page((unsigned long)part->part.words);
	if (part->part.shown)
		free_pages_exact(part->part.shown, PAGES_BYTES);
	if (part->account)
		coll_account_return(part->account, PAGES_BYTES);
	kvfree(part->part.hidden);
	kfree(part);
}

/**
 * coll_local_part_pay() - charge the shown pages of a part, for as long as it lasts
 * @part: of the member
 * @charges: of the member
 *
 * Context: may sleep; several threads at a time.
 * Return: 0 or -EDQUOT.
 */
int coll_local_part_pay(struct coll_local_part *part, struct coll_charges *charges)
{
	struct coll_account *account;
	int err;

	if (READ_ONCE(part->account))
		return 0;
	err = coll_charge(charges, PAGES_BYTES);
	if (err)
		return err;
	account = coll_charge_detach(charges, PAGES_BYTES);
	if (cmpxchg(&part->account, NULL, account))
		coll_account_return(account, PAGES_BYTES);
	return 0;
}

/**
 * coll_local_part_show() - the shown pages of a part, which get memory when they are first used
 * @part: paid for by coll_local_part_pay()
 *
 * Context: may sleep; several threads at a time.
 * Return: the pages; or NULL: there is no memory.
 */
void *coll_local_part_show(struct coll_local_part *part)
{
	void *pages = READ_ONCE(part->part.shown), *others;

	if (pages)
		return pages;
	pages = alloc_pages_exact(PAGES_BYTES, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!pages)
		return NULL;
	others = cmpxchg(&part->part.shown, NULL, pages);
	if (!others)
		return pages;
	free_pages_exact(pages, PAGES_BYTES);
	return others;
}

static struct coll_local_part *part_new(bool private)
{
	struct coll_local_part *part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);

	if (!part)
		return NULL;
	refcount_set(&part->refs, 1);
	part->serial = atomic64_inc_return(&latest_serial);
	part->private = private;
	part->part.words = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (part->part.words)
		return part;
	coll_local_part_put(part);
	return NULL;
}

/**
 * coll_local_board_new() - let a group have a board, if it may
 * @hub: of the group
 *
 * Context: may sleep.
 * Return: 0, also if there are too few or too many ranks; or -ENOMEM, and coll_local_board_free()
 * must follow.
 */
int coll_local_board_new(struct coll_local_hub *hub)
{
	if (!READ_ONCE(board) || !coll_local_board_bytes(hub->nranks))
		return 0;
	hub->board = kvzalloc(struct_size(hub->board, part, hub->nranks), GFP_KERNEL_ACCOUNT);
	if (!hub->board)
		return -ENOMEM;
	hub->board->head = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!hub->board->head)
		return -ENOMEM;
	*hub->board->head = (struct collective_board){
		.version = COLLECTIVE_BOARD_VERSION,
		.nranks = hub->nranks,
		.first = PAGE_SIZE,
		.part = COLL_LOCAL_PART_PAGES * PAGE_SIZE,
		.payload = PAGE_SIZE,
	};
	return 0;
}

/**
 * coll_local_board_free() - undo coll_local_board_new() and coll_local_board_join()
 * @hub: of a group without members
 */
void coll_local_board_free(struct coll_local_hub *hub)
{
	u32 rank;

	if (!hub->board)
		return;
	for (rank = 0; rank < hub->nranks; rank++)
		coll_local_part_put(hub->board->part[rank]);
	free_page((unsigned long)hub->board->head);
	kvfree(hub->board);
	hub->board = NULL;
}

/**
 * coll_local_board_join() - give a member a part of the board
 * @hub: of the group
 * @rank: its rank
 * @private: may no process map the board?
 *
 * Context: may sleep.
 * Return: 0, also if there is no board; or -ENOMEM.
 */
int coll_local_board_join(struct coll_local_hub *hub, u32 rank, bool private)
{
	struct coll_local_part *part, *old;

	if (!hub->board)
		return 0;
	part = part_new(private);
	if (!part)
		return -ENOMEM;
	spin_lock(&hub->lock);
	old = hub->board->part[rank];
	hub->board->part[rank] = part;
	spin_unlock(&hub->lock);
	coll_local_part_put(old);
	return 0;
}

/* A view without parts.  Return: NULL if there is no memory. */
static struct coll_board *view_new(u32 nranks)
{
	struct coll_board *view = kzalloc(sizeof(*view), GFP_KERNEL_ACCOUNT);

	if (!view)
		return NULL;
	view->nranks = nranks;
	view->part = kcalloc(nranks, sizeof(*view->part), GFP_KERNEL_ACCOUNT);
	if (view->part)
		return view;
	kfree(view);
	return NULL;
}

/**
 * coll_local_board_open() - the board as a member sees it
 * @hub: of the group, which has a board; coll_local_hub_reads_all()
 * @rank: rank of the member
 *
 * A rank that was to join again, and has not yet, is seen by its part of before.  The generation
 * differs then from that of the others, whose slots show that.
 *
 * Context: may sleep.
 * Return: the board, for coll_local_board_close(); or NULL: there is no memory.
 */
struct coll_board *coll_local_board_open(struct coll_local_hub *hub, u32 rank)
{
	struct coll_board *view = view_new(hub->nranks);
	struct coll_local_part *part;
	u32 i;

	if (!view)
		return NULL;
	view->rank = rank;
	view->sleepers = &hub->board->head->sleepers;
	view->impatient = &hub->board->impatient;
	spin_lock(&hub->lock);
	for (i = 0; i < hub->nranks; i++) {
		part = hub->board->part[i];
		refcount_inc(&part->refs);
		view->part[i] = &part->part;
		view->generation = (view->generation ^ part->serial) * GOLDEN_RATIO_64;
	}
	spin_unlock(&hub->lock);
	view->part[rank]->words->generation = view->generation;
	return view;
}

/**
 * coll_local_board_close() - undo coll_local_board_open()
 * @board: the board; other ranks may go on reading the part of the member
 *
 * Context: may sleep.
 */
void coll_local_board_close(struct coll_board *board)
{
	u32 i;

	coll_board_wake_up(board);
	for (i = 0; i < board->nranks; i++)
		coll_local_part_put(coll_local_part_of(board->part[i]));
	kfree(board->part);
	kfree(board);
}

static int part_hide(struct coll_board_part *part, struct coll_charges *charges, u64 *charged)
{
	void *pages;
	int err;

	if (READ_ONCE(part->hidden))
		return 0;
	err = coll_charge(charges, PAGES_BYTES);
	if (err)
		return err;
	pages = kvzalloc(PAGES_BYTES, GFP_KERNEL_ACCOUNT);
	if (pages && !cmpxchg(&part->hidden, NULL, pages)) {
		WRITE_ONCE(*charged, PAGES_BYTES);
		return 0;
	}
	coll_uncharge(charges, PAGES_BYTES);
	kvfree(pages);
	return pages ? 0 : -ENOMEM;
}

/**
 * coll_local_board_extend() - have pages for payload that no slot holds
 * @board: of the calling rank
 * @place: COLL_BOARD_SHOWN or COLL_BOARD_HIDDEN
 * @charges: of the member
 * @charged: set to the bytes that were charged to the member, if any were
 *
 * Context: may sleep; several threads at a time.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_local_board_extend(struct coll_board *board, enum coll_board_place place,
			    struct coll_charges *charges, u64 *charged)
{
	struct coll_local_part *part = coll_local_part_of(board->part[board->rank]);
	int err;

	if (place == COLL_BOARD_HIDDEN)
		return part_hide(&part->part, charges, charged);
	err = coll_local_part_pay(part, charges);
	if (err)
		return err;
	return coll_local_part_show(part) ? 0 : -ENOMEM;
}
