// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts: blocks of different lengths, in any order. Every element of every buffer is compared,
 * also those between the blocks.
 */
#include <errno.h>
#include <stdint.h>

#include "kselftest_harness.h"
#include "device/layout.h"
#include "lib/sizes.h"

#define swap(a, b) do {								\
	__typeof__(a) _swap = (a);						\
	(a) = (b);								\
	(b) = _swap;								\
} while (0)

FIXTURE_OF_SIZES(layout);

/**
 * struct list - blocks of one buffer
 * @blocks: number of blocks; 0: the buffer is not used
 * @counts: elements of each block
 * @displs: first element of each block
 * @packed: true if the blocks are contiguous and no displacements are passed
 * @length: elements from the first to the last
 */
struct list {
	u32 blocks;
	__u64 counts[GROUP_RANKS_MAX];
	__u64 displs[GROUP_RANKS_MAX];
	bool packed;
	size_t length;
};

/**
 * struct vcall - one collective with counts, on all ranks
 * @base: the collective
 * @round: seed of the counts
 * @most: approximate number of elements of a block
 */
struct vcall {
	struct call base;
	u32 round;
	size_t most;
};

/* Return: the elements from one rank for another, or of one rank; known to all ranks. */
static size_t vcount(const struct vcall *v, u32 from, u32 to)
{
	const u32 h = hash(v->round, from, to);

	switch (h % 5) {
	case 0:
		return 0;
	case 1:
		return v->most;
	default:
		return (h >> 8) % (v->most + 1);
	}
}

/* Return: the index of this rank's block in a list of all ranks. */
static size_t vblock(const struct vcall *v, const struct rank *r, u32 block, bool sending)
{
	if (v->base.opcode != COLLECTIVE_ALLTOALL)
		return vcount(v, block, 99);
	return sending ? vcount(v, r->rank, block) : vcount(v, block, r->rank);
}

/* Place all blocks in any order, with gaps, or contiguously. */
static void list_all(struct list *list, const struct vcall *v, const struct rank *r, bool sending)
{
	u32 order[GROUP_RANKS_MAX], i, k;

	*list = (struct list){ .blocks = r->nranks };
	list->packed = hash(v->round, sending, 5) % 3 == 0;
	for (i = 0; i < r->nranks; i++)
		order[i] = i;
	for (i = r->nranks - 1; i && !list->packed; i--) {
		k = hash(v->round, i, 7 + sending + 2 * r->rank) % (i + 1);
		swap(order[i], order[k]);
	}
	for (i = 0; i < r->nranks; i++) {
		k = order[i];
		list->counts[k] = vblock(v, r, k, sending);
		if (!list->packed)
			list->length += hash(v->round, i, 11) % 4;
		list->displs[k] = list->length;
		list->length += list->counts[k];
		/* An empty block may be anywhere. */
		if (!list->counts[k] && hash(v->round, k, 13) % 2 && !list->packed)
			list->displs[k] = ~0ULL;
	}
}

static void list_own(struct list *list, const struct vcall *v, const struct rank *r)
{
	*list = (struct list){
		.blocks = 1, .packed = true, .counts[0] = vcount(v, r->rank, 99),
		.length = vcount(v, r->rank, 99),
	};
}

static void list_put(const struct list *list, __u8 *at, u32 k, size_t e, u64 value, int size)
{
	put(at, list->displs[k] + e, value, size);
}

static void lists(const struct vcall *v, const struct rank *r, struct list *send,
		  struct list *recv)
{
	memset(send, 0, sizeof(*send));
	memset(recv, 0, sizeof(*recv));
	switch (v->base.opcode) {
	case COLLECTIVE_ALLTOALL:
		list_all(send, v, r, true);
		list_all(recv, v, r, false);
		break;
	case COLLECTIVE_SCATTER:
	case COLLECTIVE_REDUCE_SCATTER:
		if (sends(r, &v->base))
			list_all(send, v, r, true);
		list_own(recv, v, r);
		break;
	default:
		list_own(send, v, r);
		if (receives(r, &v->base))
			list_all(recv, v, r, false);
	}
}

static int vsubmit(const struct rank *r, const struct call *c, __u64 count, const void *send,
		   void *recv, const struct collective_layout *layout)
{
	struct collective_op op = {
		.opcode = c->opcode,
		.type = c->type,
		.flags = COLLECTIVE_F_VECTOR,
		.root = c->root,
		.count = count,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
		.layout = (uintptr_t)layout,
	};

	return member_submit(r->fd, &op);
}

