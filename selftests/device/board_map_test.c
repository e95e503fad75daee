// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mapped board: refused mappings; operations that a process executes beside requests of the
 * same rank and of others; hand-over, and its failure; what another thread's call waits for; a
 * process that stores anything.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "lib/board_words.h"
#include "kselftest_harness.h"
#include "lib/local_only.h"

FIXTURE(board) {
	int fd[2];
	struct sockaddr_storage addr[2];
	char name[33];
	__u64 id;
	struct board board[2];
	__u64 digest;
};

struct call {
	int fd;
	__s64 value, sum;
	unsigned int timeout_ms;
	pthread_t thread;
	int err;
};

static void *call_run(void *argument)
{
	struct call *call = argument;
	struct collective_op op = board_op(&call->value, &call->sum);

	op.timeout_ms = call->timeout_ms;
	call->err = member_submit(call->fd, &op);
	return NULL;
}

static void *call_late(void *argument)
{
	sleep_ms(400);
	return call_run(argument);
}

/* A blocking call of another thread. */
static void call_begin(struct call *call, int fd, __s64 value)
{
	*call = (struct call){ .fd = fd, .value = value };
	pthread_create(&call->thread, NULL, call_run, call);
}

static int call_end(struct call *call)
{
	pthread_join(call->thread, NULL);
	return call->err;
}

/* One operation of the kernel on both ranks. */
static int both(int *fd)
{
	__s64 value = 1, sum;
	struct collective_op op = board_op(&value, &sum);
	struct call call;
	int err;

	call_begin(&call, fd[1], 2);
	err = member_submit(fd[0], &op);
	return err ?: call_end(&call) ?: (sum == 3 && call.sum == 3 ? 0 : -EBADMSG);
}

FIXTURE_SETUP(board)
{
	group_unique(self->name, sizeof(self->name), &self->id);
	ASSERT_EQ(0, members_make(self->fd, self->addr, 2, self->name, self->id));
	ASSERT_TRUE(board_open(&self->board[0], self->fd[0], 0, 2));
	ASSERT_TRUE(board_open(&self->board[1], self->fd[1], 1, 2));
	ASSERT_EQ(0, both(self->fd));
	self->digest = board_digest(&self->board[0], 0);
}

FIXTURE_TEARDOWN(board)
{
	close(self->fd[0]);
	close(self->fd[1]);
	EXPECT_EQ(0, munmap(self->board[0].own, BOARD_PART));
}

/* One operation of rank 0 in the process.  Return: the sum, or a negative number. */
static __s64 execute(struct board *board, __u64 digest, __s64 value)
{
	__s64 sum, p = board_take(board);

	if (p < 0)
		return -1;
	board_publish(board, p, digest, value);
	while (!board_complete(board, p))
		if (board_load(&board->own->attention))
			return -2;
	sum = board_sum(board, p);
	return board_finish(board, p) ? -3 : sum;
}

