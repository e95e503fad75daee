// SPDX-License-Identifier: GPL-2.0-only
/*
 * Broadcast, allgather and scan in groups of processes; every byte of every result is compared.
 */
#include <errno.h>
#include <stdint.h>

#include "lib/call.h"
#include "kselftest_harness.h"
#include "lib/timed.h"
#include "lib/sizes.h"

/* Compute the expected block of the result of @rank. */
static void period_result(struct period *period, const struct call *c, u32 rank, u32 block)
{
	const int size = reference_types[c->type].size;
	u32 i, k;

	if (c->opcode != COLLECTIVE_SCAN) {
		period_input(period, c, c->opcode == COLLECTIVE_BROADCAST ? c->root : block);
		return;
	}
	for (i = 0; i < PERIOD; i++) {
		u64 v = input(c->type, c->reduction, 0, i);

		for (k = 1; k <= rank; k++)
			v = reference_reduce(c->type, c->reduction, v,
					     input(c->type, c->reduction, k, i), 1);
		memcpy(period->byte + i * size, &v, size);
	}
}

static u32 call_blocks(const struct call *c, u32 nranks)
{
	return c->opcode == COLLECTIVE_ALLGATHER ? nranks : 1;
}

/* Run the call in @area; each half has space for the whole result and a page. */
static int call_check(struct rank *r, const struct call *c, __u8 *area, size_t half)
{
	const size_t size = reference_types[c->type].size, bytes = c->count * size;
	const u32 blocks = call_blocks(c, r->nranks);
	const bool sends = c->opcode != COLLECTIVE_BROADCAST || r->rank == c->root;
	__u8 *recv = area + 4096 + c->shift, *send = recv + half, *own;
	struct period period;
	u32 k;

	/* Ranks use different offsets. */
	send += r->rank * 3 * size;
	recv += r->rank * size;
	own = c->in_place ? recv : send;
	if (c->in_place && c->opcode == COLLECTIVE_ALLGATHER)
		own += r->rank * bytes;

	memset(recv - GUARD, 0x5c, GUARD + blocks * bytes + GUARD);
	memset(send - GUARD, 0x5c, GUARD + bytes + GUARD);
	if (sends) {
		period_input(&period, c, r->rank);
		fill(own, period.byte, c->count, size);
	}
	CHECK_EQ(0, call_submit(r, c, 0, c->in_place ? recv : send, recv));
	for (k = 0; k < blocks; k++) {
		period_result(&period, c, r->rank, k);
		CHECK(filled(recv + k * bytes, period.byte, c->count, size));
	}
	CHECK(all_are(recv - GUARD, 0x5c, GUARD));
	CHECK(all_are(recv + blocks * bytes, 0x5c, GUARD));

	/* The input does not change, nor a result that a broadcast does not ask for. */
	CHECK(all_are(send - GUARD, 0x5c, GUARD));
	CHECK(all_are(send + bytes, 0x5c, GUARD));
	if (sends && !c->in_place) {
		period_input(&period, c, r->rank);
		CHECK(filled(send, period.byte, c->count, size));
	} else {
		CHECK(all_are(send, 0x5c, bytes));
	}
	return 0;
}

static int call_run(struct rank *r, const struct call *c, __u8 *area, size_t half)
{
	static const char * const names[] = {
		[COLLECTIVE_BROADCAST] = "broadcast",
		[COLLECTIVE_ALLGATHER] = "allgather",
		[COLLECTIVE_SCAN] = "scan",
	};
	int err = call_check(r, c, area, half);

	if (err) {
		printf("# %s of %zu %s, %s, root %u, shift %u, %s: rank %u of %u\n",
		       names[c->opcode], c->count, reference_types[c->type].name,
		       reference_reductions[c->reduction], c->root, c->shift,
		       c->in_place ? "in place" : "out of place", r->rank, r->nranks);
		fflush(stdout);
	}
	return err;
}

static const int opcodes[] = { COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER, COLLECTIVE_SCAN };

