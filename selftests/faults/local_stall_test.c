// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank does not run in the middle of a large operation between ranks of one kernel: it is
 * stopped, frozen, throttled, or its CPU is taken away. Another rank then cancels the operation or
 * dies: all others get their answer while the rank still does not run. When it runs again, its
 * answer is right, too.
 *
 * Environment: LOCAL_STALL_SEED, LOCAL_STALL_ROUNDS (per variant).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/call.h"
#include "lib/cgroup.h"
#include "lib/leak_check.h"
#include "lib/local_only.h"
#include "lib/machine.h"

#define RANKS		4
#define CPU_ONLINE	"/sys/devices/system/cpu/cpu1/online"

/* For machines under load. */
#define TOLD_MS		8000

enum { FLAG_BUSY, FLAG_STALLED, FLAG_TOLD, FLAG_AHEAD, FLAG_END };
enum { VALUE_LAST };

enum stall { STALL_STOP, STALL_FREEZE, STALL_QUOTA, STALL_CPU };

FIXTURE(local_stall) {
	struct cgroup cgroup;
};

FIXTURE_VARIANT(local_stall) {
	enum stall stall;
};

FIXTURE_VARIANT_ADD(local_stall, stop) { STALL_STOP };
FIXTURE_VARIANT_ADD(local_stall, freeze) { STALL_FREEZE };
FIXTURE_VARIANT_ADD(local_stall, quota) { STALL_QUOTA };
FIXTURE_VARIANT_ADD(local_stall, cpu) { STALL_CPU };

/**
 * struct stalling - one round; the same for all ranks
 * @victim: rank that does not run
 * @causer: rank that cancels or is killed
 * @kills: true if it is killed
 * @bytes: bytes of each buffer
 * @bound: true if the victim is pinned to CPU 1
 */
struct stalling {
	unsigned int victim;
	unsigned int causer;
	bool kills;
	size_t bytes;
	bool bound;
};

FIXTURE_SETUP(local_stall)
{
	const char *file = variant->stall == STALL_FREEZE ? "cgroup.freeze" : "cpu.max";
	char path[128];
	int err;

	if (variant->stall == STALL_CPU && access(CPU_ONLINE, W_OK))
		SKIP(return, "CPUs of this machine cannot be taken away");
	if (variant->stall != STALL_FREEZE && variant->stall != STALL_QUOTA)
		return;
	err = cgroup_make(&self->cgroup);
	snprintf(path, sizeof(path), "%s/" CGROUP_CHILD "/%s", self->cgroup.folder, file);
	if (!err && !access(path, W_OK))
		return;
	cgroup_drop(&self->cgroup);
	SKIP(return, "no cgroup2 with %s", file);
}

FIXTURE_TEARDOWN(local_stall)
{
	cgroup_drop(&self->cgroup);
}

static int victim_stall(const struct cgroup *cgroup, enum stall stall, pid_t pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", pid);
	switch (stall) {
	case STALL_STOP:
		return kill(pid, SIGSTOP);
	case STALL_FREEZE:
		CHECK_EQ(0, cgroup_set(cgroup, "cgroup.procs", number));
		CHECK_EQ(0, cgroup_set(cgroup, "cgroup.freeze", "1"));
		return cgroup_await_frozen(cgroup, enough_ms(TOLD_MS));
	case STALL_QUOTA:
		CHECK_EQ(0, cgroup_set(cgroup, "cpu.max", "1000 100000"));
		CHECK_EQ(0, cgroup_set(cgroup, "cgroup.procs", number));
		return 0;
	default:
		CHECK_EQ(0, file_set(CPU_ONLINE, "0"));
		return 0;
	}
}

static int victim_resume(const struct cgroup *cgroup, enum stall stall, pid_t pid)
{
	switch (stall) {
	case STALL_STOP:
		return kill(pid, SIGCONT);
	case STALL_FREEZE:
		CHECK_EQ(0, cgroup_set(cgroup, "cgroup.freeze", "0"));
		return 0;
	case STALL_QUOTA:
		CHECK_EQ(0, cgroup_set(cgroup, "cpu.max", "max"));
		return 0;
	default:
		CHECK_EQ(0, file_set(CPU_ONLINE, "1"));
		return 0;
	}
}