#define EXPECT_MAP(_errno, ...) do {							\
	errno = 0;									\
	EXPECT_EQ(NULL, board_mmap(__VA_ARGS__)) TH_LOG("%s", #__VA_ARGS__);		\
	EXPECT_EQ(_errno, errno) TH_LOG("%s", #__VA_ARGS__);				\
} while (0)

TEST_F(board, refused_mappings)
{
	const int rw = PROT_READ | PROT_WRITE;
	int fd = self->fd[0], status;
	pid_t child;

	EXPECT_MAP(EACCES, fd, BOARD_PAGE, rw, COLLECTIVE_MMAP_BOARD);
	EXPECT_MAP(EACCES, fd, BOARD_PAGE, PROT_READ | PROT_EXEC, COLLECTIVE_MMAP_BOARD);
	EXPECT_MAP(EINVAL, fd, 2 * BOARD_PAGE + 2 * BOARD_PART, PROT_READ, COLLECTIVE_MMAP_BOARD);
	EXPECT_MAP(EINVAL, fd, BOARD_PAGE + BOARD_PART, rw, COLLECTIVE_MMAP_BOARD_OWN);
	EXPECT_MAP(EINVAL, fd, BOARD_PAGE, rw, COLLECTIVE_MMAP_BOARD + BOARD_PAGE);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, BOARD_PAGE, PROT_READ, MAP_PRIVATE, fd,
				   COLLECTIVE_MMAP_BOARD));
	EXPECT_EQ(-1, mprotect((void *)self->board[0].head, BOARD_PAGE, rw));
	EXPECT_EQ(EACCES, errno);
	child = fork();
	if (!child) {
		/* The mapping is not there. */
		if (board_mmap(fd, BOARD_PAGE, PROT_READ, COLLECTIVE_MMAP_BOARD) || errno != EPERM)
			_exit(1);
		signal(SIGSEGV, SIG_DFL);
		_exit(self->board[0].head->version);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) TH_LOG("%x", status);
	EXPECT_EQ(0, member_leave(fd));
	EXPECT_MAP(ENOTCONN, fd, BOARD_PAGE, PROT_READ, COLLECTIVE_MMAP_BOARD);
}

/* A group with ranks that do not want it, or that cannot, has no mapped board. */
TEST(no_board)
{
	static const unsigned int flags[2] = { 0, COLLECTIVE_JOIN_PRIVATE };
	struct sockaddr_storage addr[2];
	struct collective_query query = { .size = sizeof(query) };
	int fd[2], i, k, err;
	char name[33];
	__u64 id;

	for (k = 0; k < 2; k++) {
		group_unique(name, sizeof(name), &id);
		for (i = 0; i < 2; i++) {
			struct collective_join join = {
				.id = id, .rank = i, .nranks = 2, .flags = k ? flags[i] : 0,
				.transport = k ? COLLECTIVE_TRANSPORT_AUTO :
						 COLLECTIVE_TRANSPORT_TCP,
			};

			fd[i] = member_open();
			ASSERT_EQ(0, member_join_as(fd[i], &join, name, &addr[i]));
			EXPECT_MAP(ENOTCONN, fd[i], BOARD_PAGE, PROT_READ, COLLECTIVE_MMAP_BOARD);
			fcntl(fd[i], F_SETFL, O_NONBLOCK);
		}
		for (i = 0; i < 2; i++) {
			err = member_connect(fd[i], addr, 2, 5000);
			ASSERT_TRUE(!err || err == -EINPROGRESS);
		}
		ASSERT_EQ(0, members_await_up(fd, 2));
		for (i = 0; i < 2; i++)
			EXPECT_MAP(k ? EACCES : EOPNOTSUPP, fd[i], BOARD_PAGE, PROT_READ,
				   COLLECTIVE_MMAP_BOARD);
		EXPECT_EQ(0, both(fd));
		close(fd[0]);
		close(fd[1]);
	}
	ASSERT_EQ(0, member_ioctl(fd[0] = member_open(), COLLECTIVE_IOC_QUERY, &query));
	EXPECT_TRUE(query.features & COLLECTIVE_FEATURE_BOARD);
	close(fd[0]);
}