FIXTURE_OF_SIZES(collectives);

/* Every type, every operation of a scan; counts of both ways to send. */
static int rank_types(struct rank *r)
{
	const size_t half = r->nranks * EAGER + 64 * 1024;
	__u8 *area = memory(2 * half);
	struct call c = { 0 };
	unsigned int o, i;

	CHECK(area);
	for (o = 0; o < ARRAY_SIZE(opcodes); o++) {
		c.opcode = opcodes[o];
		for (c.type = 0; c.type < COLLECTIVE_TYPE_COUNT; c.type++) {
			const int size = reference_types[c.type].size;
			const size_t counts[] = { 1021 / size, EAGER / size, EAGER / size + 1 };

			for (c.reduction = 0; c.reduction < COLLECTIVE_REDUCTION_COUNT;
			     c.reduction++) {
				if (c.opcode != COLLECTIVE_SCAN && c.reduction)
					break;
				if (c.reduction == COLLECTIVE_AVG || !valid(c.type, c.reduction))
					continue;
				for (i = 0; i < ARRAY_SIZE(counts); i++) {
					if ((slow_machine() || r->nranks > 4) && i % 2)
						continue;
					c.count = counts[i];
					c.in_place = (c.type + c.reduction + i) % 2;
					c.root = 0;
					if (c.opcode == COLLECTIVE_BROADCAST)
						c.root = (c.type + i) % r->nranks;
					if (call_run(r, &c, area, half))
						return 1;
				}
			}
		}
	}
	return 0;
}

TEST_F_TIMEOUT(collectives, types, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_types, NULL));
}

static int rank_counts(struct rank *r)
{
	const size_t n = r->nranks, page = 4096 / 4;
	const size_t counts[] = {
		0, 1, n - 1, n, n + 1, 1021, EAGER / 4 - 1, EAGER / 4, EAGER / 4 + 1, 4 * page,
		n * page, n * page + 1, 65537, LARGE,
	};
	const size_t half = (n * LARGE * 4 + 16384) & ~4095;
	__u8 *area = memory(2 * half);
	struct call c = { .type = COLLECTIVE_UINT32 };
	unsigned int o, i;

	CHECK(area);
	for (o = 0; o < ARRAY_SIZE(opcodes); o++) {
		c.opcode = opcodes[o];
		for (i = 0; i < 2 * ARRAY_SIZE(counts); i++) {
			c.count = counts[i / 2];
			c.in_place = i % 2;
			c.root = c.opcode == COLLECTIVE_BROADCAST ? i % n : 0;
			if (call_run(r, &c, area, half))
				return 1;
		}
	}
	return 0;
}

TEST_F_TIMEOUT(collectives, counts, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_counts, NULL));
}

/* Every root, without synchronization between operations. */
static int rank_roots(struct rank *r)
{
	static const size_t counts[] = { 0, 1, 333, EAGER / 2, EAGER / 2 + 1, 50021 };
	const size_t half = 128 * 1024;
	struct call c = { .opcode = COLLECTIVE_BROADCAST, .type = COLLECTIVE_INT16 };
	__u8 *area = memory(2 * half);
	unsigned int i;

	CHECK(area);
	for (i = 0; i < 2 * ARRAY_SIZE(counts); i++)
		for (c.root = 0; c.root < r->nranks; c.root++) {
			c.count = counts[i / 2];
			c.in_place = i % 2;
			if (call_run(r, &c, area, half))
				return 1;
		}
	return 0;
}

TEST_F_TIMEOUT(collectives, roots, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_roots, NULL));
}

