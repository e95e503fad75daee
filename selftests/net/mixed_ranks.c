// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group of two machines with two ranks each, whose links are local on a machine, and
 * between them by RDMA if collective_rdma.ko is loaded, else by TCP.  Each collective is called;
 * then one rank dies, or cancels an operation, and all others name it.
 *
 *	mixed_ranks END VICTIM [TCP_RANK]
 *
 * END is live, kill or cancel. TCP_RANK chooses TCP for all its links. The environment of the
 * launcher gives the rank.  With MIXED_REMOTE=tcp in it, RDMA cannot be used although it is loaded.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "init.h"
#include "lib/every.h"
#include "lib/group.h"

#define LARGE	1000000

static struct coll_comm *comm;
static __u32 input[4 * LARGE], result[4 * LARGE];

static int submit(void *ctx, const struct collective_op *op)
{
	return coll_submit(comm, op);
}

static int run_every(void)
{
	static const size_t counts[] = { 1, 3000, 100000 };
	struct every e = {
		.rank = coll_rank(comm),
		.nranks = coll_size(comm),
		.submit = submit,
		.send = input,
		.recv = result,
	};
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < 3; i++) {
		e.count = counts[i];
		err = every_run(&e, e.nranks);
	}
	return err;
}

static bool rdma_expected(void)
{
	const char *remote = getenv("MIXED_REMOTE");

	return rdma_offered() && (!remote || strcmp(remote, "tcp"));
}

/* The other rank of the machine is reached by memory, unless one of the two chose TCP. */
static int check_links(int tcp_rank)
{
	const unsigned int rank = coll_rank(comm), other = rank ^ 1, all = 15 & ~(1U << rank);
	const bool tcp = (int)rank == tcp_rank || (int)other == tcp_rank;
	const unsigned int remote = all & ~(1U << other) &
				    ~(tcp_rank < 0 ? 0 : 1U << tcp_rank);
	struct links links;

	CHECK_EQ(0, links_get(coll_name(comm), rank, &links));
	CHECK_EQ(tcp ? 0 : 1U << other, links.local);
	CHECK_EQ(rdma_expected() && (int)rank != tcp_rank ? remote : 0, links.rdma);
	CHECK_EQ(all & ~(links.local | links.rdma), links.tcp);
	return coll_barrier(comm);
}

static int large_sum(struct coll_request **request)
{
	return coll_iallreduce(comm, input, result, LARGE, COLL_UINT32, COLL_SUM, request);
}

static int check_named(int err, int wanted, int victim)
{
	char name[16];

	snprintf(name, sizeof(name), "rank %d", victim);
	if (err == wanted && strstr(coll_error_detail(comm), name))
		return 0;
	printf("# rank %d: %d, %s\n", coll_rank(comm), err, coll_error_detail(comm));
	return 1;
}

static int victim_dies(int victim)
{
	struct coll_request *request;
	int err;

	if (coll_rank(comm) == victim) {
		large_sum(&request);
		usleep(20000);
		kill(getpid(), SIGKILL);
	}
	do {
		err = coll_allreduce(comm, input, result, LARGE, COLL_UINT32, COLL_SUM);
	} while (!err);
	return check_named(err, -ECONNRESET, victim);
}

/* The others wait for the victim, or are in the operation with it. */
static int victim_cancels(int victim)
{
	struct coll_request *request;
	unsigned int i;
	int err;

	for (i = 0; i < 10; i++) {
		if (coll_rank(comm) == victim && i % 2)
			usleep(5000);
		if (large_sum(&request))
			return 1;
		if (coll_rank(comm) == victim)
			usleep(1000 * i);
		err = coll_rank(comm) == victim ? coll_cancel(request) : 0;
		if (err && err != -EALREADY && err != -ENOENT)
			return 1;
		err = coll_wait(request);
		if (err && check_named(err, -ECANCELED, victim))
			return 1;
	}
	return run_every();
}

int main(int argc, char **argv)
{
	const char *rank = getenv("COLL_RANK");
	const int victim = argc > 2 ? atoi(argv[2]) : -1, tcp = argc > 3 ? atoi(argv[3]) : -1;
	int err;

	setenv("COLL_TRANSPORT", rank && atoi(rank) == tcp ? "tcp" : "auto", 1);
	comm = init_comm();
	if (!comm || coll_size(comm) != 4)
		return 1;
	err = run_every();
	if (!err)
		err = check_links(tcp);
	if (!err && argc > 1 && !strcmp(argv[1], "kill"))
		return victim_dies(victim);
	if (!err && argc > 1 && !strcmp(argv[1], "cancel"))
		err = victim_cancels(victim);
	coll_finalize(comm);
	return !!err;
}
