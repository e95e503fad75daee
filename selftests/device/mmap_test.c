// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is mapped from the device: its contents, refused mappings, the limit that it counts
 * against, and that it outlives the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/wait.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/memlock.h"
#include "lib/one_rank.h"
#include "lib/values.h"

#define PAGE	4096UL
#define MIB	(1UL << 20)

static __u8 *map_at(int fd, size_t length, int flags, off_t off)
{
	__u8 *at = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, fd, off);

	return at == MAP_FAILED ? NULL : at;
}

static __u8 *map(int fd, size_t length)
{
	return map_at(fd, length, MAP_SHARED, 0);
}

TEST_F(one_rank, zeroed_and_ours)
{
	__u8 *at = map(self->fd, 4 * MIB + PAGE);
	__u8 *other = map(self->fd, PAGE);

	ASSERT_TRUE(at && other);
	EXPECT_TRUE(all_are(at, 0, 4 * MIB + PAGE));
	memset(at, 5, 4 * MIB + PAGE);
	EXPECT_TRUE(all_are(at, 5, 4 * MIB + PAGE));
	EXPECT_TRUE(all_are(other, 0, PAGE));
	EXPECT_EQ(0, munmap(at, 4 * MIB + PAGE));
	/* A new mapping is zeroed. */
	at = map(self->fd, 4 * MIB);
	ASSERT_NE(NULL, at);
	EXPECT_TRUE(all_are(at, 0, 4 * MIB));
}

/* Also before JOIN. */
TEST(refused)
{
	int fd = member_open(), reader = open("/dev/collective", O_RDONLY | O_CLOEXEC);

#define EXPECT_MAP(_errno, ...) do {							\
	errno = 0;									\
	EXPECT_EQ(NULL, map_at(__VA_ARGS__)) TH_LOG("%s", #__VA_ARGS__);		\
	EXPECT_EQ(_errno, errno) TH_LOG("%s", #__VA_ARGS__);				\
} while (0)
	ASSERT_LE(0, fd);
	EXPECT_MAP(EINVAL, fd, PAGE, MAP_PRIVATE, 0);
	EXPECT_MAP(EINVAL, fd, PAGE, MAP_SHARED, PAGE);
	EXPECT_MAP(EINVAL, fd, 0, MAP_SHARED, 0);
	EXPECT_MAP(ENOMEM, fd, 1UL << 46, MAP_SHARED, 0);
	EXPECT_MAP(EACCES, reader, PAGE, MAP_SHARED, 0);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, reader, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_NE(NULL, map(fd, PAGE));
	close(reader);
	close(fd);
}

/* MADV_DONTNEED discards it, as for anonymous memory. */
TEST_F(one_rank, dropped)
{
	__u8 *at = map(self->fd, MIB);

	ASSERT_NE(NULL, at);
	memset(at, 6, MIB);
	ASSERT_EQ(0, madvise(at + PAGE, 8 * PAGE, MADV_DONTNEED));
	EXPECT_TRUE(all_are(at, 6, PAGE));
	EXPECT_EQ(0, at[PAGE]);
	at[2 * PAGE] = 1;
	EXPECT_EQ(1, at[2 * PAGE]);
	/* The kernel accesses a page that is not present. */
	EXPECT_EQ(0, member_allreduce(self->fd, at + PAGE, at + MIB / 2, 8 * PAGE,
				      COLLECTIVE_UINT8, COLLECTIVE_SUM));
	EXPECT_TRUE(all_are(at + MIB / 2, 0, PAGE));
	EXPECT_EQ(1, at[MIB / 2 + PAGE]);
	EXPECT_TRUE(all_are(at + 9 * PAGE, 6, MIB / 2 - 9 * PAGE));
}

/* Most of it consists of compound pages of at least 16 pages, even on a fragmented machine. */
TEST_F(one_rank, large_pieces)
{
	const size_t n = 8 * MIB / PAGE;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	__u8 *at = map(self->fd, 8 * MIB);
	__u64 *frames = calloc(n, sizeof(*frames));
	size_t i, together = 0;

	ASSERT_TRUE(at && frames);
	ASSERT_LE(0, fd);
	ASSERT_EQ(n * 8, pread(fd, frames, n * 8, (uintptr_t)at / PAGE * 8));
	for (i = 0; i < n; i++) {
		EXPECT_TRUE(frames[i] >> 63) TH_LOG("page %zu is not there", i);
		together += i && frames[i] == frames[i - 1] + 1;
	}
	EXPECT_LE(n * 15 / 16, together);
	free(frames);
	close(fd);
}

/* KPF_COMPOUND_HEAD and KPF_COMPOUND_TAIL */
#define COMPOUND	(3ULL << 15)

static int page_flags(int pagemap, int flags, const __u8 *at, __u64 *bits)
{
	__u64 frame;

	if (pread(pagemap, &frame, sizeof(frame), (uintptr_t)at / PAGE * 8) != sizeof(frame) ||
	    !(frame >> 63))
		return -1;
	frame &= (1ULL << 55) - 1;
	return pread(flags, bits, sizeof(*bits), frame * 8) == sizeof(*bits) ? 0 : -1;
}

/* A program that receives part of a compound page over TCP cannot map it with zero copy. */
TEST_F(one_rank, compound)
{
	const size_t n = MIB / PAGE + 3;
	int flags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	__u8 *at = map(self->fd, n * PAGE), *single = map(self->fd, PAGE);
	__u64 bits;
	size_t i;

	if (flags < 0)
		SKIP(return, "no /proc/kpageflags");
	ASSERT_LE(0, pagemap);
	ASSERT_TRUE(at && single);
	ASSERT_EQ(0, madvise(at + PAGE, PAGE, MADV_DONTNEED));
	ASSERT_EQ(0, madvise(at + 8 * PAGE, 2 * PAGE, MADV_DONTNEED));
	EXPECT_TRUE(all_are(at, 0, n * PAGE));
	memset(at, 1, n * PAGE);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, page_flags(pagemap, flags, at + i * PAGE, &bits));
		EXPECT_TRUE(bits & COMPOUND) TH_LOG("page %zu of %zu", i, n);
	}
	ASSERT_EQ(0, page_flags(pagemap, flags, single, &bits));
	EXPECT_TRUE(bits & COMPOUND);
	close(pagemap);
	close(flags);
}