/* Buffers at all offsets in a page, and across its end. */
static int rank_alignment(struct rank *r)
{
	static const int types[] = { COLLECTIVE_UINT8, COLLECTIVE_BFLOAT16, COLLECTIVE_FLOAT64 };
	const size_t half = 256 * 1024;
	__u8 *area = memory(2 * half);
	struct call c = { 0 };
	unsigned int o, t, i;

	CHECK(area);
	for (o = 0; o < ARRAY_SIZE(opcodes); o++) {
		c.opcode = opcodes[o];
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			c.type = types[t];
			for (i = 0; i < (slow_machine() ? 4 : 16); i++) {
				const int size = reference_types[c.type].size;

				c.count = (i % 4 ? 17000 : 333) / size;
				c.in_place = i & 1;
				c.shift = i & 2 ? i * size : 4096 - i * size;
				c.root = c.opcode == COLLECTIVE_BROADCAST ? i % r->nranks : 0;
				if (call_run(r, &c, area, half))
					return 1;
			}
		}
	}
	return 0;
}

TEST_F_TIMEOUT(collectives, alignment, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_alignment, NULL));
}

/* A result in closed form, which does not depend on the reference used above. */
static int rank_golden(struct rank *r)
{
	const u32 n = r->nranks;
	int mine[7], all[7 * GROUP_RANKS_MAX];
	struct call c = { .opcode = COLLECTIVE_ALLGATHER, .type = COLLECTIVE_INT32, .count = 7 };
	u32 i, k;

	for (i = 0; i < 7; i++)
		mine[i] = r->rank * 100 + i;
	CHECK_EQ(0, call_submit(r, &c, 0, mine, all));
	for (k = 0; k < n; k++)
		for (i = 0; i < 7; i++)
			CHECK_EQ(k * 100 + i, all[k * 7 + i]);

	c.opcode = COLLECTIVE_SCAN;
	CHECK_EQ(0, call_submit(r, &c, 0, mine, all));
	for (i = 0; i < 7; i++)
		CHECK_EQ(r->rank * (r->rank + 1) / 2 * 100 + (r->rank + 1) * i, all[i]);

	c.opcode = COLLECTIVE_BROADCAST;
	c.root = n - 1;
	CHECK_EQ(0, call_submit(r, &c, 0, mine, mine));
	for (i = 0; i < 7; i++)
		CHECK_EQ((n - 1) * 100 + i, mine[i]);
	return 0;
}

TEST_F(collectives, golden)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_golden, NULL));
}

TIMED_TESTS(slow)

static int rank_lanes(struct rank *r)
{
	const size_t count = 1048576 + 13, half = (r->nranks * count * 4 + 16384) & ~4095;
	struct call c = { .type = COLLECTIVE_INT32, .count = count };
	__u8 *area = memory(2 * half);
	unsigned int o, i;

	CHECK(area);
	for (o = 0; o < ARRAY_SIZE(opcodes); o++)
		for (i = 0; i < 2; i++) {
			c.opcode = opcodes[o];
			c.in_place = i;
			c.root = c.opcode == COLLECTIVE_BROADCAST ? 1 + i : 0;
			if (call_run(r, &c, area, half))
				return 1;
		}
	return 0;
}

TEST_F_TIMEOUT(slow, lanes, 100)
{
	struct group_config config = { .nranks = 3 };

	for (config.lanes = 1; config.lanes <= 4; config.lanes += 3)
		EXPECT_EQ(0, group_run(&config, rank_lanes, NULL))
			TH_LOG("%u lanes", config.lanes);
}

/*
 * Statistics: above the eager limit no byte of payload is copied on the sending side
 */

struct count_case {
	struct call call;
	u32 flags;
};

/* The bytes that a rank sends along the ring or the chain. */
static long long payload(const struct rank *r, const struct count_case *c)
{
	const u32 n = r->nranks, rank = r->rank;
	const long long bytes = c->call.count * reference_types[c->call.type].size;

	switch (c->call.opcode) {
	case COLLECTIVE_BROADCAST:
		return (rank + 1) % n == c->call.root ? 0 : bytes;
	case COLLECTIVE_ALLGATHER:
		return (n - 1) * bytes;
	case COLLECTIVE_SCAN:
		return rank + 1 == n ? 0 : bytes;
	default:
		return rank + 2 < n ? 2 * bytes : bytes;
	}
}