static int vcall_check(struct rank *r, const struct vcall *v, __u8 *area, size_t quarter)
{
	const struct call *c = &v->base;
	const int size = call_size(c);
	const __u64 own = c->opcode == COLLECTIVE_ALLTOALL ? 0 : vcount(v, r->rank, 99);
	struct collective_layout layout = { .size = sizeof(layout) };
	__u8 *send = area + GUARD + r->rank * 3 * size, *recv = send + quarter;
	__u8 *sent = send + 2 * quarter, *wanted = recv + 2 * quarter;
	struct list from, to;
	const __u8 *in = send;
	__u8 *out = recv;
	u32 k;
	size_t e;

	lists(v, r, &from, &to);
	CHECK(from.length * size <= quarter - SLACK - GUARD);
	CHECK(to.length * size <= quarter - SLACK - GUARD);
	if (from.blocks > 1 || r->nranks == 1) {
		layout.send_counts = (uintptr_t)from.counts;
		layout.send_displs = from.packed ? 0 : (uintptr_t)from.displs;
	}
	if (to.blocks > 1 || r->nranks == 1) {
		layout.recv_counts = (uintptr_t)to.counts;
		layout.recv_displs = to.packed ? 0 : (uintptr_t)to.displs;
	}
	switch (c->opcode) {
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_GATHER:
		layout.send_counts = 0;
		layout.send_displs = 0;
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		layout.recv_counts = layout.send_counts;
		layout.send_counts = 0;
		layout.recv_displs = 0;
		break;
	case COLLECTIVE_SCATTER:
		layout.recv_counts = 0;
		layout.recv_displs = 0;
	}

	memset(area, GAP, 4 * quarter);
	for (k = 0; k < from.blocks; k++)
		for (e = 0; e < from.counts[k]; e++)
			list_put(&from, sent, k, e, element(c, r->rank, k, e), size);
	for (k = 0; k < to.blocks; k++)
		for (e = 0; e < to.counts[k]; e++)
			list_put(&to, wanted, k, e, result(r, c, k, e), size);
	memcpy(send - GUARD, sent - GUARD, quarter - SLACK);

	if (c->in_place && own && c->opcode == COLLECTIVE_REDUCE_SCATTER) {
		out = send + from.displs[r->rank] * size;
		for (e = 0; e < own; e++)
			list_put(&from, sent, r->rank, e, result(r, c, 0, e), size);
		memset(wanted - GUARD, GAP, quarter - SLACK);
	} else if (c->in_place && c->opcode == COLLECTIVE_SCATTER && r->rank == c->root) {
		out = send;
		memset(wanted - GUARD, GAP, quarter - SLACK);
	} else if (c->in_place && to.blocks > 1) {
		in = recv;
		for (e = 0; e < own; e++)
			list_put(&to, recv, r->rank, e, result(r, c, r->rank, e), size);
	}

	CHECK_EQ(0, vsubmit(r, c, own, in, out, &layout));
	CHECK(!memcmp(recv - GUARD, wanted - GUARD, quarter - SLACK));
	CHECK(!memcmp(send - GUARD, sent - GUARD, quarter - SLACK));
	return 0;
}

static int vcall_run(struct rank *r, const struct vcall *v, __u8 *area, size_t quarter)
{
	int err = vcall_check(r, v, area, quarter);

	if (err)
		dprintf(STDOUT_FILENO, "# %sv of %s, root %u, round %u, %s: %u of %u\n",
			names[v->base.opcode], reference_types[v->base.type].name, v->base.root,
			v->round, v->base.in_place ? "in place" : "out of place", r->rank,
			r->nranks);
	return err;
}

static int rank_counts(struct rank *r)
{
	static const size_t most[] = { 3, 40, 1000, 9000, 80000 };
	const size_t quarter = (8 * 80004 * r->nranks + 2 * GUARD + SLACK + 4095) & ~4095UL;
	struct vcall v = { .round = 0 };
	__u8 *area = memory(4 * quarter);
	unsigned int o, m, i;

	CHECK(area);
	for (o = 0; o < ARRAY_SIZE(opcodes); o++)
		for (m = 0; m < ARRAY_SIZE(most); m++)
			for (i = 0; i < 6; i++) {
				const size_t each = 8 * (most[m] + 4) * r->nranks + 2 * GUARD +
						    SLACK;

				v.round++;
				v.most = most[m];
				if (m == ARRAY_SIZE(most) - 1 && (i > 1 || slow_machine()))
					break;
				v.base.opcode = opcodes[o];
				v.base.type = types[(i + m) % ARRAY_SIZE(types)];
				v.base.root = v.base.opcode == COLLECTIVE_GATHER ||
					      v.base.opcode == COLLECTIVE_SCATTER ?
					      (m + i) % r->nranks : 0;
				v.base.in_place = v.base.opcode != COLLECTIVE_ALLTOALL && i % 2;
				if (vcall_run(r, &v, area, (each + 4095) & ~4095UL))
					return 1;
			}
	return 0;
}

TEST_F_TIMEOUT(layout, counts, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_counts, NULL));
}

/* Ranks with calls that differ. */
static int rank_differs(struct rank *r)
{
	__u64 counts[GROUP_RANKS_MAX];
	struct collective_layout layout = {
		.size = sizeof(layout), .recv_counts = (uintptr_t)counts,
	};
	struct call c = { .opcode = COLLECTIVE_ALLGATHER, .type = COLLECTIVE_INT32 };
	struct collective_status status;
	__u8 *area = memory(1 << 20), *recv = area + (1 << 19);
	u32 i, round;

	CHECK(area);
	/* Two counts are exchanged on one rank; small and large ones. */
	for (round = 0; round < 4; round++) {
		for (i = 0; i < r->nranks; i++)
			counts[i] = round % 2 ? 9000 : 20;
		counts[r->rank == 1 ? 0 : 1]++;
		c.opcode = round < 2 ? COLLECTIVE_ALLGATHER : COLLECTIVE_REDUCE_SCATTER;
		CHECK_EQ(-EBADMSG, vsubmit(r, &c, counts[r->rank], area, recv, &layout));
		CHECK_EQ(0, member_status(r->fd, &status));
		CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
		CHECK_EQ(COLLECTIVE_REASON_MISMATCH, status.last.kind);
	}
	/* More than the root expects. */
	c.opcode = COLLECTIVE_GATHER;
	for (i = 0; i < r->nranks; i++)
		counts[i] = 100;
	vsubmit(r, &c, r->rank ? 101 : 100, area, recv, &layout);
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(COLLECTIVE_REASON_MISMATCH, status.last.kind);
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST_F(layout, differs)
{
	if (variant->config.nranks == 1)
		SKIP(return, "needs two ranks");
	EXPECT_EQ(0, group_run(&variant->config, rank_differs, NULL));
}

TEST_HARNESS_MAIN
