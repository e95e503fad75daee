// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that stores anything in its words while the kernel executes its operation: nothing is
 * executed twice, and no two threads are at the board; payload for other ranks stays hidden.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include "lib/board_words.h"
#include "kselftest_harness.h"
#include "lib/local_only.h"

#define COUNT	4

FIXTURE(hostile) {
	int fd[2];
	struct board board[2];
	char name[33];
	__u64 id;
};

FIXTURE_SETUP(hostile)
{
	struct sockaddr_storage addr[2];

	group_unique(self->name, sizeof(self->name), &self->id);
	ASSERT_EQ(0, members_make(self->fd, addr, 2, self->name, self->id));
	ASSERT_TRUE(board_open(&self->board[0], self->fd[0], 0, 2));
	ASSERT_TRUE(board_open(&self->board[1], self->fd[1], 1, 2));
}

FIXTURE_TEARDOWN(hostile)
{
	close(self->fd[0]);
	close(self->fd[1]);
}

static struct collective_op call(__u8 opcode, size_t count, const __s64 *send, __s64 *recv)
{
	const bool reduces = opcode == COLLECTIVE_REDUCE || opcode == COLLECTIVE_REDUCE_SCATTER;

	return (struct collective_op){
		.opcode = opcode,
		.type = COLLECTIVE_INT64,
		.reduction = reduces ? COLLECTIVE_SUM : 0,
		.count = count,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
		.timeout_ms = 2000,
	};
}

/* On a CPU of its own, if there are two. */
static void bind_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/**
 * struct thief - a thread that takes the place of an operation away from the kernel
 * @own: words of the rank
 * @instance: the operation; ~0: none
 * @stop: it is to end
 * @hit: it has
 */
struct thief {
	struct board_words *own;
	__u64 instance;
	int stop;
	int hit;
	pthread_t thread;
};

