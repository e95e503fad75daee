// SPDX-License-Identifier: GPL-2.0-only
/*
 * The error text describes the last failure; for EFAULT it describes what is wrong with the
 * memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"

#define NRANKS	2
#define PAGES	(256 << 10)

static bool says(struct lib_rank *me, const char *text)
{
	char copied[COLL_DETAIL_SIZE], little[8];
	const char *said = coll_error_detail(me->comm);

	if (strstr(said, text) && !coll_error_detail_r(me->comm, copied, sizeof(copied)) &&
	    !strcmp(said, copied) && !coll_error_detail_r(me->comm, little, sizeof(little)) &&
	    !strncmp(said, little, sizeof(little) - 1) && strlen(little) < sizeof(little))
		return true;
	dprintf(STDOUT_FILENO, "# %s\n", said);
	return false;
}

/* Refused calls and failures of the group in turn. */
static int rank_last(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	struct coll_request *request;
	char x = 0;

	CHECK_EQ(-EINVAL, coll_error_detail_r(comm, NULL, 8));
	CHECK_EQ(-EINVAL, coll_error_detail_r(comm, &x, 0));
	CHECK_EQ(-EINVAL, coll_send(comm, &x, 1, COLL_INT8, 7, 1));
	CHECK(says(me, "send refused: there is no rank 7"));
	/* A mismatch, then a refused call, then a mismatch. */
	CHECK_EQ(-EBADMSG, coll_broadcast(comm, &x, me->rank, COLL_INT8, 0));
	CHECK(says(me, "made different calls"));
	CHECK_EQ(-EINVAL, coll_isend(comm, &x, 1, COLL_INT8, 7, 1, &request));
	CHECK(says(me, "no rank 7"));
	CHECK_EQ(0, coll_ibroadcast(comm, &x, me->rank, COLL_INT8, 0, &request));
	CHECK_EQ(-EBADMSG, coll_wait(request));
	CHECK(says(me, "made different calls"));
	CHECK_EQ(-EINVAL, coll_register(comm, &x, 1, 1U << 9));
	CHECK(says(me, "register refused: there are no flags 0x200"));
	CHECK(flag_barrier(me->shared, 0, NRANKS));
	if (me->rank)
		_exit(0);
	CHECK_EQ(-ECONNRESET, coll_barrier(comm));
	CHECK(says(me, "rank 1 died"));
	CHECK_EQ(-EINVAL, coll_send(comm, &x, 1, COLL_INT8, 7, 1));
	CHECK(says(me, "no rank 7"));
	CHECK_EQ(-ECONNRESET, coll_barrier(comm));
	CHECK(says(me, "rank 1 died"));
	CHECK_EQ(-EINVAL, coll_send(comm, &x, 1, COLL_INT8, 7, 1));
	CHECK_EQ(-ECONNRESET, coll_ibarrier(comm, &request));
	CHECK(says(me, "rank 1 died"));
	return 0;
}

TEST(last)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_last, NULL));
}

/* Operations that are under way when the group is aborted by a command, and later ones. */
static int rank_aborted(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	struct coll_request *request;
	char x = 0, command[128];

	CHECK_EQ(0, coll_iallreduce(comm, &x, &x, 1, COLL_INT8, COLL_MAX, &request));
	CHECK_EQ(0, coll_wait(request));
	if (me->rank) {
		CHECK(flag_barrier(me->shared, 0, NRANKS));
		snprintf(command, sizeof(command), "collectivectl abort %s", coll_name(comm));
		CHECK_EQ(0, system(command));
	} else {
		CHECK_EQ(0, coll_ibarrier(comm, &request));
		CHECK(flag_barrier(me->shared, 0, NRANKS));
		CHECK_EQ(-ECANCELED, coll_wait(request));
		CHECK(says(me, "the group was aborted by a command on the host of rank"));
	}
	CHECK_EQ(-ECANCELED, coll_barrier(comm));
	CHECK(says(me, "the group was aborted by a command on the host of rank"));
	CHECK_EQ(-ECANCELED, coll_comm_failed(comm));
	return 0;
}

TEST(aborted)
{
	if (system("collectivectl --version >/dev/null 2>&1"))
		SKIP(return, "no collectivectl in PATH");
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_aborted, NULL));
}

static int refused_with(struct lib_rank *me, void *memory, const char *text)
{
	char where[64];

	CHECK(memory != MAP_FAILED);
	CHECK_EQ(-EFAULT, coll_allreduce(me->comm, COLL_IN_PLACE, memory, PAGES, COLL_INT8,
					 COLL_SUM));
	CHECK(says(me, text));
	CHECK_EQ(-EFAULT, coll_register(me->comm, memory, PAGES, 0));
	CHECK(says(me, text));
	snprintf(where, sizeof(where), "at %#lx", (unsigned long)memory);
	CHECK(says(me, where));
	return 0;
}

/* Open a file of the root file system, if that is on a disk. */
static int on_disk(void)
{
	char path[] = "/var/tmp/collective-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		return -1;
	unlink(path);
	return ftruncate(fd, PAGES) ? -1 : fd;
}

