// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pin of one page keeps its whole folio: what counts against RLIMIT_MEMLOCK when the rest is
 * unmapped, and that many buffers in one folio still fit in a small limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/memlock.h"

#define PAGE	4096UL
#define KIB	1024UL
#define MIB	(1024 * KIB)
#define MTHP	"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"

/* KPF_COMPOUND_HEAD and KPF_COMPOUND_TAIL */
#define HEAD	(1ULL << 15)
#define TAIL	(1ULL << 16)

FIXTURE(folio) {
	int fd;
	int again;
	int pagemap;
	int flags;
};

FIXTURE_VARIANT(folio) {
	size_t size;		/* of a folio */
	size_t limit;
	bool device;
};

FIXTURE_VARIANT_ADD(folio, device) {
	.size = 2 * MIB,
	.limit = 8 * MIB,
	.device = true,
};

FIXTURE_VARIANT_ADD(folio, device_small) {
	.size = 64 * KIB,
	.limit = MIB,
	.device = true,
};

FIXTURE_VARIANT_ADD(folio, huge) {
	.size = 2 * MIB,
	.limit = 8 * MIB,
};

FIXTURE_VARIANT_ADD(folio, middle) {
	.size = 64 * KIB,
	.limit = MIB,
};

static int member_alone(void)
{
	struct sockaddr_storage addr;
	int fd = member_open();
	char name[33];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	return member_join(fd, name, id, 0, 1, &addr) ||
	       member_connect(fd, &addr, 1, 1000) ? -1 : fd;
}

FIXTURE_SETUP(folio)
{
	if (!variant->device && variant->size == 64 * KIB) {
		int mthp = open(MTHP, O_WRONLY | O_CLOEXEC);

		if (mthp < 0)
			SKIP(return, "no anonymous memory in folios of 64 KiB");
		ASSERT_EQ(6, write(mthp, "always", 6));
		close(mthp);
	}
	self->fd = member_alone();
	self->again = member_alone();
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->again);
	/* Opened with all rights. */
	self->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	self->flags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	ASSERT_TRUE(memlock_limit(variant->limit));
	ASSERT_TRUE(drop_ipc_lock());
}

FIXTURE_TEARDOWN(folio)
{
	close(self->fd);
	close(self->again);
	close(self->pagemap);
	close(self->flags);
}

/* Return: an aligned folio's memory, alone in its mapping, which begins there; NULL: errno. */
static __u8 *piece(int fd, size_t size, bool device)
{
	__u8 *at, *start;

	if (device) {
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		return at == MAP_FAILED ? NULL : at;
	}
	at = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	start = (__u8 *)(((uintptr_t)at + size - 1) & ~(size - 1));
	if (start > at)
		munmap(at, start - at);
	munmap(start + size, at + size - start);
	madvise(start, size, MADV_HUGEPAGE);
	memset(start, 1, size);
	return start;
}

/* Return: true if the memory at @at is one folio, as far as the kernel tells. */
static bool is_folio(int pagemap, int flags, const __u8 *at, size_t size)
{
	__u64 frame, bits;
	size_t i;

	if (pread(pagemap, &frame, sizeof(frame), (uintptr_t)at / PAGE * 8) != sizeof(frame))
		return false;
	frame &= (1ULL << 55) - 1;
	for (i = 0; i < size / PAGE; i++)
		if (pread(flags, &bits, sizeof(bits), (frame + i) * 8) != sizeof(bits) ||
		    !(bits & (i ? TAIL : HEAD)))
			return false;
	return true;
}