static void *steal(void *arg)
{
	struct thief *thief = arg;
	__u64 p;

	bind_to(1);
	while (!__atomic_load_n(&thief->stop, __ATOMIC_ACQUIRE)) {
		p = board_load(&thief->instance);
		if (p == ~0ULL ||
		    !board_exchange(&thief->own->order, (p + 1) << 2 | ORDER_PROCESS,
				    p << 2 | ORDER_FREE))
			continue;
		__atomic_store_n(&thief->instance, ~0ULL, __ATOMIC_RELEASE);
		__atomic_store_n(&thief->hit, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static int scatter_in_turn(const int *fd, const __s64 *root, __s64 *got)
{
	struct collective_op op = call(COLLECTIVE_SCATTER, COUNT, root, got);
	__s64 unused[COUNT];
	__u64 request;
	int err;

	op.recv = (uintptr_t)unused;
	err = member_start(fd[0], &op, &request);
	op = call(COLLECTIVE_SCATTER, COUNT, NULL, got);
	return err ?: member_submit(fd[1], &op) ?: member_wait(fd[0], request, 0);
}

/* The number of an operation rises whatever the process stores: it is not executed again. */
TEST_F(hostile, replayed)
{
	struct thief thief = { .own = self->board[1].own, .instance = ~0ULL };
	const __s64 root[2 * COUNT] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	__s64 got[COUNT] = { 0 };
	struct collective_op op;
	int i, err = 0;

	ASSERT_EQ(0, pthread_create(&thief.thread, NULL, steal, &thief));
	bind_to(0);
	for (i = 0; !err && i < 20000 && !thief.hit; i++) {
		__atomic_store_n(&thief.instance, self->board[1].own->order >> 2, __ATOMIC_RELEASE);
		err = scatter_in_turn(self->fd, root, got);
		__atomic_store_n(&thief.instance, ~0ULL, __ATOMIC_RELEASE);
		usleep(i % 50);
	}
	__atomic_store_n(&thief.stop, 1, __ATOMIC_RELEASE);
	pthread_join(thief.thread, NULL);
	if (!thief.hit)
		SKIP(return, "the moment was never met");
	/* The call may have ended before, or have been given up. */
	memset(got, 0xff, sizeof(got));
	op = call(COLLECTIVE_SCATTER, COUNT, NULL, got);
	EXPECT_NE(0, member_submit(self->fd[1], &op));
	EXPECT_EQ(-1, got[0]);
}

static bool set_busy_poll(const char *us)
{
	FILE *file = fopen("/sys/module/collective/parameters/busy_poll_us", "w");

	return file && fputs(us, file) >= 0 && !fclose(file);
}

struct caller {
	int fd;
	struct collective_op op;
	int err;
	int done;
	pthread_t thread;
};

static void *caller_run(void *arg)
{
	struct caller *caller = arg;

	bind_to(1);
	caller->err = member_submit(caller->fd, &caller->op);
	__atomic_store_n(&caller->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* A call that names the operation of another thread does not take its place away. */
TEST_F(hostile, named_by_another)
{
	__s64 memory[2][3 * COUNT] = { { 1, 2, 3, 4, 5, 6, 7, 8 }, { 1, 1, 1, 1, 1, 1, 1, 1 } };
	struct caller caller = { .fd = self->fd[1] };
	struct board_words *own = self->board[1].own;
	const struct collective_op wrong[] = {
		{ .opcode = COLLECTIVE_OPCODE_COUNT },
		call(COLLECTIVE_BROADCAST, COUNT, NULL, (void *)8),
	};
	struct collective_op op;
	unsigned int i;
	__u64 word;

	op = call(COLLECTIVE_REDUCE_SCATTER, COUNT, memory[0], memory[0] + 2 * COUNT);
	caller.op = call(COLLECTIVE_REDUCE_SCATTER, COUNT, memory[1], memory[1] + 2 * COUNT);
	/* Once, so that there is memory for all. */
	{
		__u64 request;

		ASSERT_EQ(0, member_start(self->fd[0], &op, &request));
		ASSERT_EQ(0, member_submit(self->fd[1], &caller.op));
		ASSERT_EQ(0, member_wait(self->fd[0], request, 0));
	}
	if (!set_busy_poll("5000000"))
		SKIP(return, "the parameter cannot be set");
	ASSERT_EQ(0, pthread_create(&caller.thread, NULL, caller_run, &caller));
	bind_to(0);
	while (board_load(&own->slot[1].seq) != 2)
		sched_yield();
	word = board_load(&own->order);
	if (word == (2 << 2 | ORDER_PROCESS)) {
		for (i = 0; i < 2; i++)
			EXPECT_NE(0, board_hand_over(&self->board[1], 1, &wrong[i]));
		/* It may have begun to sleep meanwhile, which is its own affair. */
		EXPECT_NE(2 << 2 | ORDER_FREE, board_load(&own->order));
		EXPECT_FALSE(__atomic_load_n(&caller.done, __ATOMIC_ACQUIRE));
	}
	EXPECT_EQ(0, member_submit(self->fd[0], &op));
	pthread_join(caller.thread, NULL);
	EXPECT_EQ(0, caller.err);
	EXPECT_EQ(2, memory[0][2 * COUNT]);
	EXPECT_EQ(6, memory[1][2 * COUNT]);
	EXPECT_TRUE(set_busy_poll("-1"));
}

/* Numbers that the process stores begin no operation. */
TEST_F(hostile, wrong_numbers)
{
	static const __u64 words[] = {
		0, 5ULL << 2 | ORDER_FREE, (1ULL << 48) << 2 | ORDER_FREE, ~0ULL,
		1ULL << 2 | ORDER_PROCESS, 1ULL << 2 | ORDER_KERNEL, 3,
	};
	const __s64 root[2 * COUNT] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	__s64 got[COUNT] = { 0 };
	struct collective_op op = call(COLLECTIVE_SCATTER, COUNT, NULL, got);
	unsigned int i;

	ASSERT_EQ(0, scatter_in_turn(self->fd, root, got));
	op.timeout_ms = 200;
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		self->board[1].own->order = words[i];
		EXPECT_NE(0, member_submit(self->fd[1], &op)) TH_LOG("%llx", words[i]);
	}
	EXPECT_EQ(5, got[0]);
}

TEST_HARNESS_MAIN
