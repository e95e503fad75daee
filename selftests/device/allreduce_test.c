// SPDX-License-Identifier: GPL-2.0-only
/* Allreduce in groups of processes; every byte of every result is compared. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/timed.h"
#include "lib/sizes.h"
#include "lib/values.h"

static u64 expected(int type, int reduction, u32 nranks, u32 i)
{
	u64 value = input(type, reduction, 0, i);
	u32 rank;

	for (rank = 1; rank < nranks; rank++)
		value = reference_reduce(type, reduction, value, input(type, reduction, rank, i),
					 rank + 1 == nranks ? nranks : 1);
	return value;
}

/* All results, computed before the ranks are forked: the reference is slow. */
struct answers {
	u64 element[COLLECTIVE_TYPE_COUNT][COLLECTIVE_REDUCTION_COUNT][PERIOD];
};

static struct answers *answers;

struct both {
	__u8 in[PERIOD * 8];
	__u8 out[PERIOD * 8];
};

static void both_make(struct both *both, const struct rank *r, int type, int reduction)
{
	const int size = reference_types[type].size;
	u32 i;
	u64 v;

	for (i = 0; i < PERIOD; i++) {
		v = input(type, reduction, r->rank, i);
		memcpy(both->in + i * size, &v, size);
		if (answers)
			v = answers->element[type][reduction][i];
		else if (r->nranks > 1)
			v = expected(type, reduction, r->nranks, i);
		memcpy(both->out + i * size, &v, size);
	}
}

/* One allreduce at given addresses, with guards around both buffers. */
static int reduce_at(struct rank *r, const struct both *both, int type, int reduction,
		     size_t count, __u8 *send, __u8 *recv)
{
	const int size = reference_types[type].size;

	fill(send, both->in, count, size);
	if (send != recv) {
		memset(recv - GUARD, 0x5c, GUARD + count * size + GUARD);
		CHECK_EQ(0, member_allreduce(r->fd, send, recv, count, type, reduction));
		CHECK(filled(send, both->in, count, size));
	} else {
		memset(recv - GUARD, 0x5c, GUARD);
		memset(recv + count * size, 0x5c, GUARD);
		CHECK_EQ(0, member_allreduce(r->fd, send, recv, count, type, reduction));
	}
	CHECK(filled(recv, both->out, count, size));
	CHECK(all_are(recv - GUARD, 0x5c, GUARD));
	CHECK(all_are(recv + count * size, 0x5c, GUARD));
	return 0;
}

FIXTURE_OF_SIZES(allreduce);

#define AREA	(512 * 1024)

/*
 * Every type and operation, with counts that do and do not fill frames. The result has canonical
 * NaNs, but a single rank copies its input.
 */
static int rank_types(struct rank *r)
{
	__u8 *area = memory(2 * AREA), *send = area + GUARD, *recv = send + AREA;
	struct both both;
	int type, reduction;

	CHECK(area);
	for (type = 0; type < COLLECTIVE_TYPE_COUNT; type++) {
		const int size = reference_types[type].size;
		const size_t counts[] = {
			r->nranks - 1, 1, 1021 / size, COLLECTIVE_EAGER_LIMIT / size,
			COLLECTIVE_EAGER_LIMIT / size + 1, 20011 / size,
		};
		size_t i;

		for (reduction = 0; reduction < COLLECTIVE_REDUCTION_COUNT; reduction++) {
			if (!valid(type, reduction))
				continue;
			/* A single rank does not reduce and needs only some of these. */
			both_make(&both, r, type, reduction);
			for (i = 0; i < ARRAY_SIZE(counts); i += slow_machine() ? 2 : 1) {
				bool in_place = (type + reduction + i) % 2;

				if (reduce_at(r, &both, type, reduction, counts[i],
					      in_place ? recv : send, recv)) {
					printf("# %s %s %zu elements, rank %u of %u\n",
					       reference_types[type].name,
					       reference_reductions[reduction], counts[i],
					       r->rank, r->nranks);
					fflush(stdout);
					return 1;
				}
			}
		}
	}
	return 0;
}