/* A page of each of many folios stays pinned, and the rest is unmapped. */
TEST_F(folio, rest_unmapped)
{
	const unsigned int most = variant->limit / variant->size;
	unsigned int n, whole = 0;
	__u32 buffer;
	int err = 0;

	for (n = 0; n < 4 * most; n++) {
		__u8 *at = piece(self->fd, variant->size, variant->device);

		if (!at) {
			ASSERT_EQ(EDQUOT, errno);
			break;
		}
		whole += is_folio(self->pagemap, self->flags, at, variant->size);
		/* The pages of the device count while they are mapped, too. */
		err = member_register(self->fd, at + (n % 3) * PAGE, PAGE, 0, &buffer);
		munmap(at, variant->size);
		if (err)
			break;
	}
	if (self->flags < 0 || whole < n)
		SKIP(return, "%u of %u folios have %zu KiB", whole, n, variant->size / KIB);
	EXPECT_GE(most, n);
	EXPECT_LE(most - 1, n);
	EXPECT_TRUE(!err || err == -EDQUOT);
	EXPECT_EQ(n * 4, process_value(0, "VmPin:"));

	/* All of it comes back with the member. */
	close(self->fd);
	self->fd = member_alone();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, process_value(0, "VmPin:"));
	for (n = 0; n < 2; n++) {
		__u8 *at = mmap(NULL, variant->limit, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		ASSERT_NE(MAP_FAILED, at);
		/* A kernel without huge pages refuses that. */
		(void)madvise(at, variant->limit, MADV_NOHUGEPAGE);
		EXPECT_EQ(n ? -EDQUOT : 0,
			  member_register(self->fd, at, variant->limit, 0, &buffer));
	}
}

/* The same folio many times, by two members: it counts whole once, and then as it is pinned. */
TEST_F(folio, many_buffers)
{
	const unsigned int pages = variant->size / PAGE, n = pages > 500 ? 1000 : 2 * pages;
	__u8 *at = piece(self->fd, variant->size, variant->device);
	__u32 buffer[1024], more;
	unsigned int i;
	bool whole;

	ASSERT_NE(NULL, at);
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, member_register(i % 2 ? self->fd : self->again,
					     at + i / 2 % pages * PAGE, PAGE, 0, &buffer[i]))
			TH_LOG("buffer %u", i);
	EXPECT_EQ(n * 4, process_value(0, "VmPin:"));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, member_allreduce(self->fd, at + i % pages * PAGE,
					      at + i % pages * PAGE, 8, COLLECTIVE_UINT8,
					      COLLECTIVE_SUM));
	/* One is left, which keeps all of it. */
	for (i = 1; i < n; i++)
		ASSERT_EQ(0, member_unregister(i % 2 ? self->fd : self->again, buffer[i]));
	whole = is_folio(self->pagemap, self->flags, at, variant->size);
	munmap(at, variant->size);
	at = mmap(NULL, variant->limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, at);
	/* A kernel without huge pages refuses that. */
	(void)madvise(at, variant->limit, MADV_NOHUGEPAGE);
	ASSERT_EQ(0, member_register(self->fd, at, variant->limit - variant->size, 0, &more));
	ASSERT_EQ(0, member_unregister(self->fd, more));
	if (whole)
		EXPECT_EQ(-EDQUOT, member_register(self->fd, at,
						   variant->limit - variant->size + PAGE, 0,
						   &more));
	ASSERT_EQ(0, member_unregister(self->again, buffer[0]));
	EXPECT_EQ(0, member_register(self->fd, at, variant->limit, 0, &more));
}

/* Buffers of part of a folio, of all of it, and across two. */
TEST_F(folio, edges)
{
	const size_t size = variant->size;
	__u8 *at = piece(self->fd, size, variant->device), *all;
	__u32 part, whole, rest, most;

	ASSERT_NE(NULL, at);
	ASSERT_EQ(0, member_register(self->fd, at + PAGE, 2 * PAGE, 0, &part));
	ASSERT_EQ(0, member_register(self->fd, at, size, 0, &whole));
	ASSERT_EQ(0, member_register(self->again, at + PAGE / 2, size - PAGE, 0, &rest));
	ASSERT_EQ(0, member_unregister(self->fd, part));
	ASSERT_EQ(0, member_unregister(self->again, rest));
	ASSERT_EQ(0, member_unregister(self->fd, whole));
	munmap(at, size);
	all = mmap(NULL, variant->limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, all);
	/* A kernel without huge pages refuses that. */
	(void)madvise(all, variant->limit, MADV_NOHUGEPAGE);
	EXPECT_EQ(0, member_register(self->fd, all, variant->limit, 0, &most));
}

TEST_HARNESS_MAIN
