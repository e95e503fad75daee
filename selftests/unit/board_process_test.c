// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library's part of the board (libcollective/board/), each rank in its thread over plain
 * memory.  What the kernel does with SUBMIT is done here by the same functions of the core: it goes
 * on with operations that the library hands over, and executes those that are not the library's.
 */
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "board/float_mode.h"
#include "board/internal.h"
#include "tap.h"

#define RANKS_MAX	8U
#define OPERATIONS	3000U
#define THREADS		3U	/* of a rank, where there are several */
#define PAGE		4096U
#define PART_SIZE	(PAGE + COLL_BOARD_PAGES * COLL_BOARD_PUBLISHED)
#define GUARD		16U	/* bytes beside each buffer */
#define BUFFER		(RANKS_MAX * COLL_MAPPING_BYTES + 2 * GUARD)
#define FILL		0xa5

/* A group, as the kernel would map it. */
static struct {
	struct collective_board head __aligned(PAGE);
	u8 parts[RANKS_MAX][PART_SIZE] __aligned(PAGE);
} memory;

/**
 * struct rank - one rank
 * @mapping: the library's
 * @kernel: the board as the kernel sees it
 * @lock: held while the kernel executes an operation of this rank
 * @results: number of operations by enum coll_mapping_result
 * @wrong: number of operations with a wrong result
 * @resumes: number of operations that the kernel has gone on with
 */
struct rank {
	struct coll_mapping mapping;
	struct coll_board kernel;
	pthread_mutex_t lock;
	u32 results[COLL_MAPPING_WAKE + 1];
	u32 wrong;
	u32 resumes;
};

static struct rank ranks[RANKS_MAX];
static u32 nranks;

/* The members up to @head.sleepers are read-only for the library. */
static struct coll_board_words *words_of(u32 rank)
{
	return (void *)((u8 *)&memory + memory.head.first + rank * memory.head.part);
}

static void begin_group(u32 n, u32 budget)
{
	static const u8 algorithm[COLLECTIVE_OPCODES_MAX];
	u32 rank;

	memset(&memory, 0, sizeof(memory));
	nranks = n;
	memory.head = (struct collective_board){
		.version = COLLECTIVE_BOARD_VERSION,
		.nranks = n,
		.first = PAGE,
		.part = PART_SIZE,
		.payload = PAGE,
	};
	for (rank = 0; rank < n; rank++) {
		struct rank *own = &ranks[rank];

		memset(own, 0, sizeof(*own));
		words_of(rank)->generation = 0x123456789abcdefULL;
		own->mapping.budget = budget;
		own->mapping.budget_min = budget;
		own->mapping.budget_max = budget;
		coll_mapping_init(&own->mapping, &memory, words_of(rank), rank, algorithm);
		own->kernel = own->mapping.board;
		pthread_mutex_init(&own->lock, NULL);
	}
}

/* The kernel */

static void *bytes_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	*len = mem->length;
	return (void *)(uintptr_t)off;
}

static const struct coll_mem bytes = { .at = bytes_at, .length = SIZE_MAX };

static struct coll_plan plan_of(const struct collective_op *op, u32 rank)
{
	return (struct coll_plan){
		.collective = op->opcode,
		.type = op->type,
		.reduction = op->reduction,
		.wide = op->flags & COLLECTIVE_F_WIDE,
		.board = true,
		.size = coll_type_size(op->type),
		.rank = rank,
		.nranks = nranks,
		.root = op->root,
		.count = op->count,
	};
}

static u64 digest_of(const struct collective_op *op)
{
	const struct coll_signature signature = {
		.collective = op->opcode,
		.type = op->type,
		.reduction = op->reduction,
		.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
		.flags = op->flags,
		.root = op->root,
		.count = op->count,
	};

	return coll_signature_digest(&signature);
}