static bool answers_make(u32 nranks)
{
	int type, reduction;
	u32 i;

	answers = malloc(sizeof(*answers));
	if (!answers)
		return false;
	for (type = 0; type < COLLECTIVE_TYPE_COUNT; type++)
		for (reduction = 0; reduction < COLLECTIVE_REDUCTION_COUNT; reduction++)
			for (i = 0; i < PERIOD && valid(type, reduction); i++)
				answers->element[type][reduction][i] = nranks == 1 ?
					input(type, reduction, 0, i) :
					expected(type, reduction, nranks, i);
	return true;
}

TEST_F_TIMEOUT(allreduce, types, 100)
{
	ASSERT_TRUE(answers_make(variant->config.nranks));
	EXPECT_EQ(0, group_run(&variant->config, rank_types, NULL));
}

static int rank_counts(struct rank *r)
{
	const size_t n = r->nranks, page = 4096 / 4;
	const size_t counts[] = {
		0, 1, 2, 3, n - 1, n, n + 1, 2 * n - 1, 17, 61, 127, 1021,
		COLLECTIVE_EAGER_LIMIT / 4 - 1, COLLECTIVE_EAGER_LIMIT / 4,
		COLLECTIVE_EAGER_LIMIT / 4 + 1, n * page, n * page + 1, n * page - 1,
		16 * n * page, 16 * n * page + 7, 65537, 131071,
		262144, 524287, 786433,
	};
	const size_t most = 786433 * sizeof(u32);
	__u8 *area = memory(2 * most + 4096);
	struct both both;
	size_t i;

	CHECK(area);
	both_make(&both, r, COLLECTIVE_UINT32, COLLECTIVE_SUM);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		__u8 *recv = area + 1024, *send = recv + most + 1024;

		if (reduce_at(r, &both, COLLECTIVE_UINT32, COLLECTIVE_SUM, counts[i],
			      i % 3 ? send : recv, recv)) {
			printf("# %zu elements, rank %u of %u\n", counts[i], r->rank, r->nranks);
			fflush(stdout);
			return 1;
		}
	}
	return 0;
}

TEST_F_TIMEOUT(allreduce, counts, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_counts, NULL));
}

/* All offsets of send and receive buffers in a page and across its end. */
static int rank_alignment(struct rank *r)
{
	static const int types[] = {
		COLLECTIVE_UINT8, COLLECTIVE_BFLOAT16, COLLECTIVE_FLOAT32, COLLECTIVE_INT64,
	};
	__u8 *area = memory(4 * 65536), *send = area + 4096, *recv = send + 2 * 65536;
	struct both both;
	unsigned int t, i;

	CHECK(area);
	for (t = 0; t < ARRAY_SIZE(types); t++) {
		const int size = reference_types[types[t]].size;
		const size_t large = 40000 / size;

		both_make(&both, r, types[t], COLLECTIVE_SUM);
		for (i = 0; i < 64; i += slow_machine() ? 5 * size : size) {
			/* Ranks use different offsets. */
			const unsigned int a = (i + r->rank * size) % 64;
			const unsigned int b = (i * 7 + r->rank * 3 * size) % 64;
			const unsigned int c = 4096 - (i + size) % 64;

			if (reduce_at(r, &both, types[t], COLLECTIVE_SUM, 333, send + a,
				      recv + b) ||
			    reduce_at(r, &both, types[t], COLLECTIVE_SUM, large, send + b,
				      recv + c) ||
			    reduce_at(r, &both, types[t], COLLECTIVE_SUM, large, recv + a,
				      recv + a)) {
				printf("# %s, byte %u, rank %u of %u\n",
				       reference_types[types[t]].name, i, r->rank, r->nranks);
				fflush(stdout);
				return 1;
			}
		}
	}
	return 0;
}

TEST_F_TIMEOUT(allreduce, alignment, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_alignment, NULL));
}

/*
 * The input is overwritten as soon as an operation is complete. A late read of it would show in
 * the result of some rank. Ranks are delayed differently.
 */
