// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that has a CPU to itself and waits for a large operation copies for other ranks of its
 * host. The bytes arrive also if the helper or the helped rank fails.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/machine.h"
#include "lib/values.h"

#define WORDS	((4U << 20) + 3)
#define ROUNDS	8

#define BUSY_POLL	"/sys/module/collective/parameters/busy_poll_us"

FIXTURE(copy_helper) {
	struct group_config config;
};

FIXTURE_VARIANT(copy_helper) {
	unsigned int lanes;
	bool mapped;
};

FIXTURE_VARIANT_ADD(copy_helper, pages) { .lanes = 1 };
FIXTURE_VARIANT_ADD(copy_helper, mapping) { .lanes = 1, .mapped = true };
FIXTURE_VARIANT_ADD(copy_helper, three_lanes) { .lanes = 3, .mapped = true };

FIXTURE_SETUP(copy_helper)
{
	self->config = (struct group_config) {
		.nranks = 2,
		.lanes = variant->lanes,
		.bound = true,
	};
}

FIXTURE_TEARDOWN(copy_helper)
{
}

/* Arguments of a rank. @least and @most bound the bytes that another rank copied for it. */
struct rank_args {
	bool mapped;
	bool signals;
	__u64 least;
	__u64 most;
};

static __u32 *words(struct rank *r)
{
	const struct rank_args *rank_args = r->arg;
	void *at = rank_args->mapped ? mmap(NULL, WORDS * sizeof(__u32), PROT_READ | PROT_WRITE,
					    MAP_SHARED, r->fd, 0) :
				  memory(WORDS * sizeof(__u32));

	return at == MAP_FAILED ? NULL : at;
}

static struct collective_op broadcast_of(__u32 *at)
{
	return (struct collective_op) {
		.opcode = COLLECTIVE_BROADCAST,
		.type = COLLECTIVE_UINT32,
		.count = WORDS,
		.send = (uintptr_t)at,
		.recv = (uintptr_t)at,
	};
}

static void words_fill(__u32 *at, __u32 round)
{
	__u32 i;

	for (i = 0; i < WORDS; i++)
		at[i] = round * 0x9e3779b1U + i;
}

static bool words_are(const __u32 *at, __u32 round)
{
	__u32 i;

	for (i = 0; i < WORDS; i++)
		if (at[i] != round * 0x9e3779b1U + i)
			return false;
	return true;
}

static void on_signal(int signal)
{
}

static int signals_set(suseconds_t us)
{
	const struct sigaction action = { .sa_handler = on_signal };

	if (us)
		CHECK_EQ(0, sigaction(SIGALRM, &action, NULL));
	CHECK_EQ(0, setitimer(ITIMER_REAL, &(struct itimerval) { { 0, us }, { 0, us } }, NULL));
	return 0;
}

/* Both ranks write to their memory as soon as the operation has completed. */
static int rank_rounds(struct rank *r)
{
	const struct rank_args *rank_args = r->arg;
	__u32 *at = words(r), round;
	struct collective_op op = broadcast_of(at);
	__u64 helped;

	CHECK(at);
	if (rank_args->signals)
		CHECK_EQ(0, signals_set(700));
	for (round = 0; round < ROUNDS; round++) {
		if (r->rank)
			memset(at, 0xa5, WORDS * sizeof(*at));
		else
			words_fill(at, round);
		CHECK_EQ(0, member_submit(r->fd, &op));
		CHECK(words_are(at, round));
	}
	if (rank_args->signals)
		CHECK_EQ(0, signals_set(0));
	helped = rank_value(r, "helped_bytes");
	CHECK_EQ(0, r->rank ? helped < rank_args->least || helped > rank_args->most : helped);
	return 0;
}

/* Hardware threads of one core do not help each other. */
static bool has_two_cores(void)
{
	char siblings[64];

	return file_get("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", siblings,
			sizeof(siblings)) || !strpbrk(siblings, ",-");
}

/*
 * Scattered pages are not split between two CPUs. Where every access is checked, the copy ends
 * before a helper comes. With PREEMPT_RT, interrupts are threads, and a waiting thread has a CPU
 * to itself less often: it may never help.
 */
static bool can_help(bool mapped)
{
	return mapped && sysconf(_SC_NPROCESSORS_ONLN) > 1 && has_two_cores() &&
	       (emulated() || !slow_machine()) && access("/sys/kernel/realtime", F_OK);
}

TEST_F_TIMEOUT(copy_helper, copies, 100)
{
	struct rank_args rank_args = {
		.mapped = variant->mapped,
		.least = can_help(variant->mapped),
		.most = ROUNDS * WORDS * sizeof(__u32) / 2,
	};

	EXPECT_EQ(0, group_run(&self->config, rank_rounds, &rank_args));
}

TEST_F_TIMEOUT(copy_helper, interrupted, 100)
{
	struct rank_args rank_args = { .mapped = variant->mapped, .signals = true, .most = ~0ULL };

	EXPECT_EQ(0, group_run(&self->config, rank_rounds, &rank_args));
}

/* A rank with busy polling disabled does not help others. */
TEST_F_TIMEOUT(copy_helper, unwanted, 100)
{
	struct rank_args rank_args = { .mapped = variant->mapped };
	char before[16];

	ASSERT_EQ(0, file_get(BUSY_POLL, before, sizeof(before)));
	ASSERT_EQ(0, file_set(BUSY_POLL, "0"));
	EXPECT_EQ(0, group_run(&self->config, rank_rounds, &rank_args));
	EXPECT_EQ(0, file_set(BUSY_POLL, before));
}

/* Another task wants the root's CPU: the root goes on without help. */
static int rank_shared(struct rank *r)
{
	pid_t other = 0;
	int err;

	if (!r->rank) {
		other = fork();
		if (!other) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				getpid();
		}
		CHECK(other > 0);
	}
	err = rank_rounds(r);
	if (other > 0) {
		CHECK_EQ(0, kill(other, SIGKILL));
		CHECK_EQ(other, waitpid(other, NULL, 0));
	}
	return err;
}

TEST_F_TIMEOUT(copy_helper, shared, 100)
{
	struct rank_args rank_args = { .mapped = variant->mapped };

	EXPECT_EQ(0, group_run(&self->config, rank_shared, &rank_args));
}

/* One rank is killed in the middle: the root, a helper, or a rank that copies. */
static int rank_killed(struct rank *r)
{
	struct collective_op op;
	__u32 *at = words(r);
	int err;

	CHECK(at);
	op = broadcast_of(at);
	r->shared->value[r->rank] = getpid();
	flag_set(r->shared, r->rank, 1);
	do {
		err = member_submit(r->fd, &op);
	} while (!err);
	CHECK_EQ(-ECONNRESET, err);
	return 0;
}

TEST_F_TIMEOUT(copy_helper, killed, 100)
{
	struct rank_args rank_args = { .mapped = variant->mapped };
	struct group group;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, group_start(&group, &self->config, rank_killed, &rank_args));
		ASSERT_TRUE(flag_wait(group.shared, 0, 1, 10000));
		ASSERT_TRUE(flag_wait(group.shared, 1, 1, 10000));
		sleep_ms(3 + 7 * i);
		ASSERT_EQ(0, kill(group.shared->value[i & 1], SIGKILL));
		/* The rank that was killed. */
		EXPECT_EQ(1, group_wait(&group));
	}
}

TEST_HARNESS_MAIN
