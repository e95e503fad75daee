// SPDX-License-Identifier: GPL-2.0-only
/* The choice of a transport, in groups that are made of a group, and where ranks differ. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"

#define NRANKS	4

static unsigned int local_of(const char *transport)
{
	return transport_is_local(transport_choice(transport)) ? ~0U : 0;
}

/* Check that @comm works, that it has links, and that these are of the transport of @transport. */
static int check_comm(struct coll_comm *comm, const char *transport)
{
	struct links links;

	CHECK_EQ(0, coll_barrier(comm));
	CHECK_EQ(0, links_get(coll_name(comm), coll_rank(comm), &links));
	CHECK(coll_size(comm) == 1 || links.local | links.tcp | links.rdma);
	CHECK_EQ(0, links_check(coll_name(comm), coll_rank(comm), local_of(transport)));
	/* No rank leaves while another one looks. */
	return coll_barrier(comm);
}

static int rank_children(struct lib_rank *me)
{
	struct coll_comm *child;

	CHECK_EQ(0, check_comm(me->comm, me->arg));
	CHECK_EQ(0, coll_dup(me->comm, &child));
	CHECK_EQ(0, check_comm(child, me->arg));
	CHECK_EQ(0, coll_finalize(child));
	CHECK_EQ(0, coll_split(me->comm, me->rank & 1, 0, &child));
	CHECK_EQ(0, check_comm(child, me->arg));
	CHECK_EQ(0, coll_finalize(child));
	return 0;
}

/* The last rank dies when its barrier is complete, which the others' need not be. */
static int rank_shrinks(struct lib_rank *me)
{
	struct coll_comm *survivors;

	if (me->rank == NRANKS - 1)
		_exit(coll_barrier(me->comm));
	while (!coll_barrier(me->comm))
		;
	CHECK_EQ(0, coll_shrink(me->comm, &survivors));
	CHECK_EQ(NRANKS - 1, coll_size(survivors));
	CHECK_EQ(0, check_comm(survivors, me->arg));
	CHECK_EQ(0, coll_finalize(survivors));
	return 0;
}

FIXTURE(transport) {};

FIXTURE_VARIANT(transport) {
	const char *name;
};

FIXTURE_VARIANT_ADD(transport, tcp) { .name = "tcp" };
FIXTURE_VARIANT_ADD(transport, local) { .name = "local" };
FIXTURE_VARIANT_ADD(transport, auto) { .name = "auto" };

FIXTURE_SETUP(transport)
{
}

FIXTURE_TEARDOWN(transport)
{
}

/* The configuration comes before the environment. */
TEST_F_TIMEOUT(transport, configured, 100)
{
	struct coll_config config = { .transport = variant->name };

	ASSERT_EQ(0, setenv("COLL_TRANSPORT", local_of(variant->name) ? "tcp" : "local", 1));
	EXPECT_EQ(0, lib_group_run(NRANKS, &config, rank_children, (void *)variant->name));
}

TEST_F_TIMEOUT(transport, from_environment, 100)
{
	ASSERT_EQ(0, setenv("COLL_TRANSPORT", variant->name, 1));
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_children, (void *)variant->name));
}

TEST_F_TIMEOUT(transport, survives_shrink, 100)
{
	struct coll_config config = { .transport = variant->name };

	EXPECT_EQ(0, lib_group_run(NRANKS, &config, rank_shrinks, (void *)variant->name));
}

/* Return: 0 if rank @rank of two fails as it should: each caller is told why. */
static int init_refused(int rank, const char *transport, const char *rendezvous)
{
	char detail[COLL_DETAIL_SIZE];
	struct coll_config config = {
		.size = sizeof(config),
		.rank = rank,
		.nranks = 2,
		.rendezvous = rendezvous,
		.init_timeout_ms = 4000,
		.transport = transport,
		.detail = detail,
		.detail_size = sizeof(detail),
	};
	struct coll_comm *comm;
	int err = coll_init(&comm, &config);

	CHECK_EQ(-EOPNOTSUPP, err);
	CHECK(!comm);
	CHECK(strstr(detail, "no link between rank 1 and rank 0: they have chosen different"));
	CHECK(strstr(detail, "; rank 0 listens at 127.0.0.1:"));
	CHECK(strstr(detail, "; rank 1 listens at 127.0.0.1:"));
	return 0;
}

/* A group of two in which rank 0 chooses @first and rank 1 @second.  Return: 0 if both fail. */
static int pair_refused(const char *first, const char *second)
{
	int i, status, failed = 0, port = free_port();
	char rendezvous[32];
	pid_t pid[2];

	CHECK(port > 0);
	snprintf(rendezvous, sizeof(rendezvous), "127.0.0.1:%d", port);
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(init_refused(i, i ? second : first, rendezvous));
	}
	for (i = 0; i < 2; i++)
		failed += waitpid(pid[i], &status, 0) != pid[i] || status;
	return failed;
}

TEST(local_calls_tcp)
{
	EXPECT_EQ(0, pair_refused("local", "tcp"));
}

TEST(tcp_calls_local)
{
	EXPECT_EQ(0, pair_refused("tcp", "local"));
}

TEST_HARNESS_MAIN