static int rank_unusable(struct lib_rank *me)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *memory = mmap(NULL, 2 * PAGES, PROT_READ | PROT_WRITE, flags, -1, 0);
	char *short_file;
	int fd, err;

	CHECK(memory != MAP_FAILED);
	CHECK_EQ(0, munmap(memory + PAGES, PAGES));
	err = refused_with(me, memory + PAGES, "is not mapped");
	CHECK_EQ(0, err);
	/* Part of the memory is unmapped. */
	CHECK_EQ(-EFAULT, coll_allreduce(me->comm, COLL_IN_PLACE, memory, 2 * PAGES, COLL_INT8,
					 COLL_SUM));
	CHECK(says(me, "is not mapped"));
	err = refused_with(me, mmap(NULL, PAGES, PROT_READ, flags, -1, 0),
			   "may not be written");
	CHECK_EQ(0, err);
	CHECK_EQ(-EFAULT, coll_send(me->comm, mmap(NULL, PAGES, PROT_NONE, flags, -1, 0), PAGES,
				    COLL_INT8, !me->rank, 1));
	CHECK(says(me, "may not be read"));

	fd = memfd_create("short", 0);
	short_file = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK_EQ(-EFAULT, coll_register(me->comm, short_file, PAGES, 0));
	CHECK(says(me, "register refused"));

	/* The file system determines whether its pages can be pinned. */
	fd = on_disk();
	memory = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0 && memory != MAP_FAILED) {
		err = coll_register(me->comm, memory, PAGES, 0);
		CHECK(!err || says(me, "cannot be pinned: it writes through to a file"));
		if (!err)
			CHECK_EQ(0, coll_unregister(me->comm, memory));
	}
	fd = open("/dev/mem", O_RDWR);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0 && memory != MAP_FAILED) {
		err = coll_register(me->comm, memory, 4096, 0);
		CHECK(!err || says(me, "cannot be pinned: a device's"));
	}
	return coll_barrier(me->comm);
}

TEST(unusable)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_unusable, NULL));
}

/* The library moves the result itself; the memory has been unmapped by then. */
static int rank_moved(struct lib_rank *me)
{
	const size_t bytes = 1 << 20, count = bytes / sizeof(__u32) / NRANKS;
	const size_t counts[NRANKS] = { count + 8, count - 8 };
	struct coll_request *request;
	int turn, err;

	for (turn = 0; turn < 4; turn++) {
		const int protect = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
		__u32 *from = mmap(NULL, bytes, protect, flags, -1, 0);
		__u32 *to = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
		size_t i;

		CHECK(from != MAP_FAILED && to != MAP_FAILED);
		for (i = 0; i < NRANKS * count; i++)
			from[i] = i;
		if (turn & 1)
			err = coll_ireduce_scatterv(me->comm, COLL_IN_PLACE, NULL, from, counts,
						    COLL_UINT32, COLL_SUM, &request);
		else
			err = coll_ireduce_scatter(me->comm, COLL_IN_PLACE, from, count,
						   COLL_UINT32, COLL_SUM, &request);
		CHECK_EQ(0, err);
		if (turn & 2)
			CHECK(mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
		else
			to = from;
		err = coll_wait(request);
		CHECK_EQ(turn & 2 && me->rank ? -EFAULT : 0, err);
		for (i = 0; !err && i < count - 8; i++)
			CHECK_EQ((__u32)(NRANKS * (i + me->rank * counts[0] -
						   (turn & 1 ? 0 : me->rank * 8))), to[i]);
		munmap(to, bytes);
	}
	return coll_barrier(me->comm);
}

TEST(moved)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_moved, NULL));
}

/* A call without elements needs no memory. */
static int rank_nothing(struct lib_rank *me)
{
	static const size_t none[NRANKS], far[NRANKS] = { 1000, 2000 };
	struct coll_comm *comm = me->comm;
	size_t count = 0;
	char all[8] = { 0 };
	static const size_t one[NRANKS] = { 0, 1 };

	CHECK_EQ(0, coll_scatter_varlen(comm, NULL, none, NULL, NULL, &count, COLL_INT32, 0));
	CHECK_EQ(0, count);
	CHECK_EQ(0, coll_scatter_varlen(comm, NULL, none, far, NULL, &count, COLL_INT32, 0));
	CHECK_EQ(0, coll_broadcast_varlen(comm, NULL, &count, COLL_INT32, 0));
	/* The root itself has no memory. */
	count = 8;
	CHECK_EQ(0, coll_scatter_varlen(comm, all, one, NULL, all, &count, COLL_INT8, 0));
	CHECK_EQ(me->rank, count);
	CHECK_EQ(0, coll_allgatherv(comm, NULL, 0, NULL, none, far, COLL_INT32));
	CHECK_EQ(0, coll_alltoallv(comm, NULL, none, far, NULL, none, far, COLL_INT32));
	CHECK_EQ(0, coll_reduce_scatterv(comm, NULL, far, NULL, none, COLL_INT32, COLL_SUM));
	CHECK_EQ(0, coll_gather(comm, NULL, NULL, 0, COLL_INT32, 1));
	CHECK_EQ(0, coll_scatter(comm, NULL, NULL, 0, COLL_INT32, 1));
	CHECK_EQ(0, coll_allgather_view(comm, NULL, NULL, NULL, NULL, 0, COLL_INT32));
	return coll_barrier(comm);
}

TEST(nothing)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_nothing, NULL));
}

TEST_HARNESS_MAIN
