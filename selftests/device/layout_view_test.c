// SPDX-License-Identifier: GPL-2.0-only
/*
 * Views: blocks that are the rows of an array. Every element of every buffer is compared, also
 * those between the blocks.
 */
#include <errno.h>
#include <stdint.h>

#include "kselftest_harness.h"
#include "device/layout.h"
#include "lib/sizes.h"

FIXTURE_OF_SIZES(layout);

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

TEST_HARNESS_MAIN
