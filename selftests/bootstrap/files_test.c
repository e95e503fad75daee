// SPDX-License-Identifier: GPL-2.0-only
/* More ranks than rank 0 may have open files: they connect in turn. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/address.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/rejoin_port.h"
#include "comm/deadline.h"
#include "device_stub.h"
#include "tap.h"

#define RANKS_MAX	1024
#define STACK_SIZE	(512 << 10)

/**
 * struct rank - one rank, in a thread
 * @rank: its number
 * @nranks: number of ranks
 * @port: port of the rendezvous
 * @err: result of the rendezvous
 * @right: true if the table of addresses is correct
 * @detail: error text
 */
struct rank {
	int rank;
	int nranks;
	int port;
	int err;
	bool right;
	char detail[COLL_DETAIL_SIZE];
};

static struct coll_settings setup_of(const struct rank *rank)
{
	struct coll_settings settings = {
		.rank = rank->rank,
		.nranks = rank->nranks,
		.root_port = rank->port,
		.root_host = "127.0.0.1",
		.deadline = coll_deadline_in(60000),
		.rejoin_fd = -1,
	};

	return settings;
}

static void *run(void *arg)
{
	struct rank *rank = arg;
	struct coll_settings settings = setup_of(rank);
	struct coll_detail detail = { rank->detail, sizeof(rank->detail) };
	struct sockaddr_storage *peers = calloc(rank->nranks, sizeof(*peers));
	int i;

	rank->err = bootstrap_run(0, &settings, NULL, peers, &detail);
	rank->right = !rank->err;
	for (i = 0; rank->right && i < rank->nranks; i++)
		rank->right = coll_address_port(&peers[i]) == 1024U + i;
	coll_rejoin_port_close(&settings);
	free(peers);
	return NULL;
}

/* Run rank 0 in a process that may open @files files, beyond the first three. */
static pid_t start_host(struct rank *host, unsigned int files)
{
	struct rlimit limit;
	pid_t pid;
	int next;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	next = dup(0);
	close(next);
	limit.rlim_cur = files + next - 3;
	limit.rlim_max = limit.rlim_cur;
	setrlimit(RLIMIT_NOFILE, &limit);
	run(host);
	_exit(0);
}

static void try(int nranks, unsigned int files, int port)
{
	struct rank *ranks = mmap(NULL, sizeof(*ranks) * RANKS_MAX, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static pthread_t threads[RANKS_MAX];
	uint64_t begin = coll_deadline_now();
	pthread_attr_t attr;
	int i, started, wrong = 0;
	pid_t pid;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (i = 0; i < nranks; i++)
		ranks[i] = (struct rank) { .rank = i, .nranks = nranks, .port = port, .err = 1 };
	pid = start_host(&ranks[0], files);
	for (started = 1; started < nranks; started++)
		if (pthread_create(&threads[started], &attr, run, &ranks[started]))
			break;
	for (i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
	waitpid(pid, NULL, 0);
	pthread_attr_destroy(&attr);
	for (i = 0; i < nranks; i++) {
		if (ranks[i].right)
			continue;
		if (!wrong++)
			tap_note("rank %d: %d %s", i, ranks[i].err, ranks[i].detail);
	}
	tap_ok(!wrong, "%d ranks start where rank 0 may have %u files", nranks, files);
	tap_note("%u ms", (unsigned int)(coll_deadline_now() - begin));
	munmap(ranks, sizeof(*ranks) * RANKS_MAX);
}

/* With too few files for any rank, coll_init() fails at once and says how many it needs. */
static void test_none(int port)
{
	struct rank *ranks = mmap(NULL, 2 * sizeof(*ranks), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t begin = coll_deadline_now();
	pthread_t thread;
	pid_t pid;
	int i;

	for (i = 0; i < 2; i++)
		ranks[i] = (struct rank) { .rank = i, .nranks = 2, .port = port };
	pid = start_host(&ranks[0], 5);
	pthread_create(&thread, NULL, run, &ranks[1]);
	pthread_join(thread, NULL);
	waitpid(pid, NULL, 0);
	if (!tap_ok(ranks[0].err == -EMFILE && ranks[1].err == -EMFILE &&
		    strstr(ranks[1].detail, "ulimit -n") && coll_deadline_now() < begin + 3500,
		    "too few files are said at once, on all ranks"))
		for (i = 0; i < 2; i++)
			tap_note("rank %d: %d %s", i, ranks[i].err, ranks[i].detail);
	munmap(ranks, 2 * sizeof(*ranks));
}

int main(void)
{
	struct rlimit limit;
	bool many;

	stub_without_sockets = true;
	tap_plan(0);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	many = limit.rlim_cur >= 4 * RANKS_MAX;
	try(12, 28, 27301);
	try(100, 28, 27302);
	test_none(27303);
#ifdef __SANITIZE_ADDRESS__
	many = false;
#endif
	if (many)
		try(RANKS_MAX, RANKS_MAX, 27304);
	else
		tap_skip("too few files, or too slow", "1024 ranks");
	return tap_exit();
}