TEST_F(board, head)
{
	const struct collective_board *head = self->board[0].head;

	EXPECT_EQ(COLLECTIVE_BOARD_VERSION, head->version);
	EXPECT_EQ(2, head->nranks);
	EXPECT_EQ(BOARD_PAGE, head->first);
	EXPECT_EQ(BOARD_PART, head->part);
	EXPECT_EQ(BOARD_PAGE, head->payload);
	EXPECT_EQ(1 << 2 | ORDER_FREE, self->board[0].own->order);
	EXPECT_EQ(0, self->board[0].own->attention);
	EXPECT_EQ(self->board[0].own->generation, board_of(&self->board[0], 1)->generation);
	/* A page of payload is the same for all, also if a reader is the first to touch it. */
	EXPECT_EQ(0, *board_page(&self->board[0], 1, 1));
	memset((char *)self->board[1].own + head->payload, 7, 2 * BOARD_PAGE);
	EXPECT_EQ(7, *board_page(&self->board[0], 1, 1));
	EXPECT_EQ(7, *board_page(&self->board[1], 1, 0));
	EXPECT_EQ(0, *board_page(&self->board[1], 0, 0));
	/* Of a page that was dropped, the same is there again. */
	EXPECT_EQ(0, madvise(self->board[1].own, BOARD_PART, MADV_DONTNEED));
	EXPECT_EQ(7, ((char *)self->board[1].own)[head->payload]);
	EXPECT_EQ(0, madvise(self->board[0].own, BOARD_PAGE, MADV_DONTNEED));
	EXPECT_EQ(1 << 2 | ORDER_FREE, self->board[0].own->order);
}

struct executor {
	struct board *board;
	__u64 digest;
	unsigned int wrong, rounds;
	pthread_t thread;
};

static void *executor_run(void *argument)
{
	struct executor *executor = argument;
	unsigned int i;

	for (i = 0; i < executor->rounds; i++)
		executor->wrong += execute(executor->board, executor->digest, i) != 2 * i;
	return NULL;
}

/* Both in the process, then one of them, in turn by the kernel in all forms. */
TEST_F(board, beside_requests)
{
	struct executor other = { &self->board[1], self->digest, .rounds = 400 };
	struct collective_status status = { .size = sizeof(status) };
	__s64 value, sum;
	struct collective_op op = board_op(&value, &sum);
	unsigned int i;
	__u64 request;

	pthread_create(&other.thread, NULL, executor_run, &other);
	for (i = 0; i < other.rounds; i++) {
		value = i;
		sum = -1;
		switch (i / 10 % 3) {
		case 0:
			sum = execute(&self->board[0], self->digest, i);
			break;
		case 1:
			ASSERT_EQ(0, member_submit(self->fd[0], &op));
			break;
		case 2:
			ASSERT_EQ(0, member_start(self->fd[0], &op, &request));
			ASSERT_EQ(0, member_wait(self->fd[0], request, 0));
			break;
		}
		ASSERT_EQ(2 * i, sum) TH_LOG("operation %u", i);
	}
	pthread_join(other.thread, NULL);
	EXPECT_EQ(0, other.wrong);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, member_status(self->fd[i], &status));
		EXPECT_EQ(401, status.submitted);
		EXPECT_EQ(401, status.completed);
	}
	/* And all other operations have their numbers among them. */
	EXPECT_EQ(0, both(self->fd));
}

TEST_F(board, large_ones_beside)
{
	static float a[2][65536], b[2][65536];
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT32, .count = 65536,
	};
	struct executor other = { &self->board[1], self->digest, .rounds = 50 },
			mine = { &self->board[0], self->digest, .rounds = 50 };
	__u64 request[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		op.send = (uintptr_t)a[i];
		op.recv = (uintptr_t)b[i];
		ASSERT_EQ(0, member_start(self->fd[i], &op, &request[i]));
	}
	pthread_create(&other.thread, NULL, executor_run, &other);
	executor_run(&mine);
	pthread_join(other.thread, NULL);
	EXPECT_EQ(0, other.wrong + mine.wrong);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, member_wait(self->fd[i], request[i], 0));
	EXPECT_EQ(52 << 2, self->board[0].own->order & ~3ULL);
}