TEST_F(one_rank, used_after_unmapping)
{
	__u8 *at = map(self->fd, 2 * MIB), *result = map(self->fd, MIB);
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.count = MIB,
		.send = (uintptr_t)at,
		.recv = (uintptr_t)result,
	};

	ASSERT_TRUE(at && result);
	memset(at, 0x77, 2 * MIB);
	ASSERT_EQ(0, member_register(self->fd, at, MIB, 0, &op.send_buffer));
	ASSERT_EQ(0, munmap(at, 2 * MIB));
	EXPECT_EQ(0, member_submit(self->fd, &op));
	EXPECT_TRUE(all_are(result, 0x77, MIB));
	EXPECT_EQ(0, member_unregister(self->fd, op.send_buffer));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	/* By a rank with a read-only mapping of it. */
	ASSERT_EQ(0, mprotect(result, MIB, PROT_READ));
	op.send_buffer = 0;
	op.send = op.recv;
	EXPECT_EQ(-EFAULT, member_submit(self->fd, &op));
}

/* The end of the file is the end of the member, not of the memory. */
TEST_F(one_rank, file_closed)
{
	struct sockaddr_storage addr;
	char name[33];
	__u64 id;
	__u8 *at;
	int fd, again;

	group_unique(name, sizeof(name), &id);
	fd = member_open();
	ASSERT_EQ(0, member_join(fd, name, id, 0, 1, &addr));
	at = map(fd, MIB);
	ASSERT_NE(NULL, at);
	again = member_open();
	ASSERT_NE(0, member_join(again, name, id, 0, 1, &addr));
	close(fd);
	EXPECT_EQ(0, member_join(again, name, id, 0, 1, &addr));
	memset(at, 1, MIB);
	EXPECT_EQ(0, member_allreduce(self->fd, at, at, MIB, COLLECTIVE_UINT8, COLLECTIVE_SUM));
	EXPECT_TRUE(all_are(at, 1, MIB));
	close(again);
}

TEST_F(one_rank, moved_and_cut)
{
	__u8 *at = map(self->fd, 2 * MIB), *place = map(self->fd, 2 * MIB);

	ASSERT_TRUE(at && place);
	memset(at, 3, 2 * MIB);
	EXPECT_EQ(MAP_FAILED, mremap(at, 2 * MIB, 3 * MIB, MREMAP_MAYMOVE));
	ASSERT_EQ(place, mremap(at, 2 * MIB, 2 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, place));
	EXPECT_TRUE(all_are(place, 3, 2 * MIB));
	ASSERT_EQ(0, munmap(place + MIB / 2, MIB));
	EXPECT_EQ(0, member_allreduce(self->fd, place, place + 3 * MIB / 2, MIB / 2,
				      COLLECTIVE_UINT8, COLLECTIVE_SUM));
	EXPECT_TRUE(all_are(place, 3, MIB / 2));
	EXPECT_EQ(-EFAULT, member_allreduce(self->fd, place, place, MIB, COLLECTIVE_UINT8,
					    COLLECTIVE_SUM));
}

