// SPDX-License-Identifier: LGPL-2.1-or-later
/* Small operations on the mapped board: which ones they are, and their execution. */
#include "board/float_mode.h"
#include "board/internal.h"

_Static_assert(COLL_MAPPING_BYTES == COLL_BOARD_PUBLISHED, "payload that is mapped");

/* Flags of operations that are executed here. */
#define FLAGS	(COLLECTIVE_F_REPRODUCIBLE | COLLECTIVE_F_WIDE | COLLECTIVE_F_NOSYNC)

/* No program has memory below: the kernel refuses such addresses by name (EFAULT). */
#define FIRST_ADDRESS	65536

/* The least size of a page. */
#define PAGE_LEAST	4096U

/* Rounds between two looks at @attention, a power of two. */
#define ATTENTION_ROUNDS	16U

/**
 * struct small_operation - an operation that is executed here
 * @plan: as the core sees it
 * @send: address of the input
 * @send_len: bytes of the input on this rank
 * @recv: address of the result
 * @recv_len: bytes that are stored there on this rank
 */
struct small_operation {
	struct coll_plan plan;
	u64 send;
	u64 send_len;
	u64 recv;
	u64 recv_len;
};

/* Registered buffers are memory of the process as any other: @send and @recv are addresses. */
static bool has_unusual_fields(const struct collective_op *op)
{
	return op->algorithm || op->flags & ~FLAGS || op->key || op->layout || op->reserved[0] ||
	       op->reserved[1];
}

/* Are the fields 0 that the collective does not use, and the others valid? */
static bool has_valid_fields(const struct collective_op *op, u32 nranks)
{
	const u32 flags = op->flags & ~COLLECTIVE_F_NOSYNC;

	switch (op->opcode) {
	case COLLECTIVE_BARRIER:
		return !(op->type || op->reduction || flags || op->root || op->count ||
			 op->send || op->recv);
	case COLLECTIVE_ALLREDUCE:
		return !op->root && coll_reduce_valid(op->type, op->reduction);
	case COLLECTIVE_BROADCAST:
		return !op->reduction && !flags && op->root < nranks;
	case COLLECTIVE_ALLGATHER:
		return !op->reduction && !flags && !op->root;
	}
	return false;
}

/* Where the input and the result are. */
static void find_buffers(struct small_operation *small, const struct collective_op *op)
{
	const struct coll_plan *plan = &small->plan;
	const u64 block = coll_board_block(plan);
	const bool in_place = op->send == op->recv;

	small->send = op->send;
	small->recv = op->recv;
	small->send_len = coll_board_published(plan, plan->rank);
	small->recv_len = block;
	if (op->opcode == COLLECTIVE_ALLGATHER) {
		small->recv_len = plan->nranks * block;
		if (in_place)
			small->send += plan->rank * block;
	}
	if (op->opcode == COLLECTIVE_BROADCAST && coll_plan_is_root(plan) && in_place)
		small->recv_len = 0;
}

/* Are the buffers aligned, and distinct unless the operation is in place? */
static bool has_valid_buffers(const struct small_operation *small, const struct collective_op *op)
{
	if ((op->send | op->recv) & (small->plan.size - 1) ||
	    (small->send_len && small->send < FIRST_ADDRESS) ||
	    (small->recv_len && small->recv < FIRST_ADDRESS))
		return false;
	if (op->send == op->recv)
		return true;
	return small->send - small->recv >= small->recv_len &&
	       small->recv - small->send >= small->send_len;
}

/*
 * Describe an operation.  The kernel checks others, and says why it refuses them.
 * Return: false if the operation is not one for the mapped board.
 */
static bool describe(const struct coll_mapping *mapping, const struct collective_op *op,
		     struct small_operation *small)
{
	struct coll_plan *plan = &small->plan;

