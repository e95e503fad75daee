// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layouts: blocks that are not contiguous. Every element of every buffer is compared, also those
 * between the blocks. The expected places are computed from array indices.
 */
#include <errno.h>
#include <stdint.h>

#include "lib/group.h"
#include "lib/values.h"
#include "kselftest_harness.h"
#include "lib/sizes.h"

#define EAGER	COLLECTIVE_EAGER_LIMIT
#define GAP	0x5c

/* Ranks use different offsets in a page. */
#define SHIFT	(3 * 8 * GROUP_RANKS_MAX)
#define SLACK	(GUARD + SHIFT)

#define swap(a, b) do {								\
	__typeof__(a) _swap = (a);						\
	(a) = (b);								\
	(b) = _swap;								\
} while (0)

static const int types[] = {
	COLLECTIVE_UINT8, COLLECTIVE_INT16, COLLECTIVE_UINT32, COLLECTIVE_INT64,
};

static const int opcodes[] = {
	COLLECTIVE_ALLGATHER, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_GATHER, COLLECTIVE_SCATTER,
	COLLECTIVE_ALLTOALL,
};

static const char * const names[] = {
	[COLLECTIVE_ALLGATHER] = "allgather",
	[COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
	[COLLECTIVE_GATHER] = "gather",
	[COLLECTIVE_SCATTER] = "scatter",
	[COLLECTIVE_ALLTOALL] = "alltoall",
};

FIXTURE_OF_SIZES(layout);

/*
 * Blocks of a three-dimensional array
 */

/**
 * struct part - places of the blocks of one buffer
 * @dim: dimensions of one block
 * @blocks: number of blocks
 * @axis: axis along which the blocks follow one another, if there are several
 * @pitch: elements from one row to the next, if there is one block
 */
struct part {
	size_t dim[3];
	u32 blocks;
	u32 axis;
	size_t pitch;
};

static size_t part_count(const struct part *p)
{
	return p->dim[0] * p->dim[1] * p->dim[2];
}

/* Return: the number of elements of the array, with the gaps between blocks. */
static size_t part_length(const struct part *p)
{
	if (p->blocks == 1)
		return part_count(p) + (p->dim[0] * p->dim[1] - 1) * p->pitch;
	return part_count(p) * p->blocks;
}

/* Return: the index of an element of a block, from the array indices. */
static size_t part_where(const struct part *p, u32 block, size_t e)
{
	size_t index[3] = {
		e / (p->dim[1] * p->dim[2]), e / p->dim[2] % p->dim[1], e % p->dim[2],
	};
	size_t dim[3] = { p->dim[0], p->dim[1], p->dim[2] };

	if (p->blocks == 1)
		return (index[0] * dim[1] + index[1]) * (dim[2] + p->pitch) + index[2];
	index[p->axis] += block * dim[p->axis];
	dim[p->axis] *= p->blocks;
	return (index[0] * dim[1] + index[1]) * dim[2] + index[2];
}

static struct collective_view part_view(const struct part *p)
{
	size_t outer = 1, inner = 1;
	u32 i;

	if (p->blocks == 1)
		return (struct collective_view){
			.rows = p->dim[0] * p->dim[1],
			.stride = p->dim[2] + p->pitch,
		};
	for (i = 0; i < 3; i++) {
		if (i < p->axis)
			outer *= p->dim[i];
		else
			inner *= p->dim[i];
	}
	return (struct collective_view){
		.rows = outer,
		.stride = inner * p->blocks,
		.distance = inner,
	};
}

/**
 * struct call - one collective with views, on all ranks
 * @opcode: enum collective_opcode
 * @type: enum collective_type, an integer
 * @root: root rank
 * @in_place: true if the own block, or the result, is in the other buffer
 * @send: buffer of a rank that sends
 * @recv: buffer of a rank that receives
 */
struct call {
	int opcode;
	int type;
	u32 root;
	bool in_place;
	struct part send;
	struct part recv;
};

static int call_size(const struct call *c)
{
	return reference_types[c->type].size;
}

static bool sends(const struct rank *r, const struct call *c)
{
	return c->opcode != COLLECTIVE_SCATTER || r->rank == c->root;
}

static bool receives(const struct rank *r, const struct call *c)
{
	return c->opcode != COLLECTIVE_GATHER || r->rank == c->root;
}

static u64 element(const struct call *c, u32 rank, u32 block, size_t e)
{
	u64 h = (rank * 16ULL + block + 1) * 0x9e3779b97f4a7c15ULL + e * 0xbf58476d1ce4e5b9ULL;

	return (h ^ h >> 29) & reference_mask(&reference_types[c->type]);
}

/* Return: the expected element of a block of the result. */
static u64 result(const struct rank *r, const struct call *c, u32 block, size_t e)
{
	u64 sum = 0;
	u32 k;

	switch (c->opcode) {
	case COLLECTIVE_ALLTOALL:
		return element(c, block, r->rank, e);
	case COLLECTIVE_SCATTER:
		return element(c, c->root, r->rank, e);
	case COLLECTIVE_REDUCE_SCATTER:
		for (k = 0; k < r->nranks; k++)
			sum += element(c, k, r->rank, e);
		return sum & reference_mask(&reference_types[c->type]);
	default:
		return element(c, block, 0, e);
	}
}

static void put(__u8 *at, size_t i, u64 value, int size)
{
	memcpy(at + i * size, &value, size);
}

static int submit(const struct rank *r, const struct call *c, const void *send, void *recv,
		  const struct collective_layout *layout)
{
	struct collective_op op = {
		.opcode = c->opcode,
		.type = c->type,
		.root = c->root,
		.count = part_count(&c->send),
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
		.layout = (uintptr_t)layout,
	};

	return member_submit(r->fd, &op);
}

/*
 * Run the call in @area. Its quarters are the input, the result, and the expected contents of
 * both.
 */
static int call_check(struct rank *r, const struct call *c, __u8 *area, size_t quarter)
{
	const int size = call_size(c);
	const size_t count = part_count(&c->send);
	struct collective_layout layout = {
		.size = sizeof(layout), .send = part_view(&c->send), .recv = part_view(&c->recv),
	};
	__u8 *send = area + GUARD + r->rank * 3 * size, *recv = send + quarter;
	__u8 *sent = send + 2 * quarter, *wanted = recv + 2 * quarter;
	const __u8 *from = send;
	__u8 *to = recv;
	u32 k, own = 0;
	size_t e;

	memset(area, GAP, 4 * quarter);
	for (k = 0; sends(r, c) && k < c->send.blocks; k++)
		for (e = 0; e < count; e++)
			put(sent, part_where(&c->send, k, e), element(c, r->rank, k, e), size);
	for (k = 0; receives(r, c) && k < c->recv.blocks; k++)
		for (e = 0; e < count; e++)
			put(wanted, part_where(&c->recv, k, e), result(r, c, k, e), size);
	memcpy(send - GUARD, sent - GUARD, quarter - SLACK);

	if (c->in_place && c->opcode == COLLECTIVE_REDUCE_SCATTER) {
		/* The result is the own block. */
		layout.recv = layout.send;
		layout.recv.distance = 0;
		own = r->rank * layout.send.distance;
		to = send + own * size;
		for (e = 0; e < count; e++)
			put(sent, part_where(&c->send, r->rank, e), result(r, c, 0, e), size);
		memset(wanted - GUARD, GAP, quarter - SLACK);
	} else if (c->in_place && c->opcode == COLLECTIVE_SCATTER && r->rank == c->root) {
		memset(&layout.recv, 0, sizeof(layout.recv));
		to = send;
		memset(wanted - GUARD, GAP, quarter - SLACK);
	} else if (c->in_place && c->opcode != COLLECTIVE_SCATTER && receives(r, c)) {
		memset(&layout.send, 0, sizeof(layout.send));
		from = recv;
		for (e = 0; e < count; e++)
			put(recv, part_where(&c->recv, r->rank, e), result(r, c, r->rank, e),
			    size);
	}

	CHECK_EQ(0, submit(r, c, from, to, &layout));
	CHECK(!memcmp(recv - GUARD, wanted - GUARD, quarter - SLACK));
	CHECK(!memcmp(send - GUARD, sent - GUARD, quarter - SLACK));
	return 0;
}

static int call_run(struct rank *r, const struct call *c, __u8 *area, size_t quarter)
{
	int err = call_check(r, c, area, quarter);

	if (err)
		dprintf(STDOUT_FILENO,
			"# %s of %zux%zux%zu %s, root %u, along %u and %u, pitch %zu, %s: %u of %u\n",
			names[c->opcode], c->send.dim[0], c->send.dim[1], c->send.dim[2],
			reference_types[c->type].name, c->root, c->send.axis, c->recv.axis,
			c->send.pitch + c->recv.pitch, c->in_place ? "in place" : "out of place",
			r->rank, r->nranks);
	return err;
}

/* One buffer has a block of each rank along an axis; the other has one block, in rows. */
static void call_shape(struct call *c, const struct rank *r, const size_t *dim, u32 axis)
{
	struct part many = { .blocks = r->nranks, .axis = axis };
	struct part one = { .blocks = 1, .pitch = c->in_place ? 0 : axis };

	memcpy(many.dim, dim, sizeof(many.dim));
	memcpy(one.dim, dim, sizeof(one.dim));
	switch (c->opcode) {
	case COLLECTIVE_ALLTOALL:
		c->send = many;
		c->recv = many;
		break;
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_SCATTER:
		c->send = many;
		c->recv = one;
		break;
	default:
		c->send = one;
		c->recv = many;
	}
}

static size_t room(const struct call *c)
{
	const size_t send = part_length(&c->send), recv = part_length(&c->recv);

	return ((send > recv ? send : recv) * call_size(c) + 2 * GUARD + SLACK + 4095) &
	       ~4095UL;
}

static int shape_run(struct rank *r, struct call *c, const size_t *dim)
{
	__u8 *area = NULL;
	size_t quarter = 0;
	u32 axis;

	for (axis = 0; axis < 3; axis++) {
		call_shape(c, r, dim, axis);
		for (c->recv.axis = axis; c->recv.axis < 3; c->recv.axis++) {
			if (room(c) > quarter) {
				if (area)
					munmap(area, 4 * quarter);
				quarter = room(c);
				area = memory(4 * quarter);
				CHECK(area);
			}
			if (call_run(r, c, area, quarter))
				return 1;
			/* Each rank may use another axis in an alltoall. */
			if (c->opcode != COLLECTIVE_ALLTOALL)
				break;
		}
	}
	munmap(area, 4 * quarter);
	return 0;
}

static int rank_axes(struct rank *r)
{
	/*
	 * Small blocks that are copied, with rows of a few elements; and blocks with rows of some
	 * pages.
	 */
	static const size_t dims[][3] = {
		{ 2, 3, 5 }, { 1, 1, 1 }, { 4, 1, 7 }, { 3, 70, 61 }, { 2, 2, 2500 },
		{ 7, 1, 4099 },
	};
	struct call c = { 0 };
	unsigned int o, t, d;

	for (o = 0; o < ARRAY_SIZE(opcodes); o++)
		for (t = 0; t < ARRAY_SIZE(types); t++)
			for (d = 0; d < ARRAY_SIZE(dims); d++) {
				if ((slow_machine() || r->nranks > 5) && (d + t) % 2)
					continue;
				c.opcode = opcodes[o];
				c.type = types[t];
				c.root = c.opcode == COLLECTIVE_GATHER ||
					 c.opcode == COLLECTIVE_SCATTER ? (t + d) % r->nranks : 0;
				c.in_place = c.opcode != COLLECTIVE_ALLTOALL && (t + d / 2 + o) % 2;
				if (shape_run(r, &c, dims[d]))
					return 1;
			}
	return 0;
}

TEST_F_TIMEOUT(layout, axes, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_axes, NULL));
}