static void times_period(struct period *period, u32 factor)
{
	u32 i, v;

	for (i = 0; i < PERIOD; i++) {
		v = (i + 1) * factor;
		memcpy(period->byte + i * sizeof(v), &v, sizeof(v));
	}
}

/* The number of the last operation, once the causer cancels one; 0 in shared memory before. */
static __u64 last_number(struct rank *r)
{
	const __u64 last = __atomic_load_n(&r->shared->value[VALUE_LAST], __ATOMIC_SEQ_CST);

	return last ? last : ~0ULL;
}

static int request_cancel(struct rank *r, __u64 request)
{
	struct collective_cancel cancel = { .size = sizeof(cancel), .request = request };

	return member_ioctl(r->fd, COLLECTIVE_IOC_CANCEL, &cancel);
}

/*
 * The causer waits in short calls, and cancels once the victim is stalled.  The operation may have
 * completed since the last wait, in spite of the stall: work items move the victim's bytes.
 */
static int causer_wait(struct rank *r, const struct stalling *s, __u64 request, unsigned int n)
{
	bool cancelled = false;
	int err, refused;

	do {
		struct collective_wait wait = { .timeout_ms = 5 };

		err = member_wait_any(r->fd, &wait, &request, 1);
		if (err != -EINPROGRESS || cancelled || s->kills ||
		    !flag_wait(r->shared, FLAG_STALLED, 1, 0))
			continue;
		__atomic_store_n(&r->shared->value[VALUE_LAST], n, __ATOMIC_SEQ_CST);
		cancelled = true;
		refused = request_cancel(r, request);
		CHECK(!refused || refused == -ENOENT);
	} while (err == -EINPROGRESS);
	return err;
}

/*
 * Ranks may have completed the operation that the causer cancels, and have started the next one,
 * before they can know that this is the last.  One of them cancels what not all ranks call.
 */
static int any_wait(struct rank *r, __u64 request, unsigned int n)
{
	bool cancelled = false;
	int err, refused;

	do {
		struct collective_wait wait = { .timeout_ms = 50 };

		err = member_wait_any(r->fd, &wait, &request, 1);
		if (err != -EINPROGRESS || cancelled || n <= last_number(r))
			continue;
		cancelled = true;
		flag_set(r->shared, FLAG_AHEAD, 1);
		refused = request_cancel(r, request);
		/* Another rank may have cancelled it. */
		CHECK(!refused || refused == -ENOENT);
	} while (err == -EINPROGRESS || err == -EINTR);
	return err;
}

static int failure_check(struct rank *r, const struct stalling *s, int err, bool ahead)
{
	struct collective_status status;

	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(s->kills ? -ECONNRESET : -ECANCELED, err);
	if (s->kills) {
		CHECK_EQ(COLLECTIVE_REASON_DEATH, status.group.kind);
		CHECK_EQ(s->causer, status.group.rank_a);
	} else {
		CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
		CHECK_EQ(COLLECTIVE_REASON_CANCELLED, status.last.kind);
		/* Any rank that is ahead may have cancelled. */
		CHECK(ahead || s->causer == status.last.rank_a);
	}
	return 0;
}

static int victim_bind(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	CHECK_EQ(0, sched_setaffinity(0, sizeof(set), &set));
	return 0;
}

static int rank_stalled(struct rank *r)
{
	const struct stalling *s = r->arg;
	__u8 *send = memory(s->bytes), *recv = memory(s->bytes);
	struct period mine, sum;
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.count = s->bytes / 4,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};
	unsigned int n;
	bool ahead;
	__u64 request;
	int err = 0;

	CHECK(send && recv);
	times_period(&mine, r->rank + 1);
	times_period(&sum, RANKS * (RANKS + 1) / 2);
	fill(send, &mine, op.count, 4);
	if (s->bound && r->rank == s->victim)
		CHECK_EQ(0, victim_bind());
	for (n = 1; !err && n <= last_number(r); n++) {
		if (n == 3) {
			CHECK_EQ(0, local_links_check(r));
			__atomic_add_fetch(&r->shared->flag[FLAG_BUSY], 1, __ATOMIC_SEQ_CST);
		}
		/* The group may have failed between two operations. */
		err = member_start(r->fd, &op, &request);
		if (!err)
			err = r->rank == s->causer ? causer_wait(r, s, request, n) :
						     any_wait(r, request, n);
		CHECK(err || filled(recv, &sum, op.count, 4));
	}
	ahead = n - 1 > last_number(r);
	/* The others must not read this. */
	memset(send, 0x5a, s->bytes);
	__atomic_add_fetch(&r->shared->flag[FLAG_TOLD], 1, __ATOMIC_SEQ_CST);
	if (err)
		CHECK_EQ(0, failure_check(r, s, err, ahead));
	CHECK(err || !s->kills);
	CHECK(flag_barrier(r->shared, FLAG_END, RANKS - s->kills));
	/* All ranks call what one has called. */
	if (!ahead && flag_wait(r->shared, FLAG_AHEAD, 1, 0))
		CHECK_EQ(-ECANCELED, member_submit(r->fd, &op));
	CHECK_EQ(s->kills ? -ECONNRESET : 0, member_barrier(r->fd));
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	return 0;
}

