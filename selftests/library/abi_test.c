// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callers that were compiled with an older or a newer header, and the texts of all errors of
 * coll_init().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"

/* Earlier and later versions of struct coll_config. */
struct older {
	size_t size;
	char *detail;
	size_t detail_size;
	unsigned int flags;
	int rank;
	int nranks;
	int lanes;
	const char *rendezvous;
	const char *name;
};

struct newer {
	struct coll_config known;
	__u64 more[4];
};

static char detail[COLL_DETAIL_SIZE];

/* Call coll_init(), and check that the text ends with a NUL. */
static int init(const void *config, struct coll_comm **comm)
{
	memset(detail, 'X', sizeof(detail));
	return coll_init(comm, config);
}

static bool said(const char *text)
{
	return memchr(detail, '\0', sizeof(detail)) && strstr(detail, text);
}

/* The struct ends where memory ends: bytes behind it are not read. */
TEST(older)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct older *config = (void *)(memory + page - sizeof(*config));
	struct coll_comm *comm;

	ASSERT_NE(MAP_FAILED, (void *)memory);
	ASSERT_EQ(0, mprotect(memory + page, page, PROT_NONE));
	ASSERT_EQ(56, sizeof(*config));
	*config = (struct older){
		.size = sizeof(*config), .detail = detail, .detail_size = sizeof(detail),
		.nranks = 1, .name = "older",
	};
	ASSERT_EQ(0, init(config, &comm));
	EXPECT_TRUE(said("") && !*detail);
	EXPECT_EQ(0, strcmp("older", coll_name(comm)));
	EXPECT_EQ(0, coll_finalize(comm));

	config->size = sizeof(*config) - 1;
	EXPECT_EQ(-EINVAL, init(config, &comm));
	EXPECT_TRUE(said("at least 56"));
	EXPECT_EQ(NULL, comm);
}

/* A size that was never set: the memory ends long before. */
TEST(unset)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct coll_config *config = (void *)(memory + page - sizeof(*config));
	struct coll_comm *comm;

	ASSERT_NE(MAP_FAILED, (void *)memory);
	ASSERT_EQ(0, mprotect(memory + page, page, PROT_NONE));
	*config = (struct coll_config){
		.size = (size_t)-1, .detail = detail, .detail_size = sizeof(detail), .nranks = 1,
	};
	EXPECT_EQ(-E2BIG, init(config, &comm));
	EXPECT_TRUE(said("has to be set to sizeof"));
	EXPECT_EQ(NULL, comm);
}

TEST(newer)
{
	struct newer config = {
		.known = {
			.size = sizeof(config), .detail = detail,
			.detail_size = sizeof(detail), .nranks = 1,
		},
	};
	struct coll_comm *comm;

	ASSERT_EQ(0, init(&config, &comm));
	EXPECT_EQ(0, coll_finalize(comm));
	config.more[2] = 1;
	EXPECT_EQ(-E2BIG, init(&config, &comm));
	EXPECT_TRUE(said("of which version"));
	EXPECT_EQ(NULL, comm);
}

TEST(texts)
{
	struct coll_config config = {
		.size = sizeof(config), .detail = detail, .detail_size = sizeof(detail),
	};
	struct coll_comm *comm;

	config.flags = 1U << 30;
	EXPECT_EQ(-EINVAL, init(&config, &comm));
	EXPECT_TRUE(said("flags 0x40000000"));
	config.flags = 0;
	config.reserved = 1;
	EXPECT_EQ(-EINVAL, init(&config, &comm));
	EXPECT_TRUE(said("reserved"));
	config.reserved = 0;
	config.nranks = 1;
	ASSERT_EQ(0, setenv("COLL_DEVICE", "/dev/null", 1));
	EXPECT_EQ(-ENOTTY, init(&config, &comm));
	EXPECT_TRUE(said("/dev/null does not answer"));
	unsetenv("COLL_DEVICE");
	/* A small buffer for the text. */
	config.flags = 1U << 30;
	config.detail_size = 6;
	EXPECT_EQ(-EINVAL, init(&config, &comm));
	EXPECT_EQ(0, strcmp("flags", detail));
}

/* 0 in the environment means the default, as in the struct. */
TEST(no_time)
{
	struct coll_config config = { .size = sizeof(config), .nranks = 1 };
	struct coll_comm *comm;

	ASSERT_EQ(0, setenv("COLL_INIT_TIMEOUT_MS", "0", 1));
	EXPECT_EQ(0, coll_init(&comm, &config));
	EXPECT_EQ(0, coll_finalize(comm));
	unsetenv("COLL_INIT_TIMEOUT_MS");
}

TEST(version)
{
	EXPECT_EQ(COLL_VERSION, coll_version());
	EXPECT_EQ(COLL_VERSION_MAJOR, coll_version() >> 16);
	EXPECT_EQ(COLL_VERSION_MINOR, coll_version() & 0xffff);
}

struct newer_view {
	struct coll_view known;
	size_t more;
};

static int rank_views(struct lib_rank *me)
{
	struct newer_view view = { .known = { .rows = 1, .stride = 4, .distance = 4 } };
	__u32 mine[4] = { 0 }, all[8] = { 0 };

	/* As compiled with version 0.1, without and with a version number. */
	CHECK_EQ(0, coll_allgather_view(me->comm, mine, NULL, all, &view.known, 4, COLL_UINT32));
	view.known.size = sizeof(view.known);
	CHECK_EQ(0, coll_allgather_view(me->comm, mine, NULL, all, &view.known, 4, COLL_UINT32));
	view.known.size = sizeof(view);
	CHECK_EQ(0, coll_allgather_view(me->comm, mine, NULL, all, &view.known, 4, COLL_UINT32));
	view.more = 1;
	CHECK_EQ(-E2BIG, coll_allgather_view(me->comm, mine, NULL, all, &view.known, 4,
					     COLL_UINT32));
	CHECK(strstr(coll_error_detail(me->comm), "more than this library knows"));
	view.known.size = (size_t)-1;
	CHECK_EQ(-E2BIG, coll_allgather_view(me->comm, mine, NULL, all, &view.known, 4,
					     COLL_UINT32));
	view.known.size = 8;
	CHECK_EQ(-EINVAL, coll_alltoall_view(me->comm, mine, &view.known, all, NULL, 2,
					     COLL_UINT32));
	return coll_barrier(me->comm);
}

TEST(views)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_views, NULL));
}

TEST(adjoint)
{
	struct coll_adjoint adjoint;
	const unsigned int zero[5] = { 0 };

	memset(&adjoint, 0xff, sizeof(adjoint));
	EXPECT_EQ(0, coll_adjoint(COLL_REDUCE, COLL_SUM, &adjoint));
	EXPECT_EQ(0, memcmp(adjoint.reserved, zero, sizeof(zero)));
}

/* A program may define symbols that the version map does not list. */
int coll_fail(void);
int coll_fail(void)
{
	return 7;
}

TEST(names)
{
	EXPECT_EQ(7, coll_fail());
}

TEST_HARNESS_MAIN
