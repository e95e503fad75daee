/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of a group's board (core/board/board.h), which its ranks in this kernel share.
 *
 * Each member has a part of its own, from JOIN on.  The hub knows the part of the latest member of
 * a rank.  CONNECT takes references to those of all ranks, which a member holds until it ends:
 * others may still read what a rank has published that has left since, or has joined again.
 */
#ifndef COLL_LOCAL_BOARD_H
#define COLL_LOCAL_BOARD_H

#include <linux/mm_types.h>
#include <linux/refcount.h>

#include "core/board/board.h"

#include <linux/collective.h>

struct coll_account;
struct coll_charges;
struct coll_local_hub;

/**
 * struct coll_local_part - the part of a member
 * @part: as the core sees it; its words have a page
 * @refs: references of the hub, of members and of mappings
 * @account: account that @part.shown is charged to; NULL: it may not be used yet [a]
 * @serial: no other part of this kernel has this number
 * @private: the member has joined with COLLECTIVE_JOIN_PRIVATE
 */
struct coll_local_part {
	struct coll_board_part part;
	refcount_t refs;
	struct coll_account *account;
	u64 serial;
	bool private;
};

static inline struct coll_local_part *coll_local_part_of(struct coll_board_part *part)
{
	return container_of(part, struct coll_local_part, part);
}

/**
 * struct coll_local_board - the board of a group
 * @head: what all ranks have in common, a page
 * @impatient: see struct coll_board [a]
 * @part: by rank: part of its latest member; NULL: there was none.  Protected by the hub's lock
 */
struct coll_local_board {
	struct collective_board *head;
	u64 impatient;
	struct coll_local_part *part[];
};

static_assert(sizeof(struct coll_board_words) <= PAGE_SIZE);

/* Pages of a part that processes map: its words, and those that are shown. */
#define COLL_LOCAL_PART_PAGES \
	(1U + DIV_ROUND_UP(COLL_BOARD_PAGES * COLL_BOARD_PUBLISHED, PAGE_SIZE))

/**
 * coll_local_board_bytes() - memory that a member's words on the board have
 * @nranks: ranks of the group
 */
static inline u64 coll_local_board_bytes(u32 nranks)
{
	return nranks < 2 || nranks > COLL_BOARD_RANKS ? 0 : PAGE_SIZE;
}

int coll_local_board_new(struct coll_local_hub *hub);
void coll_local_board_free(struct coll_local_hub *hub);
int coll_local_board_join(struct coll_local_hub *hub, u32 rank, bool private);
struct coll_board *coll_local_board_open(struct coll_local_hub *hub, u32 rank);
int coll_local_board_extend(struct coll_board *board, enum coll_board_place place,
			    struct coll_charges *charges, u64 *charged);
void coll_local_board_close(struct coll_board *board);

void coll_local_part_put(struct coll_local_part *part);
int coll_local_part_pay(struct coll_local_part *part, struct coll_charges *charges);
void *coll_local_part_show(struct coll_local_part *part);

bool coll_local_board_is_private(const struct coll_board *board);
int coll_local_board_map(const struct coll_board *board, struct coll_charges *charges,
			 struct vm_area_struct *vma, bool own);

#endif /* COLL_LOCAL_BOARD_H */
