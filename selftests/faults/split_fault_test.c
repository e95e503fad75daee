// SPDX-License-Identifier: GPL-2.0-only
/*
 * Splits in which a rank fails. All ranks of its colour learn of it in bounded time, other
 * colours do not, and nothing leaks.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "lib/before_ioctl.h"
#include "lib/lib_group.h"
#include "lib/values.h"

/* Upper bound of calls with a time limit of 2 s; ms. */
#define LIMIT_MS	8000

/* Number of ioctls that succeed before one fails; negative: all succeed. */
static int fail_after = -1;

/* The request that failed. */
static unsigned long failed_request;

/* Number of CONNECTs that fail for want of a port. */
static int fail_connects;

static int fail(unsigned long request, const void *arg)
{
	if (request == COLLECTIVE_IOC_CONNECT && fail_connects) {
		fail_connects--;
		return EADDRNOTAVAIL;
	}
	/* STATUS is called for error texts only: it never fails. */
	if (request != COLLECTIVE_IOC_STATUS && fail_after >= 0 && !fail_after--) {
		failed_request = request;
		return ENOMEM;
	}
	return 0;
}

/* All exchanges are SUBMITs: none is executed on the board in this process. */
static void __attribute__((constructor)) submit_all(void)
{
	setenv("COLL_PRIVATE", "1", 1);
	before_ioctl = fail;
}

/* Checks that no group is left. */
FIXTURE(faults) {
	int groups;
};

FIXTURE_SETUP(faults)
{
	self->groups = group_count();
}

FIXTURE_TEARDOWN(faults)
{
	EXPECT_EQ(self->groups, group_count());
}

/* Limit the number of open files to the current number, or restore the limit. */
static void files_limit(bool limited)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limited ? 3 : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Even and odd ranks; rank 2 cannot open a file for its new group. */
static int rank_files(struct lib_rank *me)
{
	const int files = open_file_count();
	const bool even = me->rank % 2 == 0;
	struct coll_comm *new;
	__u64 begun;
	int round;

	for (round = 0; round < 10; round++) {
		CHECK_EQ(0, coll_barrier(me->comm));
		begun = now_ms();
		if (me->rank == 2)
			files_limit(true);
		CHECK_EQ(even ? -EMFILE : 0, coll_split(me->comm, !even, 0, &new));
		if (me->rank == 2)
			files_limit(false);
		CHECK(now_ms() - begun < LIMIT_MS);
		CHECK_EQ(even, !new);
		if (even)
			CHECK(strstr(coll_error_detail(me->comm),
				     me->rank == 2 ? "/dev/collective" : "rank 2"));
		else
			CHECK_EQ(0, coll_barrier(new));
		CHECK_EQ(0, coll_finalize(new));

		/* The parent communicator still works, and has no failure. */
		CHECK_EQ(0, coll_split(me->comm, !even, 0, &new));
		CHECK_EQ(0, coll_barrier(new));
		CHECK_EQ(0, coll_finalize(new));
		CHECK(!*coll_error_detail(me->comm));
	}
	CHECK_EQ(files, open_file_count());
	return 0;
}

TEST_F_TIMEOUT(faults, files, 60)
{
	EXPECT_EQ(0, lib_group_run(5, NULL, rank_files, NULL));
}

/* An invalid colour is an error only of the ranks that pass it. */
static int rank_color(struct lib_rank *me)
{
	struct coll_comm *new;
	const bool bad = me->rank == 1;

	CHECK_EQ(bad ? -EINVAL : 0, coll_split(me->comm, bad ? -2 : 0, 0, &new));
	CHECK_EQ(bad, !new);
	CHECK_EQ(bad, !!strstr(coll_error_detail(me->comm), "-2"));
	if (new)
		CHECK_EQ(2, coll_size(new));
	CHECK_EQ(0, coll_finalize(new));
	CHECK_EQ(0, coll_barrier(me->comm));
	return 0;
}

TEST_F(faults, color)
{
	EXPECT_EQ(0, lib_group_run(3, NULL, rank_color, NULL));
}

/* One rank calls something else, which fails like any operation that differs. */
static int rank_mismatch(struct lib_rank *me)
{
	struct coll_comm *new = NULL;

	if (me->rank == 1)
		CHECK_EQ(-EBADMSG, coll_barrier(me->comm));
	else
		CHECK_EQ(-EBADMSG, coll_split(me->comm, 0, 0, &new));
	CHECK(!new);
	CHECK(strstr(coll_error_detail(me->comm), "different calls"));
	CHECK_EQ(0, coll_dup(me->comm, &new));
	return -coll_finalize(new);
}

TEST_F(faults, mismatch)
{
	EXPECT_EQ(0, lib_group_run(3, NULL, rank_mismatch, NULL));
}