/* A rank that waits for long hands its operation over, and the kernel wakes and names as ever. */
TEST_F(board, late)
{
	__s64 value = 5, sum = 0;
	struct collective_op op = board_op(&value, &sum);
	long long p = board_take(&self->board[0]);
	struct call call;

	ASSERT_EQ(1, p);
	EXPECT_EQ(-EINVAL, board_hand_over(&self->board[0], 0, &op));
	EXPECT_EQ(-EINVAL, board_hand_over(&self->board[0], 2, &op));
	EXPECT_EQ(-EINVAL, board_hand_over(&self->board[1], 1, &op));
	board_publish(&self->board[0], p, self->digest, 5);
	call_begin(&call, self->fd[1], 7);
	EXPECT_EQ(0, board_hand_over(&self->board[0], p, &op));
	EXPECT_EQ(12, sum);
	EXPECT_EQ(0, call_end(&call));
	EXPECT_EQ(12, call.sum);
	EXPECT_EQ(2 << 2 | ORDER_FREE, self->board[0].own->order);
	/* Also one that is not published yet. */
	p = board_take(&self->board[0]);
	ASSERT_EQ(2, p);
	call_begin(&call, self->fd[1], 8);
	EXPECT_EQ(0, board_hand_over(&self->board[0], p, &op));
	EXPECT_EQ(13, sum);
	EXPECT_EQ(0, call_end(&call));
	EXPECT_EQ(0, both(self->fd));
}

static void *stop_and_go_on(void *argument)
{
	const pid_t *rank = argument;

	sleep_ms(100);
	kill(*rank, SIGSTOP);
	sleep_ms(50);
	kill(*rank, SIGCONT);
	return NULL;
}

/* What interrupts the thread lets it wait for its request, by the same call. */
TEST_F(board, late_and_stopped)
{
	__s64 value = 5, sum = 0;
	struct collective_op op = board_op(&value, &sum);
	struct collective_submit submit;
	long long p = board_take(&self->board[0]);
	struct call call;
	int status;
	pid_t child;

	/* A limit of the wait, then the same struct again. */
	ASSERT_EQ(1, p);
	board_publish(&self->board[0], p, self->digest, 5);
	submit = board_submit(p, &op);
	submit.wait_ms = 50;
	EXPECT_EQ(-EINPROGRESS, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
	EXPECT_NE(0, submit.request);
	call_begin(&call, self->fd[1], 7);
	submit.wait_ms = 0;
	EXPECT_EQ(0, member_ioctl(self->fd[0], COLLECTIVE_IOC_SUBMIT, &submit));
	EXPECT_EQ(0, call_end(&call));
	EXPECT_EQ(12, sum);

	/* The kernel repeats the call of a process that was stopped. */
	p = board_take(&self->board[0]);
	ASSERT_EQ(2, p);
	board_publish(&self->board[0], p, self->digest, 5);
	child = fork();
	if (!child) {
		pid_t parent = getppid();

		stop_and_go_on(&parent);
		_exit(0);
	}
	pthread_create(&call.thread, NULL, call_late, &call);
	EXPECT_EQ(0, board_hand_over(&self->board[0], p, &op));
	EXPECT_EQ(12, sum);
	EXPECT_EQ(0, call_end(&call));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, both(self->fd));
}

/*
 * A rank that waits announces its call, which the other one, whose process executes it, never hears
 * of: nothing is kept of that.
 */
TEST(announced)
{
	struct sockaddr_storage addr[2];
	struct board board;
	long long bytes = 0;
	struct call call;
	unsigned int i;
	int fd[2], err;
	char name[33];
	__u64 id, digest;

	group_unique(name, sizeof(name), &id);
	for (i = 0; i < 2; i++) {
		struct collective_join join = {
			.id = id, .rank = i, .nranks = 2, .heartbeat_ms = 100,
			.transport = COLLECTIVE_TRANSPORT_LOCAL,
		};

		fd[i] = member_open();
		ASSERT_EQ(0, member_join_as(fd[i], &join, name, &addr[i]));
		fcntl(fd[i], F_SETFL, O_NONBLOCK);
	}
	for (i = 0; i < 2; i++) {
		err = member_connect(fd[i], addr, 2, 5000);
		ASSERT_TRUE(!err || err == -EINPROGRESS);
	}
	ASSERT_EQ(0, members_await_up(fd, 2));
	ASSERT_TRUE(board_open(&board, fd[0], 0, 2));
	ASSERT_EQ(0, both(fd));
	digest = board_digest(&board, 0);
	for (i = 0; i < 30; i++) {
		if (i == 5)
			bytes = member_memory(name, 0);
		call_begin(&call, fd[1], 7);
		sleep_ms(150);
		EXPECT_EQ(12, execute(&board, digest, 5));
		EXPECT_EQ(0, call_end(&call));
	}
	EXPECT_GE(bytes, member_memory(name, 0));
	EXPECT_EQ(0, both(fd));
	close(fd[0]);
	close(fd[1]);
}