	if (op->opcode >= COLLECTIVE_OPCODE_COUNT || !(mapping->collectives & BIT(op->opcode)) ||
	    has_unusual_fields(op) || op->type >= COLLECTIVE_TYPE_COUNT ||
	    !has_valid_fields(op, mapping->board.nranks))
		return false;
	*plan = (struct coll_plan){
		.collective = op->opcode,
		.type = op->type,
		.reduction = op->reduction,
		.reproducible = op->flags & COLLECTIVE_F_REPRODUCIBLE,
		.wide = op->flags & COLLECTIVE_F_WIDE,
		.board = true,
		.nosync = op->flags & COLLECTIVE_F_NOSYNC,
		.size = coll_type_size(op->type),
		.rank = mapping->board.rank,
		.nranks = mapping->board.nranks,
		.root = op->root,
		.count = op->count,
	};
	/* All ranks but the root of a broadcast publish the same number of bytes, or none. */
	if (!coll_board_fits(plan) || coll_board_place(plan, plan->root) == COLL_BOARD_HIDDEN)
		return false;
	find_buffers(small, op);
	return has_valid_buffers(small, op);
}

static void *flat_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	*len = mem->length;
	return (void *)(uintptr_t)off;
}

/* All memory of the process: offsets are addresses. */
static const struct coll_mem flat = { .at = flat_at, .length = SIZE_MAX };

/*
 * Copy the input, and look at the memory of the result.  A wrong address ends the program here,
 * where a handler may still let it go on: the operation has no place in the order yet.  Nothing is
 * stored: ranks may share the memory.
 */
static void touch_buffers(const struct small_operation *small, u8 *input)
{
	const u8 *recv = (void *)(uintptr_t)small->recv;
	u64 at;

	if (small->send_len)
		memcpy(input, (void *)(uintptr_t)small->send, small->send_len);
	if (!small->recv_len)
		return;
	for (at = 0; at < small->recv_len; at += PAGE_LEAST)
		(void)READ_ONCE(recv[at]);
	(void)READ_ONCE(recv[small->recv_len - 1]);
}

/* The digest takes longer than all else that is computed here, and calls often repeat. */
static u64 digest_of(struct coll_mapping *mapping, const struct collective_op *op)
{
	const struct coll_signature signature = {
		.collective = op->opcode,
		.type = op->type,
		.reduction = op->reduction,
		.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
		.flags = op->flags & ~COLLECTIVE_F_NOSYNC,
		.root = op->root,
		.count = op->count,
	};

	if (!mapping->digest || coll_signatures_differ(&mapping->signature, &signature)) {
		mapping->signature = signature;
		mapping->digest = coll_signature_digest(&signature);
	}
	return mapping->digest;
}

/*
 * Publish an operation, unless that was done before.  Return: false if a rank is so far behind that
 * there is no place for it.
 */
static bool publish(struct coll_mapping *mapping, const struct small_operation *small,
		    u64 instance, u64 digest, const u8 *input)
{
	const enum coll_board_place place = coll_board_place(&small->plan, small->plan.rank);
	struct coll_board *board = &mapping->board;

	if (coll_board_has(board, board->rank, instance))
		return true;
	if (!coll_board_reserve(board, instance, place))
		return false;
	memcpy(coll_board_payload(board, board->rank, instance, place), input, small->send_len);
	coll_board_publish_call(board, &small->plan, instance, &mapping->signature, digest);
	return true;
}

/*
 * Publish an operation, and wait until all ranks that are needed have, for @budget rounds.  If the
 * least budget is not the greatest, it is not known whether waiting pays: the budget rises while it
 * does.
 *
 * Return: false if they have not, if a rank has published something else, or if the kernel calls.
 */
static bool publish_and_wait(struct coll_mapping *mapping, const struct small_operation *small,
			     u64 instance, u64 digest, const u8 *input)
{
	const u64 needs = coll_board_needs(&small->plan);
	enum coll_board_found found = COLL_BOARD_MISSING;
	bool published = false;
	u32 rank = 0, round;

	for (round = 0; round < mapping->budget; round++) {
		published = published || publish(mapping, small, instance, digest, input);
		if (published)
			found = coll_board_scan(&mapping->board, instance, digest, needs, &rank);
		if (found == COLL_BOARD_COMPLETE) {
			if (round)
				mapping->budget = min(2 * mapping->budget, mapping->budget_max);
			return true;
		}
		if (found != COLL_BOARD_MISSING)
			return false;
		if (round % ATTENTION_ROUNDS == ATTENTION_ROUNDS - 1 &&
		    READ_ONCE(mapping->own->attention))
			return false;
		coll_mapping_relax();
	}
	mapping->budget = max(mapping->budget / 2, mapping->budget_min);
	return false;
}