/* Large blocks, in rows of one element, of an odd number, and of many pages; all lanes. */
static int rank_large(struct rank *r)
{
	static const size_t dims[][3] = {
		{ 20, 500, 3 }, { 9001, 2, 1 }, { 3, 6, 1021 }, { 2, 1, 40001 },
	};
	struct call c = { .type = COLLECTIVE_INT64 };
	unsigned int o, d;

	for (o = 0; o < ARRAY_SIZE(opcodes); o++)
		for (d = 0; d < ARRAY_SIZE(dims); d++) {
			if ((slow_machine() || r->nranks > 4) && (o + d) % 4)
				continue;
			c.opcode = opcodes[o];
			c.in_place = c.opcode != COLLECTIVE_ALLTOALL && (o + d) % 2;
			if (shape_run(r, &c, dims[d]))
				return 1;
		}
	return 0;
}

TEST_F_TIMEOUT(layout, large, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_large, NULL));
}

/*
 * Blocks of different lengths
 */

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

/* Results in closed form, which do not depend on the reference used above. */
static int rank_golden(struct rank *r)
{
	const u32 n = r->nranks;
	int mine[6], all[6 * GROUP_RANKS_MAX], block[6];
	struct collective_layout layout = {
		.size = sizeof(layout),
		.recv = { .rows = 2, .stride = 3 * n, .distance = 3 },
	};
	struct call c = {
		.opcode = COLLECTIVE_ALLGATHER, .type = COLLECTIVE_INT32,
		.send = { .dim = { 1, 2, 3 }, .blocks = 1 },
	};
	u32 i, j, k;

	/* A 2x3 of each rank, along axis 1: 2x(3n), the rows interleaved. */
	for (i = 0; i < 6; i++)
		mine[i] = r->rank * 100 + i;
	CHECK_EQ(0, submit(r, &c, mine, all, &layout));
	for (i = 0; i < 2; i++)
		for (k = 0; k < n; k++)
			for (j = 0; j < 3; j++)
				CHECK_EQ(k * 100 + i * 3 + j, all[(i * n + k) * 3 + j]);

	/* The reverse: column block d of the sum of the input of all ranks. */
	c.opcode = COLLECTIVE_REDUCE_SCATTER;
	layout.send = layout.recv;
	memset(&layout.recv, 0, sizeof(layout.recv));
	for (i = 0; i < 6 * n; i++)
		all[i] = i + 100 * r->rank;
	CHECK_EQ(0, submit(r, &c, all, block, &layout));
	for (i = 0; i < 2; i++)
		for (j = 0; j < 3; j++)
			CHECK_EQ(n * ((i * n + r->rank) * 3 + j) + 100 * n * (n - 1) / 2,
				 block[i * 3 + j]);
	return 0;
}