/* Three operations fail before this rank calls them: it hears of each. */
TEST_F(board, failures_ahead)
{
	__s64 values[3] = { 1, 1, 1 }, sums[3];
	__u64 requests[3];
	struct collective_op op;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		op = board_op(&values[i], &sums[i]);
		op.timeout_ms = 100;
		ASSERT_EQ(0, member_start(self->fd[1], &op, &requests[i]));
	}
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ETIMEDOUT, member_wait(self->fd[1], requests[i], 0));
	while (!board_load(&self->board[0].own->attention))
		sleep_ms(1);
	sleep_ms(100);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-1, board_take(&self->board[0])) TH_LOG("operation %u", i);
		op = board_op(&values[i], &sums[i]);
		EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[0], &op));
	}
	EXPECT_EQ(0, self->board[0].own->attention);
	EXPECT_EQ(0, both(self->fd));
}

/* Requests without a place, and those with a key, are handed over by no process. */
TEST_F(board, not_the_operation)
{
	__s64 value = 5, sum = 0;
	struct collective_op op = board_op(&value, &sum);
	struct collective_op keyed = op;
	long long p = board_take(&self->board[0]);
	struct call call;

	ASSERT_EQ(1, p);
	keyed.flags = COLLECTIVE_F_KEYED;
	EXPECT_EQ(-EINVAL, board_hand_over(&self->board[0], p, &keyed));
	/* It was not published, so it has no place. */
	EXPECT_EQ(1 << 2 | ORDER_FREE, self->board[0].own->order);
	call_begin(&call, self->fd[1], 7);
	EXPECT_EQ(0, member_submit(self->fd[0], &op));
	EXPECT_EQ(0, call_end(&call));
	EXPECT_EQ(12, sum);
}

/* Without memory for the result this rank gives up, and the others do not notice. */
TEST_F(board, late_without_memory)
{
	__s64 value = 5;
	struct collective_op op = board_op(&value, NULL);
	long long p = board_take(&self->board[0]);
	struct call call;

	ASSERT_EQ(1, p);
	board_publish(&self->board[0], p, self->digest, 5);
	call_begin(&call, self->fd[1], 7);
	EXPECT_EQ(-EFAULT, board_hand_over(&self->board[0], p, &op));
	EXPECT_EQ(0, call_end(&call));
	EXPECT_EQ(12, call.sum);
	EXPECT_EQ(2 << 2 | ORDER_FREE, self->board[0].own->order);
	EXPECT_EQ(0, both(self->fd));
}