static int rank_scribble(struct rank *r)
{
	static const size_t counts[] = {
		100, COLLECTIVE_EAGER_LIMIT / 4, COLLECTIVE_EAGER_LIMIT / 4 + 1, 16384, 40000,
		100003,
	};
	const size_t most = 100003 * sizeof(u32);
	__u8 *area = memory(4 * most), *recv = area + most, *send = recv + 2 * most;
	__u32 buffer[2] = {};
	unsigned int round;
	struct both both;

	CHECK(area);
	both_make(&both, r, COLLECTIVE_UINT32, COLLECTIVE_BXOR);
	CHECK_EQ(0, member_register(r->fd, send, most, COLLECTIVE_REGISTER_READ_ONLY, &buffer[0]));
	CHECK_EQ(0, member_register(r->fd, area + most / 2, 2 * most, 0, &buffer[1]));
	for (round = 0; round < (slow_machine() ? 60 : 200); round++) {
		size_t count = counts[hash(round, 1, 2) % ARRAY_SIZE(counts)];
		bool in_place = hash(round, 3, 4) % 3 == 0;
		bool registered = hash(round, r->rank, 5) % 2;
		bool direct = count * sizeof(u32) > COLLECTIVE_EAGER_LIMIT && hash(round, 8, 9) % 2;
		__u8 *from = in_place ? recv : send;
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.type = COLLECTIVE_UINT32,
			.reduction = COLLECTIVE_BXOR,
			.algorithm = direct ? COLLECTIVE_ALGORITHM_DIRECT : 0,
			.count = count,
			.send = (uintptr_t)from,
			.recv = (uintptr_t)recv,
			.send_buffer = !registered ? 0 : in_place ? buffer[1] : buffer[0],
			.recv_buffer = registered ? buffer[1] : 0,
		};
		int err;

		fill(from, both.in, count, sizeof(u32));
		err = member_submit(r->fd, &op);
		memset(send, 0xee, count * sizeof(u32));
		CHECK_EQ(0, err);
		CHECK(filled(recv, both.out, count, sizeof(u32)));
		memset(recv, 0xdd, count * sizeof(u32));
		if (hash(round, r->rank, 6) % 4 == 0)
			usleep(hash(round, r->rank, 7) % 3000);
	}
	return 0;
}

TEST_F_TIMEOUT(allreduce, scribble, 100)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_scribble, NULL));
}

TIMED_TESTS(slow)

/*
 * Statistics
 */

struct count_case {
	size_t count;
	unsigned int rounds;
	bool in_place;
	bool registered;
};

/* Large chunks are cut at pages, so that their lengths differ. */
static bool about(long long value, long long want, size_t chunk)
{
	return llabs(value - want) <= (chunk < 65536 ? 0 : want / 64);
}

static int rank_counters(struct rank *r)
{
	const struct count_case *c = r->arg;
	const size_t bytes = c->count * sizeof(u32);
	const size_t chunk = bytes / r->nranks;
	const long long payload = 2LL * (r->nranks - 1) * chunk * c->rounds;
	const bool eager = bytes <= COLLECTIVE_EAGER_LIMIT;
	long long sent;
	__u8 *area = memory(2 * bytes);
	__u32 buffer = 0;
	unsigned int i;

	CHECK(area);
	if (c->registered)
		CHECK_EQ(0, member_register(r->fd, area, 2 * bytes, 0, &buffer));
	CHECK_EQ(0, rank_value(r, "zero_copy_bytes"));
	for (i = 0; i < c->rounds; i++) {
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.type = COLLECTIVE_UINT32,
			.algorithm = COLLECTIVE_ALGORITHM_RING,
			.count = c->count,
			.send = (uintptr_t)area + (c->in_place ? 0 : bytes),
			.recv = (uintptr_t)area,
			.send_buffer = buffer,
			.recv_buffer = buffer,
		};

		CHECK_EQ(0, member_submit(r->fd, &op));
	}
	sent = rank_value(r, "bytes_sent");
	/* Each of two ranks sends both chunks, whatever their lengths. */
	if (r->nranks == 2) {
		CHECK_EQ(payload, sent);
		CHECK_EQ(payload, rank_value(r, "bytes_received"));
	}
	CHECK(about(sent, payload, chunk));
	CHECK(about(rank_value(r, "bytes_received"), payload, chunk));
	CHECK(about(rank_value(r, "bytes_reduced"), payload / 2, chunk));
	CHECK_EQ(eager ? 0 : sent, rank_value(r, "zero_copy_bytes"));
	CHECK_EQ(c->rounds, rank_value(r, "ops_submitted"));
	CHECK_EQ(c->rounds, rank_value(r, "ops_completed"));
	CHECK_EQ(0, rank_value(r, "ops_failed"));
	CHECK_EQ(0, rank_value(r, "inflight"));
	CHECK_EQ(c->registered ? 2 * bytes : 0, rank_value(r, "pinned_bytes"));
	CHECK_EQ(0, member_barrier(r->fd));
	CHECK_EQ(payload * r->nranks, group_value(r, "bytes_sent"));
	CHECK_EQ(payload * r->nranks, group_value(r, "bytes_received"));
	CHECK_EQ(payload / 2 * r->nranks, group_value(r, "bytes_reduced"));
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

