/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mapped board, as the files of board/ see it. */
#ifndef COLL_BOARD_INTERNAL_H
#define COLL_BOARD_INTERNAL_H

#include "core/board/order.h"
#include "core/wire/signature.h"

#include "board/mapping.h"

/**
 * struct coll_mapping - the mapped board of a group
 * @group: beginning of what is mapped read-only
 * @group_size: bytes of it
 * @own: part of this rank, in a mapping that is writable
 * @own_size: bytes of that mapping
 * @collectives: those that the process executes: bit (1 << enum collective_opcode)
 * @budget: rounds in which other ranks are waited for before the kernel goes on
 * @budget_min: least value of @budget
 * @budget_max: greatest value of @budget
 * @board: the board
 * @view: of @board: addresses of @part
 * @part: parts by rank
 * @signature: call whose digest is known
 * @digest: digest of @signature; 0: none is known
 * @stats: required by the core, read by nothing
 * @scratch: memory for reductions
 *
 * The fields from @budget on belong to the thread that has the order: coll_order_take() is the
 * lock, coll_order_release() and the kernel give it back.
 */
struct coll_mapping {
	void *group;
	size_t group_size;
	struct coll_board_words *own;
	size_t own_size;
	u32 collectives;

	u32 budget;
	u32 budget_min;
	u32 budget_max;
	struct coll_board board;
	struct coll_board_part *view[COLL_BOARD_RANKS];
	struct coll_board_part part[COLL_BOARD_RANKS];
	struct coll_signature signature;
	u64 digest;
	struct coll_fuse_stats stats;
	u8 scratch[COLL_REDUCE_PART] __aligned(8);
};

/* Has the board a format that this library knows, for a group of @nranks ranks? */
bool coll_mapping_knows(const struct collective_board *group, u32 nranks);

/* Bytes of a board of a format that is known. */
size_t coll_mapping_size(const struct collective_board *group);

/*
 * Fill in a mapping, zeroed but for its budgets.  @group is a board of a format that is known, of
 * which @own is the part of @rank.  For @algorithm see coll_mapping_new().
 */
void coll_mapping_init(struct coll_mapping *mapping, void *group, struct coll_board_words *own,
		       u32 rank, const u8 *algorithm);

/* Wait for a moment in a loop: the CPU does something else. */
static inline void coll_mapping_relax(void)
{
#if defined(__x86_64__)
	__asm__ volatile("pause" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("yield" : : : "memory");
#else
	__asm__ volatile("" : : : "memory");
#endif
}

#endif /* COLL_BOARD_INTERNAL_H */