/* A call of another thread waits until this one hands its operation over, or ends it. */
TEST_F(board, calls_wait)
{
	__s64 value = 5, sum = 0;
	struct collective_op op = board_op(&value, &sum);
	struct call mine, first, second;
	long long p = board_take(&self->board[0]);

	ASSERT_EQ(1, p);
	board_publish(&self->board[0], p, self->digest, 5);
	call_begin(&mine, self->fd[0], 100);
	while (!board_load(&self->board[0].own->attention))
		sleep_ms(1);
	call_begin(&first, self->fd[1], 7);
	EXPECT_EQ(0, board_hand_over(&self->board[0], p, &op));
	EXPECT_EQ(12, sum);
	EXPECT_EQ(0, call_end(&first));
	call_begin(&second, self->fd[1], 200);
	EXPECT_EQ(0, call_end(&mine));
	EXPECT_EQ(0, call_end(&second));
	EXPECT_EQ(300, mine.sum);
	EXPECT_EQ(0, self->board[0].own->attention);

	p = board_take(&self->board[0]);
	ASSERT_EQ(3, p);
	board_publish(&self->board[0], p, self->digest, 5);
	call_begin(&mine, self->fd[0], 100);
	call_begin(&first, self->fd[1], 7);
	while (!board_load(&self->board[0].own->attention) ||
	       !board_complete(&self->board[0], p))
		sleep_ms(1);
	EXPECT_EQ(12, board_sum(&self->board[0], p));
	EXPECT_EQ(0, board_finish(&self->board[0], p));
	EXPECT_EQ(0, call_end(&first));
	call_begin(&second, self->fd[1], 200);
	EXPECT_EQ(0, call_end(&mine));
	EXPECT_EQ(0, call_end(&second));
	EXPECT_EQ(300, mine.sum);
}

/* An operation fails that this rank is at: it hands it over, and gets the reason. */
TEST_F(board, failure)
{
	struct collective_status status = { .size = sizeof(status) };
	__s64 value = 5, sum = 0;
	struct collective_op op = board_op(&value, &sum);
	struct call call = { .fd = self->fd[1], .value = 1, .timeout_ms = 100 };
	long long p;

	/* Its deadline is over before this rank has called it. */
	pthread_create(&call.thread, NULL, call_run, &call);
	EXPECT_EQ(-ETIMEDOUT, call_end(&call));
	while (!board_load(&self->board[0].own->attention))
		sleep_ms(1);
	EXPECT_EQ(-1, board_take(&self->board[0]));
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[0], &op));
	EXPECT_EQ(0, self->board[0].own->attention);
	EXPECT_EQ(0, both(self->fd));

	/* Another call than that of this rank. */
	p = board_take(&self->board[0]);
	ASSERT_EQ(3, p);
	board_publish(&self->board[0], p, self->digest, 5);
	op.count = 1;
	call_begin(&call, self->fd[1], 1);
	op.reduction = COLLECTIVE_MAX;
	EXPECT_EQ(-EBADMSG, board_hand_over(&self->board[0], p, &op));
	call_end(&call);
	ASSERT_EQ(0, member_status(self->fd[0], &status));
	EXPECT_EQ(COLLECTIVE_REASON_MISMATCH, status.last.kind);
	EXPECT_EQ(3, status.last.instance);
}

/* Payload that only one rank may see is in no slot. */
TEST_F(board, payload_of_others)
{
	__s64 values[2] = { 0x1234567, 0x89abcde }, value[2];
	struct collective_op op = {
		.opcode = COLLECTIVE_SCATTER, .type = COLLECTIVE_INT64, .count = 1,
		.send = (uintptr_t)values, .recv = (uintptr_t)&value[0],
	};
	const __u8 *words = (const void *)board_of(&self->board[1], 0);
	__u64 request;

	ASSERT_EQ(0, member_start(self->fd[0], &op, &request));
	op.send = 0;
	op.recv = (uintptr_t)&value[1];
	ASSERT_EQ(0, member_submit(self->fd[1], &op));
	ASSERT_EQ(0, member_wait(self->fd[0], request, 0));
	EXPECT_EQ(values[0], value[0]);
	EXPECT_EQ(values[1], value[1]);
	EXPECT_EQ(2, board_of(&self->board[1], 0)->slot[1].seq);
	EXPECT_EQ(NULL, memmem(words, BOARD_PAGE, &values[0], 8));
	EXPECT_EQ(NULL, memmem(words, BOARD_PAGE, &values[1], 8));
}