/* All steps of an operation that has its place in the order.  Return: false: a rank differs. */
static bool kernel_execute(struct rank *own, const struct collective_op *op, u64 instance)
{
	const u32 rank = own->kernel.rank;
	const struct coll_plan plan = plan_of(op, rank);
	const bool in_place = op->send == op->recv;
	const u64 input = op->send + (in_place && op->opcode == COLLECTIVE_ALLGATHER ?
				      rank * plan.count * plan.size : 0);
	const enum coll_board_place place = coll_board_place(&plan, rank);
	const u64 len = coll_board_published(&plan, rank);
	u8 scratch[COLL_REDUCE_PART] __aligned(8);
	struct coll_fuse_stats stats = { 0 };
	const struct coll_board_out out = {
		.mem = &bytes,
		.off = op->recv,
		.input = &bytes,
		.input_off = input,
		.impl = &coll_reduce_scalar,
		.part = scratch,
		.stats = &stats,
	};
	enum coll_board_found found;
	struct coll_float_mode mode;
	u32 first = 0;

	if (!coll_board_has(&own->kernel, rank, instance)) {
		while (!coll_board_reserve(&own->kernel, instance, place))
			sched_yield();
		if (len)
			memcpy(coll_board_payload(&own->kernel, rank, instance, place),
			       (void *)(uintptr_t)input, len);
		coll_board_publish(&own->kernel, instance, digest_of(op), place);
	}
	for (;;) {
		found = coll_board_scan(&own->kernel, instance, digest_of(op), COLL_BOARD_ALL,
					&first);
		if (found != COLL_BOARD_MISSING)
			break;
		sched_yield();
	}
	coll_float_mode_begin(&mode);
	if (found == COLL_BOARD_COMPLETE)
		coll_board_take(&own->kernel, &plan, instance, &out);
	coll_float_mode_end(&mode);
	coll_board_finish(&own->kernel, instance);
	return found == COLL_BOARD_COMPLETE;
}

static bool kernel_resume(struct rank *own, const struct collective_op *op, u64 instance)
{
	struct coll_board_words *words = words_of(own->kernel.rank);
	bool right;

	pthread_mutex_lock(&own->lock);
	own->resumes++;
	right = coll_order_resume(words, 0, instance) == COLL_ORDER_READY &&
		kernel_execute(own, op, instance);
	coll_order_end(words, COLL_ORDER_KERNEL);
	pthread_mutex_unlock(&own->lock);
	return right;
}

static bool kernel_submit(struct rank *own, const struct collective_op *op)
{
	struct coll_board_words *words = words_of(own->kernel.rank);
	enum coll_order_found found;
	u64 instance, word;
	bool right;

	__atomic_fetch_add(&words->attention, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		pthread_mutex_lock(&own->lock);
		found = COLL_ORDER_BROKEN;
		if (coll_order_read(words, 0, &word))
			found = coll_order_admit(words, coll_order_count(word) -
						 (coll_order_owner(word) == COLL_ORDER_PROCESS),
						 true, &instance);
		if (found != COLL_ORDER_BUSY)
			break;
		pthread_mutex_unlock(&own->lock);
		sched_yield();
	}
	__atomic_fetch_sub(&words->attention, 1, __ATOMIC_SEQ_CST);
	right = found == COLL_ORDER_READY && kernel_execute(own, op, instance);
	coll_order_end(words, COLL_ORDER_KERNEL);
	pthread_mutex_unlock(&own->lock);
	return right;
}

/* As coll_operation_run() does. */
static bool run(struct rank *own, const struct collective_op *op)
{
	__u64 instance = 0;
	const enum coll_mapping_result result = coll_mapping_run(&own->mapping, op, &instance);

	__atomic_fetch_add(&own->results[result], 1, __ATOMIC_RELAXED);
	switch (result) {
	case COLL_MAPPING_RESUME:
		return kernel_resume(own, op, instance);
	case COLL_MAPPING_SUBMIT:
		return kernel_submit(own, op);
	default:
		return true;
	}
}

/* The program of a rank: operations that depend on their numbers only. */

