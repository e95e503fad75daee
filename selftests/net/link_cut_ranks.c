// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank of a group in which each rank has its own network. The link of one rank is cut without
 * notice. Every rank must get an error in time that names a pair of ranks with the victim.
 *
 *	link_cut_ranks VICTIM AFTER_MS TIME_MS
 *
 * The environment of the launcher gives the rank.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "init.h"

#define COUNT	100000

static float send[COUNT], receive[COUNT];

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* True if @detail has "between rank A and rank B", one of which is @victim. */
static int names(const char *detail, int victim)
{
	const char *pair = strstr(detail, "between rank ");
	int a, b;

	return pair && sscanf(pair, "between rank %d and rank %d", &a, &b) == 2 &&
	       (a == victim || b == victim);
}

int main(int argc, char **argv)
{
	int victim, err = 0, cut = 0;
	long long begin, told;
	struct coll_comm *comm;

	if (argc != 4)
		return 2;
	victim = atoi(argv[1]);
	comm = init_comm();
	if (!comm)
		return 1;
	begin = now_ms();
	while (!err && now_ms() < begin + 60000) {
		if (!cut && coll_rank(comm) == victim && now_ms() >= begin + atoi(argv[2])) {
			cut = 1;
			if (system("ip link set eth0 down"))
				return 1;
		}
		err = coll_allreduce(comm, send, receive, COUNT, COLL_FLOAT32, COLL_SUM);
	}
	told = now_ms() - begin - atoi(argv[2]);
	printf("rank %d after %lld ms: %d, %s\n", coll_rank(comm), told, err,
	       coll_error_detail(comm));
	if (err != -ECONNRESET || !names(coll_error_detail(comm), victim) || told > atoi(argv[3]))
		return 1;
	coll_finalize(comm);
	return 0;
}