/* Averages of integers do, too: their divisions. */
static bool uses_floats(const struct coll_plan *plan)
{
	return coll_plan_reduces(plan) &&
	       (plan->type >= COLLECTIVE_FLOAT16 || plan->reduction == COLLECTIVE_AVG);
}

static void take(struct coll_mapping *mapping, const struct small_operation *small, u64 instance)
{
	const struct coll_plan *plan = &small->plan;
	const struct coll_board_out out = {
		.mem = &flat,
		.off = small->recv,
		.input = &flat,
		.input_off = small->send,
		.impl = &coll_reduce_scalar,
		.part = mapping->scratch,
		.stats = &mapping->stats,
	};
	struct coll_float_mode mode;

	if (!uses_floats(plan)) {
		coll_board_take(&mapping->board, plan, instance, &out);
		return;
	}
	coll_float_mode_begin(&mode);
	coll_board_take(&mapping->board, plan, instance, &out);
	coll_float_mode_end(&mode);
}

/* End an operation of which the result is taken. */
static enum coll_mapping_result finish(struct coll_mapping *mapping, u8 opcode, u64 instance)
{
	u64 *calls = &mapping->own->calls[opcode];
	bool wake;

	WRITE_ONCE(*calls, *calls + 1);
	WRITE_ONCE(mapping->own->latest, opcode);
	wake = coll_board_finish(&mapping->board, instance);
	/* Afterwards another thread may be at the next operation. */
	if (coll_order_release(mapping->own, instance))
		wake = true;
	return wake ? COLL_MAPPING_WAKE : COLL_MAPPING_DONE;
}

/* Execute an operation as far as it is possible here. */
static enum coll_mapping_result execute(struct coll_mapping *mapping,
					const struct collective_op *op,
					const struct small_operation *small, u64 instance,
					const u8 *input)
{
	const u64 digest = digest_of(mapping, op);

	if (!publish_and_wait(mapping, small, instance, digest, input))
		return COLL_MAPPING_RESUME;
	take(mapping, small, instance);
	return finish(mapping, op->opcode, instance);
}

enum coll_mapping_result coll_mapping_run(struct coll_mapping *mapping,
					  const struct collective_op *op, __u64 *instance)
{
	u8 input[COLL_BOARD_PUBLISHED];
	struct small_operation small;
	u64 number;

	if (READ_ONCE(mapping->own->attention) || !describe(mapping, op, &small))
		return COLL_MAPPING_SUBMIT;
	touch_buffers(&small, input);
	if (!coll_order_take(mapping->own, &number))
		return COLL_MAPPING_SUBMIT;
	*instance = number;
	return execute(mapping, op, &small, number, input);
}

size_t coll_mapping_stage_size(const struct coll_mapping *mapping, const struct collective_op *op)
{
	struct small_operation small;

	/* It was described before. */
	if (op->opcode == COLLECTIVE_BARRIER || !describe(mapping, op, &small))
		return 0;
	return max(small.send_len, small.recv_len);
}

size_t coll_mapping_stage(const struct coll_mapping *mapping, struct collective_op *op,
			  void *memory)
{
	struct small_operation small;
	u64 own = 0;

	if (!describe(mapping, op, &small))
		return 0;
	if (op->opcode == COLLECTIVE_ALLGATHER)
		own = small.plan.rank * coll_board_block(&small.plan);
	memcpy(memory + own, (void *)(uintptr_t)small.send, small.send_len);
	op->send = (uintptr_t)memory;
	op->recv = (uintptr_t)memory;
	return small.recv_len;
}

enum coll_mapping_result coll_mapping_go_on(struct coll_mapping *mapping,
					    const struct collective_op *op, __u64 instance)
{
	u8 input[COLL_BOARD_PUBLISHED];
	struct small_operation small;

	/* It was described before, and the program has left its memory alone since. */
	if (!describe(mapping, op, &small))
		return COLL_MAPPING_RESUME;
	touch_buffers(&small, input);
	return execute(mapping, op, &small, instance, input);
}
