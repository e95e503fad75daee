// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank dies, closes its file or calls another program in the middle of a large operation between
 * ranks of one kernel. Its memory goes at once. The others name the rank as soon as the reason is
 * final, and nothing is left.
 *
 * Environment: LOCAL_KILL_SEED, LOCAL_KILL_ROUNDS, LOCAL_KILL_MIB (of each rank's memory).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/timed.h"
#include "lib/call.h"
#include "lib/leak_check.h"
#include "lib/local_only.h"
#include "lib/machine.h"
#include "lib/record.h"

#define RANKS_MOST	4

/* From the death to the return of the others' calls; for machines under load. */
#define TOLD_MS		8000

/* The settle time of a death, and most of what may pass until an operation has failed after it. */
#define SETTLE_US	25000
#define LATE_US		1000

enum { FLAG_BUSY, FLAG_MEET, VALUE_TOLD = 8, VALUE_LATE = 16 };

/* How a rank ends. */
enum end {
	END_KILL,
	END_EXIT,		/* with the operation in flight */
	END_EXEC,		/* likewise */
	END_CLOSE,		/* likewise, the only descriptor */
	END_CLOSE_THREAD,	/* by another thread, while the operation waits in the call */
};

/**
 * struct ending - one round; the same for all ranks
 * @end: how the victim ends
 * @victim: its rank
 * @after_us: delay from when all ranks are busy
 * @bytes: bytes of the memory of each rank
 */
struct ending {
	enum end end;
	unsigned int victim;
	unsigned int after_us;
	size_t bytes;
};

static struct collective_op op_of(const struct ending *ending, void *area)
{
	return (struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.count = ending->bytes / 4,
		.send = (uintptr_t)area,
		.recv = (uintptr_t)area,
	};
}

struct closer {
	int fd;
	unsigned int after_us;
};

static void *closer_main(void *arg)
{
	const struct closer *closer = arg;

	usleep(closer->after_us);
	close(closer->fd);
	return NULL;
}

/* Does not return, unless something failed. */
static int victim_end(struct rank *r, const struct ending *ending, void *area)
{
	const struct collective_op op = op_of(ending, area);
	struct closer closer = { .fd = r->fd, .after_us = ending->after_us };
	pthread_t thread;
	__u64 request;

	if (ending->end == END_CLOSE_THREAD) {
		CHECK_EQ(0, pthread_create(&thread, NULL, closer_main, &closer));
		while (!member_submit(r->fd, &op))
			;
		pthread_join(thread, NULL);
		_exit(GROUP_SILENT_EXIT);
	}
	CHECK_EQ(0, member_start(r->fd, &op, &request));
	usleep(ending->after_us);
	switch (ending->end) {
	case END_CLOSE:
		close(r->fd);
		munmap(area, ending->bytes);
		break;
	case END_EXEC:
		execl("/bin/sh", "sh", "-c", "exit 77", NULL);
		CHECK(false);
		break;
	default:
		break;
	}
	_exit(GROUP_SILENT_EXIT);
}

static int reason_check(const struct rank *r, const struct ending *ending)
{
	struct collective_status status;

	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	CHECK_EQ(ending->victim, status.group.rank_a);
	CHECK_EQ(ECONNRESET, status.group.error);
	CHECK_EQ(0, status.inflight);
	/* The end of a process closes the file, too. */
	if (ending->end == END_CLOSE || ending->end == END_CLOSE_THREAD)
		CHECK_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	else
		CHECK_EQ(COLLECTIVE_REASON_DEATH, status.group.kind);
	return 0;
}

/*
 * Return: how long after its reason was final the last operation has failed, as the flight recorder
 * says; us; or -1.
 */
static long long lateness_us(const struct rank *r)
{
	unsigned long long ns, age, first = 0, last = 0, done = 0;
	char path[256], line[512], event[16];
	FILE *file;

	file_path(path, sizeof(path), r->group->name, r->rank);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llu %llu %15s", &ns, &age, event) != 3)
			continue;
		if (!strcmp(event, "done"))
			done = ns;
		if (strcmp(event, "abort"))
			continue;
		/* A stronger reason may come after the first one. */
		first = first ? first : ns + SETTLE_US * 1000;
		last = ns > first ? ns : first;
	}
	if (file)
		fclose(file);
	return last && done ? (long long)(done - last) / 1000 : -1;
}

static int rank_ended(struct rank *r)
{
	const struct ending *ending = r->arg;
	struct collective_op op;
	void *area = memory(ending->bytes);
	int err;

	CHECK(area);
	op = op_of(ending, area);
	/* The links that the operation uses are made before. */
	op.count = ending->bytes / 4;
	if (op.count > 1 << 20)
		op.count = 1 << 20;
	CHECK_EQ(0, member_submit(r->fd, &op));
	CHECK_EQ(0, local_links_check(r));
	CHECK(flag_barrier(r->shared, FLAG_BUSY, r->nranks));
	if (r->rank == ending->victim && ending->end != END_KILL)
		return victim_end(r, ending, area);
	op = op_of(ending, area);
	do {
		err = member_submit(r->fd, &op);
	} while (!err);
	munmap(area, ending->bytes);
	r->shared->value[VALUE_TOLD + r->rank] = now_ms();
	CHECK_EQ(-ECONNRESET, err);
	CHECK_EQ(0, reason_check(r, ending));
	r->shared->value[VALUE_LATE + r->rank] = lateness_us(r);
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	CHECK_EQ(0, process_value(0, "VmPin:"));
	/* No rank sees another one leave. */
	CHECK(flag_barrier(r->shared, FLAG_MEET, r->nranks - 1));
	return 0;
}