/* Ranks of one kernel read each other's memory for a large allreduce, and send no payload. */
static bool reads_memory(const struct rank *r, const struct count_case *c)
{
	return c->call.opcode == COLLECTIVE_ALLREDUCE && c->call.count * sizeof(float) > EAGER &&
	       transport_is_local(transport_choice(NULL));
}

/* Each input is loaded once by the rank that reduces it, and each result is stored once. */
static int check_read(const struct rank *r, const struct count_case *c, unsigned int rounds)
{
	const long long vector = c->call.count * sizeof(float), n = r->nranks;
	const long long loaded = group_value(r, "bytes_read") +
				 group_value(r, "bytes_read_own");

	CHECK_EQ(rounds * (n * vector + (n - 1) * vector), loaded);
	CHECK_EQ(rounds * n * vector, group_value(r, "bytes_stored"));
	return 0;
}

static int rank_counters(struct rank *r)
{
	const struct count_case *c = r->arg;
	const size_t size = reference_types[c->call.type].size, bytes = c->call.count * size;
	/* By RDMA frames below 16 KiB are copied, and what is forwarded may be in such. */
	const bool in_part = transport_choice(NULL) == COLLECTIVE_TRANSPORT_RDMA && bytes > EAGER;
	const unsigned int rounds = 3;
	const long long sent = reads_memory(r, c) ? 0 : rounds * payload(r, c);
	__u8 *area = memory((r->nranks + 1) * bytes);
	long long zero_copy;
	unsigned int i;

	CHECK(area);
	for (i = 0; i < rounds; i++)
		CHECK_EQ(0, call_submit(r, &c->call, c->flags,
					area + (c->call.in_place ? 0 : r->nranks * bytes), area));
	CHECK_EQ(sent, rank_value(r, "bytes_sent"));
	zero_copy = rank_value(r, "zero_copy_bytes");
	CHECK(zero_copy <= sent && zero_copy >= (in_part && bytes >= 1024 * 1024 ? sent / 2 : 0));
	if (!in_part)
		CHECK_EQ(bytes > EAGER ? sent : 0, zero_copy);
	CHECK_EQ(rounds, rank_value(r, "ops_completed"));
	CHECK_EQ(0, rank_value(r, "ops_failed"));
	CHECK_EQ(0, rank_value(r, "inflight"));
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	if (reads_memory(r, c)) {
		CHECK_EQ(0, member_barrier(r->fd));
		CHECK_EQ(0, check_read(r, c, rounds));
		CHECK_EQ(0, member_barrier(r->fd));
	}
	return 0;
}

TEST_F_TIMEOUT(slow, zero_copy, 100)
{
	static const int all[] = {
		COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER, COLLECTIVE_SCAN, COLLECTIVE_ALLREDUCE,
	};
	static const struct group_config configs[] = {
		{ .nranks = 2 }, { .nranks = 4 }, { .nranks = 3, .lanes = 4 },
	};
	static const size_t counts[] = { EAGER / 4, EAGER / 4 + 1, 262144 };
	struct count_case c = { .call.type = COLLECTIVE_FLOAT32 };
	unsigned int o, i, k;

	for (o = 0; o < ARRAY_SIZE(all); o++)
		for (k = 0; k < ARRAY_SIZE(configs); k++)
			for (i = 0; i < ARRAY_SIZE(counts); i++) {
				/* A small operation uses a tree or recursive doubling. */
				if (!i && (all[o] == COLLECTIVE_BROADCAST ||
					   all[o] == COLLECTIVE_SCAN))
					continue;
				c.call.opcode = all[o];
				c.call.count = counts[i];
				c.call.in_place = (i + k) % 2;
				c.call.root = c.call.opcode == COLLECTIVE_BROADCAST ? 1 : 0;
				c.flags = c.call.opcode == COLLECTIVE_ALLREDUCE ?
					  COLLECTIVE_F_REPRODUCIBLE : 0;
				EXPECT_EQ(0, group_run(&configs[k], rank_counters, &c))
					TH_LOG("opcode %d, %u ranks, %zu elements", all[o],
					       configs[k].nranks, counts[i]);
			}
}