TEST_F(layout, golden)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_golden, NULL));
}

/*
 * Refused calls
 */

static int rank_refused(struct rank *r)
{
	const size_t page = 4096;
	const __u64 n = r->nranks;
	struct { struct collective_layout layout; __u64 tail; } large;
	struct collective_status before, after;
	struct collective_layout layout;
	__u64 counts[GROUP_RANKS_MAX], displs[GROUP_RANKS_MAX], zeros[GROUP_RANKS_MAX] = { 0 };
	__u8 *area = memory(64 * page), *recv = area + 32 * page;
	struct collective_op op;
	__u32 buffer;
	u32 i;

	CHECK(area);
	CHECK_EQ(0, member_status(r->fd, &before));
#define REFUSED(_error, _opcode, _flags, _change) do {					\
	op = (struct collective_op){							\
		.opcode = COLLECTIVE_##_opcode, .type = COLLECTIVE_INT32,		\
		.flags = _flags, .count = 12, .send = (uintptr_t)area,			\
		.recv = (uintptr_t)recv, .layout = (uintptr_t)&layout,			\
	};										\
	memset(&layout, 0, sizeof(layout));						\
	layout.size = sizeof(layout);							\
	for (i = 0; i < n; i++) {							\
		counts[i] = 12;								\
		displs[i] = 12 * (n - 1 - i);						\
	}										\
	_change;									\
	CHECK_EQ(_error, member_submit(r->fd, &op));					\
} while (0)
#define VIEW(_side, ...) \
	(layout._side = (struct collective_view){ __VA_ARGS__ })