/*
 * Return: milliseconds after which all survivors knew, or -1. *@late_us becomes how late the last
 * one was after its reason was final.
 */
static int ending_run(unsigned int nranks, const struct ending *ending, long long *late_us)
{
	const struct group_config config = { .nranks = nranks, .lanes = 1 + ending->victim % 2 };
	const unsigned int victim = ending->victim;
	struct group group;
	__u64 begin, told = 0;
	unsigned int i;
	int bad = 0;

	if (group_start(&group, &config, rank_ended, (void *)ending))
		return -1;
	bad = !flag_wait(group.shared, FLAG_BUSY, nranks, 60000);
	begin = now_ms();
	usleep(ending->after_us);
	if (ending->end == END_KILL)
		kill(group.pid[victim], SIGKILL);
	for (i = 0; i < nranks; i++) {
		waitpid(group.pid[i], &group.status[i], 0);
		if (i == victim)
			bad |= ending->end == END_KILL ? !WIFSIGNALED(group.status[i]) :
				WEXITSTATUS(group.status[i]) != GROUP_SILENT_EXIT;
		else
			bad |= group.status[i] != 0;
		if (group.shared->value[VALUE_TOLD + i] > told)
			told = group.shared->value[VALUE_TOLD + i];
		if (i != victim && (long long)group.shared->value[VALUE_LATE + i] > *late_us)
			*late_us = group.shared->value[VALUE_LATE + i];
	}
	munmap(group.shared, sizeof(*group.shared));
	if (!bad && told > begin + enough_ms(TOLD_MS))
		bad = 1;
	if (bad)
		dprintf(STDOUT_FILENO, "# end %d of rank %u of %u after %u us: told %lld ms\n",
			ending->end, victim, nranks, ending->after_us, (long long)(told - begin));
	return bad ? -1 : (int)(told > begin ? told - begin : 0);
}

/* Return: number of times that all operations have failed soon after the reason was final. */
static unsigned int ends_run(struct __test_metadata *_metadata, enum end end, unsigned int rounds,
			     size_t bytes)
{
	unsigned int seed = env_number("LOCAL_KILL_SEED", 1), i, nranks, soon = 0;
	struct ending ending = { .end = end, .bytes = bytes };
	const int before = tcp_sockets();
	long long late_us, latest_us = -1;
	int took, most = 0, bad = 0;

	for (i = 0; i < rounds && bad < 3; i++) {
		late_us = -1;
		nranks = 2 + rand_r(&seed) % (RANKS_MOST - 1);
		ending.victim = rand_r(&seed) % nranks;
		ending.after_us = rand_r(&seed) % (rand_r(&seed) % 2 ? 60000 : 3000);
		took = ending_run(nranks, &ending, &late_us);
		bad += took < 0;
		most = took > most ? took : most;
		soon += late_us <= LATE_US;
		latest_us = late_us > latest_us ? late_us : latest_us;
	}
	EXPECT_EQ(0, bad);
	TH_LOG("%u rounds: all knew after at most %d ms", i, most);
	TH_LOG("%u times within %u us of the final reason, at most after %lld us", soon, LATE_US,
	       latest_us);
	EXPECT_TRUE(nothing_leaked(before));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	return soon;
}

static size_t much(void)
{
	return (size_t)env_number("LOCAL_KILL_MIB", slow_machine() ? 8 : 64) << 20;
}

TIMED_TESTS(local_kill)

TEST_F_TIMEOUT(local_kill, kill, 3600)
{
	ends_run(_metadata, END_KILL, env_number("LOCAL_KILL_ROUNDS", emulated() ? 10 : 50),
		 much());
}

/*
 * With little memory, because a process that ends takes a CPU for as long as it frees its own.
 * Other work of the host takes a CPU, too, so there are three tries: a delay of ours is in each.
 */
TEST_F_TIMEOUT(local_kill, told_in_time, 200)
{
	const unsigned int rounds = 20;
	unsigned int soon = 0, tries;

	if (unreadable())
		SKIP(return, UNREADABLE);
	if (slow_machine())
		SKIP(return, "this machine is too slow");
	for (tries = 0; tries < 3 && soon <= rounds * 3 / 4; tries++)
		soon = ends_run(_metadata, END_KILL, rounds, 256 << 10);
	EXPECT_LT(rounds * 3 / 4, soon);
}

TEST_F_TIMEOUT(local_kill, exit, 200)
{
	ends_run(_metadata, END_EXIT, emulated() ? 3 : 8, much());
}

TEST_F_TIMEOUT(local_kill, exec, 200)
{
	ends_run(_metadata, END_EXEC, emulated() ? 3 : 8, much());
}

TEST_F_TIMEOUT(local_kill, close, 200)
{
	ends_run(_metadata, END_CLOSE, emulated() ? 3 : 8, much());
}

TEST_F_TIMEOUT(local_kill, close_in_another_thread, 200)
{
	ends_run(_metadata, END_CLOSE_THREAD, emulated() ? 3 : 8, much());
}

TEST_HARNESS_MAIN