static bool power_of_two(unsigned int n)
{
	return !(n & (n - 1));
}

/* Is one of two ranks the parent of the other in the tree of a barrier (core/schedule/fused.c)? */
static bool in_tree(unsigned int a, unsigned int b)
{
	unsigned int child = a > b ? a : b, parent = a > b ? b : a, digit = 3;

	while (!(child & digit))
		digit <<= 2;
	return parent == (child & ~digit);
}

/*
 * A rank has links to the ranks at the distances of matching: 1, 2, 4 and 8, on both sides.  It has
 * others to the ranks to which it signals, or which signal to it, in a barrier.  What it only reads
 * of a rank takes no link.
 */
static int rank_few_links(struct rank *r)
{
	const struct call call = {
		.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT32, .count = EAGER,
	};
	__u8 *area = memory(2 * EAGER * sizeof(float));
	unsigned int distance, links = 0;
	struct links have;

	CHECK(area);
	CHECK_EQ(0, call_submit(r, &call, 0, area + EAGER * sizeof(float), area));
	CHECK_EQ(0, links_get(r->group->name, r->rank, &have));
	for (distance = 1; distance < r->nranks; distance++)
		if (power_of_two(distance) || power_of_two(r->nranks - distance) ||
		    in_tree(r->rank, (r->rank + distance) % r->nranks))
			links |= 1U << (r->rank + distance) % r->nranks;
	CHECK_EQ(links, have.local);
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(slow, few_links, 100)
{
	static const struct group_config config = { .nranks = 16 };

	if (!transport_is_local(transport_choice(NULL)))
		SKIP(return, "no rank reads memory");
	EXPECT_EQ(0, group_run(&config, rank_few_links, NULL));
}

/*
 * Refused calls
 */

#define CALL(_opcode, ...) \
	{ .opcode = COLLECTIVE_##_opcode, .type = COLLECTIVE_INT32, __VA_ARGS__ }

static int rank_refused(struct rank *r)
{
	int *area = memory(1 << 20), *recv = area + 65536;
	struct call c;

	CHECK(area);
#define REFUSED(_error, _send, _recv, _flags, ...) do {					\
	c = (struct call)CALL(__VA_ARGS__);						\
	CHECK_EQ(_error, call_submit(r, &c, _flags, (void *)(_send), (void *)(_recv)));	\
} while (0)
	REFUSED(-EINVAL, area, recv, 0, SCAN, .count = 8, .reduction = COLLECTIVE_AVG);
	REFUSED(-EINVAL, area, recv, 0, SCAN, .count = 8, .root = 1);
	REFUSED(-EINVAL, area, recv, 0, SCAN, .count = 8, .reduction = COLLECTIVE_REDUCTION_COUNT);
	REFUSED(-EINVAL, area, recv, 0, BROADCAST, .count = 8, .root = r->nranks);
	REFUSED(-EINVAL, area, recv, 0, BROADCAST, .count = 8, .root = ~0U);
	REFUSED(-EINVAL, area, recv, 0, BROADCAST, .count = 8, .reduction = COLLECTIVE_MAX);
	REFUSED(-EINVAL, area, recv, 0, ALLGATHER, .count = 8, .root = 1);
	REFUSED(-EINVAL, area, recv, 0, ALLGATHER, .count = 8, .reduction = COLLECTIVE_MAX);
	/* Only reductions have an order. */
	REFUSED(-EINVAL, area, recv, COLLECTIVE_F_REPRODUCIBLE, BROADCAST, .count = 8);
	REFUSED(-EINVAL, area, recv, COLLECTIVE_F_REPRODUCIBLE, ALLGATHER, .count = 8);
	/*
	 * Overlapping buffers; of an allgather with any block, also if its own block has another
	 * address.
	 */
	REFUSED(-EINVAL, recv + 7, recv, 0, SCAN, .count = 8);
	REFUSED(-EINVAL, recv, recv + 7, 0, SCAN, .count = 8);
	REFUSED(-EINVAL, recv + 1, recv, 0, ALLGATHER, .count = 8);
	REFUSED(-EINVAL, recv + 8, recv, 0, ALLGATHER, .count = 8);
	REFUSED(-EINVAL, recv + 8 * r->nranks - 1, recv, 0, ALLGATHER, .count = 8);
	REFUSED(-EINVAL, recv - 7, recv, 0, ALLGATHER, .count = 8);
	if (!r->rank)
		REFUSED(-EINVAL, recv + 7, recv, 0, BROADCAST, .count = 8);
	/* Alignment, of buffers that the rank uses. */
	REFUSED(-EINVAL, (char *)area + 2, recv, 0, ALLGATHER, .count = 8);
	REFUSED(-EINVAL, area, (char *)recv + 2, 0, ALLGATHER, .count = 8);
	REFUSED(-EINVAL, (char *)area + 2, (char *)area + 2, 0, BROADCAST, .count = 8);
	/* Sizes. */
	REFUSED(-EOVERFLOW, area, recv, 0, ALLGATHER, .count = ~0ULL / 4 / r->nranks + 1);
	REFUSED(-EOVERFLOW, area, recv, 0, ALLGATHER, .count = 1ULL << 56);
	REFUSED(-EOVERFLOW, area, recv, 0, BROADCAST, .count = ~0ULL);
	/* Memory. */
	REFUSED(-EFAULT, NULL, recv, 0, ALLGATHER, .count = 8);
	REFUSED(-EFAULT, area, NULL, 0, SCAN, .count = 8);
	REFUSED(-EFAULT, NULL, NULL, 0, BROADCAST, .count = 8);

	CHECK_EQ(0, rank_value(r, "ops_submitted"));
	/* Ignored: the input of ranks other than the root. */
	REFUSED(0, r->rank ? (int *)1 : area, recv, 0, BROADCAST, .count = 8);
	REFUSED(0, area + 8, recv, 0, ALLGATHER, .count = 8);
	REFUSED(0, 1, 3, 0, ALLGATHER, .count = 0);
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST_F(slow, refused)
{
	const struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_refused, NULL));
}