static u64 hash_of(u64 a, u64 b, u64 c)
{
	u64 x = a * 0x9e3779b97f4a7c15ULL + b * 0xc2b2ae3d27d4eb4fULL + c + 1;

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static struct collective_op call_of(u32 number)
{
	static const u8 opcodes[] = { COLLECTIVE_BARRIER, COLLECTIVE_BROADCAST,
				      COLLECTIVE_ALLGATHER, COLLECTIVE_ALLREDUCE,
				      COLLECTIVE_ALLREDUCE };
	const u64 hash = hash_of(number, 1, 0);
	/* Half of them fit slots. */
	const u64 most = hash >> 34 & 1 ? COLL_BOARD_INLINE : COLL_MAPPING_BYTES;
	struct collective_op op = { .opcode = opcodes[hash % ARRAY_SIZE(opcodes)] };

	if (op.opcode == COLLECTIVE_BARRIER)
		return op;
	op.type = hash / 8 % COLLECTIVE_TYPE_COUNT;
	op.count = hash / 1024 % (most / coll_type_size(op.type) + 1);
	if (op.opcode == COLLECTIVE_BROADCAST)
		op.root = hash / 65536 % nranks;
	if (op.opcode != COLLECTIVE_ALLREDUCE)
		return op;
	/* All reductions of a type in turn. */
	do {
		op.reduction = (hash / 65536 + op.reduction + 1) % COLLECTIVE_REDUCTION_COUNT;
	} while (!coll_reduce_valid(op.type, op.reduction));
	op.flags = (hash >> 32 & 1 ? COLLECTIVE_F_WIDE : 0) |
		   (hash >> 33 & 1 ? COLLECTIVE_F_REPRODUCIBLE : 0);
	return op;
}

/* Any bytes; of a half of the operations, floats that are small, or next to one another. */
static void fill_input(u8 *input, const struct collective_op *op, u32 number, u32 rank)
{
	const size_t size = coll_type_size(op->type);
	u64 value;
	u32 i;

	for (i = 0; i < op->count; i++) {
		value = hash_of(number, rank, i);
		if (number % 2 && op->type == COLLECTIVE_FLOAT64)
			value = value >> 12 | (number % 4 == 1 ? 0 : 0x3ff0000000000000ULL);
		if (number % 2 && op->type == COLLECTIVE_FLOAT32)
			value = (u32)value >> 9 | (number % 4 == 1 ? 0 : 0x3f800000U);
		if (number % 2 && op->type == COLLECTIVE_FLOAT16)
			value = (value & 0x3ff) | (number % 4 == 1 ? 0 : 0x3c00);
		if (number % 2 && op->type == COLLECTIVE_BFLOAT16)
			value = (value & 0x7f) | (number % 4 == 1 ? 0 : 0x3f80);
		memcpy(input + i * size, &value, size);
	}
}

/* The operands in the order of ranks, two at a time. */
static void reduce_all(u8 *result, const struct collective_op *op, u8 (*input)[COLL_MAPPING_BYTES])
{
	const bool wide = op->flags & COLLECTIVE_F_WIDE &&
			  coll_reduce_wide_valid(op->type, op->reduction);
	const void *sum = input[0];
	u8 store[2][2 * COLL_MAPPING_BYTES];
	u32 rank;

	for (rank = 1; rank < nranks; rank++) {
		const bool last = rank == nranks - 1;
		const u32 divisor = last && op->reduction == COLLECTIVE_AVG ? nranks : 0;
		void *to = last ? result : store[rank % 2];

		if (wide)
			coll_reduce_wide(&coll_reduce_scalar, op->type, to, !last, input[rank],
					 sum, rank > 1, op->count, divisor);
		else
			coll_reduce(&coll_reduce_scalar, op->type, op->reduction, to, sum,
				    input[rank], op->count, divisor);
		sum = to;
	}
}

static void expect(u8 *result, const struct collective_op *op, u32 number)
{
	u8 input[RANKS_MAX][COLL_MAPPING_BYTES];
	const size_t len = op->count * coll_type_size(op->type);
	u32 rank;

	for (rank = 0; rank < nranks; rank++)
		fill_input(input[rank], op, number, rank);
	if (op->opcode == COLLECTIVE_ALLREDUCE)
		reduce_all(result, op, input);
	if (op->opcode == COLLECTIVE_BROADCAST)
		memcpy(result, input[op->root], len);
	for (rank = 0; rank < nranks && op->opcode == COLLECTIVE_ALLGATHER; rank++)
		memcpy(result + rank * len, input[rank], len);
}

/* Set the modes that a program may have set, by the rank. */
static void set_modes(u32 rank)
{
	static const int rounding[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

	fesetround(rounding[rank % ARRAY_SIZE(rounding)]);
#if defined(__x86_64__)
	if (rank % 2)
		__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
	if (rank % 2)
		__asm__ volatile("msr fpcr, %0" : : "r" (1UL << 24) : "memory");
#endif
}

static bool are_modes(u32 rank)
{
	struct coll_float_mode now, set;
	fenv_t saved;

	fegetenv(&saved);
	coll_float_mode_begin(&now);
	coll_float_mode_end(&now);
	feclearexcept(FE_ALL_EXCEPT);
	set_modes(rank);
	coll_float_mode_begin(&set);
	coll_float_mode_end(&set);
	fesetenv(&saved);
#if defined(__x86_64__)
	return (now.mxcsr & ~0x3fU) == (set.mxcsr & ~0x3fU) && !(now.mxcsr & FE_ALL_EXCEPT);
#elif defined(__aarch64__)
	return now.fpcr == set.fpcr && !(now.fpsr & 0x9f);
#else
	return true;
#endif
}

static bool run_one(struct rank *own, u32 number)
{
	const u32 rank = own->kernel.rank;
	struct collective_op op = call_of(number);
	const size_t len = op.count * coll_type_size(op.type);
	u8 send[BUFFER] __aligned(8), recv[BUFFER] __aligned(8), want[BUFFER] __aligned(8);
	const bool in_place = hash_of(number, rank, 7) % 2;
	const bool is_root = op.opcode == COLLECTIVE_BROADCAST && op.root == rank;
	bool right;

	if (op.opcode == COLLECTIVE_BARRIER)
		return run(own, &op);
	memset(send, FILL, sizeof(send));
	memset(recv, FILL, sizeof(recv));
	memset(want, FILL, sizeof(want));
	op.recv = (uintptr_t)(recv + GUARD);
	op.send = in_place ? op.recv : (uintptr_t)(send + GUARD);
	if (op.opcode == COLLECTIVE_ALLGATHER && in_place)
		fill_input(recv + GUARD + rank * len, &op, number, rank);
	else if (op.opcode != COLLECTIVE_BROADCAST || is_root)
		fill_input((void *)(uintptr_t)op.send, &op, number, rank);
	expect(want + GUARD, &op, number);
	set_modes(rank);
	feclearexcept(FE_ALL_EXCEPT);
	right = run(own, &op) && are_modes(rank);
	fesetenv(FE_DFL_ENV);
	return right && !memcmp(recv, want, sizeof(recv));
}

/* Other ranks get ahead, or the kernel wants the rank. */
static void disturb(struct rank *own, u32 number)
{
	const u64 hash = hash_of(number, own->kernel.rank, 99);
	u32 i;

	for (i = 0; !(hash % 16) && i < 5; i++)
		sched_yield();
	WRITE_ONCE(words_of(own->kernel.rank)->attention, hash % 64 == 1);
}

static void *program(void *argument)
{
	struct rank *own = argument;
	u32 number;

	for (number = 0; number < OPERATIONS; number++) {
		disturb(own, number);
		if (!run_one(own, number))
			own->wrong++;
	}
	return NULL;
}

static void run_threads(void *(*function)(void *), u32 threads)
{
	pthread_t thread[RANKS_MAX * THREADS];
	u32 i;

	for (i = 0; i < nranks * threads; i++)
		if (pthread_create(&thread[i], NULL, function, &ranks[i % nranks]))
			exit(1);
	for (i = 0; i < nranks * threads; i++)
		pthread_join(thread[i], NULL);
}

static void test_programs(u32 n, u32 budget)
{
	u32 wrong = 0, done = 0, resumed = 0, submitted = 0, rank;
	u64 calls = 0, opcode;

	begin_group(n, budget);
	run_threads(program, 1);
	for (rank = 0; rank < n; rank++) {
		const struct rank *own = &ranks[rank];

		wrong += own->wrong;
		done += own->results[COLL_MAPPING_DONE] + own->results[COLL_MAPPING_WAKE];
		resumed += own->results[COLL_MAPPING_RESUME];
		submitted += own->results[COLL_MAPPING_SUBMIT];
		for (opcode = 0; opcode < COLL_BOARD_CALLS; opcode++)
			calls += words_of(rank)->calls[opcode];
	}
	tap_ok(!wrong, "%u ranks, %u rounds: results of %u operations", n, budget, OPERATIONS);
	tap_ok(done && (resumed || budget > 4) && submitted && calls == done &&
	       done + resumed + submitted == n * OPERATIONS,
	       "executed %u, handed over %u, submitted %u", done, resumed, submitted);
}

/* Threads of a rank make the same call: whichever is first has the operation. */
static void *same_calls(void *argument)
{
	struct rank *own = argument;
	u32 number, sum;

	for (number = 0; number < OPERATIONS; number++) {
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.type = COLLECTIVE_UINT32,
			.count = 1,
			.send = (uintptr_t)&sum,
			.recv = (uintptr_t)&sum,
		};

		sum = own->kernel.rank + 1;
		if (!run(own, &op) || sum != nranks * (nranks + 1) / 2)
			__atomic_fetch_add(&own->wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_threads(void)
{
	begin_group(2, 100);
	run_threads(same_calls, THREADS);
	tap_ok(!ranks[0].wrong && !ranks[1].wrong &&
	       coll_order_count(words_of(0)->order) == THREADS * OPERATIONS &&
	       words_of(0)->done == THREADS * OPERATIONS, "%u threads of each rank", THREADS);
}

/* Operations that are left to the kernel, which are those that it refuses, too. */
static void test_left(void)
{
	u8 buffer[2][COLL_MAPPING_BYTES + 8] __aligned(8) = { 0 };
	const u64 at = (uintptr_t)buffer, recv = (uintptr_t)buffer[1];
	const struct collective_op usual = {
		.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_INT32, .count = 4,
		.send = at, .recv = recv,
	};
	struct collective_op op[20];
	__u64 instance = 77;
	bool left = true;
	u32 n, i = 0;

	for (n = 0; n < ARRAY_SIZE(op); n++)
		op[n] = usual;
	op[i++].count = COLL_MAPPING_BYTES / 4 + 1;
	op[i++].count = U64_MAX / 2;
	op[i++].send = at + 2;			/* not aligned */
	op[i++].recv = at + 1;
	op[i++].recv = at + 8;			/* they overlap */
	op[i++].send = recv + 12;
	op[i++].type = COLLECTIVE_TYPE_COUNT;
	op[i++].reduction = COLLECTIVE_REDUCTION_COUNT;
	op[i++].algorithm = COLLECTIVE_ALGORITHM_TREE;
	op[i++].flags = COLLECTIVE_F_KEYED;
	op[i++].flags = 1U << 20;
	op[i++].key = 1;
	op[i++].root = 1;
	op[i++].layout = at;
	op[i++].reserved[1] = 1;
	op[i++].opcode = COLLECTIVE_REDUCE;	/* not for all ranks to see */
	op[i++].opcode = 200;
	op[i++].opcode = COLLECTIVE_BARRIER;	/* with buffers */
	op[i].opcode = COLLECTIVE_BROADCAST;
	op[i++].root = 2;
	op[i].type = COLLECTIVE_FLOAT32;
	op[i++].reduction = COLLECTIVE_BAND;
	begin_group(2, 10);
	for (n = 0; n < ARRAY_SIZE(op); n++)
		left &= coll_mapping_run(&ranks[0].mapping, &op[n], &instance) ==
			COLL_MAPPING_SUBMIT;
	words_of(0)->attention = 1;
	left &= coll_mapping_run(&ranks[0].mapping, &usual, &instance) == COLL_MAPPING_SUBMIT;
	tap_ok(i == ARRAY_SIZE(op) && left && instance == 77 && !words_of(0)->order &&
	       !words_of(0)->slot[0].seq, "what is left to the kernel has no place in the order");
}

static void test_algorithms(void)
{
	u8 algorithm[COLLECTIVE_OPCODES_MAX] = {
		[COLLECTIVE_BARRIER] = COLLECTIVE_ALGORITHM_TREE,
		[COLLECTIVE_ALLREDUCE] = COLLECTIVE_ALGORITHM_DIRECT,
		[COLLECTIVE_BROADCAST] = COLLECTIVE_ALGORITHM_RING,
	};
	struct coll_mapping *mapping = &ranks[0].mapping;

	begin_group(2, 10);
	tap_ok(mapping->collectives ==
	       (BIT(COLLECTIVE_BARRIER) | BIT(COLLECTIVE_ALLREDUCE) | BIT(COLLECTIVE_BROADCAST) |
		BIT(COLLECTIVE_ALLGATHER)), "collectives of the process");
	memset(mapping, 0, sizeof(*mapping));
	coll_mapping_init(mapping, &memory, words_of(0), 0, algorithm);
	tap_ok(mapping->collectives == (BIT(COLLECTIVE_ALLREDUCE) | BIT(COLLECTIVE_ALLGATHER)),
	       "collectives with other algorithms are not");
}

/* The rank has published; the order is kept for the kernel. */
static bool is_handed_over(u32 rank, u64 instance, enum coll_mapping_result result)
{
	return result == COLL_MAPPING_RESUME &&
	       words_of(rank)->order == coll_order_word(instance + 1, COLL_ORDER_PROCESS) &&
	       words_of(rank)->done == instance;
}

static void test_handed_over(void)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER }, other;
	u8 byte[2] = { 1, 2 };
	__u64 instance = 77;
	bool right;

	begin_group(2, 10);
	right = is_handed_over(0, 0, coll_mapping_run(&ranks[0].mapping, &op, &instance));
	tap_ok(right && !instance && words_of(0)->slot[0].seq == 1, "a rank is late");
	right = coll_mapping_run(&ranks[1].mapping, &op, &instance) == COLL_MAPPING_DONE;
	tap_ok(right && kernel_resume(&ranks[0], &op, 0) && words_of(0)->done == 1 &&
	       coll_order_owner(words_of(0)->order) == COLL_ORDER_FREE, "the kernel goes on");

	words_of(1)->slot[1].seq = 99;
	right = is_handed_over(0, 1, coll_mapping_run(&ranks[0].mapping, &op, &instance));
	tap_ok(right && instance == 1, "a rank has passed");

	begin_group(2, 10);
	other = (struct collective_op){
		.opcode = COLLECTIVE_BROADCAST, .type = COLLECTIVE_UINT8, .count = 1,
		.send = (uintptr_t)byte, .recv = (uintptr_t)byte,
	};
	right = is_handed_over(0, 0, coll_mapping_run(&ranks[0].mapping, &op, &instance));
	right &= is_handed_over(1, 0, coll_mapping_run(&ranks[1].mapping, &other, &instance));
	tap_ok(right, "a rank differs");

	begin_group(2, 10);
	words_of(0)->slot[0].seq = 17;
	words_of(0)->order = coll_order_word(32, COLL_ORDER_FREE);
	words_of(0)->done = 32;
	words_of(1)->done = 16;
	right = is_handed_over(0, 32, coll_mapping_run(&ranks[0].mapping, &op, &instance));
	tap_ok(right && words_of(0)->slot[0].seq == 17, "no place to publish");
}

static void test_wake(void)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	__u64 instance;
	bool right;

	begin_group(2, 10);
	(void)coll_mapping_run(&ranks[0].mapping, &op, &instance);
	memory.head.sleepers = 1;
	right = coll_mapping_run(&ranks[1].mapping, &op, &instance) == COLL_MAPPING_WAKE;
	tap_ok(right && memory.head.sleepers == 1, "ranks that sleep are to be woken");
}

static void test_budget(void)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	struct coll_mapping *mapping = &ranks[0].mapping;
	__u64 instance;
	bool right;
	u32 i;

	begin_group(2, 64);
	mapping->budget_min = 5;
	for (i = 0, right = true; i < 6; i++) {
		right &= coll_mapping_run(mapping, &op, &instance) == COLL_MAPPING_RESUME;
		right &= coll_mapping_run(&ranks[1].mapping, &op, &instance) == COLL_MAPPING_DONE;
		right &= kernel_resume(&ranks[0], &op, instance);
	}
	tap_ok(right && mapping->budget == 5, "a budget that does not pay falls to the least");
}