/* Zero copy: above the eager limit no byte of payload is copied on the sending side. */
TEST_F_TIMEOUT(slow, zero_copy, 100)
{
	static const struct count_case cases[] = {
		{ 4096, 10, true, false }, { 4096, 10, false, true },
		{ 262144, 4, true, true }, { 262144, 4, false, false },
		{ 1048576, 2, false, false },
	};
	static const struct group_config configs[] = {
		{ .nranks = 2 }, { .nranks = 4 }, { .nranks = 4, .lanes = 4 },
		{ .nranks = 2, .family = AF_INET6 },
	};
	unsigned int i, k;

	for (k = 0; k < ARRAY_SIZE(configs); k++)
		for (i = 0; i < ARRAY_SIZE(cases); i++)
			EXPECT_EQ(0, group_run(&configs[k], rank_counters, (void *)&cases[i]));
}

TEST_F_TIMEOUT(slow, small_is_copied, 100)
{
	static const struct count_case cases[] = {
		{ 64, 50, true, false }, { 2048, 50, false, false }, { 2048, 10, true, true },
	};
	const struct group_config config = { .nranks = 4 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		EXPECT_EQ(0, group_run(&config, rank_counters, (void *)&cases[i]));
}

static int rank_lanes(struct rank *r)
{
	static const size_t counts[] = { 524288, 1048576 + 13, 100, 131072, 3 * 65536 + 1 };
	const size_t most = (1048576 + 13) * sizeof(u32);
	__u8 *area = memory(2 * most + 4096);
	struct both both;
	unsigned int round;

	CHECK(area);
	both_make(&both, r, COLLECTIVE_FLOAT32, COLLECTIVE_SUM);
	for (round = 0; round < 10; round++)
		if (reduce_at(r, &both, COLLECTIVE_FLOAT32, COLLECTIVE_SUM,
			      counts[round % ARRAY_SIZE(counts)], area + GUARD,
			      round % 2 ? area + GUARD : area + most + 3 * GUARD))
			return 1;
	return 0;
}

TEST_F_TIMEOUT(allreduce, lanes, 100)
{
	struct group_config config = variant->config;

	if (config.nranks > 4)
		SKIP(return, "enough of them");
	for (config.lanes = 1; config.lanes <= 8; config.lanes *= 2)
		EXPECT_EQ(0, group_run(&config, rank_lanes, NULL))
			TH_LOG("%u lanes", config.lanes);
}

/* The buffers of some ranks are registered, of some partly, of some not at all. */
static int rank_registered(struct rank *r)
{
	const size_t count = 50000, bytes = count * sizeof(u32);
	__u8 *area = memory(4 * bytes), *send = area + GUARD, *recv = send + 2 * bytes;
	const size_t span = bytes + 2 * GUARD;
	__u32 buffer[2] = {};
	struct both both;
	unsigned int round;

	CHECK(area);
	both_make(&both, r, COLLECTIVE_INT32, COLLECTIVE_MAX);
	if (r->rank % 3 != 1)
		CHECK_EQ(0, member_register(r->fd, send - GUARD, span, 0, &buffer[0]));
	if (r->rank % 3 != 2)
		CHECK_EQ(0, member_register(r->fd, recv - GUARD, span, 0, &buffer[1]));
	for (round = 0; round < 12; round++) {
		const size_t at = round * 4;
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.type = COLLECTIVE_INT32,
			.reduction = COLLECTIVE_MAX,
			.count = count - round * 1000,
			.send = (uintptr_t)send + at,
			.recv = (uintptr_t)recv + at,
			.send_buffer = buffer[0],
			.recv_buffer = buffer[1],
		};

		fill(send + at, both.in, op.count, sizeof(u32));
		CHECK_EQ(0, member_submit(r->fd, &op));
		CHECK(filled(send + at, both.in, op.count, sizeof(u32)));
		CHECK(filled(recv + at, both.out, op.count, sizeof(u32)));
	}
	return 0;
}