/* The root only reads: from a read-only mapping, and from a read-only buffer. */
static int rank_read_only(struct rank *r)
{
	static const size_t counts[] = { 100, EAGER / 4 + 1, LARGE };
	struct collective_op op = { .opcode = COLLECTIVE_BROADCAST, .type = COLLECTIVE_UINT32 };
	int *data = memory(LARGE * 4);
	unsigned int round;
	size_t i;

	CHECK(data);
	for (op.root = 0; op.root < r->nranks; op.root++)
		for (round = 0; round < 2 * ARRAY_SIZE(counts); round++) {
			const int seed = 1000 * op.root + round;

			op.count = counts[round / 2];
			op.send = (uintptr_t)data;
			op.recv = op.send;
			op.send_buffer = 0;
			for (i = 0; i < op.count; i++)
				data[i] = r->rank == op.root ? seed + (int)i : -1;
			if (r->rank == op.root) {
				CHECK_EQ(0, mprotect(data, LARGE * 4, PROT_READ));
				if (round % 2)
					CHECK_EQ(0, member_register(r->fd, data, LARGE * 4,
								    COLLECTIVE_REGISTER_READ_ONLY,
								    &op.send_buffer));
			}
			CHECK_EQ(0, member_submit(r->fd, &op));
			for (i = 0; i < op.count; i++)
				CHECK(data[i] == seed + (int)i);
			if (op.send_buffer)
				CHECK_EQ(0, member_unregister(r->fd, op.send_buffer));
			CHECK_EQ(0, mprotect(data, LARGE * 4, PROT_READ | PROT_WRITE));
		}
	return 0;
}

TEST_F_TIMEOUT(slow, read_only, 100)
{
	const struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_read_only, NULL));
}

TEST_HARNESS_MAIN