TEST_F(one_rank, no_child_has_it)
{
	__u8 *at = map(self->fd, MIB);
	int status;
	pid_t pid;

	ASSERT_NE(NULL, at);
	memset(at, 4, MIB);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(msync(at, PAGE, MS_ASYNC) ? errno : 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(ENOMEM, WEXITSTATUS(status));
	EXPECT_TRUE(all_are(at, 4, MIB));
}

/* It counts until the last of it is unmapped. */
TEST_F(one_rank, limit)
{
	__u8 *at;
	int i;

	ASSERT_TRUE(memlock_limit(MIB));
	at = map(self->fd, 2 * MIB);
	ASSERT_NE(NULL, at);
	ASSERT_TRUE(drop_ipc_lock());
	EXPECT_EQ(NULL, map(self->fd, MIB + 1));
	EXPECT_EQ(EDQUOT, errno);
	/* Memory that was mapped without a limit does not count. */
	EXPECT_EQ(0, munmap(at, 2 * MIB));
	for (i = 0; i < 8; i++) {
		__u32 buffer;

		at = map(self->fd, MIB);
		ASSERT_NE(NULL, at);
		EXPECT_EQ(NULL, map(self->fd, 1));
		EXPECT_EQ(EDQUOT, errno);
		EXPECT_EQ(-EDQUOT, member_register(self->fd, at, 1, 0, &buffer));
		EXPECT_EQ(0, munmap(at, MIB / 2));
		EXPECT_EQ(NULL, map(self->fd, 1));
		EXPECT_EQ(0, munmap(at + MIB / 2, MIB / 2));
	}
	at = map(self->fd, MIB / 2);
	ASSERT_NE(NULL, at);
	EXPECT_EQ(0, member_allreduce(self->fd, at, at, MIB / 2, COLLECTIVE_UINT8,
				      COLLECTIVE_SUM));
}

/* A page that is present again counts with its compound page of at least two pages, in addition. */
TEST_F(one_rank, dropped_and_limit)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	__u8 *at, *last;
	int i;

	ASSERT_LE(0, zero);
	ASSERT_TRUE(memlock_limit(3 * MIB / 2));
	ASSERT_TRUE(drop_ipc_lock());
	at = map(self->fd, MIB / 2);
	ASSERT_NE(NULL, at);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, madvise(at, MIB / 2, MADV_DONTNEED));
		EXPECT_TRUE(all_are(at, 0, MIB / 2));
		memset(at, 8, MIB / 2);
		EXPECT_EQ(NULL, map(self->fd, 1));
		EXPECT_EQ(EDQUOT, errno);
	}
	EXPECT_EQ(0, munmap(at, MIB / 2));

	at = map(self->fd, MIB / 2);
	last = map(self->fd, MIB);
	ASSERT_TRUE(at && last);
	ASSERT_EQ(0, madvise(at, PAGE, MADV_DONTNEED));
	EXPECT_EQ(-1, read(zero, at, 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, munmap(last, MIB));
	EXPECT_EQ(1, read(zero, at, 1));
	EXPECT_EQ(0, munmap(at, MIB / 2));
	EXPECT_NE(NULL, map(self->fd, MIB));
	close(zero);
}

/* Between ranks: sent without a copy, with correct results. */
static int rank_exchange(struct rank *r)
{
	const size_t n = 4 * MIB;
	__u8 *in = map(r->fd, n), *out = map(r->fd, n);
	__u32 buffer;
	int i;

	CHECK(in && out);
	CHECK_EQ(0, member_register(r->fd, in, n, 0, &buffer));
	for (i = 0; i < 5; i++) {
		memset(in, r->rank + i, n);
		memset(out, 0xff, n);
		CHECK_EQ(0, member_allreduce(r->fd, in, out, n, COLLECTIVE_UINT8,
					     COLLECTIVE_SUM));
		CHECK(all_are(out, 3 + 3 * i, n));
		CHECK(all_are(in, r->rank + i, n));
	}
	CHECK_EQ(rank_value(r, "bytes_sent"), rank_value(r, "zero_copy_bytes"));
	return 0;
}

TEST(exchange)
{
	const struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_exchange, NULL));
}

TEST_HARNESS_MAIN
