// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of an operation is unmapped, moved, copied, discarded, protected or truncated while
 * the operation is in progress. It uses the pages that were mapped at SUBMIT; what is mapped
 * there later does not change.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"

#define SIZE	(1 << 20)
#define COUNT	(SIZE / sizeof(__u32))

struct memory {
	__u32 *send;
	__u32 *recv;
	int file;
};

static __u32 *map(int file)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		       file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Return: 0, or 1 if it could not be done. */
typedef int (*change_fn)(struct memory *m);

static int change_unmap(struct memory *m)
{
	CHECK_EQ(0, munmap(m->send, SIZE));
	CHECK_EQ(0, munmap(m->recv, SIZE));
	m->send = NULL;
	m->recv = NULL;
	return 0;
}

static int change_move(struct memory *m)
{
	void *to = mmap(NULL, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	m->send = mremap(m->send, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	m->recv = mremap(m->recv, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)to + SIZE);
	CHECK(m->send != MAP_FAILED && m->recv != MAP_FAILED);
	return 0;
}

/* After fork(), the child writes to its copy. */
static int change_fork(struct memory *m)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		memset(m->send, 0x5a, SIZE);
		memset(m->recv, 0x5a, SIZE);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	return 0;
}

static int change_drop(struct memory *m)
{
	CHECK_EQ(0, madvise(m->send, SIZE, MADV_DONTNEED));
	CHECK_EQ(0, madvise(m->recv, SIZE, MADV_DONTNEED));
	return 0;
}

static int change_protect(struct memory *m)
{
	CHECK_EQ(0, mprotect(m->send, SIZE, PROT_NONE));
	CHECK_EQ(0, mprotect(m->recv, SIZE, PROT_NONE));
	return 0;
}

static int change_truncate(struct memory *m)
{
	CHECK_EQ(0, ftruncate(m->file, 0));
	return 0;
}

static int change_punch(struct memory *m)
{
	CHECK_EQ(0, fallocate(m->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE));
	return 0;
}

static int start(int fd, const __u32 *send, __u32 *recv, __u64 *request)
{
	const struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.count = COUNT,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};

	return member_start(fd, &op, request);
}

static void fill(__u32 *words, __u32 factor)
{
	size_t i;

	for (i = 0; i < COUNT; i++)
		words[i] = factor * (__u32)i;
}

static bool holds(const __u32 *words, __u32 factor)
{
	size_t i;

	for (i = 0; i < COUNT; i++)
		if (words[i] != factor * (__u32)i)
			return false;
	return true;
}

/* Change rank 0's memory before rank 1 submits. Return what rank 0 has at the address. */
static int change_during_op(const int *fd, struct memory *m, change_fn change)
{
	__u32 *other = map(-1), *sum = map(-1);
	__u64 request[2];

	CHECK(m->send && m->recv && other && sum);
	fill(m->send, 3);
	memset(m->recv, 0x77, SIZE);
	fill(other, 4);
	CHECK_EQ(0, start(fd[0], m->send, m->recv, &request[0]));
	if (change(m))
		return 1;
	CHECK_EQ(0, start(fd[1], other, sum, &request[1]));
	CHECK_EQ(0, member_wait(fd[0], request[0], 0));
	CHECK_EQ(0, member_wait(fd[1], request[1], 0));
	CHECK(holds(sum, 7));
	munmap(other, SIZE);
	munmap(sum, SIZE);
	CHECK_EQ(0, process_value(0, "VmPin:"));
	return 0;
}

static void run(struct __test_metadata *_metadata, FIXTURE_DATA(two_ranks) *self, struct memory *m,
		change_fn change)
{
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, change_during_op(self->fd, m, change));
}

static struct memory anonymous(void)
{
	return (struct memory){ .send = map(-1), .recv = map(-1), .file = -1 };
}

static struct memory of_file(void)
{
	int file = memfd_create("remap_test", 0);

	if (ftruncate(file, SIZE))
		close(file);
	/* The memory that is sent is truncated, the memory of the result is not. */
	return (struct memory){ .send = map(file), .recv = map(-1), .file = file };
}

TEST_F(two_ranks, unmapped)
{
	struct memory m = anonymous();

	run(_metadata, self, &m, change_unmap);
}

TEST_F(two_ranks, moved)
{
	struct memory m = anonymous();

	run(_metadata, self, &m, change_move);
	EXPECT_TRUE(holds(m.recv, 7));
}

TEST_F(two_ranks, forked)
{
	struct memory m = anonymous();

	run(_metadata, self, &m, change_fork);
	EXPECT_TRUE(holds(m.recv, 7));
	EXPECT_TRUE(holds(m.send, 3));
}

TEST_F(two_ranks, dropped)
{
	struct memory m = anonymous();

	run(_metadata, self, &m, change_drop);
	EXPECT_TRUE(holds(m.recv, 0));
	EXPECT_TRUE(holds(m.send, 0));
}

TEST_F(two_ranks, protected)
{
	struct memory m = anonymous();

	run(_metadata, self, &m, change_protect);
	ASSERT_EQ(0, mprotect(m.recv, SIZE, PROT_READ));
	EXPECT_TRUE(holds(m.recv, 7));
}

TEST_F(two_ranks, truncated)
{
	struct memory m = of_file();

	run(_metadata, self, &m, change_truncate);
	EXPECT_TRUE(holds(m.recv, 7));
	close(m.file);
}

TEST_F(two_ranks, punched)
{
	struct memory m = of_file();

	run(_metadata, self, &m, change_punch);
	EXPECT_TRUE(holds(m.recv, 7));
	EXPECT_TRUE(holds(m.send, 0));
	close(m.file);
}

TEST_HARNESS_MAIN