/* One rank is killed while the others split. */
static int rank_death(struct lib_rank *me)
{
	struct coll_comm *new = NULL;
	__u64 begun;

	CHECK(flag_barrier(me->shared, 0, me->nranks));
	begun = now_ms();
	if (me->rank == 1) {
		sleep_ms(200);
		/* The others are right if this is the only rank that fails. */
		kill(getpid(), SIGKILL);
	}
	CHECK_EQ(-ECONNRESET, coll_split(me->comm, 0, 0, &new));
	CHECK(!new);
	CHECK(now_ms() - begun < LIMIT_MS);
	CHECK(strstr(coll_error_detail(me->comm), "rank 1 died"));
	return 0;
}

TEST_F(faults, death)
{
	EXPECT_EQ(1, lib_group_run(4, NULL, rank_death, NULL));
}

/* The index of the first ioctl of an exchange. */
#define FIRST	0
#define SECOND	3

/**
 * struct step - the ioctl that fails; in memory that all ranks share
 * @after: number of ioctls of the rank that succeed before
 * @failing: the rank
 * @request: the request that failed; 0: the split ended before
 */
struct step {
	int after;
	int failing;
	unsigned long request;
};

/*
 * The n-th ioctl of one rank fails, for every n: an exchange, the device, JOIN, CONNECT, the
 * barriers. A rank that has completed its part may get its group; it learns of the failure in the
 * next operation. A refused exchange is repeated. After any failure, all ranks are at the same
 * step.
 */
static int rank_steps(struct lib_rank *me)
{
	struct step *step = me->arg;
	const int files = open_file_count();
	struct coll_comm *new;
	__u64 begun = now_ms();
	int err;

	if (me->rank == step->failing)
		fail_after = step->after;
	err = coll_split(me->comm, 0, -me->rank, &new);
	fail_after = -1;
	CHECK(now_ms() - begun < LIMIT_MS);
	CHECK_EQ(!!err, !new);
	if (me->rank == step->failing) {
		if (failed_request && step->after != FIRST && step->after != SECOND)
			CHECK_EQ(-ENOMEM, err);
		step->request = failed_request;
	}
	CHECK(flag_barrier(me->shared, 0, me->nranks));

	CHECK_EQ(0, coll_barrier(me->comm));
	switch (step->after == FIRST || step->after == SECOND ? 0 : step->request) {
	case 0:
		CHECK_EQ(0, err);
		CHECK_EQ(0, coll_barrier(new));
		break;
	case COLLECTIVE_IOC_QUERY:
	case COLLECTIVE_IOC_JOIN:
		/* All learn of it at once, from the rank that failed. */
		CHECK_EQ(-ENOMEM, err);
		break;
	default:
		CHECK(err || coll_barrier(new));
	}
	CHECK_EQ(0, coll_finalize(new));
	CHECK_EQ(files, open_file_count());
	return 0;
}

TEST_F_TIMEOUT(faults, steps, 100)
{
	static const unsigned long requests[] = {
		COLLECTIVE_IOC_SUBMIT, COLLECTIVE_IOC_QUERY, COLLECTIVE_IOC_JOIN,
		COLLECTIVE_IOC_SUBMIT, COLLECTIVE_IOC_CONNECT, COLLECTIVE_IOC_SUBMIT,
		COLLECTIVE_IOC_SUBMIT, 0,
	};
	const struct coll_config short_time = { .timeout_ms = 2000, .init_timeout_ms = 2000 };
	const struct coll_config *config;
	struct step *step = mmap(NULL, sizeof(*step), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, step);
	for (step->failing = 0; step->failing < 3; step->failing++)
		for (step->after = 0; step->after < (int)ARRAY_SIZE(requests); step->after++) {
			step->request = ~0UL;
			/* Without a time limit where the ranks do not wait for its end. */
			config = requests[step->after] == COLLECTIVE_IOC_QUERY ||
				 requests[step->after] == COLLECTIVE_IOC_JOIN ? NULL : &short_time;
			EXPECT_EQ(0, lib_group_run(3, config, rank_steps, step))
				TH_LOG("rank %d, ioctl %d", step->failing, step->after);
			EXPECT_EQ(requests[step->after], step->request);
		}
}

/* CONNECT waits for ports that become free soon. If none does, that is the error. */
static int rank_ports(struct lib_rank *me)
{
	struct coll_comm *new;

	fail_connects = me->rank == 1 ? 8 : 0;
	CHECK_EQ(0, coll_dup(me->comm, &new));
	CHECK_EQ(0, fail_connects);
	CHECK_EQ(0, coll_barrier(new));
	CHECK_EQ(0, coll_finalize(new));

	fail_connects = me->rank == 1 ? 100000 : 0;
	CHECK(coll_dup(me->comm, &new));
	if (me->rank == 1)
		CHECK(strstr(coll_error_detail(me->comm), coll_strerror(-EADDRNOTAVAIL)));
	fail_connects = 0;
	CHECK_EQ(0, coll_barrier(me->comm));
	return 0;
}

TEST_F_TIMEOUT(faults, ports, 60)
{
	const struct coll_config config = { .timeout_ms = 3000, .init_timeout_ms = 3000 };

	EXPECT_EQ(0, lib_group_run(3, &config, rank_ports, NULL));
}

TEST_HARNESS_MAIN
