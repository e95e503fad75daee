// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that take long to exit: they write a core file, release much memory, or leave a child
 * that holds the file. Other ranks learn of the death at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"

/* Survivors learn of a death at once; this is enough for slow machines; ms. */
#define TOLD_MS		3000
/* The longest time that the exit takes; s. */
#define DYING_S		6

#define VICTIM		1
#define MAPPED		(24UL << 30)

enum { FLAG_READY, FLAG_DIES, FLAG_OVER, FLAG_TIME };

#define PATTERN		"/proc/sys/kernel/core_pattern"
#define TAKER		"/tmp/take_core"

static int text_write(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written ? 0 : -1;
}

/* True if the kernel has the tracepoint that the module uses to see fatal signals. */
static bool has_tracepoint(void)
{
	return !system("grep -q ' __tracepoint_signal_deliver$' /proc/kallsyms");
}

static void die_by(struct rank *r, int sig)
{
	r->shared->value[FLAG_DIES] = now_ms();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Memory enough that the program that reads the core takes a while. */
static int die_core(struct rank *r)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	void *area = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	memset(area, 1, 8 << 20);
	CHECK_EQ(0, setrlimit(RLIMIT_CORE, &all));
	CHECK_EQ(0, prctl(PR_SET_DUMPABLE, 1));
	die_by(r, SIGSEGV);
	return 1;
}

/* The last of several members that the process has joined. */
static int die_last(struct rank *r)
{
	struct sockaddr_storage addr;
	char name[33];
	__u64 id;
	int i, fd;

	group_unique(name, sizeof(name), &id);
	for (i = 0; i < 2; i++) {
		fd = member_open();
		CHECK(fd >= 0);
		CHECK_EQ(0, member_join(fd, name, id, i, 2, &addr));
		close(fd);
	}
	return die_core(r);
}

/* Map memory so that each 2 MiB needs a page table. */
static int die_mapped(struct rank *r)
{
	char *area = mmap(NULL, MAPPED, PROT_READ,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char any = 0;
	size_t i;

	CHECK(area != MAP_FAILED);
	madvise(area, MAPPED, MADV_NOHUGEPAGE);
	for (i = 0; i < MAPPED; i += 2 << 20)
		any |= area[i];
	CHECK(!any);
	die_by(r, SIGKILL);
	return 1;
}

static int die_held(struct rank *r)
{
	if (!fork()) {
		flag_wait(r->shared, FLAG_OVER, 1, DYING_S * 1000);
		_exit(0);
	}
	die_by(r, SIGKILL);
	return 1;
}

static int rank_die(struct rank *r)
{
	int (*die)(struct rank *r) = r->arg;
	struct collective_status status;

	if (r->rank == VICTIM) {
		flag_wait(r->shared, FLAG_READY, r->nranks - 1, 20000);
		return die(r);
	}
	__atomic_add_fetch(&r->shared->flag[FLAG_READY], 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(-ECONNRESET, member_barrier(r->fd));
	r->shared->value[FLAG_TIME + r->rank] = now_ms();
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_REASON_DEATH, status.group.kind);
	CHECK_EQ(VICTIM, status.group.rank_a);
	return 0;
}

static void death(struct __test_metadata *_metadata, int (*die)(struct rank *r), int signal)
{
	const struct group_config config = { .nranks = 4 };
	struct group group;
	__u64 last = 0;
	unsigned int i;

	ASSERT_EQ(0, group_start(&group, &config, rank_die, die));
	for (i = 0; i < config.nranks; i++)
		waitpid(group.pid[i], &group.status[i], 0);
	for (i = 0; i < config.nranks; i++) {
		if (i == VICTIM) {
			ASSERT_TRUE(WIFSIGNALED(group.status[i]));
			EXPECT_EQ(signal, WTERMSIG(group.status[i]));
			continue;
		}
		EXPECT_EQ(0, group.status[i]);
		if (group.shared->value[FLAG_TIME + i] > last)
			last = group.shared->value[FLAG_TIME + i];
	}
	EXPECT_GE(group.shared->value[FLAG_DIES] + TOLD_MS, last);
	TH_LOG("all others knew after %llu ms", last - group.shared->value[FLAG_DIES]);
	flag_set(group.shared, FLAG_OVER, 1);
	munmap(group.shared, sizeof(*group.shared));
}

FIXTURE(slow) {
	char pattern[256];
};

FIXTURE_SETUP(slow)
{
	ASSERT_EQ(0, file_get(PATTERN, self->pattern, sizeof(self->pattern)));
}

FIXTURE_TEARDOWN(slow)
{
	EXPECT_EQ(0, text_write(PATTERN, self->pattern, 0));
	unlink(TAKER);
}

/* The program that reads the core blocks the exit of the process. */
static void death_by_core(struct __test_metadata *_metadata, int (*die)(struct rank *r))
{
	if (!has_tracepoint())
		SKIP(return, "no tracepoints in this kernel");
	ASSERT_EQ(0, text_write(TAKER, "#!/bin/sh\nsleep 6\ncat >/dev/null\n", 0755));
	ASSERT_EQ(0, text_write(PATTERN, "|" TAKER, 0));
	death(_metadata, die, SIGSEGV);
}

TEST_F_TIMEOUT(slow, core, 60)
{
	death_by_core(_metadata, die_core);
}

TEST_F_TIMEOUT(slow, core_of_last_member, 60)
{
	death_by_core(_metadata, die_last);
}

TEST_F_TIMEOUT(slow, mapped, 60)
{
	death(_metadata, die_mapped, SIGKILL);
}

TEST_F_TIMEOUT(slow, held, 60)
{
	death(_metadata, die_held, SIGKILL);
}

TEST_HARNESS_MAIN