static void test_formats(void)
{
	struct collective_board head = {
		.version = COLLECTIVE_BOARD_VERSION, .nranks = 3, .first = 256, .part = PART_SIZE,
		.payload = PAGE,
	};
	bool right = coll_mapping_knows(&head, 3) && !coll_mapping_knows(&head, 4) &&
		     coll_mapping_size(&head) == 256 + 3 * PART_SIZE;
	struct collective_board other = head;

	other.version++;
	right &= !coll_mapping_knows(&other, 3);
	other = head;
	other.first = 128;
	right &= !coll_mapping_knows(&other, 3);
	other = head;
	other.part = 1024;
	right &= !coll_mapping_knows(&other, 3);
	other.part = PART_SIZE + 64;
	right &= !coll_mapping_knows(&other, 3);
	other.part = PART_SIZE - 128;
	right &= !coll_mapping_knows(&other, 3);
	other = head;
	other.payload = 0;
	right &= !coll_mapping_knows(&other, 3);
	tap_ok(right, "formats that are not known");
	/* There is no device, and then no mapping. */
	tap_ok(!coll_mapping_new(-1, 0, 3, memory.parts[0]), "no board, no mapping");
	coll_mapping_free(NULL, true);
}

int main(void)
{
	static const u32 sizes[] = { 2, 3, 5, 8 };
	u32 i;

	tap_plan(0);
	test_formats();
	test_algorithms();
	test_left();
	test_handed_over();
	test_wake();
	test_budget();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		test_programs(sizes[i], 4);
		test_programs(sizes[i], 2000);
	}
	test_threads();
	return tap_exit();
}