/* LEAVE of a process that is at an operation fails the group, as with a request in flight. */
TEST_F(board, leave_at_an_operation)
{
	__s64 value = 5, sum = 0;
	struct collective_op op = board_op(&value, &sum);
	struct call call;

	ASSERT_EQ(1, board_take(&self->board[0]));
	board_publish(&self->board[0], 1, self->digest, 5);
	EXPECT_EQ(0, member_leave(self->fd[0]));
	EXPECT_NE(0, self->board[0].own->attention);
	/* The other rank has this one's input, and no more. */
	call_begin(&call, self->fd[1], 1);
	call_end(&call);
	call_begin(&call, self->fd[1], 1);
	EXPECT_EQ(-ECONNRESET, call_end(&call));
	EXPECT_EQ(-ECANCELED, board_hand_over(&self->board[0], 1, &op));
	/* The mapping is still there. */
	EXPECT_EQ(2, board_of(&self->board[1], 0)->order >> 2);
}

TEST(broken_order)
{
	static const __u64 bad[] = { 0, ~0ULL, 1ULL << 50, 1 << 2 | 3, 1 << 2 | ORDER_PROCESS };
	struct collective_status status = { .size = sizeof(status) };
	__s64 value = 5, sum = 0;
	struct collective_op op = board_op(&value, &sum);
	struct sockaddr_storage addr[2];
	struct board board;
	unsigned int i;
	char name[33];
	int fd[2];
	__u64 id;

	for (i = 0; i < 5; i++) {
		group_unique(name, sizeof(name), &id);
		ASSERT_EQ(0, members_make(fd, addr, 2, name, id));
		ASSERT_TRUE(board_open(&board, fd[0], 0, 2));
		ASSERT_EQ(0, both(fd));
		board.own->order = bad[i];
		EXPECT_EQ(-EPROTO, member_submit(fd[0], &op)) TH_LOG("%u", i);
		EXPECT_EQ(-EPROTO, member_submit(fd[1], &op)) TH_LOG("%u", i);
		ASSERT_EQ(0, member_status(fd[1], &status));
		EXPECT_EQ(COLLECTIVE_REASON_PROTOCOL, status.group.kind);
		EXPECT_EQ(0, status.group.rank_a);
		close(fd[0]);
		close(fd[1]);
	}
}

struct scribbler {
	__u8 *page;
	unsigned int stop, seed;
};

static void *scribble(void *argument)
{
	struct scribbler *scribbler = argument;
	unsigned int seed = scribbler->seed;

	while (!__atomic_load_n(&scribbler->stop, __ATOMIC_RELAXED)) {
		__u64 *word = (__u64 *)scribbler->page + rand_r(&seed) % 180;

		__atomic_store_n(word, rand_r(&seed) % 3 ? (__u64)rand_r(&seed) % 64 :
				 ((__u64)rand_r(&seed) << 33 | rand_r(&seed)), __ATOMIC_RELAXED);
	}
	return NULL;
}

/* A process that stores anything at any time harms its group only. */
TEST_F(board, scribbled)
{
	struct scribbler scribbler = { (void *)self->board[0].own, 0, self->id };
	struct collective_status status = { .size = sizeof(status) };
	__s64 value = 5, sum = 0;
	struct collective_op op = board_op(&value, &sum);
	pthread_t thread;
	struct call call;
	__u64 end = now_ms() + 1500;

	op.timeout_ms = 50;
	pthread_create(&thread, NULL, scribble, &scribbler);
	while (now_ms() < end) {
		call = (struct call){ .fd = self->fd[1], .value = 1, .timeout_ms = 50 };
		pthread_create(&call.thread, NULL, call_run, &call);
		member_submit(self->fd[0], &op);
		board_hand_over(&self->board[0], rand() % 64, &op);
		board_wake(&self->board[0]);
		call_end(&call);
		member_status(self->fd[0], &status);
	}
	scribbler.stop = 1;
	pthread_join(thread, NULL);
}

TEST_HARNESS_MAIN
