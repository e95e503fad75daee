// SPDX-License-Identifier: GPL-2.0-only
/*
 * A large operation between ranks of one kernel is cancelled, or its deadline passes, at random
 * moments. A rank changes or unmaps its memory as soon as the call has returned. No other rank
 * reads what is there then: a result that is reported as complete is right.
 *
 * Environment: LOCAL_ABORT_SEED, LOCAL_ABORT_ROUNDS (per variant), LOCAL_ABORT_MIB (of each rank's
 * buffer). A failed round prints its seed.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/call.h"
#include "lib/local_only.h"
#include "lib/machine.h"

#define RANKS_MOST	4
#define POISON		0x5a

/* A deadline is noticed some ticks late. One rank submits its part up to LATE_US around it. */
#define DEADLINE_MS	30
#define LATE_US		30000

/* From the cause to the return of the call; for machines under load. */
#define TOLD_US		4000000

enum { VALUE_CAUSE, VALUE_MOST, VALUE_SUM, VALUE_FAILED, VALUE_RIGHT };

/**
 * struct kind - a kind of operation
 * @opcode: enum collective_opcode; SEND: between pairs of ranks
 * @type: enum collective_type
 * @flags: COLLECTIVE_F_*
 * @in_place: true if the result replaces the input
 */
struct kind {
	int opcode;
	int type;
	__u32 flags;
	bool in_place;
};

FIXTURE(local_abort) {
};

FIXTURE_VARIANT(local_abort) {
	struct kind kind;
};

FIXTURE_SETUP(local_abort)
{
}

FIXTURE_TEARDOWN(local_abort)
{
}

FIXTURE_VARIANT_ADD(local_abort, allreduce) {
	.kind = { COLLECTIVE_ALLREDUCE, COLLECTIVE_UINT32, 0, false },
};

FIXTURE_VARIANT_ADD(local_abort, allreduce_in_place) {
	.kind = { COLLECTIVE_ALLREDUCE, COLLECTIVE_FLOAT32, 0, true },
};

FIXTURE_VARIANT_ADD(local_abort, reproducible) {
	.kind = { COLLECTIVE_ALLREDUCE, COLLECTIVE_FLOAT32, COLLECTIVE_F_REPRODUCIBLE, false },
};

FIXTURE_VARIANT_ADD(local_abort, wide) {
	.kind = { COLLECTIVE_ALLREDUCE, COLLECTIVE_FLOAT16, COLLECTIVE_F_WIDE, false },
};

FIXTURE_VARIANT_ADD(local_abort, broadcast) {
	.kind = { COLLECTIVE_BROADCAST, COLLECTIVE_UINT32, 0, true },
};

FIXTURE_VARIANT_ADD(local_abort, alltoall_in_place) {
	.kind = { COLLECTIVE_ALLTOALL, COLLECTIVE_UINT32, 0, true },
};

FIXTURE_VARIANT_ADD(local_abort, scan) {
	.kind = { COLLECTIVE_SCAN, COLLECTIVE_UINT32, 0, false },
};

FIXTURE_VARIANT_ADD(local_abort, send) {
	.kind = { COLLECTIVE_SEND, COLLECTIVE_UINT32, 0, true },
};

/**
 * struct abortion - a test; the same for all ranks
 * @kind: the operations
 * @seed: seed of all choices
 * @rounds: number of operations
 * @bytes: bytes of each buffer
 * @deadline: true if a deadline passes; false if a rank cancels
 * @unmaps: true if the memory is unmapped; false if it is overwritten
 * @registered: true if the memory is a registered buffer
 */
struct abortion {
	const struct kind *kind;
	unsigned int seed;
	unsigned int rounds;
	size_t bytes;
	bool deadline;
	bool unmaps;
	bool registered;
};

/**
 * struct buffers - the memory of a rank
 * @send: input
 * @recv: result; @send in place
 * @count: elements of each
 * @size: bytes of an element
 * @number: number of the registered buffer; 0: none
 */
struct buffers {
	__u8 *send;
	__u8 *recv;
	size_t count;
	int size;
	__u32 number;
};