#define COUNTS(_side) (layout._side##_counts = (uintptr_t)counts)
#define DISPLS(_side) (layout._side##_displs = (uintptr_t)displs)
	/* A layout where none is allowed. */
	REFUSED(-EINVAL, ALLREDUCE, 0, (void)0);
	REFUSED(-EINVAL, BROADCAST, 0, (void)0);
	REFUSED(-EINVAL, SCAN, COLLECTIVE_F_VECTOR, op.layout = 0);
	/* The struct. */
	REFUSED(-EFAULT, ALLGATHER, 0, op.layout = 8);
	REFUSED(-EFAULT, ALLGATHER, 0, op.layout = ~0ULL - 7);
	REFUSED(-EINVAL, ALLGATHER, 0, layout.size = 0);
	REFUSED(-EINVAL, ALLGATHER, 0, layout.size--);
	REFUSED(-EINVAL, ALLGATHER, 0, layout.flags = 1);
	REFUSED(-E2BIG, ALLGATHER, 0, layout.size = 4097);
	memset(&large, 0, sizeof(large));
	large.layout.size = sizeof(large);
	large.tail = 1;
	REFUSED(-E2BIG, ALLGATHER, 0, op.layout = (uintptr_t)&large);
	/* Views. */
	REFUSED(-EINVAL, ALLGATHER, 0, VIEW(recv, 5, 100, 10));
	REFUSED(-EINVAL, ALLGATHER, 0, VIEW(recv, 3, 3, 12));
	REFUSED(-EINVAL, ALLGATHER, 0, VIEW(send, 3, 3, 0));
	REFUSED(-EINVAL, ALLGATHER, 0, VIEW(send, 3, 4, 1));
	REFUSED(-EINVAL, ALLGATHER, 0, COUNTS(recv));
	REFUSED(-EINVAL, ALLGATHER, 0, DISPLS(recv));
	REFUSED(-EINVAL, ALLGATHER, 0, op.recv += 2);
	if (n > 1) {
		REFUSED(-EINVAL, ALLGATHER, 0, VIEW(recv, 1, 0, 11));
		REFUSED(-EINVAL, ALLGATHER, 0, VIEW(recv, 3, 8, 3));
		REFUSED(-EINVAL, ALLTOALL, 0, VIEW(recv, 3, 8, 18));
		REFUSED(-EOVERFLOW, ALLTOALL, 0, VIEW(send, 1, 0, 1ULL << 62));
		REFUSED(-EOVERFLOW, ALLTOALL, 0, VIEW(send, 1, 0, ~0ULL));
	}
	REFUSED(-EOVERFLOW, ALLTOALL, 0, VIEW(send, 3, 1ULL << 62, 4));
	REFUSED(-EOVERFLOW, ALLTOALL, 0, VIEW(send, 3, ~0ULL, 4));
	REFUSED(-EOVERFLOW, ALLTOALL, 0, op.count = 1ULL << 61);
	/* More memory than any machine has. */
	REFUSED(-ENOMEM, ALLGATHER, 0, VIEW(recv, 2, 1ULL << 43, 6));
	/* In place, the own block must be where the other view has it. */
	REFUSED(-EINVAL, ALLGATHER, 0, (op.send = op.recv, VIEW(send, 3, 5, 0)));
	/* The ranges from first to last element must not overlap, not even between rows. */
	REFUSED(-EINVAL, ALLGATHER, 0, (op.send = op.recv + 16, VIEW(recv, 3, 4 * n + 20, 4)));
	/* Counts. */
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, op.layout = 0);
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (void)0);
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), COUNTS(send)));
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), DISPLS(send)));
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), VIEW(recv, 1, 0, 12)));
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), op.count = 11));
	REFUSED(-EINVAL, REDUCE_SCATTER, COLLECTIVE_F_VECTOR, COUNTS(send));
	REFUSED(-EINVAL, REDUCE_SCATTER, COLLECTIVE_F_VECTOR, (COUNTS(recv), DISPLS(recv)));
	REFUSED(-EINVAL, ALLTOALL, COLLECTIVE_F_VECTOR, (COUNTS(recv), COUNTS(send)));
	REFUSED(-EINVAL, ALLTOALL, COLLECTIVE_F_VECTOR, (COUNTS(recv), op.count = 0));
	REFUSED(-EINVAL, ALLTOALL, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), layout.send_counts = (uintptr_t)zeros, op.count = 0));
	REFUSED(-EFAULT, ALLGATHER, COLLECTIVE_F_VECTOR, layout.recv_counts = 8);
	REFUSED(-EFAULT, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), layout.recv_displs = 8));
	REFUSED(-EOVERFLOW, ALLGATHER, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), op.count = counts[r->rank] = 1ULL << 62));
	REFUSED(-EOVERFLOW, ALLGATHER, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), DISPLS(recv), displs[0] = ~0ULL));
	REFUSED(-EOVERFLOW, ALLGATHER, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), DISPLS(recv), displs[0] = 1ULL << 60));
	REFUSED(n > 1 ? -ENOMEM : -EFAULT, ALLGATHER, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), DISPLS(recv), displs[0] = 1ULL << 43));
	if (n > 1) {
		REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR,
			(COUNTS(recv), DISPLS(recv), displs[0] = displs[1]));
		REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR,
			(COUNTS(recv), DISPLS(recv), displs[0] = displs[1] + 11));
		REFUSED(-EOVERFLOW, ALLGATHER, COLLECTIVE_F_VECTOR,
			(COUNTS(recv), counts[0] = ~0ULL, counts[1] = 2,
			 op.count = counts[r->rank]));
	}
	/* The range from first to last element must be in the registered buffer, and mapped. */
	CHECK_EQ(0, member_register(r->fd, recv, page, 0, &buffer));
	REFUSED(-EINVAL, ALLGATHER, 0, (op.recv_buffer = buffer, VIEW(recv, 3, 600, 4)));
	CHECK_EQ(0, member_unregister(r->fd, buffer));
	CHECK_EQ(0, munmap(recv + 8 * page, page));
	REFUSED(-EFAULT, ALLGATHER, 0, VIEW(recv, 2, 16 * page / 4, 6));
	CHECK_EQ(0, member_status(r->fd, &after));
	CHECK_EQ(before.submitted, after.submitted);
	CHECK_EQ(0, process_value(0, "VmPin:"));

	/* A valid call still succeeds. */
	REFUSED(0, ALLGATHER, 0, VIEW(recv, 3, 4 * n, 4));
	REFUSED(0, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), DISPLS(recv)));
	REFUSED(0, ALLTOALL, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), COUNTS(send), DISPLS(send), op.count = 0));
	REFUSED(0, ALLTOALL, 0, VIEW(send, 1, 0, 0));
	CHECK_EQ(0, process_value(0, "VmPin:"));
	return 0;
}

TEST_F(layout, refused)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_refused, NULL));
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
