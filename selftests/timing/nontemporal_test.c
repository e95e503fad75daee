// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large results are stored with nontemporal stores, with normal ones, or with both in turn while
 * the module measures which is faster. The results are the same, and writes to the memory right
 * after an operation do not change them.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/machine.h"
#include "lib/values.h"

#define WORDS	((4U << 20) + 6)
#define BYTES	(WORDS * sizeof(__u32))
/* Operations that the first measurement takes. */
#define ROUNDS	6

#define NONTEMPORAL	"/sys/module/collective/parameters/nontemporal"

FIXTURE(nontemporal) {
	char before[16];
};

FIXTURE_VARIANT(nontemporal) {
	const char *set;
	bool mapped;
};

FIXTURE_VARIANT_ADD(nontemporal, never) { .set = "0", .mapped = true };
FIXTURE_VARIANT_ADD(nontemporal, always) { .set = "1", .mapped = true };
FIXTURE_VARIANT_ADD(nontemporal, always_pages) { .set = "1" };
FIXTURE_VARIANT_ADD(nontemporal, tried) { .set = "-1", .mapped = true };
FIXTURE_VARIANT_ADD(nontemporal, tried_pages) { .set = "-1" };

FIXTURE_SETUP(nontemporal)
{
	ASSERT_EQ(0, file_get(NONTEMPORAL, self->before, sizeof(self->before)));
	ASSERT_EQ(0, file_set(NONTEMPORAL, variant->set));
}

FIXTURE_TEARDOWN(nontemporal)
{
	EXPECT_EQ(0, file_set(NONTEMPORAL, self->before));
}

/*
 * Arguments of a rank. @least and @most bound the bytes of its results that are stored with
 * nontemporal stores.
 */
struct rank_args {
	__u8 opcode;
	bool mapped;
	__u64 least;
	__u64 most;
};

static __u32 *words(struct rank *r, bool mapped)
{
	void *at = mapped ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0) :
			    memory(BYTES);

	return at == MAP_FAILED ? NULL : at;
}

static __u32 word(__u32 rank, __u32 round, __u32 i)
{
	return (round * GROUP_RANKS_MAX + rank) * 0x9e3779b1U + i;
}

/* Return: word @i of the result of a rank. */
static __u32 expected(const struct rank *r, __u8 opcode, __u32 round, __u32 i)
{
	const __u32 each = WORDS / r->nranks;

	switch (opcode) {
	case COLLECTIVE_ALLGATHER:
		return word(i / each, round, i % each);
	case COLLECTIVE_ALLTOALL:
		return word(i / each, round, r->rank * each + i % each);
	case COLLECTIVE_ALLREDUCE:
		return word(0, round, i) ^ word(1, round, i);
	default:
		return word(0, round, i);
	}
}

/* Elements of the call: of the vector, or of a block. */
static __u64 count_of(const struct rank *r, __u8 opcode)
{
	return opcode == COLLECTIVE_BROADCAST || opcode == COLLECTIVE_ALLREDUCE ?
	       WORDS : WORDS / r->nranks;
}

static int rank_rounds(struct rank *r)
{
	const struct rank_args *rank_args = r->arg;
	const bool whole = rank_args->opcode == COLLECTIVE_BROADCAST;
	__u32 *send = words(r, rank_args->mapped), *recv = words(r, rank_args->mapped), round, i;
	struct collective_op op = {
		.opcode = rank_args->opcode,
		.type = COLLECTIVE_UINT32,
		.reduction = rank_args->opcode == COLLECTIVE_ALLREDUCE ? COLLECTIVE_BXOR : 0,
		.count = count_of(r, rank_args->opcode),
		.send = (uintptr_t)send,
		.recv = (uintptr_t)(whole && !r->rank ? send : recv),
	};
	__u64 past;

	CHECK(send && recv);
	if (whole)
		op.send = op.recv;
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < WORDS; i++)
			send[i] = word(r->rank, round, i);
		memset(recv, 0xa5, BYTES);
		CHECK_EQ(0, member_submit(r->fd, &op));
		memset(send, 0x5a, whole && !r->rank ? 0 : BYTES);
		for (i = 0; i < (whole && !r->rank ? 0 : WORDS); i++)
			if (recv[i] != expected(r, rank_args->opcode, round, i))
				CHECK_EQ(i, WORDS);
	}
	past = rank_value(r, "nontemporal_bytes");
	if (!whole || r->rank)
		CHECK(past >= rank_args->least && past <= rank_args->most);
	return 0;
}

/* A page that two packets share arrives in pieces too small for nontemporal stores. */
static __u64 always_least(bool mapped)
{
	return mapped ? ROUNDS * BYTES / 8 * 7 : ROUNDS * BYTES / 4 * 3;
}

static int run(const struct _fixture_variant_nontemporal *variant, __u8 opcode, unsigned int nranks)
{
	/* An allreduce of two ranks that read each other's memory, whatever the others use. */
	static const unsigned int local[] = {
		COLLECTIVE_TRANSPORT_LOCAL, COLLECTIVE_TRANSPORT_LOCAL,
	};
	const struct group_config config = {
		.nranks = nranks, .bound = true,
		.transport = opcode == COLLECTIVE_ALLREDUCE ? local : NULL,
	};
	struct rank_args rank_args = {
		.opcode = opcode,
		.mapped = variant->mapped,
		.least = variant->set[0] == '1' ? always_least(variant->mapped) :
						   variant->set[0] != '0',
		.most = variant->set[0] == '0' ? 0 : ROUNDS * BYTES,
	};

	/* A rank stores its own half of the result as it reduces. */
	if (opcode == COLLECTIVE_ALLREDUCE && variant->set[0] == '1')
		rank_args.least = always_least(variant->mapped) / 2;
	return group_run(&config, rank_rounds, &rank_args);
}

/* The first operation of the group. */
TEST_F_TIMEOUT(nontemporal, allreduce, 100)
{
	EXPECT_EQ(0, run(variant, COLLECTIVE_ALLREDUCE, 2));
}

TEST_F_TIMEOUT(nontemporal, allgather, 100)
{
	EXPECT_EQ(0, run(variant, COLLECTIVE_ALLGATHER, 2));
}

TEST_F_TIMEOUT(nontemporal, alltoall, 100)
{
	EXPECT_EQ(0, run(variant, COLLECTIVE_ALLTOALL, 2));
}

/* One rank forwards what it receives. */
TEST_F_TIMEOUT(nontemporal, broadcast, 100)
{
	EXPECT_EQ(0, run(variant, COLLECTIVE_BROADCAST, 3));
}

TEST_HARNESS_MAIN