/* Elements 1 .. PERIOD times a factor: exact in every type. */
static void times_period(struct period *period, int type, u32 factor)
{
	const struct reference_type *t = &reference_types[type];
	u32 i;

	for (i = 0; i < PERIOD; i++) {
		u64 v = t->kind == REFERENCE_FLOAT ? reference_encode(t, (i + 1) * factor) :
						     (u64)(i + 1) * factor;

		memcpy(period->byte + i * t->size, &v, t->size);
	}
}

static bool has_blocks(const struct abortion *a)
{
	return a->kind->opcode == COLLECTIVE_ALLTOALL;
}

/* The factor of the input of a rank, or of its block for rank @to. */
static u32 factor(const struct abortion *a, const struct rank *r, u32 from, u32 to)
{
	return has_blocks(a) ? from * r->nranks + to + 1 : from + 1;
}

static void input_fill(const struct abortion *a, const struct rank *r, struct buffers *b)
{
	const size_t block = has_blocks(a) ? b->count / r->nranks : b->count;
	struct period period;
	u32 i;

	for (i = 0; i * block + block <= b->count; i++) {
		times_period(&period, a->kind->type, factor(a, r, r->rank, i));
		fill(b->send + i * block * b->size, &period, block, b->size);
	}
	if (b->recv != b->send)
		memset(b->recv, 0, a->bytes);
}

/* Return: the peer of a SEND or RECV; the last rank of an odd number has none. */
static u32 peer(const struct rank *r)
{
	return r->rank ^ 1;
}

static bool result_right(const struct abortion *a, const struct rank *r, const struct buffers *b,
			 u32 root)
{
	const u32 n = r->nranks, last = a->kind->opcode == COLLECTIVE_SCAN ? r->rank + 1 : n;
	const size_t block = has_blocks(a) ? b->count / n : b->count;
	struct period period;
	u32 i, want;

	for (i = 0; i * block + block <= b->count; i++) {
		switch (a->kind->opcode) {
		case COLLECTIVE_ALLTOALL:
			want = factor(a, r, i, r->rank);
			break;
		case COLLECTIVE_BROADCAST:
			want = root + 1;
			break;
		case COLLECTIVE_SEND:
			want = (r->rank & ~1U) + 1;
			break;
		default:
			want = last * (last + 1) / 2;
		}
		times_period(&period, a->kind->type, want);
		if (!filled(b->recv + i * block * b->size, &period, block, b->size))
			return false;
	}
	return true;
}

static int buffers_map(const struct abortion *a, const struct rank *r, struct buffers *b)
{
	b->size = reference_types[a->kind->type].size;
	b->count = a->bytes / b->size;
	/* Whole blocks of all ranks. */
	b->count -= b->count % (r->nranks * 4);
	b->send = memory(2 * a->bytes);
	CHECK(b->send);
	b->recv = a->kind->in_place ? b->send : b->send + a->bytes;
	if (a->registered)
		CHECK_EQ(0, member_register(r->fd, b->send, 2 * a->bytes, 0, &b->number));
	return 0;
}