TEST_F(allreduce, registered)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_registered, NULL));
}

/*
 * Signals
 */

static void on_signal(int signal)
{
}

/* A signal every few milliseconds, while rank 0 is late each time. */
static int rank_signals(struct rank *r)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = *(int *)r->arg };
	struct itimerval timer = { { 0, 4000 }, { 0, 4000 } };
	const size_t count = 200000;
	__u8 *area = memory(2 * count * sizeof(u32) + 4096);
	unsigned int round, interrupted = 0;
	struct both both;

	CHECK(area);
	both_make(&both, r, COLLECTIVE_UINT32, COLLECTIVE_SUM);
	CHECK_EQ(0, sigaction(SIGALRM, &action, NULL));
	for (round = 0; round < 6; round++) {
		struct collective_submit submit = {
			.size = sizeof(submit),
			.op = {
				.opcode = COLLECTIVE_ALLREDUCE,
				.type = COLLECTIVE_UINT32,
				.count = count,
				.send = (uintptr_t)area,
				.recv = (uintptr_t)area,
			},
		};
		int err;

		fill(area, both.in, count, sizeof(u32));
		if (!r->rank)
			sleep_ms(50);
		else
			setitimer(ITIMER_REAL, &timer, NULL);
		do {
			err = member_ioctl(r->fd, COLLECTIVE_IOC_SUBMIT, &submit);
			if (err == -EINTR) {
				/*
				 * A call that is interrupted before the lanes have it returns no
				 * request.
				 */
				interrupted += !!submit.request;
				/* No thread collects this request. */
				if (submit.request)
					memset(&submit.op, 0xff, sizeof(submit.op));
			}
		} while (err == -EINTR);
		setitimer(ITIMER_REAL, &(struct itimerval) {}, NULL);
		CHECK_EQ(0, err);
		CHECK_EQ(0, submit.request);
		CHECK(filled(area, both.out, count, sizeof(u32)));
	}
	CHECK_EQ(6, rank_value(r, "ops_submitted"));
	if (r->rank)
		CHECK_EQ(!(action.sa_flags & SA_RESTART), interrupted > 0);
	return 0;
}

TEST_F_TIMEOUT(slow, signals, 100)
{
	struct group_config config = { .nranks = 3 };
	int flags = 0;

	EXPECT_EQ(0, group_run(&config, rank_signals, &flags));
	flags = SA_RESTART;
	EXPECT_EQ(0, group_run(&config, rank_signals, &flags));
}

/* Several groups of the same processes, used in turn and ended in any order. */
#define GROUPS	4

