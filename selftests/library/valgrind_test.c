// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory checkers must consider results as initialized. The program runs itself under valgrind,
 * and branches on every result of a group of one rank.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective.h>

#include "lib/any_kernel.h"
#include "kselftest_harness.h"

#define COUNT	5000
#define INSIDE	"COLL_CHECKER_INSIDE"

/* Return: 0; the result depends on all elements. */
static __attribute__((noinline)) int decide(const int *at, size_t count)
{
	size_t i, sevens = 0;

	for (i = 0; i < count; i++)
		if (at[i] == 7)
			sevens++;
	return sevens > count;
}

/* Return: memory that the checker considers uninitialized. */
static int *fresh(void)
{
	return malloc(2 * COUNT * sizeof(int));
}

static int inside(void)
{
	struct coll_config config = { .size = sizeof(config), .nranks = 1 };
	const struct coll_view view = { .rows = 2, .stride = COUNT };
	const size_t counts[1] = { COUNT };
	struct coll_request *request;
	struct coll_comm *comm;
	int *in = fresh(), *out = fresh(), err;

	if (coll_init(&comm, &config))
		return 3;
	for (int i = 0; i < COUNT; i++)
		in[i] = i;
	err = coll_allreduce(comm, in, out, COUNT, COLL_INT32, COLL_SUM) ?: decide(out, COUNT);
	out = fresh();
	err = err ?: coll_iallgather(comm, in, out, COUNT, COLL_INT32, &request);
	err = err ?: coll_wait(request) ?: decide(out, COUNT);
	out = fresh();
	err = err ?: coll_allgatherv(comm, in, COUNT, out, counts, NULL, COLL_INT32) ?:
	      decide(out, COUNT);
	out = fresh();
	err = err ?: coll_allgather_view(comm, in, NULL, out, &view, COUNT, COLL_INT32) ?:
	      decide(out, COUNT / 2) ?: decide(out + COUNT, COUNT / 2);
	out = fresh();
	err = err ?: coll_scan(comm, in, out, COUNT, COLL_INT32, COLL_SUM) ?: decide(out, COUNT);
	/* Uninitialized memory between the rows of a result is still reported. */
	if (getenv("COLL_CHECKER_GAP")) {
		out = fresh();
		err = err ?: coll_allgather_view(comm, in, NULL, out, &view, COUNT, COLL_INT32) ?:
		      decide(out, COUNT);
	}
	return err || coll_finalize(comm) ? 4 : 0;
}

static int run_checked(const char *gap)
{
	char self[256] = "";
	int status;
	pid_t pid;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -1;
	pid = fork();
	if (!pid) {
		setenv(INSIDE, "1", 1);
		if (gap)
			setenv(gap, "1", 1);
		execlp("valgrind", "valgrind", "-q", "--error-exitcode=99", self, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

FIXTURE(slow) {};
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

TEST_F_TIMEOUT(slow, valgrind, 120)
{
	int err = run_checked(NULL);

	if (err == 127)
		SKIP(return, "no valgrind");
	EXPECT_EQ(0, err);
	EXPECT_EQ(99, run_checked("COLL_CHECKER_GAP"));
}

/* Runs before the harness: under the checker, only the checked code runs. */
static void __attribute__((constructor)) checked(void)
{
	if (getenv(INSIDE))
		_exit(inside());
}

TEST_HARNESS_MAIN