/* The memory is put to another use. */
static int buffers_reuse(const struct abortion *a, struct buffers *b)
{
	if (!a->unmaps) {
		memset(b->send, POISON, a->bytes);
		memset(b->recv, POISON, a->bytes);
		return 0;
	}
	CHECK_EQ(0, munmap(b->send, 2 * a->bytes));
	CHECK(mmap(b->send, 2 * a->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == b->send);
	return 0;
}

static int buffers_renew(const struct abortion *a, const struct rank *r, struct buffers *b)
{
	if (!a->unmaps)
		return 0;
	munmap(b->send, 2 * a->bytes);
	if (b->number)
		CHECK_EQ(0, member_unregister(r->fd, b->number));
	return buffers_map(a, r, b);
}

static void op_fill(const struct abortion *a, const struct rank *r, const struct buffers *b,
		    u32 root, struct collective_op *op)
{
	*op = (struct collective_op){
		.opcode = a->kind->opcode,
		.type = a->kind->type,
		.flags = a->kind->flags,
		.root = a->kind->opcode == COLLECTIVE_BROADCAST ? root : 0,
		.count = has_blocks(a) ? b->count / r->nranks : b->count,
		.send = (uintptr_t)b->send,
		.recv = (uintptr_t)b->recv,
		.send_buffer = b->number,
		.recv_buffer = b->number,
	};
	if (a->kind->opcode != COLLECTIVE_SEND)
		return;
	op->opcode = r->rank % 2 ? COLLECTIVE_RECV : COLLECTIVE_SEND;
	op->root = peer(r);
	op->send = r->rank % 2 ? 0 : op->send;
	op->recv = r->rank % 2 ? op->recv : 0;
}

/* Sleeping is too coarse for a moment within an operation. */
static void spin_us(unsigned int us)
{
	const __u64 end = now_us() + us;

	while (now_us() < end)
		;
}

static int cancel(const struct rank *r, __u64 request)
{
	struct collective_cancel cancel = { .size = sizeof(cancel), .request = request };
	int err = member_ioctl(r->fd, COLLECTIVE_IOC_CANCEL, &cancel);

	return err == -ENOENT || err == -EALREADY ? 0 : err;
}

/* Count the time from the cause to the return of a failed call. */
static int told_count(const struct rank *r, __u64 now)
{
	__u64 *value = r->shared->value, most = value[VALUE_MOST];
	const __u64 reason = __atomic_load_n(&value[VALUE_CAUSE], __ATOMIC_SEQ_CST);
	const __u64 took = reason && now > reason ? now - reason : 0;

	while (took > most && !__atomic_compare_exchange_n(&value[VALUE_MOST], &most, took, false,
							   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	__atomic_add_fetch(&value[VALUE_SUM], took, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&value[VALUE_FAILED], 1, __ATOMIC_SEQ_CST);
	CHECK(took < TOLD_US);
	return 0;
}

/* A late rank, with which the operation begins at about the time of the deadline. */
static void submit_late(const struct rank *r, unsigned int causer, unsigned int shift_us)
{
	if (r->rank == (causer + 1) % r->nranks)
		usleep(DEADLINE_MS * 1000 - LATE_US / 6 + shift_us % LATE_US);
}

/* One operation that fails at some moment, or does not. */
static int round_run(const struct abortion *a, const struct rank *r, struct buffers *b,
		     unsigned int *seed, unsigned int length_us)
{
	const unsigned int root = rand_r(seed) % r->nranks, causer = rand_r(seed) % r->nranks;
	const unsigned int shift = rand_r(seed), after = shift % (length_us * 5 / 4 + 1);
	const int allowed = a->deadline ? -ETIMEDOUT : -ECANCELED;
	__u64 *reason = &r->shared->value[VALUE_CAUSE], request, begin, end;
	struct collective_op op;
	int err;

	input_fill(a, r, b);
	op_fill(a, r, b, root, &op);
	if (a->deadline && r->rank == causer)
		op.timeout_ms = DEADLINE_MS;
	CHECK_EQ(0, member_barrier(r->fd));
	__atomic_store_n(reason, 0, __ATOMIC_SEQ_CST);
	CHECK_EQ(0, member_barrier(r->fd));
	if (a->kind->opcode == COLLECTIVE_SEND && peer(r) >= r->nranks)
		return 0;
	begin = now_us();
	if (a->deadline)
		submit_late(r, causer, shift);
	CHECK_EQ(0, member_start(r->fd, &op, &request));
	if (r->rank == causer) {
		if (a->deadline) {
			*reason = begin + 1000 * op.timeout_ms;
		} else {
			spin_us(after);
			*reason = now_us();
			CHECK_EQ(0, cancel(r, request));
		}
	}
	err = member_wait(r->fd, request, 0);
	end = now_us();
	if (err) {
		CHECK_EQ(0, buffers_reuse(a, b));
		CHECK_EQ(allowed, err);
		CHECK_EQ(0, told_count(r, end));
	} else {
		/* The input may be changed, too, while others are in the operation. */
		if (b->send != b->recv)
			memset(b->send, POISON, a->bytes);
		CHECK(op.opcode == COLLECTIVE_SEND || result_right(a, r, b, root));
		CHECK_EQ(0, buffers_reuse(a, b));
		__atomic_add_fetch(&r->shared->value[VALUE_RIGHT], 1, __ATOMIC_SEQ_CST);
	}
	return buffers_renew(a, r, b);
}

/* Return: duration of one operation that nothing disturbs; us. */
static int length_measure(const struct abortion *a, const struct rank *r, struct buffers *b,
			  unsigned int *length_us)
{
	struct collective_op op;
	__u64 begin;
	int i;

	for (i = 0; i < 2; i++) {
		input_fill(a, r, b);
		op_fill(a, r, b, 0, &op);
		CHECK_EQ(0, member_barrier(r->fd));
		begin = now_us();
		if (a->kind->opcode != COLLECTIVE_SEND || peer(r) < r->nranks)
			CHECK_EQ(0, member_submit(r->fd, &op));
		*length_us = now_us() - begin;
		CHECK(op.opcode == COLLECTIVE_SEND || peer(r) >= r->nranks ||
		      result_right(a, r, b, 0));
	}
	return 0;
}

static int rank_aborted(struct rank *r)
{
	const struct abortion *a = r->arg;
	unsigned int seed = a->seed, i, length_us;
	struct collective_status status;
	struct buffers b = { 0 };

	CHECK_EQ(0, buffers_map(a, r, &b));
	CHECK_EQ(0, length_measure(a, r, &b, &length_us));
	CHECK_EQ(0, local_links_check(r));
	for (i = 0; i < a->rounds; i++)
		if (round_run(a, r, &b, &seed, length_us)) {
			dprintf(STDOUT_FILENO, "# rank %u of %u: seed %u round %u\n", r->rank,
				r->nranks, a->seed, i);
			return 1;
		}
	CHECK_EQ(0, member_barrier(r->fd));
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(0, status.inflight);
	if (b.number)
		CHECK_EQ(0, member_unregister(r->fd, b.number));
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	return member_barrier(r->fd);
}

static void abort_run(struct __test_metadata *_metadata, const struct kind *kind, bool deadline,
		      bool unmaps)
{
	const unsigned int seed = env_number("LOCAL_ABORT_SEED", 1);
	struct abortion a = {
		.kind = kind,
		.rounds = env_number("LOCAL_ABORT_ROUNDS", emulated() ? 2 : 6),
		.bytes = (size_t)env_number("LOCAL_ABORT_MIB", slow_machine() ? 4 : 16) << 20,
		.deadline = deadline,
		.unmaps = unmaps,
	};
	unsigned int n;

	for (n = 2; n <= RANKS_MOST && n <= max_ranks(); n++) {
		const struct group_config config = { .nranks = n, .lanes = 1 + n % 2 };
		struct group group;
		__u64 value[VALUE_RIGHT + 1];
		unsigned int i;

		a.seed = seed + 1000 * n;
		a.registered = n == 3;
		ASSERT_EQ(0, group_start(&group, &config, rank_aborted, &a));
		for (i = 0; i < n; i++)
			waitpid(group.pid[i], &group.status[i], 0);
		memcpy(value, group.shared->value, sizeof(value));
		for (i = 0; i < n; i++)
			EXPECT_EQ(0, group.status[i]);
		munmap(group.shared, sizeof(*group.shared));
		TH_LOG("%u ranks: %llu failed, %llu right; told after %llu us, at most %llu", n,
		       value[VALUE_FAILED], value[VALUE_RIGHT],
		       value[VALUE_FAILED] ? value[VALUE_SUM] / value[VALUE_FAILED] : 0,
		       value[VALUE_MOST]);
	}
}

TEST_F_TIMEOUT(local_abort, cancel_and_overwrite, 200)
{
	abort_run(_metadata, &variant->kind, false, false);
}

TEST_F_TIMEOUT(local_abort, cancel_and_unmap, 200)
{
	abort_run(_metadata, &variant->kind, false, true);
}

TEST_F_TIMEOUT(local_abort, deadline_and_overwrite, 200)
{
	abort_run(_metadata, &variant->kind, true, false);
}

TEST_F_TIMEOUT(local_abort, deadline_and_unmap, 200)
{
	abort_run(_metadata, &variant->kind, true, true);
}

TEST_HARNESS_MAIN