static int rank_groups(struct rank *r)
{
	const size_t count = 30000;
	__u8 *area = memory(2 * count * sizeof(u32));
	int fd[GROUPS], round, i;
	struct both both;

	CHECK(area);
	both_make(&both, r, COLLECTIVE_UINT32, COLLECTIVE_SUM);
	/* All have connected by the addresses that are replaced now. */
	CHECK_EQ(0, member_barrier(r->fd));
	for (i = 0; i < GROUPS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%.24s.%d", r->group->name, i);
		fd[i] = member_open();
		CHECK(fd[i] >= 0);
		CHECK_EQ(0, member_join(fd[i], name, r->group->id, r->rank, r->nranks,
					&r->shared->addr[r->rank]));
		CHECK_EQ(0, member_barrier(r->fd));
		CHECK_EQ(0, member_connect(fd[i], r->shared->addr, r->nranks, 10000));
		CHECK_EQ(0, member_barrier(r->fd));
	}
	for (round = 0; round < 40; round++) {
		fill(area, both.in, count, sizeof(u32));
		CHECK_EQ(0, member_allreduce(fd[hash(round, 0, 0) % GROUPS], area, area,
					     round % 2 ? count : 100, COLLECTIVE_UINT32,
					     COLLECTIVE_SUM));
		CHECK(filled(area, both.out, round % 2 ? count : 100, sizeof(u32)));
	}
	for (i = 0; i < GROUPS; i++)
		CHECK_EQ(0, i % 2 ? close(fd[(i + r->rank) % GROUPS]) :
				    member_leave(fd[(i + r->rank) % GROUPS]));
	return 0;
}

TEST_F_TIMEOUT(slow, groups, 100)
{
	struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_groups, NULL));
}

/* The instruction sets with which the module may reduce; read at JOIN. */
#define REDUCTIONS	"/sys/module/collective/parameters/reductions"

/* The ranks join a second group one after the other; @arg: instruction sets, by rank. */
static int rank_instructions(struct rank *r)
{
	const char **names = r->arg;
	struct rank second = *r;
	char name[64];

	snprintf(name, sizeof(name), "%.24s.2", r->group->name);
	second.fd = member_open();
	CHECK(second.fd >= 0);
	/* All have connected by the addresses that are replaced now. */
	CHECK_EQ(0, member_barrier(r->fd));
	CHECK(flag_wait(r->shared, 0, r->rank, 20000));
	CHECK_EQ(0, file_set(REDUCTIONS, names[r->rank]));
	CHECK_EQ(0, member_join(second.fd, name, r->group->id, r->rank, r->nranks,
				&r->shared->addr[r->rank]));
	flag_set(r->shared, 0, r->rank + 1);
	CHECK_EQ(0, member_barrier(r->fd));
	CHECK_EQ(0, rank_connect(&second));
	CHECK_EQ(0, rank_types(&second));
	return member_leave(second.fd);
}

/* Ranks that reduce with different instruction sets get the same bits. */
TEST_F_TIMEOUT(slow, instructions, 100)
{
	static const char *const all[] = { "scalar", "avx2", "avx512" };
	const struct group_config config = { .nranks = ARRAY_SIZE(all) };
	const char *names[ARRAY_SIZE(all)];
	unsigned int n = 0, i;
	char before[16];

	ASSERT_EQ(0, file_get(REDUCTIONS, before, sizeof(before)));
	EXPECT_EQ(-EINVAL, file_set(REDUCTIONS, "none"));
	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (!file_set(REDUCTIONS, all[i]))
			names[n++] = all[i];
	ASSERT_LT(0, n);
	for (i = n; i < ARRAY_SIZE(all); i++)
		names[i] = names[i - n];
	TH_LOG("%s %s %s", names[0], names[1], names[2]);

	ASSERT_TRUE(answers_make(config.nranks));
	EXPECT_EQ(0, group_run(&config, rank_instructions, names));
	EXPECT_EQ(0, file_set(REDUCTIONS, before));
}

/* Many small operations: credit comes back, and no rank gets too far ahead. */
static int rank_many(struct rank *r)
{
	const u32 rounds = slow_machine() ? 300 : 2000;
	u32 data[16], round, i;

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < 16; i++)
			data[i] = r->rank + i + round;
		CHECK_EQ(0, member_allreduce(r->fd, data, data, 1 + round % 16, COLLECTIVE_UINT32,
					     COLLECTIVE_MAX));
		for (i = 0; i < 1 + round % 16; i++)
			CHECK_EQ(r->nranks - 1 + i + round, data[i]);
		if (round % 100 == r->rank)
			usleep(2000);
	}
	return 0;
}

TEST_F_TIMEOUT(slow, many, 100)
{
	struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_many, NULL));
}

TEST_HARNESS_MAIN
