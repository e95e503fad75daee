// SPDX-License-Identifier: GPL-2.0-only
/* The board of a world, and when its ranks look at it. */
#include "sim.h"

/**
 * struct sim_board - memory of the board
 * @sleepers: see struct coll_board
 * @impatient: likewise
 * @part: by rank: its words and pages
 * @view: by rank: its part
 * @words: by rank
 * @shown: by rank
 * @hidden: by rank
 */
struct sim_board {
	u64 sleepers;
	u64 impatient;
	struct coll_board_part part[COLL_BOARD_RANKS];
	struct coll_board_part *view[COLL_BOARD_RANKS];
	struct coll_board_words words[COLL_BOARD_RANKS];
	u8 shown[COLL_BOARD_RANKS][COLL_BOARD_PAGES][COLL_BOARD_PUBLISHED];
	u8 hidden[COLL_BOARD_RANKS][COLL_BOARD_PAGES][COLL_BOARD_PUBLISHED];
};

/**
 * board_init() - give a world its board, if it has one
 * @sim: the world, with its members
 */
void board_init(struct sim *sim)
{
	u32 n = sim->config.nranks, rank;

	if (!sim->config.board || n < 2 || n > COLL_BOARD_RANKS)
		return;
	sim->board = aligned_alloc(128, sizeof(*sim->board));
	memset(sim->board, 0, sizeof(*sim->board));
	for (rank = 0; rank < n; rank++) {
		struct coll_board *view = &sim->members[rank].board;

		view->rank = rank;
		view->nranks = n;
		view->sleepers = &sim->board->sleepers;
		view->impatient = &sim->board->impatient;
		view->part = sim->board->view;
		sim->board->view[rank] = &sim->board->part[rank];
		sim->board->part[rank] = (struct coll_board_part){
			.words = &sim->board->words[rank],
			.shown = sim->board->shown[rank][0],
			.hidden = sim->board->hidden[rank][0],
		};
		sim->members[rank].engine[0].board = view;
	}
}

/** board_free() - undo board_init() */
void board_free(struct sim *sim)
{
	free(sim->board);
}

/* Another rank has stored what some wait for. */
void board_wake(void *ctx, u32 latest)
{
	struct sim *sim = member_of(ctx)->sim;
	struct coll_engine *engine = ctx;
	u64 ranks = coll_board_sleepers(engine->board);

	if (latest >= engine->nranks)
		sim_fail(sim, "rank %u was the last one on the board", latest);
	for (; ranks; ranks &= ranks - 1)
		if (sim->config.mutation != MUTATION_WAKE || !rng_once_in(&sim->rng, 10))
			sim_wake(sim, &sim->members[__builtin_ctzll(ranks)].copy);
}

/**
 * board_look() - publish, and take results
 * @member: the rank; a dead rank does not come here, and wakes none
 */
void board_look(struct member *member)
{
	struct coll_engine *engine = &member->engine[0];

	if (!engine->board)
		return;
	coll_board_wake_up(engine->board);
	while (coll_engine_board(engine))
		;
	if (!list_empty(&engine->boarding))
		coll_board_sleep(engine->board, coll_engine_board_needs(engine));
}