static int stall_run(struct cgroup *cgroup, enum stall stall, const struct stalling *s,
		     unsigned int after_us, unsigned int *took_ms)
{
	const struct group_config config = { .nranks = RANKS, .timeout_ms = 60000 };
	/* A rank without quota, or without its CPU, runs, and has its answer, too. */
	const unsigned int told = RANKS - s->kills - (stall == STALL_STOP || stall == STALL_FREEZE);
	struct group group;
	__u64 begin;
	int bad = 0, i;

	CHECK_EQ(0, group_start(&group, &config, rank_stalled, (void *)s));
	bad |= !flag_wait(group.shared, FLAG_BUSY, RANKS, 30000);
	usleep(after_us);
	bad |= victim_stall(cgroup, stall, group.pid[s->victim]);
	/* What is under way stops where it needs the victim. */
	sleep_ms(50);
	begin = now_ms();
	flag_set(group.shared, FLAG_STALLED, 1);
	if (s->kills)
		kill(group.pid[s->causer], SIGKILL);
	if (!flag_wait(group.shared, FLAG_TOLD, told, enough_ms(TOLD_MS))) {
		dprintf(STDOUT_FILENO, "# %u of %u were told\n", group.shared->flag[FLAG_TOLD],
			told);
		bad = 1;
	}
	*took_ms = now_ms() - begin;
	bad |= victim_resume(cgroup, stall, group.pid[s->victim]);
	for (i = 0; i < RANKS; i++) {
		waitpid(group.pid[i], &group.status[i], 0);
		if (s->kills && i == (int)s->causer)
			bad |= !WIFSIGNALED(group.status[i]);
		else
			bad |= group.status[i] != 0;
	}
	munmap(group.shared, sizeof(*group.shared));
	return bad;
}

static void stalls_run(struct __test_metadata *_metadata, struct cgroup *cgroup,
		       enum stall stall, bool kills)
{
	unsigned int seed = env_number("LOCAL_STALL_SEED", 1), after_us, took_ms, most = 0, i;
	const unsigned int rounds = env_number("LOCAL_STALL_ROUNDS", emulated() ? 3 : 10);
	struct stalling s = {
		.kills = kills,
		.bytes = (size_t)(slow_machine() ? 4 : 16) << 20,
		.bound = stall == STALL_CPU,
	};
	const int before = tcp_sockets();
	int bad = 0;

	for (i = 0; i < rounds && !bad; i++) {
		s.victim = rand_r(&seed) % RANKS;
		s.causer = (s.victim + 1 + rand_r(&seed) % (RANKS - 1)) % RANKS;
		after_us = rand_r(&seed) % 60000;
		bad = stall_run(cgroup, stall, &s, after_us, &took_ms);
		if (bad)
			TH_LOG("round %u: victim %u, causer %u, after %u us", i, s.victim,
			       s.causer, after_us);
		most = took_ms > most ? took_ms : most;
	}
	EXPECT_EQ(0, bad);
	TH_LOG("%u rounds: all others knew after at most %u ms", i, most);
	EXPECT_TRUE(nothing_leaked(before));
}

TEST_F_TIMEOUT(local_stall, cancel, 200)
{
	stalls_run(_metadata, &self->cgroup, variant->stall, false);
}

TEST_F_TIMEOUT(local_stall, death, 200)
{
	stalls_run(_metadata, &self->cgroup, variant->stall, true);
}

TEST_HARNESS_MAIN
